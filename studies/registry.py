"""The studies by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..common.registry import Class, register_class
from .study import Study

_STUDIES: dict[str, type[Study]] = {}


def register(name: str) -> Callable[[Class], Class]:
    """Return a decorator that registers a study under a name."""
    return register_class(_STUDIES, name)


def study_names() -> tuple[str, ...]:
    """Return the names of the studies."""
    return tuple(_STUDIES)


def study_class(name: str) -> type[Any]:
    """Return a study by its name."""
    if name not in _STUDIES:
        raise ValueError(f"there is no study {name!r}, but: {', '.join(_STUDIES)}")
    return _STUDIES[name]
