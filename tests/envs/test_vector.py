"""The vectorised environment: a batch that equals single environments in distribution."""

from __future__ import annotations

import pickle

import gymnasium as gym
import numpy as np
import pytest
from conftest import SLOTS, small_world
from env_pages import LEARNED, MODEL, SHORT_WORLD, WORLD, ask, page_actions, settings_of
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import data_equivalence
from gymnasium.vector import AutoresetMode
from looping import loop_over
from scipy import stats

from clickgym import data, envs

ENV_IDS = envs.environment_ids()
ACTIONS = ("scores", "ranking", "slots")
OBSERVATIONS = ("features", "ids", "both")
RANKING = [1, 4, 0, 6, 2]

every_env = loop_over("env_id", ENV_IDS)
every_action = loop_over("action", ACTIONS)
every_observation = loop_over("observation", OBSERVATIONS)


def make_vec(env_id="clickgym/DBN-v0", num_envs=4, **settings):
    return gym.make_vec(
        env_id, num_envs=num_envs, vectorization_mode="vector_entry_point",
        **settings_of(env_id, settings),
    )  # fmt: skip


def make(env_id="clickgym/DBN-v0", **settings):
    return gym.make(env_id, **settings_of(env_id, settings))


def actions_for(env, ranking):
    """The steps of a page that shows ``ranking`` in every environment."""
    return [np.stack([action] * env.num_envs) for action in page_actions(env, ranking)]


def sampled_actions(env, steps, seed=0):
    env.action_space.seed(seed)
    return [env.action_space.sample() for _ in range(steps)]


def leaves(returned):
    """All arrays in what an environment returned."""
    if isinstance(returned, (np.generic, np.ndarray)) and returned.dtype.kind != "O":
        return [np.asarray(returned)]
    values = returned.values() if isinstance(returned, dict) else returned
    return [array for value in values for array in leaves(value)]


# The interface


@every_env
def test_reset_in_the_same_step_is_declared(env_id):
    assert make_vec(env_id).metadata["autoreset_mode"] is AutoresetMode.SAME_STEP


@every_env
@every_action
@every_observation
def test_spaces_contain_what_is_observed(env_id, action, observation):
    env = make_vec(env_id, action=action, observation=observation)
    seen = [env.reset(seed=0)[0]]
    seen += [env.step(given)[0] for given in sampled_actions(env, 7)]
    assert all(one in env.observation_space for one in seen)


@every_action
@every_observation
def test_single_spaces_are_those_of_a_single_environment(action, observation):
    batch = make_vec(action=action, observation=observation)
    single = make(action=action, observation=observation)
    assert batch.single_action_space == single.action_space
    assert batch.single_observation_space == single.observation_space


@every_action
def test_a_step_has_one_value_an_environment(action):
    env = make_vec(action=action)
    env.reset(seed=0)
    _, *results, _ = env.step(env.action_space.sample())
    shapes = [(result.shape, result.dtype) for result in results]
    assert shapes == [((4,), np.float64), ((4,), np.bool_), ((4,), np.bool_)]


def test_the_world_is_shared_by_make_vec():
    assert make_vec().world is WORLD


def test_the_learned_model_is_shared_by_make_vec():
    assert make_vec(LEARNED).model is MODEL


def test_single_and_vectorised_environments_share_their_user():
    assert make_vec().model is make().unwrapped.model


def test_a_pickled_environment_goes_on_as_the_original():
    env = make_vec(action="slots", observation="both", world=SHORT_WORLD)
    env.reset(seed=0)
    given = sampled_actions(env, 12)
    env.step(given[0])
    copy = pickle.loads(pickle.dumps(env))
    for actions in given[1:]:
        pairs = zip(leaves(env.step(actions)), leaves(copy.step(actions)), strict=True)
        assert all(np.array_equal(one, other) for one, other in pairs)


# The same as single environments


