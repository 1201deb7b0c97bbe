"""How a report reads a log: pages of unusual length, verticals, and worlds that there were."""

from __future__ import annotations

import csv

import numpy as np
import pytest
from looping import loop_over

from clickgym import data, studies
from clickgym.scripts import main
from clickgym.studies.own_log.source import LogSource, read_source
from clickgym.studies.own_log.tables import read_table

SMALL = ("--model", "PBM", "--no-stability", "--jobs", "1")


def write_pages(path, lengths, propensity="", name="d", seed=0):
    """Write pages of these lengths, of three queries in turn."""
    rng = np.random.default_rng(seed)
    header = ["page", "query", "document", "rank", "click", "propensity" if propensity else "none"]
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        for page, length in enumerate(lengths):
            writer.writerows(
                [page, f"q{page % 3}", f"{name}{one}", rank, int(rng.random() < 0.4), propensity]
                for rank, one in enumerate(rng.permutation(length), start=1)
            )
    return path


ONE_LONG = [4] * 150 + [6] + [4] * 149


def save(path, folder):
    """Save the log of a table and its world, and return their files."""
    world, log = read_table(path)
    world.save(folder / "world.safetensors")
    log.save(folder / "log.parquet")
    return str(folder / "log.parquet"), str(folder / "world.safetensors")


@loop_over("saved", [False, True])
def test_a_longer_page_is_left_out_where_pages_have_propensities(tmp_path, capsys, saved):
    path = write_pages(tmp_path / "clicks.csv", ONE_LONG, 0.04)
    given = [str(path)]
    if saved:
        log, world = save(path, tmp_path)
        given = [log, "--world", world]
    out = tmp_path / f"out-{saved}"
    assert main(["report", *given, *SMALL, "--out", str(out)]) == 0
    kept = data.ClickLog.load(out / "parts" / "log.parquet")
    assert (len(kept), kept.slots) == (299, 4)
    assert kept.log_propensity == pytest.approx(np.log(0.04))
    said, page = capsys.readouterr().out, (out / "report.html").read_text(encoding="utf-8")
    assert "1 page is left out for having more documents than the usual 4" in said
    assert ("query=query (guessed)" in said) == (not saved)
    assert ("query=query (guessed)" in page) == (not saved)
    assert "1 page is left out for having more documents than the usual 4" in page
    assert "Propensities of the log: its own, as logged" in page
    assert "beyond the last slot" not in page


@loop_over("saved", [False, True])
def test_a_longer_page_is_cut_where_there_are_no_propensities(tmp_path, saved):
    path = write_pages(tmp_path / "clicks.csv", ONE_LONG)
    log, world = save(path, tmp_path) if saved else (str(path), "")
    found = read_source(LogSource.of(log, world))
    assert (len(found.log), found.log.slots) == (300, 4)
    assert found.report.oddities["cut_slots"] == 2


def test_a_saved_log_that_is_cut_as_asked_says_what_it_loses(tmp_path):
    log, world = save(write_pages(tmp_path / "clicks.csv", ONE_LONG, 0.04), tmp_path)
    found = read_source(LogSource.of(log, world, slots=3))
    assert (len(found.log), found.log.slots) == (300, 3)
    assert found.log.log_propensity is None
    assert "propensities are left out" in found.report.notes[0]


def with_verticals(log, position):
    n = len(log)
    return data.ClickLog(
        log.query, log.ranking, log.clicks, vertical=np.zeros(n, int),
        vertical_position=np.full(n, position), fingerprint=log.fingerprint,
    )  # fmt: skip


def test_a_block_below_pages_that_are_cut_stands_right_below_them(tmp_path):
    world, log = read_table(write_pages(tmp_path / "clicks.csv", ONE_LONG))
    world.save(tmp_path / "world")
    with_verticals(log, 6).save(tmp_path / "log")
    found = read_source(LogSource.of(str(tmp_path / "log"), str(tmp_path / "world")))
    assert found.log.slots == 4
    assert found.log.vertical_position.tolist() == [4] * 300
    assert found.report.oddities["cut_verticals"] == 300


def test_logs_with_other_verticals_are_other_logs(tmp_path):
    world, log = read_table(write_pages(tmp_path / "clicks.csv", ONE_LONG))
    logs = [log, with_verticals(log, 1), with_verticals(log, 2)]
    found = {studies.LogSetting.from_logs(world, {"log": one}).contents for one in logs}
    assert len(found) == 3


