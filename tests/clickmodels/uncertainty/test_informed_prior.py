"""Priors whose mean follows exposure or the logging policy's score."""

from __future__ import annotations

import numpy as np
import pytest
from fitted_tables import TABLES, fitted, small_log
from scipy.special import expit

from clickgym import clickmodels, data, policies
from clickgym.clickmodels.tablefit.line_prior import LinePrior, _loss
from clickgym.clickmodels.tablefit.prior import BetaPrior, logistic
from clickgym.clickmodels.uncertainty.exposure import exposure


def drawn(slope, pairs=4_000, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=pairs)
    mean, trials = expit(-1.5 + slope * x), rng.integers(1, 80, pairs)
    clicks = rng.binomial(trials, rng.beta(4 * mean, 4 * (1 - mean)))
    prior = LinePrior.begin(x, np.arange(pairs))
    return prior.learn(clicks.astype(float), trials.astype(float), 20)


def test_a_line_is_learned_from_counts():
    np.testing.assert_allclose(drawn(0.8).line, [-1.5, 0.8, np.log(4)], atol=0.15)


def test_a_line_never_says_that_hidden_documents_are_better():
    assert drawn(-0.8).slope == 0.0


def test_the_gradient_of_the_line_is_right():
    rng = np.random.default_rng(1)
    x, clicks, skips = rng.normal(size=9), rng.uniform(0, 9, 9), rng.uniform(0, 40, 9)
    line, step = np.array([-1.0, 0.5, 0.7]), 1e-6
    found = _loss(line, x, clicks, skips)[1]
    for place, ahead in enumerate(step * np.eye(3)):
        rise = _loss(line + ahead, x, clicks, skips)[0] - _loss(line - ahead, x, clicks, skips)[0]
        assert found[place] == pytest.approx(rise / (2 * step), rel=1e-5)


def test_a_flat_line_is_a_beta_prior():
    line = LinePrior(np.zeros(5), np.arange(5), np.array([np.log(0.25), 0.0, np.log(2.5)]))
    plain, values = BetaPrior(0.5, 2.0), logistic(np.linspace(-3, 2, 5))
    assert line.loss(values) == pytest.approx(plain.loss(values))
    np.testing.assert_allclose(line.gradient(values.p), plain.gradient(values.p))
    np.testing.assert_allclose(line.curvature(values.p), plain.curvature(values.p))
    counts = np.arange(5.0), np.arange(5.0)[::-1]
    np.testing.assert_allclose(line.posterior(*counts), plain.posterior(*counts))


def test_exposure_is_the_share_of_pages_and_sums_to_the_slots():
    world = data.World(np.zeros((2, 4), dtype=int))
    log = data.ClickLog([0, 0, 0], [[0, 1], [0, 2], [0, 1]], np.zeros((3, 2), dtype=bool))
    share = exposure(log, world)
    # Half a page each of four documents, two at a time: one more page.
    np.testing.assert_allclose(share[0], np.array([3.5, 2.5, 1.5, 0.5]) / 4)
    np.testing.assert_allclose(share[1], 0.5)  # never asked: chance
    np.testing.assert_allclose(share.sum(axis=1), 2.0)


def test_weights_count_as_repeated_rows():
    world = data.World(np.zeros((1, 3), dtype=int))
    clicks = np.zeros((3, 1), dtype=bool)
    rows = data.ClickLog([0, 0, 0], [[0], [0], [1]], clicks)
    folded = data.ClickLog([0, 0], [[0], [1]], clicks[:2], weight=[2.0, 1.0])
    np.testing.assert_allclose(exposure(folded, world), exposure(rows, world))


@pytest.mark.parametrize("prior", ["exposure", "score"])
@pytest.mark.parametrize("name", TABLES)
def test_hidden_documents_of_a_good_ranker_are_thought_worse(name, prior):
    world, _, _ = small_log()
    plain, informed = fitted(name), fitted(name, prior)
    never = world.candidates & ~plain.seen
    informed_mean = informed.attractiveness[never].mean()
    assert 0.0 < informed_mean < plain.attractiveness[never].mean()


def test_a_score_orders_documents_that_were_never_shown():
    world, logging, _ = small_log()
    model = fitted("UBM", "score")
    for query in range(world.n_queries):
        never = np.flatnonzero(world.candidates[query] & ~model.seen[query])
        by_score = never[np.argsort(logging.log_weights[query, never], kind="stable")]
        assert (np.diff(model.attractiveness[query, by_score]) >= 0).all()


def test_log_weights_serve_as_scores():
    world, logging, log = small_log()
    model = clickmodels.fit("PBM", log, world, prior="score", logging=logging.log_weights)
    np.testing.assert_array_equal(model.attractiveness, fitted("PBM", "score").attractiveness)


def test_bootstraps_take_an_informed_prior():
    world, _, log = small_log()
    model = clickmodels.fit("PBM", log, world, prior="exposure", members=2)
    never = world.candidates & ~fitted("PBM").seen
    assert model.relevance()[never].mean() < fitted("PBM").attractiveness[never].mean()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"prior": "plane"}, "prior must be one of plain, exposure, score"),
        ({"prior": "score"}, "needs logging"),
        ({"prior": "exposure", "logging": np.zeros((20, 12))}, "logging is for prior='score'"),
        ({"prior": "score", "logging": np.zeros((3, 12))}, "logging has shape"),
        ({"prior": "exposure", "parameters": "grade"}, "tables by pair"),
    ],
)
def test_what_cannot_be_is_refused(settings, message):
    world, _, log = small_log()
    with pytest.raises(ValueError, match=message):
        clickmodels.fit("PBM", log, world, **settings)


def test_a_model_without_such_tables_is_refused():
    world, _, log = small_log()
    with pytest.raises(ValueError, match="not for CTR"):
        clickmodels.fit("CTR", log, world, prior="exposure")


def test_a_logging_policy_without_scores_is_named():
    world, _, log = small_log()
    ranker = policies.Ranker(world.gain, 6, world=world)
    with pytest.raises(ValueError, match="Ranker has none"):
        clickmodels.fit("PBM", log, world, prior="score", logging=ranker)