@every_env
@every_action
def test_click_vectors_come_as_often_as_from_single_environments(env_id, action):
    n, query = 3000, 3
    batch = make_vec(env_id, num_envs=n, action=action)
    batch.reset(seed=0, options={"query": np.full(n, query)})
    for actions in actions_for(batch, RANKING):
        info = batch.step(actions)[4]
    single = make(env_id, action=action)
    single.reset(seed=1)
    steps = page_actions(single, RANKING)
    clicks = np.empty((n, SLOTS), dtype=bool)
    for page in range(n):
        single.reset(options={"query": query})
        for given in steps:
            clicks[page] = single.step(given)[4]["clicks"]
    codes = 1 << np.arange(SLOTS)
    counts = np.stack([
        np.bincount(one @ codes, minlength=1 << SLOTS)
        for one in (info["final_info"]["clicks"], clicks)
    ])  # fmt: skip
    rare = counts.sum(axis=0) < 20
    table = np.column_stack([counts[:, ~rare], counts[:, rare].sum(axis=1) + 1])
    assert stats.chi2_contingency(table).pvalue > 1e-3


@every_env
@every_action
def test_clicks_come_as_often_as_the_model_says(env_id, action):
    n = 20_000
    env = make_vec(env_id, num_envs=n, action=action)
    env.reset(seed=0, options={"query": np.full(n, 3)})
    for actions in actions_for(env, RANKING):
        info = env.step(actions)[4]
    info = info["final_info"]
    clicks = info["clicks"].sum(axis=0)
    probs = ask(env, "click_probs", info)[0]
    likely = [stats.binomtest(int(c), n, p).pvalue for c, p in zip(clicks, probs, strict=True)]
    assert min(likely) > 1e-3 / SLOTS


@every_action
def test_the_first_queries_come_as_often_as_the_world_says(action):
    n = 20_000
    env = make_vec(num_envs=n, action=action, observation="ids", world=SHORT_WORLD)
    query = env.reset(seed=0)[1]["query"]
    counts = np.bincount(query, minlength=WORLD.n_queries)
    assert stats.chisquare(counts, n * SHORT_WORLD.query_probs).pvalue > 1e-3


@every_action
def test_later_queries_come_as_often_as_the_world_says(action):
    env = make_vec(num_envs=2000, action=action, world=SHORT_WORLD, invalid="repair")
    env.reset(seed=0)
    counts = np.zeros(WORLD.n_queries, dtype=np.int64)
    for actions in sampled_actions(env, 10):
        _, _, done, _, info = env.step(actions)
        counts += np.bincount(info["query"][done], minlength=WORLD.n_queries)
    assert stats.chisquare(counts, counts.sum() * SHORT_WORLD.query_probs).pvalue > 1e-3


@every_action
@every_observation
def test_a_page_looks_as_in_a_single_environment(action, observation):
    settings = {"action": action, "observation": observation, "world": SHORT_WORLD}
    settings["invalid"] = "repair"
    queries = np.array([0, 1, 2, 5])
    batch = make_vec(**settings)
    singles = [make(**settings) for _ in queries]
    seen, _ = batch.reset(seed=0, options={"query": queries})
    for row, single in enumerate(singles):
        first, _ = single.reset(seed=0, options={"query": int(queries[row])})
        assert data_equivalence(first, row_of(seen, row), exact=True)
    running = np.ones(len(queries), dtype=bool)
    for actions in sampled_actions(batch, SLOTS if action == "slots" else 1, seed=3):
        seen, _, done, _, info = batch.step(actions)
        for row in np.flatnonzero(running):
            observed, _, terminated, _, one = singles[row].step(actions[row])
            ended = done[row]
            same = info["final_info"] if ended else info
            shown = info["final_obs"][row] if ended else row_of(seen, row)
            assert terminated == ended
            assert data_equivalence(observed, shown, exact=True)
            for key in ("query", "ranking", "repaired"):
                np.testing.assert_array_equal(same[key][row], one[key])
        running &= ~done
    assert not running.any()


def row_of(observation, row):
    if isinstance(observation, dict):
        return {key: value[row] for key, value in observation.items()}
    return observation[row]


# Rewards, final observations and infos


