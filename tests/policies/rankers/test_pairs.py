"""Rankers learned from pairs, naive and counterfactual ones."""

from __future__ import annotations

import numpy as np
import pytest
from every_page import small_log
from looping import loop_over
from scipy.optimize import check_grad

from clickgym import clickmodels, data, envs, evaluation, policies
from clickgym.policies import Preferences, fit_linear_pairs, fit_tree_pairs
from clickgym.policies.rankers.pairs import _PairLoss

TREES = {"n_estimators": 50, "min_child_samples": 5}
FITS = {
    "linear": fit_linear_pairs,
    "trees": lambda pairs, world, slots=3: fit_tree_pairs(pairs, world, slots, **TREES),
}
RNG = np.random.default_rng(0)
FEATURES = RNG.normal(size=(40, 8, 3))
QUALITY = 1.0 / (1.0 + np.exp(-2.0 * FEATURES[:, :, 0]))  # the first feature says it all
WORLD = data.World(np.zeros((40, 8), dtype=int), FEATURES)
USER = clickmodels.PBM(QUALITY, [0.9, 0.3, 0.05])
# Shows what the second feature says, most of the time.
LOGGING = policies.stochastic(FEATURES[:, :, 1], 0.3, slots=3, world=WORLD)
LOG = envs.collect(WORLD, USER, LOGGING, 20_000, seed=0)
COUNTERFACTUAL = evaluation.counterfactual_pairs(LOG, LOGGING).preferences()
NAIVE = evaluation.naive_pairs(LOG).preferences()


@loop_over("kind", FITS)
def test_counterfactual_pairs_make_better_rankers_than_naive_ones(kind):
    fair, naive = (FITS[kind](pairs, WORLD, slots=3) for pairs in (COUNTERFACTUAL, NAIVE))
    value = {
        name: evaluation.value(learner.policy(WORLD), USER, WORLD).value
        for name, learner in (("fair", fair), ("naive", naive))
    }
    best = evaluation.value(policies.Ranker(QUALITY, 3, world=WORLD), USER, WORLD).value
    assert value["fair"] > 0.97 * best
    assert value["fair"] > value["naive"] + 0.01


def test_linear_coefficients_of_naive_pairs_follow_the_logging_policy():
    fair, naive = (fit_linear_pairs(pairs, WORLD, 3) for pairs in (COUNTERFACTUAL, NAIVE))
    share = [
        learner.model.coefficients[1] / learner.model.coefficients[0] for learner in (fair, naive)
    ]
    assert abs(share[0]) < 0.1
    assert share[1] > 0.3


def test_the_slope_of_the_loss():
    pairs = _PairLoss.of(NAIVE, WORLD)
    scores = np.random.default_rng(1).normal(size=len(pairs.features))
    off = check_grad(lambda x: pairs.at(x)[0], lambda x: pairs.at(x)[1], scores)
    assert off < 1e-5
    step = 1e-5 * np.eye(len(scores))[0]
    bend = (pairs.at(scores + step)[1] - pairs.at(scores - step)[1])[0] / 2e-5
    assert pairs.at(scores)[2][0] == pytest.approx(bend, rel=1e-4)


def test_the_linear_fit_is_at_the_bottom_of_its_loss():
    learner = fit_linear_pairs(COUNTERFACTUAL, WORLD, penalty=0.0)
    pairs = _PairLoss.of(COUNTERFACTUAL, WORLD)
    _, slope, _ = pairs.at(learner.model.predict(pairs.features))
    assert np.abs(slope @ pairs.features).max() < 1e-4


def test_preferences_are_the_samples_of_the_metric():
    log, policy, table = small_log(n=400)
    pairs = evaluation.counterfactual_pairs(log, policy)
    found = pairs.preferences()
    own, other = table[found.query, found.preferred], table[found.query, found.other]
    wrong = found.weight @ ((other > own) + 0.5 * (other == own))
    assert wrong / found.weight.sum() == pytest.approx(pairs.disagreement(table).value)
    assert found.weight.sum() == pytest.approx((1.0 - pairs.rejected) * pairs.samples)
    rows = np.stack([found.query, found.preferred, found.other], axis=1)
    assert len(np.unique(rows, axis=0)) == len(rows)


