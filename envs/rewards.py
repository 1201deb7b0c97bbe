"""What a page is worth to the agent: the rewards, by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..clickmodels import ClickModel
from ..common.typing import Booleans, Floats, Integers
from ..data import World
from ..evaluation.metrics.graded import discount, ideal_dcg


@dataclass(frozen=True)
class Shown:
    """Pages and what their users did.

    Attributes
    ----------
    query, n_clicks : (n,)
    ranking, clicks : (n, K)
    satisfied : (n,) bool
        By a block, without a click.
    blocks : dict of (n,) arrays
        The pages' blocks as keyword arguments of the click model; empty where it knows none.
    """

    query: Integers
    ranking: Integers
    clicks: Booleans
    n_clicks: NDArray[Any]
    satisfied: Booleans
    blocks: Mapping[str, Integers] = field(default_factory=dict)


class Reward:
    """A reward of pages of ``slots`` slots that ``model`` clicks in ``world``.

    Another reward is one more class, with ``rewards`` and, where it can be had at less cost for a
    single page, ``reward``; with ``shares`` where it is a sum over slots; and one line in
    ``REWARDS``.
    """

    leaks_grades: ClassVar[bool] = False  # then it is for true users only
    pessimistic: ClassVar[bool] = False  # then ``model`` is pessimistic, see ``ClickModel``

    def __init__(self, world: World, model: ClickModel, slots: int) -> None:
        self.world, self.model, self.slots = world, model, slots

    def rewards(self, shown: Shown) -> Floats:
        """Return the rewards of pages, (n,)."""
        raise NotImplementedError

    def shares(self, shown: Shown) -> Floats:
        """Return what each slot has earned of the rewards, (n, K); rows sum to the rewards.

        What a slot's document and those above it are expected to earn, the documents below must
        not change: then a choice is judged by the shares from its own slot on. Here the last
        document has all.
        """
        shares = np.zeros(shown.ranking.shape)
        last = np.maximum((shown.ranking >= 0).sum(axis=1) - 1, 0)
        shares[np.arange(len(last)), last] = self.rewards(shown)
        return shares

    def gains(self, shown: Shown) -> Floats:
        """Return what the page has gained with each document, (n, K); rows sum to the rewards.

        As ``shares``, unless the page without its last documents has a known value.
        """
        return self.shares(shown)

    def reward(
        self,
        query: int,
        page: list[int],
        clicks: list[bool],
        satisfied: bool,
        block: Mapping[str, int],
    ) -> float:
        """Return the reward of one page of K documents, -1 for empty slots; see ``Shown``."""
        return float(self.rewards(one_page(query, page, clicks, satisfied, block))[0])


def one_page(
    query: int, page: list[int], clicks: list[bool], satisfied: bool, block: Mapping[str, int]
) -> Shown:
    """Return one page of K documents, -1 for empty slots, as a batch."""
    return Shown(
        np.array([query]), np.array([page]), np.array([clicks]), np.array([sum(clicks)]),
        np.array([satisfied]), {name: np.array([value]) for name, value in block.items()},
    )  # fmt: skip


class Clicks(Reward):
    """The number of clicks."""

    def shares(self, shown: Shown) -> Floats:
        """Return the clicks on each slot, (n, K), of a user who reads down the page."""
        return shown.clicks.astype(np.float64) if self.model.reads_down else super().shares(shown)

    def rewards(self, shown: Shown) -> Floats:
        """Return the numbers of clicks."""
        return shown.n_clicks.astype(np.float64)

    def reward(
        self,
        query: int,
        page: list[int],
        clicks: list[bool],
        satisfied: bool,
        block: Mapping[str, int],
    ) -> float:
        """Return the number of clicks, without an array."""
        return float(sum(clicks))


class ExpectedClicks(Reward):
    """The exact expectation of the number of clicks."""

    def __init__(self, world: World, model: ClickModel, slots: int) -> None:
        super().__init__(world, model, slots)
        check_exact(world, model, slots)

    def rewards(self, shown: Shown) -> Floats:
        """Return the model's expected clicks."""
        return self.model.expected_clicks(shown.query, shown.ranking, **shown.blocks)

    def shares(self, shown: Shown) -> Floats:
        """Return P(click) on each slot, (n, K), of a user who reads down the page.

        Of other users the last document has all.
        """
        if not self.model.reads_down:
            return super().shares(shown)
        return self.model.click_probs(shown.query, shown.ranking, **shown.blocks)

    def gains(self, shown: Shown) -> Floats:
        """Return the value of the page down to each slot less that down to the slot above, (n, K).

        Of a user who reads down the page these are the shares; of others they cost K pages. They
        are a fair credit, too, because what follows does not change them. Values of choices
        are learned far better from them than from the last document's; policy gradients are not,
        for what is read from below says little before the page is complete.
        """
        if self.model.reads_down or shown.blocks:
            return self.shares(shown)
        n, slots = shown.ranking.shape
        parts = np.where(np.tri(slots, dtype=bool), shown.ranking[:, None], -1)
        query = np.repeat(shown.query, slots)
        values = self.model.expected_clicks(query, parts.reshape(-1, slots))
        return np.diff(values.reshape(n, slots), axis=1, prepend=0.0)