@every_env
@every_action
def test_rewards_are_the_clicks_of_the_pages_that_ended(env_id, action):
    env = make_vec(env_id, num_envs=50, action=action, world=SHORT_WORLD, invalid="repair")
    env.reset(seed=0)
    total = 0.0
    for actions in sampled_actions(env, 2 * SLOTS):
        _, rewards, done, _, info = env.step(actions)
        clicks = info["final_info"]["clicks"].sum(axis=1) if done.any() else np.zeros(50)
        np.testing.assert_array_equal(rewards, np.where(done, clicks, 0))
        total += rewards.sum()
    assert total > 0


@every_env
def test_expected_clicks_rewards_are_the_models(env_id):
    env = make_vec(env_id, reward="expected_clicks")
    env.reset(seed=0)
    _, rewards, _, _, info = env.step(env.action_space.sample())
    final = info["final_info"]
    exact = ask(env, "expected_clicks", final)
    np.testing.assert_allclose(rewards, exact, rtol=1e-12)


@every_action
def test_expectations_of_pages_that_ended_are_the_models(action):
    env = make_vec(action=action, world=SHORT_WORLD, invalid="repair", expectations=True)
    env.reset(seed=0, options={"query": [0, 0, 0, 0]})
    for actions in sampled_actions(env, 2 if action == "slots" else 1):
        final = env.step(actions)[4]
    final = final["final_info"]
    exact = ask(env, "expected_clicks", final)
    np.testing.assert_allclose(final["expected_clicks"], exact, rtol=1e-12)


def test_ndcg_rewards_are_those_of_single_environments():
    batch = make_vec(action="ranking", reward="ndcg")
    single = make(action="ranking", reward="ndcg")
    batch.reset(seed=0, options={"query": [0, 1, 2, 3]})
    rewards = batch.step(actions_for(batch, RANKING)[0])[1]
    alone = []
    for query in range(4):
        single.reset(seed=0, options={"query": query})
        alone.append(single.step(np.array(RANKING))[1])
    np.testing.assert_allclose(rewards, alone, rtol=1e-12)


@every_observation
def test_the_final_observation_of_a_page_of_one_step_is_the_one_before(observation):
    env = make_vec(observation=observation)
    before, _ = env.reset(seed=0)
    final = env.step(env.action_space.sample())[4]["final_obs"]
    assert all(
        data_equivalence(final[row], row_of(before, row), exact=True) for row in range(4)
    )


def test_final_observations_of_dicts_are_one_an_environment():
    env = make_vec(observation="both")
    before, _ = env.reset(seed=0)
    final = env.step(env.action_space.sample())[4]["final_obs"]
    assert len(final) == 4
    assert [one["query"] for one in final] == before["query"].tolist()


def test_the_final_info_has_the_page_that_was_shown():
    env = make_vec()
    before = env.reset(seed=0)[1]["query"].copy()
    scores = np.random.default_rng(0).normal(size=(4, WORLD.n_docs))
    final = env.step(scores)[4]["final_info"]
    np.testing.assert_array_equal(final["query"], before)
    np.testing.assert_array_equal(final["ranking"], np.argsort(-scores, axis=1)[:, :SLOTS])


@every_action
def test_info_belongs_to_the_new_pages(action):
    env = make_vec(num_envs=20, action=action, observation="both")
    env.reset(seed=0)
    for actions in sampled_actions(env, SLOTS if action == "slots" else 1):
        observation, _, done, _, info = env.step(actions)
    assert done.all()
    assert info["final_info"]["clicks"].any()
    np.testing.assert_array_equal(info["query"], observation["query"])
    assert (info["ranking"] == -1).all()
    assert not info["clicks"].any()


@loop_over("action", ["ranking", "slots"])
def test_a_repair_is_forgotten_with_its_page(action):
    env = make_vec(action=action, invalid="repair")
    env.reset(seed=0)
    for actions in actions_for(env, [0] * SLOTS):
        info = env.step(actions)[4]
    assert info["final_info"]["repaired"].all()
    assert not info["repaired"].any()


