"""The policy that a Stable-Baselines3 model would deploy."""

from __future__ import annotations

from collections.abc import Iterator
from inspect import signature
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from ...common.typing import Floats, Integers
from ...envs import RankingVectorEnv
from ...envs.validity import repair
from ...policies import Policy, Ranker
from ..block_places import policy_of_scores, with_places
from ..task import Task
from .slot_policy import SlotPolicy

_ROWS = 1024  # queries at a time


def deployed_policy(model: Any, task: Task) -> Policy:
    """Return what a Stable-Baselines3 (or sb3-contrib) model does on each query, as a policy.

    Parameters
    ----------
    model : BaseAlgorithm
        Trained on an environment of ``task``, with any view: scores, rankings or slots; features,
        ids or both. ``VecNormalize`` around it is honoured.
    task : Task

    Returns
    -------
    Policy
        A ``Ranker`` by ``model.predict(..., deterministic=True)`` for every query. Scores at the
        bounds of the action space tie, and are then ordered by index. Rankings and slots with
        repeats or non-candidates are repaired as the environment does; models with masks
        (MaskablePPO) get them. A MaskablePPO of ``agents.train`` becomes a ``SlotPolicy``, with
        its probabilities. In ``Federated-v0`` it is ``Placed``, with the blocks where the model
        puts them.
    """
    network: Any = getattr(model.policy, "mlp_extractor", None)
    if hasattr(network, "scorer") and isinstance(model.action_space, spaces.Discrete):
        return SlotPolicy.from_network(network, task.world)
    if isinstance(model.action_space, spaces.Box):
        return policy_of_scores(_scores(model, task), task)
    fill = _slots if _action(model) == "slots" else _rankings
    rankings, places = fill(model, task)
    policy = Ranker.from_rankings(rankings, task.world.n_docs)
    policy.fingerprint = task.world.fingerprint
    return with_places(policy, places if task.places_blocks else None, task)


def _action(model: Any) -> str:
    if isinstance(model.action_space, spaces.Box):
        return "scores"
    if isinstance(model.action_space, spaces.MultiDiscrete):
        return "ranking"
    if isinstance(model.action_space, spaces.Discrete):
        return "slots"
    raise ValueError(f"no clickgym environment has actions {model.action_space}")


def _batches(model: Any, task: Task) -> Iterator[tuple[Integers, RankingVectorEnv, Any]]:
    """Yield queries, the environments that show them, and the observations, as ``model`` saw."""
    space = model.observation_space
    by_id = isinstance(space, (spaces.Discrete, spaces.MultiDiscrete)) or _is_ids(space)
    if _is_ids(space) and space.shape[0] not in (1, 1 + task.world.n_docs + task.places_blocks):
        raise ValueError(
            f"the model was trained on observations of shape {space.shape}, which no clickgym "
            "environment gives: a wrapper changed them, so write its policy as a Ranker of scores"
        )
    observation = "both" if isinstance(space, spaces.Dict) else "ids" if by_id else "features"
    queries = np.flatnonzero(task.world.candidates.any(axis=1))
    for start in range(0, len(queries), _ROWS):
        query = queries[start : start + _ROWS]
        env = task.vector_env(len(query), _action(model), observation)
        seen, _ = env.reset(seed=0, options={"query": query})
        yield query, env, seen


def _is_ids(space: Any) -> bool:
    """Whether observations are ids as numbers, which our own agents look at."""
    return isinstance(space, spaces.Box) and len(space.shape) == 1


def _predict(model: Any, observation: Any, **masks: Any) -> NDArray[Any]:
    if _is_ids(model.observation_space):
        observation = observation.reshape(len(observation), -1).astype(np.float32)
    normalise = model.get_vec_normalize_env()
    if normalise is not None:
        observation = normalise.normalize_obs(observation)
    return np.asarray(model.predict(observation, deterministic=True, **masks)[0])


def _scores(model: Any, task: Task) -> Floats:
    scores = np.zeros((task.world.n_queries, *model.action_space.shape))
    for query, _, seen in _batches(model, task):
        scores[query] = _predict(model, seen)
    return scores


def _rankings(model: Any, task: Task) -> tuple[Integers, Integers]:
    """Return rankings (Q, K) and places of blocks (Q,)."""
    world = task.world
    rankings = np.full((world.n_queries, task.slots), -1, dtype=np.int64)
    places = np.full(world.n_queries, -1)
    masked = _has_masks(model)
    for query, env, seen in _batches(model, task):
        masks = {"action_masks": env.action_masks()} if masked else {}
        page = _predict(model, seen, **masks).astype(np.int64)
        if task.places_blocks:
            page, places[query] = page[:, :-1], page[:, -1] - 1
        length = env.settings.lengths[query]
        rankings[query] = repair(page, world.candidates[query], length)[0]
    return rankings, places


def _slots(model: Any, task: Task) -> tuple[Integers, Integers]:
    """Return rankings (Q, K) and places of blocks (Q,)."""
    rankings = np.full((task.world.n_queries, task.slots), -1, dtype=np.int64)
    places = np.full(task.world.n_queries, -1)
    masked = _has_masks(model)
    for query, env, seen in _batches(model, task):
        missing = np.ones(len(query), dtype=bool)
        while missing.any():
            masks = {"action_masks": env.action_masks()} if masked else {}
            seen, _, done, _, info = env.step(_predict(model, seen, **masks).reshape(-1))
            ended = done & missing  # short pages are followed by others, which do not count
            if ended.any():
                final = info["final_info"]
                rankings[query[ended]] = final["ranking"][ended]
                if task.places_blocks:
                    places[query[ended]] = final["vertical_position"][ended]
                missing &= ~ended
    return rankings, places


def _has_masks(model: Any) -> bool:
    return "action_masks" in signature(model.predict).parameters
