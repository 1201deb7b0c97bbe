"""One environment in which the agent ranks documents and places a vertical block."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..common.typing import Booleans
from .federated_settings import FederatedSettings
from .page_pictures import ShownBlock
from .ranking import RankingEnv, to_integer
from .settings import environment_signature


class FederatedEnv(RankingEnv):
    """A user asks a query, the agent ranks documents and places a block, the user clicks.

    It is :class:`RankingEnv` with a world that has verticals: each query may have a block (news,
    images, a map, …), and the agent decides whether the page shows it, and after how many web
    results. The block has no click of its own; it changes how the results are read.

    ## Observation
    As in :class:`RankingEnv`. Features have one more column for each type of block, the same for
    all candidates: 1 in the column of the query's type. With ``action="slots"`` what is said of the
    page includes the block: one more feature, (v + 1) / (K + 1) for a block after v results (0 =
    not placed), or with ids one more number, v + 1.

    ## Action
    ``"scores"`` (default): ``Box(-1, 1, (N + K + 2,))``; the last K + 2 numbers score "not shown"
    and the places after 0 to K results, and the best of them is taken, ties at random.
    ``"ranking"``: the K documents, then 0 for "not shown" or v + 1. ``"slots"``: ``Discrete(N +
    1)``; N places the block after the results so far, at most once. When the last slot is filled
    and the block is not placed, one more step decides: N shows it last, the document in the last
    slot once more leaves it out.

    A query without a type never shows a block, whatever the action. On a page with fewer than K
    results there is no place below the last result: its score does not count, and a ranking with
    such a place does not show the block.

    ## Reward
    ``"clicks"`` (default): the number of clicks on web results. ``"expected_clicks"``: its exact
    expectation. ``"satisfied"``: 1 if there was a click or the block satisfied the user without
    one, else 0.

    ## Start
    As in :class:`RankingEnv`.

    ## End
    As in :class:`RankingEnv`; with ``"slots"`` a query with a block takes one step more.

    ## Info
    As in :class:`RankingEnv`, and ``vertical``, the type of the query's block (-1 = none), and
    ``vertical_position``, how many results stand above it (-1 = not shown).

    ## Arguments
    user : ``"FCM"`` (default) or ``"VCM"``, or a ``ClickModel`` that is a true user.
    world : a ``World`` with ``vertical``; default ``data.embedded_vertical_world()``.
    click_model : a learned ``ClickModel`` or the path of a saved one, instead of the user; one that
        knows no verticals ignores the block.
    invalid : as in :class:`RankingEnv`; with ``"slots"`` also for a block that is on the page
        already, or that the query does not have: ``"repair"`` shows the next unused candidate.
    Then those of :class:`RankingEnv`.

    ## Version history
    v0: the first.
    """

    settings_class = FederatedSettings
    settings: FederatedSettings

    __signature__ = environment_signature()

    def _open(self, query: int) -> None:
        super()._open(query)
        self._position = -1

    def _block(self) -> dict[str, int]:
        return self.model.vertical_arguments(self._type(), self._position)

    def _type(self) -> int:
        return int(self.settings.types[self._query])

    def _fill(self, action: Any) -> bool:
        if self.settings.action == "slots":
            return self._fill_slot(to_integer(action, "action"))
        if self.settings.action == "scores":
            values = self._read_scores(action)
            n_docs = self.world.n_docs
            self._position = self._best_place(values[n_docs:])
            self._page = self._order(values[:n_docs])
            return True
        action = np.asarray(action)
        if action.shape != (self.slots + 1,) or action.dtype.kind not in "iu":
            raise ValueError(f"action must be {self.slots + 1} integers, not {action!r}")
        place = int(action[-1]) - 1
        if not -1 <= place <= self.slots:
            raise ValueError(f"action[{self.slots}] is {place + 1}, outside 0..{self.slots + 1}")
        self._page = self._rank(action[:-1])
        self._position = place if self._type() >= 0 and place <= len(self._page) else -1
        return True

    def _best_place(self, scores: list[float]) -> int:
        """Return the place of the highest score, -1 = not shown, ties at random."""
        assert self._uniforms is not None
        allowed = self.settings.allowed[self._query].tolist()
        top = max(score for score, may in zip(scores, allowed, strict=True) if may)
        best = [
            place
            for place, (score, may) in enumerate(zip(scores, allowed, strict=True))
            if may and score == top
        ]
        if len(best) == 1:
            return best[0] - 1
        return best[int(self._uniforms.one() * len(best))] - 1

    def _fill_slot(self, action: int) -> bool:
        n_docs, length = self.world.n_docs, int(self.settings.lengths[self._query])
        if not 0 <= action <= n_docs:
            raise ValueError(f"action is {action}, outside 0..{n_docs}")
        waits = self._type() >= 0 and self._position < 0  # a block that is not placed yet
        if action == n_docs and waits:
            self._position = len(self._page)
            return len(self._page) == length
        if len(self._page) == length:
            self._leave_out(action)
            return True
        if action == n_docs:
            if self.settings.invalid == "raise":
                raise ValueError(
                    f"action is {n_docs}, the block, which is on the page already or which this "
                    "query does not have"
                )
            self._repaired = True
            action = int(self._free().argmax())
        self._page.append(self._pick(action))
        return len(self._page) == length and not waits

    def _leave_out(self, action: int) -> None:
        """End the page without its block, which the last document once more says."""
        if action == self._page[-1]:
            return
        if self.settings.invalid == "raise":
            raise ValueError(
                f"action is document {action}, but the page is full: {self.world.n_docs} shows the "
                f"block last, and {self._page[-1]} leaves it out"
            )
        self._repaired = True

    def action_masks(self) -> Booleans:
        """Return which actions are valid now: (N + 1,), or (K * N + K + 2,) for rankings."""
        masks = super().action_masks()
        if self.settings.action == "ranking":
            return np.concatenate([masks, self.settings.allowed[self._query]])
        if len(self._page) == self.settings.lengths[self._query]:
            masks[:] = False
            masks[self._page[-1:]] = True
        return np.append(masks, self._type() >= 0 and self._position < 0)

    def _observe(self) -> Any:
        seen = super()._observe()
        if self.settings.action == "slots" and self.settings.observation == "ids":
            return np.append(seen, self._position + 1)
        return seen

    def _observe_features(self) -> NDArray[np.float32]:
        features = super()._observe_features()
        context = np.zeros(self.settings.n_types, dtype=np.float32)
        if self._type() >= 0:
            context[self._type()] = 1.0
        if self.settings.action == "slots":
            place = (self._position + 1) / (self.slots + 1)
            context = np.append(context, np.float32(place))
        return np.concatenate([features, np.tile(context, (len(features), 1))], axis=1)

    def _info(self) -> dict[str, Any]:
        own = {"vertical": self._type(), "vertical_position": self._position}
        return super()._info() | own

    def _shown_block(self) -> ShownBlock:
        name = self.settings.block_name(self._query)
        return ShownBlock(name, self._position, self._satisfied)
