"""A grid of independent cells: one file a result, resumable, in parallel."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import joblib

from ..data.files import replaced
from ..data.progress import progress
from .parallel import with_one_thread

Cell = Any  # a frozen dataclass of JSON values
Result = dict[str, Any]


def cell_key(cell: Cell, version: str) -> str:
    """Return the name of a cell's file: a hash of its settings and of ``version``.

    Fields with ``metadata={"key": False}`` (where files are, not what is computed) are left out.
    """
    content = {"kind": type(cell).__name__, "version": version, **_content(cell)}
    text = json.dumps(content, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def _content(cell: Cell) -> dict[str, Any]:
    content = {}
    for field in dataclasses.fields(cell):
        value = getattr(cell, field.name)
        if field.metadata.get("key", True):
            content[field.name] = _content(value) if dataclasses.is_dataclass(value) else value
    return content


def run_grid(
    function: Callable[[Any], Result],
    cells: Sequence[Cell],
    folder: str | Path,
    version: str,
    jobs: int = 1,
    description: str = "cells",
    retry_failed: bool = False,
) -> list[Result | None]:
    """Return ``function(cell)`` for every cell, in order; None for one that failed.

    A cell is a frozen dataclass, ``function`` a pure function of it that can be imported by name.
    Every result is a JSON file in ``folder``, renamed into place as soon as it is there, so the
    same call goes on after being killed; a cell with a file is never computed again. A failure is
    a file of its own with the error, does not stop the rest, and is tried again with
    ``retry_failed``. Change ``version`` when what a cell computes changes.

    Results hold numbers, strings, lists and dicts of them: what JSON keeps.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    keys = [cell_key(cell, version) for cell in cells]
    todo = {}
    for key, cell in zip(keys, cells, strict=True):
        failed = (folder / f"{key}.error.json").exists() and not retry_failed
        if not (folder / f"{key}.json").exists() and not failed:
            todo[key] = cell
    pool = joblib.Parallel(n_jobs=jobs, return_as="generator_unordered")
    work = (joblib.delayed(_compute)(function, cell, folder, key) for key, cell in todo.items())
    with progress(len(todo), description) as advance:
        for _ in pool(work):
            advance(1)
    return [read_cell(folder / f"{key}.json") for key in keys]


def failures(cells: Sequence[Cell], folder: str | Path, version: str) -> list[Result]:
    """Return what is recorded about those of ``cells`` that failed."""
    keys = [cell_key(cell, version) for cell in cells]
    lost = [key for key in keys if not (Path(folder) / f"{key}.json").exists()]
    paths = [Path(folder) / f"{key}.error.json" for key in lost]
    return [json.loads(path.read_text()) for path in paths if path.exists()]


def require_results(
    cells: Sequence[Cell], results: Sequence[Result | None], folder: str | Path, version: str
) -> None:
    """Raise where every cell failed, with the first error; say it where some did."""
    failed = failures(cells, folder, version)
    if not failed:
        return
    text = f"{len(failed)} of {len(cells)} cells failed, the first with {failed[0]['error']}"
    if all(result is None for result in results):
        raise ValueError(f"{text} (--retry-failed tries again)")
    print(f"{text} (--retry-failed tries again): {folder}/*.error.json", file=sys.stderr)


def read_cell(path: Path) -> Result | None:
    """Return the result in a cell's file, None without one."""
    if not path.exists():
        return None
    result: Result = json.loads(path.read_text())["result"]
    return result


def _compute(function: Callable[[Any], Result], cell: Cell, folder: Path, key: str) -> None:
    """Compute one cell and write what came of it."""
    start = time.perf_counter()
    record: dict[str, Any] = {"settings": dataclasses.asdict(cell)}
    failed = folder / f"{key}.error.json"
    try:
        record["result"] = with_one_thread(function, (cell,))
        record["seconds"] = round(time.perf_counter() - start, 3)
        _write(folder / f"{key}.json", record)  # a result that is not JSON is a failure too
    except Exception as error:  # whatever a cell raises is recorded, and the rest goes on
        text = f"{type(error).__name__}: {error}"
        settings = record["settings"]
        _write(failed, {"settings": settings, "error": text, "trace": traceback.format_exc()})
        return
    failed.unlink(missing_ok=True)


def _write(path: Path, record: dict[str, Any]) -> None:
    text = json.dumps(record, indent=1) + "\n"
    with replaced(path) as temporary:
        temporary.write_text(text)
