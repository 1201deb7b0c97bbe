"""Federated-v0: where the block stands, what the user does with it, and what the agent sees."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
from conftest import SLOTS, small_vertical_world, small_world
from gymnasium.utils.env_checker import data_equivalence
from looping import loop_over
from scipy import stats

from clickgym import clickmodels, data

ENV_ID = "clickgym/Federated-v0"
WORLD, SHORT_WORLD = small_vertical_world(), small_vertical_world(short=True)
N, PLACES = WORLD.n_docs, SLOTS + 2
RANKING = [1, 4, 0, 6, 2]
LOCATION, WITHOUT = 3, 4  # queries: one with a location block, one without any
ACTIONS = ("scores", "ranking", "slots")
every_action = loop_over("action", ACTIONS)
every_observation = loop_over("observation", ("features", "ids", "both"))


def make(**settings):
    return gym.make(ENV_ID, **({"world": WORLD, "slots": SLOTS} | settings)).unwrapped


def make_vec(num_envs=4, **settings):
    settings = {"world": WORLD, "slots": SLOTS} | settings
    return gym.make_vec(
        ENV_ID, num_envs=num_envs, vectorization_mode="vector_entry_point", **settings
    )


def steps_of(action, ranking, place, length=SLOTS):
    """The actions of a page with a block after ``place`` results, -1 = left out."""
    if action == "scores":
        scores = np.zeros(N + PLACES, dtype=np.float32)
        scores[ranking] = np.linspace(1, 0.5, len(ranking))
        scores[N + place + 1] = 0.1
        return [scores]
    if action == "ranking":
        return [np.array([*ranking, place + 1])]
    steps = list(ranking[:length])
    return [*steps, steps[-1]] if place < 0 else [*steps[:place], N, *steps[place:]]


def show(env, place, query=0, ranking=RANKING, **reset):
    env.reset(options={"query": query}, **reset)
    for action in steps_of(env.settings.action, ranking, place):
        last = env.step(action)
    return last


def test_spaces_have_room_for_the_block():
    assert make().action_space.shape == (N + PLACES,)
    assert make(action="slots").action_space.n == N + 1
    assert make(action="ranking").action_space.nvec.tolist() == [N] * SLOTS + [PLACES]
    assert make().observation_space.shape == (N, 4 + 4)
    assert make(action="slots").observation_space.shape == (N, 4 + 4 + 2)
    sizes = make(action="slots", observation="ids").observation_space.nvec.tolist()
    assert sizes == [6] + [SLOTS + 1] * N + [PLACES]


@every_action
@loop_over("place", range(-1, SLOTS + 1))
def test_the_block_stands_where_the_action_says(action, place):
    info = show(make(action=action, invalid="raise"), place, seed=0)[4]
    assert info["vertical_position"] == place
    assert info["ranking"].tolist() == RANKING
    assert info["vertical"] == WORLD.vertical[0]
    assert not info["repaired"]


@every_action
@loop_over("place", range(-1, SLOTS + 1))
def test_the_blocks_of_a_batch_stand_where_the_actions_say(action, place):
    env = make_vec(action=action, invalid="raise")
    env.reset(seed=0, options={"query": [0, 1, 2, 3]})
    for given in steps_of(action, RANKING, place):
        *_, info = env.step(np.stack([given] * 4))
    final = info["final_info"]
    assert final["vertical_position"].tolist() == [place] * 4
    assert final["vertical"].tolist() == [0, 1, 2, 3]
    assert (final["ranking"] == RANKING).all()
    assert (info["vertical_position"] == -1).all()


@loop_over("action", ["scores", "ranking"])
def test_a_query_without_a_type_never_shows_a_block(action):
    assert show(make(action=action), 2, WITHOUT, seed=0)[4]["vertical_position"] == -1
    env = make_vec(action=action)
    env.reset(seed=0, options={"query": [WITHOUT] * 4})
    given = np.stack([steps_of(action, RANKING, 2)[0]] * 4)
    final = env.step(given)[4]["final_info"]
    assert final["vertical"].tolist() == final["vertical_position"].tolist() == [-1] * 4


def test_a_query_without_a_type_ends_with_its_last_slot():
    env = make(action="slots")
    env.reset(seed=0, options={"query": WITHOUT})
    assert [env.step(document)[2] for document in RANKING] == [False] * 4 + [True]


def test_a_ranking_shows_no_block_below_the_last_result_of_a_short_page():
    env = make(world=SHORT_WORLD, action="ranking", invalid="repair")
    batch = make_vec(1, world=SHORT_WORLD, action="ranking", invalid="repair")
    for place in range(-1, SLOTS + 1):
        expected = place if place <= 3 else -1
        assert show(env, place, query=1, seed=0)[4]["vertical_position"] == expected
        batch.reset(seed=0, options={"query": [1]})
        final = batch.step(np.array([[*RANKING, place + 1]]))[4]["final_info"]
        assert final["vertical_position"].tolist() == [expected]


def test_the_best_of_the_places_that_are_left_is_taken_on_a_short_page():
    scores = np.zeros(N + PLACES)
    scores[-4:] = [0.2, 0.1, 0.9, 0.8]  # after 2 to 5 results; the page has three
    env = make(world=SHORT_WORLD)
    env.reset(seed=0, options={"query": 1})
    assert env.step(scores)[4]["vertical_position"] == 2
    batch = make_vec(world=SHORT_WORLD)
    batch.reset(seed=0, options={"query": [1] * 4})
    final = batch.step(np.tile(scores, (4, 1)))[4]["final_info"]
    assert final["vertical_position"].tolist() == [2] * 4


def test_ties_of_places_are_broken_at_random():
    n = 3500
    scores = np.zeros(N + PLACES, dtype=np.float32)
    scores[N + 1] = -1.0
    batch = make_vec(num_envs=n)
    batch.reset(seed=0, options={"query": np.zeros(n, dtype=int)})
    drawn = [batch.step(np.tile(scores, (n, 1)))[4]["final_info"]["vertical_position"]]
    env = make()
    env.reset(seed=0)
    alone = []
    for _ in range(1500):
        env.reset(options={"query": 0})
        alone.append(env.step(scores)[4]["vertical_position"])
    for places in (*drawn, np.array(alone)):
        counts = np.bincount(places + 1, minlength=PLACES)
        assert counts[1] == 0
        assert stats.chisquare(np.delete(counts, 1)).pvalue > 1e-3


def test_scores_beyond_float32_are_taken():
    scores = np.zeros((4, N + PLACES))
    scores[:, N + 3] = 1e300
    scores[:, N + 5] = -1e300
    batch = make_vec()
    batch.reset(seed=0, options={"query": [0] * 4})
    assert batch.step(scores)[4]["final_info"]["vertical_position"].tolist() == [2] * 4


# What the user does


@loop_over("user", clickmodels.user_names("verticals"))
@loop_over("place", [-1, 0, 3])
def test_clicks_come_as_often_as_the_user_says(user, place):
    n = 8000
    env = make_vec(num_envs=n, user=user, action="ranking", observation="ids")
    env.reset(seed=0, options={"query": np.full(n, LOCATION)})
    info = env.step(np.tile([*RANKING, place + 1], (n, 1)))[4]["final_info"]
    block = {"vertical": [LOCATION], "vertical_position": [place]}
    probs = env.model.click_probs([LOCATION], [RANKING], **block)[0]
    counts = info["clicks"].sum(axis=0)
    likely = [stats.binomtest(int(c), n, p).pvalue for c, p in zip(counts, probs, strict=True)]
    assert min(likely) > 1e-3 / SLOTS


@loop_over("place", [-1, 1])
def test_satisfied_pages_come_as_often_as_the_user_says(place):
    n = 8000
    env = make_vec(num_envs=n, action="ranking", observation="ids", reward="satisfied")
    env.reset(seed=0, options={"query": np.full(n, LOCATION)})
    _, rewards, _, _, info = env.step(np.tile([*RANKING, place + 1], (n, 1)))
    block = {"vertical": [LOCATION], "vertical_position": [place]}
    share = env.model.satisfied_probs([LOCATION], [RANKING], **block)[0]
    assert set(rewards.tolist()) == {0.0, 1.0}
    assert stats.binomtest(int(rewards.sum()), n, share).pvalue > 1e-3
    clicked = info["final_info"]["clicks"].any(axis=1)
    assert (rewards[clicked] == 1).all()
    assert (rewards > clicked).any() == (place >= 0)


@every_action
def test_a_single_page_satisfies_as_often_as_one_of_a_batch(action):
    env = make(action=action, observation="ids", reward="satisfied")
    env.reset(seed=0)
    rewards = [show(env, 1, LOCATION)[1] for _ in range(600)]
    block = {"vertical": [LOCATION], "vertical_position": [1]}
    share = env.model.satisfied_probs([LOCATION], [RANKING], **block)[0]
    assert stats.binomtest(int(sum(rewards)), 600, share).pvalue > 1e-3


@every_action
def test_expected_clicks_know_the_block(action):
    rewards = []
    for place in range(-1, SLOTS + 1):
        env = make(action=action, reward="expected_clicks", expectations=True)
        _, reward, _, _, info = show(env, place, query=1, seed=0)
        block = {"vertical": [1], "vertical_position": [place]}
        assert reward == env.model.expected_clicks([1], [RANKING], **block)[0]
        assert info["expected_clicks"] == reward
        rewards.append(reward)
    assert len(set(rewards)) == len(rewards)


def test_a_learned_model_reads_the_block_or_ignores_it():
    values = np.full((6, N), 0.5)
    tables = np.full((SLOTS, SLOTS), 0.4), np.full((4, SLOTS + 1), 0.7), np.full(2 * SLOTS, 0.3)
    for model, differ in ((clickmodels.FCM(values, *tables), True),
                          (clickmodels.UBM(values, tables[0]), False)):  # fmt: skip
        env = make(click_model=model, reward="expected_clicks", action="ranking")
        assert env.settings.learned
        shown, left_out = (show(env, place, query=1, seed=0)[1] for place in (2, -1))
        assert (shown != left_out) == differ


# Filling slots


def test_a_block_waits_for_a_last_decision():
    env = make(action="slots", invalid="raise", reward="expected_clicks", expectations=True)
    env.reset(seed=0, options={"query": 1})
    for document in RANKING:
        _, reward, done, _, info = env.step(document)
    assert (done, reward, info["expected_clicks"]) == (False, 0.0, 0.0)
    assert np.flatnonzero(env.action_masks()).tolist() == [RANKING[-1], N]
    with pytest.raises(ValueError, match="the page is full: 7 shows the block last, and 2 leaves"):
        env.step(3)
    _, reward, done, _, info = env.step(N)
    assert done
    assert reward > 0
    assert info["vertical_position"] == SLOTS


def test_a_last_decision_of_a_batch_has_no_expectations_yet():
    env = make_vec(num_envs=2, action="slots", invalid="raise", expectations=True)
    env.reset(seed=0, options={"query": [1, 2]})
    for document in RANKING:
        _, _, done, _, info = env.step(np.full(2, document))
    assert not done.any()
    assert not info["expected_clicks"].any()
    with pytest.raises(ValueError, match=r"actions\[1\] is 3, but the page is full"):
        env.step(np.array([2, 3]))
    assert env.step(np.array([2, N]))[4]["final_info"]["vertical_position"].tolist() == [-1, SLOTS]


@loop_over(("query", "steps"), [(0, [N, N]), (WITHOUT, [N])])
def test_a_block_that_cannot_be_shown_is_refused_or_repaired(query, steps):
    strict, lenient = (make(action="slots", invalid=how) for how in ("raise", "repair"))
    batches = [make_vec(2, action="slots", invalid=how) for how in ("raise", "repair")]
    for env in (strict, lenient):
        env.reset(seed=0, options={"query": query})
    for env in batches:
        env.reset(seed=0, options={"query": [query] * 2})
    for action in steps[:-1]:
        for env in (strict, lenient):
            env.step(action)
        for env in batches:
            env.step(np.full(2, action))
    with pytest.raises(ValueError, match=r"^action is 7, the block, which is on the page already"):
        strict.step(steps[-1])
    with pytest.raises(ValueError, match=r"^actions\[0\] is 7, the block, which is on the page"):
        batches[0].step(np.full(2, steps[-1]))
    info = lenient.step(steps[-1])[4]
    assert info["repaired"]
    assert info["ranking"][0] == 0
    info = batches[1].step(np.full(2, steps[-1]))[4]
    assert info["repaired"].all()
    assert (info["ranking"][:, 0] == 0).all()


def test_actions_that_the_masks_allow_are_never_refused():
    rng = np.random.default_rng(0)
    env = make(world=SHORT_WORLD, action="slots", invalid="raise")
    env.reset(seed=0)
    places = []
    for _ in range(400):
        _, _, done, _, info = env.step(rng.choice(np.flatnonzero(env.action_masks())))
        assert not info["repaired"]
        if done:
            places.append(info["vertical_position"])
            env.reset()
    assert set(places) >= {-1, 0, 1, 2}
    batch = make_vec(50, world=SHORT_WORLD, action="slots", invalid="raise")
    batch.reset(seed=0)
    for _ in range(40):
        allowed = np.where(batch.action_masks(), rng.random((50, N + 1)), -1.0)
        assert not batch.step(allowed.argmax(axis=1))[4]["repaired"].any()


@every_action
@every_observation
def test_a_page_of_a_batch_looks_as_in_a_single_environment(action, observation):
    settings = {"action": action, "observation": observation, "world": SHORT_WORLD}
    queries = [0, 1, 2, LOCATION, WITHOUT]
    batch = make_vec(5, invalid="repair", **settings)
    singles = [make(invalid="repair", **settings) for _ in queries]
    batch.reset(seed=0, options={"query": queries})
    for query, single in zip(queries, singles, strict=True):
        single.reset(seed=0, options={"query": query})
    batch.action_space.seed(3)
    running = np.ones(5, dtype=bool)
    for _ in range(SLOTS + 1 if action == "slots" else 1):
        actions = batch.action_space.sample()
        seen, _, done, _, info = batch.step(actions)
        for row in np.flatnonzero(running):
            observed, _, terminated, _, one = singles[row].step(actions[row])
            assert terminated == done[row]
            source = info["final_info"] if done[row] else info
            if done[row]:
                shown = info["final_obs"][row]
            elif observation == "both":
                shown = {key: value[row] for key, value in seen.items()}
            else:
                shown = seen[row]
            assert data_equivalence(observed, shown, exact=True)
            for key in ("query", "ranking", "repaired", "vertical", "vertical_position"):
                np.testing.assert_array_equal(source[key][row], one[key])
        running &= ~done
    assert not running.any()


def test_features_tell_the_type_of_the_block():
    env = make()
    for query, kind in enumerate(WORLD.vertical):
        seen = env.reset(seed=0, options={"query": query})[0]
        expected = np.arange(4) == kind
        assert (seen[:, 4:] == expected).all()


def test_observations_of_slots_tell_where_the_block_stands():
    env = make(action="slots", observation="ids")
    env.reset(seed=0, options={"query": 2})
    env.step(3)
    assert env.step(N)[0].tolist() == [2, 0, 0, 0, 1, 0, 0, 0, 2]
    env = make(action="slots")
    env.reset(seed=0, options={"query": 2})
    env.step(3)
    seen = env.step(N)[0]
    np.testing.assert_allclose(seen[:, -1], 2 / (SLOTS + 1), rtol=1e-6)
    assert seen[3, 4] == pytest.approx(1 / SLOTS)


# Arguments


@loop_over(
    ("settings", "named"),
    [
        ({"world": small_world()}, "needs a world with verticals, and this one has none"),
        ({"user": "DBN"}, r"user must be .* a true user of verticals \(FCM, VCM\), not 'DBN'"),
        ({"reward": "ndcg"}, "reward must be one of clicks, expected_clicks, satisfied"),
        ({"user_params": {"patience": 1}}, "patience"),
        ({"world": 3}, "world must be"),
    ],
)
def test_a_bad_argument_is_named(settings, named):
    for maker in (make, make_vec):
        with pytest.raises((ValueError, TypeError), match=named):
            maker(**settings)


def test_a_model_of_fewer_types_is_refused_at_once():
    tables = np.full((SLOTS, SLOTS), 0.4), np.full((2, SLOTS + 1), 0.7), np.full(2 * SLOTS, 0.3)
    model = clickmodels.FCM(np.full((6, N), 0.5), *tables)
    with pytest.raises(ValueError, match="this FCM knows 2 types"):
        make(click_model=model)


def test_parameters_reach_the_user():
    env = make(user="VCM", user_params={"satisfied": False})
    assert env.model.label == "VCM"
    assert not env.model.satisfied_without_click.any()


@loop_over(
    ("action", "given"),
    [
        ("scores", np.zeros(N)),
        ("ranking", np.array(RANKING)),
        ("ranking", np.array([*RANKING, PLACES])),
        ("ranking", np.array([*RANKING, -1])),
        ("slots", np.array(N + 1)),
        ("slots", np.array(-1)),
    ],
)
def test_a_bad_action_is_named(action, given):
    env, batch = make(action=action), make_vec(action=action)
    env.reset(seed=0)
    batch.reset(seed=0)
    with pytest.raises(ValueError, match=r"^action\b"):
        env.step(given)
    with pytest.raises(ValueError, match=r"^actions\b"):
        batch.step(np.stack([given] * 4))


# Pictures


@every_action
def test_text_shows_the_block_between_the_results(action):
    env = make(action=action, render_mode="ansi")
    show(env, 2, query=1, seed=0)
    lines = env.render().splitlines()
    assert lines[3] == "   [ images ]"
    assert [line.split()[2] for line in lines if "document" in line] == [str(d) for d in RANKING]
    batch = make_vec(num_envs=3, action=action, render_mode="ansi")
    batch.reset(seed=0, options={"query": [1, 1, LOCATION]})
    for given in steps_of(action, RANKING, 2):
        batch.step(np.stack([given] * 3))
    assert [text.splitlines()[3] for text in batch.render()] == [
        "   [ images ]", "   [ images ]", "   [ location ]"
    ]  # fmt: skip


def test_text_says_who_is_satisfied_by_the_block():
    env = make(action="ranking", render_mode="ansi", user_params={"satisfied": [0, 1, 0, 0]})
    env.reset(seed=0)
    titles = set()
    for _ in range(30):
        show(env, 0, query=1)
        titles.add(env.render().splitlines()[0])
    assert "query 1: 0 clicks, satisfied by the block" in titles


def test_pictures_show_the_block_and_have_one_size():
    pytest.importorskip("PIL")
    pictures = []
    for place in (-1, 0, 3):
        env = make(action="ranking", render_mode="rgb_array", user_params={"floor": 0})
        show(env, place, query=1, seed=0)
        pictures.append(env.render())
    assert len({picture.shape for picture in pictures}) == 1
    green = [np.argwhere((picture == (27, 120, 85)).all(axis=2)) for picture in pictures]
    assert len(green[0]) == 0
    assert green[1][:, 0].max() < green[2][:, 0].min()


def test_a_learned_environment_has_no_names_of_types():
    tables = np.full((SLOTS, SLOTS), 0.4), np.full((4, SLOTS + 1), 0.7), np.full(2 * SLOTS, 0.3)
    model = clickmodels.FCM(np.full((6, N), 0.5), *tables)
    env = make(click_model=model, render_mode="ansi", action="ranking")
    show(env, 0, query=1, seed=0)
    assert env.render().splitlines()[1] == "   [ type 1 ]"


def test_the_default_world_is_the_embedded_one_with_verticals():
    assert gym.make(ENV_ID).unwrapped.world is data.embedded_vertical_world()


def test_a_user_and_a_click_model_are_one_too_many():
    with pytest.raises(ValueError, match="give user or click_model, not both"):
        make(user="FCM", click_model=clickmodels.true_user("FCM", WORLD, slots=SLOTS))