@loop_over("kind", FITS)
def test_the_policy_deploys_and_is_saved(kind, tmp_path):
    policy = FITS[kind](COUNTERFACTUAL, WORLD, slots=3).policy(WORLD)
    policy.save(tmp_path / "policy.safetensors")
    again = policies.Policy.load(tmp_path / "policy.safetensors")
    every = np.arange(WORLD.n_queries)
    assert (again.greedy(every) == policy.greedy(every)).all()
    assert again.slots == 3
    again.check_world(WORLD)


def test_trees_follow_the_seed():
    random = {**TREES, "subsample": 0.5, "subsample_freq": 1}
    first, again, other = (
        fit_tree_pairs(COUNTERFACTUAL, WORLD, 3, seed, **random).scores(WORLD) for seed in (1, 1, 2)
    )
    assert (first == again).all()
    assert (first != other).any()


def test_weights_count():
    pairs = Preferences([0, 0], [0, 1], [1, 0], [3.0, 1.0])
    scores = fit_linear_pairs(pairs, WORLD, penalty=0.0).scores(WORLD)[0]
    assert scores[0] - scores[1] == pytest.approx(np.log(3.0), abs=1e-3)


@loop_over("kind", FITS)
def test_refuses_pairs_of_another_world(kind):
    other = data.World(np.zeros((40, 8), dtype=int), FEATURES + 1.0)
    with pytest.raises(ValueError, match="preferences"):
        FITS[kind](COUNTERFACTUAL, other)


@loop_over("kind", FITS)
def test_refuses_a_world_without_features(kind):
    bare = Preferences([0], [0], [1], [1.0])
    with pytest.raises(ValueError, match="features"):
        FITS[kind](bare, data.World(np.zeros((40, 8), dtype=int)))


def test_refuses_documents_that_are_not_there():
    with pytest.raises(ValueError, match=r"documents\[0, 1\] is 8"):
        fit_linear_pairs(Preferences([0], [0], [8], [1.0]), WORLD)


def test_refuses_no_pairs_and_bad_weights():
    none = np.zeros(0, dtype=int)
    with pytest.raises(ValueError, match="no pairs"):
        fit_linear_pairs(Preferences(none, none, none, np.zeros(0)), WORLD)
    with pytest.raises(ValueError, match="weight must be at least 0"):
        Preferences([0], [0], [1], [-1.0])


def test_refuses_a_loss_of_ones_own():
    with pytest.raises(TypeError, match="objective"):
        fit_tree_pairs(COUNTERFACTUAL, WORLD, objective="regression")


def test_trees_learn_from_few_documents():
    world = data.World(np.zeros((1, 8), dtype=int), FEATURES[:1])
    better, worse = FEATURES[0, :, 0].argmax(), FEATURES[0, :, 0].argmin()
    pairs = Preferences([0], [better], [worse], [1.0])
    scores = fit_tree_pairs(pairs, world, slots=3).scores(world)
    assert scores[0, better] > scores[0, worse]


def test_trees_that_cannot_be_are_named():
    pairs = Preferences([0, 0], [1, 2], [0, 0], [1.0, 1.0])
    with pytest.raises(ValueError, match="pairs of 3 documents, which no feature divides into two "
                                         "leaves of at least 2 "):  # fmt: skip
        fit_tree_pairs(pairs, WORLD, min_child_samples=2)
    flat = data.World(np.zeros((40, 8), dtype=int), np.ones_like(FEATURES))
    with pytest.raises(ValueError, match="no feature divides"):
        fit_tree_pairs(pairs, flat)
