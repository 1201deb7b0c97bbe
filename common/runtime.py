"""The machine and the caller: cores, warnings at the caller's line, missing extras, output."""

from __future__ import annotations

import importlib
import os
import sys
import warnings
from typing import Any

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # of mallopt
_LARGEST = 8 << 20  # bytes; larger arrays are few, and would leave holes
_KEPT = 128 << 20  # below what joblib takes for a leak
_OURS = __name__.split(".")[0] + "."


def cores() -> int:
    """Return the number of cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def keep_freed_memory() -> bool:
    """Tell the allocator to keep up to 128 MB of what is freed, where it is glibc's.

    It gives large arrays back to the system as soon as they are freed, and gets them anew, page by
    page, for the next ones: training networks spends up to a third of its time on that.

    Returns
    -------
    bool
        Whether the allocator was told.
    """
    import ctypes

    try:
        tell = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return False
    return bool(tell(_MMAP_THRESHOLD, _LARGEST) and tell(_TRIM_THRESHOLD, _KEPT))


def warn_caller(message: str, category: type[Warning]) -> None:
    """Warn as if at the innermost line that is not in this package."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(_OURS):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def say(text: object) -> None:
    """Print what others may read while work goes on; nobody need listen (``| head -1``)."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def import_extra(module: str, extra: str, purpose: str) -> Any:
    """Return the imported ``module``; without it, raise an error that names the extra to install.

    ``purpose`` begins its sentence: "pictures need", "a zip needs".
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(f"{purpose} pip install 'clickgym[{extra}]'") from error
