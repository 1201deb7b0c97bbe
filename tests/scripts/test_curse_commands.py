"""``clickgym curse``, ``demo`` and ``strong-shift``: what they write, and that they go on."""

from __future__ import annotations

import json
import re

import pytest
from looping import loop_over

from clickgym import studies
from clickgym.evaluation import Metric, ResultTable
from clickgym.scripts import main
from clickgym.studies.engine.grid import cell_key

PNG = b"\x89PNG\r\n\x1a\n"


# Strong shift


@pytest.fixture(scope="module")
def shifted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shifted")
    sizes = ["--seeds", "2", "--impressions", "1000"]
    main(["strong-shift", "--user", "PBM", "--model", "dCTR", "PBM", *sizes, "--out", str(folder)])
    return folder


def test_a_strong_shift_saves_a_value_for_every_model_metric_and_seed(shifted):
    metrics = [Metric("ind PPL", True), Metric("nDCG@3", False), Metric("ood PPL", True)]
    table = ResultTable.load(shifted / "PBM.parquet", metrics)
    counts = {(m, k.name): len(table.values(m, k.name)) for m in table.models for k in metrics}
    names = ["PBM oracle", "dCTR", "PBM"]
    assert counts == {(name, metric.name): 2 for name in names for metric in metrics}


def test_a_strong_shift_is_written_for_people_too(shifted):
    assert "| PBM oracle |" in (shifted / "PBM.md").read_text()


def test_the_settings_of_a_strong_shift_are_saved(shifted):
    assert json.loads((shifted / "settings.json").read_text())["impressions"] == 1000


@loop_over("option", ["--user", "--model"])
def test_an_unknown_name_in_a_strong_shift_ends_with_a_message(tmp_path, option, capsys):
    assert main(["strong-shift", option, "XYZ", "--out", str(tmp_path)]) == 1
    assert re.search(f"{option} must be one of .*PBM.*'XYZ'", capsys.readouterr().err)


# Demo


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    small = ["--impressions", "600", "--queries", "8", "--jobs", "1"]
    assert main(["demo", *small, "--out", str(folder)]) == 0
    return folder


def test_the_demo_draws_and_writes_its_table(demo):
    assert (demo / "curse.png").read_bytes()[:8] == PNG
    table = (demo / "tables.md").read_text()
    assert all(name in table for name in ("PBM", "UBM", "DBN", "NCM", "NCM Max-Reward"))
    assert all(name in table for name in ("best", "logging policy", "random"))


def test_the_demo_has_a_cell_for_every_model(demo):
    assert len(list((demo / "cells").glob("*.json"))) == 4
    rows = studies.load_rows(demo / "rows.parquet")
    assert [row["model"] for row in rows] == ["PBM", "UBM", "DBN", "NCM"]


# Curse


CURSE = ["--model", "PBM", "UBM", "--queries", "15", "--docs", "12", "--impressions", "800"]


@pytest.fixture(scope="module")
def cursed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("curse")
    users = ["--user", "DBN", "CoCM", "--logging", "epsilon-oracle", "BM25", "--seeds", "2"]
    assert main(["curse", *CURSE, *users, "--rate", "--out", str(folder)]) == 0
    return folder


def test_curse_has_a_row_for_every_user_logging_policy_model_and_seed(cursed):
    rows = studies.load_rows(cursed / "rows.parquet")
    cells = {(r["user"], r["logging"], r["model"], r["seed"]) for r in rows}
    assert len(rows) == len(cells) == 16
    for row in rows:
        gap = row["max_reward_promised"] - row["max_reward_deployed"]
        assert row["max_reward_gap"] == pytest.approx(gap)
        assert row["max_reward_promised"] >= row["top_down_promised"] - 1e-9
        assert row["max_reward_deployed"] <= row["max_reward_best"] + 1e-9
    assert len({row["max_reward_deployed"] for row in rows}) > 8


def test_curse_draws_a_panel_for_every_user_and_logging_policy(cursed):
    assert (cursed / "curse.png").read_bytes()[:8] == PNG
    assert (cursed / "tables.md").read_text().count("clicks per page") == 4


def test_curse_goes_on_from_what_is_finished(cursed, capsys):
    before = {path: path.stat().st_mtime_ns for path in (cursed / "cells").glob("*.json")}
    first, *_ = before
    first.unlink()
    users = ["--user", "DBN", "CoCM", "--logging", "epsilon-oracle", "BM25", "--seeds", "2"]
    rows = (cursed / "tables.md").read_text()
    assert main(["curse", *CURSE, *users, "--out", str(cursed)]) == 0
    after = {path: path.stat().st_mtime_ns for path in (cursed / "cells").glob("*.json")}
    assert after.keys() == before.keys()
    assert [path for path in after if after[path] != before[path]] == [first]
    assert (cursed / "tables.md").read_text() == rows


def test_replacing_the_results_of_other_options_is_said(tmp_path, capsys):
    options = ["--model", "PBM", "--seeds", "1", "--out", str(tmp_path)]
    assert main(["curse", *CURSE, *options]) == 0
    assert "other options" not in capsys.readouterr().err
    assert main(["curse", *CURSE, *options, "--user", "DBN"]) == 0
    assert "--user was CoCM-mismatch" in capsys.readouterr().err


@loop_over("flag", ["--user", "--logging", "--model"])
def test_curse_refuses_unknown_names_before_it_writes(flag, tmp_path, capsys):
    assert main(["curse", flag, "XYZ", "--out", str(tmp_path / "new")]) == 1
    assert re.search(f"{flag} must be one of .*, not 'XYZ'", capsys.readouterr().err)
    assert not (tmp_path / "new").exists()


@loop_over(
    ("options", "message"),
    [
        (["--world", "missing.txt"], "missing.txt: no such file"),
        (["--slots", "0"], "--slots must be at least 1"),
        (["--model", "TopPop"], "--model must be one of "),
        (["--model", "TopPop"], "TopPop is not generative, so it promises nothing"),
        (["--impressions", "0"], "--impressions must be at least 1"),
    ],
)
def test_curse_checks_numbers_before_it_writes(options, message, tmp_path, capsys):
    assert main(["curse", *CURSE, *options, "--out", str(tmp_path / "new")]) == 1
    assert message in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


def test_a_name_given_twice_is_one(tmp_path, capsys):
    options = ["--model", "PBM", "PBM", "--user", "DBN", "DBN", "--seeds", "1"]
    assert main(["curse", *CURSE, *options, "--out", str(tmp_path)]) == 0
    assert capsys.readouterr().out.count("PBM Max-Reward") == 1


def test_results_follow_the_contents_of_a_file_and_not_its_name(tmp_path):
    text = "".join(f"{i % 3} qid:{i // 6} 1:{i / 9}\n" for i in range(24))
    (tmp_path / "one.txt").write_text(text)
    (tmp_path / "two.txt").write_text(text)
    files = [str(tmp_path / f"{name}.txt") for name in ("one", "two")]
    one, two = (studies.WorldSetting.from_file(file, 0, 0) for file in files)
    cells = [studies.CurseCell("DBN", "random", "PBM", 0, world) for world in (one, two)]
    assert cell_key(cells[0], "1") == cell_key(cells[1], "1")
    (tmp_path / "two.txt").write_text(text.replace("2 qid:0", "1 qid:0"))
    changed = studies.WorldSetting.from_file(str(tmp_path / "two.txt"), 0, 0)
    cell = studies.CurseCell("DBN", "random", "PBM", 0, changed)
    assert cell_key(cell, "1") != cell_key(cells[0], "1")
