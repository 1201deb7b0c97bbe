"""Who computes: processes of this machine, or the workers of a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import joblib

from ...common.progress import progress, quiet
from ...common.runtime import import_extra, keep_freed_memory

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
    """Return ``function(*cell)``, computed with one torch thread; freed memory is kept."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    keep_freed_memory()
    try:
        with quiet():
            return function(*cell)
    finally:
        torch.set_num_threads(threads)


_CONNECT = 10  # seconds; how long to wait for a scheduler


@contextmanager
def workers(jobs: int, scheduler: str = "") -> Iterator[Any]:
    """Give a ``joblib.Parallel`` that returns results as they come.

    ``jobs`` processes, or everybody at the Dask ``scheduler`` ("tcp://host:port"). Its workers
    need clickgym; what they return comes back through the scheduler.
    """
    options = {"return_as": "generator_unordered", "batch_size": 1}
    if not scheduler:
        yield joblib.Parallel(n_jobs=jobs, **options)
        return
    distributed = import_extra("distributed", "cluster", "--scheduler needs")
    with distributed.Client(scheduler, timeout=_CONNECT), joblib.parallel_config("dask"):
        yield joblib.Parallel(n_jobs=-1, **options)
