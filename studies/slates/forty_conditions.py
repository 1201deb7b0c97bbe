"""The slates paper's 40 conditions: spaces x metrics x logging policies x targets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, Self

from ... import policies
from ..engine.rows import Row
from ..registry import register
from ..study import Report, Results, Stage, Study, setting
from ..worlds import WorldSetting, world_of
from .errors import CONDITION, root_mean_squares
from .slate_cells import ESTIMATES, VERSION, OpeCell, slate_cell
from .slate_pictures import all_conditions, errors_table, figure_2, wins_table
from .slate_space import LOGGINGS, SlateSpace, check_space, read_space, slate_world

SPACES = ((10, 5), (100, 10))


@register("conditions")
@dataclass(frozen=True)
class Conditions(Study):
    """Estimate policies' values from other policies' logs: the slates paper's 40 conditions.

    A row per estimate has its condition (``candidates``, ``slots``, ``metric``, ``logging``,
    ``alpha``, ``target``), ``estimator``, ``n``, ``seed``, ``estimate`` and ``truth``. Queries with
    fewer than m candidates are left out of a space of slates of l of m documents.

    Example:
      clickgym ope conditions --preset quick --jobs 2
    """

    command: ClassVar[str] = "ope"
    needs_grades: ClassVar[str] = "nDCG and ERR need"

    spaces: tuple[tuple[int, int], ...] = setting(
        SPACES, "slate space: slates of l of a query's m best documents", flag="space",
        read=read_space, metavar="M,L", was=("spaces",),
    )
    sizes: tuple[int, ...] = setting(
        (600, 2_000, 6_000, 20_000, 60_000), "sample sizes, ascending", flag="size", least=4,
        metavar="N", was=("sizes",),
    )
    direct: int = setting(
        20_000, "largest size for direct methods", least=0, metavar="N"
    )
    repetitions: int = setting(25, "number of logs", least=1, metavar="N")
    world: WorldSetting = setting(WorldSetting(n_queries=1000, n_docs=0), whole_file=True)

    @classmethod
    def presets(cls) -> dict[str, Self]:
        """Return "quick", "paper" and "large"."""
        quick = cls(
            sizes=(600, 2_000, 6_000), direct=2_000, repetitions=5,
            world=WorldSetting(n_queries=200, n_docs=0),
        )  # fmt: skip
        paper = cls()
        return {
            "quick": quick,
            "paper": paper,
            "large": replace(paper, sizes=(*paper.sizes, 200_000, 600_000)),
        }

    @classmethod
    def small(cls) -> Self:
        """Return a run that takes a moment."""
        return cls(((4, 2),), (20, 40), 20, 1, WorldSetting(n_queries=10, n_docs=0))

    def check(self) -> None:
        """Raise where the study could not run; the world is loaded for it."""
        super().check()
        check_sizes(self.sizes)
        for space in self.spaces:
            check_space(space, "spaces")
        policies.feature_group(world_of(self.world), "title")
        for candidates, slots in self.spaces:
            slate_world(SlateSpace(candidates, slots, world=self.world))

    def stages(self, folder: Path, results: Results) -> Iterator[Stage]:
        """Give the logs: those of a space and logging policy together, as they share work."""
        cells = [
            OpeCell(SlateSpace(*size, *logging, self.world), seed, self.sizes, self.direct)
            for size in sorted(dict.fromkeys(self.spaces), reverse=True)  # the longest first
            for logging in LOGGINGS
            for seed in range(self.repetitions)
        ]
        yield Stage("logs and estimates", slate_cell, cells, VERSION, ESTIMATES)

    def rows(self, results: Results) -> list[Row]:
        """Return a row per estimate."""
        (pairs,) = results.values()
        return [
            {
                "candidates": cell.space.candidates, "slots": cell.space.slots, "metric": metric,
                "logging": cell.space.logging, "alpha": cell.space.alpha, "target": target,
                "estimator": estimator, "n": n, "seed": cell.seed, "estimate": value,
                "truth": result["truth"][target][metric],
            }
            for cell, result in pairs
            for target, metric, estimator, n, value in result["estimates"]
        ]  # fmt: skip

    def files(self, rows: list[Row]) -> dict[str, list[Row]]:
        """Return the rows, and the errors of every condition, estimator and sample size."""
        return {"rows.parquet": rows, "errors.parquet": _find_errors(rows)}

    def report(self, rows: list[Row]) -> Report:
        """Return who wins how often, the errors, and Figure 2."""
        errors = _find_errors(rows)
        return Report(
            "Off-policy evaluation of slates", "The slates paper's conditions.",
            {"Tables": [wins_table(errors), errors_table(errors)]},
            {
                "figure2.png": ("Figure 2: errors against sample size", figure_2(errors)),
                "conditions.png": ("All conditions", all_conditions(errors)),
            },
        )  # fmt: skip


def _find_errors(rows: Sequence[Row]) -> list[Row]:
    return root_mean_squares(rows, (*CONDITION, "estimator", "n"))


def check_sizes(sizes: Sequence[int]) -> None:
    """Raise unless ``sizes`` of samples ascend."""
    if not sizes or list(sizes) != sorted(set(sizes)):
        raise ValueError(f"sizes must ascend, not {' '.join(map(str, sizes))}")
