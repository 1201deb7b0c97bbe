"""Figure 1 of the slates paper in simulation: metrics of whole sessions, few candidates."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray

from ... import clickmodels, data, evaluation, policies
from ...data import World
from ...evaluation.reporting.figures import new_figure
from ...evaluation.reporting.formats import PlainTable
from ..engine.grid import Result
from ..engine.rows import Row, distinct, where
from ..registry import register
from ..study import Report, Results, Stage, Study, setting
from .errors import root_mean_squares
from .forty_conditions import check_sizes
from .session_model import Sessions, sample_sessions
from .slate_cells import DIRECT, direct_values, draw_slates, weighted_estimates
from .slate_pictures import LABELS, STYLES, error_curves, legend_above

if TYPE_CHECKING:
    from matplotlib.figure import Figure

VERSION = "3"
SESSION_METRICS = {"tts": "time to success", "utility": "utility rate"}
_TRAINING = 22_000  # pages that the target's classifier learns from
_FIXED = 1_000_003  # seed of what all cells share, which none of them has
_CHUNK = 100_000


@dataclass(frozen=True)
class SessionCell:
    """One log of sessions with uniformly drawn slates, drawn by ``seed``.

    ``queries`` have ``slots`` to ``candidates`` documents. ``truth`` sessions per query are drawn
    to know the target's values. Sizes and ``direct`` are as in ``OpeCell``.
    """

    seed: int
    queries: int = 77
    candidates: int = 8
    slots: int = 5
    sizes: tuple[int, ...] = (300, 1_000, 3_000, 10_000, 30_000)
    direct: int = 10_000
    truth: int = 50_000


_RESULT = {"estimates": list[tuple[str, str, int, float]], "truth": dict[str, float]}


def session_cell(cell: SessionCell) -> Result:
    """Draw the log and estimate: (metric, estimator, n, estimate), and the truth by metric."""
    world = _world(cell.queries, cell.candidates, cell.slots)
    user, target = _user(world), _target(world, cell.slots)
    logging = policies.Uniform(world, cell.slots)
    log = draw_slates(world, logging, cell.sizes[-1], cell.seed)
    rng = np.random.default_rng((cell.seed, 1))
    rewards = _metrics(sample_sessions(user, log.query, log.ranking, rng))
    shown = target.rankings[log.query]
    deployed = _metrics(sample_sessions(user, log.query, shown, rng))
    tables = evaluation.PseudoinverseWeights(logging, target, np.arange(world.n_queries))
    weights = {
        "ips": evaluation.importance_weights(log, target),
        "pi": tables.of(log.query, log.ranking),
    }
    estimates: list[list[Any]] = [
        [metric, *values]
        for metric in SESSION_METRICS
        for values in weighted_estimates(weights, rewards[metric], deployed[metric], cell.sizes)
    ]
    sizes = [n for n in cell.sizes if n <= cell.direct]
    earned = np.stack(list(rewards.values()), axis=1)
    estimates += [
        [metric, estimator, n, float(value)]
        for estimator, n, values in direct_values(
            DIRECT, log, earned, [target.rankings], world, sizes
        )
        for metric, value in zip(SESSION_METRICS, values[0], strict=True)
    ]
    return {"estimates": estimates, "truth": _truth(cell.queries, cell.candidates, cell.slots,
                                                    cell.truth)}  # fmt: skip


def _metrics(sessions: Sessions) -> dict[str, NDArray[np.float64]]:
    return {"tts": sessions.time_to_success(), "utility": sessions.utility_rate()}


@lru_cache(maxsize=2)
def _world(queries: int, candidates: int, slots: int) -> World:
    """Return a world whose queries have ``slots`` to ``candidates`` documents."""
    world = data.synthetic_world(queries, candidates)
    lengths = np.random.default_rng((_FIXED, 3)).integers(slots, candidates + 1, queries)
    shown = np.arange(candidates) < lengths[:, None]  # they stand in a random order
    return world.with_candidates(shown, np.full(queries, 1.0 / queries))


@lru_cache(maxsize=2)
def _user(world: World) -> clickmodels.DBN:
    return cast(clickmodels.DBN, clickmodels.true_user("DBN", world))


@lru_cache(maxsize=2)
def _target(world: World, slots: int) -> policies.Ranker:
    """Return the ranking by a logistic regression that learned to predict clicks."""
    from sklearn.linear_model import LogisticRegression

    log = draw_slates(world, policies.Uniform(world, slots), _TRAINING, _FIXED)
    rng = np.random.default_rng((_FIXED, 1))
    sessions = sample_sessions(_user(world), log.query, log.ranking, rng)
    features = world.standardised_features
    pages = features[log.query[:, None], log.ranking].reshape(-1, features.shape[2])
    model = LogisticRegression(C=0.01, max_iter=200).fit(pages, sessions.clicks.ravel())
    scores = np.zeros(world.candidates.shape)
    scores[world.candidates] = model.decision_function(features[world.candidates])
    return policies.Ranker(scores, slots, world=world)


@lru_cache(maxsize=2)
def _truth(queries: int, candidates: int, slots: int, sessions: int) -> dict[str, float]:
    """Return the target's values from ``sessions`` drawn for each query."""
    world = _world(queries, candidates, slots)
    slates, rng = _target(world, slots).rankings, np.random.default_rng((_FIXED, 2))
    total = dict.fromkeys(SESSION_METRICS, 0.0)
    every = np.repeat(np.arange(queries), sessions)
    for start in range(0, len(every), _CHUNK):
        query = every[start : start + _CHUNK]
        found = _metrics(sample_sessions(_user(world), query, slates[query], rng))
        for metric, values in found.items():
            total[metric] += float(values.sum())
    return {metric: value / len(every) for metric, value in total.items()}