def signature(info):
    return {
        key: (value.shape, value.dtype) for key, value in info.items() if "final" not in key
    }


@every_action
@loop_over("expectations", [False, True])
def test_info_has_one_signature(action, expectations):
    env = make_vec(action=action, world=SHORT_WORLD, invalid="repair", expectations=expectations)
    first = signature(env.reset(seed=0)[1])
    infos = [env.step(actions)[4] for actions in sampled_actions(env, 7)]
    finals = [info["final_info"] for info in infos if "final_info" in info]
    assert finals
    assert all(signature(info) == first for info in infos + finals)


@every_action
def test_every_entry_of_info_has_a_mask(action):
    env = make_vec(action=action)
    _, info = env.reset(seed=0)
    masks = [info[f"_{key}"] for key in info if not key.startswith("_")]
    assert all(mask.dtype == bool and mask.tolist() == [True] * 4 for mask in masks)


@every_action
def test_final_masks_say_which_pages_ended(action):
    env = make_vec(num_envs=20, action=action, world=SHORT_WORLD, invalid="repair")
    env.reset(seed=0)
    for actions in sampled_actions(env, 2 * SLOTS):
        _, _, done, truncated, info = env.step(actions)
        assert not truncated.any()
        assert ("final_info" in info) == ("final_obs" in info) == done.any()
        if done.any():
            np.testing.assert_array_equal(info["_final_info"], done)
            np.testing.assert_array_equal(info["_final_obs"], done)


@every_action
@every_observation
@loop_over("expectations", [False, True])
def test_arrays_that_were_returned_are_never_written_to(action, observation, expectations):
    env = make_vec(
        action=action, observation=observation, world=SHORT_WORLD, invalid="repair",
        expectations=expectations,
    )  # fmt: skip
    kept = leaves(env.reset(seed=0))
    copies = [array.copy() for array in kept]
    for actions in sampled_actions(env, 12):
        new = leaves(env.step(actions))
        kept += new
        copies += [array.copy() for array in new]
    env.reset()
    assert all(np.array_equal(one, copy) for one, copy in zip(kept, copies, strict=True))


@every_action
def test_actions_are_never_written_to(action):
    env = make_vec(action=action, world=SHORT_WORLD, invalid="repair")
    env.reset(seed=0)
    for actions in sampled_actions(env, 6):
        copy = actions.copy()
        env.step(actions)
        np.testing.assert_array_equal(actions, copy)


# Seeds and options


def trajectory(env, seed):
    env.action_space.seed(0)
    returned = leaves(env.reset(seed=seed))
    for actions in sampled_actions(env, 12):
        returned += leaves(env.step(actions))
    return returned


@every_env
@every_action
@loop_over("seed", [5, [1, 2, 3, 4]])
def test_the_same_seed_gives_the_same_trajectory(env_id, action, seed):
    first, second = (trajectory(make_vec(env_id, action=action), seed) for _ in range(2))
    assert all(np.array_equal(one, other) for one, other in zip(first, second, strict=True))


@every_action
@loop_over("seeds", [(5, 6), ([1, 2, 3, 4], [1, 2, 3, 5])])
def test_another_seed_gives_another_trajectory(action, seeds):
    first, second = (trajectory(make_vec(action=action), seed) for seed in seeds)
    assert not all(np.array_equal(one, other) for one, other in zip(first, second, strict=True))


@every_observation
def test_options_choose_the_queries(observation):
    env = make_vec(observation=observation)
    seen, info = env.reset(seed=0, options={"query": [4, 0, 0, 2]})
    chosen = {
        "features": WORLD.standardised_features[[4, 0, 0, 2]], "ids": np.array([4, 0, 0, 2]),
    }  # fmt: skip
    chosen["both"] = {"features": chosen["features"], "query": chosen["ids"]}
    assert data_equivalence(seen, chosen[observation], exact=True)
    assert info["query"].tolist() == [4, 0, 0, 2]


# Pages of different lengths, repeats and ties


