"""Running a study: its cells in a folder, its rows, its report, and the settings it ran with."""

from __future__ import annotations

import dataclasses
import json
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..common import checks
from ..common.runtime import say
from ..common.storage import write_text
from ..evaluation.reporting.formats import PlainTable
from ..evaluation.reporting.page import tables_section
from .engine.grid import Grid
from .engine.keeping import clear_way, make_folder, set_aside
from .engine.rows import Row, load_rows, save_rows
from .engine.shapes import find_mismatch
from .registry import study_class, study_names
from .study import Results, Stage, Study, describe_settings, option_name, settings_shape
from .worlds import WorldSetting

SETTINGS = "settings.json"
# Earlier versions wrote the options of the command, with these among them.
_EARLIER: dict[str, Any] = {
    "world": str, "queries": int, "docs": int, "world_seed": int, "jobs": int,
    "retry_failed": bool, "out": str,
}  # fmt: skip


@dataclass(frozen=True)
class Outcome:
    """The rows of a study, and how many cells were computed now, were kept, and failed.

    ``failures`` says what failed and why, of stages that label their cells.
    """

    rows: list[Row]
    computed: int
    kept: int
    failed: int
    failures: tuple[str, ...] = ()


def compute_study(
    study: Study,
    folder: str | Path,
    jobs: int = 1,
    retry_failed: bool = False,
    scheduler: str = "",
) -> Outcome:
    """Compute what is missing of a study, and return its rows.

    Finished cells are files in ``folder``; the same call goes on from them. Cells that failed are
    left out, and tried again with ``retry_failed``. Files that are not whole are set aside
    (``*.broken``), named, and computed again.

    Parameters
    ----------
    jobs : number of processes.
    scheduler : address of a Dask cluster that computes instead, as "tcp://host:port".
    """
    study.check()
    checks.positive_integer(jobs, "jobs")
    study = study.resolved()
    results = Results()
    computed = total = failed = 0
    failures: list[str] = []
    for stage in study.stages(Path(folder), results):
        grid = Grid(
            stage.function, stage.cells, Path(folder) / stage.folder, stage.version, stage.result
        )
        computed += grid.run(jobs, stage.name, retry_failed, scheduler)
        records = grid.records()
        total += len(stage.cells)
        results[stage.name] = [
            (cell, record["result"])
            for cell, record in zip(stage.cells, records, strict=True)
            if record is not None and "result" in record
        ]
        results.failures[stage.name] = [
            (cell, record["error"])
            for cell, record in zip(stage.cells, records, strict=True)
            if record is not None and "error" in record
        ]
        if stage.required:
            failed += _tell_failures(stage, records, Path(folder))
            failures += _name_failures(stage, records)
    return Outcome(study.rows(results), computed, total - computed, failed, tuple(failures))


def _name_failures(stage: Stage, records: list[dict[str, Any] | None]) -> list[str]:
    """Return what failed and why, each once, if the stage has labels for its cells."""
    if stage.label is None:
        return []
    return list(dict.fromkeys(
        f"{stage.label(cell)}: {record['error']}"
        for cell, record in zip(stage.cells, records, strict=True)
        if record is not None and "error" in record
    ))  # fmt: skip


def _tell_failures(stage: Stage, records: list[dict[str, Any] | None], folder: Path) -> int:
    """Tell how many cells failed, and return it; raise where all did, with the first error."""
    errors = [record["error"] for record in records if record is not None and "error" in record]
    if errors:
        text = (
            f"{len(errors)} of {_count_settings(len(records))} failed, the first with {errors[0]}"
        )
        if len(errors) == len(records) and not stage.may_fail:
            raise ValueError(f"{text} (--retry-failed tries again)")
        where = f"{folder / stage.folder}/*.error.json"
        print(f"{text} (--retry-failed tries again): {where}", file=sys.stderr)
    return len(errors)


