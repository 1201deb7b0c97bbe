"""A grid of independent cells: one file a result, resumable, in parallel."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import joblib

from ...common.progress import progress
from ...common.storage import write_whole
from .locks import Claims
from .workers import with_one_thread, workers

Cell = Any  # a frozen dataclass of JSON values
Result = dict[str, Any]
_PATIENCE = 0.5  # seconds between looks at cells that another command computes


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
    scheduler: str = "",
) -> list[Result | None]:
    """Return ``function(cell)`` for every cell, in order; None for one that failed.

    A cell is a frozen dataclass, ``function`` a pure function of it that can be imported by name.
    Every result is a JSON file in ``folder``, renamed into place as soon as it is there, so the
    same call goes on after being killed; a cell with a file is never computed again. A failure is
    a file of its own with the error, does not stop the rest, and is tried again with
    ``retry_failed``. Change ``version`` when what a cell computes changes.

    Cells are computed by ``jobs`` processes, or by the workers of a Dask ``scheduler``; what they
    return is written here. Several calls at once on one folder share the cells.

    Results hold numbers, strings, lists and dicts of them: what JSON keeps.
    """
    folder = Path(folder)
    keys = [cell_key(cell, version) for cell in cells]
    if retry_failed:
        for key in keys:
            _failed(folder, key).unlink(missing_ok=True)
    todo = _missing(dict(zip(keys, cells, strict=True)), folder)
    claims = Claims(folder)
    with workers(jobs, scheduler) as pool, progress(len(todo), description) as advance:
        while todo:
            recorded = 0
            try:
                for key, text, failed in pool(_work(function, todo, folder, claims)):
                    _write(_failed(folder, key) if failed else _done(folder, key), text)
                    claims.release(key)
                    advance(1)
                    recorded += 1
            finally:
                claims.release_all()
            left = _missing(todo, folder)
            advance(len(todo) - len(left) - recorded)  # what another command did
            todo = left
            if todo:  # another command is at them
                time.sleep(_PATIENCE)
    return [read_cell(_done(folder, key)) for key in keys]


def _work(
    function: Callable[[Any], Result], todo: dict[str, Cell], folder: Path, claims: Claims
) -> Iterator[Any]:
    """Give the calls for cells that nobody else computes or has recorded in the meantime."""
    for key, cell in todo.items():
        if claims.take(key):
            if _missing({key: cell}, folder):
                yield joblib.delayed(_compute)(function, cell, key)
            else:
                claims.release(key)


def _done(folder: Path, key: str) -> Path:
    return folder / f"{key}.json"


def _failed(folder: Path, key: str) -> Path:
    return folder / f"{key}.error.json"


def _missing(cells: dict[str, Cell], folder: Path) -> dict[str, Cell]:
    """Return the cells without a record."""
    return {
        key: cell
        for key, cell in cells.items()
        if not _done(folder, key).exists() and not _failed(folder, key).exists()
    }


def failures(cells: Sequence[Cell], folder: str | Path, version: str) -> list[Result]:
    """Return what is recorded about those of ``cells`` that failed."""
    keys = [cell_key(cell, version) for cell in cells]
    lost = [key for key in keys if not _done(Path(folder), key).exists()]
    paths = [_failed(Path(folder), key) for key in lost]
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


def _compute(function: Callable[[Any], Result], cell: Cell, key: str) -> tuple[str, str, bool]:
    """Compute one cell; return its key, the text of its record, and whether it failed."""
    start = time.perf_counter()
    record: dict[str, Any] = {"settings": _content(cell)}
    try:
        result = with_one_thread(function, (cell,))
        seconds = round(time.perf_counter() - start, 3)
        # a result that is not JSON is a failure too
        return key, _text({**record, "result": result, "seconds": seconds}), False
    except Exception as error:  # whatever a cell raises is recorded, and the rest goes on
        text = f"{type(error).__name__}: {error}"
        return key, _text({**record, "error": text, "trace": traceback.format_exc()}), True


def _text(record: dict[str, Any]) -> str:
    return json.dumps(record, indent=1) + "\n"


def _write(path: Path, text: str) -> None:
    with write_whole(path) as temporary:
        temporary.write_text(text)
