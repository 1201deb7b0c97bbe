"""The slates paper's 40 conditions: spaces x metrics x logging policies x targets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ... import policies
from ...common import checks
from ..engine.grid import require_results, run_grid
from ..engine.rows import Row
from ..setting import WorldSetting, check_jobs, world_of
from .slate_cells import VERSION, OpeCell, ope_cell
from .slate_space import LOGGINGS, SlateSpace, slate_world

SPACES = ((10, 5), (100, 10))
FULL_LISTS = WorldSetting(n_queries=1000, n_docs=0)


@dataclass(frozen=True)
class Ope:
    """What a run of the study does: everything that its results depend on.

    ``spaces`` are (m, l): slates of l of a query's m best documents; queries with fewer than m
    candidates are left out. ``sizes`` are ascending numbers of samples, of which the direct
    methods get those up to ``direct``.
    """

    spaces: tuple[tuple[int, int], ...] = SPACES
    sizes: tuple[int, ...] = (600, 2_000, 6_000, 20_000, 60_000)
    direct: int = 20_000
    repetitions: int = 25
    world: WorldSetting = field(default_factory=lambda: FULL_LISTS)

    def check(self, jobs: int = 1) -> None:
        """Raise where the study could not run; the world is loaded for it."""
        checks.positive_integer(self.repetitions, "repetitions")
        check_sizes(self.sizes, self.direct)
        for candidates, slots in self.spaces:
            if not 1 <= slots <= candidates:
                raise ValueError(f"slates of {slots} of {candidates} documents cannot be made")
        check_jobs(jobs)
        policies.feature_group(world_of(self.world), "title")
        for candidates, slots in self.spaces:
            slate_world(SlateSpace(candidates, slots, world=self.world))

    def cells(self) -> list[OpeCell]:
        """Return the cells: those of a space and logging policy together, as they share work."""
        return [
            OpeCell(SlateSpace(*size, *logging, self.world), seed, self.sizes, self.direct)
            for size in sorted(dict.fromkeys(self.spaces), reverse=True)  # the longest first
            for logging in LOGGINGS
            for seed in range(self.repetitions)
        ]


def check_sizes(sizes: Sequence[int], direct: int) -> None:
    """Raise unless ``sizes`` are ascending numbers of samples, and ``direct`` is a number."""
    if not sizes or list(sizes) != sorted(set(sizes)):
        raise ValueError(f"sizes must ascend, not {tuple(sizes)}")
    for n in sizes:
        checks.positive_integer(n, "sizes", 4)
    checks.positive_integer(direct, "direct", 0)


def ope(
    folder: str | Path,
    study: Ope,
    jobs: int = 1,
    retry_failed: bool = False,
    scheduler: str = "",
) -> tuple[list[Row], int]:
    """Return a row for every estimate, and how many cells failed.

    A row has its condition (``candidates``, ``slots``, ``metric``, ``logging``, ``alpha``,
    ``target``), ``estimator``, ``n``, ``seed``, ``estimate`` and ``truth``. Finished cells are
    files in ``folder``; the same call goes on from them.
    """
    study.check(jobs)
    cells, place = study.cells(), Path(folder) / "cells"
    results = run_grid(
        ope_cell, cells, place, VERSION, jobs, "logs and estimates", retry_failed, scheduler
    )
    require_results(cells, results, place, VERSION)
    rows = [
        row
        for cell, result in zip(cells, results, strict=True) if result is not None
        for row in _rows(cell, result["estimates"], result["truth"])
    ]  # fmt: skip
    return rows, sum(result is None for result in results)


def _rows(
    cell: OpeCell, estimates: Sequence[Sequence[Any]], truth: dict[str, dict[str, float]]
) -> list[Row]:
    space = cell.space
    return [
        {
            "candidates": space.candidates, "slots": space.slots, "metric": metric,
            "logging": space.logging, "alpha": space.alpha, "target": target,
            "estimator": estimator, "n": n, "seed": cell.seed, "estimate": value,
            "truth": truth[target][metric],
        }
        for target, metric, estimator, n, value in estimates
    ]  # fmt: skip
