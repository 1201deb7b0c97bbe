"""A log of one's own as options: the same in every command that takes one."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from clickgym import data
from clickgym.scripts._shared.command_inputs import WorldOptions, saved_log
from clickgym.scripts._shared.command_options import option
from clickgym.studies.own_log.tables import read_table
from clickgym.studies.worlds import world_of


@dataclass(frozen=True)
class LogOptions(WorldOptions):
    """The options that name a log of one's own, and the world of a saved one."""

    log: str | None = option(None)
    column: list[str] | None = option(None)
    format: str | None = option(None)
    strict: bool = option(False)


class OwnLog(NamedTuple):
    """A world and its log, and what the reader says of the table that they come from."""

    world: data.World
    log: data.ClickLog
    report: data.LogReport | None = None


def read_own_log(options: LogOptions) -> OwnLog:
    """Return the log that options name: a table, or one that clickgym saved, with its world."""
    assert options.log is not None
    path = Path(options.log)
    if not path.exists():
        raise FileNotFoundError(f"{path}: no such file")
    if data.ClickLog.is_saved(path):
        for name in ("column", "format", "strict"):
            if getattr(options, name):
                raise ValueError(f"--{name} is for tables, but {path} was saved by clickgym")
        world = world_of(options.world_setting())
        return OwnLog(world, saved_log(str(path), world))
    found = read_own_table(path, options)
    return found if not options.world else join_own_log(found, options)


def join_own_log(found: OwnLog, options: LogOptions, world: data.World | None = None) -> OwnLog:
    """Return a log that was read from a table in the indices of a world that there was before."""
    world = world_of(options.world_setting()) if world is None else world
    if found.log.fingerprint == world.fingerprint:
        return found._replace(world=world)
    where = found.report.where if found.report else "the log"
    log, left_out = data.join_log(found.log, found.world, world)
    if not len(log):
        raise ValueError(f"{where}: no page shows queries and documents that {world} has")
    if left_out and found.report is not None:
        found.report.notes.append(
            f"{left_out:,} pages are left out: their queries or documents are not in the world."
        )
    return OwnLog(world, log, found.report)


def read_own_table(path: Path, options: LogOptions) -> OwnLog:
    """Return the world and the log of a table."""
    try:
        read = read_table(
            path, options.column or (), format=options.format, strict=options.strict
        )
    except ValueError as error:
        raise ValueError(re.sub("^columns:", "--column:", str(error))) from error
    world, log = read
    return OwnLog(world, log, read.report)


def say(text: object) -> None:
    """Print what others may read while work goes on; nobody need listen (``| head -1``)."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