@register("sessions")
@dataclass(frozen=True)
class SessionStudy(Study):
    """Estimate metrics of whole sessions from logs of uniformly drawn slates (figure 1).

    A row per estimate has ``metric``, ``estimator``, ``n``, ``seed``, ``estimate`` and ``truth``.

    Example:
      clickgym ope sessions --repetitions 10 --size 300 1000
    """

    command: ClassVar[str] = "ope"

    repetitions: int = setting(50, "number of logs", least=1, metavar="N")
    sizes: tuple[int, ...] = setting(
        SessionCell.sizes, "sample sizes, ascending", flag="size", least=4, metavar="N",
        was=("sizes",),
    )
    direct: int = setting(
        SessionCell.direct, "largest size for direct methods", least=0, metavar="N"
    )
    truth: int = setting(
        SessionCell.truth, "sessions per query that the true values are found from", least=1,
        metavar="N",
    )

    @classmethod
    def presets(cls) -> dict[str, Self]:
        """Return "quick" and "paper"."""
        return {"quick": cls(5, (300, 1_000, 3_000), 1_000, 5_000), "paper": cls()}

    @classmethod
    def small(cls) -> Self:
        """Return a run that takes a moment."""
        return cls(2, (20, 40), 20, 20)

    def check(self) -> None:
        """Raise where the study could not run."""
        super().check()
        check_sizes(self.sizes)

    def stages(self, folder: Path, results: Results) -> Iterator[Stage]:
        """Give a cell per log."""
        cells = [
            SessionCell(seed, sizes=self.sizes, direct=self.direct, truth=self.truth)
            for seed in range(self.repetitions)
        ]
        yield Stage("sessions", session_cell, cells, VERSION, _RESULT)

    def rows(self, results: Results) -> list[Row]:
        """Return a row per estimate."""
        (pairs,) = results.values()
        return [
            {"metric": metric, "estimator": estimator, "n": n, "seed": cell.seed,
             "estimate": value, "truth": result["truth"][metric]}
            for cell, result in pairs
            for metric, estimator, n, value in result["estimates"]
        ]  # fmt: skip

    def report(self, rows: list[Row]) -> Report:
        """Return the errors and Figure 1."""
        errors = root_mean_squares(rows, ("metric", "estimator", "n"))
        return Report(
            "Metrics of whole sessions", "Figure 1 of the slates paper, in simulation.",
            {"Tables": session_tables(errors)},
            {"figure1.png": ("Figure 1: errors against sample size", figure_1(errors))},
        )  # fmt: skip


def figure_1(errors: list[Row]) -> Figure:
    """Draw the errors of both metrics against the sample size."""
    figure = new_figure(8.4, 4.0)
    axes = figure.subplots(1, len(SESSION_METRICS))
    for axis, (metric, label) in zip(axes, SESSION_METRICS.items(), strict=True):
        error_curves(axis, where(errors, metric=metric))
        axis.set_title(label, fontsize=10)
        axis.set_xlabel("samples n")
    axes[0].set_ylabel("RMSE")
    legend_above(figure, axes)
    return figure


def session_tables(errors: list[Row]) -> list[PlainTable]:
    """Return the errors of every estimator by sample size, a table per metric."""
    tables = []
    for metric, label in SESSION_METRICS.items():
        part = where(errors, metric=metric)
        sizes = sorted({row["n"] for row in part})
        table = PlainTable(
            f"RMSE of the {label}", "estimator", [f"n = {n:,}" for n in sizes],
            f"Over {part[0]['repetitions']} repetitions; – where an estimator was not tried.",
        )  # fmt: skip
        for name in distinct(part, "estimator", tuple(STYLES)):
            known = {row["n"]: row["rmse"] for row in where(part, estimator=name)}
            table.add(LABELS[name], [f"{known[n]:.4f}" if n in known else "–" for n in sizes])
        tables.append(table)
    return tables