def test_slots_pages_of_different_lengths_end_on_their_own():
    env = make_vec(num_envs=3, action="slots", world=SHORT_WORLD)
    env.reset(seed=0, options={"query": [0, 1, 2]})
    ends = [env.step(np.zeros(3, dtype=int))[2].tolist() for _ in range(2)]
    assert ends == [[False] * 3, [True, False, False]]


def test_a_new_slots_page_starts_empty_while_others_go_on():
    env = make_vec(num_envs=3, action="slots", world=SHORT_WORLD)
    env.reset(seed=0, options={"query": [0, 1, 2]})
    env.step(np.array([0, 2, 5]))
    info = env.step(np.array([1, 0, 6]))[4]
    assert info["ranking"][:, :2].tolist() == [[-1, -1], [2, 0], [5, 6]]


def test_only_the_pages_that_end_get_new_queries():
    env = make_vec(num_envs=60, action="slots", world=SHORT_WORLD)
    env.reset(seed=0, options={"query": [0, 1, 2] * 20})
    for actions in (np.zeros(60, dtype=int), np.ones(60, dtype=int)):
        _, _, done, _, info = env.step(actions)
    assert info["query"][~done].tolist() == [1, 2] * 20
    assert len(set(info["query"][done].tolist())) > 1


@every_env
@every_action
def test_short_pages_end_with_empty_slots_that_are_never_clicked(env_id, action):
    env = make_vec(env_id, num_envs=200, action=action, world=SHORT_WORLD, invalid="repair")
    env.reset(seed=0, options={"query": np.ones(200, dtype=int)})
    blocks = env.settings.places_blocks
    for actions in sampled_actions(env, 3 + blocks if action == "slots" else 1):
        final = env.step(actions)[4]
    final = final["final_info"]
    assert (np.sort(final["ranking"][:, :3]) == [0, 1, 2]).all()
    assert (final["ranking"][:, 3:] == -1).all()
    assert not final["clicks"][:, 3:].any()


@every_action
def test_pages_may_have_more_slots_than_there_are_documents(action):
    env = make_vec(slots=9, action=action, invalid="repair")
    env.reset(seed=0)
    for actions in sampled_actions(env, WORLD.n_docs if action == "slots" else 1):
        final = env.step(actions)[4]
    ranking = np.sort(final["final_info"]["ranking"], axis=1)
    np.testing.assert_array_equal(ranking, np.tile([-1, -1, 0, 1, 2, 3, 4, 5, 6], (4, 1)))


def test_a_query_that_is_never_drawn_still_shows_its_candidates_only():
    probs = np.array([0, 0, 0.25, 0.25, 0.25, 0.25])
    env = make_vec(world=data.World(SHORT_WORLD.relevance, SHORT_WORLD.features, probs))
    env.reset(seed=0, options={"query": [0, 0, 0, 0]})
    final = env.step(np.tile(np.linspace(0, 1, WORLD.n_docs), (4, 1)))[4]["final_info"]
    np.testing.assert_array_equal(final["ranking"], np.tile([1, 0, -1, -1, -1], (4, 1)))


def random_pages(n, seed=0):
    """Rankings with repeats and documents that are no candidates."""
    rng = np.random.default_rng(seed)
    return rng.integers(SHORT_WORLD.n_queries, size=n), rng.integers(7, size=(n, SLOTS))


def test_rankings_are_repaired_as_in_single_environments():
    queries, pages = random_pages(200)
    batch = make_vec(num_envs=200, action="ranking", world=SHORT_WORLD, invalid="repair")
    batch.reset(seed=0, options={"query": queries})
    final = batch.step(pages)[4]["final_info"]
    single = make(action="ranking", world=SHORT_WORLD, invalid="repair")
    single.reset(seed=0)
    for row, page in enumerate(pages):
        single.reset(options={"query": int(queries[row])})
        info = single.step(page)[4]
        assert final["ranking"][row].tolist() == info["ranking"].tolist()
        assert final["repaired"][row] == info["repaired"]


