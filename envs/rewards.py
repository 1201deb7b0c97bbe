"""What a page is worth to the agent: the rewards, by name."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..clickmodels import ClickModel
from ..common.typing import Floats, Integers
from ..data import World
from ..evaluation.metrics.graded import discount, ideal_dcg


class Reward:
    """A reward of pages of ``slots`` slots that ``model`` clicks in ``world``.

    Another reward is one more class, with ``rewards`` and, where it can be had at less cost for a
    single page, ``reward``; and one line in ``REWARDS``.
    """

    leaks_grades: ClassVar[bool] = False  # then it is for true users only

    def __init__(self, world: World, model: ClickModel, slots: int) -> None:
        self.world, self.model, self.slots = world, model, slots

    def rewards(self, query: Integers, ranking: Integers, n_clicks: NDArray[Any]) -> Floats:
        """Return the rewards (n,) of pages (n, K) that got ``n_clicks`` (n,) clicks."""
        raise NotImplementedError

    def reward(self, query: int, page: list[int], clicks: list[bool]) -> float:
        """Return the reward of one page of K documents, -1 for empty slots."""
        n_clicks = np.array([sum(clicks)])
        return float(self.rewards(np.array([query]), np.array([page]), n_clicks)[0])


class Clicks(Reward):
    """The number of clicks."""

    def rewards(self, query: Integers, ranking: Integers, n_clicks: NDArray[Any]) -> Floats:
        """Return the numbers of clicks."""
        return n_clicks.astype(np.float64)

    def reward(self, query: int, page: list[int], clicks: list[bool]) -> float:
        """Return the number of clicks, without an array."""
        return float(sum(clicks))


class ExpectedClicks(Reward):
    """The exact expectation of the number of clicks."""

    def __init__(self, world: World, model: ClickModel, slots: int) -> None:
        super().__init__(world, model, slots)
        check_exact(world, model, slots)

    def rewards(self, query: Integers, ranking: Integers, n_clicks: NDArray[Any]) -> Floats:
        """Return the model's expected clicks."""
        return self.model.expected_clicks(query, ranking)


class NDCG(Reward):
    """nDCG@K by the world's grades."""

    leaks_grades = True

    def __init__(self, world: World, model: ClickModel, slots: int) -> None:
        super().__init__(world, model, slots)
        world.require_grades("reward='ndcg' needs")
        self.ideal, self.discount = ideal_dcg(world, slots), discount(slots)

    def rewards(self, query: Integers, ranking: Integers, n_clicks: NDArray[Any]) -> Floats:
        """Return the discounted gains over the ideal ones; 0 for queries without gains."""
        gain = np.where(ranking >= 0, self.world.gain[query[:, None], ranking], 0.0)
        ideal = self.ideal[query]
        return (gain @ self.discount) / np.where(ideal > 0, ideal, 1.0)


REWARDS: dict[str, type[Reward]] = {
    "clicks": Clicks,
    "expected_clicks": ExpectedClicks,
    "ndcg": NDCG,
}


def check_exact(world: World, model: ClickModel, slots: int) -> None:
    """Raise NotExact, now rather than in the middle of training, without exact expectations."""
    query = int(world.query_probs.argmax())
    page = np.full((1, slots), -1)
    page[0, 0] = world.candidates[query].argmax()
    model.click_probs([query], page)
