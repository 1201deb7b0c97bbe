"""A log of one's own: where it is, how it is read, and the parts that it is split into."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...common.typing import Booleans
from ...data import ClickLog, World
from ...data.readers.tables.report import ODDITIES, LogReport
from ..worlds import SPLIT
from .kept_logs import KeptLogs, kept_logs
from .tables import read_table

WHOLE, TRAIN, VALIDATION, TEST = "log", "train", "validation", "test"
_USUAL = 0.99  # pages longer than this share of the pages are cut to the usual length
HALVES = ("first half", "second half")


@dataclass(frozen=True)
class LogSource:
    """Which log it is, and how it is read.

    Parameters
    ----------
    path : the table or the saved log.
    columns : which column means what, as "query=term".
    format : "" or one of those of ``data.read_log``.
    world : file of the saved world that a saved log belongs to; "" for a table.
    slots : documents of a page that count; 0 for as many as 99% of the pages have.
    strict : whether a table in which anything is odd is refused.
    contents : a hash of the files, so that a changed one is read again; ``of`` finds it.
    """

    path: str
    columns: tuple[str, ...] = ()
    format: str = ""
    world: str = ""
    slots: int = 0
    strict: bool = False
    contents: str = ""

    @classmethod
    def of(cls, path: str, world: str = "", **settings: Any) -> LogSource:
        """Return the source of files, which are looked into."""
        digest = hashlib.sha256()
        for name in (path, world):
            if name:
                if not Path(name).is_file():
                    raise FileNotFoundError(f"{name}: no such file")
                with Path(name).open("rb") as file:
                    digest.update(hashlib.file_digest(file, "sha256").digest())
        return cls(path, world=world, contents=digest.hexdigest()[:24], **settings)


class OwnLog(NamedTuple):
    """A log that was read: its world, and what the reader says of it."""

    world: World
    log: ClickLog
    oddities: dict[str, int]
    columns: str
    rows: int
    report: LogReport | None = None


@lru_cache(maxsize=1)
def read_source(source: LogSource) -> OwnLog:
    """Read a table, or load a saved log with its world; pages of unusual length are cut."""
    if ClickLog.is_saved(source.path):
        if not source.world:
            raise ValueError(f"{source.path} was saved by clickgym: give its world too (--world)")
        if source.columns or source.format or source.strict:
            raise ValueError(
                f"{source.path} was saved by clickgym: columns, format and strict are for tables"
            )
        world, log = World.load(source.world), ClickLog.load(source.path)
        log.check_world(world)
        longest = source.slots or _usual_length(log)
        dropped = int((log.ranking[:, longest:] >= 0).sum())
        oddities = {ODDITIES["cut_slots"]: dropped} if dropped else {}
        return OwnLog(world, cut_pages(log, longest), oddities, "", len(log))
    given: dict[str, Any] = {
        "columns": source.columns, "format": source.format or None, "strict": source.strict
    }  # fmt: skip
    read = read_table(source.path, slots=source.slots or None, **given)
    usual = _usual_length(read[1])
    if not source.slots and usual < read[1].slots:
        read = read_table(source.path, slots=usual, **given)
    world, log = read
    if source.world:
        world = World.load(source.world)
        log.check_world(world)
    oddities = {ODDITIES[name]: count for name, count in read.report.oddities.items()}
    return OwnLog(world, log, oddities, read.report.columns, read.report.rows, read.report)


def _usual_length(log: ClickLog) -> int:
    lengths = np.count_nonzero(log.ranking >= 0, axis=1)
    return max(int(np.quantile(lengths, _USUAL, method="inverted_cdf")), 1)


def cut_pages(log: ClickLog, slots: int) -> ClickLog:
    """Return the log with the first ``slots`` documents of each page.

    A page that was cut has no propensity of its own any more, so a log of which one was has none.
    """
    if slots >= log.slots:
        return log
    propensity = None if (log.ranking[:, slots:] >= 0).any() else log.log_propensity
    return replace(
        log,
        ranking=log.ranking[:, :slots],
        clicks=log.clicks[:, :slots],
        log_propensity=propensity,
    )


def split_log(log: ClickLog, split_by: str, seed: int) -> dict[str, ClickLog]:
    """Return the log and its parts: to fit to, to validate on, to judge by, and two halves.

    ``split_by`` is "" for pages at random, or the column of the log whose values stay together.
    """
    split = log.split_by(split_by, SPLIT, seed) if split_by else log.split(SPLIT, seed)
    parts = dict(zip((TRAIN, VALIDATION, TEST), split, strict=True))
    halves = dict(zip(HALVES, parts[TRAIN].split((0.5, 0.5), seed), strict=True))
    return {WHOLE: log, **parts, **halves}


@lru_cache(maxsize=1)
def shown_world(logs: KeptLogs) -> World:
    """Return the log's world with the queries' frequencies and the documents of the log.

    Candidates are what the training part showed: of other documents no model knows anything. A
    query that the training part never asks keeps its candidates.
    """
    world, parts = kept_logs(logs)
    log = parts[WHOLE]
    counts = np.bincount(log.query, log.counts, world.n_queries)
    shown = _shown(parts[TRAIN], world)
    candidates = np.where(shown.any(axis=1, keepdims=True), shown, world.candidates)
    return world.with_candidates(candidates, counts / counts.sum())


def shown_twice(logs: Sequence[ClickLog], world: World) -> Booleans:
    """Return which documents every one of the logs showed, (Q, N)."""
    return np.logical_and.reduce([_shown(log, world) for log in logs])


def _shown(log: ClickLog, world: World) -> Booleans:
    rows, slots = np.nonzero((log.ranking >= 0) & (log.counts > 0)[:, None])
    shown = np.zeros((world.n_queries, world.n_docs), dtype=bool)
    shown[log.query[rows], log.ranking[rows, slots]] = True
    return shown & world.candidates
