"""The one interface of all policies."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..common import checks
from ..common.registry import register_class, same_class
from ..common.storage import load_arrays, save_arrays
from ..data import World

_CLASSES: dict[str, type[Policy]] = {}
Class = TypeVar("Class", bound="type[Policy]")


def register(name: str) -> Callable[[Class], Class]:
    """Register a policy class under ``name``, so that ``Policy.load`` can make it."""
    return register_class(_CLASSES, name)


def candidate_scores(scores: ArrayLike, world: World | None) -> NDArray[np.float64]:
    """Return checked scores (Q, N), -inf for what is not a candidate (of ``world``, if given)."""
    array = checks.scores(scores, "scores")
    if world is None:
        return array
    checks.same_shape(array, world.candidates.shape, "scores", "this world")
    return np.where(world.candidates, array, -np.inf)


class Policy:
    """A distribution over rankings, given a query.

    Shapes: ``query`` (n,), rankings (n, K) of candidate indices with trailing -1 where a query
    has fewer than K candidates.

    Attributes
    ----------
    slots : int
        K.
    shape : (Q, N)
    fingerprint : str or None
        The world's that this policy belongs to; None fits any world of its shape.
    has_log_prob : bool
        Whether ``log_prob`` is there.
    deterministic : bool
        Whether a query has the same ranking every time: that of ``greedy``.
    """

    name: ClassVar[str] = ""
    has_log_prob: bool = True
    deterministic: bool = False
    slots: int
    shape: tuple[int, int]
    fingerprint: str | None = None

    def sample(self, query: ArrayLike, rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw a ranking for each query, (n, K)."""
        return self.draw(self.checked_query(query), rng)[0]

    def draw(
        self, query: NDArray[np.int64], rng: np.random.Generator
    ) -> tuple[NDArray[np.int64], NDArray[np.float64] | None]:
        """Draw rankings (n, K) and their log-probabilities (n,; None without) in one go.

        A policy defines this or ``sample``; each falls back on the other.
        """
        if type(self).sample is Policy.sample:
            raise NotImplementedError(f"{type(self).__name__} defines neither sample() nor draw()")
        ranking = self.sample(query, rng)
        return ranking, self.log_prob(query, ranking) if self.has_log_prob else None

    def log_prob(self, query: ArrayLike, ranking: ArrayLike) -> NDArray[np.float64]:
        """Return log P(ranking | query), (n,); -inf for a ranking that is never shown."""
        raise NotImplementedError(f"{type(self).__name__} does not define log_prob()")

    def greedy(self, query: ArrayLike) -> NDArray[np.int64]:
        """Return the ranking of each query that is built by always taking the likeliest next."""
        raise NotImplementedError(f"{type(self).__name__} does not define greedy()")

    def marginals(self, query: int) -> Any:
        """Return the exact moments of one query's pages, or None where they would be sampled.

        Ask ``policies.slate_moments``, which falls back on sampling; its docstring says what a
        policy of one's own may return here.
        """
        return None

    def state(self) -> dict[str, Any]:
        """Return the keyword arguments of ``from_state``: arrays and JSON values."""
        raise NotImplementedError(f"{type(self).__name__} does not define state()")

    @classmethod
    def from_state(cls, **state: Any) -> Self:
        """Make the policy that ``state`` describes."""
        return cls(**state)

    def checked_query(self, query: ArrayLike) -> NDArray[np.int64]:
        """Return ``query`` as int64 after checking it."""
        array = checks.integers(query, "query", 1).astype(np.int64, copy=False)
        checks.rankings(np.zeros((0, 0), dtype=np.int64), array, *self.shape)
        return array

    def checked_pages(
        self, query: ArrayLike, ranking: ArrayLike
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return ``query`` and ``ranking`` as int64 after checking them."""
        query = self.checked_query(query)
        ranking = checks.integers(ranking, "ranking", 2).astype(np.int64, copy=False)
        checks.same_shape(ranking, (len(query), self.slots), "ranking", "this policy")
        checks.rankings(ranking, query, self.shape[0], self.document_limit())
        return query, ranking

    def document_limit(self) -> int:
        """Return where documents end that pages may show: N."""
        return self.shape[1]

    def check_world(self, world: World) -> None:
        """Raise unless this policy belongs to ``world``."""
        world.check_fingerprint(self.fingerprint, f"the policy {self.name}")
        if self.shape != (world.n_queries, world.n_docs):
            raise ValueError(
                f"the policy {self.name} is for {self.shape[0]} queries of {self.shape[1]} "
                f"candidates, this world has {world.n_queries} of {world.n_docs}"
            )

    def __repr__(self) -> str:
        n_queries, n_docs = self.shape
        name = type(self).__name__
        return f"{name}({n_queries} queries of {n_docs} candidates, {self.slots} slots)"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the policy as one safetensors file with a JSON header, atomically."""
        save_arrays(path, "policy", *described(self))

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Policy:
        """Read a policy written by ``save``; only registered names are made."""
        try:
            return made(*load_arrays(path, "policy"))
        except UnknownPolicy as error:
            raise ValueError(f"{path}: {error}") from error


class UnknownPolicy(ValueError):
    """A saved policy cannot be made again."""


def described(policy: Policy) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return what a policy is made of: a header of JSON values, and arrays."""
    known = _CLASSES.get(policy.name)
    if known is None or not same_class(known, type(policy)):  # a subclass has its parent's name
        raise ValueError(f"{type(policy).__name__} is not registered, so it cannot be saved")
    state = policy.state()
    arrays = {key: value for key, value in state.items() if isinstance(value, np.ndarray)}
    settings = {key: value for key, value in state.items() if key not in arrays}
    header = {"name": policy.name, "settings": settings, "fingerprint": policy.fingerprint}
    return header, arrays


def made(header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Policy:
    """Return the policy that ``described`` described; only registered names are made."""
    name = header["name"]
    if name not in _CLASSES:
        raise UnknownPolicy(f"unknown policy {name!r}; known: {', '.join(_CLASSES)}")
    try:
        policy = _CLASSES[name].from_state(**arrays, **header["settings"])
    except (TypeError, ValueError) as error:
        raise UnknownPolicy(f"does not make a {name}: {error}") from error
    policy.fingerprint = header["fingerprint"]
    return policy
