"""A log of one's own as options: the same in every command that takes one."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from clickgym import data
from clickgym.scripts._shared.command_inputs import WorldOptions
from clickgym.scripts._shared.command_options import option
from clickgym.studies.own_log import tables
from clickgym.studies.own_log.kept_logs import WORLD
from clickgym.studies.own_log.tables import OwnLog
from clickgym.studies.worlds import world_of

Chosen = TypeVar("Chosen", bound="LogOptions")


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


def with_world_beside(settings: Chosen, policy: str) -> Chosen:
    """Return the settings with the world that lies beside the policy, where none is given.

    clickgym train keeps it in the policy's folder, clickgym report in the one above.
    """
    folder = Path(policy).resolve().parent
    found = [one for one in (folder / WORLD, folder.parent / WORLD) if one.is_file()]
    return settings if settings.world or not found else replace(settings, world=str(found[0]))


def check_world(what: str, thing: Any, world: data.World) -> None:
    """Raise an error that names the option where a policy or model is not of the log's world."""
    try:
        thing.check_world(world)
    except ValueError as error:
        raise ValueError(
            f"{what}: {error}; it must have been made in the world of this log, or give the "
            f"world that it was made in as --world (clickgym train, fit and report save {WORLD})"
        ) from error
