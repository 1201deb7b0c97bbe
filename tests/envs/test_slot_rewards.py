"""What each slot has earned of a page's reward, by enumeration of all clicks."""

from __future__ import annotations

import itertools

import gymnasium as gym
import numpy as np
import pytest
from conftest import SLOTS, random_models, small_world
from looping import loop_over
from untrained import network_of

from clickgym import clickmodels
from clickgym.clickmodels import ClickModel
from clickgym.envs import RankingEnv, RankingVectorEnv
from clickgym.envs.rewards import REWARDS, Shown, noiseless

WORLD = small_world(short=True)
VECTORS = np.array(list(itertools.product([False, True], repeat=SLOTS)))
PAGE, SHORT_PAGE = (3, [4, 1, 0, 6, 2]), (1, [2, 0, 1, -1, -1])
BELOW = np.array([[6, 4], [4, 6], [-1, -1], [2, 6]])  # other documents below [4, 1, 0]
COUNTING = ("clicks", "expected_clicks", "conditional_clicks")


class LooksBelow(ClickModel):
    """A model of one's own, of which only the conditionals are known."""

    def __init__(self, of):
        self.of = of

    def relevance(self):
        return self.of.relevance()

    def conditional_click_probs(self, query, ranking, clicks):
        return self.of.conditional_click_probs(query, ranking, clicks)


MODELS = random_models() | {"NCM": clickmodels.NCM(**network_of("NCM").arguments())}
MODELS["own"] = LooksBelow(MODELS["CoCM"])


def mean_shares(name, model, query, ranking):
    """The expectation of the shares over all clicks, (K,), and of the reward."""
    clicks = VECTORS[~VECTORS[:, np.asarray(ranking) < 0].any(axis=1)]
    n = len(clicks)
    pages = np.full(n, query), np.tile(ranking, (n, 1))
    shown = Shown(*pages, clicks, clicks.sum(axis=1), np.zeros(n, dtype=bool))
    weights = np.exp(model.log_likelihood(*pages, clicks))
    reward = REWARDS[name](WORLD, model, SLOTS)
    shares = reward.shares(shown)
    np.testing.assert_allclose(shares.sum(axis=1), reward.rewards(shown), atol=1e-12)
    assert (shares[:, np.asarray(ranking) < 0] == 0).all()
    return weights @ shares, weights @ reward.rewards(shown)


@loop_over(("label", "name"), itertools.product(MODELS, COUNTING))
def test_rewards_that_count_clicks_have_the_mean_of_the_expected_clicks(label, name):
    model = MODELS[label]
    for query, ranking in (PAGE, SHORT_PAGE):
        shares, reward = mean_shares(name, model, query, ranking)
        assert reward == pytest.approx(model.expected_clicks([query], [ranking])[0], abs=1e-12)
        if model.reads_down:
            probs = model.click_probs([query], [ranking])[0]
            np.testing.assert_allclose(shares, probs, atol=1e-12)


@loop_over(("label", "name"), itertools.product(MODELS, REWARDS))
def test_documents_below_never_change_what_those_above_are_expected_to_earn(label, name):
    model, (query, ranking) = MODELS[label], PAGE
    shares = mean_shares(name, model, query, ranking)[0][:3]
    for below in BELOW:
        if not model.reads_down and below[0] < 0:
            continue  # all is the last document's, which is now another
        other = mean_shares(name, model, query, [*ranking[:3], *below])[0][:3]
        np.testing.assert_allclose(other, shares, atol=1e-12)


def test_of_users_who_do_not_read_down_the_last_document_has_all():
    others = {label: model for label, model in MODELS.items() if not model.reads_down}
    assert set(others) == {"CoCM", "own", "FCM", "VCM"}
    for model in others.values():
        for name in COUNTING:
            shares, reward = mean_shares(name, model, *SHORT_PAGE)
            np.testing.assert_allclose(shares, [0, 0, reward, 0, 0], atol=1e-12)


def test_gains_are_what_expected_clicks_rise_by_with_each_document():
    for model in MODELS.values():
        query, ranking = (np.array([part]) for part in PAGE)
        reward = REWARDS["expected_clicks"](WORLD, model, SLOTS)
        nothing = np.zeros((1, SLOTS), dtype=bool)
        gains = reward.gains(Shown(query, ranking, nothing, nothing.sum(axis=1), nothing[:, 0]))[0]
        value = 0.0
        for slot in range(SLOTS):
            part = [*PAGE[1][: slot + 1], *[-1] * (SLOTS - 1 - slot)]
            more = model.expected_clicks(query, [part])[0]
            assert gains[slot] == pytest.approx(more - value, abs=1e-12)
            value = more


def test_other_slot_rewards_are_refused():
    with pytest.raises(ValueError, match="slot_rewards must be True, False or 'gains', not 'all'"):
        RankingEnv(user="PBM", world=WORLD, slots=SLOTS, slot_rewards="all")


def test_conditional_clicks_are_far_less_noisy_than_clicks():
    model, rng = MODELS["NCM"], np.random.default_rng(0)
    query, ranking = np.full(2000, PAGE[0]), np.tile(PAGE[1], (2000, 1))
    clicks = model.sample(query, ranking, rng)
    shown = Shown(query, ranking, clicks, clicks.sum(axis=1), np.zeros(2000, dtype=bool))
    sampled, given = (
        REWARDS[name](WORLD, model, SLOTS).rewards(shown)
        for name in ("clicks", "conditional_clicks")
    )
    assert given.var() < sampled.var() / 4
    assert given.mean() == pytest.approx(model.expected_clicks(query[:1], ranking[:1])[0], abs=0.02)


def test_the_reward_without_noise_is_exact_unless_that_enumerates_prefixes():
    found = {label: noiseless(model) for label, model in MODELS.items()}
    dear = {label for label, name in found.items() if name == "conditional_clicks"}
    assert dear == {"NCM", "own"}
    assert {found[label] for label in set(found) - dear} == {"expected_clicks"}


@loop_over(
    ("action", "reward", "asked"),
    itertools.product(
        ("scores", "ranking", "slots"), ("clicks", "expected_clicks", "ndcg"), (True, "gains")
    ),
)
def test_info_has_the_shares_of_pages_that_ended_and_zeros_before(action, reward, asked):
    settings = {
        "user": MODELS["CoCM"], "world": WORLD, "slots": SLOTS, "action": action, "reward": reward,
        "invalid": "repair", "slot_rewards": asked,
    }  # fmt: skip
    batch = RankingVectorEnv(8, **settings)
    batch.action_space.seed(0)
    info = batch.reset(seed=0)[1]
    ended = 0
    for _ in range(2 * SLOTS):
        assert (info["slot_rewards"] == 0).all()
        _, rewards, done, _, info = batch.step(batch.action_space.sample())
        if done.any():
            shares, ranking = (info["final_info"][key] for key in ("slot_rewards", "ranking"))
            np.testing.assert_allclose(shares.sum(axis=1), rewards, atol=1e-12)
            assert (shares[~done] == 0).all()
            assert (shares[ranking < 0] == 0).all()
            ended += (shares > 0).sum()
    assert ended
    single: gym.Env = RankingEnv(**settings)
    single.action_space.seed(0)
    assert (single.reset(seed=0)[1]["slot_rewards"] == np.zeros(SLOTS)).all()
    done = False
    while not done:
        _, earned, done, _, info = single.step(single.action_space.sample())
        assert info["slot_rewards"].sum() == pytest.approx(earned, abs=1e-12)
