"""Click logs: of a policy that shows pages to a user, and of the steps of any environment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import VectorEnv, VectorWrapper
from numpy.typing import NDArray

from ..clickmodels import ClickModel
from ..common import checks
from ..common.progress import progress
from ..common.random import AliasTable
from ..common.typing import Booleans, Floats, Integers
from ..data import ClickLog, World
from ..policies import Policy
from ..policies.placing.pages import (
    block_types,
    draw_places,
    draw_positions,
    may_place,
    page_log_prob,
)
from .ranking import RankingEnv
from .settings import EnvironmentSettings
from .vector import RankingVectorEnv

CHUNK = 4096  # rows at a time: what a core's cache holds
_NO_PAGE = np.iinfo(np.int64).max


def collect(world: World, user: ClickModel, policy: Policy, n: int, seed: int) -> ClickLog:
    """Show ``n`` pages of ``policy`` to ``user`` and return the log, with exact propensities.

    Queries are drawn from ``world.query_probs``. The same seed gives the same log. Where the policy
    places blocks and the world has some (``World.vertical``), the log says which block a page shows
    and where, and propensities include the place; a user who knows no verticals ignores it. Costs
    O(n N log N) time for Plackett-Luce policies and O(n K) memory.
    """
    n = checks.positive_integer(n, "n")
    if not isinstance(user, ClickModel):
        raise ValueError(f"user must be a ClickModel, not {type(user).__name__}")
    if not isinstance(policy, Policy):
        raise ValueError(f"policy must be a Policy, not {type(policy).__name__}")
    user.require("generative")
    user.check_world(world)
    policy.check_world(world)
    if user.max_slots is not None and policy.slots > user.max_slots:
        raise ValueError(f"the policy shows {policy.slots} slots, the user knows {user.max_slots}")
    rng = np.random.default_rng(seed)
    queries = AliasTable(world.query_probs)
    every = bool(world.candidates.all())
    query = np.empty(n, dtype=np.int32)
    ranking = np.empty((n, policy.slots), dtype=narrow_type(world))
    clicks = np.empty((n, policy.slots), dtype=bool)
    log_propensity = np.empty(n) if policy.has_log_prob else None
    placing = may_place(policy, world)
    types, positions = np.full((2, n if placing else 0), -1, dtype=np.int32)
    with progress(n, "collecting pages") as advance:
        for start in range(0, n, CHUNK):
            rows = slice(start, min(start + CHUNK, n))
            asked = queries.draw(rows.stop - rows.start, rng)
            page, log_prob = policy.draw(asked, rng)
            query[rows], ranking[rows] = asked, page
            if not every:
                _check_candidates(world, asked, page)
            blocks: dict[str, Any] = {}
            if placing:
                position, place_log_prob = draw_places(policy, world, asked, page, rng)
                types[rows], positions[rows] = block_types(world, asked, position), position
                blocks = user.vertical_arguments(types[rows], positions[rows])
                log_prob = None if log_prob is None else log_prob + place_log_prob
            columns = np.ascontiguousarray(page.T)
            clicks[rows] = user.sample_columns(asked, columns, rng, **blocks).T
            if log_propensity is not None:
                log_propensity[rows] = log_prob
            advance(rows.stop - rows.start)
    return ClickLog(
        query, ranking, clicks, log_propensity, vertical=types if placing else None,
        vertical_position=positions if placing else None, fingerprint=world.fingerprint,
    )  # fmt: skip


def _check_candidates(world: World, query: Integers, page: Integers) -> None:
    wrong = (page >= 0) & ~world.candidates[query[:, None], page]
    if wrong.any():
        row, slot = np.argwhere(wrong)[0]
        raise ValueError(
            f"the policy shows document {page[row, slot]} of query {query[row]}, which is not a "
            "candidate of this world; make the policy from this world's candidates"
        )


def narrow_type(world: World) -> type[np.signedinteger[Any]]:
    """Return the type of the documents in a log's rankings."""
    return np.int16 if world.n_docs < 2**15 else np.int32


