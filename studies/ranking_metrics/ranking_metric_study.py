"""The study of ranking metrics on non-shuffled traffic: its settings, cells, rows and report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from ...common import checks
from ...evaluation.reporting.formats import ledger_markdown
from ...evaluation.reporting.page import ledger_section
from ..claims import ledger_lines
from ..engine.grid import Result
from ..engine.rows import Row
from ..registry import register
from ..study import Report, Results, Stage, Study, setting
from ..worlds import SMALL_WORLD, WorldSetting, world_of
from . import metric_cells, training_cells, value_cells
from .measurements import BOUNDS, ESTIMATE, FUNCTION, METRIC, Measurements
from .metric_cells import MetricCell, metric_cell
from .ranking_metric_ledger import RULES, ranking_ledger
from .ranking_metric_pictures import study_pictures
from .ranking_metric_tables import reference_spread, study_tables
from .setting import TEMPERATURE, TrafficSetting
from .traffic import BANNERS
from .training_cells import LEARNERS, TrainingCell, training_cell
from .value_cells import ValueCell, value_cell

_METRICS, _VALUES, _TRAINING = "metrics", "off-policy estimates", "training rankers"
_SHUFFLED = 0.05  # of production's traffic


@register("ranking-metrics")
@dataclass(frozen=True)
class RankingMetrics(Study):
    """Compare scoring functions on traffic that is not shuffled: metrics against the truth.

    A row has ``banner``, ``slots``, ``temperature`` and ``seed``, the ``part`` that it belongs to
    (``metric``, ``estimate``, ``function``, ``query``, ``ctr``; ``ordering`` and ``choosing`` of
    trained rankers), a ``name`` in it, ``at`` (the number of the scoring function or query, or the
    rank), ``impressions`` of the log, ``value``, ``stderr`` and the ``accepted`` share of samples;
    None where there is none.

    Example:
      clickgym ranking-metrics quick --jobs 2
      clickgym ranking-metrics own clicks.csv --scorer old.safetensors new.safetensors
    """

    banners: tuple[str, ...] = setting(
        tuple(BANNERS), "size of the pages", flag="banner", listed=lambda: tuple(BANNERS),
        read=lambda text: _read_name(text.removesuffix(" banner"), BANNERS), metavar="SIZE",
    )
    seeds: int = setting(5)
    first_seed: int = setting(0, "the first of the seeds", least=0, metavar="N")
    world: WorldSetting = setting(WorldSetting(n_queries=100, n_docs=30))
    sizes: tuple[int, ...] = setting(
        (2_000, 6_000, 20_000, 60_000, 200_000), "impressions of logs, ascending", flag="log_size",
        least=1_000, metavar="N",
    )
    reference: int = setting(
        1_000_000, "impressions of the long shuffled log", least=100, metavar="N"
    )
    functions: int = setting(40, "number of scoring functions", least=3, metavar="N")
    temperatures: tuple[float, ...] = setting(
        (TEMPERATURE, 0.0625, 0.125, 0.25, 1.0), "of production, the usual one first",
        flag="production_temperature", metavar="T",
    )
    learners: tuple[str, ...] = setting(
        tuple(LEARNERS), "rankers that learn from pairs", flag="learner", metavar="NAME",
        listed=lambda: tuple(LEARNERS), read=lambda text: _read_name(text, LEARNERS),
    )
    training_queries: int = setting(
        600, "queries of the world that rankers learn and are tried on, half and half", least=2,
        metavar="N",
    )

    @classmethod
    def presets(cls) -> dict[str, Self]:
        """Return "quick" and "paper"."""
        quick = cls(
            seeds=2, sizes=(2_000, 20_000), reference=200_000, temperatures=(TEMPERATURE, 0.125),
            training_queries=200, world=WorldSetting(n_queries=50, n_docs=30),
        )  # fmt: skip
        return {"quick": quick, "paper": cls()}

    @classmethod
    def small(cls) -> Self:
        """Return a run that takes a moment."""
        return cls(
            ("small",), 1, 0, SMALL_WORLD, (1_000, 4_000), 2_000, 4, (TEMPERATURE, 1.0),
            ("linear",), 6,
        )  # fmt: skip

    def check(self) -> None:
        """Raise where the study could not run; the world is loaded for it."""
        super().check()
        for banner in self.banners:
            checks.choice(banner, tuple(BANNERS), "banners")
        for learner in self.learners:
            checks.choice(learner, tuple(LEARNERS), "learners")
        if list(self.sizes) != sorted(set(self.sizes)):
            raise ValueError(f"sizes must ascend, not {', '.join(map(str, self.sizes))}")
        for one in self.temperatures:
            if not float(checks.finite(one, "temperatures", 0)) > 0.0:
                raise ValueError(f"temperatures must be above 0, not {one}")
        world = world_of(self.world)
        for banner in self.banners:
            if world.n_docs < BANNERS[banner].slots:
                raise ValueError(
                    f"n_docs must be at least {BANNERS[banner].slots}, which a {banner} banner "
                    f"shows, not {world.n_docs}"
                )
        if world.features is None:
            raise ValueError("world: the production ranker needs features, this world has none")

    def _traffic(self, banner: str, seed: int, temperature: float) -> TrafficSetting:
        return TrafficSetting(
            banner, seed, self.world, self.sizes[-1], _SHUFFLED, self.reference, self.functions,
            temperature,
        )  # fmt: skip

    def _training_traffic(self, banner: str, seed: int, temperature: float) -> TrafficSetting:
        """Return traffic on more queries, where the world can have more; one of each log else."""
        world = self.world
        if world.made is None and world.n_queries:
            world = replace(world, n_queries=self.training_queries)
        return replace(
            self._traffic(banner, seed, temperature), world=world, reference=1, functions=1
        )

    def stages(self, folder: Path, results: Results) -> Iterator[Stage]:
        """Give the metrics, the off-policy estimates, and the rankers that learn."""
        every = [
            (banner, seed)
            for seed in range(self.first_seed, self.first_seed + self.seeds)
            for banner in sorted(dict.fromkeys(self.banners), key=lambda one: -BANNERS[one].slots)
        ]
        usual, *others = dict.fromkeys(self.temperatures)
        metrics = [MetricCell(self._traffic(*one, usual), self.sizes) for one in every]
        metrics += [
            MetricCell(self._traffic(*one, warmth), self.sizes[-1:], variants=False)
            for warmth in others
            for one in every
        ]
        yield Stage(
            _METRICS, metric_cell, metrics, metric_cells.VERSION, metric_cells.RESULT,
            label=lambda cell: _name_cell(_METRICS, cell.traffic),
        )  # fmt: skip
        values = [ValueCell(self._traffic(*one, usual), self.sizes) for one in every]
        yield Stage(
            _VALUES, value_cell, values, value_cells.VERSION, value_cells.RESULT,
            label=lambda cell: _name_cell(_VALUES, cell.traffic), may_fail=True,
        )  # fmt: skip
        training = [
            TrainingCell(self._training_traffic(*one, usual), learner)
            for one in every
            for learner in dict.fromkeys(self.learners)
        ]
        yield Stage(
            _TRAINING, training_cell, training, training_cells.VERSION, training_cells.RESULT,
            label=lambda cell: _name_cell(f"{_TRAINING}, {cell.learner}", cell.traffic),
            may_fail=True,
        )  # fmt: skip

    def rows(self, results: Results) -> list[Row]:
        """Return the rows of all parts, small banners first."""
        rows = [
            row
            for stage, read in (
                (_METRICS, _metric_rows), (_VALUES, _value_rows), (_TRAINING, _training_rows)
            )
            for cell, result in results[stage]
            for row in read(cell, result)
        ]
        order = list(self.banners)
        return sorted(rows, key=lambda row: order.index(row["banner"]))

    def report(self, rows: list[Row]) -> Report:
        """Return the paper's figures, the tables, and the ledger of the paper's claims."""
        found = Measurements(rows, self.temperatures[0])
        lines = ledger_lines(ranking_ledger(found))
        question = (
            "Which offline metric orders scoring functions as shuffled traffic, and as deployment, "
            "would?"
        )
        small = self._say_small()
        return Report(
            "Ranking metrics on non-shuffled traffic",
            f"{small} {question}" if small else question,
            study_tables(found),
            study_pictures(found),
            {"Ledger of claims": ledger_section(lines, RULES)},
            {"ledger.md": ledger_markdown(lines, RULES)},
            lines=[
                *(reference_spread(found, banner) for banner in found.banners),
                *([small] if small else []),
            ],
        )

    def _say_small(self) -> str:
        """Return in words that a run is smaller than the paper's; nothing where it is not."""
        paper = RankingMetrics()
        if self.seeds >= paper.seeds and self.sizes[-1] >= paper.sizes[-1]:
            return ""
        return (
            f"This run is for looking, not for deciding: {self.seeds} "
            f"seed{'' if self.seeds == 1 else 's'} and logs of up to {self.sizes[-1]:,} "
            f"impressions, where `paper` has {paper.seeds} and {paper.sizes[-1]:,}."
        )


