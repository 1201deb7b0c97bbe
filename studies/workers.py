"""Who computes cells: processes of this machine, or the workers of a Dask cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import joblib

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
    try:
        from distributed import Client
    except ImportError as error:
        raise ImportError("--scheduler needs pip install 'clickgym[cluster]'") from error
    with Client(scheduler, timeout=_CONNECT), joblib.parallel_config("dask"):
        yield joblib.Parallel(n_jobs=-1, **options)
