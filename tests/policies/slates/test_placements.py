"""How often slots show documents, over all pages of a policy."""

from __future__ import annotations

import numpy as np
import pytest
from every_page import OnlySamples
from looping import loop_over
from slates import POLICIES, WORLD, K, N, Q

from clickgym import policies
from clickgym.data import ClickLog
from clickgym.policies.estimation.short_pages import ShortPages
from clickgym.policies.slates.placements import race_placements


@loop_over("name", POLICIES)
def test_agree_with_the_first_moments(name):
    for query in range(Q):
        got = POLICIES[name].placements(query)
        exact = POLICIES[name].slate_moments(query)
        assert exact.exact
        assert got.standard_error is None
        assert got.probabilities == pytest.approx(exact.single, abs=1e-12)


def test_weights_may_span_many_orders_of_magnitude():
    policy = policies.PlackettLuce(10.0 ** np.linspace(-12, 0, 9)[None], slots=6)
    got, exact = policy.placements(0).probabilities, policy.slate_moments(0).single
    assert got == pytest.approx(exact, abs=1e-13)


@loop_over(("n_docs", "slots"), [(30, 10), (100, 60), (300, 10)])
def test_slots_of_long_lists_show_one_document(n_docs, slots):
    logs = np.random.default_rng(0).normal(size=n_docs)
    got = race_placements(logs, slots)
    assert got.sum(axis=1) == pytest.approx(np.ones(slots), abs=1e-12)
    assert (got.sum(axis=0) <= 1.0 + 1e-12).all()
    assert got[0] == pytest.approx(np.exp(logs) / np.exp(logs).sum(), abs=1e-14)


def test_drawn_ones_are_near_and_know_their_error():
    policy = POLICIES["PlackettLuce"]
    got, exact = OnlySamples(policy).placements(0, seed=1), policy.placements(0)
    assert got.standard_error is not None
    off = (got.probabilities - exact.probabilities) / got.standard_error
    assert np.abs(off).max() < 4.0
    assert 0.5 < off.std() < 1.5


def test_draws_follow_the_seed():
    policy = OnlySamples(POLICIES["PlackettLuce"])
    first, again, other = (policy.placements(0, 1000, seed).probabilities for seed in (1, 1, 2))
    assert (first == again).all()
    assert (first != other).any()


def test_a_mixture_with_drawn_placements_knows_their_error():
    known = POLICIES["PlackettLuce"]
    drawn = OnlySamples(known)
    drawn.has_log_prob = True  # as a mixture asks for
    mixture = policies.Mixture([known, drawn], [0.75, 0.25])
    got, single = mixture.placements(0), drawn.placements(0)
    assert got.standard_error == pytest.approx(0.25 * single.standard_error)


@loop_over("kind", ["uniform", "plackett-luce", "page counts"])
def test_of_an_estimated_policy(kind):
    rng = np.random.default_rng(0)
    query = rng.integers(0, Q, 3000)
    ranking = POLICIES["PlackettLuce"].sample(query, rng)
    log = ClickLog(query, ranking, np.zeros((3000, K), dtype=bool))
    policy = policies.estimate_logging(log, WORLD, kind)
    got, exact = policy.placements(0), policy.slate_moments(0)
    assert got.probabilities.shape == (K, N)
    assert got.probabilities == pytest.approx(exact.single, abs=1e-12)
    kept = policies.Remembering(policy).placements(0)
    assert (kept.probabilities == got.probabilities).all()


def test_short_pages_leave_their_last_slots_empty():
    lengths = np.zeros((Q, K + 1))
    lengths[0] = [0.0, 0.25, 0.25, 0.5]
    lengths[1:, 0] = 1.0
    policy = ShortPages(POLICIES["PlackettLuce"], lengths)
    got = policy.placements(0).probabilities
    assert got.sum(axis=1) == pytest.approx([1.0, 0.75, 0.5])
    assert got == pytest.approx(policy.slate_moments(0).single, abs=1e-12)
