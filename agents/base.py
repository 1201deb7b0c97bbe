"""The one interface of all agents, and their registry."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

from ..common import checks
from ..common.registry import register_class
from ..policies import Policy
from .task import Task

_CLASSES: dict[str, type[Agent]] = {}
Class = TypeVar("Class", bound="type[Agent]")


class Agent:
    """Learns a policy by showing pages in an environment and watching the clicks.

    An agent of one's own defines ``Settings`` (a frozen dataclass, each field with a default),
    ``learn``, ``policy``, and for checkpoints ``state`` and ``restore``. It may look at pages,
    clicks, rewards, candidates and features; never at grades or at the model's parameters.

    Attributes
    ----------
    task : Task
    seed : int
        Of everything random.
    settings : Settings
    pages : int
        Result pages shown so far, which is what a budget counts.
    budget : int
        Pages that are enough on a small world (20 queries of 10 documents).
    """

    name: ClassVar[str] = ""
    budget: ClassVar[int] = 100_000

    @dataclasses.dataclass(frozen=True)
    class Settings:
        """Nothing to set."""

    def __init__(self, task: Task, seed: int = 0, **settings: Any) -> None:
        known = {field.name for field in dataclasses.fields(self.Settings)}
        unknown = ", ".join(sorted(set(settings) - known))
        if unknown:
            raise TypeError(f"{self.name} has no setting {unknown}; it has {sorted(known)}")
        self.task, self.seed = task, checks.positive_integer(seed, "seed", 0)
        self.settings: Any = self.Settings(**settings)
        self.pages = 0

    def learn(self, until: int) -> None:
        """Show pages and learn from them, until ``self.pages`` is at least ``until``."""
        raise NotImplementedError

    def policy(self) -> Policy:
        """Return the policy that would be deployed now."""
        raise NotImplementedError

    def state(self) -> dict[str, Any]:
        """Return all that learning goes on from: arrays, and JSON values of any depth."""
        raise NotImplementedError(f"{type(self).__name__} has no checkpoints")

    def restore(self, state: dict[str, Any]) -> None:
        """Take over a ``state``; ``pages`` is restored by the caller."""
        raise NotImplementedError(f"{type(self).__name__} has no checkpoints")

    @property
    def has_checkpoints(self) -> bool:
        """Whether learning can be taken up again."""
        return type(self).state is not Agent.state


def register(name: str) -> Callable[[Class], Class]:
    """Register an agent class under ``name``, so that ``agents.train`` takes it."""
    return register_class(_CLASSES, name)


def agent_class(name: str) -> type[Agent]:
    """Return the agent registered under ``name``."""
    if name not in _CLASSES:
        raise ValueError(f"unknown agent {name!r}; known: {', '.join(names())}")
    return _CLASSES[name]


def names() -> tuple[str, ...]:
    """Return the names of all agents that ``agents.train`` takes."""
    return tuple(_CLASSES)