def run_study(
    study: Study,
    folder: str | Path,
    jobs: int = 1,
    retry_failed: bool = False,
    scheduler: str = "",
    preset: str = "",
    overwrite: bool = False,
) -> int:
    """Compute what is missing of a study, write its report into ``folder``, and print it.

    The folder has the rows as Parquet, tables, pictures, ``report.html`` and ``settings.json``. One
    that holds another study's results is refused; results of other settings are replaced, and
    their cells kept. A study that wants its ``own_folder`` refuses these too, unless it may
    ``overwrite`` them. Other parameters are those of ``compute_study``; ``preset`` is what the
    settings were made from. Return 0, or 1 where cells failed.
    """
    start, folder = time.perf_counter(), Path(folder)
    study.check()
    require_writable(folder)
    study = study.resolved()
    compare_settings(folder, study, overwrite)
    if preface := study.preface():
        say(preface)
    outcome = compute_study(study, folder, jobs, retry_failed, scheduler)
    for name, rows in study.files(outcome.rows).items():
        _replace_rows(folder / name, rows)
    record = {"study": study.name, "preset": preset, **describe_settings(study)}
    write_text(clear_way(folder / SETTINGS), json.dumps(record, indent=2) + "\n")
    report = study.report(outcome.rows)
    if outcome.failures:  # above all else, so that nobody takes what is there for everything
        table = PlainTable("", "part", ["error"], "--retry-failed tries them again.")
        for failure in outcome.failures:
            part, _, error = failure.partition(": ")
            table.add(part, [error])
        report.sections = {"What failed": tables_section([table]), **report.sections}
    shown = {"preset": preset} if preset else {}
    page = report.write(folder, shown | study.describe())
    report.print()
    kept = f"{outcome.kept}" if outcome.kept else "none"
    failed = f", {outcome.failed} failed" if outcome.failed else ""
    print(
        f"{_count_settings(outcome.computed)} computed, {kept} taken from an earlier run{failed}; "
        f"tables and pictures: {page}   {time.perf_counter() - start:.0f} s"
    )
    for failure in outcome.failures:
        print(f"failed: {failure}", file=sys.stderr)
    return 1 if outcome.failed else 0


def _count_settings(number: int) -> str:
    return f"{number} setting{'' if number == 1 else 's'}"


def require_writable(folder: Path) -> None:
    """Raise an error that names the folder if nothing can be written there; make nothing yet."""
    above = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    try:
        with tempfile.TemporaryFile(dir=above):
            pass
    except OSError as error:
        raise OSError(f"--out {folder} cannot be written: {error.strerror}") from error


def compare_settings(folder: Path, study: Study, overwrite: bool = False) -> None:
    """Compare a study with the results that a folder holds.

    Those of another study are refused, and those of other settings where a study wants its
    ``own_folder`` and may not ``overwrite``; otherwise it is told that they are replaced.
    """
    before = _read_settings(folder / SETTINGS)
    if before is None:
        return
    if before.get("study", study.name) != study.name:
        raise ValueError(
            f"--out {folder} has results of {before['study']}, not of {study.name}: give another "
            "folder"
        )
    if "jobs" in before:  # written by an earlier version
        return
    now = describe_settings(study)
    changed = ", ".join(
        _say_change(one, before[one.name])
        for one in dataclasses.fields(study)
        if not one.metadata.get("look") and one.name in before
        and before[one.name] != now[one.name]
    )
    if not changed or overwrite:
        return
    if study.own_folder:
        raise ValueError(
            f"--out {folder} holds another run ({changed}): give another folder, or --overwrite"
        )
    print(
        f"{folder} held results of other options ({changed}): its tables and pictures are "
        "replaced, its cells are kept",
        file=sys.stderr,
    )


def _say_change(one: dataclasses.Field[Any], before: Any) -> str:
    """Return what a setting was, as it is typed."""
    if "changed" in one.metadata:
        return str(one.metadata["changed"])
    return f"--{option_name(one).replace('_', '-')} was {_as_typed(before)}"


def _as_typed(value: Any) -> str:
    if value in ("", []):
        return "not given"
    if isinstance(value, list):
        parts = (one if isinstance(one, list) else [one] for one in value)
        return " ".join(",".join(map(str, part)) for part in parts)
    return WorldSetting(**value).describe() if isinstance(value, dict) else str(value)


def _read_settings(path: Path) -> dict[str, Any] | None:
    """Return what ``settings.json`` says; None without one, or where it was set aside."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        wrong = _find_wrong(record)
        if wrong:
            raise ValueError(wrong)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        set_aside(path, "a folder" if path.is_dir() else str(error))
        return None
    return record


def _find_wrong(record: Any) -> str:
    """Return what is wrong with the contents of ``settings.json``, "" if nothing is."""
    if not isinstance(record, dict):
        return "not a table"
    if "jobs" in record:
        return find_mismatch(record, dict.fromkeys(record, Any) | _EARLIER, "it")
    if record.get("study") not in study_names():
        return "not the settings of a study"
    shape = settings_shape(study_class(record["study"]))
    return find_mismatch(record, {"study": str, "preset": str, **shape}, "it")


def _replace_rows(path: Path, rows: list[Row]) -> None:
    """Write rows; a file that is there and has none to read is set aside first."""
    make_folder(path.parent)
    if clear_way(path).exists():
        try:
            load_rows(path)
        except (OSError, ValueError) as error:
            set_aside(path, str(error).splitlines()[0])
    save_rows(rows, path)
