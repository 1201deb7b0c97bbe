"""Files of a run that were altered are named, set aside and made again."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from own_study import Powers
from small_studies import SMALL

from clickgym import studies
from clickgym.studies.engine.grid import cell_key
from clickgym.studies.runner import _read_settings
from clickgym.studies.study import describe_settings

NOISE = np.random.default_rng(0).bytes(400)


def in_record(change, signed=True):
    """Return an alteration of the record of a cell, with or without its checksum."""

    def alter(path, _):
        record = json.loads(path.read_text())
        if not signed:
            record.pop("sha256")
        change(record)
        path.write_text(json.dumps(record))

    return alter


def change_number(value, to):
    """Return ``value`` with its first number changed."""
    if isinstance(value, dict):
        for key in value:
            value[key], done = change_number(value[key], to)
            if done:
                return value, True
    elif isinstance(value, list):
        for place, one in enumerate(value):
            value[place], done = change_number(one, to)
            if done:
                return value, True
    elif isinstance(value, float):
        return to, True
    return value, False


def with_number(to):
    return lambda record: change_number(record["result"], to)


def drop_field(record):
    del record["result"][next(iter(record["result"]))]


def make_folder(path, _):
    path.unlink()
    (path / "inner").mkdir(parents=True)


def forbid(path, _):
    if os.geteuid() == 0:  # root reads everything
        path.write_bytes(b"")
    else:
        path.chmod(0)


def write(content):
    return lambda path, _: path.write_bytes(content)


def copy_other(path, other):
    """Write what another file holds, or something else where that is the same."""
    content = other.read_bytes()
    path.write_bytes(content if content != path.read_bytes() else b"other")


BOTH = [
    write(b""), lambda path, _: path.write_bytes(path.read_bytes()[:-20]), write(NOISE),
    write(b"[1, 2]"), write(b'{"kind": "another"}'), write(b"null"), make_folder, forbid,
    copy_other,
]  # fmt: skip
RECORDS = [
    *BOTH, in_record(drop_field), in_record(drop_field, False), in_record(with_number(0.123)),
    in_record(with_number(float("inf"))), in_record(with_number("0.5")),
    in_record(with_number("0.5"), False), in_record(with_number(None)),
    in_record(lambda record: record.update(result={}), False),
    in_record(lambda record: record.update(result=[]), False),
    in_record(lambda record: record.update(settings={}), False),
    in_record(lambda record: record.update(seconds="long"), False),
    in_record(lambda record: record["result"].update(surplus=1), False),
    in_record(lambda record: record.pop("settings"), False),
]  # fmt: skip


def flip(path, _):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(bytes(content))


def forget_checksum(alter):
    """Return an alteration of a file that an earlier version wrote, without a checksum."""

    def both(path, other):
        path.with_name(f"{path.name}.sha256").unlink(missing_ok=True)
        alter(path, other)

    return both


ARTEFACTS = [
    *BOTH, flip, *(forget_checksum(alter) for alter in BOTH[:-1]),
    lambda path, _: path.with_name(f"{path.name}.sha256").write_text("not a checksum"),
    lambda path, _: path.with_name(f"{path.name}.sha256").write_bytes(NOISE),
]  # fmt: skip


def without_times(rows):
    return [{key: row[key] for key in row if not key.endswith("seconds")} for row in rows]


LONG = ("card-calibration", "card-test")  # their cells are like those of others


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(name, marks=[pytest.mark.slow] if name in LONG else [])
        for name in SMALL
        if name != "learning"
    ],
)
def whole(request, tmp_path_factory):
    """A study, its folder and its rows."""
    folder = tmp_path_factory.mktemp(request.param) / "whole"
    study = SMALL[request.param]
    return study, folder, without_times(studies.compute_study(study, folder).rows)


def alter_all(paths, alterations, shift):
    """Alter every file in another way; a round later in yet another."""
    contents = {path: path.read_bytes() for path in paths}
    for number, path in enumerate(paths):
        other = paths[number - 1]
        place = path.with_name("other")
        place.write_bytes(contents[other] if other != path else b"other")
        alterations[(number + shift) % len(alterations)](path, place)
        place.unlink()


def records_of(folder):
    return sorted(path for path in folder.rglob("*.json") if path.parent.name in ("cells", "fits"))


def test_altered_records_are_named_and_computed_again(whole, tmp_path, capsys):
    study, folder, rows = whole
    rounds = range(0, len(RECORDS), max(len(records_of(folder)), 3))
    for shift in rounds:
        copy = tmp_path / str(shift)
        shutil.copytree(folder, copy)
        paths = records_of(copy)
        alter_all(paths, RECORDS, shift)
        assert without_times(studies.compute_study(study, copy).rows) == rows, shift
        told = capsys.readouterr().err
        for path in paths:
            assert f"{path} was set aside as {path.name}.broken" in told
            assert path.with_name(f"{path.name}.broken").exists()
            assert path.is_file()


def test_altered_artefacts_are_named_and_made_again(whole, tmp_path, capsys):
    study, folder, rows = whole
    suffixes = (".parquet", ".safetensors", ".npy")
    kinds = {
        suffix: sorted(path for path in folder.rglob(f"*{suffix}")) for suffix in suffixes
    }
    count = max(len(paths) for paths in kinds.values())
    for shift in range(0, len(ARTEFACTS), count) if count else ():
        copy = tmp_path / str(shift)
        shutil.copytree(folder, copy)
        altered = []
        for paths in kinds.values():
            own = [copy / path.relative_to(folder) for path in paths]
            alter_all(own, ARTEFACTS, shift)
            altered += own
        for path in required_records(study, copy):
            path.unlink()
        assert without_times(studies.compute_study(study, copy).rows) == rows, shift
        told = capsys.readouterr().err
        for path in altered:
            assert f"{path} was set aside as {path.name}.broken" in told, (shift, told)
            assert path.is_file()


def required_records(study, folder):
    """Return the records of the stages that rows need, so that they read the files of others."""
    results = {}
    for stage in study.stages(folder, results):
        place = folder / stage.folder
        paths = [place / f"{cell_key(cell, stage.version)}.json" for cell in stage.cells]
        results[stage.name] = [
            (cell, json.loads(path.read_text())["result"])
            for cell, path in zip(stage.cells, paths, strict=True)
        ]
        if stage.required:
            yield from [path for path in paths if "random_value" not in path.read_text()]


def test_altered_settings_and_results_are_named_and_written_again(tmp_path, capsys):
    study = Powers()
    whole = tmp_path / "whole"
    assert studies.run_study(study, whole) == 0
    for name in ("settings.json", "rows.parquet"):
        content = (whole / name).read_bytes()
        for number, alter in enumerate(BOTH):
            copy = tmp_path / f"{name}{number}"
            shutil.copytree(whole, copy)
            alter(copy / name, whole / "tables.md")
            capsys.readouterr()
            assert studies.run_study(study, copy) == 0
            told = capsys.readouterr().err
            assert told.count("\n") == 1, (name, number, told)
            assert f"{copy / name} was set aside as {name}.broken" in told
            assert (copy / name).read_bytes() == content
            assert studies.load_rows(copy / "rows.parquet") == studies.load_rows(
                whole / "rows.parquet"
            )


BAD_SETTINGS = {
    "it lacks 'power'": lambda record: record.pop("power"),
    "it.power is not a whole number": lambda record: record.update(power=float("nan")),
    "it.numbers is not a list": lambda record: record.update(numbers=3),
    "it.numbers[0] is not a whole number": lambda record: record.update(numbers=["1"]),
    "it has 'more', which does not belong there": lambda record: record.update(more=1),
    "it.preset is not text": lambda record: record.update(preset=None),
    "not the settings of a study": lambda record: record.update(study=[1]),
}


def test_settings_with_fields_that_are_not_the_studys_are_set_aside(tmp_path, capsys):
    assert studies.run_study(Powers(), tmp_path) == 0
    path = tmp_path / "settings.json"
    whole = path.read_text()
    altered = []
    for reason, alter in BAD_SETTINGS.items():
        record = json.loads(whole)
        alter(record)
        altered.append((reason, record))
    altered.append(("it lacks 'world'", {"jobs": 1}))
    for reason, record in altered:
        path.write_text(json.dumps(record))
        capsys.readouterr()
        assert studies.run_study(Powers(), tmp_path) == 0
        told = capsys.readouterr().err
        assert told.count("\n") == 1, told
        assert f"{path} was set aside as {path.name}" in told
        assert f"({reason})" in told
        assert path.read_text() == whole


def test_settings_of_every_study_are_what_their_class_declares(tmp_path, capsys):
    for name, study in SMALL.items():
        path = tmp_path / name / "settings.json"
        path.parent.mkdir()
        record = {"study": name, "preset": "", **describe_settings(study)}
        path.write_text(json.dumps(record))
        assert _read_settings(path) == json.loads(json.dumps(record)), capsys.readouterr().err


def test_what_stands_in_the_way_of_files_is_set_aside(tmp_path, capsys):
    whole = tmp_path / "whole"
    assert studies.run_study(Powers(), whole) == 0
    before = (whole / "tables.md").read_bytes()
    for name in ("tables.md", "report.html"):
        make_folder(whole / name, None)
    shutil.rmtree(whole / "cells")
    (whole / "cells").write_text("a file")
    assert studies.run_study(Powers(), whole) == 0
    told = capsys.readouterr().err
    for name in ("tables.md", "report.html", "cells"):
        assert f"{Path(whole, name)} was set aside as {name}.broken" in told
    assert (whole / "tables.md").read_bytes() == before


def test_a_record_of_an_error_that_is_not_whole_is_computed_again(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("13").touch()
    with pytest.raises(ValueError, match="thirteen"):
        studies.compute_study(Powers((13,)), "out")
    Path("13").unlink()
    (path,) = Path("out").glob("cells/*.error.json")
    path.write_text(path.read_text()[:40])
    assert studies.compute_study(Powers((13,)), "out").rows == [{"number": 13, "value": 169.0}]
    assert f"{path} was set aside" in capsys.readouterr().err


def test_a_record_that_is_broken_twice_is_set_aside_twice(tmp_path):
    for _ in range(3):
        assert studies.compute_study(Powers((2,)), tmp_path).failed == 0
        (path,) = (tmp_path / "cells").glob("*.json")
        path.write_text("")
    names = sorted(path.name for path in (tmp_path / "cells").glob("*.broken"))
    assert names == [f"{path.name}.2.broken", f"{path.name}.broken"]