def _read_name(text: str, names: Iterable[str]) -> str:
    """Return the name that is written, whatever its capitals; what is unknown as it is."""
    return next((name for name in names if name.lower() == text.strip().lower()), text)


def _name_cell(part: str, traffic: TrafficSetting) -> str:
    return f"{part}, {traffic.banner} banner, T = {traffic.temperature:g}, seed {traffic.seed}"


def _row(
    traffic: TrafficSetting,
    part: str,
    name: str,
    at: int,
    value: float,
    impressions: int | None = None,
    stderr: float | None = None,
    accepted: float | None = None,
) -> Row:
    return {
        "banner": traffic.banner, "slots": traffic.slots, "temperature": traffic.temperature,
        "seed": traffic.seed, "part": part, "name": name, "at": at, "impressions": impressions,
        "value": value, "stderr": stderr, "accepted": accepted,
    }  # fmt: skip


def _metric_rows(cell: MetricCell, result: Result) -> Iterator[Row]:
    traffic = cell.traffic
    for name, rates in result["ctr"].items():
        for rank, value in enumerate(rates, 1):
            yield _row(traffic, "ctr", name, rank, value)
    for part, columns in ((FUNCTION, result["functions"]), ("query", result["queries"])):
        for name, values in columns.items():
            for at, value in enumerate(values):
                yield _row(traffic, part, name, at, value)
    for name, size, accepted, values, errors in result["metrics"]:
        for at, (value, error) in enumerate(zip(values, errors, strict=True)):
            yield _row(traffic, METRIC, name, at, value, size, error, accepted)


def _value_rows(cell: ValueCell, result: Any) -> Iterator[Row]:
    for name, size, values, errors in result["estimates"]:
        for at, (value, error) in enumerate(zip(values, errors, strict=True)):
            yield _row(cell.traffic, ESTIMATE, name, at, value, size, error)


def _training_rows(cell: TrainingCell, result: Any) -> Iterator[Row]:
    for part, values in result["deployed"].items():
        for name, value in values.items():
            label = name if name in BOUNDS else f"{cell.learner}, {name} pairs"
            yield _row(cell.traffic, part, label, 0, value)
