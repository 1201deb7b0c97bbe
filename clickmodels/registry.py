"""Names of click models: what ``load`` may make and ``fit`` may fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from ..common.registry import register_class, same_class

if TYPE_CHECKING:
    from .base import ClickModel
    from .networks.network import Network

Model = TypeVar("Model", bound="type[ClickModel]")
NetworkClass = TypeVar("NetworkClass", bound="type[Network]")

__all__ = [
    "network_class", "network_of", "register", "registered", "registered_class", "same_class",
]  # fmt: skip

_CLASSES: dict[str, type[ClickModel]] = {}
_NETWORKS: dict[str, type[Network]] = {}


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


def network_of(name: str) -> Callable[[NetworkClass], NetworkClass]:
    """Register the network that is trained where the model ``name`` is fitted by mini-batches.

    A class decorator on the network's side: models do not know their networks.
    """

    def decorate(cls: NetworkClass) -> NetworkClass:
        cls.model_name = name
        _NETWORKS[name] = cls
        return cls

    return decorate


def network_class(name: str) -> type[Network] | None:
    """Return the network that is registered for the model ``name``; None where there is none."""
    return _NETWORKS.get(name)
