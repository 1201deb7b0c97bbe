"""One ranking environment."""

from __future__ import annotations

import math
import operator
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from ..common.random import Uniforms
from ..common.typing import Booleans, Integers
from .page_pictures import ShownBlock, page_image, page_text
from .rewards import one_page
from .settings import RENDER_MODES, EnvironmentSettings, environment_signature
from .validity import make_valid, next_unused


class RankingEnv(gym.Env[Any, Any]):
    """A user asks a query, the agent ranks its candidates, the user clicks.

    ## Observation
    ``observation="features"`` (default): ``Box(-10, 10, (N, F))``, the candidates' features,
    standardised over the world and clipped. ``"ids"``: ``Discrete(Q)``, the query (default of
    ``Learned-v0`` in a world without features). ``"both"``: a ``Dict`` of ``features`` and
    ``query``. With ``action="slots"`` the page so far is added: a last feature with ``slot / K``
    (0 = not placed), or with ids ``MultiDiscrete([Q] + [K + 1] * N)``, the query and each
    candidate's slot (0 = not placed).

    ## Action
    ``"scores"`` (default): ``Box(-1, 1, (N,))``, a score for each candidate; the page shows the K
    best. Any finite vector is taken; ties are broken at random. ``"ranking"``: ``MultiDiscrete``,
    the K documents themselves. ``"slots"``: ``Discrete(N)``, the document of the next slot.

    ## Reward
    ``"clicks"`` (default): the number of clicks on the page. ``"expected_clicks"``: its exact
    expectation. ``"conditional_clicks"``: the sum of P(click) on each slot given the clicks above
    it, whose mean is the same expectation; for models whose exact one costs too much. ``"ndcg"``:
    nDCG@K of the page, for true users only. ``"pessimistic"``: the expected clicks under the
    learned model at a low quantile of what every pair may be (``ClickModel.pessimistic``). With
    ``"slots"`` it comes with the last slot and is 0 before.

    ## Start
    A query drawn from the world's ``query_probs``; ``reset(options={"query": q})`` chooses it.

    ## End
    The episode terminates when the page is shown: after one step, or with ``"slots"`` after K
    (fewer for a query with fewer candidates). It is never truncated.

    ## Info
    ``query``, ``ranking`` (K,) with -1 for empty slots, ``clicks`` (K,), ``repaired`` (whether the
    action was changed); with ``expectations=True`` also ``expected_clicks``, and with
    ``slot_rewards=True`` ``slot_rewards`` (K,).

    ## Arguments
    user : the name of a true user, or a ``ClickModel`` that is one.
    world : ``World``; default the embedded one with 30 candidates per query.
    click_model : for ``clickgym/Learned-v0``: a ``ClickModel`` or the path of a saved one.
    user_params : changes to a named user's parameters (see ``clickmodels.true_user``).
    slots : K; default 10, or as many ranks as a learned click model knows if those are fewer.
    action, observation, reward : as above.
    invalid : what happens to a repeated document or one that is no candidate: ``"raise"`` (default
        for ``"ranking"``) is an error, ``"repair"`` (default for ``"slots"``) shows the next unused
        candidate in index order.
    expectations : adds the exact expected clicks to ``info``; they cost more than the page.
    render_mode : ``"ansi"`` or ``"rgb_array"``.
    slot_rewards : adds to ``info`` what each slot has earned of the page's reward. Documents below
        a slot never change what it and those above it are expected to earn: where a user does not
        read down the page, clicks are not a slot's own, and the last document has all of them;
        with ``"gains"`` each then has what the page's expected clicks gain when it is added.
    pessimism : for ``reward="pessimistic"``: λ, or ``"auto"`` (default), as the model's log says.

    ## Version history
    v0: the first.
    """

    metadata: ClassVar[dict[str, Any]] = {  # type: ignore[misc]
        "render_modes": list(RENDER_MODES),
        "render_fps": 2,
    }

    settings_class: ClassVar[type[EnvironmentSettings]] = EnvironmentSettings

    __signature__ = environment_signature()

    def __init__(self, *arguments: Any, **by_name: Any) -> None:
        self.settings = self.settings_class(*arguments, **by_name)
        self.render_mode = self.settings.render_mode
        self.world = self.settings.world
        self.model = self.settings.model
        self.slots = self.settings.slots
        self.action_space = self.settings.action_space
        self.observation_space = self.settings.observation_space
        self._no_page = np.full(self.slots, -1, dtype=np.int64)
        self._no_clicks = np.zeros(self.slots, dtype=np.bool_)
        self._no_rewards = np.zeros(self.slots)
        self._uniforms: Uniforms | None = None
        self._open(-1)
        self._done = True

    def _open(self, query: int) -> None:
        """Begin an empty page."""
        self._query = query
        self._page: list[int] = []
        self._clicks: list[bool] = []
        self._satisfied = False
        self._repaired = False
        self._slot_rewards = self._no_rewards
        self._done = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start a page; ``options={"query": q}`` chooses the query."""
        if seed is not None or self._uniforms is None:
            super().reset(seed=seed)
            self._uniforms = Uniforms(self.np_random)
        self._open(self._next_query(options))
        return self._observe(), self._info()

    def _next_query(self, options: dict[str, Any] | None) -> int:
        assert self._uniforms is not None
        if not options:
            return self.settings.queries.draw_one(self._uniforms.one())
        unknown = set(options) - {"query"}
        if unknown:
            raise ValueError(f"options has unknown entries: {', '.join(sorted(unknown))}")
        query = to_integer(options["query"], "options['query']")
        if not 0 <= query < self.world.n_queries or not self.world.candidates[query].any():
            raise ValueError(f"options['query'] is {query}: no such query with candidates")
        return query

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Show a page (or fill its next slot) and return what the user does."""
        if self._done or self._uniforms is None:
            raise gym.error.ResetNeeded("no page is open: call reset() before step()")
        if not self._fill(action):
            return self._observe(), 0.0, False, False, self._info()
        missing = self.slots - len(self._page)
        page = self._page + [-1] * missing if missing else self._page
        block = self._block()
        self._clicks, self._satisfied = self.model.read_page(
            self._query, page, self._uniforms, **block
        )
        self._done = True
        rewarding = self.settings.rewarding
        read = self._query, page, self._clicks, self._satisfied, block
        if self.settings.slot_rewards:
            self._slot_rewards = self.settings.slot_rewards_of(one_page(*read))[0]
            reward = float(self._slot_rewards.sum())
        else:
            reward = rewarding.reward(*read)
        return self._observe(), reward, True, False, self._info()

    def _fill(self, action: Any) -> bool:
        """Do to the page what the action says, and return whether it is ready to be shown."""
        kind = self.settings.action
        if kind == "scores":
            self._page = self._order(self._read_scores(action))
        elif kind == "ranking":
            self._page = self._rank(action)
        else:
            self._page.append(self._pick(action))
            return len(self._page) == self.settings.lengths[self._query]
        return True

    def _block(self) -> dict[str, int]:
        """Return the page's block as arguments of the click model."""
        return {}

    def _read_scores(self, action: Any) -> list[float]:
        """Return the numbers of an action that scores."""
        scores = action
        if not (
            type(action) is np.ndarray
            and action.dtype == np.float32
            and action.shape == self.action_space.shape
        ):
            scores = self._as_scores(action)
        values = scores.tolist()
        if not math.isfinite(sum(values)) and not np.isfinite(np.asarray(action)).all():
            raise ValueError("action has a score that is not finite")
        return values

    def _order(self, values: list[float]) -> list[int]:
        """Return the page of the best scores, ties at random."""
        assert self._uniforms is not None
        order = sorted(range(len(values)), key=values.__getitem__, reverse=True)
        if len(set(values)) < len(values):
            keys = list(zip(values, self._uniforms.take(len(values)), strict=True))
            order.sort(key=keys.__getitem__, reverse=True)
        if not self.settings.all_candidates:
            shown = self.world.candidates[self._query].tolist()
            order = [document for document in order if shown[document]]
        return order[: self.slots]

    def _as_scores(self, action: Any) -> NDArray[np.float32]:
        try:
            with np.errstate(over="ignore"):  # finite, but beyond float32: compares as infinite
                scores = np.asarray(action, dtype=np.float32)
        except (TypeError, ValueError) as error:
            size = self.action_space.shape
            raise ValueError(f"action must be numbers of shape {size}: {error}") from error
        if scores.shape != self.action_space.shape:
            raise ValueError(f"action has shape {scores.shape}, not {self.action_space.shape}")
        return scores

    def _rank(self, action: Any) -> list[int]:
        """Return the page that the action spells out, repaired if need be and allowed."""
        ranking = np.asarray(action)
        if ranking.shape != (self.slots,) or ranking.dtype.kind not in "iu":
            raise ValueError(f"action must be {self.slots} integers, not {ranking!r}")
        if ranking.min() < 0 or ranking.max() >= self.world.n_docs:
            raise ValueError(f"action has a document outside 0..{self.world.n_docs - 1}")
        page = ranking.astype(np.int64)[None]
        candidates = self.world.candidates[self._query][None]
        length = self.settings.lengths[[self._query]]
        invalid = self.settings.invalid
        page, changed = make_valid(page, candidates, length, invalid, "action[{slot}]")
        self._repaired = bool(changed[0])
        return page[0, : length[0]].tolist()

    def _pick(self, action: Any) -> int:
        """Return the document for the next slot."""
        document = to_integer(action, "action")
        if not 0 <= document < self.world.n_docs:
            raise ValueError(f"action is {document}, outside 0..{self.world.n_docs - 1}")
        free = self._free()
        if free[document]:
            return document
        if self.settings.invalid == "raise":
            raise ValueError(
                f"action is document {document}, which is on the page already or no candidate"
            )
        self._repaired = True
        return int(next_unused(np.array([document]), free[None])[0])

    def _free(self) -> Booleans:
        free = self.world.candidates[self._query].copy()
        free[self._page] = False
        return free

    def action_masks(self) -> Booleans:
        """Return which actions are valid now, for MaskablePPO: (N,), or (K * N,) for rankings."""
        if self.settings.action == "scores":
            raise ValueError("action='scores' has no masks: every finite vector is valid")
        if self._query < 0:
            raise gym.error.ResetNeeded("call reset() before action_masks()")
        if self.settings.action == "ranking":
            return np.tile(self.world.candidates[self._query], self.slots)
        return self._free()

    def _observe(self) -> Any:
        kind = self.settings.observation
        if kind == "ids":
            if self.settings.action != "slots":
                return np.int64(self._query)
            placed = np.zeros(self.world.n_docs + 1, dtype=np.int64)
            placed[0] = self._query
            placed[1 + np.array(self._page, dtype=np.int64)] = np.arange(1, len(self._page) + 1)
            return placed
        features = self._observe_features()
        return features if kind == "features" else {
            "features": features, "query": np.int64(self._query)
        }  # fmt: skip

    def _observe_features(self) -> NDArray[np.float32]:
        features = self.world.standardised_features[self._query]
        if self.settings.action != "slots":
            return features.copy()
        placed = np.zeros((self.world.n_docs, 1), dtype=np.float32)
        placed[self._page, 0] = np.arange(1, len(self._page) + 1) / self.slots
        return np.concatenate([features, placed], axis=1)

    def _info(self) -> dict[str, Any]:
        ranking = self._no_page.copy()
        if self._page:
            ranking[: len(self._page)] = self._page
        clicks = np.array(self._clicks) if self._clicks else self._no_clicks.copy()
        info: dict[str, Any] = {
            "query": self._query, "ranking": ranking, "clicks": clicks, "repaired": self._repaired,
        }  # fmt: skip
        if self.settings.expectations:
            shown = self._done and bool(self._page)
            info["expected_clicks"] = self._expect(ranking) if shown else 0.0
        if self.settings.slot_rewards:
            info["slot_rewards"] = self._slot_rewards.copy()
        return info

    def _expect(self, ranking: Integers) -> float:
        block = {name: [value] for name, value in self._block().items()}
        return float(self.model.expected_clicks([self._query], ranking[None], **block)[0])

    def render(self) -> Any:
        """Return the page as text or as a picture (H, W, 3) uint8."""
        if self.render_mode is None:
            gym.logger.warn("render() was called, but the environment has no render_mode")
            return None
        draw = page_text if self.render_mode == "ansi" else page_image
        return draw(
            self.world, self._query, self._page, self._clicks, self.slots, self._shown_block()
        )

    def _shown_block(self) -> ShownBlock | None:
        """Return the page's block as it is drawn; None in environments without blocks."""
        return None


def to_integer(value: Any, name: str) -> int:
    """Return ``value`` as an integer, or name what is none."""
    try:
        return operator.index(value)
    except TypeError as error:
        raise ValueError(f"{name} must be an integer, not {value!r}") from error
