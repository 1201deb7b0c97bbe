"""Running independent fits side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import joblib

from ..data.progress import progress, quiet

Result = TypeVar("Result")


def run(
    function: Callable[..., Result],
    cells: Iterable[tuple[Any, ...]],
    jobs: int = 1,
    description: str = "fitting",
) -> list[Result]:
    """Return ``function(*cell)`` of every cell, in order, ``jobs`` at a time in processes.

    Each process has one torch thread: several on a small machine slow each other down.
    """
    todo = list(cells)
    pool = joblib.Parallel(n_jobs=jobs, return_as="generator")
    results = []
    with progress(len(todo), description) as advance:
        for result in pool(joblib.delayed(with_one_thread)(function, cell) for cell in todo):
            results.append(result)
            advance(1)
    return results


def with_one_thread(function: Callable[..., Result], cell: tuple[Any, ...]) -> Result:
    """Return ``function(*cell)``, computed with one torch thread."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with quiet():
            return function(*cell)
    finally:
        torch.set_num_threads(threads)