def test_a_later_table_is_read_into_the_world_that_there_was(tmp_path):
    _, world = save(write_pages(tmp_path / "first.csv", [4] * 30), tmp_path)
    later = write_pages(tmp_path / "later.csv", [5] * 3 + [4] * 57, seed=1)
    found = read_source(LogSource.of(str(later), world))
    assert found.world.fingerprint == data.World.load(world).fingerprint
    assert len(found.log) == 57  # three show a document that the world has not
    assert found.report.notes == [
        "3 pages are left out: their queries or documents are not in the world."
    ]
    options = [*SMALL, "--world", world]
    assert main(["report", str(later), *options, "--out", str(tmp_path / "report")]) == 0
    options = ["--model", "PBM", "--world", world, "--jobs", "1"]
    assert main(["fit", str(later), *options, "--out", str(tmp_path / "fit")]) == 0
    files = ("report/parts/log.parquet", "fit/log.parquet")
    reported, fitted = (data.ClickLog.load(tmp_path / name) for name in files)
    np.testing.assert_array_equal(reported.ranking, fitted.ranking[:, :4])


@loop_over("command", ["fit", "report"])
def test_a_saved_log_of_another_world_is_refused_with_advice(tmp_path, capsys, command):
    log, _ = save(write_pages(tmp_path / "clicks.csv", [4] * 30), tmp_path)
    other, _ = read_table(write_pages(tmp_path / "other.csv", [4] * 30, name="e"))
    other.save(tmp_path / "other")
    assert main([command, log, "--world", str(tmp_path / "other"), "--out", "none"]) == 1
    assert "log.parquet: " in (said := capsys.readouterr().err)
    assert "give the world options that the log was collected with" in said


@loop_over(
    ("header", "value", "options", "message"),
    [
        ("user", lambda page: "ann", ["user"], "--split-by: 'user' has 1 value in 30 pages"),
        ("time", lambda page: page // 15, ["time"], "--split-by: 'time' has 2 values in 30 pages"),
    ],
)
def test_parts_without_a_page_are_named_before_anything_is_written(
    tmp_path, capsys, header, value, options, message
):
    path = tmp_path / f"{header}.csv"
    rows = [f"{p},q,d{d},{int(d == p % 2)},{value(p)}" for p in range(30) for d in range(2)]
    path.write_text("\n".join([f"page,query,document,click,{header}", *rows]))
    out = tmp_path / "out"
    assert main(["report", str(path), *SMALL, "--split-by", *options, "--out", str(out)]) == 1
    assert message in (said := capsys.readouterr().err)
    assert "no page is left for validation" in said
    assert not out.exists()


@loop_over(
    ("command", "message"),
    [("report", "too few pages to split, 1 page"), ("train", "a log of 1 page is too small")],
)
def test_a_single_page_is_refused_before_anything_is_written(tmp_path, capsys, command, message):
    path, out = write_pages(tmp_path / "clicks.csv", [4]), tmp_path / "out"
    assert main([command, "--log", str(path), "--model", "PBM", "--out", str(out)]) == 1
    assert message in capsys.readouterr().err
    assert not out.exists()


def test_as_many_pages_as_fit_takes_become_a_report(tmp_path):
    path = write_pages(tmp_path / "clicks.csv", [4] * 9)
    assert main(["report", str(path), *SMALL, "--out", str(tmp_path / "out")]) == 0


def test_a_log_without_a_click_recommends_and_doubts_nothing(tmp_path, capsys):
    path = write_pages(tmp_path / "clicks.csv", [4] * 60)
    lines = [line.rsplit(",", 2) for line in path.read_text().splitlines()]
    rows = [f"{start},0," if number else f"{start},click,none" for number, (start, _, _) in
            enumerate(lines)]  # fmt: skip
    path.write_text("\n".join(rows))
    assert main(["report", str(path), *SMALL, "--out", str(tmp_path / "out")]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "clicks.csv has 60 pages of 3 queries, with 0.000 clicks per page. No document" in said
    assert "no model and no ranking is recommended or doubted" in said
    assert main(["fit", str(path), "--clicked-only", "--out", str(tmp_path / "fit")]) == 1
    assert "--clicked-only leaves no page: none has a click" in capsys.readouterr().err
