"""Fits, metrics and online metrics of one user and type, and how well they go together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from ... import clickmodels, evaluation
from ...clickmodels import ClickModel
from ...common.typing import Booleans, Floats
from ...evaluation import Correlations
from ...evaluation.metrics.model_metrics import relevance_of_grades
from ..engine.grid import Result
from ..engine.shapes import Undefined
from .drawn_pages import INTENTS, intents
from .federated_setting import ALL, PageSetting, Scene, draw_seed, scene_of
from .user_sessions import CONFIGURATION, UserSessions, any_click, draw_sessions, split_users

VERSION = "2"
DCG, ERR, EBU, UDCM, UDBN, UUBM, UFCM, UVCM = PAPER = (
    "DCG", "ERR", "EBU", "uDCM", "uDBN", "uUBM", "uFCM", "uVCM",
)  # in the paper's order  # fmt: skip
BESIDE = ("uSDBN", "uFCM-page", "rrDBN", "rrDCM")
LIKE = ("anyUBM", "anyFCM", "anyVCM")  # P(any click), which is what UCTR measures
UTILITY, CLICKED = "true user, utility", "true user, any click"
METRICS = (*PAPER, *BESIDE, *LIKE, UTILITY, CLICKED)
UCTR, GAIN = "UCTR", "Gain"
RECIPROCAL = ("MaxRR", "MeanRR", "MinRR")
COLUMNS = (UCTR, *RECIPROCAL, GAIN)
# Which sessions metrics are compared with, and fitted to: all; all but those that the block
# satisfied, which only a simulation knows, in the test; and also in training.
EVERY, BAD_ONLY = "all sessions", "without good abandonment"
REFITTED = "without good abandonment, also in training"
# How close uVCM is to uUBM: this is above 0 where it is closer to uUBM than to uFCM.
MIDDLE = ("uFCM + uUBM", "2 uVCM")
# The fits, and which of them each metric reads.
_FITS: dict[str, tuple[str, dict[str, Any]]] = {
    **{name: (name, {}) for name in ("UBM", "DBN", "SDBN", "DCM", "FCM", "VCM")},
    EBU: ("SDBN", {"method": "clicked"}),
}
_READS = {
    EBU: EBU, UDCM: "DCM", UDBN: "DBN", UUBM: "UBM", UFCM: "FCM", UVCM: "VCM", "uSDBN": "SDBN",
    "uFCM-page": "FCM", "rrDBN": "DBN", "rrDCM": "DCM", "anyUBM": "UBM", "anyFCM": "FCM",
    "anyVCM": "VCM",
}  # fmt: skip


@dataclass(frozen=True)
class CorrelationCell:
    """All correlations of one setting; intervals come from ``resamples`` of queries."""

    pages: PageSetting
    resamples: int = 1000


# Metric, what it is compared with ("" nothing), online metric, value and bounds.
Line = tuple[str, str, str, float, float, float]
# Which queries and sessions a line is about, and the line.
Correlated = tuple[str, str, str, str, str, Undefined, Undefined, Undefined]
RESULT: dict[str, Any] = {
    "sessions": list[tuple[str, str, str, int]],  # intent, part, what is counted, how many
    "online": list[tuple[str, str, str, float]],  # intent, sessions, online metric, mean
    "correlations": list[Correlated],
    "differences": list[Correlated],
    "attention": dict[str, list[float]],  # of the true user and of fits, by position
    "shown": list[float],  # the share of training sessions with the block at each position
    "perplexity": dict[str, float],
}


def correlation_cell(cell: CorrelationCell) -> Result:
    """Draw sessions, fit click models by grade to half of the users, compare on the others."""
    scene = scene_of(cell.pages)
    sessions = draw_sessions(
        scene.world, scene.pages, scene.user, cell.pages.sessions,
        draw_seed(cell.pages, "sessions"),
    )  # fmt: skip
    train, test = split_users(sessions, draw_seed(cell.pages, "split"))
    fits = _fit(scene, train)
    of_query = intents(scene.world)
    parts = {name: of_query == place for place, name in enumerate(INTENTS)}
    parts[ALL] = np.ones(scene.world.n_queries, dtype=bool)
    kinds = {EVERY: (test, _measure_pages(scene, fits))}
    if test.good.any():
        bad, refits = test[~test.good], _fit(scene, train[~train.good])
        kinds[BAD_ONLY] = bad, _measure_pages(scene, fits, unsatisfied=True)
        kinds[REFITTED] = bad, _measure_pages(scene, refits, unsatisfied=True)
    online, correlations, differences = [], [], []
    for kind, (chosen, metrics) in kinds.items():
        for intent, queries in parts.items():
            part = chosen[queries[chosen.log.query]]
            means, found = _correlate(cell, scene, part, metrics)
            online += [(intent, kind, *mean) for mean in means.items()]
            correlations += [(intent, kind, *line) for line in _alone(found)]
            differences += [(intent, kind, *line) for line in _compared(found)]
    return {
        "sessions": _count_sessions(parts, train, test),
        "online": online,
        "correlations": correlations,
        "differences": differences,
        **_attention(scene, fits, train),
        "perplexity": {
            name: evaluation.perplexity(model, test.log).mean
            for name, model in {"true user": scene.user, **fits}.items()
        },
    }


def _fit(scene: Scene, train: UserSessions) -> dict[str, ClickModel]:
    return {
        name: clickmodels.fit(model, train.log, scene.world, parameters="grade", **settings)
        for name, (model, settings) in _FITS.items()
    }


def _measure_pages(
    scene: Scene, fits: dict[str, ClickModel], unsatisfied: bool = False
) -> dict[str, Floats]:
    """Return every metric of each configuration, (C,) each.

    ``unsatisfied``: the true user's own numbers are those of sessions in which the block did not
    satisfy.
    """
    world, pages = scene.world, scene.pages
    grades = evaluation.page_grades(world, pages.query, pages.ranking)
    block = scene.block
    clicks = scene.user.click_probs(pages.query, pages.ranking, **block)
    gain = relevance_of_grades(grades, world.max_grade)
    found = {UTILITY: (clicks * gain).sum(axis=1), CLICKED: any_click(scene.user, pages, block)}
    if unsatisfied:
        either = scene.user.satisfied_probs(pages.query, pages.ranking, **block)
        others = 1.0 - (either - found[CLICKED])
        found = {name: values / others for name, values in found.items()}
    for name in METRICS:
        if name not in found:
            fit = fits[_READS[name]] if name in _READS else None
            found[name] = evaluation.metric(name, grades, world.max_grade, fit, **block)
    return {name: found[name] for name in METRICS}


def _count_sessions(
    parts: dict[str, Booleans], train: UserSessions, test: UserSessions
) -> list[tuple[str, str, str, int]]:
    """Return the numbers of sessions, configurations and users, for Table 1."""
    found = []
    for intent, queries in parts.items():
        for part, sessions in (("training", train), ("test", test)):
            chosen = sessions[queries[sessions.log.query]]
            pages = np.unique(chosen.log.extra[CONFIGURATION], return_counts=True)[0]
            users = np.unique(chosen.user, return_counts=True)[0]
            counts = {"sessions": len(chosen), "configurations": len(pages), "users": len(users)}
            found += [(intent, part, name, count) for name, count in counts.items()]
    return found


def _attention(
    scene: Scene, fits: dict[str, ClickModel], train: UserSessions
) -> dict[str, Any]:
    """Return attention of the true user, of FCM and of VCM by position, and where blocks stood."""
    vertical = int(scene.block["vertical"][0])
    tables = {"true user": scene.user, "FCM": fits["FCM"], "VCM": fits["VCM"]}
    positions = train.log.vertical_position
    assert positions is not None
    shown = np.bincount(positions, minlength=train.log.slots + 1)
    return {
        "attention": {
            name: model.attention[vertical].tolist()  # type: ignore[attr-defined]
            for name, model in tables.items()
        },
        "shown": (shown / shown.sum()).tolist(),
    }


def _correlate(
    cell: CorrelationCell, scene: Scene, sessions: UserSessions, metrics: dict[str, Floats]
) -> tuple[dict[str, float], Correlations]:
    """Return the means of online metrics in some sessions, and all metrics' correlations."""
    configurations = evaluation.find_configurations(sessions.log)
    page = np.empty(len(configurations), dtype=np.int64)
    page[configurations.row] = sessions.log.extra[CONFIGURATION]
    online = evaluation.online_metrics(sessions.log, scene.world)
    online = {name: online[name] for name in COLUMNS}
    found = evaluation.correlate(
        {name: values[page] for name, values in metrics.items()}, online, configurations,
        cell.resamples, draw_seed(cell.pages, "bootstrap"),
    )  # fmt: skip
    return {name: float(values.mean()) for name, values in online.items()}, found


def _alone(found: Correlations) -> Iterator[Line]:
    """Give the correlation of every metric with every online metric."""
    for metric in METRICS:
        for column in COLUMNS:
            one = found.interval(metric, column)
            yield metric, "", column, one.mean, one.low, one.high


def _compared(found: Correlations) -> Iterator[Line]:
    """Give the paired differences between the paper's metrics, and ``MIDDLE``."""
    for column in COLUMNS:
        for first, second in combinations((*PAPER, UTILITY), 2):
            pair = found.difference(first, second, column)
            yield first, second, column, pair.mean, pair.low, pair.high
    fcm, ubm, vcm = (found.offline.index(name) for name in (UFCM, UUBM, UVCM))
    values, drawn = (
        one[..., fcm, :] + one[..., ubm, :] - 2.0 * one[..., vcm, :]
        for one in (found.values, found.resampled)
    )
    for place, column in enumerate(found.online):
        known = drawn[np.isfinite(drawn[:, place]), place]
        low, high = np.quantile(known, (0.025, 0.975)) if known.size else (np.nan, np.nan)
        yield *MIDDLE, column, float(values[place]), float(low), float(high)