def test_rankings_are_refused_exactly_where_single_environments_refuse():
    queries, pages = random_pages(60, seed=1)
    pages[::2] = np.argsort(np.random.default_rng(2).random((30, 7)), axis=1)[:, :SLOTS]
    outcomes = set()
    for query, page in zip(queries, pages, strict=True):
        refused = []
        for env in (make_vec(num_envs=1, action="ranking", world=SHORT_WORLD),
                    make(action="ranking", world=SHORT_WORLD)):  # fmt: skip
            vector = isinstance(env, gym.vector.VectorEnv)
            env.reset(seed=0, options={"query": np.array([query]) if vector else int(query)})
            try:
                env.step(page[None] if vector else page)
            except ValueError:
                refused.append(True)
            else:
                refused.append(False)
        assert refused[0] == refused[1]
        outcomes.add(refused[0])
    assert outcomes == {True, False}


def test_a_repaired_slot_is_flagged_in_its_environment_only():
    env = make_vec(action="slots")
    env.reset(seed=0)
    env.step(np.array([3, 3, 3, 6]))
    info = env.step(np.array([3, 4, 3, 6]))[4]
    assert info["ranking"][:, 1].tolist() == [4, 4, 4, 0]
    assert info["repaired"].tolist() == [True, False, True, True]


@loop_over("slot", [0, SLOTS - 1])
@loop_over("n_docs", [7, 100])
def test_equal_scores_show_each_document_equally_often(slot, n_docs):
    env = make_vec(num_envs=20_000, world=small_world(n_docs=n_docs), observation="ids")
    env.reset(seed=0)
    final = env.step(np.zeros((20_000, n_docs), dtype=np.float32))[4]["final_info"]
    counts = np.bincount(final["ranking"][:, slot], minlength=n_docs)
    assert stats.chisquare(counts).pvalue > 1e-3


@loop_over("n_docs", [7, 100])
def test_a_tie_at_the_end_of_the_page_is_broken_at_random(n_docs):
    env = make_vec(num_envs=20_000, world=small_world(n_docs=n_docs), observation="ids")
    env.reset(seed=0)
    scores = np.zeros((20_000, n_docs), dtype=np.float32)
    scores[:, :4] = [0.9, 0.8, 0.7, 0.6]
    scores[:, -1] = -0.0
    final = env.step(scores)[4]["final_info"]
    counts = np.bincount(final["ranking"][:, SLOTS - 1], minlength=n_docs)
    assert counts[:4].sum() == 0
    assert stats.chisquare(counts[4:]).pvalue > 1e-3


@loop_over("largest", [1e30, 1e300])
def test_scores_beyond_the_space_are_taken(largest):
    env = make_vec()
    env.reset(seed=0)
    scores = np.zeros((4, WORLD.n_docs))
    scores[:, 2] = largest
    assert (env.step(scores)[4]["final_info"]["ranking"][:, 0] == 2).all()


# Masks


def test_masks_of_slots_are_the_candidates_that_are_not_placed():
    env = make_vec(num_envs=2, action="slots", world=SHORT_WORLD)
    env.reset(seed=0, options={"query": [1, 2]})
    env.step(np.array([1, 6]))
    expected = [[True, False, True] + [False] * 4, [True] * 6 + [False]]
    assert env.action_masks().tolist() == expected


def test_masks_of_rankings_are_the_candidates_in_every_slot():
    env = make_vec(num_envs=2, action="ranking", world=SHORT_WORLD)
    env.reset(seed=0, options={"query": [0, 2]})
    expected = np.tile(SHORT_WORLD.candidates[[0, 2]], (1, SLOTS))
    np.testing.assert_array_equal(env.action_masks(), expected)


def test_actions_that_the_masks_allow_are_never_refused():
    env = make_vec(num_envs=50, action="slots", world=SHORT_WORLD, invalid="raise")
    rng = np.random.default_rng(0)
    env.reset(seed=0)
    for _ in range(20):
        allowed = np.where(env.action_masks(), rng.random((50, WORLD.n_docs)), -1.0)
        info = env.step(allowed.argmax(axis=1))[4]
        assert not info["repaired"].any()


