"""Off-policy estimators against enumeration, closed forms, and their own intervals."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest
from looping import loop_over
from slates import (
    CANDIDATES,
    EQUAL,
    POLICIES,
    RANKER,
    UNIFORM,
    WEIGHTS,
    WORLD,
    K,
    N,
    Q,
    any_reward,
    indicators,
    moments_of,
    pages_of,
    product,
    value_of,
    whole_log,
)

from clickgym import data, evaluation, policies
from clickgym.evaluation import estimate
from clickgym.policies import PlackettLuce, Ranker

LOGGING = ["Uniform", "PlackettLuce", "PlackettLuce of equal weights", "Product", "mixture"]
TARGETS = ["Uniform", "PlackettLuce at 0.3", "Ranker"]
every_pair = loop_over(
    ("logging", "target"), [(POLICIES[one], POLICIES[two]) for one in LOGGING for two in TARGETS]
)
ndcg = partial(evaluation.metric_rewards, "ndcg", world=WORLD)
err = partial(evaluation.metric_rewards, "err", world=WORLD)


def pi_by_definition(log, rewards, logging, target):
    """Equation 6, row by row, with a dense pseudoinverse of Γ by enumeration."""
    total = 0.0
    for query in range(Q):
        gamma = moments_of(logging, query)[1].reshape(N * K, N * K)
        inverse = np.linalg.pinv(gamma, rcond=1e-11, hermitian=True)
        marginals = moments_of(target, query)[0].reshape(-1)
        rows = log.query == query
        shown = indicators(log.ranking[rows]).reshape(-1, N * K)
        total += (log.weight * rewards)[rows] @ (shown @ inverse @ marginals)
    return total / log.weight.sum()


# Enumeration: a log with every page as often as it is shown


@every_pair
def test_pi_is_its_definition(logging, target):
    log, rewards = whole_log(logging)
    expected = pi_by_definition(log, rewards, logging, target)
    assert estimate("pi", log, rewards, logging, target) == pytest.approx(expected, abs=1e-9)


@every_pair
def test_ips_is_the_value(logging, target):
    log, rewards = whole_log(logging)
    expected = value_of(target, any_reward)
    for name in ("ips", "wips"):  # all weights together are 1 here
        assert estimate(name, log, rewards, logging, target) == pytest.approx(expected, abs=1e-9)


@every_pair
def test_pi_is_the_value_of_ndcg(logging, target):
    log, rewards = whole_log(logging, ndcg)
    expected = value_of(target, ndcg)
    for name in ("pi", "wpi"):
        assert estimate(name, log, rewards, logging, target) == pytest.approx(expected, abs=1e-9)


@every_pair
def test_sigma_and_rho_are_those_of_equation_8(logging, target):
    log, rewards = whole_log(logging)
    got = estimate("pi", log, rewards, logging, target)
    weights = evaluation.PseudoinverseWeights(logging, target, range(Q)).of(log.query, log.ranking)
    assert got.sigma_squared == pytest.approx(log.weight @ weights**2 / log.weight.sum(), rel=1e-9)
    assert got.rho == pytest.approx(np.abs(weights).max(), rel=1e-9)
    assert got.largest_weight == pytest.approx(got.rho, rel=1e-9)


def test_theorem_1_by_hand():
    log, rewards = whole_log(UNIFORM)
    got = estimate("pi", log, rewards, UNIFORM, RANKER, delta=0.1, reward_bound=2.0)
    n, logarithm = log.weight.sum(), math.log(2 / 0.1)
    inner = math.sqrt(2 * got.sigma_squared * logarithm / n)
    assert got.bound == pytest.approx(2.0 * (inner + 2 * (got.rho + 1) * logarithm / (3 * n)))


# Identities


@loop_over("name", ["Uniform", "PlackettLuce", "Product", "mixture"])
def test_pi_is_the_mean_for_the_logging_policy_itself(name):
    policy = POLICIES[name]
    query = np.repeat(np.arange(Q), 50)
    pages = policy.sample(query, np.random.default_rng(0))
    log = data.ClickLog(query, pages, np.zeros(pages.shape, dtype=bool))
    rewards = any_reward(query, pages)
    got = estimate("pi", log, rewards, policy, policy)
    assert got == pytest.approx(rewards.mean(), abs=1e-9)
    assert got.sigma_squared == pytest.approx(1.0)
    assert got.rho == pytest.approx(1.0)


def test_pi_is_ips_for_one_slot():
    logging, target = PlackettLuce(WEIGHTS, slots=1), PlackettLuce(EQUAL, slots=1)
    query = np.repeat(np.arange(Q), 50)
    pages = logging.sample(query, np.random.default_rng(0))
    log = data.ClickLog(query, pages, np.zeros(pages.shape, dtype=bool))
    rewards = np.random.default_rng(1).random(len(log))
    for weighted in ("", "w"):
        one = estimate(f"{weighted}ips", log, rewards, logging, target)
        other = estimate(f"{weighted}pi", log, rewards, logging, target)
        assert one == pytest.approx(other, abs=1e-12)
        assert one.stderr == pytest.approx(other.stderr, abs=1e-12)


def test_pi_of_a_product_is_example_4():
    logging, target = product(empty=False), product(EQUAL, empty=False)
    pages, _ = pages_of(logging, 0)
    got = evaluation.PseudoinverseWeights(logging, target, [0]).of(np.zeros(len(pages), int), pages)
    slots = np.arange(K)
    ratio = target.probs[0, slots, pages] / logging.probs[0, slots, pages]
    np.testing.assert_allclose(got, ratio.sum(axis=1) - K + 1, atol=1e-9)


def test_pi_of_whole_uniform_rankings_is_example_5():
    logging = PlackettLuce(np.ones((1, N)), slots=N)
    target = PlackettLuce(WEIGHTS[:1], slots=N)
    pages, _ = pages_of(logging, 0)
    got = evaluation.PseudoinverseWeights(logging, target, [0]).of(np.zeros(len(pages), int), pages)
    shown = policies.slate_marginals(target, 0)[0][np.arange(N), pages]
    np.testing.assert_allclose(got, shown.sum(axis=1) * (N - 1) - N + 2, atol=1e-9)


# Repetitions: m = 5, l = 3, uniform logging, n = 2,000

ONE = data.World([[0, 3, 1, 4, 2]])
LOGGER = policies.Uniform(ONE, slots=3)
GOOD = Ranker.from_rankings([[1, 4, 0]], 5)
REPETITIONS, PAGES = 1000, 2000


@pytest.fixture(scope="module")
def repeated():
    """1,000 estimates of each kind, for nDCG and ERR with noise: (value, low, high), and truth."""
    rng = np.random.default_rng(5)
    weights = evaluation.PseudoinverseWeights(LOGGER, GOOD, [0])
    query = np.zeros(PAGES, dtype=np.int64)
    rows = {"ndcg": {"ips": [], "wips": [], "pi": [], "wpi": []}, "err": {"ips": [], "pi": []}}
    for _ in range(REPETITIONS):
        pages, log_prob = LOGGER.draw(query, rng)
        log = data.ClickLog(query, pages, np.zeros(pages.shape, dtype=bool), log_prob)
        for metric, names in rows.items():
            mean = evaluation.metric_rewards(metric, query, pages, ONE)
            rewards = (rng.random(PAGES) < mean).astype(float)
            for name, row in names.items():
                options = {"weights": weights} if "pi" in name else {}
                got = estimate(name, log, rewards, LOGGER, GOOD, **options)
                row.append((got.value, got.low, got.high))
    return {
        metric: (
            {name: np.array(row).T for name, row in names.items()},
            evaluation.metric_rewards(metric, [0], GOOD.greedy([0]), ONE)[0],
        )
        for metric, names in rows.items()
    }


@loop_over("name", ["ips", "wips", "pi", "wpi"])
def test_intervals_cover_the_value_as_often_as_they_say(repeated, name):
    rows, truth = repeated["ndcg"]
    _, low, high = rows[name]
    assert 0.90 <= ((low <= truth) & (truth <= high)).mean() <= 0.98


@loop_over(("name", "metric"), [("ips", "ndcg"), ("ips", "err"), ("pi", "ndcg")])
def test_unbiased(repeated, name, metric):
    rows, truth = repeated[metric]
    values = rows[name][0]
    assert abs(values.mean() - truth) < 3.5 * values.std() / math.sqrt(REPETITIONS)


def test_the_bias_of_pi_on_err_is_what_enumeration_says(repeated):
    rows, truth = repeated["err"]
    values = rows["pi"][0]
    pages, chance = pages_of(LOGGER, 0)
    weights = evaluation.PseudoinverseWeights(LOGGER, GOOD, [0])
    query = np.zeros(len(pages), dtype=np.int64)
    rewards = evaluation.metric_rewards("err", query, pages, ONE)
    expected = chance @ (weights.of(query, pages) * rewards)
    assert abs(values.mean() - expected) < 3.5 * values.std() / math.sqrt(REPETITIONS)
    assert abs(expected - truth) > 0.01


def test_pi_varies_less_than_ips(repeated):
    rows, _ = repeated["ndcg"]
    assert rows["pi"][0].std() < 0.7 * rows["ips"][0].std()


def test_candidates_differ_between_queries_here():
    assert CANDIDATES.sum(axis=1).tolist() == [5, 3, 2]
