"""Names of click models: what ``load`` may make and ``fit`` may fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from .base import ClickModel

Model = TypeVar("Model", bound="type[ClickModel]")

_CLASSES: dict[str, type[ClickModel]] = {}


def register(name: str) -> Callable[[Model], Model]:
    """Register a click model under ``name``: a class decorator, for models of one's own too."""

    def decorate(cls: Model) -> Model:
        known = _CLASSES.get(name)
        # The same class again (a notebook cell, a reloaded module) replaces itself.
        if known is not None and not same_class(known, cls):
            raise ValueError(f"the name {name!r} is taken by {known.__module__}.{known.__name__}")
        cls.name = name
        _CLASSES[name] = cls
        return cls

    return decorate


def same_class(one: type, other: type) -> bool:
    """Whether two classes are one by name, so that a class made again counts as itself."""
    return (one.__module__, one.__qualname__) == (other.__module__, other.__qualname__)


def registered_class(name: str) -> type[ClickModel]:
    """Return the class registered under ``name``."""
    if name not in _CLASSES:
        raise ValueError(f"unknown click model {name!r}; known: {', '.join(sorted(_CLASSES))}")
    return _CLASSES[name]


def registered() -> tuple[str, ...]:
    """Return the names of all registered classes."""
    return tuple(_CLASSES)
