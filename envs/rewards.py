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
    ranking : (n, K)
    satisfied : (n,) bool
        By a block, without a click.
    blocks : dict of (n,) arrays
        The pages' blocks as keyword arguments of the click model; empty where it knows none.
    """

    query: Integers
    ranking: Integers
    n_clicks: NDArray[Any]
    satisfied: Booleans
    blocks: Mapping[str, Integers] = field(default_factory=dict)


class Reward:
    """A reward of pages of ``slots`` slots that ``model`` clicks in ``world``.

    Another reward is one more class, with ``rewards`` and, where it can be had at less cost for a
    single page, ``reward``; and one line in ``REWARDS``.
    """

    leaks_grades: ClassVar[bool] = False  # then it is for true users only

    def __init__(self, world: World, model: ClickModel, slots: int) -> None:
        self.world, self.model, self.slots = world, model, slots

    def rewards(self, shown: Shown) -> Floats:
        """Return the rewards of pages, (n,)."""
        raise NotImplementedError

    def reward(
        self,
        query: int,
        page: list[int],
        clicks: list[bool],
        satisfied: bool,
        block: Mapping[str, int],
    ) -> float:
        """Return the reward of one page of K documents, -1 for empty slots; see ``Shown``."""
        one = Shown(
            np.array([query]), np.array([page]), np.array([sum(clicks)]), np.array([satisfied]),
            {name: np.array([value]) for name, value in block.items()},
        )  # fmt: skip
        return float(self.rewards(one)[0])


class Clicks(Reward):
    """The number of clicks."""

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
        query, ranking = shown.query, shown.ranking
        gain = np.where(ranking >= 0, self.world.gain[query[:, None], ranking], 0.0)
        ideal = self.ideal[query]
        return (gain @ self.discount) / np.where(ideal > 0, ideal, 1.0)


REWARDS: dict[str, type[Reward]] = {
    "clicks": Clicks,
    "expected_clicks": ExpectedClicks,
    "ndcg": NDCG,
}
# Of pages with blocks, about which grades say nothing.
FEDERATED_REWARDS: dict[str, type[Reward]] = {
    "clicks": Clicks,
    "expected_clicks": ExpectedClicks,
    "satisfied": Satisfied,
}


def check_exact(world: World, model: ClickModel, slots: int) -> None:
    """Raise NotExact, now rather than in the middle of training, without exact expectations."""
    query = int(world.query_probs.argmax())
    page = np.full((1, slots), -1)
    page[0, 0] = world.candidates[query].argmax()
    model.click_probs([query], page)
