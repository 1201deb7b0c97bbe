"""The contract of the single environments, over the whole registry."""

from __future__ import annotations

import inspect
import pickle
import subprocess
import sys
import warnings
from functools import partial

import gymnasium as gym
import numpy as np
import pytest
from conftest import SLOTS, small_world
from env_pages import (
    FEDERATED,
    LEARNED,
    MODEL,
    RECOMMENDATION,
    SHORT_WORLD,
    WORLD,
    ask,
    own_world,
    page_actions,
    random_action,
    settings_of,
)
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env, data_equivalence
from looping import loop_over
from scipy import stats

from clickgym import clickmodels, data, envs
from clickgym.envs.settings import EnvironmentSettings

ENV_IDS = envs.environment_ids()
ACTIONS = ("scores", "ranking", "slots")
OBSERVATIONS = ("features", "ids", "both")

every_env = loop_over("env_id", ENV_IDS)
every_action = loop_over("action", ACTIONS)
every_observation = loop_over("observation", OBSERVATIONS)


def make(env_id="clickgym/DBN-v0", **settings):
    return gym.make(env_id, **settings_of(env_id, settings))


def play(env, action_rng, **reset):
    """One page of random actions: what ``reset`` and every ``step`` returned."""
    returned = [env.reset(**reset)]
    done = False
    while not done:
        returned.append(env.step(random_action(env, action_rng)))
        done = returned[-1][2]
    return returned


def show(env, ranking, **reset):
    """Show one page and return its last step."""
    env.reset(**reset)
    for action in page_actions(env, ranking):
        last = env.step(action)
    return last


# Outside checkers


@pytest.mark.parametrize("env_id", ENV_IDS)
@every_action
@every_observation
def test_gymnasium_checker_finds_nothing(env_id, action, observation):
    env = make(env_id, action=action, observation=observation)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env.unwrapped)


@pytest.mark.parametrize("env_id", ENV_IDS)
@every_action
@every_observation
def test_stable_baselines_checker_finds_nothing(env_id, action, observation):
    checker = pytest.importorskip("stable_baselines3.common.env_checker")
    env = make(env_id, action=action, observation=observation)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # A table of features is neither a vector nor a picture, on purpose.
        warnings.filterwarnings("ignore", message=r"Your observation \w* ?has an unconventional")
        checker.check_env(env.unwrapped)


@every_action
@every_observation
def test_gymnasium_checker_finds_nothing_where_pages_are_short(action, observation):
    env = make(world=SHORT_WORLD, action=action, observation=observation, invalid="repair")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env.unwrapped)


SECTIONS = ["Observation", "Action", "Reward", "Start", "End", "Info", "Arguments"]
SECTIONS += ["Version history"]


def test_docstrings_have_the_same_sections_in_the_same_order():
    for env_id in ENV_IDS:
        spec = gym.spec(env_id)
        for entry_point in (spec.entry_point, spec.vector_entry_point):
            text = getattr(envs, entry_point.split(":")[1]).__doc__
            heads = [line.strip()[3:] for line in text.splitlines() if line.strip()[:3] == "## "]
            assert heads == SECTIONS, entry_point


def test_every_argument_is_documented():
    arguments = set(inspect.signature(EnvironmentSettings).parameters)
    text = envs.RankingEnv.__doc__.split("## Arguments")[1]
    named = {name.strip() for line in text.splitlines() for name in line.split(" : ")[0].split(",")}
    assert arguments <= named


# Making environments


@every_env
def test_defaults_show_ten_documents_of_the_embedded_world(env_id):
    world = data.embedded_world()
    model = clickmodels.PBM(np.full(world.relevance.shape, 0.5), np.full(10, 0.9))
    env = gym.make(env_id, **({"click_model": model} if env_id == LEARNED else {}))
    env.reset(seed=0)
    ranking = env.step(env.action_space.sample())[4]["ranking"]
    shapes = {RECOMMENDATION: (200, 26), FEDERATED: (30, 136 + 4)}
    assert env.observation_space.shape == shapes.get(env_id, (30, 136))
    assert len(set(ranking.tolist())) == 10


