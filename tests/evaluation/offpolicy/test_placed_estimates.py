"""Off-policy estimates where policies place blocks: unbiased over all pages and places."""

from __future__ import annotations

import itertools
import warnings
from dataclasses import replace

import numpy as np
import pytest
from looping import loop_over

from clickgym import envs
from clickgym.clickmodels import UBM, true_user
from clickgym.data import ClickLog, World
from clickgym.evaluation import NoOverlap, estimate, importance_weights, slate_rewards, value
from clickgym.policies import Mixture, Placed, PlackettLuce, Ranker, Uniform, page_log_prob
from clickgym.policies.propensities import WrongLogging, check_logging

K, N = 3, 4
RELEVANCE = [[3, 1, 0, 4], [2, 4, -1, -1], [1, 2, 3, 0]]
CANDIDATES = np.array(RELEVANCE) >= 0
FEATURES = np.random.default_rng(0).normal(size=(3, N, 2)).astype(np.float32)
WORLD = World(
    np.maximum(RELEVANCE, 0), FEATURES, candidates=CANDIDATES, vertical=[1, 0, -1],
    query_probs=[0.5, 0.3, 0.2],
)  # fmt: skip
TABLE = np.array([[0.1, 0.2, 0.3, 0.2, 0.2], [0.0, 0.1, 0.2, 0.3, 0.4], [0.5, 0.5, 0, 0, 0]])
LOGGING = Placed(Uniform(WORLD, K), TABLE, WORLD)
WEIGHTS = np.where(CANDIDATES, [[1.0, 2.0, 0.5, 1.5]], 0.0)
RANKER = Ranker(np.where(CANDIDATES, WORLD.relevance, -np.inf), K, world=WORLD)
TARGETS = {
    "drawn rankings": Placed(PlackettLuce(WEIGHTS, 1.0, K), [0.0, 0.3, 0.1, 0.6, 0.0], WORLD),
    "one ranking": Placed(RANKER, [0.0, 0.0, 0.25, 0.25, 0.5], WORLD),
    "no block": PlackettLuce(WEIGHTS, 1.0, K),
}


def every_page(logging):
    """A log with every page and place once, weighted by its probability."""
    rows = []
    for query in range(3):
        documents = np.flatnonzero(CANDIDATES[query])
        for order in itertools.permutations(documents, min(K, len(documents))):
            page = [*order, *[-1] * (K - len(order))]
            for position in range(-1, len(order) + 1):
                log_prob = page_log_prob(logging, [query], [page], [position], WORLD)[0]
                if log_prob > -np.inf:
                    rows.append((query, page, position, log_prob))
    query, ranking, position, log_prob = (np.array(column) for column in zip(*rows, strict=True))
    weight = WORLD.query_probs[query] * np.exp(log_prob) * 1e6
    vertical = np.where(position >= 0, WORLD.vertical[query], -1)
    return ClickLog(
        query.astype(np.int32), ranking, np.zeros(ranking.shape, bool), log_prob, weight,
        vertical=vertical.astype(np.int32), vertical_position=position.astype(np.int32),
        fingerprint=WORLD.fingerprint,
    )  # fmt: skip


LOG = every_page(LOGGING)
USER = true_user("FCM", WORLD, slots=K)
REWARDS = USER.expected_clicks(
    LOG.query, LOG.ranking, vertical=LOG.vertical, vertical_position=LOG.vertical_position
)
SUMS = np.random.default_rng(1).random((3, K, N + 1, K + 2))  # query, slot, document, place
SUMS[:, :, N] = 0.0  # empty slots earn nothing


def sums_of(query, ranking, position):
    """Rewards that are sums over slots, given the block."""
    return SUMS[query[:, None], np.arange(K), ranking, position[:, None] + 1].sum(axis=1)


def exact_value(target, reward):
    """The target's value by its own enumerated pages; ``reward(query, ranking, position)``."""
    pages = every_page(target)
    rewards = reward(pages.query, pages.ranking, pages.vertical_position)
    return float(pages.weight @ rewards) / 1e6


