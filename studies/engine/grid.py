"""A grid of independent cells: one file per result, resumable, in parallel."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NotRequired, TypedDict

import joblib

from ...common.progress import progress
from ...common.storage import write_text
from .keeping import clear_way, collect_notes, make_folder, set_aside
from .locks import Claims
from .shapes import find_mismatch
from .workers import with_one_thread, workers

Cell = Any  # a frozen dataclass of JSON values
Result = dict[str, Any]
_PATIENCE = 0.5  # seconds between looks at cells that another command computes


def cell_key(cell: Cell, version: str) -> str:
    """Return the name of a cell's file: a hash of its settings and of ``version``.

    Fields with ``metadata={"key": False}`` (where files are, not what is computed) are left out,
    and those with ``"key": "given"`` where they are empty.
    """
    content = {"kind": type(cell).__name__, "version": version, **_content(cell)}
    text = json.dumps(content, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def _content(cell: Cell) -> dict[str, Any]:
    content = {}
    for field in dataclasses.fields(cell):
        value = getattr(cell, field.name)
        in_key = field.metadata.get("key", True)
        if in_key is True or (in_key == "given" and value):
            content[field.name] = _plain(value)
    return content


def _plain(value: Any) -> Any:
    """Return a value as JSON takes it."""
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    return _content(value) if dataclasses.is_dataclass(value) else value


@dataclasses.dataclass(frozen=True)
class Grid:
    """Cells, and the files in ``folder`` that record what came of them.

    Parameters
    ----------
    function : pure function of a cell that can be imported by name.
    cells : frozen dataclasses.
    folder : of the records.
    version : changes when what ``function`` computes changes.
    result : what a result must contain: see ``find_mismatch``.
    """

    function: Callable[[Any], Any]
    cells: Sequence[Cell]
    folder: Path
    version: str
    result: Any = dict[str, Any]

    def run(
        self, jobs: int = 1, description: str = "cells", retry_failed: bool = False,
        scheduler: str = "",
    ) -> int:  # fmt: skip
        """Compute the cells without a record; return how many this call has computed.

        Every result is a JSON file in ``folder``, renamed into place as soon as it is there, so
        the same call goes on after being killed. A failure is a file of its own with the error,
        does not stop the rest, and is tried again with ``retry_failed``. Records that are not
        whole or not of their cell are set aside first, and computed again.

        Cells are computed by ``jobs`` processes, or by the workers of a Dask ``scheduler``; what
        they return is written here. Several calls at once on one folder share the cells.
        """
        with workers(jobs, scheduler) as pool:
            make_folder(self.folder / "claims")
            keys = {cell_key(cell, self.version): cell for cell in self.cells}
            if retry_failed:
                for key in keys:
                    clear_way(self._failed(key)).unlink(missing_ok=True)
            todo = {key: cell for key, cell in keys.items() if self.read(key, cell) is None}
            computed = 0
            claims = Claims(self.folder)
            with progress(len(todo), description) as advance:
                while todo:
                    recorded = self._compute_round(pool, todo, claims, advance)
                    left = self._missing(todo)
                    advance(len(todo) - len(left) - recorded)  # what another command did
                    todo, computed = left, computed + recorded
                    if todo:  # another command is at them
                        time.sleep(_PATIENCE)
        return computed

    def records(self) -> list[Result | None]:
        """Return the cells' records in their order, each with its "result" or its "error"."""
        return [self.read(cell_key(cell, self.version), cell) for cell in self.cells]

    def _compute_round(
        self, pool: Any, todo: dict[str, Cell], claims: Claims, advance: Callable[[int], None]
    ) -> int:
        """Compute the cells that nobody else is at; return how many."""
        recorded = 0
        try:
            for key, text, failed, notes in pool(self._calls(todo, claims)):
                write_text(clear_way(self._failed(key) if failed else self._done(key)), text)
                claims.release(key)
                for line in notes:
                    print(line, file=sys.stderr)
                advance(1)
                recorded += 1
        finally:
            claims.release_all()
        return recorded

    def _calls(self, todo: dict[str, Cell], claims: Claims) -> Iterator[Any]:
        """Give the calls for cells that nobody else computes or has recorded in the meantime."""
        for key, cell in todo.items():
            if claims.take(key):
                if self._missing({key: cell}):
                    yield joblib.delayed(_compute)(self.function, cell, key, self.result)
                else:
                    claims.release(key)

    def _done(self, key: str) -> Path:
        return self.folder / f"{key}.json"

    def _failed(self, key: str) -> Path:
        return self.folder / f"{key}.error.json"

    def _missing(self, cells: dict[str, Cell]) -> dict[str, Cell]:
        """Return the cells without a record."""
        return {
            key: cell
            for key, cell in cells.items()
            if not self._done(key).exists() and not self._failed(key).exists()
        }

    def read(self, key: str, cell: Cell) -> Result | None:
        """Return a cell's record, with its "result" or its "error"; None without one.

        A record that is not whole, or not this cell's, is set aside.
        """
        for path, kind in ((self._done(key), _Done), (self._failed(key), _Failed)):
            try:
                text = path.read_text(encoding="utf-8")
            except FileNotFoundError:
                continue
            except (OSError, UnicodeDecodeError) as error:
                set_aside(path, "a folder" if path.is_dir() else f"cannot be read: {error}")
                continue
            record, wrong = _parse(text, kind, cell, self.result)
            if not wrong:
                return record
            set_aside(path, wrong)
        return None