def test_scores_have_no_masks():
    env = make_vec()
    env.reset(seed=0)
    with pytest.raises(ValueError, match="action='scores'"):
        env.action_masks()


# Bad input

VALID = {
    "scores": np.linspace(-1, 1, 28).reshape(4, 7),
    "ranking": np.tile(RANKING, (4, 1)),
    "slots": np.zeros(4, dtype=int),
}


@loop_over(
    ("action", "place", "value", "named"),
    [
        ("scores", (2, 1), np.nan, r"actions\[2\]"),
        ("scores", (2, 1), np.inf, r"actions\[2\]"),
        ("ranking", (2, 1), 7, r"actions\[2, 1\]"),
        ("ranking", (2, 1), -1, r"actions\[2, 1\]"),
        ("ranking", (2, 1), RANKING[0], r"actions\[2, 1\]"),
        ("slots", 2, 7, r"actions\[2\]"),
        ("slots", 2, -1, r"actions\[2\]"),
    ],
)
def test_a_bad_action_is_named_with_its_environment(action, place, value, named):
    env = make_vec(action=action)
    env.reset(seed=0)
    actions = VALID[action].copy()
    actions[place] = value
    with pytest.raises(ValueError, match=named):
        env.step(actions)


def test_a_repeated_slot_is_named_with_its_environment():
    env = make_vec(action="slots", invalid="raise")
    env.reset(seed=0)
    env.step(np.array([0, 1, 2, 3]))
    with pytest.raises(ValueError, match=r"actions\[1\] is document 1"):
        env.step(np.array([4, 1, 5, 6]))


@every_action
def test_actions_for_another_number_of_environments_are_refused(action):
    env = make_vec(action=action)
    env.reset(seed=0)
    with pytest.raises(ValueError, match="actions has shape"):
        env.step(VALID[action][:3])


@loop_over("action", ["ranking", "slots"])
def test_documents_that_are_no_integers_are_refused(action):
    env = make_vec(action=action)
    env.reset(seed=0)
    with pytest.raises(ValueError, match="actions must hold integers"):
        env.step(VALID[action].astype(float))


@loop_over(
    "options",
    [
        {"page": [1] * 4}, {"query": [0, 1, 2]}, {"query": [0, 1, 6, 2]}, {"query": [0, -1, 6, 2]},
        {"query": 3}, {"query": [0.5] * 4},
    ],
)  # fmt: skip
def test_bad_options_are_named(options):
    with pytest.raises(ValueError, match=r"^options\b"):
        make_vec().reset(seed=0, options=options)


@loop_over(
    ("settings", "named"),
    [
        ({"num_envs": 0}, "num_envs"), ({"slots": 0}, "slots"), ({"action": "score"}, "action"),
        ({"world": 3}, "world"), ({"render_mode": "ascii"}, "render_mode"), ({"slotz": 5}, "slotz"),
    ],
)  # fmt: skip
def test_a_bad_argument_is_named(settings, named):
    with pytest.raises((ValueError, TypeError), match=named):
        make_vec(**settings)


def test_a_list_of_seeds_with_a_gap_is_refused():
    with pytest.raises(ValueError, match="seed"):
        make_vec().reset(seed=[1, None, 3, 4])


def test_step_before_reset_is_an_error():
    with pytest.raises(ResetNeeded):
        make_vec().step(VALID["scores"])


def test_masks_before_reset_are_an_error():
    with pytest.raises(ResetNeeded):
        make_vec(action="slots").action_masks()


# Pictures


def test_rendering_shows_the_page_that_was_shown_last():
    env = make_vec(action="ranking", render_mode="ansi")
    env.reset(seed=0)
    clicks = env.step(VALID["ranking"])[4]["final_info"]["clicks"]
    texts = env.render()
    marks = [[line.endswith("<- click") for line in text.splitlines()[1:]] for text in texts]
    assert clicks.any()
    assert marks == clicks.tolist()
