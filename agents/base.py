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


def count(default: int) -> Any:
    """Declare a setting that is a whole number from 1 on."""
    return dataclasses.field(default=default, metadata={"check": checks.positive_integer})


def number(default: float | None, least: float | None = None, most: float | None = None) -> Any:
    """Declare a setting that is a number above 0, or from ``least`` to ``most``.

    A default of None, which stands for a choice of the agent's own, may also be given.
    """

    def check(value: Any, name: str) -> None:
        if value is None and default is None:
            return
        given = float(checks.finite(value, name, 0))
        if least is None and given <= 0:
            raise ValueError(f"{name} must be above 0, not {value!r}")
        if least is not None and given < least:
            raise ValueError(f"{name} must be at least {least:g}, not {value!r}")
        if most is not None and given > most:
            raise ValueError(f"{name} must be at most {most:g}, not {value!r}")

    return dataclasses.field(default=default, metadata={"check": check})


class Agent:
    """Learns a policy by showing pages in an environment and watching the clicks.

    An agent of one's own defines ``Settings`` (a frozen dataclass, each field with a default, or
    declared by ``count`` or ``number`` to be checked), ``learn``, ``policy``, and for checkpoints
    ``state`` and ``restore``. It may look at pages, clicks, rewards, candidates and features; never
    at grades or at the model's parameters.

    Attributes
    ----------
    task : Task
    seed : int
        Of everything random.
    settings : Settings
    pages : int
        Result pages shown so far, which is what a budget counts.
    budget : int
        Pages that are enough on the standard task (``python benchmarks agents``), for any user.
    budget_reading_down : int or None
        Pages that reach 99% of its final share there where the user reads down the page, if those
        are fewer.
    action : str
        How it fills a page: ``"scores"``, ``"ranking"`` or ``"slots"``.
    aims_at : str
        The policy that it can become: ``"Max-Reward"``, or ``"Top-Down"`` for agents that learn how
        attractive each document is.
    needs_features : bool
        Whether it cannot learn in a world without features.
    learns_from_clicks : bool
        Whether it looks at the clicks themselves, and not at rewards.
    places_blocks : bool
        Whether it can learn in ``Federated-v0``, where pages have vertical blocks to place.
    extra : str
        What ``pip install 'clickgym[...]'`` must bring for it, if anything.
    variants : dict of dict
        Other settings worth comparing and testing, by label.
    """

    name: ClassVar[str] = ""
    budget: ClassVar[int] = 100_000
    budget_reading_down: ClassVar[int | None] = None
    action: ClassVar[str] = "ranking"
    aims_at: ClassVar[str] = "Max-Reward"
    needs_features: ClassVar[bool] = False
    learns_from_clicks: ClassVar[bool] = False
    places_blocks: ClassVar[bool] = False
    extra: ClassVar[str] = ""
    variants: ClassVar[dict[str, dict[str, Any]]] = {}

    @dataclasses.dataclass(frozen=True)
    class Settings:
        """Nothing to set."""

    def __init__(self, task: Task, seed: int = 0, **settings: Any) -> None:
        fields = dataclasses.fields(self.Settings)
        known = {field.name: field.metadata.get("check") for field in fields}
        unknown = ", ".join(sorted(set(settings) - set(known)))
        if unknown:
            has = ", ".join(sorted(known))
            raise TypeError(f"{self.name} has no setting {unknown}; it has {has}")
        if self.needs_features and task.world.features is None:
            raise ValueError(f"{self.name} learns from features; this world has none")
        if task.places_blocks and not self.places_blocks:
            able = ", ".join(name for name, cls in _CLASSES.items() if cls.places_blocks)
            raise ValueError(
                f"{self.name} does not decide where a vertical block stands, as in Federated-v0: "
                f"take one of {able}"
            )
        self.task, self.seed = task, checks.positive_integer(seed, "seed", 0)
        self.settings: Any = self.Settings(**settings)
        for name, check in known.items():
            if check is not None:
                check(getattr(self.settings, name), name)
        self.pages = 0
        self.prepare()

    def prepare(self) -> None:
        """Make what learning needs: task, seed and checked settings are known by now."""

    def learn(self, until: int) -> None:
        """Show pages and learn from them, until ``self.pages`` is at least ``until``."""
        raise NotImplementedError(f"{type(self).__name__} has no method learn(until)")

    def policy(self) -> Policy:
        """Return the policy that would be deployed now."""
        raise NotImplementedError(f"{type(self).__name__} has no method policy()")

    def state(self) -> dict[str, Any]:
        """Return everything needed to resume learning: arrays, and JSON values of any depth."""
        raise NotImplementedError(f"{type(self).__name__} has no checkpoints")

    def restore(self, state: dict[str, Any]) -> None:
        """Take over a ``state``; ``pages`` is restored by the caller."""
        raise NotImplementedError(f"{type(self).__name__} has no checkpoints")

    @classmethod
    def budget_inside(cls, reads_down: bool) -> int:
        """Return the pages that are enough inside a model whose users read down, or may not."""
        return (cls.budget_reading_down if reads_down else None) or cls.budget

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
