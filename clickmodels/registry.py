"""Names of click models: what ``load`` may make and ``fit`` may fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from ..common.registry import register_class, same_class

if TYPE_CHECKING:
    from .base import ClickModel

Model = TypeVar("Model", bound="type[ClickModel]")

__all__ = ["register", "registered", "registered_class", "same_class"]

_CLASSES: dict[str, type[ClickModel]] = {}


def register(name: str) -> Callable[[Model], Model]:
    """Register a click model under ``name``: a class decorator, for models of one's own too."""
    return register_class(_CLASSES, name)


def registered_class(name: str) -> type[ClickModel]:
    """Return the class registered under ``name``."""
    if name not in _CLASSES:
        raise ValueError(f"unknown click model {name!r}; known: {', '.join(sorted(_CLASSES))}")
    return _CLASSES[name]


def registered() -> tuple[str, ...]:
    """Return the names of all registered classes."""
    return tuple(_CLASSES)
