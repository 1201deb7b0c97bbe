"""How much memory there is, asked before it is taken."""

from __future__ import annotations

import math
import re
from pathlib import Path


def available_memory() -> float:
    """Return the bytes free without swapping; infinite where the system does not tell."""
    try:
        found = re.search(r"MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text())
    except OSError:
        found = None
    return 1024.0 * int(found[1]) if found else math.inf


def require_memory(needed: float, where: str, advice: str) -> None:
    """Raise a ``MemoryError`` that names ``where`` unless ``needed`` bytes are available."""
    available = available_memory()
    if needed > available:
        raise MemoryError(
            f"{where}: about {needed / 2**30:.2g} GiB more memory needed, "
            f"{available / 2**30:.2g} GiB available; {advice}"
        )
