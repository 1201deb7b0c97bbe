"""Thousands of ranking environments as one batch of arrays."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from ..common import checks
from ..common.ordering import order_by_scores
from ..common.typing import Booleans, Floats, Integers
from .page_pictures import ShownBlock, page_image, page_text
from .rewards import Shown
from .settings import RENDER_MODES, EnvironmentSettings, environment_signature
from .spaces import batch_actions
from .validity import make_valid, next_unused


class RankingVectorEnv(VectorEnv[Any, Any, Any]):
    """``num_envs`` environments like :class:`RankingEnv`, stepped as one batch.

    ## Observation
    A batch of those of :class:`RankingEnv`.

    ## Action
    A batch of those of :class:`RankingEnv`. A step costs O(num_envs × N log N) to order scores and
    O(num_envs × K) for the clicks.

    ## Reward
    ``(num_envs,)``, each as in :class:`RankingEnv`.

    ## Start
    Queries drawn from the world's ``query_probs``; ``reset(options={"query": (num_envs,)})``
    chooses them. All random numbers come from one generator, seeded by ``reset(seed=...)``, so a
    batch equals single environments in distribution, not number by number.

    ## End
    Each page terminates as in :class:`RankingEnv`, and a new one follows in the same step
    (``AutoresetMode.SAME_STEP``): observations belong to the new pages.

    ## Info
    As in :class:`RankingEnv`, for the new pages, each entry with its mask; for the pages that ended
    ``final_obs`` and ``final_info``, with the masks ``_final_obs`` and ``_final_info``.
    ``final_obs`` is indexed by environment (dicts with ``observation="both"``), and where pages
    last one step it is the very array that the step before returned; no array that was returned is
    ever written to again.

    ## Arguments
    num_envs : the number of environments.
    Then those of :class:`RankingEnv`.

    ## Version history
    v0: the first.
    """

    metadata: ClassVar[dict[str, Any]] = {  # type: ignore[misc]
        "render_modes": list(RENDER_MODES),
        "render_fps": 2,
        "autoreset_mode": AutoresetMode.SAME_STEP,
    }

    settings_class: ClassVar[type[EnvironmentSettings]] = EnvironmentSettings

    __signature__ = environment_signature("num_envs")

    def __init__(self, num_envs: int = 1, *arguments: Any, **by_name: Any) -> None:
        self.num_envs = checks.positive_integer(num_envs, "num_envs")
        self.settings = self.settings_class(*arguments, **by_name)
        self.render_mode = self.settings.render_mode
        self.world = self.settings.world
        self.model = self.settings.model
        self.slots = self.settings.slots
        self.single_action_space = self.settings.action_space
        self.single_observation_space = self.settings.observation_space
        self.action_space = batch_actions(self.single_action_space, self.num_envs)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self._everyone = freeze(np.ones(self.num_envs, dtype=bool))
        self._nobody = freeze(np.zeros(self.num_envs, dtype=bool))
        shape = (self.num_envs, self.slots)
        self._no_page = freeze(np.full(shape, -1, dtype=np.int64))
        self._no_clicks = freeze(np.zeros(shape, dtype=bool))
        self._no_rewards = freeze(np.zeros(shape))
        self._started = False

    def reset(
        self,
        *,
        seed: int | list[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Any, dict[str, Any]]:
        """Start all pages; ``options={"query": (num_envs,)}`` chooses the queries."""
        if isinstance(seed, list):  # one generator for the batch: all the seeds go into it
            if len(seed) != self.num_envs:
                raise ValueError(f"seed has {len(seed)} entries for {self.num_envs} environments")
            if None in seed:
                raise ValueError("seed must be one integer, or a list without None")
            self._np_random = np.random.Generator(
                np.random.PCG64(np.random.SeedSequence([int(s or 0) for s in seed]))
            )
            self._np_random_seed = int(seed[0] or 0)
        else:
            super().reset(seed=seed)
        unknown = set(options or {}) - {"query"}
        if unknown:
            raise ValueError(f"options has unknown entries: {', '.join(sorted(unknown))}")
        if options:
            query = checks.integers(options["query"], "options['query']", 1).astype(np.int64)
            checks.same_shape(query, (self.num_envs,), "options['query']", "num_envs")
            known = (query >= 0) & (query < self.world.n_queries)
            known &= self.world.candidates[np.where(known, query, 0)].any(axis=1)
            if not known.all():
                row = int(known.argmin())
                raise ValueError(
                    f"options['query'][{row}] is {query[row]}: no such query with candidates"
                )
        else:
            query = self.settings.queries.draw(self.num_envs, self.np_random)
        self._start(query)
        self._observation = self._observe()
        self._keep(self._no_clicks)
        self._started = True
        return self._observation, self._info(self._no_clicks)

    def _start(self, query: Integers) -> None:
        self._query = freeze(query)  # info hands it out
        self._page: Integers = self._no_page
        self._filled = np.zeros(self.num_envs, dtype=np.int64)
        self._repaired = np.zeros(self.num_envs, dtype=bool)
        self._ended = self._satisfied = self._nobody
        self._slot_rewards: Floats = self._no_rewards

    def _keep(self, clicks: Booleans) -> None:
        """Keep the pages that are shown now, for pictures."""
        self._last = self._query, self._page, clicks

    def _last_blocks(self) -> list[ShownBlock | None]:
        """Return the blocks of the pages that were kept; None in environments without blocks."""
        return [None] * self.num_envs

    def _blocks(self, rows: Any) -> dict[str, Integers]:
        """Return the blocks of some pages as arguments of the click model."""
        return {}

    def step(self, actions: Any) -> tuple[Any, Floats, Booleans, Booleans, dict[str, Any]]:
        """Show a page (or fill the next slot) in every environment."""
        if not self._started:
            raise ResetNeeded("call reset() before step()")
        if self.settings.action == "slots":
            return self._step_slots(actions)
        self._page = self._arrange(actions)
        clicks, rewards, self._satisfied = self._show(slice(None))
        self._ended = self._everyone
        final = self._info(clicks)
        final_observation = self._observation
        self._keep(clicks)
        self._start(self.settings.queries.draw(self.num_envs, self.np_random))
        self._observation = self._observe()
        info = self._info(self._no_clicks)
        info |= self._finals(final_observation, final, self._everyone)
        done = np.ones(self.num_envs, dtype=bool)
        return self._observation, rewards, done, np.zeros_like(done), info

    def _arrange(self, actions: Any) -> Integers:
        """Return the pages that scores or rankings make."""
        if self.settings.action == "scores":
            return self._order(self._read_scores(actions))
        return self._rank(self._read_integers(actions))

    def _show(self, rows: Any) -> tuple[Booleans, Floats, Booleans]:
        """Return clicks, rewards, and who is satisfied without a click, of some pages."""
        query, page, blocks = self._query[rows], self._page[rows], self._blocks(rows)
        columns = np.ascontiguousarray(page.T)
        clicks, satisfied = self.model.read_columns(query, columns, self.np_random, **blocks)
        narrow = np.uint8 if self.slots < 256 else np.int64  # sums of bytes stay in registers
        n_clicks = clicks.view(np.uint8).sum(axis=0, dtype=narrow)
        shown = Shown(query, page, clicks.T, n_clicks, satisfied, blocks)
        if not self.settings.slot_rewards:
            return clicks.T, self.settings.rewarding.rewards(shown), satisfied
        shares = self.settings.slot_rewards_of(shown)
        self._slot_rewards = np.zeros(self._no_rewards.shape)
        self._slot_rewards[rows] = shares
        return clicks.T, shares.sum(axis=1), satisfied

    def _read_scores(self, actions: Any) -> NDArray[Any]:
        scores = np.asarray(actions)
        if scores.dtype.kind not in "fiub":
            raise ValueError(f"actions must hold numbers, not {scores.dtype}")
        checks.same_shape(scores, self.action_space.shape or (), "actions", "this environment")
        if not np.isfinite(scores).all():
            row = int(np.flatnonzero(~np.isfinite(scores).all(axis=1))[0])
            raise ValueError(f"actions[{row}] has a score that is not finite")
        return scores

    def _order(self, scores: NDArray[Any]) -> Integers:
        candidates = None if self.settings.all_candidates else self.world.candidates[self._query]
        with np.errstate(over="ignore"):  # finite, but beyond float32: they compare as infinite
            page = order_by_scores(scores, self.slots, self.np_random, candidates)
        missing = self.slots - page.shape[1]
        return np.pad(page, ((0, 0), (0, missing)), constant_values=-1) if missing else page

    def _read_integers(self, actions: Any) -> Integers:
        shape = self.action_space.shape or ()
        given = checks.integers(actions, "actions", len(shape)).astype(np.int64, copy=False)
        checks.same_shape(given, shape, "actions", "this environment")
        return given

    def _documents(self, documents: Integers) -> Integers:
        if documents.min() < 0 or documents.max() >= self.world.n_docs:
            outside = (documents < 0) | (documents >= self.world.n_docs)
            place = tuple(int(i) for i in np.argwhere(outside)[0])
            raise ValueError(
                f"actions{list(place)} is document {documents[place]}, outside "
                f"0..{self.world.n_docs - 1}"
            )
        return documents

    def _rank(self, ranking: Integers) -> Integers:
        page = self._documents(ranking)
        candidates = self.world.candidates[self._query]
        length = self.settings.lengths[self._query]
        invalid = self.settings.invalid
        page, changed = make_valid(page, candidates, length, invalid, "actions[{row}, {slot}]")
        self._repaired = changed
        return page

    def _fill(self, actions: Any) -> Booleans:
        """Fill the next slots, and return which pages are ready to be shown, (n,)."""
        documents = self._documents(self._read_integers(actions))
        rows = np.arange(self.num_envs)
        free = self.action_masks()
        wrong = ~free[rows, documents]
        if wrong.any():
            if self.settings.invalid == "raise":
                row = int(wrong.argmax())
                raise ValueError(
                    f"actions[{row}] is document {documents[row]}, which is on the page already "
                    "or no candidate"
                )
            documents = np.where(wrong, next_unused(documents, free), documents)
            self._repaired = self._repaired | wrong
        page = self._page.copy()
        page[rows, self._filled] = documents
        self._page, self._filled = page, self._filled + 1
        return self._filled == self.settings.lengths[self._query]

    def _step_slots(self, actions: Any) -> tuple[Any, Floats, Booleans, Booleans, dict[str, Any]]:
        self._ended = done = self._fill(actions)
        rewards = np.zeros(self.num_envs)
        clicks = np.zeros((self.num_envs, self.slots), dtype=bool)
        satisfied = np.zeros(self.num_envs, dtype=bool)
        if done.any():
            clicks[done], rewards[done], satisfied[done] = self._show(done)
        self._satisfied = satisfied
        self._keep(clicks)
        final = self._info(clicks)
        final_observation = self._observe()
        if done.any():
            self._renew(done)
            self._observation = self._observe()
            info = self._info(clicks & ~done[:, None])
            info |= self._finals(final_observation, final, done)
        else:
            self._observation, info = final_observation, final
        return self._observation, rewards, done, np.zeros_like(done), info

    def _renew(self, done: Booleans) -> None:
        """Begin new pages in some environments."""
        query = self._query.copy()
        query[done] = self.settings.queries.draw(int(done.sum()), self.np_random)
        self._query = freeze(query)
        self._page = np.where(done[:, None], -1, self._page)
        self._filled = np.where(done, 0, self._filled)
        self._repaired = self._repaired & ~done
        self._ended = self._satisfied = self._nobody
        self._slot_rewards = self._no_rewards

    def action_masks(self) -> Booleans:
        """Return which actions are valid now: (n, N), or (n, K * N) for rankings."""
        if self.settings.action == "scores":
            raise ValueError("action='scores' has no masks: every finite vector is valid")
        if not self._started:
            raise ResetNeeded("call reset() before action_masks()")
        free = self.world.candidates[self._query]
        if self.settings.action == "ranking":
            return np.tile(free, (1, self.slots))
        free[self._shown_documents()] = False
        return free

    def _shown_documents(self) -> tuple[Integers, Integers]:
        """Return environments and documents of all filled slots."""
        rows, slots = np.nonzero(self._page >= 0)
        return rows, self._page[rows, slots]

    def _observe(self) -> Any:
        kind, slots_action = self.settings.observation, self.settings.action == "slots"
        placed = self._find_places() if slots_action else None
        if kind == "ids":
            if placed is None:
                return self._query.copy()
            return np.concatenate([self._query[:, None], placed], axis=1)
        features = self._observe_features(placed)
        if kind == "features":
            return features
        return {"features": features, "query": self._query.copy()}

    def _observe_features(self, placed: Integers | None) -> NDArray[np.float32]:
        """Return features of all candidates, (n, N, F), and in one more column where they stand."""
        table = self.world.standardised_features
        width = table.shape[2] + (placed is not None)
        features = np.empty((self.num_envs, table.shape[1], width), dtype=np.float32)
        if placed is None:
            table.take(self._query, axis=0, out=features, mode="clip")
        else:
            features[..., :-1] = table[self._query]
            features[..., -1] = placed / self.slots
        return features

    def _find_places(self) -> Integers:
        """Return each candidate's slot from 1, or 0 when it is not placed, (n, N)."""
        placed = np.zeros((self.num_envs, self.world.n_docs), dtype=np.int64)
        rows, slots = np.nonzero(self._page >= 0)
        placed[rows, self._page[rows, slots]] = slots + 1
        return placed

    def _info(self, clicks: Booleans) -> dict[str, Any]:
        everyone = self._everyone
        info: dict[str, Any] = {
            "query": self._query, "_query": everyone,
            "ranking": self._page, "_ranking": everyone,
            "clicks": clicks, "_clicks": everyone,
            "repaired": self._repaired, "_repaired": everyone,
        }  # fmt: skip
        if self.settings.expectations:
            rows, expected = self._ended, np.zeros(self.num_envs)
            if rows.any():
                expected[rows] = self.model.expected_clicks(
                    self._query[rows], self._page[rows], **self._blocks(rows)
                )
            info |= {"expected_clicks": expected, "_expected_clicks": everyone}
        if self.settings.slot_rewards:
            info |= {"slot_rewards": self._slot_rewards, "_slot_rewards": everyone}
        return info

    def _finals(self, observation: Any, info: dict[str, Any], done: Booleans) -> dict[str, Any]:
        final = split_rows(observation) if isinstance(observation, dict) else observation
        return {
            "final_obs": final, "_final_obs": done, "final_info": info, "_final_info": done,
        }  # fmt: skip

    def render(self) -> tuple[Any, ...] | None:
        """Return the pages that were shown last as texts or pictures, one per environment."""
        if self.render_mode is None or not self._started:
            return None
        draw = page_text if self.render_mode == "ansi" else page_image
        return tuple(
            draw(self.world, int(q), [d for d in p.tolist() if d >= 0], c.tolist(), self.slots, b)
            for q, p, c, b in zip(*self._last, self._last_blocks(), strict=True)
        )


def split_rows(batch: dict[str, NDArray[Any]]) -> NDArray[Any]:
    """Return a batch of dict observations as an array of dicts, as Gymnasium's wrappers want it."""
    keys = list(batch)
    rows = np.empty(len(batch[keys[0]]), dtype=object)
    rows[:] = [dict(zip(keys, row, strict=True)) for row in zip(*batch.values(), strict=True)]
    return rows


def freeze(array: NDArray[Any]) -> NDArray[Any]:
    """Return ``array``, which can no longer be written to."""
    array.flags.writeable = False
    return array
