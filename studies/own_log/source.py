"""A log of one's own: where it is, how it is read, and the parts that it is split into."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from ...common.typing import Booleans, Integers
from ...data import ClickLog, LogReport, World
from ..worlds import SPLIT
from .kept_logs import KeptLogs, kept_logs
from .tables import OwnLog, read_own_log

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
    world : file of the saved world that a saved log belongs to, or that a table is read into; ""
        for a table that makes its own.
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


@lru_cache(maxsize=1)
def read_source(source: LogSource) -> OwnLog:
    """Read a log of one's own, with a report of what was done to pages of unusual length.

    They are cut to the usual length; where pages have propensities, which are of whole pages, the
    few longer ones are left out instead.
    """
    given: dict[str, Any] = {
        "columns": source.columns, "format": source.format, "strict": source.strict,
        "find_world": partial(World.load, source.world) if source.world else None,
    }  # fmt: skip
    found = read_own_log(source.path, slots=source.slots or None, **given)
    usual = source.slots or _usual_length(found.log)
    if found.report is None:
        report = LogReport(Path(source.path).name, rows=len(found.log))
        report.count("cut_slots", int((found.log.ranking[:, usual:] >= 0).sum()))
        found = found._replace(report=report)
    elif found.log.log_propensity is None and (_lengths(found.log) > usual).any():
        return read_own_log(source.path, slots=usual, **given)
    assert found.report is not None
    log = found.log if source.slots else _leave_out_longer(found.log, usual, found.report)
    return found._replace(log=cut_pages(log, usual, found.report))


def _usual_length(log: ClickLog) -> int:
    return max(int(np.quantile(_lengths(log), _USUAL, method="inverted_cdf")), 1)


def _lengths(log: ClickLog) -> Integers:
    return np.count_nonzero(log.ranking >= 0, axis=1)


def _leave_out_longer(log: ClickLog, usual: int, report: LogReport) -> ClickLog:
    """Return the log without pages that are longer than usual, if it has propensities."""
    longer = _lengths(log) > usual
    if log.log_propensity is None or not longer.any():
        return log
    report.oddities.pop("cut_slots", None)  # nothing is cut
    pages = "1 page is" if longer.sum() == 1 else f"{longer.sum():,} pages are"
    report.notes.append(
        f"{pages} left out for having more documents than the usual {usual}: propensities are of "
        "whole pages, so that a page cannot be cut."
    )
    return log[~longer]


def cut_pages(log: ClickLog, slots: int, report: LogReport) -> ClickLog:
    """Return the log with the first ``slots`` documents of each page.

    A page that was cut has no propensity of its own any more, so a log of which one was has none,
    and the report says so. A vertical block that stood lower is right below the last document.
    """
    if slots >= log.slots:
        return log
    changed: dict[str, Any] = {}
    if log.log_propensity is not None and (log.ranking[:, slots:] >= 0).any():
        changed["log_propensity"] = None
        report.notes.append(
            f"Pages are cut to {slots} documents, as asked, and the log's propensities are left "
            "out, for they are of whole pages."
        )
    if log.vertical_position is not None:
        report.count("cut_verticals", int((log.vertical_position > slots).sum()))
        changed["vertical_position"] = np.minimum(log.vertical_position, slots)
    return replace(
        log, ranking=log.ranking[:, :slots], clicks=log.clicks[:, :slots], **changed
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
