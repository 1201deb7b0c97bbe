"""Several click models of the same log, as one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike
from scipy.special import logsumexp, ndtri

from ..common import checks
from ..common.random import Uniforms
from ..common.typing import Booleans, Floats, Integers
from .base import GENERATIVE, ClickModel
from .pages import BlockArguments, check_pages, log_of_outcomes
from .registry import register
from .saving import HEADER, OPTIONAL, from_record, to_record
from .uncertainty.posterior import BetaTable, Posterior, Uncertainty, check_level


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
    doubt : float
        What members disagree about is not believed: a page loses so many standard deviations (over
        members) of its expected clicks, down to 0, because that share of its users is taken to
        leave without reading. Where a member's scores are expensive, its rough ones are compared.
        0: all users read.
    """

    def __init__(self, members: Sequence[ClickModel], doubt: float = 0.0) -> None:
        self.members = tuple(members)
        self.doubt = float(checks.finite(doubt, "doubt", 0))
        if self.doubt < 0:
            raise ValueError(f"doubt must be at least 0, not {doubt}")
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
        # Whether a page is read at all depends on all of it.
        reads_down = not self.doubt and all(member.reads_down for member in self.members)
        self.__dict__["reads_down"] = reads_down
        if self.doubt:
            self.require(GENERATIVE)
        self.uncertainty = _of_members([member.uncertainty for member in self.members])

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
        doubt = {"doubt": self.doubt} if self.doubt else {}
        return {**arrays, "members": headers, **doubt}

    @classmethod
    def from_state(
        cls, members: Sequence[dict[str, Any]] = (), doubt: float = 0.0, **arrays: Any
    ) -> ClickModel:
        """Return the ensemble of a ``state``."""
        parts: list[dict[str, Any]] = [{} for _ in members]
        for key, value in arrays.items():
            number, _, name = key.partition(".")
            if not (number.isdecimal() and name and int(number) < len(parts)):
                raise TypeError(f"{key} belongs to no member")
            parts[int(number)][name] = value
        if any(set(header) - OPTIONAL != HEADER for header in members):
            raise ValueError("a member has no name, settings or fingerprint")
        return cls([from_record(*record) for record in zip(members, parts, strict=True)], doubt)

    def for_documents(self, classes: Integers) -> ClickModel:
        """Return the ensemble of the members of documents that are like their classes, (Q, N)."""
        members = [member.for_documents(classes) for member in self.members]
        for member, own in zip(members, self.members, strict=True):
            if own.uncertainty is not None:
                member.uncertainty = own.uncertainty.for_documents(classes)
        return Ensemble(members, self.doubt)

    def posterior(self) -> Posterior:
        """Return the posterior of the members' tables, where every member has one.

        Of a table that all have, such as attractiveness: the mean of their means, and the spread
        of their posteriors with that of their means. Members of different kinds may disagree
        about the scale of attractiveness alone.
        """
        parts = [member.posterior() for member in self.members]
        names = [name for name in parts[0] if all(name in part for part in parts)]
        tables = {name: _mix([part[name] for part in parts]) for name in names}
        known = self.uncertainty
        return Posterior(tables, self.seen, {} if known is None else known.numbers)

    def lower(self, level: float) -> ClickModel:
        """Return the ensemble of the members' ``lower(level)``, with what they disagree about off.

        Its ``doubt`` is as many standard deviations as ``level`` is below 1/2: a page is worth the
        mean of the lowered members less their disagreement. The members' posteriors know of
        documents that the log hardly showed, about which bootstraps are all of one mind; the
        disagreement knows of what a single model takes for granted. An optimistic ``level``
        raises the members and doubts nothing.
        """
        doubt = max(-float(ndtri(check_level(level))), 0.0)
        lower = Ensemble([member.lower(level) for member in self.members], doubt)
        lower.fingerprint, lower.label, lower.seen = self.fingerprint, self.label, self.seen
        return lower

    def _read(self, query: Integers, columns: Integers, blocks: BlockArguments) -> Floats:
        """Return the share of users who read each of the pages (K, n), (n,): 1 without doubt."""
        if not self.doubt:
            return np.ones(len(query))
        return self._believed(np.stack([
            self._cheap_values(member, query, columns, blocks) for member in self.members
        ]))  # fmt: skip

    def _believed(self, values: Floats) -> Floats:
        """Return what doubt leaves of pages with these values for each member (M, n), (n,)."""
        if not self.doubt or len(values) == 1:
            return np.ones(values.shape[1])
        mean = values.mean(axis=0)
        off = self.doubt * values.std(axis=0, ddof=1) / np.where(mean > 0, mean, 1.0)
        return np.maximum(1.0 - off, 0.0)

    @staticmethod
    def _cheap_values(
        member: ClickModel, query: Integers, columns: Integers, blocks: BlockArguments
    ) -> Floats:
        rough = None if member.cheap_scores else member.rough_columns(query, columns)
        if rough is not None:
            return rough
        return member.score_columns(query, columns, **member.vertical_arguments(**blocks))

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
        prior = np.zeros((*probs.shape[:2], 1))
        if self.doubt:  # one more of the mixture: nobody reads
            read = self._read(query, np.ascontiguousarray(ranking.T), blocks)
            chances = np.stack([read / len(probs)] * len(probs) + [1.0 - read])[..., None]
            prior = np.log(chances, out=np.full(chances.shape, -np.inf), where=chances > 0)
            probs = np.concatenate([probs, np.zeros((1, *ranking.shape))])
        outcomes = prior + np.cumsum(log_of_outcomes(probs, clicks), axis=2)
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
        result = np.asarray(logsumexp(each, axis=0) - np.log(len(each)))
        if not self.doubt:
            return result
        query, ranking, clicks = self.checked_clicks(query, ranking, clicks)
        read = self._read(query, np.ascontiguousarray(ranking.T), blocks)
        unread = np.where(clicks.any(axis=1), 0.0, 1.0 - read)
        with np.errstate(divide="ignore"):
            return np.logaddexp(np.log(read) + result, np.log(unread))

    def click_probs(
        self, query: ArrayLike, ranking: ArrayLike, **blocks: Unpack[BlockArguments]
    ) -> Floats:
        """Return P(C_k = 1), (n, K): the members' mean."""
        self.require(GENERATIVE)
        query, ranking = check_pages(self, query, ranking)
        each = self._ask("click_probs", blocks, query, ranking)
        read = self._read(query, np.ascontiguousarray(ranking.T), blocks)
        result: Floats = np.mean(each, axis=0) * read[:, None]
        return result

    def expected_clicks(
        self, query: ArrayLike, ranking: ArrayLike, **blocks: Unpack[BlockArguments]
    ) -> Floats:
        """Return the expected number of clicks of each page, (n,): the members' mean."""
        self.require(GENERATIVE)
        query, ranking = check_pages(self, query, ranking)
        each = self._ask("expected_clicks", blocks, query, ranking)
        read = self._read(query, np.ascontiguousarray(ranking.T), blocks)
        result: Floats = np.mean(each, axis=0) * read
        return result

    def satisfied_probs(
        self, query: ArrayLike, ranking: ArrayLike, **blocks: Unpack[BlockArguments]
    ) -> Floats:
        """Return P(the page satisfies), (n,): the members' mean."""
        self.require(GENERATIVE)
        query, ranking = check_pages(self, query, ranking)
        each = self._ask("satisfied_probs", blocks, query, ranking)
        read = self._read(query, np.ascontiguousarray(ranking.T), blocks)
        result: Floats = np.mean(each, axis=0) * read
        return result

    def score_columns(
        self, query: Integers, columns: Integers, **blocks: Unpack[BlockArguments]
    ) -> Floats:
        """Return the expected clicks of pages laid out slot by slot, (K, n): the members' mean."""
        each = np.stack(self._ask("score_columns", blocks, query, columns))
        read = self._believed(each) if self.cheap_scores else self._read(query, columns, blocks)
        result: Floats = each.mean(axis=0) * read
        return result

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
        for member in self.members:
            if not member.cheap_scores and member.rough_columns(query[:1], columns[:, :1]) is None:
                return None
        each = [self._cheap_values(member, query, columns, {}) for member in self.members]
        values = np.stack(each)
        result: Floats = values.mean(axis=0) * self._believed(values)
        return result

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
        if self.doubt:
            read = rng.random(len(query)) < self._read(query, columns, blocks)
            clicks, satisfied = clicks & read, satisfied & read
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
        clicks, satisfied = member.read_page(query, ranking, uniforms, **block)
        if self.doubt:
            blocks: BlockArguments = {}
            if self.knows_verticals:
                place = np.array([vertical]), np.array([vertical_position])
                blocks = {"vertical": place[0], "vertical_position": place[1]}
            (uniform,) = uniforms.take(1)
            page = np.array([query]), np.array(ranking)[:, None]
            if uniform >= self._read(*page, blocks)[0]:
                return [False] * len(clicks), False
        return clicks, satisfied


def _of_members(each: list[Uncertainty | None]) -> Uncertainty | None:
    """Return what an ensemble knows where all members know something: the means of numbers."""
    known = [one for one in each if one is not None]
    if len(known) < len(each):
        return None
    names = [name for name in known[0].numbers if all(name in one.numbers for one in known)]
    numbers = {name: float(np.mean([one.numbers[name] for one in known])) for name in names}
    levels = [one.level for one in known if one.level is not None]
    whole = len(levels) == len(known)
    return Uncertainty({}, numbers, np.mean(levels, axis=0) if whole else None)


def _mix(tables: list[BetaTable]) -> BetaTable:
    """Return the Beta with the mean and the variance of a mixture of tables, equally likely."""
    means = np.stack([table.mean for table in tables])
    mean = means.mean(axis=0)
    variance = np.mean([table.sd**2 for table in tables], axis=0) + means.var(axis=0)
    strength = mean * (1.0 - mean) / np.maximum(variance, 1e-12) - 1.0
    return BetaTable(mean, np.maximum(strength, 1e-9))
