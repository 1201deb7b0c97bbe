"""What tests over all environments need to know of each: its worlds, and how a page is shown."""

from __future__ import annotations

import functools

import numpy as np
from conftest import SLOTS, random_models, small_ratings_world, small_vertical_world, small_world

LEARNED = "clickgym/Learned-v0"
RECOMMENDATION = "clickgym/Recommendation-v0"
FEDERATED = "clickgym/Federated-v0"
WORLD, SHORT_WORLD = small_world(), small_world(short=True)
MODEL = random_models()["PBM"]
PLACE = 2  # results above the block, where an environment shows one
BLOCK = {"vertical", "vertical_position"}


@functools.cache
def own_world(env_id, world):
    """The world of the same documents that an environment takes."""
    if world in (WORLD, SHORT_WORLD):
        if env_id == RECOMMENDATION:
            return small_ratings_world(short=world is SHORT_WORLD)
        if env_id == FEDERATED:
            return small_vertical_world(short=world is SHORT_WORLD)
    return world


def settings_of(env_id, settings):
    """Arguments of ``gym.make``: the small world that the environment takes, and a model."""
    settings = {"world": WORLD, "slots": SLOTS, **settings}
    if env_id == LEARNED:
        settings = {"click_model": MODEL, **settings}
    return settings | {"world": own_world(env_id, settings["world"])}


def page_actions(env, ranking):
    """The actions that show ``ranking``, one for each step, and after PLACE results a block."""
    settings = env.unwrapped.settings
    n_docs, places = settings.world.n_docs, settings.slots + 2
    if settings.action == "slots":
        steps = list(ranking)
        return [*steps[:PLACE], n_docs, *steps[PLACE:]] if settings.places_blocks else steps
    if settings.action == "ranking":
        return [np.array([*ranking, *[PLACE + 1] * settings.places_blocks])]
    scores = np.full(n_docs, -1.0, dtype=np.float32)
    scores[ranking] = np.linspace(1, 0, len(ranking))
    if settings.places_blocks:
        scores = np.append(scores, np.eye(places, dtype=np.float32)[PLACE + 1])
    return [scores]


def random_action(env, rng):
    """Any action of one environment; a ranking repeats no document."""
    settings = env.unwrapped.settings
    if settings.action == "scores":
        return rng.uniform(-1, 1, env.action_space.shape).astype(np.float32)
    if settings.action == "slots":
        return int(rng.integers(env.action_space.n))
    ranking = np.resize(rng.permutation(settings.world.n_docs), settings.slots)
    if not settings.places_blocks:
        return ranking
    return np.append(ranking, rng.integers(settings.slots + 2))


def ask(env, method, info):
    """What the environment's model says of the pages in ``info``, with their blocks."""
    model = env.unwrapped.model
    names = ("vertical", "vertical_position")
    blocks = {name: np.atleast_1d(info[name]) for name in names if name in info}
    pages = np.atleast_1d(info["query"]), np.atleast_2d(info["ranking"])
    return getattr(model, method)(*pages, **blocks)