class ConditionalClicks(Reward):
    """The sum of P(click) on each slot, given the clicks above it that were drawn.

    Its mean over the clicks is exactly the expected number of clicks, with far less noise than
    the clicks themselves have, and it takes one pass over the page where exact expectations take
    2^K - 1 steps.
    """

    def __init__(self, world: World, model: ClickModel, slots: int) -> None:
        super().__init__(world, model, slots)
        model.require("conditional")

    def _probs(self, shown: Shown) -> Floats:
        pages = shown.query, shown.ranking, shown.clicks
        return self.model.conditional_click_probs(*pages, **shown.blocks)

    def rewards(self, shown: Shown) -> Floats:
        """Return the sums of P(click | the clicks above)."""
        return self._probs(shown).sum(axis=1)

    def shares(self, shown: Shown) -> Floats:
        """Return P(click | the clicks above), (n, K), of a user who reads down the page."""
        return self._probs(shown) if self.model.reads_down else super().shares(shown)


class PessimisticClicks(ExpectedClicks):
    """The expected clicks under the learned model at a low quantile of what it may be."""

    pessimistic = True


class Satisfied(Reward):
    """1 for a page with a click, or whose block satisfied the user without one; else 0."""

    def rewards(self, shown: Shown) -> Floats:
        """Return zeros and ones."""
        return ((shown.n_clicks > 0) | shown.satisfied).astype(np.float64)


class NDCG(Reward):
    """nDCG@K by the world's grades."""

    leaks_grades = True

    def __init__(self, world: World, model: ClickModel, slots: int) -> None:
        super().__init__(world, model, slots)
        world.require_grades("reward='ndcg' needs")
        self.ideal, self.discount = ideal_dcg(world, slots), discount(slots)

    def rewards(self, shown: Shown) -> Floats:
        """Return the discounted gains over the ideal ones; 0 for queries without gains."""
        return self.shares(shown).sum(axis=1)

    def shares(self, shown: Shown) -> Floats:
        """Return each document's discounted gain over the page's ideal one, (n, K)."""
        query, ranking = shown.query, shown.ranking
        gain = np.where(ranking >= 0, self.world.gain[query[:, None], ranking], 0.0)
        ideal = self.ideal[query, None]
        return gain * self.discount / np.where(ideal > 0, ideal, 1.0)


REWARDS: dict[str, type[Reward]] = {
    "clicks": Clicks,
    "expected_clicks": ExpectedClicks,
    "conditional_clicks": ConditionalClicks,
    "ndcg": NDCG,
    "pessimistic": PessimisticClicks,
}
# Of pages with blocks, about which grades say nothing.
FEDERATED_REWARDS: dict[str, type[Reward]] = {
    "clicks": Clicks,
    "expected_clicks": ExpectedClicks,
    "satisfied": Satisfied,
    "conditional_clicks": ConditionalClicks,
}


def noiseless(model: ClickModel) -> str:
    """Return the reward that has the mean of a learned model's clicks and least noise for its cost.

    ``"expected_clicks"``, or ``"conditional_clicks"`` where expectations enumerate click prefixes.
    """
    return "expected_clicks" if model.cheap_expectations else "conditional_clicks"


def check_exact(world: World, model: ClickModel, slots: int) -> None:
    """Raise NotExact, now rather than in the middle of training, without exact expectations."""
    query = int(world.query_probs.argmax())
    page = np.full((1, slots), -1)
    page[0, 0] = world.candidates[query].argmax()
    model.click_probs([query], page)
