"""Several click models of the same log, as one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from ..common.random import Uniforms
from ..common.typing import Booleans, Floats, Integers
from .base import GENERATIVE, ClickModel
from .pages import BlockArguments, check_pages, log_of_outcomes
from .registry import register
from .saving import HEADER, OPTIONAL, from_record, to_record


@register("Ensemble")
class Ensemble(ClickModel):
    """A mixture of click models: each page's clicks come from one of them, all equally likely.

    Its conditionals weight the members by their posterior, given the clicks above: a member that
    predicted them well counts for more further down the page. Relevance is the members' mean.
    Everything costs what it costs for all members.

    ``vertical`` and ``vertical_position`` go to the members that know verticals; others ignore
    them.

    Parameters
    ----------
    members : sequence of ClickModel
        Of the same world and capabilities; the ensemble has what all of them have.
    """

    def __init__(self, members: Sequence[ClickModel]) -> None:
        self.members = tuple(members)
        self._relevance: Floats | None = None
        if not self.members:
            raise ValueError("members must have at least one click model")
        for number, member in enumerate(self.members):
            if not isinstance(member, ClickModel):
                raise ValueError(f"members[{number}] is not a click model: {member!r}")
            if member.shape != self.members[0].shape:
                raise ValueError(
                    f"members[{number}] is for {member.shape[0]} queries of {member.shape[1]} "
                    f"candidates, members[0] for {self.members[0].shape[0]} of "
                    f"{self.members[0].shape[1]}"
                )
            if member.fingerprint != self.members[0].fingerprint:
                raise ValueError(f"members[{number}] belongs to another world than members[0]")
        self.fingerprint = self.members[0].fingerprint
        names = [member.name for member in self.members]
        same = len(set(names)) == 1
        self.label = f"{names[0]} × {len(names)}" if same else f"Ensemble of {len(names)}"
        everything = (member.capabilities for member in self.members)
        # Of this ensemble, not of the class: members may be able to do less than others.
        self.__dict__["capabilities"] = frozenset.intersection(*everything)
        self.__dict__["knows_verticals"] = any(member.knows_verticals for member in self.members)
        self.__dict__["reads_down"] = all(member.reads_down for member in self.members)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of queries and candidate places."""
        return self.members[0].shape

    @property
    def max_slots(self) -> int | None:
        """The longest page that all members know."""
        known = [member.max_slots for member in self.members if member.max_slots is not None]
        return min(known) if known else None

    def state(self) -> dict[str, Any]:
        """Return the members' states: arrays as ``number.name``, all else in ``members``."""
        headers, arrays = [], {}
        for number, member in enumerate(self.members):
            header, own = to_record(member)
            headers.append(header)
            arrays.update({f"{number}.{key}": value for key, value in own.items()})
        return {**arrays, "members": headers}

    @classmethod
    def from_state(cls, members: Sequence[dict[str, Any]] = (), **arrays: Any) -> ClickModel:
        """Return the ensemble of a ``state``."""
        parts: list[dict[str, Any]] = [{} for _ in members]
        for key, value in arrays.items():
            number, _, name = key.partition(".")
            if not (number.isdecimal() and name and int(number) < len(parts)):
                raise TypeError(f"{key} belongs to no member")
            parts[int(number)][name] = value
        if any(set(header) - OPTIONAL != HEADER for header in members):
            raise ValueError("a member has no name, settings or fingerprint")
        return cls([from_record(*record) for record in zip(members, parts, strict=True)])

    def for_documents(self, classes: Integers) -> ClickModel:
        """Return the ensemble of the members of documents that are like their classes, (Q, N)."""
        return Ensemble([member.for_documents(classes) for member in self.members])

    def relevance(self) -> Floats:
        """Return the mean of the members' relevance, (Q, N)."""
        if self._relevance is None:
            self._relevance = np.mean([member.relevance() for member in self.members], axis=0)
            self._relevance.flags.writeable = False
        return self._relevance

    def conditional_click_probs(
        self,
        query: ArrayLike,
        ranking: ArrayLike,
        clicks: ArrayLike,
        **blocks: Unpack[BlockArguments],
    ) -> Floats:
        """Return P(C_k = 1 | c_<k), (n, K): the members', weighted by P(member | c_<k).

        Of members that are no distributions over clicks it is the plain mean.
        """
        query, ranking, clicks = self.checked_clicks(query, ranking, clicks)
        probs = np.stack(self._ask("conditional_click_probs", blocks, query, ranking, clicks))
        if GENERATIVE not in self.capabilities:
            return probs.mean(axis=0)
        outcomes = np.cumsum(log_of_outcomes(probs, clicks), axis=2)
        prior = np.zeros((*probs.shape[:2], 1))
        seen = np.concatenate([prior, outcomes[:, :, :-1]], axis=2)  # log P(c_<k | member)
        seen -= np.maximum(seen.max(axis=0), -1e300)  # -inf for all is a prefix no member can make
        weights = np.exp(seen)
        total = weights.sum(axis=0)
        result: Floats = (weights * probs).sum(axis=0) / np.where(total > 0, total, 1.0)
        return result

    def log_likelihood(
        self,
        query: ArrayLike,
        ranking: ArrayLike,
        clicks: ArrayLike,
        **blocks: Unpack[BlockArguments],
    ) -> Floats:
        """Return log P(clicks | query, ranking), (n,)."""
        self.require(GENERATIVE)
        each = self._ask("log_likelihood", blocks, query, ranking, clicks)
        return np.asarray(logsumexp(each, axis=0) - np.log(len(each)))

    def click_probs(
        self, query: ArrayLike, ranking: ArrayLike, **blocks: Unpack[BlockArguments]
    ) -> Floats:
        """Return P(C_k = 1), (n, K): the members' mean."""
        self.require(GENERATIVE)
        query, ranking = check_pages(self, query, ranking)
        each = self._ask("click_probs", blocks, query, ranking)
        return np.mean(each, axis=0)

    def expected_clicks(
        self, query: ArrayLike, ranking: ArrayLike, **blocks: Unpack[BlockArguments]
    ) -> Floats:
        """Return the expected number of clicks of each page, (n,): the members' mean."""
        self.require(GENERATIVE)
        each = self._ask("expected_clicks", blocks, query, ranking)
        return np.mean(each, axis=0)

    def satisfied_probs(
        self, query: ArrayLike, ranking: ArrayLike, **blocks: Unpack[BlockArguments]
    ) -> Floats:
        """Return P(the page satisfies), (n,): the members' mean."""
        self.require(GENERATIVE)
        each = self._ask("satisfied_probs", blocks, query, ranking)
        return np.mean(each, axis=0)

    def score_columns(
        self, query: Integers, columns: Integers, **blocks: Unpack[BlockArguments]
    ) -> Floats:
        """Return the expected clicks of pages laid out slot by slot, (K, n): the members' mean."""
        return np.mean(self._ask("score_columns", blocks, query, columns), axis=0)

    def _ask(self, method: str, blocks: BlockArguments, *pages: Any) -> list[Any]:
        """Return what each member says, asked with the blocks if it knows any."""
        return [
            getattr(member, method)(*pages, **member.vertical_arguments(**blocks))
            for member in self.members
        ]

    @property
    def cheap_scores(self) -> bool:
        """Whether all members' scores are cheap."""
        return all(member.cheap_scores for member in self.members)

    @property
    def cheap_expectations(self) -> bool:
        """Whether all members' expected clicks are cheap."""
        return all(member.cheap_expectations for member in self.members)

    def rough_columns(self, query: Integers, columns: Integers) -> Floats | None:
        """Return the mean of the members' rough scores (exact ones of members without)."""
        if self.cheap_scores:
            return None
        total = np.zeros(columns.shape[1])
        for member in self.members:
            rough = None if member.cheap_scores else member.rough_columns(query, columns)
            if rough is None and not member.cheap_scores:
                return None
            total += member.score_columns(query, columns) if rough is None else rough
        return total / len(self.members)

    def spread(
        self, query: ArrayLike, ranking: ArrayLike, **blocks: Unpack[BlockArguments]
    ) -> Floats:
        """Return how much the members disagree about the expected clicks of pages, (n,).

        It is the standard deviation over members (0 with one member): where a policy's pages have
        a large one, the log says little about them.
        """
        self.require(GENERATIVE)
        query, ranking = check_pages(self, query, ranking)
        if len(self.members) == 1:
            return np.zeros(len(query))
        each = self._ask("expected_clicks", blocks, query, ranking)
        return np.std(each, axis=0, ddof=1)

    def sample_columns(
        self, query: Integers, columns: Integers, rng: Generator, **blocks: Unpack[BlockArguments]
    ) -> Booleans:
        """Draw clicks, (K, n): a member for each page, then its clicks."""
        return self.read_columns(query, columns, rng, **blocks)[0]

    def read_columns(
        self, query: Integers, columns: Integers, rng: Generator, **blocks: Unpack[BlockArguments]
    ) -> tuple[Booleans, Booleans]:
        """Draw clicks, (K, n), and whether the block satisfied without one, (n,)."""
        clicks, satisfied = np.empty(columns.shape, dtype=bool), np.zeros(len(query), dtype=bool)
        chosen = rng.integers(len(self.members), size=len(query))
        for number, member in enumerate(self.members):
            rows = np.flatnonzero(chosen == number)
            if len(rows):
                part = np.ascontiguousarray(columns[:, rows])
                known = member.vertical_arguments(**blocks)
                own = {name: np.asarray(column)[rows] for name, column in known.items()}
                drawn = member.read_columns(query[rows], part, rng, **own)
                clicks[:, rows], satisfied[rows] = drawn
        return clicks, satisfied

    def sample_page(
        self,
        query: int,
        ranking: list[int],
        uniforms: Uniforms,
        *,
        vertical: int = -1,
        vertical_position: int = -1,
    ) -> list[bool]:
        """Draw the clicks of one page."""
        block = {"vertical": vertical, "vertical_position": vertical_position}
        return self.read_page(query, ranking, uniforms, **block)[0]

    def read_page(
        self,
        query: int,
        ranking: list[int],
        uniforms: Uniforms,
        *,
        vertical: int = -1,
        vertical_position: int = -1,
    ) -> tuple[list[bool], bool]:
        """Draw the clicks of one page, and whether its block satisfied without one."""
        (uniform,) = uniforms.take(1)
        member = self.members[min(int(uniform * len(self.members)), len(self.members) - 1)]
        block = member.vertical_arguments(vertical, vertical_position)
        return member.read_page(query, ranking, uniforms, **block)