@pytest.mark.parametrize("logged", [True, False])
@pytest.mark.parametrize("target", ["drawn rankings", "one ranking"])
@pytest.mark.parametrize("name", ["ips", "wips"])
def test_importance_weights_include_the_place(name, target, logged):
    target = TARGETS[target]
    log = LOG if logged else replace(LOG, log_propensity=None)
    found = estimate(name, log, REWARDS, LOGGING, target, WORLD)
    assert found.value == pytest.approx(value(target, USER, WORLD).value, abs=1e-9)
    assert found.mean_weight == pytest.approx(1.0, abs=1e-9)


def test_a_target_without_blocks_is_estimated_by_pages_without_them():
    table = TABLE.copy()
    table[1] = 0.2
    logging = Placed(Uniform(WORLD, K), table, WORLD)
    log, target = every_page(logging), TARGETS["no block"]
    rewards = USER.expected_clicks(
        log.query, log.ranking, vertical=log.vertical, vertical_position=log.vertical_position
    )
    weights = importance_weights(log, target, logging, WORLD)
    assert not weights[log.vertical >= 0].any()
    found = estimate("ips", log, rewards, logging, target, WORLD)
    assert found.value == pytest.approx(value(target, USER, WORLD).value, abs=1e-9)


@pytest.mark.parametrize("target", ["drawn rankings", "one ranking"])
@pytest.mark.parametrize("name", ["pi", "wpi"])
def test_pseudoinverse_estimates_are_unbiased_for_sums_over_slots_given_the_block(name, target):
    target = TARGETS[target]
    rewards = sums_of(LOG.query, LOG.ranking, LOG.vertical_position)
    found = estimate(name, LOG, rewards, LOGGING, target, WORLD)
    assert found.value == pytest.approx(exact_value(target, sums_of), abs=1e-9)
    assert found.bound is None


def test_without_blocks_pi_still_has_its_bound():
    plain = Uniform(WORLD, K)
    log = envs.collect(WORLD, USER, plain, 500, seed=0)
    found = estimate("pi", log, slate_rewards("clicks", log), plain, RANKER, WORLD)
    assert found.bound is not None


WRONG = UBM(np.where(CANDIDATES, 0.3, 0.0), np.full((K, K), 0.5))


