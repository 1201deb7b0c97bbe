"""Drawn marginals: their halves, the error that they bring, and policies that keep them."""

from __future__ import annotations

import numpy as np
import pytest
from slates import POLICIES, RANKER, UNIFORM, WORLD, K, N, Q

from clickgym import clickmodels, envs, evaluation, policies
from clickgym.evaluation import PseudoinverseWeights, estimate
from clickgym.policies import Policy, Remembering

KNOWN = POLICIES["PlackettLuce"]
USER = clickmodels.PBM(np.random.default_rng(0).random((Q, N)), [0.9, 0.6, 0.4])
LOG = envs.collect(WORLD, USER, KNOWN, 2000, seed=0)
CLICKS = evaluation.slate_rewards("clicks", LOG)
every_pi = pytest.mark.parametrize("name", ["pi", "wpi", "dr-pi"])


class Drawing(Policy):
    """Draws like another policy, and cannot say what it shows."""

    def __init__(self, policy):
        self.policy, self.slots, self.shape = policy, policy.slots, policy.shape

    def draw(self, query, rng):
        return self.policy.draw(query, rng)

    def log_prob(self, query, ranking):
        return self.policy.log_prob(query, ranking)


DRAWN = Drawing(KNOWN)


def test_drawn_moments_are_the_mean_of_their_halves():
    whole = policies.slate_moments(DRAWN, 0, samples=1000)
    first, second = whole.halves
    assert (first.samples, second.samples) == (500, 500)
    np.testing.assert_allclose(whole.pair, (first.pair + second.pair) / 2, atol=1e-12)
    assert (first.pair != second.pair).any()


def test_the_halves_of_a_mixture_are_mixtures():
    mixture = policies.Mixture([DRAWN, UNIFORM], [0.7, 0.3])
    whole = policies.slate_moments(mixture, 0, samples=1000)
    for half, part in zip(whole.halves, policies.slate_moments(DRAWN, 0, 1000).halves, strict=True):
        expected = 0.7 * part.pair + 0.3 * policies.slate_moments(UNIFORM, 0).pair
        np.testing.assert_allclose(half.pair, expected, atol=1e-12)


def options(name):
    return {"direct": USER} if name == "dr-pi" else {}


@pytest.mark.filterwarnings("error::UserWarning")
def test_of_the_logging_policy_itself_drawn_marginals_give_the_mean():
    got = estimate("pi", LOG, CLICKS, DRAWN, DRAWN, samples=2000)
    assert got == pytest.approx(CLICKS.mean(), abs=1e-9)
    assert got.rho == pytest.approx(1.0)


@every_pi
@pytest.mark.parametrize("kind", ["logging", "target"])
def test_the_standard_error_knows_of_drawn_marginals(name, kind):
    """Estimates of one log with marginals drawn anew differ as much as is said."""
    logging, target = (DRAWN, RANKER) if kind == "logging" else (KNOWN, Drawing(UNIFORM))
    queries, values, variances = np.arange(Q), [], []
    for seed in range(100):
        weights = PseudoinverseWeights(logging, target, queries, 1000, seed)
        got = estimate(name, LOG, CLICKS, logging, target, weights=weights, **options(name))
        assert "sampled marginals" in got.method
        values.append(got.value)
        weights._halves = None  # as if the marginals were exact
        bare = estimate(name, LOG, CLICKS, logging, target, weights=weights, **options(name))
        variances.append(got.stderr**2 - bare.stderr**2)
    said, seen = np.mean(variances), np.var(values, ddof=1)
    assert 0.5 * seen < said < 2.0 * seen


@every_pi
def test_exact_marginals_bring_no_error(name):
    weights = PseudoinverseWeights(KNOWN, RANKER, np.arange(Q))
    assert weights.sampling_variance(LOG.query, LOG.ranking, CLICKS) == 0.0


def test_a_clipped_weight_has_no_error_of_its_own():
    weights = PseudoinverseWeights(DRAWN, RANKER, np.arange(Q), 1000)
    plain, clipped = (
        estimate("pi", LOG, CLICKS, DRAWN, RANKER, weights=weights, clip=clip)
        for clip in (1e9, 1e-9)
    )
    bare = np.clip(weights.of(LOG.query, LOG.ranking), -1e-9, 1e-9) * CLICKS
    assert plain.stderr == estimate("pi", LOG, CLICKS, DRAWN, RANKER, weights=weights).stderr
    assert clipped.stderr == pytest.approx(bare.std(ddof=1) / np.sqrt(len(LOG)))


# Policies that keep their moments


@pytest.fixture(scope="module")
def remembering():
    return Remembering(DRAWN, samples=500, seed=3)


def test_moments_are_drawn_once(remembering):
    one, again = (policies.slate_moments(remembering, 1) for _ in range(2))
    assert one is again
    expected = policies.slate_moments(DRAWN, 1, 500, 3)
    np.testing.assert_array_equal(one.pair, expected.pair)


def test_the_pseudoinverse_is_kept_for_the_next_target(remembering):
    table = policies.slate_moments(remembering, 0).table
    PseudoinverseWeights(remembering, RANKER, [0])
    kept = table.between
    PseudoinverseWeights(remembering, UNIFORM, [0])
    assert policies.slate_moments(remembering, 0).table.between is kept


def test_it_shows_what_the_policy_shows():
    keeping = Remembering(KNOWN)
    query = np.arange(Q)
    one, other = (
        policy.draw(query, np.random.default_rng(0)) for policy in (keeping, KNOWN)
    )
    np.testing.assert_array_equal(one[0], other[0])
    np.testing.assert_array_equal(one[1], other[1])
    np.testing.assert_array_equal(keeping.log_prob(query, one[0]), other[1])
    np.testing.assert_array_equal(keeping.greedy(query), KNOWN.greedy(query))
    assert (keeping.slots, keeping.shape) == (K, (Q, N))


def test_it_is_saved_with_its_policy(tmp_path):
    Remembering(KNOWN, 500, 3).save(tmp_path / "policy")
    loaded = Policy.load(tmp_path / "policy")
    assert (loaded.samples, loaded.seed) == (500, 3)
    np.testing.assert_array_equal(loaded.policy.weights, KNOWN.weights)
