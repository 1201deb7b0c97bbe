"""Policies that fill each slot independently of the others."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ..common import checks
from ..common.typing import Booleans, Floats, Integers
from .base import Policy, register
from .given_set.conditional import GivenSet
from .given_set.steps import STEPS_UP_TO, steps_given_set
from .slates.document_types import ProductTable
from .slates.moments import SlateMoments


@register("Product")
class Product(Policy):
    """Draws the document of each slot from the slot's own distribution; repeats are allowed.

    Parameters
    ----------
    probs : (Q, K, N)
        Each slot's distribution over documents: sums to one, or all zeros for a slot that stays
        empty. Empty slots only trail.

    Notes
    -----
    The Cartesian products of the slates paper (Examples 1 and 4). Costs O(K log N) per page to
    draw and O(K) for a log-probability.
    """

    def __init__(self, probs: ArrayLike) -> None:
        array = checks.probabilities(probs, "probs", 3)
        if 0 in array.shape:
            raise ValueError(f"probs is empty, shape {array.shape}")
        total = array.sum(axis=2)
        wrong = (np.abs(total - 1.0) > 1e-6) & (total > 0)
        if wrong.any():
            query, slot = np.argwhere(wrong)[0]
            raise ValueError(f"probs[{query}, {slot}] must sum to 1, not {total[query, slot]:.8g}")
        if ((total[:, :-1] == 0) & (total[:, 1:] > 0)).any():
            raise ValueError("probs has an empty slot (all zeros) before one that is not")
        filled = total[:, :, None] > 0
        self._set(np.divide(array, total[:, :, None], out=np.zeros_like(array), where=filled))

    def _set(self, probs: Floats) -> None:
        self.probs = probs
        self.probs.flags.writeable = False
        self.slots = probs.shape[1]
        self.shape = probs.shape[0], probs.shape[2]
        self._filled = probs.sum(axis=2) > 0
        with np.errstate(divide="ignore"):
            self._logs = np.log(self.probs)
        # One ascending array for all slots, each from its own number on: one search finds them all.
        ends = np.cumsum(self.probs, axis=2)
        ends /= np.where(self._filled[:, :, None], ends[:, :, -1:], 1.0)
        number = np.arange(self._filled.size).reshape(self._filled.shape)
        self._ends = (ends + number[:, :, None]).reshape(-1)
        self._last = self.shape[1] - 1 - (self.probs[:, :, ::-1] > 0).argmax(axis=2)

    def state(self) -> dict[str, Any]:
        """Return the probabilities."""
        return {"probs": self.probs}

    @classmethod
    def from_state(cls, **state: Any) -> Self:
        """Make the policy from its probabilities, to the last digit."""
        policy = cls(**state)
        policy._set(np.array(state["probs"], dtype=np.float64))
        return policy

    def draw(self, query: Integers, rng: np.random.Generator) -> tuple[Integers, Floats]:
        """Draw rankings (n, K) and their log-probabilities (n,)."""
        number = query[:, None] * self.slots + np.arange(self.slots)
        uniform = rng.random(number.shape)
        found = np.searchsorted(self._ends, uniform + number, side="right")
        found -= number * self.shape[1]
        found = np.minimum(found, self._last[query])  # rounding of the sum may lead past the end
        ranking = np.where(self._filled[query], found, -1)
        return ranking, self.log_prob(query, ranking)

    def log_prob(self, query: ArrayLike, ranking: ArrayLike) -> Floats:
        """Return log P(ranking | query), (n,)."""
        query, ranking = self.check_pages(query, ranking)
        slots = np.arange(self.slots)
        logs = self._logs[query[:, None], slots, ranking]
        empty = np.where(self._filled[query], -np.inf, 0.0)
        return np.where(ranking >= 0, logs, empty).sum(axis=1)

    def greedy(self, query: ArrayLike) -> Integers:
        """Return the likeliest document of each slot, ties by index, (n, K)."""
        query = self.check_query(query)
        return np.where(self._filled[query], self.probs[query].argmax(axis=2), -1)

    def marginals(self, query: int) -> SlateMoments:
        """Return the exact moments of one query's pages."""
        return SlateMoments(np.arange(self.shape[1]), ProductTable(self.probs[query]))

    def given_set(self, query: Integers, shown: Integers, seed: int = 0) -> GivenSet:
        """Return where displayed documents stand given the set; exact up to 12 documents."""
        lengths = (shown >= 0).sum(axis=1)
        possible = lengths == self._filled[query].sum(axis=1)
        if lengths.max(initial=0) > STEPS_UP_TO:
            return super().given_set(query, shown, seed)

        def following(rows: Integers, placed: Booleans) -> Floats:
            slot = int(placed[0].sum())
            return self.probs[query[rows, None], slot, shown[rows]].T[None]

        return steps_given_set(following, possible, lengths, shown.shape[1])