def direct(name, rewards, target, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # rewards are expected clicks, not those of the log
        return estimate(name, LOG, rewards, LOGGING, target, WORLD, **options)


def test_the_direct_method_asks_the_model_about_the_targets_blocks():
    target = TARGETS["one ranking"]
    found = direct("dm-model", REWARDS, target, model=USER)
    assert found.value == pytest.approx(value(target, USER, WORLD).value, abs=1e-9)
    drawn = TARGETS["drawn rankings"]
    found = direct("dm-model", REWARDS, drawn, model=USER, samples=4000)
    assert found.value == pytest.approx(value(drawn, USER, WORLD).value, abs=0.02)


@pytest.mark.parametrize("model", [WRONG, true_user("VCM", WORLD, slots=K)])
def test_doubly_robust_estimates_are_unbiased_whatever_the_model(model):
    target = TARGETS["one ranking"]
    found = direct("dr-ips", REWARDS, target, direct=model)
    assert found.value == pytest.approx(value(target, USER, WORLD).value, abs=1e-9)


def test_doubly_robust_pi_is_unbiased_where_errors_are_sums_over_slots():
    target = TARGETS["one ranking"]
    rewards = sums_of(LOG.query, LOG.ranking, LOG.vertical_position)
    reward = lambda query, ranking: 0.5 * (ranking >= 0).sum(axis=1)  # noqa: E731
    found = direct("dr-pi", rewards, target, direct=WRONG, reward=reward)
    assert found.value == pytest.approx(exact_value(target, sums_of), abs=1e-9)


def test_a_regression_knows_where_the_block_stands():
    log = envs.collect(WORLD, USER, LOGGING, 4000, seed=0)
    rewards = log.vertical_position + 1.0 + 10.0 * (log.vertical == 1)
    for place in (0, 2):
        target = Placed(RANKER, place, WORLD)
        found = estimate("dm-tree", log, rewards, LOGGING, target, WORLD)
        expected = WORLD.query_probs @ np.array([place + 11.0, place + 1.0, 0.0])
        assert found.value == pytest.approx(expected, abs=0.2)


def test_the_satisfied_reward_asks_with_blocks_too():
    target, nothing = TARGETS["one ranking"], np.zeros(LOG.ranking.shape, bool)
    blocks = {"vertical": LOG.vertical, "vertical_position": LOG.vertical_position}
    any_click = -np.expm1(USER.log_likelihood(LOG.query, LOG.ranking, nothing, **blocks))
    found = direct("dm-model", any_click, target, model=USER, reward="satisfied")
    weighted = direct("ips", any_click, target)
    assert found.value == pytest.approx(weighted.value, abs=1e-9)


# What is refused, and what is warned about


def test_places_that_depend_on_the_ranking_are_refused_slot_by_slot():
    mixture = Mixture([TARGETS["drawn rankings"], LOGGING], [0.5, 0.5])
    with pytest.raises(ValueError, match="may place blocks by the ranking"):
        estimate("pi", LOG, REWARDS, LOGGING, mixture, WORLD)


def test_a_place_that_logging_never_has_is_named():
    top = Placed(Uniform(WORLD, K), 0, WORLD)
    log = replace(LOG, log_propensity=None)
    with pytest.raises(ValueError, match=r"row \d+ shows .* block at .* never does"):
        estimate("ips", log, REWARDS, top, LOGGING, WORLD)


def test_a_target_that_places_elsewhere_has_no_overlap():
    top, low = (Placed(Uniform(WORLD, K), place, WORLD) for place in (0, 2))
    log = every_page(top)
    with pytest.warns(NoOverlap, match="never shows"):
        estimate("ips", log, np.ones(len(log)), top, low, WORLD)


@loop_over("name", ["pi", "wpi", "dr-pi"])
def test_slot_by_slot_too_a_place_that_logging_never_has_is_unknown(name):
    top = Placed(Uniform(WORLD, K), 0, WORLD)
    half = Placed(Uniform(WORLD, K), [0.0, 0.5] + [0.5 / K] * K, WORLD)
    log = every_page(top)
    with pytest.warns(NoOverlap, match=r"where the logging policy never does, .* probability 0\.5"):
        estimate(name, log, np.ones(len(log)), top, half, WORLD)


def test_the_target_needs_a_world_for_the_types_of_its_blocks():
    with pytest.raises(ValueError, match="world is None, but the target places blocks"):
        estimate("dm-model", LOG, REWARDS, LOGGING, TARGETS["one ranking"], None, model=USER,
                 reward=lambda query, ranking: np.zeros(len(query)))  # fmt: skip


def test_the_propensities_of_other_places_are_not_loggings():
    log = envs.collect(WORLD, USER, LOGGING, 2000, seed=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_logging(log, LOGGING, WORLD)
        check_logging(replace(log, log_propensity=None), LOGGING, WORLD)
    other = Placed(Uniform(WORLD, K), 0.2 * np.ones(K + 2), WORLD)
    with pytest.warns(WrongLogging, match="log-propensity"):
        check_logging(log, other, WORLD)
    with pytest.warns(WrongLogging, match="log-propensity"):
        check_logging(log, Uniform(WORLD, K), WORLD)


def test_blocks_that_no_policy_decides_about_change_nothing():
    plain, target = Uniform(WORLD, K), PlackettLuce(WEIGHTS, 1.0, K)
    log = envs.collect(WORLD, USER, plain, 500, seed=0)
    types = np.where(WORLD.vertical[log.query] >= 0, 0, -1).astype(np.int32)
    blocks = replace(log, vertical=types, vertical_position=types)
    rewards = slate_rewards("clicks", log)
    with_blocks, without = (
        estimate("ips", one, rewards, plain, target, WORLD) for one in (blocks, log)
    )
    assert with_blocks.value == without.value
