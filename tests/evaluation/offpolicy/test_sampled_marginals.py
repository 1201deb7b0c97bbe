"""Drawn marginals: the error that they bring to estimates."""

from __future__ import annotations

import numpy as np
import pytest
from slates import POLICIES, RANKER, UNIFORM, WORLD, Drawing, N, Q

from clickgym import clickmodels, envs, evaluation
from clickgym.evaluation import PseudoinverseWeights, estimate

KNOWN = POLICIES["PlackettLuce"]
USER = clickmodels.PBM(np.random.default_rng(0).random((Q, N)), [0.9, 0.6, 0.4])
LOG = envs.collect(WORLD, USER, KNOWN, 2000, seed=0)
CLICKS = evaluation.slate_rewards("clicks", LOG)
every_pi = pytest.mark.parametrize("name", ["pi", "wpi", "dr-pi"])


DRAWN = Drawing(KNOWN)


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


def test_exact_marginals_bring_no_error():
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


def test_weights_of_several_targets_are_those_of_each_alone():
    targets, queries = [RANKER, Drawing(UNIFORM), DRAWN], np.arange(Q)
    together = PseudoinverseWeights.of_targets(DRAWN, targets, queries, 500, seed=3)
    for one, target in zip(together, targets, strict=True):
        alone = PseudoinverseWeights(DRAWN, target, queries, 500, seed=3)
        assert one.exact == alone.exact
        assert one.tables.tolist() == alone.tables.tolist()
        variance = one.sampling_variance(LOG.query, LOG.ranking, CLICKS)
        assert variance == alone.sampling_variance(LOG.query, LOG.ranking, CLICKS)
