"""A batch of environments in which the agent ranks documents and places vertical blocks."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..common.ordering import order_by_scores
from ..common.typing import Booleans, Integers
from .federated_settings import FederatedSettings
from .page_pictures import ShownBlock
from .settings import environment_signature
from .validity import next_unused
from .vector import RankingVectorEnv, freeze

_ROWS = 64  # environments whose features are copied at once: they stay in the cache


class FederatedVectorEnv(RankingVectorEnv):
    """``num_envs`` environments like :class:`FederatedEnv`, stepped as one batch.

    ## Observation
    A batch of those of :class:`FederatedEnv`.

    ## Action
    A batch of those of :class:`FederatedEnv`.

    ## Reward
    As in :class:`RankingVectorEnv`, each as in :class:`FederatedEnv`.

    ## Start
    As in :class:`RankingVectorEnv`.

    ## End
    As in :class:`RankingVectorEnv`.

    ## Info
    As in :class:`RankingVectorEnv`, with ``vertical`` and ``vertical_position``, (num_envs,).

    ## Arguments
    num_envs : the number of environments.
    Then those of :class:`FederatedEnv`.

    ## Version history
    v0: the first.
    """

    settings_class = FederatedSettings
    settings: FederatedSettings

    __signature__ = environment_signature("num_envs")

    def __init__(self, num_envs: int = 1, *arguments: Any, **by_name: Any) -> None:
        super().__init__(num_envs, *arguments, **by_name)
        self._not_shown = freeze(np.full(self.num_envs, -1, dtype=np.int64))

    def _start(self, query: Integers) -> None:
        super()._start(query)
        self._types = freeze(self.settings.types.take(query))
        self._positions = self._not_shown

    def _renew(self, done: Booleans) -> None:
        super()._renew(done)
        self._types = freeze(self.settings.types.take(self._query))
        self._positions = np.where(done, -1, self._positions)

    def _keep(self, clicks: Booleans) -> None:
        super()._keep(clicks)
        self._kept = self._positions, self._satisfied

    def _last_blocks(self) -> list[ShownBlock | None]:
        positions, satisfied = (column.tolist() for column in self._kept)
        names = [self.settings.block_name(query) for query in self._last[0].tolist()]
        return [ShownBlock(*one) for one in zip(names, positions, satisfied, strict=True)]

    def _blocks(self, rows: Any) -> dict[str, Integers]:
        return self.model.vertical_arguments(self._types[rows], self._positions[rows])

    def _arrange(self, actions: Any) -> Integers:
        n_docs = self.world.n_docs
        if self.settings.action == "scores":
            scores = self._read_scores(actions)
            self._positions = self._best_places(scores[:, n_docs:])
            return self._order(scores[:, :n_docs])
        given = self._read_integers(actions)
        places = given[:, -1] - 1
        outside = (places < -1) | (places > self.slots)
        if outside.any():
            row = int(outside.argmax())
            raise ValueError(
                f"actions[{row}, {self.slots}] is {places[row] + 1}, outside 0..{self.slots + 1}"
            )
        page = self._rank(given[:, :-1])
        length = self.settings.lengths[self._query]
        self._positions = np.where((self._types >= 0) & (places <= length), places, -1)
        return page

    def _best_places(self, scores: NDArray[Any]) -> Integers:
        """Return the places of the highest scores, (n,), -1 = not shown, ties at random."""
        allowed = self.settings.allowed[self._query]
        with np.errstate(over="ignore"):  # finite, but beyond float32: they compare as infinite
            compared = np.where(allowed, scores.astype(np.float32), np.float32(-np.inf))
        best = compared.argmax(axis=1)
        top = np.take_along_axis(compared, best[:, None], axis=1)
        rows = np.flatnonzero((compared == top).sum(axis=1) > 1)
        if len(rows):
            with np.errstate(over="ignore"):
                ordered = order_by_scores(scores[rows], 1, self.np_random, allowed[rows])
            best[rows] = ordered[:, 0]
        return best - 1

    def _fill(self, actions: Any) -> Booleans:
        n_docs, given = self.world.n_docs, self._read_integers(actions)
        outside = (given < 0) | (given > n_docs)
        if outside.any():
            row = int(outside.argmax())
            raise ValueError(f"actions[{row}] is {given[row]}, outside 0..{n_docs}")
        everyone, length = np.arange(self.num_envs), self.settings.lengths[self._query]
        masks = self.action_masks()
        full = self._filled == length  # all that is left to decide is whether the block comes last
        wrong = ~masks[everyone, given]
        if wrong.any() and self.settings.invalid == "raise":
            self._refuse(int(wrong.argmax()), given, full)
        placing = (given == n_docs) & ~wrong
        adding = ~full & ~placing
        documents = np.where(given == n_docs, 0, given)
        documents = np.where(wrong, next_unused(documents, masks[:, :-1]), documents)
        page = self._page.copy()
        rows = np.flatnonzero(adding)
        page[rows, self._filled[rows]] = documents[rows]
        self._positions = np.where(placing, self._filled, self._positions)
        self._page, self._filled = page, self._filled + adding
        self._repaired = self._repaired | wrong
        settled = (self._types < 0) | (self._positions >= 0) | full
        return (self._filled == length) & settled

    def _refuse(self, row: int, given: Integers, full: Booleans) -> None:
        n_docs, action = self.world.n_docs, int(given[row])
        if full[row]:
            last = self._page[row, self._filled[row] - 1]
            why = f"but the page is full: {n_docs} shows the block last, and {last} leaves it out"
        elif action == n_docs:
            why = "the block, which is on the page already or which this query does not have"
        else:
            why = "a document which is on the page already or no candidate"
        raise ValueError(f"actions[{row}] is {action}, {why}")

    def action_masks(self) -> Booleans:
        """Return which actions are valid now: (n, N + 1), or (n, K * N + K + 2) for rankings."""
        masks = super().action_masks()
        if self.settings.action == "ranking":
            return np.concatenate([masks, self.settings.allowed[self._query]], axis=1)
        rows = np.flatnonzero(self._filled == self.settings.lengths[self._query])
        masks[rows] = False
        masks[rows, self._page[rows, self._filled[rows] - 1]] = True
        waits = (self._types >= 0) & (self._positions < 0)
        return np.concatenate([masks, waits[:, None]], axis=1)

    def _observe(self) -> Any:
        seen = super()._observe()
        if self.settings.action == "slots" and self.settings.observation == "ids":
            return np.concatenate([seen, self._positions[:, None] + 1], axis=1)
        return seen

    def _observe_features(self, placed: Integers | None) -> NDArray[np.float32]:
        table = self.world.standardised_features
        width = table.shape[2]
        more = self.settings.n_types + 2 * (placed is not None)
        features = np.empty((self.num_envs, table.shape[1], width + more), dtype=np.float32)
        for start in range(0, self.num_envs, _ROWS):
            part = slice(start, start + _ROWS)
            features[part, :, :width] = table[self._query[part]]
        if placed is not None:
            features[..., width] = placed / self.slots
            features[..., -1] = ((self._positions + 1) / (self.slots + 1))[:, None]
            width += 1
        kinds = self._types[:, None] == np.arange(self.settings.n_types)
        features[..., width : width + self.settings.n_types] = kinds[:, None]
        return features

    def _info(self, clicks: Booleans) -> dict[str, Any]:
        everyone = self._everyone
        return super()._info(clicks) | {
            "vertical": self._types, "_vertical": everyone,
            "vertical_position": self._positions, "_vertical_position": everyone,
        }  # fmt: skip
