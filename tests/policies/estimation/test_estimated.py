"""The policy that made a log: which kind is chosen, what it carries, when it is doubted."""

from __future__ import annotations

import dataclasses
import warnings

import numpy as np
import pytest

from clickgym.data import ClickLog, World
from clickgym.policies import (
    PlackettLuce,
    Policy,
    Ranker,
    UncertainPropensities,
    Uniform,
    estimate_logging,
)
from clickgym.policies.estimation.page_counts import PageCounts
from clickgym.policies.estimation.short_pages import ShortPages

Q, N, K = 4, 6, 3
WORLD = World(np.zeros((Q, N), dtype=int))
WEIGHTS = np.random.default_rng(0).random((Q, N)) + 0.05


def show(policy, n=4000, seed=0):
    rng = np.random.default_rng(seed)
    query = rng.integers(0, Q, n)
    ranking = policy.sample(query, rng)
    return ClickLog(query, ranking, np.zeros(ranking.shape, dtype=bool))


def few_pages(n=4000, seed=0):
    """Three pages a query, at rates that no Plackett-Luce weights have."""
    rng = np.random.default_rng(seed)
    query = rng.integers(0, Q, n)
    pages = np.array([[0, 1, 2], [2, 1, 0], [3, 4, 5]])
    ranking = pages[rng.choice(3, n, p=[0.5, 0.3, 0.2])]
    return ClickLog(query, ranking, np.zeros(ranking.shape, dtype=bool))


def test_a_uniform_log_is_uniform_and_never_doubted():
    for seed in range(20):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = estimate_logging(show(Uniform(WORLD, K), 200 * (seed + 1), seed), WORLD)
        assert found.kind == "uniform"
        assert isinstance(found.plackett_luce, Uniform)
        assert not found.doubts


def test_a_plackett_luce_log_gives_its_weights():
    policy = PlackettLuce(WEIGHTS, 0.7, K)
    log = show(policy, 100_000)
    found = estimate_logging(log, WORLD)
    assert found.kind == "plackett-luce"
    assert found.policy is found.plackett_luce
    assert max(found.held_out, key=found.held_out.get) == "plackett-luce"
    expected = policy.log_prob(log.query, log.ranking)
    difference = found.log_prob(log.query, log.ranking) - expected
    assert np.abs(difference).max() < 0.15
    assert np.exp(-difference).mean() == pytest.approx(1.0, abs=0.001)


def test_a_log_of_few_pages_is_counted():
    log = few_pages()
    found = estimate_logging(log, WORLD)
    assert found.kind == "page counts"
    assert isinstance(found.policy, PageCounts)
    assert isinstance(found.plackett_luce, PlackettLuce)
    query = np.arange(Q)
    chance = np.exp(found.log_prob(query, np.tile([3, 4, 5], (Q, 1))))
    shown = (log.ranking[:, 0] == 3).astype(float)
    share = np.bincount(log.query, shown) / np.bincount(log.query)
    np.testing.assert_allclose(chance, share, atol=0.01)


def test_a_kind_can_be_given_and_the_likelihoods_of_all_are_carried():
    log = show(PlackettLuce(WEIGHTS, 0.7, K))
    for kind in ("uniform", "plackett-luce", "page counts"):
        found = estimate_logging(log, WORLD, kind=kind)
        assert found.kind == found.estimated == kind
        assert set(found.held_out) == {"uniform", "plackett-luce", "page counts"}
    with pytest.raises(ValueError, match="kind"):
        estimate_logging(log, WORLD, kind="counts")


def test_weights_of_rows_count_as_impressions():
    log = show(PlackettLuce(WEIGHTS, 0.7, K))
    plain, folded = estimate_logging(log, WORLD), estimate_logging(log.compress(), WORLD)
    np.testing.assert_allclose(plain.plackett_luce.weights, folded.plackett_luce.weights, 1e-3)


def test_the_same_seed_gives_the_same_estimate():
    log = few_pages(500)
    first, second = (estimate_logging(log, WORLD, seed=3) for _ in range(2))
    assert first.held_out == second.held_out
    assert first.held_out != estimate_logging(log, WORLD, seed=4).held_out


def test_a_deterministic_log_is_doubted():
    ranker = Ranker(WEIGHTS, K)
    with pytest.warns(UncertainPropensities, match="looks deterministic: 100"):
        found = estimate_logging(show(ranker), WORLD)
    assert "deterministic" in repr(found)
    log = show(ranker)
    assert np.exp(found.log_prob(log.query, log.ranking)).min() > 0.9


def test_queries_that_were_asked_once_are_doubted():
    world = World(np.zeros((300, N), dtype=int))
    policy = Uniform(world, K)
    query = np.arange(300)
    ranking = policy.sample(query, np.random.default_rng(0))
    log = ClickLog(query, ranking, np.zeros(ranking.shape, dtype=bool))
    with pytest.warns(UncertainPropensities, match="100% of the impressions are of queries"):
        estimate_logging(log, world)


def test_a_short_log_is_doubted():
    weights = np.random.default_rng(1).random((400, 30)) ** 8
    world = World(np.zeros((400, 30), dtype=int))
    rng = np.random.default_rng(2)
    query = rng.integers(0, 400, 1600)
    ranking = PlackettLuce(weights, 1.0, 10).sample(query, rng)
    log = ClickLog(query, ranking, np.zeros(ranking.shape, dtype=bool))
    with pytest.warns(UncertainPropensities, match="too short"):
        found = estimate_logging(log, world)
    assert found.kind == "plackett-luce"


def test_pages_of_different_lengths_have_their_probabilities():
    policy = ShortPages(PlackettLuce(WEIGHTS, 0.7, K), np.tile([0.0, 0.2, 0.3, 0.5], (Q, 1)))
    log = show(policy, 50_000)
    found = estimate_logging(log, WORLD)
    assert isinstance(found.policy, ShortPages)
    expected = policy.log_prob(log.query, log.ranking)
    assert np.abs(found.log_prob(log.query, log.ranking) - expected).max() < 0.3


def test_queries_that_the_log_never_asks_are_uniform():
    log = show(PlackettLuce(WEIGHTS, 0.7, K))
    found = estimate_logging(log[log.query != 2], WORLD)
    assert found.kind == "plackett-luce"
    assert np.ptp(found.plackett_luce.weights[2]) == 0


def test_it_belongs_to_the_world_and_loads_as_it_was(tmp_path):
    found = estimate_logging(few_pages(), WORLD)
    assert found.fingerprint == WORLD.fingerprint
    found.save(tmp_path / "logging")
    again = Policy.load(tmp_path / "logging")
    for name in ("kind", "held_out", "doubts", "estimated", "fingerprint"):
        assert getattr(again, name) == getattr(found, name), name
    with pytest.raises(ValueError, match="another world"):
        found.check_world(World(np.ones((Q, N), dtype=int)))
    other = dataclasses.replace(few_pages(), fingerprint="0" * 64)
    with pytest.raises(ValueError, match="another world"):
        estimate_logging(other, WORLD)


def test_a_log_of_one_impression_is_uniform_and_doubted():
    with pytest.warns(UncertainPropensities, match="asked only once"):
        found = estimate_logging(show(Uniform(WORLD, K), 1), WORLD)
    assert found.kind == "uniform"