class PageRecorder:
    """Pages in the order in which they were started.

    In a batch of environments that fill pages slot by slot short pages end first. Whatever stops
    at a number of pages that ended would then have too many of them; the pages that were started
    first have every query as often as the world says.
    """

    def __init__(self, settings: EnvironmentSettings, num_envs: int = 1) -> None:
        self.world = settings.world
        self._started = 0
        self._open = np.full(num_envs, _NO_PAGE)  # the page that each environment shows
        self._ended: list[tuple[Integers, Integers, Integers, Booleans, Integers]] = []
        self._places_blocks = settings.places_blocks

    @property
    def complete(self) -> int:
        """How many pages there are before the first that has not ended."""
        return min(int(self._open.min()), self._started)

    def start(self) -> None:
        """Count a new page in each environment without one; the others begin theirs again."""
        new = np.flatnonzero(self._open == _NO_PAGE)
        self._open[new] = self._started + np.arange(len(new))
        self._started += len(new)

    def end(self, environments: Integers, info: dict[str, Any]) -> None:
        """Keep the pages of these environments, rows of ``info``."""
        page = self._open[environments]
        query, ranking, clicks = (info[key][environments] for key in ("query", "ranking", "clicks"))
        position = info["vertical_position"][environments] if self._places_blocks else query
        kept = ranking.astype(narrow_type(self.world))
        self._ended.append((page, query, kept, clicks, position))
        self._open[environments] = _NO_PAGE

    def log(self, policy: Policy | None = None) -> ClickLog:
        """Return the complete pages; with ``policy``, which showed them, its propensities.

        Of an environment with blocks, the log says which block a page shows and where.
        """
        if self.complete == 0:
            raise ValueError("no page has ended yet")
        page, query, ranking, clicks, position = (
            np.concatenate(parts) for parts in zip(*self._ended, strict=True)
        )
        order = np.argsort(page)
        order = order[page[order] < self.complete]
        query, ranking, clicks = query[order].astype(np.int32), ranking[order], clicks[order]
        blocks: dict[str, Any] = {}
        if self._places_blocks:
            places = position[order]
            types = block_types(self.world, query.astype(np.int64), places).astype(np.int32)
            blocks = {"vertical": types, "vertical_position": places.astype(np.int32)}
        log_propensity = None
        if policy is not None and policy.has_log_prob:
            policy.check_world(self.world)
            known = blocks.get("vertical_position")
            log_propensity = (
                policy.log_prob(query, ranking)
                if known is None
                else page_log_prob(policy, query, ranking, known, self.world)
            )
        return ClickLog(
            query, ranking, clicks, log_propensity, fingerprint=self.world.fingerprint, **blocks
        )


class RecordClicks(gym.Wrapper[Any, Any, Any, Any]):
    """Records the pages of a ranking environment, whoever acts in it.

    ``recorder.log(policy=None)`` returns them as a ``ClickLog``; a policy that showed them adds its
    propensities. A page that ``reset`` cuts off while its slots are filled is left out.
    """

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        super().__init__(env)
        self.recorder = PageRecorder(find_settings(env))

    def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
        """Start a page."""
        self.recorder.start()
        return self.env.reset(**options)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Step, and keep the page if it ended."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        if terminated:
            kept = ("query", "ranking", "clicks", "vertical_position")
            row = {key: np.asarray(info[key])[None] for key in kept if key in info}
            self.recorder.end(np.zeros(1, dtype=np.int64), row)
        return observation, reward, terminated, truncated, info


