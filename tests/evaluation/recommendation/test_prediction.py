"""Lines from metrics to rates, Kendall's tau, and their intervals."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from clickgym.evaluation.recommendation.prediction import fit_line, kendall_tau, predict_rates
from clickgym.evaluation.recommendation.system_scores import SystemScores

# Table 2 of the paper: ItemPop, MF, UB, RND, IB.
PRECISION = np.array([0.146, 0.049, 0.028, 0.006, 0.000])
NDCG = np.array([0.150, 0.043, 0.023, 0.005, 0.000])
CASCADE_HIGH = np.array([0.067, 0.034, 0.020, 0.006, 0.001])
BROWSE_LOG = np.array([0.088, 0.025, 0.015, 0.003, 0.000])
EXAM_QUAD = np.array([0.020, 0.001, 0.003, 0.000, 0.000])


@pytest.mark.parametrize(
    ("metric", "rate", "error"),
    [
        (PRECISION, CASCADE_HIGH, 0.00550), (NDCG, CASCADE_HIGH, 0.00711),
        (PRECISION, BROWSE_LOG, 0.00254), (PRECISION, EXAM_QUAD, 0.00286),
    ],
)  # fmt: skip
def test_residual_errors_are_those_of_the_paper(metric, rate, error):
    assert fit_line(metric, rate).error == pytest.approx(error, abs=4e-4)  # of rounded numbers


def test_a_line_is_that_of_scipy():
    rng = np.random.default_rng(0)
    x, y = rng.random((2, 3, 5))
    line = fit_line(x, y)
    for row in range(3):
        theirs = stats.linregress(x[row], y[row])
        assert line.slope[row] == pytest.approx(theirs.slope)
        assert line.intercept[row] == pytest.approx(theirs.intercept)
        left = y[row] - theirs.intercept - theirs.slope * x[row]
        np.testing.assert_allclose(line.residuals[row], left, atol=1e-12)
        assert line.error[row] == pytest.approx(np.sqrt((left**2).sum() / 3))
        unexplained = np.sqrt((1 - theirs.rvalue**2) * 4 / 3)
        assert line.relative[row] == pytest.approx(unexplained)


def test_a_relative_error_does_not_depend_on_scale():
    line, small = (fit_line(PRECISION, scale * CASCADE_HIGH) for scale in (1.0, 0.1))
    assert small.error == pytest.approx(0.1 * line.error)
    assert small.relative == pytest.approx(line.relative)


def test_equal_metrics_predict_nothing():
    line = fit_line(np.ones(4), np.arange(4.0))
    assert np.isnan(line.slope)
    assert np.isnan(line.error)


def test_a_line_needs_three_systems():
    with pytest.raises(ValueError, match="at least three systems"):
        fit_line([1, 2], [3, 4])
    with pytest.raises(ValueError, match="at least three systems"):
        fit_line([1, 2, 3], [3, 4, 5, 6])


def test_tau_is_that_of_scipy():
    rng = np.random.default_rng(1)
    x, y = rng.integers(0, 4, size=(2, 50, 5))  # with many ties
    expected = [stats.kendalltau(*pair).statistic for pair in zip(x, y, strict=True)]
    np.testing.assert_allclose(kendall_tau(x, y), expected)
    assert np.isnan(kendall_tau(np.ones(5), np.arange(5.0)))


def made_scores(n_users: int = 4000) -> SystemScores:
    """Users whose scores vary about those of the paper's table."""
    rng = np.random.default_rng(2)
    means = np.stack([PRECISION, CASCADE_HIGH], axis=1)
    per_user = rng.binomial(10, means[:, :, None], size=(5, 2, n_users)) / 10
    weight = np.full(n_users, 1 / n_users)
    return SystemScores(("a", "b", "c", "d", "e"), ("precision", "clicks"), per_user, weight)


def test_predictions_have_intervals_around_them():
    scores = made_scores()
    (found,) = predict_rates(scores, ["precision"], ["clicks"], resamples=300)
    x, y = scores.of("precision"), scores.of("clicks")
    assert (found.metric, found.rate, found.systems) == ("precision", "clicks", scores.systems)
    assert found.error.mean == pytest.approx(float(fit_line(x, y).error))
    assert found.tau.mean == 1.0
    np.testing.assert_allclose(found.excess, x - y)
    for one in (found.error, found.relative):
        assert 0 < one.low < one.mean < one.high
    assert -1.0 <= found.tau.low <= 1.0 == found.tau.high
    assert found.error.n == 4000


def test_predictions_depend_on_their_seed_alone():
    scores = made_scores(200)

    def bounds(seed):
        (found,) = predict_rates(scores, ["precision"], ["clicks"], resamples=50, seed=seed)
        return found.error.low, found.error.high

    assert bounds(0) == bounds(0) != bounds(1)


def test_odds_are_predicted_by_choice():
    scores = made_scores(200)
    (found,) = predict_rates(scores, ["precision"], ["clicks"], resamples=2, form="odds")
    rate = scores.of("clicks")
    expected = fit_line(scores.of("precision"), rate / (1 - rate))
    assert found.error.mean == pytest.approx(float(expected.error))


def test_unknown_measures_are_named():
    with pytest.raises(ValueError, match="measure must be one of precision, clicks"):
        predict_rates(made_scores(10), ["recall"], ["clicks"], resamples=2)
