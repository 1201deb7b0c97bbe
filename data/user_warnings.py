"""Warnings that point at the line that called us."""

from __future__ import annotations

import sys
import warnings

_OURS = __name__.split(".")[0] + "."


def warn_caller(message: str, category: type[Warning]) -> None:
    """Warn as if at the innermost line that is not in this package."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(_OURS):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