class RecordVectorClicks(VectorWrapper):
    """Records the pages of a vectorised ranking environment, as :class:`RecordClicks` does."""

    def __init__(self, env: VectorEnv[Any, Any, Any]) -> None:
        super().__init__(env)
        self.recorder = PageRecorder(find_settings(env), self.num_envs)

    def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
        """Start all pages."""
        self.recorder.start()
        return self.env.reset(**options)

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Step, and keep the pages that ended."""
        returned = self.env.step(actions)
        if "final_info" in returned[4]:
            info = returned[4]
            self.recorder.end(np.flatnonzero(info["_final_info"]), info["final_info"])
            self.recorder.start()
        return returned


def record(
    env: gym.Env[Any, Any] | VectorEnv[Any, Any, Any],
    act: Policy | Callable[[Any, dict[str, Any]], Any],
    pages: int,
    seed: int = 0,
) -> ClickLog:
    """Show ``pages`` pages in an environment and return the log.

    Parameters
    ----------
    env : environment
        Of this package, single or vectorised, with any action and observation.
    act : Policy or callable
        A policy shows its rankings, and its blocks where the environment has some, whatever the
        environment's actions, and gives the log its propensities. A function gets the observation
        and ``info`` and returns the action (of all environments, for a batch); its log has no
        propensities.
    pages : int
    seed : int
        Of the environment and of the policy's draws.

    Notes
    -----
    The log of a policy has the distribution of ``collect(world, model, policy, pages, seed)``,
    which needs no environment and is faster.
    """
    pages = checks.positive_integer(pages, "pages")
    of_env, of_policy = np.random.SeedSequence(checks.positive_integer(seed, "seed", 0)).spawn(2)
    policy = act if isinstance(act, Policy) else None
    choose: Callable[[Any, dict[str, Any]], Any] = (
        act if policy is None else PolicyActions(policy, env, np.random.default_rng(of_policy))  # type: ignore[assignment]
    )
    single = isinstance(env, gym.Env)
    recording: Any = RecordClicks(env) if isinstance(env, gym.Env) else RecordVectorClicks(env)
    observation, info = recording.reset(seed=int(of_env.generate_state(1)[0]))
    with progress(pages, "recording pages") as advance:
        while recording.recorder.complete < pages:
            before = recording.recorder.complete
            observation, _, done, _, info = recording.step(choose(observation, info))
            if single and done:
                observation, info = recording.reset()
            advance(min(recording.recorder.complete, pages) - before)
    return recording.recorder.log(policy)[:pages]


class PolicyActions:
    """Turns the rankings of a policy into actions of an environment."""

    def __init__(self, policy: Policy, env: Any, rng: np.random.Generator) -> None:
        self.settings = find_settings(env)
        policy.check_world(self.settings.world)
        if policy.slots != self.settings.slots:
            raise ValueError(
                f"the policy shows {policy.slots} slots, the environment {self.settings.slots}"
            )
        self.policy, self.rng, self.single = policy, rng, isinstance(env, gym.Env)
        self._plan: Integers = np.zeros((0, policy.slots), dtype=np.int64)
        self._places: Integers = np.zeros(0, dtype=np.int64)

    def __call__(self, observation: Any, info: dict[str, Any]) -> Any:
        """Return the action, or the actions of a batch, that the pages in ``info`` need next."""
        query, page = np.atleast_1d(info["query"]), np.atleast_2d(info["ranking"])
        filled = (page >= 0).sum(axis=1)
        blocks = self.settings.places_blocks
        placed = np.atleast_1d(info["vertical_position"]) >= 0 if blocks else np.zeros(1, bool)
        self._make_plans(query, (filled == 0) & ~placed)
        n_docs = self.settings.world.n_docs
        if self.settings.action == "scores":
            actions: NDArray[Any] = scores_of(self._plan, n_docs)
            if blocks:
                chosen = self._places[:, None] == np.arange(-1, self.policy.slots + 1)
                actions = np.concatenate([actions, chosen.astype(np.float32)], axis=1)
        elif self.settings.action == "ranking":
            actions = np.maximum(self._plan, 0)  # no slot beyond a short list is looked at
            if blocks:
                actions = np.concatenate([actions, self._places[:, None] + 1], axis=1)
        else:
            length = self.settings.lengths[query]  # a full page once more shows its last document
            actions = self._plan[np.arange(len(query)), np.minimum(filled, length - 1)]
            if blocks:
                actions = np.where(~placed & (self._places == filled), n_docs, actions)
        return actions[0] if self.single else actions

    def _make_plans(self, query: Integers, new: Booleans) -> None:
        """Draw rankings and places of the pages that are new."""
        if len(self._plan) != len(query):
            self._plan = np.empty((len(query), self.policy.slots), dtype=np.int64)
            self._places = np.full(len(query), -1, dtype=np.int64)
        rows = np.flatnonzero(new)
        if len(rows) == 0:
            return
        ranking = self.policy.draw(query[rows], self.rng)[0]
        self._plan[rows] = ranking
        if self.settings.places_blocks:
            world = self.settings.world
            drawn = draw_positions(self.policy, world, query[rows], ranking, self.rng)
            self._places[rows] = drawn


def scores_of(ranking: Integers, n_docs: int) -> NDArray[np.float32]:
    """Return scores (n, N) within [-1, 1], without ties, that order documents as ``ranking``."""
    n, slots = ranking.shape
    place = np.tile(slots + np.arange(n_docs + 1), (n, 1))  # one more column, for empty slots
    np.put_along_axis(place, ranking, np.arange(slots)[None], axis=1)
    scores: Floats = 1.0 - 2.0 * place[:, :-1] / (slots + n_docs)
    return scores.astype(np.float32)


def find_settings(env: Any) -> EnvironmentSettings:
    """Return the settings of a ranking environment, whatever wraps it."""
    inner = env.unwrapped
    if not isinstance(inner, (RankingEnv, RankingVectorEnv)):
        raise ValueError(f"only environments of clickgym are recorded, not {type(inner).__name__}")
    return inner.settings