def test_gym_make_imports_the_package_by_itself(tmp_path):
    code = (
        "import sys, gymnasium\n"
        "assert 'clickgym' not in sys.modules\n"
        "env = gymnasium.make('clickgym:clickgym/CoCM-v0')\n"
        "env.reset(seed=0)\n"
        "print(env.step(env.action_space.sample())[2])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.stdout == "True\n", done.stderr


@every_env
def test_the_world_is_shared_by_gym_make(env_id):
    assert make(env_id).unwrapped.world is own_world(env_id, WORLD)


def test_the_learned_model_is_shared_by_gym_make():
    assert make(LEARNED).unwrapped.model is MODEL


def test_an_environment_made_from_a_spec_shares_world_and_model():
    again = make(LEARNED).spec.make().unwrapped
    assert again.world is WORLD
    assert again.model is MODEL


def test_environments_of_one_world_share_their_user():
    assert make().unwrapped.model is make(action="slots").unwrapped.model


def test_users_with_slightly_different_parameters_are_not_shared():
    modes = np.array([0.6, 0.3, 0.1])
    first = make("clickgym/CoCM-v0", user_params={"modes": modes})
    nearly = modes + np.array([1e-12, -1e-12, 0])
    second = make("clickgym/CoCM-v0", user_params={"modes": nearly})
    assert first.unwrapped.model is not second.unwrapped.model


def test_user_params_reach_the_user():
    env = make("clickgym/DBN-v0", user_params={"continuation": 0.25})
    assert env.unwrapped.model.continuation == 0.25


def test_a_learned_model_is_read_from_its_path(tmp_path):
    MODEL.save(tmp_path / "model")
    env = make(LEARNED, click_model=tmp_path / "model")
    np.testing.assert_array_equal(env.unwrapped.model.attractiveness, MODEL.attractiveness)


# Seeds


@every_env
@every_action
def test_the_same_seed_gives_the_same_trajectory(env_id, action):
    trajectories = []
    for _ in range(2):
        env, rng = make(env_id, action=action), np.random.default_rng(0)
        pages = play(env, rng, seed=5)
        trajectories.append(pages + [step for _ in range(20) for step in play(env, rng)])
    assert data_equivalence(*trajectories, exact=True)


@every_env
@every_action
def test_another_seed_gives_another_trajectory(env_id, action):
    trajectories = []
    for seed in (5, 6):
        env, rng = make(env_id, action=action), np.random.default_rng(0)
        pages = play(env, rng, seed=seed)
        pages += [step for _ in range(20) for step in play(env, rng)]
        trajectories.append([step[-1]["clicks"].tolist() for step in pages])
    assert trajectories[0] != trajectories[1]


def test_reset_without_a_seed_goes_on_with_the_stream():
    env = make()
    env.reset(seed=5)
    first = [env.reset()[1]["query"] for _ in range(30)]
    assert [env.reset()[1]["query"] for _ in range(30)] != first


def test_queries_come_as_often_as_the_world_says():
    env = make(observation="ids")
    env.reset(seed=1)
    counts = np.bincount([env.reset()[0] for _ in range(6000)], minlength=WORLD.n_queries)
    assert stats.chisquare(counts, 6000 * WORLD.query_probs).pvalue > 1e-3


@every_env
def test_clicks_come_as_often_as_the_model_says(env_id):
    env = make(env_id, action="ranking")
    ranking, n = [1, 4, 0, 6, 2], 4000
    infos = [
        show(env, ranking, seed=2 if page == 0 else None, options={"query": 3})[4]
        for page in range(n)
    ]
    clicks = sum(info["clicks"] for info in infos)
    probs = ask(env, "click_probs", infos[0])[0]
    likely = [stats.binomtest(int(c), n, p).pvalue for c, p in zip(clicks, probs, strict=True)]
    assert min(likely) > 1e-3 / SLOTS


# Pages, rewards and info


def test_scores_show_the_best_candidates_in_order():
    scores = np.random.default_rng(3).normal(size=WORLD.n_docs)
    env = make()
    env.reset(seed=0)
    ranking = env.step(scores)[4]["ranking"]
    np.testing.assert_array_equal(ranking, np.argsort(-scores)[:SLOTS])


@loop_over("largest", [1e30, 1e300])
def test_scores_beyond_the_space_are_taken(largest):
    scores = np.linspace(-1, 1, WORLD.n_docs)
    scores[2] = largest
    env = make()
    env.reset(seed=0)
    assert env.step(scores)[4]["ranking"][0] == 2


@every_env
@every_action
def test_the_last_reward_is_the_number_of_clicks(env_id, action):
    env, rng = make(env_id, action=action), np.random.default_rng(0)
    env.reset(seed=0)
    last = [play(env, rng)[-1] for _ in range(40)]
    rewards = [reward for _, reward, *_ in last]
    assert sum(rewards) > 0
    assert rewards == [info["clicks"].sum() for *_, info in last]


@every_action
def test_pages_terminate_and_are_never_truncated(action):
    env = make(action=action)
    steps = play(env, np.random.default_rng(0), seed=0)[1:]
    ends = [(terminated, truncated) for _, _, terminated, truncated, _ in steps]
    length = SLOTS if action == "slots" else 1
    assert ends == [(False, False)] * (length - 1) + [(True, False)]


def test_rewards_before_the_last_slot_are_zero():
    env = make(action="slots", reward="expected_clicks")
    steps = play(env, np.random.default_rng(0), seed=0)[1:]
    assert [reward == 0 for _, reward, *_ in steps] == [True] * (SLOTS - 1) + [False]


@every_env
@every_action
def test_expected_clicks_reward_is_the_models(env_id, action):
    env, rng = make(env_id, action=action, reward="expected_clicks"), np.random.default_rng(0)
    _, reward, _, _, info = play(env, rng, seed=0)[-1]
    exact = ask(env, "expected_clicks", info)[0]
    assert reward == pytest.approx(exact, rel=1e-12)


@every_env
@every_action
def test_expectations_in_info_are_the_models(env_id, action):
    env, rng = make(env_id, action=action, expectations=True), np.random.default_rng(0)
    *_, info = play(env, rng, seed=0)[-1]
    exact = ask(env, "expected_clicks", info)[0]
    assert info["expected_clicks"] == pytest.approx(exact, rel=1e-12)


def dcg_by_hand(grades):
    return sum((2.0**grade - 1) / np.log2(rank + 1) for rank, grade in enumerate(grades, start=1))


@every_action
@loop_over("query", range(WORLD.n_queries))
def test_ndcg_reward_is_the_one_by_hand(action, query):
    ranking = np.random.default_rng(query).permutation(WORLD.n_docs)[:SLOTS].tolist()
    env = make(action=action, reward="ndcg")
    reward = show(env, ranking, seed=0, options={"query": query})[1]
    grades = WORLD.relevance[query].tolist()
    best = sorted(grades, reverse=True)[:SLOTS]
    by_hand = dcg_by_hand([grades[document] for document in ranking]) / dcg_by_hand(best)
    assert reward == pytest.approx(by_hand, rel=1e-12)


@loop_over("query", range(SHORT_WORLD.n_queries))
def test_ndcg_of_the_ideal_ranking_is_one(query):
    env = make(world=SHORT_WORLD, action="scores", reward="ndcg")
    env.reset(seed=0, options={"query": query})
    assert env.step(SHORT_WORLD.gain[query])[1] == pytest.approx(1.0, rel=1e-12)


def test_ndcg_is_refused_where_it_would_leak_grades():
    with pytest.raises(ValueError, match="reward='ndcg' needs a true user"):
        make(LEARNED, reward="ndcg")


def signature(info):
    return {
        key: (type(value), np.shape(value), np.asarray(value).dtype) for key, value in info.items()
    }


@every_action
@loop_over("expectations", [False, True])
def test_info_has_one_signature(action, expectations):
    env = make(action=action, expectations=expectations)
    returned = play(env, np.random.default_rng(0), seed=0)
    first = signature(returned[0][-1])
    assert all(signature(step[-1]) == first for step in returned)


@loop_over("expectations", [False, True])
def test_info_has_expectations_only_when_asked(expectations):
    info = make(expectations=expectations).reset(seed=0)[1]
    assert set(info) - {"query", "ranking", "clicks", "repaired"} == (
        {"expected_clicks"} if expectations else set()
    )


def test_slots_are_filled_one_by_one_in_info():
    env = make(action="slots")
    env.reset(seed=0)
    pages = [env.step(document)[4]["ranking"].tolist() for document in (3, 1, 6)]
    assert pages == [[3, -1, -1, -1, -1], [3, 1, -1, -1, -1], [3, 1, 6, -1, -1]]


def test_slots_observation_shows_where_a_document_was_placed():
    env = make(action="slots")
    env.reset(seed=0)
    env.step(3)
    placed = env.step(1)[0][:, -1]
    np.testing.assert_allclose(placed, [0, 2 / SLOTS, 0, 1 / SLOTS, 0, 0, 0], rtol=1e-6)


def test_slots_ids_observation_shows_query_and_slots():
    env = make(action="slots", observation="ids")
    env.reset(seed=0, options={"query": 4})
    env.step(3)
    assert env.step(1)[0].tolist() == [4, 0, 2, 0, 1, 0, 0, 0]


# Ties


def first_shown(scores, slot, n):
    env = make()
    env.reset(seed=0)
    shown = []
    for _ in range(n):
        shown.append(env.step(scores)[4]["ranking"][slot])
        env.reset()
    return np.bincount(shown, minlength=WORLD.n_docs)


@loop_over("slot", [0, SLOTS - 1])
def test_equal_scores_show_each_document_equally_often(slot):
    counts = first_shown(np.zeros(WORLD.n_docs, dtype=np.float32), slot, 3500)
    assert stats.chisquare(counts).pvalue > 1e-3


def test_a_tie_at_the_end_of_the_page_is_broken_at_random():
    scores = np.array([0.9, 0.8, 0.7, 0.6, 0.0, 0.0, -0.0], dtype=np.float32)
    counts = first_shown(scores, SLOTS - 1, 1500)
    assert counts[:4].sum() == 0
    assert stats.chisquare(counts[4:]).pvalue > 1e-3


# Repeats and documents that are no candidates


@loop_over("action", ["ranking", "slots"])
def test_a_repeat_is_refused(action):
    env = make(action=action, invalid="raise")
    with pytest.raises(ValueError, match=r"action.* document 1, which is on the page already"):
        show(env, [0, 1, 1, 2, 3], seed=0)


@loop_over("action", ["ranking", "slots"])
def test_a_document_that_is_no_candidate_is_refused(action):
    env = make(world=SHORT_WORLD, action=action, invalid="raise")
    with pytest.raises(ValueError, match=r"action.* document 5, .*no candidate"):
        show(env, [0, 5, 1, 2, 3], seed=0, options={"query": 0})


def test_ranking_refuses_by_default():
    with pytest.raises(ValueError, match="invalid='repair'"):
        show(make(action="ranking"), [0] * SLOTS, seed=0)


def test_slots_repair_by_default():
    assert show(make(action="slots"), [0] * SLOTS, seed=0)[4]["repaired"]


@loop_over("action", ["ranking", "slots"])
def test_a_repeat_becomes_the_next_unused_candidate_cyclically(action):
    info = show(make(action=action, invalid="repair"), [5, 5, 6, 5, 0], seed=0)[4]
    assert info["ranking"].tolist() == [5, 6, 0, 1, 2]
    assert info["repaired"] is True


def test_no_candidate_becomes_the_next_unused_candidate_in_a_ranking():
    env = make(world=SHORT_WORLD, action="ranking", invalid="repair")
    info = show(env, [6, 1, 1, 6, 6], seed=0, options={"query": 1})[4]
    assert info["ranking"].tolist() == [0, 1, 2, -1, -1]


def test_no_candidate_becomes_the_next_unused_candidate_in_a_slot():
    env = make(world=SHORT_WORLD, action="slots", invalid="repair")
    info = show(env, [6, 1, 1], seed=0, options={"query": 1})[4]
    assert info["ranking"].tolist() == [0, 1, 2, -1, -1]


@loop_over("action", ["ranking", "slots"])
def test_a_valid_page_is_not_repaired(action):
    info = show(make(action=action, invalid="repair"), [5, 2, 6, 0, 1], seed=0)[4]
    assert info["ranking"].tolist() == [5, 2, 6, 0, 1]
    assert info["repaired"] is False


def test_a_repair_is_forgotten_at_reset():
    env = make(action="slots")
    show(env, [0] * SLOTS, seed=0)
    assert env.reset()[1]["repaired"] is False


# Short pages


@every_env
@every_action
def test_short_pages_end_with_empty_slots_that_are_never_clicked(env_id, action):
    env = make(env_id, world=SHORT_WORLD, action=action, invalid="repair")
    rng = np.random.default_rng(0)
    env.reset(seed=0)
    for _ in range(60):
        info = play(env, rng, options={"query": 1})[-1][-1]
        assert sorted(info["ranking"][:3].tolist()) == [0, 1, 2]
        assert info["ranking"][3:].tolist() == [-1, -1]
        assert not info["clicks"][3:].any()


@loop_over(("query", "steps"), [(0, 2), (1, 3), (2, 5)])
def test_slots_episodes_are_as_long_as_their_page(query, steps):
    env = make(world=SHORT_WORLD, action="slots")
    returned = play(env, np.random.default_rng(0), seed=0, options={"query": query})
    assert len(returned) == 1 + steps


@every_action
def test_pages_may_have_more_slots_than_there_are_documents(action):
    env = make(slots=9, action=action, invalid="repair")
    info = play(env, np.random.default_rng(0), seed=0)[-1][-1]
    assert sorted(info["ranking"].tolist()) == [-1, -1, 0, 1, 2, 3, 4, 5, 6]


def test_a_query_that_is_never_drawn_still_shows_its_candidates_only():
    probs = np.array([0, 0, 0.25, 0.25, 0.25, 0.25])
    world = data.World(SHORT_WORLD.relevance, SHORT_WORLD.features, probs)
    env = make(world=world)
    env.reset(seed=0, options={"query": 0})
    ranking = env.step(np.linspace(0, 1, world.n_docs))[4]["ranking"]
    assert ranking.tolist() == [1, 0, -1, -1, -1]


# Masks and options


def test_masks_of_slots_are_the_candidates_that_are_not_placed():
    env = make(world=SHORT_WORLD, action="slots")
    env.reset(seed=0, options={"query": 1})
    env.step(1)
    assert env.unwrapped.action_masks().tolist() == [True, False, True] + [False] * 4


def test_masks_of_rankings_are_the_candidates_in_every_slot():
    env = make(world=SHORT_WORLD, action="ranking")
    env.reset(seed=0, options={"query": 0})
    expected = np.tile(SHORT_WORLD.candidates[0], SLOTS)
    np.testing.assert_array_equal(env.unwrapped.action_masks(), expected)


def test_actions_that_the_masks_allow_are_never_refused():
    env = make(world=SHORT_WORLD, action="slots", invalid="raise").unwrapped
    rng = np.random.default_rng(0)
    env.reset(seed=0)
    for _ in range(200):
        _, _, done, _, info = env.step(rng.choice(np.flatnonzero(env.action_masks())))
        assert not info["repaired"]
        if done:
            env.reset()


def test_scores_have_no_masks():
    env = make()
    env.reset(seed=0)
    with pytest.raises(ValueError, match="action='scores'"):
        env.unwrapped.action_masks()


@every_observation
def test_options_choose_the_query(observation):
    env = make(observation=observation)
    seen, info = env.reset(seed=0, options={"query": 4})
    observed = {
        "features": lambda: np.array_equal(seen, WORLD.standardised_features[4]),
        "ids": lambda: seen == 4,
        "both": lambda: seen["query"] == 4,
    }
    assert info["query"] == 4
    assert observed[observation]()


# Bad input


def other_worlds_model():
    return clickmodels.true_user("PBM", SHORT_WORLD, slots=SLOTS)


@loop_over(
    ("settings", "named"),
    [
        ({"world": 3}, "world"),
        ({"world": data.World(WORLD.relevance)}, "features.* observation='ids'"),
        ({"slots": 0}, "slots"),
        ({"slots": 2.5}, "slots"),
        ({"action": "score"}, "action"),
        ({"observation": "pixels"}, "observation"),
        ({"reward": "money"}, "reward"),
        ({"invalid": "ignore"}, "invalid"),
        ({"invalid": ""}, "invalid"),
        ({"render_mode": "ascii"}, "render_mode"),
        ({"click_model": MODEL}, "click_model"),
        ({"user_params": {"continuation": 1.5}}, "continuation"),
        ({"user_params": {"patience": 0.5}}, "patience"),
        ({"slotz": 5}, "slotz"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*render_mode:UserWarning")
def test_a_bad_argument_is_named(settings, named):
    with pytest.raises((ValueError, TypeError), match=named):
        make(**settings)


@loop_over(
    ("settings", "named"),
    [
        ({"click_model": None}, "click_model is missing"),
        ({"click_model": 3}, "click_model must be"),
        ({"click_model": "no/such/model"}, "no/such/model"),
        ({"click_model": other_worlds_model()}, "PBM belongs to another world: its fingerprint"),
        ({"world": small_world(n_docs=8)}, "PBM is for 6 queries of 7 candidates"),
        ({"slots": SLOTS + 1}, "slots is 6"),
        ({"user_params": {"floor": 0.1}}, "user_params"),
    ],
)
def test_a_bad_argument_of_the_learned_environment_is_named(settings, named):
    with pytest.raises((ValueError, OSError), match=named):
        make(LEARNED, **settings)


@loop_over(
    ("action", "given"),
    [
        ("scores", [0.5] * 6 + [np.nan]),
        ("scores", [0.5] * 6 + [np.inf]),
        ("scores", [np.inf] + [0.5] * 5 + [-np.inf]),
        ("scores", [0.5] * 6),
        ("scores", [[0.5] * 7]),
        ("ranking", [0, 1, 2, 3]),
        ("ranking", [0.0, 1.0, 2.0, 3.0, 4.0]),
        ("ranking", [0, 1, 2, 3, 7]),
        ("ranking", [0, 1, 2, 3, -1]),
        ("slots", 7),
        ("slots", -1),
        ("slots", 1.5),
        ("slots", [1, 2]),
    ],
)
def test_a_bad_action_is_named(action, given):
    env = make(action=action)
    env.reset(seed=0)
    with pytest.raises(ValueError, match=r"^action\b"):
        env.step(np.array(given))


@loop_over(
    "options", [{"page": 1}, {"query": 2, "page": 1}, {"query": 6}, {"query": -1}, {"query": 1.5}]
)
def test_bad_options_are_named(options):
    with pytest.raises(ValueError, match=r"^options\b"):
        make().reset(seed=0, options=options)


def test_step_before_reset_is_an_error():
    with pytest.raises(ResetNeeded):
        make().step(np.zeros(WORLD.n_docs, dtype=np.float32))


@every_action
def test_step_after_the_end_is_an_error(action):
    env, rng = make(action=action), np.random.default_rng(0)
    play(env, rng, seed=0)
    with pytest.raises(ResetNeeded):
        env.step(random_action(env, rng))


def test_masks_before_reset_are_an_error():
    with pytest.raises(ResetNeeded):
        make(action="slots").unwrapped.action_masks()


def test_a_refused_action_leaves_the_page_as_it_was():
    env = make(action="slots", invalid="raise")
    env.reset(seed=0)
    env.step(3)
    with pytest.raises(ValueError, match="document 3"):
        env.step(3)
    assert env.step(4)[4]["ranking"].tolist() == [3, 4, -1, -1, -1]


# Pictures


def test_text_marks_what_was_clicked():
    env = make(render_mode="ansi")
    _, _, _, _, info = play(env, np.random.default_rng(0), seed=4)[-1]
    lines = env.render().splitlines()[1:]
    assert info["clicks"].any()
    assert [line.endswith("<- click") for line in lines] == info["clicks"].tolist()


def test_text_shows_the_documents_in_order():
    env = make(render_mode="ansi", action="ranking")
    show(env, [5, 2, 6, 0, 1], seed=0)
    shown = [line.split()[:3] for line in env.render().splitlines()[1:]]
    assert shown == [[f"{i}.", "document", d] for i, d in enumerate("52601", start=1)]


def pictures_by_clicks():
    pytest.importorskip("PIL")
    env = make(render_mode="rgb_array", action="ranking")
    env.reset(seed=0)
    pictures = {}
    for _ in range(60):
        info = show(env, [1, 0, 2, 3, 4], options={"query": 2})[4]
        pictures.setdefault(tuple(info["clicks"].tolist()), []).append(env.render())
    return pictures


def test_pictures_are_arrays_of_bytes():
    picture = next(iter(pictures_by_clicks().values()))[0]
    assert picture.dtype == np.uint8
    assert picture.ndim == 3
    assert picture.shape[2] == 3


def test_a_click_changes_the_picture_in_its_slot():
    pictures = pictures_by_clicks()
    once = [clicks for clicks in pictures if sum(clicks) == 1]  # their titles are the same
    first, second = (pictures[clicks][0] for clicks in once[:2])
    assert not np.array_equal(first, second)


def test_equal_pages_give_equal_pictures():
    same = max(pictures_by_clicks().values(), key=len)
    assert len(same) > 1
    np.testing.assert_array_equal(same[0], same[1])


def test_record_video_writes_a_file(tmp_path):
    pytest.importorskip("moviepy", reason="gymnasium's RecordVideo needs moviepy")
    pytest.importorskip("PIL")
    env = make(render_mode="rgb_array", action="slots")
    env = gym.wrappers.RecordVideo(env, str(tmp_path / "videos"), episode_trigger=bool)
    rng = np.random.default_rng(0)
    for page in range(2):  # the trigger takes the second
        play(env, rng, seed=page)
    env.close()
    sizes = [path.stat().st_size for path in (tmp_path / "videos").glob("*.mp4")]
    assert len(sizes) == 1
    assert sizes[0] > 0


# Other processes


@every_env
def test_a_pickled_environment_goes_on_as_the_original(env_id):
    env = make(env_id)
    play(env, np.random.default_rng(0), seed=0)
    copy = pickle.loads(pickle.dumps(env))
    pages = [
        [play(one, rng) for _ in range(10)]
        for one, rng in ((env, np.random.default_rng(1)), (copy, np.random.default_rng(1)))
    ]
    assert data_equivalence(*pages, exact=True)


def test_a_pickled_world_is_the_same_world():
    assert pickle.loads(pickle.dumps(WORLD)).fingerprint == WORLD.fingerprint


@loop_over("name", clickmodels.user_names())
def test_a_pickled_user_has_the_same_click_probabilities(name):
    user = clickmodels.true_user(name, WORLD)
    copy = pickle.loads(pickle.dumps(user))
    page = [3], [[1, 4, 0, 6, 2]]
    np.testing.assert_array_equal(copy.click_probs(*page), user.click_probs(*page))


def test_spawned_workers_step():
    maker = partial(gym.make, "clickgym:clickgym/DBN-v0", world=WORLD, slots=SLOTS)
    workers = gym.vector.AsyncVectorEnv([maker, maker], context="spawn")
    try:
        workers.reset(seed=0)
        terminated = workers.step(np.zeros((2, WORLD.n_docs), dtype=np.float32))[2]
    finally:
        workers.close()
    assert terminated.tolist() == [True, True]


def test_help_lists_the_arguments_of_both_environments():
    classes = (envs.RankingEnv, envs.RankingVectorEnv)
    single, batch = (list(inspect.signature(cls).parameters) for cls in classes)
    assert batch == ["num_envs", *single]
    assert single[:3] == ["user", "world", "click_model"]
    assert set(single) >= {"slots", "action", "observation", "reward", "invalid", "render_mode"}


def test_more_slots_than_candidates_is_a_warning():
    world = data.synthetic_world(n_queries=3, n_docs=10)
    with pytest.warns(UserWarning, match="no query has more than 10 candidates"):
        envs.RankingEnv("DBN", world=world, slots=12)


def test_slots_and_observation_are_those_that_the_model_and_the_world_know():
    world = data.World(WORLD.relevance, candidates=WORLD.candidates)
    assert world.features is None
    short = clickmodels.PBM(np.full(world.relevance.shape, 0.5), np.ones(3))
    env = gym.make(LEARNED, world=world, click_model=short)
    assert (env.unwrapped.slots, env.unwrapped.settings.observation) == (3, "ids")
    assert env.reset(seed=0)[0] in env.observation_space
    vector = gym.make_vec(
        LEARNED, num_envs=2, vectorization_mode="vector_entry_point", world=world, click_model=short
    )
    assert vector.single_observation_space == gym.spaces.Discrete(world.n_queries)
    with pytest.raises(ValueError, match="no features"):
        gym.make(LEARNED, world=world, click_model=short, observation="features")
    long = clickmodels.PBM(np.full((len(WORLD.relevance), 30), 0.5), np.ones(20))
    wide = data.synthetic_world(n_queries=len(WORLD.relevance), n_docs=30)
    env = gym.make(LEARNED, world=wide, click_model=long)
    assert (env.unwrapped.slots, env.unwrapped.settings.observation) == (10, "features")
