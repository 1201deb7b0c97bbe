"""Registries of classes by name: models, policies and agents each have one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

Class = TypeVar("Class", bound="type[Any]")


def register_class(classes: dict[str, Any], name: str) -> Callable[[Class], Class]:
    """Return a decorator that puts a class into ``classes`` and gives it its ``name``.

    The same class again (a notebook cell, a reloaded module) replaces itself; a name that another
    class has is an error.
    """

    def decorate(cls: Class) -> Class:
        known = classes.get(name)
        if known is not None and not same_class(known, cls):
            raise ValueError(f"the name {name!r} is taken by {known.__module__}.{known.__name__}")
        cls.name = name
        classes[name] = cls
        return cls

    return decorate


def same_class(one: type, other: type) -> bool:
    """Return whether two classes have one name, so that a class defined again counts as itself."""
    return (one.__module__, one.__qualname__) == (other.__module__, other.__qualname__)
