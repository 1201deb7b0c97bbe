"""A log of one's own as options: the same in every command that takes one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from clickgym import data
from clickgym.scripts._shared.command_inputs import WorldOptions
from clickgym.scripts._shared.command_options import option
from clickgym.studies.own_log import tables
from clickgym.studies.own_log.tables import OwnLog
from clickgym.studies.worlds import world_of


@dataclass(frozen=True)
class LogOptions(WorldOptions):
    """The options that name a log of one's own, and the world of a saved one."""

    log: str | None = option(None)
    column: list[str] | None = option(None)
    format: str | None = option(None)
    strict: bool = option(False)


def read_own_log(options: LogOptions, path: str | None = None, **given: Any) -> OwnLog:
    """Return the log that options name, or that of ``path``, read by the same options.

    ``given`` are other arguments of ``own_log.tables.read_own_log``.
    """
    path = path or options.log
    assert path is not None
    if "find_world" not in given and (options.world or data.ClickLog.is_saved(path)):
        given["find_world"] = lambda: world_of(options.world_setting())
    try:
        return tables.read_own_log(
            path, columns=options.column or (), format=options.format, strict=options.strict,
            **given,
        )  # fmt: skip
    except ValueError as error:
        raise ValueError(re.sub("^columns:", "--column:", str(error))) from error
