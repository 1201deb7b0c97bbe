"""Grids of cells: one file a result, resumable, failures apart."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field

from forked import run_forked, start_forked

from clickgym.studies.engine.grid import Grid, cell_key, run_grid


@dataclass(frozen=True)
class Square:
    number: int
    sign: str = "+"


CALLS = []


def square(cell):
    CALLS.append(cell.number)
    if cell.number == 13:
        raise RuntimeError("thirteen is not squared")
    return {"square": cell.number**2}


def test_results_come_in_order_and_are_kept(tmp_path):
    CALLS.clear()
    cells = [Square(number) for number in (3, 1, 2)]
    assert run_grid(square, cells, tmp_path, "1") == [{"square": n} for n in (9, 1, 4)]
    assert run_grid(square, [*cells, Square(5)], tmp_path, "1")[-1] == {"square": 25}
    assert CALLS == [3, 1, 2, 5]


def test_settings_and_version_make_the_key():
    keys = {
        cell_key(Square(1), "1"), cell_key(Square(2), "1"), cell_key(Square(1, "-"), "1"),
        cell_key(Square(1), "2"),
    }  # fmt: skip
    assert len(keys) == 4
    assert cell_key(Square(1), "1") == cell_key(Square(1), "1")


def test_a_failure_is_recorded_and_does_not_stop_the_rest(tmp_path):
    CALLS.clear()
    cells = [Square(13), Square(2)]
    assert run_grid(square, cells, tmp_path, "1") == [None, {"square": 4}]
    failed = Grid(square, cells, tmp_path, "1").records()[0]
    assert failed["error"] == "RuntimeError: thirteen is not squared"
    assert failed["settings"]["number"] == 13
    run_grid(square, cells, tmp_path, "1")
    assert CALLS == [13, 2]
    run_grid(square, cells, tmp_path, "1", retry_failed=True)
    assert CALLS == [13, 2, 13]


def test_a_cell_that_succeeds_later_is_no_failure_any_more(tmp_path):
    run_grid(square, [Square(13)], tmp_path, "1")
    again = lambda cell: {"square": 169}  # noqa: E731
    assert run_grid(again, [Square(13)], tmp_path, "1", retry_failed=True) == [{"square": 169}]
    (record,) = Grid(square, [Square(13)], tmp_path, "1").records()
    assert "error" not in record


def test_a_result_that_is_not_json_is_a_failure_of_its_cell_alone(tmp_path):
    strange = lambda cell: {"odd": {1, 2}} if cell.number == 1 else {"even": 2}  # noqa: E731
    cells = [Square(1), Square(2)]
    assert run_grid(strange, cells, tmp_path, "1") == [None, {"even": 2}]
    failed = Grid(strange, cells, tmp_path, "1").records()[0]
    assert "not JSON serializable" in failed["error"]


def test_where_files_are_is_no_part_of_the_key():
    @dataclass(frozen=True)
    class Placed:
        number: int
        folder: str = field(default="", metadata={"key": False})

    assert cell_key(Placed(1, "here"), "1") == cell_key(Placed(1, "there"), "1")
    assert cell_key(Placed(1), "1") != cell_key(Placed(2), "1")


def test_the_file_has_settings_and_time(tmp_path):
    run_grid(square, [Square(4)], tmp_path, "1")
    (path,) = tmp_path.glob("*.json")
    record = json.loads(path.read_text())
    assert record["settings"] == {"number": 4, "sign": "+"}
    assert record["seconds"] >= 0.0


SLOW = """
import time
from dataclasses import dataclass
from pathlib import Path
from clickgym.studies.engine.grid import run_grid

@dataclass(frozen=True)
class Cell:
    number: int

def compute(cell):
    with open("calls.txt", "a") as file:
        file.write(f"{cell.number}\\n")
    time.sleep(0.15)
    return {"double": 2 * cell.number}

if __name__ == "__main__":
    run_grid(compute, [Cell(n) for n in range(12)], "cells", "1")
    Path("done").touch()
"""


def test_a_killed_grid_goes_on_and_computes_no_recorded_cell_twice(tmp_path):
    after = 4
    process = start_forked(SLOW, tmp_path)
    deadline = time.monotonic() + 60
    while len(list(tmp_path.glob("cells/*.json"))) < after and time.monotonic() < deadline:
        time.sleep(0.02)
    process.kill()
    process.join()
    records = [json.loads(path.read_text()) for path in tmp_path.glob("cells/*.json")]
    finished = {record["settings"]["number"] for record in records}
    assert after <= len(finished) < 12
    calls = (tmp_path / "calls.txt").read_text().split()
    again = run_forked(SLOW, tmp_path)
    assert again.returncode == 0, again.stderr
    later = (tmp_path / "calls.txt").read_text().split()[len(calls) :]
    assert sorted(map(int, later)) == sorted(set(range(12)) - finished)
    assert len(list(tmp_path.glob("cells/*.json"))) == 12
