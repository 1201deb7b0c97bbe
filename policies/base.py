"""The interface of all policies, and how they are saved."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..common import checks
from ..common.registry import register_class, same_class
from ..common.storage import load_arrays, save_arrays
from ..common.typing import Floats, Integers
from ..data import World
from .deployed_rankings import DeployedRankings
from .given_set.conditional import GivenSet, orders_given_set
from .places import draw_columns, find_by_drawing, never_shown, not_shown
from .slates.moments import SAMPLES, SlateMoments, moments_from_arrays, sample_moments
from .slates.placements import PAGES, Placements, sample_placements

_CLASSES: dict[str, type[Policy]] = {}
Arrays = dict[str, NDArray[Any]]
Class = TypeVar("Class", bound="type[Policy]")


def register(name: str) -> Callable[[Class], Class]:
    """Register a policy class under ``name``, so that ``Policy.load`` can make it."""
    return register_class(_CLASSES, name)


def registered() -> tuple[str, ...]:
    """Return the names of all policy classes that ``Policy.load`` can make."""
    return tuple(_CLASSES)


def candidate_scores(scores: ArrayLike, world: World | None) -> Floats:
    """Check scores (Q, N) and set those of non-candidates of ``world``, if given, to -inf."""
    array = checks.scores(scores, "scores")
    if world is None:
        return array
    checks.same_shape(array, world.candidates.shape, "scores", "this world")
    return np.where(world.candidates, array, -np.inf)


class Policy:
    """A distribution over rankings, given a query; and over the places of a block, if it has one.

    Shapes: ``query`` (n,), rankings (n, K) of candidate indices with trailing -1 where a query
    has fewer than K candidates.

    Attributes
    ----------
    slots : int
        K.
    shape : (Q, N)
    fingerprint : str or None
        That of the world this policy belongs to; None fits any world of its shape.
    has_log_prob : bool
        Whether ``log_prob`` is defined.
    deterministic : bool
        Whether a query always gets the same ranking: that of ``greedy``.
    estimated : str
        How its probabilities were estimated from a log (``estimate_logging``); empty where they
        are known.
    """

    name: ClassVar[str] = ""
    has_log_prob: bool = True
    deterministic: bool = False
    estimated: str = ""
    slots: int
    shape: tuple[int, int]
    fingerprint: str | None = None

    def sample(self, query: ArrayLike, rng: np.random.Generator) -> Integers:
        """Draw a ranking for each query, (n, K)."""
        return self.draw(self.check_query(query), rng)[0]

    def draw(self, query: Integers, rng: np.random.Generator) -> tuple[Integers, Floats | None]:
        """Draw rankings (n, K) together with their log-probabilities (n,), or None without any.

        A policy defines this or ``sample``; each falls back on the other.
        """
        if type(self).sample is Policy.sample:
            raise NotImplementedError(f"{type(self).__name__} defines neither sample() nor draw()")
        ranking = self.sample(query, rng)
        return ranking, self.log_prob(query, ranking) if self.has_log_prob else None

    def log_prob(self, query: ArrayLike, ranking: ArrayLike) -> Floats:
        """Return log P(ranking | query), (n,); -inf for a ranking that is never shown."""
        raise NotImplementedError(f"{type(self).__name__} does not define log_prob()")

    @property
    def places_blocks(self) -> bool:
        """Whether pages may have a vertical block: this policy defines where it stands."""
        own = type(self)
        drawn, known = own.place, own.place_log_probs
        return drawn is not Policy.place or known is not Policy.place_log_probs

    @property
    def places_by_query(self) -> bool:
        """Whether the places of blocks are known to depend on the query alone.

        A policy of one's own that says so can be estimated slot by slot.
        """
        return not self.places_blocks

    def place(
        self, query: Integers, ranking: Integers, rng: np.random.Generator
    ) -> tuple[Integers, Floats]:
        """Draw where the vertical block of each page stands, and the log-probabilities, (n,) each.

        So many results stand above it, 0 .. K; -1 = not shown, as on every page of a policy that
        does not say. It may define this or ``place_log_probs``; each falls back on the other.
        """
        if not self.places_blocks:
            return not_shown(len(query))
        return draw_columns(self.place_log_probs(query, ranking), rng)

    def place_log_probs(self, query: Integers, ranking: Integers) -> Floats:
        """Return log P(place | query, ranking), (n, K + 2): not shown, then the places 0 .. K.

        Of a policy that only draws its places they are found by drawing, which is slow and fails
        where a place is rare.
        """
        if type(self).place is Policy.place:
            return never_shown(len(query), self.slots)
        return find_by_drawing(type(self).__name__, self.place, query, ranking)

    def greedy(self, query: ArrayLike) -> Integers:
        """Return the ranking (n, K) that takes the likeliest next document at every slot."""
        raise NotImplementedError(f"{type(self).__name__} does not define greedy()")

    def document_scores(self) -> Floats | None:
        """Return a score of every document, (Q, N), that ``greedy`` ranks by; None without one.

        Rankings say how the documents that they show compare, and nothing of the others.
        """
        return None

    def marginals(self, query: int) -> Any:
        """Return the exact moments of one query's pages, or None where they must be sampled.

        A policy of one's own returns a ``SlateMoments`` or the two arrays of
        ``policies.slate_marginals``.
        """
        return None

    def slate_moments(self, query: int, samples: int = SAMPLES, seed: int = 0) -> SlateMoments:
        """Return the moments of one query's pages: ``marginals``, or those of sampled pages."""
        given = self.marginals(query)
        if given is None:
            return sample_moments(self, query, samples, seed)
        if isinstance(given, SlateMoments):
            return given
        return moments_from_arrays(self, given)

    def given_set(self, query: Integers, shown: Integers, seed: int = 0) -> GivenSet:
        """Return where the documents ``shown`` (n, k) stand, given that exactly they are shown.

        Called by ``policies.marginals_given_set`` with checked arguments. The log-probability of a
        set that is never shown is -inf. Here: all orders of short pages are scored where there are
        log-probabilities, otherwise pages are drawn.
        """
        return orders_given_set(self, query, shown, seed)

    def why_never(self, query: int, documents: list[int]) -> str:
        """Say why a page of a query never shows exactly these documents; empty if nobody knows."""
        return ""

    def placements(self, query: int, pages: int = PAGES, seed: int = 0) -> Placements:
        """Return how often each slot shows each document for one query, (K, N).

        Exact where ``marginals`` are; otherwise of drawn pages, with standard errors.
        """
        if self.marginals(query) is None:
            return sample_placements(self, query, pages, seed)
        return Placements(self.slate_moments(query).single)

    def state(self) -> dict[str, Any]:
        """Return the keyword arguments of ``from_state``: arrays and JSON values."""
        raise NotImplementedError(f"{type(self).__name__} does not define state()")

    @classmethod
    def from_state(cls, **state: Any) -> Self:
        """Make the policy that ``state`` describes."""
        return cls(**state)

    def check_query(self, query: ArrayLike) -> Integers:
        """Check ``query`` and return it as int64."""
        array = checks.integers(query, "query", 1).astype(np.int64, copy=False)
        checks.rankings(np.zeros((0, 0), dtype=np.int64), array, *self.shape)
        return array

    def check_pages(self, query: ArrayLike, ranking: ArrayLike) -> tuple[Integers, Integers]:
        """Check ``query`` and ``ranking`` and return them as int64."""
        query = self.check_query(query)
        ranking = checks.integers(ranking, "ranking", 2).astype(np.int64, copy=False)
        checks.same_shape(ranking, (len(query), self.slots), "ranking", "this policy")
        checks.rankings(ranking, query, self.shape[0], self.document_limit())
        return query, ranking

    def document_limit(self) -> int:
        """Return the bound of the documents that pages may show: N."""
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

    def deployed_rankings(self, world: World) -> DeployedRankings:
        """Return what this policy would show, in the ids of ``world``: a table to save as a file.

        Of a stochastic policy these are the greedy rankings.
        """
        return DeployedRankings(self, world)

    def to_frame(self, world: World) -> Any:
        """Return ``deployed_rankings`` as a pandas frame: query, rank (from 1), document."""
        return self.deployed_rankings(world).to_frame()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the policy as one safetensors file with a JSON header, atomically."""
        save_arrays(path, "policy", *pack_policy(self))

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Policy:
        """Read a policy written by ``save``; only registered names are made."""
        try:
            return unpack_policy(*load_arrays(path, "policy"))
        except UnknownPolicy as error:
            raise ValueError(f"{path}: {error}") from error


class UnknownPolicy(ValueError):
    """A saved policy cannot be loaded."""


def pack_policy(policy: Policy, prefix: str = "") -> tuple[dict[str, Any], Arrays]:
    """Return a policy as a header of JSON values and arrays, with ``prefix`` before their names."""
    known = _CLASSES.get(policy.name)
    if known is None or not same_class(known, type(policy)):  # a subclass has its parent's name
        raise ValueError(f"{type(policy).__name__} is not registered, so it cannot be saved")
    state = policy.state()
    settings = {key: value for key, value in state.items() if not isinstance(value, np.ndarray)}
    arrays = {prefix + key: value for key, value in state.items() if key not in settings}
    header = {"name": policy.name, "settings": settings, "fingerprint": policy.fingerprint}
    return header, arrays


def unpack_policy(header: dict[str, Any], arrays: Arrays, prefix: str = "") -> Policy:
    """Make the policy that ``pack_policy`` packed, from the arrays whose names have ``prefix``."""
    name = header["name"]
    if name not in _CLASSES:
        raise UnknownPolicy(f"unknown policy {name!r}; known: {', '.join(_CLASSES)}")
    mine = [key for key in arrays if key.startswith(prefix)]
    own = {key.removeprefix(prefix): arrays[key] for key in mine}
    try:
        policy = _CLASSES[name].from_state(**own, **header["settings"])
    except (TypeError, ValueError) as error:
        raise UnknownPolicy(f"does not make a {name}: {error}") from error
    policy.fingerprint = header["fingerprint"]
    return policy
