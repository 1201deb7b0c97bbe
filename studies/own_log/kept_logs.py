"""A world and logs of one's own as files in a run's folder, read once per process."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import numpy as np

from ...data import ClickLog, World
from ..engine.keeping import make_folder, read_kept, save_kept

WORLD, LOG, PARTS = "world.safetensors", "log.parquet", "parts"
Logs = dict[str, ClickLog]  # by what they are for: "train", "validation", "test", …


@dataclass(frozen=True)
class LogSetting:
    """Which log of one's own a study takes: a world, and parts of its log by name.

    ``contents`` is what they hold, whatever the file was called: ``from_logs`` finds it. ``made``
    are the world and the parts themselves.
    """

    contents: str = ""
    made: tuple[World, Logs] | None = field(
        default=None, compare=False, repr=False, metadata={"key": False}
    )

    def describe(self) -> str:
        """Return it in words."""
        return f"checksum of what the log holds: {self.contents}"

    @classmethod
    def from_logs(cls, world: World, logs: Mapping[str, ClickLog]) -> LogSetting:
        """Return the setting of a world and of parts of its log."""
        for log in logs.values():
            log.check_world(world)
        return cls(_describe(world, logs), (world, dict(logs)))

    def keep(self, folder: Path) -> KeptLogs:
        """Write world and parts into ``folder``, for the processes that compute cells.

        What is there already stays; files that are not whole are set aside, and made again.
        """
        if self.made is None:
            raise ValueError("log has no world and no parts: make it with LogSetting.from_logs")
        world, logs = self.made
        kept = KeptLogs(str(folder.absolute()), self.contents, tuple(logs))
        make_folder(folder / PARTS)
        found = read_kept(folder / WORLD, World.load)
        parts = {name: read_kept(part_path(folder, name), ClickLog.load) for name in logs}
        whole = {name: log for name, log in parts.items() if log is not None}
        if found is None or len(whole) < len(logs) or _describe(found, whole) != self.contents:
            save_kept(folder / WORLD, world.save)
            for name, log in logs.items():
                save_kept(part_path(folder, name), log.save)
        return kept


@dataclass(frozen=True)
class LoggingFile:
    """The saved policy that made a log: where it is, and a hash of what it holds."""

    path: str = field(default="", compare=False)
    contents: str = ""

    def describe(self) -> str:
        """Return it in words."""
        return self.path

    @classmethod
    def of(cls, path: str) -> LoggingFile:
        """Return that of a file."""
        return cls(path, hashlib.sha256(Path(path).read_bytes()).hexdigest()[:24])


@dataclass(frozen=True)
class KeptLogs:
    """What ``LogSetting.keep`` wrote: ``names`` of the parts, and where they are."""

    folder: str = field(metadata={"key": False})
    contents: str
    names: tuple[str, ...] = field(metadata={"key": False})


@lru_cache(maxsize=2)
def kept_logs(kept: KeptLogs) -> tuple[World, Logs]:
    """Return the world and the parts of its log, by name."""
    folder = Path(kept.folder)
    world = World.load(folder / WORLD)
    logs = {name: ClickLog.load(part_path(folder, name)) for name in kept.names}
    if _describe(world, logs) != kept.contents:
        raise ValueError(f"{folder}: another command has put another log there")
    return world, logs


def part_path(folder: Path, name: str) -> Path:
    """Return the file of a part of a log."""
    return folder / PARTS / f"{name.replace(' ', '-')}.parquet"


def _describe(world: World, logs: Mapping[str, ClickLog]) -> str:
    """Return a hash of all that a fit and its judging depend on."""
    digest = hashlib.sha256(world.fingerprint.encode())
    digest.update(world.query_probs.tobytes() + world.candidates.tobytes())
    for name, log in logs.items():
        digest.update(f"{name} {log.ranking.shape}".encode())
        columns = (log.query, log.ranking.astype(np.int32), log.clicks, log.log_propensity)
        for column in (*columns, log.weight):
            digest.update(b"none" if column is None else column.tobytes())
        for column in (log.vertical, log.vertical_position):
            digest.update(b"" if column is None else column.tobytes())
    return digest.hexdigest()[:24]
