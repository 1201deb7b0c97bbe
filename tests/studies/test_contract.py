"""What every study keeps to: those of the package, and one from outside."""

from __future__ import annotations

import dataclasses
import json
import pickle
import shutil
import time
from pathlib import Path

import pytest
from forked import run_forked, start_forked
from own_study import PowerCell, Powers, power_cell
from small_studies import CLICKS, SMALL

from clickgym import studies
from clickgym.scripts._shared.study_commands import study_command
from clickgym.studies.engine.grid import Grid, cell_key, run_grid

EVERY = pytest.mark.parametrize("name", SMALL)


def without_times(rows):
    return [{key: row[key] for key in row if not key.endswith("seconds")} for row in rows]


def grids_of(study, folder):
    """Return the grids of a study that ran in ``folder``, by stage."""
    results, grids = {}, {}
    for stage in study.stages(folder, results):
        place = folder / stage.folder
        grid = Grid(stage.function, stage.cells, place, stage.version, stage.result)
        pairs = zip(stage.cells, grid.records(), strict=True)
        results[stage.name] = [(cell, record["result"]) for cell, record in pairs]
        grids[stage.name] = stage, grid
    return grids


def paths_of(grid):
    return [grid.folder / f"{cell_key(cell, grid.version)}.json" for cell in grid.cells]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Return a function that computes a study once, and gives its folder and outcome."""
    done = {}

    def compute(name):
        if name == "learning":
            pytest.importorskip("lightgbm", reason="the rankers extra is not installed")
        if name == "recommend":
            pytest.importorskip("numba", reason="the recsys extra is not installed")
        if name not in done:
            folder = tmp_path_factory.mktemp(name)
            done[name] = folder, studies.compute_study(SMALL[name], folder)
        return done[name]

    return compute


def test_every_study_is_here():
    assert {"powers", "protocol", "curse", "compare"} < set(SMALL) == set(studies.study_names())
    for name, study in SMALL.items():
        assert type(study) is studies.study_class(name)
        assert study.name == name


@EVERY
def test_settings_that_cannot_run_are_named(name):
    study, tried = SMALL[name], 0
    for field in dataclasses.fields(study):
        value = getattr(study, field.name)
        if isinstance(value, int) and not isinstance(value, bool):
            tried += 1
            with pytest.raises(ValueError, match=rf"^{field.name} "):
                dataclasses.replace(study, **{field.name: -1}).check()
        elif isinstance(value, tuple) and value and isinstance(value[0], str):
            tried += 1
            with pytest.raises(ValueError, match=r"'XYZ'"):
                dataclasses.replace(study, **{field.name: ("XYZ",)}).check()
    assert tried or name == "bias"


@EVERY
def test_settings_are_told_as_a_person_would(name):
    for label, text in SMALL[name].describe().items():
        text = text.replace(str(CLICKS), "")  # a file's name is its owner's
        assert not {*"{}[]()_'"} & {*label, *text}, (label, text)


@EVERY
def test_cells_are_frozen_and_picklable_and_have_keys_that_stay(name, run):
    folder, _ = run(name)
    for stage, _ in grids_of(SMALL[name], folder).values():
        keys = [cell_key(cell, stage.version) for cell in stage.cells]
        assert len(set(keys)) == len(keys) > 0
        for cell, key in zip(stage.cells, keys, strict=True):
            with pytest.raises(dataclasses.FrozenInstanceError):
                setattr(cell, dataclasses.fields(cell)[0].name, None)
            again = pickle.loads(pickle.dumps(cell))
            assert again == cell
            assert cell_key(again, stage.version) == key
            assert pickle.loads(pickle.dumps(stage.function)) is stage.function


@EVERY
def test_a_study_goes_on_from_what_is_finished(name, run, tmp_path):
    folder, outcome = run(name)
    assert outcome.failed == outcome.kept == 0
    assert outcome.computed > 0
    again = studies.compute_study(SMALL[name], folder)
    assert (again.computed, again.kept) == (0, outcome.computed)
    assert again.rows == outcome.rows
    shutil.copytree(folder, tmp_path / "copy")
    *_, (_, grid) = grids_of(SMALL[name], tmp_path / "copy").values()
    paths_of(grid)[0].unlink()
    again = studies.compute_study(SMALL[name], tmp_path / "copy")
    assert again.computed == 1
    assert without_times(again.rows) == without_times(outcome.rows)


@EVERY
def test_a_study_writes_its_report(name, run, capsys):
    folder, outcome = run(name)
    assert studies.run_study(SMALL[name], folder, preset="small") == 0
    captured = capsys.readouterr()
    line = f"0 settings computed, {outcome.computed} taken from an earlier run; tables"
    assert line in captured.out.splitlines()[-1]
    assert captured.err == ""
    settings = json.loads((folder / "settings.json").read_text())
    assert settings["study"] == name
    assert settings.keys() >= {field.name for field in dataclasses.fields(SMALL[name])}
    assert "<h2>Settings</h2>" in (folder / "report.html").read_text()
    assert "| --- |" in (folder / "tables.md").read_text()
    for file, rows in SMALL[name].files(outcome.rows).items():
        assert without_times(studies.load_rows(folder / file)) == without_times(rows)


def test_a_folder_of_another_study_is_refused_and_other_settings_are_told(run, tmp_path, capsys):
    assert studies.run_study(Powers(), tmp_path) == 0
    with pytest.raises(ValueError, match="has results of powers, not of sessions"):
        studies.run_study(SMALL["sessions"], tmp_path)
    assert "other options" not in capsys.readouterr().err
    assert studies.run_study(Powers((3, 4)), tmp_path) == 0
    assert "held results of other options (--number was 1 2 3)" in capsys.readouterr().err


def test_failures_are_told_counted_and_tried_again_when_asked(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("13").touch()
    study = Powers((12, 13))
    for _ in range(2):
        assert studies.run_study(study, "out") == 1
        error = "1 of 2 settings failed, the first with RuntimeError: thirteen is not raised"
        assert error in capsys.readouterr().err
        assert studies.load_rows("out/rows.parquet") == [{"number": 12, "value": 144.0}]
    with pytest.raises(ValueError, match="1 of 1 setting failed"):
        studies.run_study(Powers((13,)), "alone")
    Path("13").unlink()
    assert studies.compute_study(study, "out").computed == 0
    outcome = studies.compute_study(study, "out", retry_failed=True)
    assert (outcome.computed, outcome.kept, outcome.failed) == (1, 1, 0)


def test_only_failures_of_these_cells_are_told(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("13").touch()
    run_grid(power_cell, [PowerCell(13, 2)], "out/cells", "0")  # of another version
    run_grid(power_cell, [PowerCell(13, 3)], "out/cells", "1")  # with another setting
    assert len(list(Path("out/cells").glob("*.error.json"))) == 2
    study = Powers((12, 13))
    outcome = studies.compute_study(study, "out")
    assert (outcome.computed, outcome.failed) == (2, 1)
    assert capsys.readouterr().err.startswith("1 of 2 settings failed")
    Path("13").unlink()
    outcome = studies.compute_study(study, "out", retry_failed=True)
    assert (outcome.computed, outcome.failed) == (1, 0)
    assert not capsys.readouterr().err
    assert len(list(Path("out/cells").glob("*.error.json"))) == 2


def test_a_result_that_is_not_what_its_cell_declares_is_a_failure(tmp_path, monkeypatch):
    monkeypatch.setattr("own_study.power_cell", lambda cell: {"value": float("nan"), "digits": []})
    with pytest.raises(ValueError, match=r"result\.value is not a finite number"):
        studies.compute_study(Powers(), tmp_path)


def test_a_command_of_a_study_from_outside_needs_one_line(tmp_path, capsys):
    main = study_command(Powers, "powers")
    out = ["--out", str(tmp_path / "out")]
    assert main(["--number", "2", "5", "--power", "3", "--jobs", "1", *out]) == 0
    rows = studies.load_rows(tmp_path / "out" / "rows.parquet")
    assert rows == [{"number": 2, "value": 8.0}, {"number": 5, "value": 125.0}]
    assert "125" in capsys.readouterr().out
    with pytest.raises(ValueError, match="--number must be at least 1, not 0"):
        main(["--number", "0", *out])


KILLED = """
from own_study import Powers
from clickgym.studies import compute_study

print(compute_study(Powers(tuple(range(1, 21)), seconds=0.1), "out").computed)
"""


def test_after_a_kill_only_what_is_missing_is_computed(tmp_path):
    process = start_forked(KILLED, tmp_path)
    deadline = time.monotonic() + 60
    while len(list(tmp_path.glob("out/cells/*.json"))) < 4 and time.monotonic() < deadline:
        time.sleep(0.02)
    process.kill()
    process.join()
    finished = {path: path.stat().st_mtime_ns for path in tmp_path.glob("out/cells/*.json")}
    assert 4 <= len(finished) < 20
    again = run_forked(KILLED, tmp_path)
    assert again.returncode == 0, again.stderr
    assert int(again.stdout) == 20 - len(finished)
    assert all(path.stat().st_mtime_ns == time for path, time in finished.items())
