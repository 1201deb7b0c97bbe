"""Logs of one's own as every command reads them: tables (``query=term``) and saved logs."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ... import data
from ...data.readers.tables.columns import NAMES
from ...data.readers.tables.reading import ReadLog


class OwnLog(NamedTuple):
    """A world and its log, and what the reader says of the table that they come from."""

    world: data.World
    log: data.ClickLog
    report: data.LogReport | None = None


def read_own_log(
    path: str | Path,
    find_world: Callable[[], data.World] | None = None,
    columns: Sequence[str] = (),
    format: str | None = None,
    strict: bool = False,
    slots: int | None = None,
) -> OwnLog:
    """Return the log of a file with its world: a table, or a log that clickgym saved.

    Parameters
    ----------
    find_world : gives the world of a saved log, or the one that a table is read into: its pages
        that show nothing else are taken, by their ids. A table without it makes its own.
    columns, format, strict, slots : as ``read_table`` takes them; they are for tables.
    """
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"{path}: no such file")
    if data.ClickLog.is_saved(path):
        for name, given in (("column", columns), ("format", format), ("strict", strict)):
            if given:
                raise ValueError(f"--{name} is for tables, but {path} was saved by clickgym")
        if find_world is None:
            raise ValueError(f"{path} was saved by clickgym: give its world too (--world)")
        world = find_world()
        return OwnLog(world, saved_log(path, world))
    read = read_table(path, columns, format=format or None, strict=strict, slots=slots)
    found = OwnLog(*read, read.report)
    return found if find_world is None else join_own_log(found, find_world())


def saved_log(path: str | Path, world: data.World) -> data.ClickLog:
    """Return a saved log after checking that it belongs to ``world``."""
    log = data.ClickLog.load(path)
    try:
        log.check_world(world)
    except ValueError as error:
        raise ValueError(
            f"{Path(path)}: {error}; give the world options that the log was collected with"
        ) from error
    return log


def join_own_log(found: OwnLog, world: data.World) -> OwnLog:
    """Return a log that was read from a table in the indices of a world that there was before."""
    if found.log.fingerprint == world.fingerprint:
        return found._replace(world=world)
    where = found.report.where if found.report else "the log"
    log, left_out = data.join_log(found.log, found.world, world)
    if not len(log):
        raise ValueError(f"{where}: no page shows queries and documents that {world} has")
    if left_out and found.report is not None:
        pages = "1 page is" if left_out == 1 else f"{left_out:,} pages are"
        found.report.notes.append(
            f"{pages} left out: their queries or documents are not in the world."
        )
    return OwnLog(world, log, found.report)


def read_table(path: str | Path, columns: Sequence[str] = (), **given: Any) -> ReadLog:
    """Read a table in silence, for whoever shows its report; errors name the option that helps.

    ``columns`` are texts such as "query=term"; the rest is for ``data.read_log``.
    """
    roles: dict[str, Any] = column_roles(columns)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            return data.read_log(path, **roles, **given)
    except data.BadLog as error:
        text = re.sub(rf"(?<![\w-])({'|'.join(NAMES)})=(…|\"\")", r"--column \1=\2", str(error))
        text = text.replace("list_separator=", "in Python, data.read_log(…) with list_separator=")
        raise ValueError(text.replace("strict=True", "--strict")) from error


def column_roles(columns: Sequence[str]) -> dict[str, str]:
    """Return the columns by role that texts such as "query=term" give."""
    roles: dict[str, str] = {}
    for text in columns:
        role, equals, name = text.partition("=")
        if not equals or role not in NAMES:
            raise ValueError(
                f"columns: {text!r} does not say what a column means, as query=term does; it may "
                f"mean {', '.join(NAMES)}"
            )
        if role in roles:
            raise ValueError(f"columns: the {role} is given twice: {roles[role]!r} and {name!r}")
        roles[role] = name
    return roles


def explain_columns(log: data.ClickLog, role: str, report: data.LogReport | None) -> str:
    """Return what a log could be split by: its columns, and those that its table has besides."""
    roles = {} if report is None else report.roles
    known = [f"{name} ({roles[name]})" if name in roles else name for name in log.extra]
    text = f"the log's columns of that kind: {', '.join(known) or 'none'}"
    if report is not None and report.unused:
        meaning = role if role in NAMES else "user"
        text += (
            f"; columns of the table that have no meaning yet: {', '.join(report.unused)} "
            f"(--column {meaning}=NAME gives one)"
        )
    return text
