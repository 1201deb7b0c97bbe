"""Buffers in which each slot of a page has what it earned, rather than the last slot all."""

from __future__ import annotations

from typing import Any, ClassVar

from sb3_contrib.common.maskable.buffers import MaskableRolloutBuffer
from stable_baselines3.common.buffers import NStepReplayBuffer

from .vec_env import IdsVecEnv


class _CreditBySlot:
    """Shares the reward of a page out among its slots as soon as the page is complete.

    Parameters
    ----------
    pages : IdsVecEnv
        Where pages are filled slot by slot; it keeps the ``shares`` of the pages that just ended.
    """

    goes_round: ClassVar[bool]  # the newest steps take the places of the oldest

    def __init__(self, *args: Any, pages: IdsVecEnv, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._pages = pages

    def add(self, *args: Any, **kwargs: Any) -> None:
        """Store a step of all pages, and the rewards of all slots of pages that it completed."""
        buffer: Any = self
        last = buffer.pos
        super().add(*args, **kwargs)  # type: ignore[misc]
        ended = self._pages.ended
        for slot, earned in enumerate(self._pages.shares.T):
            # The first slots of a page may have been in the rollout before.
            place = last - self._pages.lengths + 1 + slot
            known = (slot < self._pages.lengths) & (self.goes_round | (place >= 0))
            rows = place[known] % buffer.buffer_size, ended[known]
            buffer.rewards[rows] = earned[known]


class SlotRollouts(_CreditBySlot, MaskableRolloutBuffer):
    """Rollouts of agents that fill slots."""

    goes_round = False


class SlotReplay(_CreditBySlot, NStepReplayBuffer):
    """Replayed slots."""

    goes_round = True