class _Done(TypedDict):
    settings: dict[str, Any]
    result: dict[str, Any]
    seconds: float
    sha256: NotRequired[str]


class _Failed(TypedDict):
    settings: dict[str, Any]
    error: str
    trace: str
    sha256: NotRequired[str]


def _parse(text: str, kind: Any, cell: Cell, result: Any) -> tuple[Result, str]:
    """Return a record, and what is wrong with it: "" if nothing is."""
    try:
        record = json.loads(text)
    except (ValueError, RecursionError) as error:
        return {}, f"not JSON: {error}" if text.strip() else "empty"
    wrong = find_mismatch(record, kind, "record")
    if wrong:
        return {}, wrong
    if record["settings"] != json.loads(json.dumps(_content(cell))):
        return {}, "the settings of another cell"
    if "sha256" in record and record["sha256"] != _digest(record):
        return {}, "changed since it was written"
    return record, find_mismatch(record["result"], result) if "result" in record else ""


def _digest(record: dict[str, Any]) -> str:
    content = {name: value for name, value in record.items() if name != "sha256"}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def run_grid(
    function: Callable[[Any], Result],
    cells: Sequence[Cell],
    folder: str | Path,
    version: str,
    jobs: int = 1,
    description: str = "cells",
    retry_failed: bool = False,
    scheduler: str = "",
    result: Any = dict[str, Any],
) -> list[Result | None]:
    """Return ``function(cell)`` for every cell, in order; None for one that failed.

    See ``Grid`` and ``Grid.run``. Results hold numbers, texts, lists and dicts of them: what JSON
    keeps.
    """
    grid = Grid(function, cells, Path(folder), version, result)
    grid.run(jobs, description, retry_failed, scheduler)
    return [None if record is None else record.get("result") for record in grid.records()]


def _compute(
    function: Callable[[Any], Result], cell: Cell, key: str, shape: Any
) -> tuple[str, str, bool, list[str]]:
    """Compute one cell; return its key, the text of its record, whether it failed, and notes."""
    start = time.perf_counter()
    record: dict[str, Any] = {"settings": _content(cell)}
    with collect_notes() as notes:
        try:
            result = with_one_thread(function, (cell,))
            seconds = round(time.perf_counter() - start, 3)
            # a result that is not JSON, or not what it should be, is a failure too
            text = _write_record({**record, "result": result, "seconds": seconds})
            wrong = find_mismatch(json.loads(text)["result"], shape)
            if wrong:
                raise ValueError(f"a cell of {type(cell).__name__}: {wrong}")
            return key, text, False, notes
        except Exception as error:  # whatever a cell raises is recorded, and the rest goes on
            message = f"{type(error).__name__}: {error}"
            failed = {**record, "error": message, "trace": traceback.format_exc()}
            return key, _write_record(failed), True, notes


def _write_record(record: dict[str, Any]) -> str:
    plain = json.loads(json.dumps(record))
    return json.dumps({**plain, "sha256": _digest(plain)}, indent=1) + "\n"
