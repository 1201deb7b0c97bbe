"""Correlations over configurations, against NumPy, and their intervals against known answers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import pearsonr

from clickgym import evaluation
from clickgym.data import ClickLog
from clickgym.evaluation import correlate, weighted_correlation
from clickgym.evaluation.online.correlation import _draw_queries

RNG = np.random.default_rng(0)
QUERIES, PAGES = 30, 4


def many_sessions(repeats=1, seed=1):
    """A log of 30 queries with 4 pages each, of different numbers of sessions, and its rows."""
    rng = np.random.default_rng(seed)
    query = np.repeat(np.arange(QUERIES), PAGES)
    first = np.tile(np.arange(PAGES), QUERIES)
    weight = rng.integers(1, 20, len(query)).astype(float)
    query, first, weight = (np.tile(part, repeats) for part in (query, first, weight))
    second = PAGES + np.repeat(np.arange(repeats), QUERIES * PAGES)  # repeats are other pages
    ranking = np.stack([first, second], axis=1)
    clicks = np.zeros((len(query), 2), bool)
    return ClickLog(query, ranking, clicks, weight=weight)


LOG = many_sessions()
CONFIGURATIONS = evaluation.find_configurations(LOG)
TRUTH = RNG.normal(size=len(LOG))  # of each row: each is a configuration
ONLINE = {"one": TRUTH, "two": TRUTH**2}


def by_configuration(values, configurations=CONFIGURATIONS):
    """Values of rows (each a configuration of its own) in the order of configurations."""
    return configurations.mean(values).values


NOISY = {
    "good": by_configuration(TRUTH + 0.3 * RNG.normal(size=len(LOG))),
    "poor": by_configuration(TRUTH + 2.0 * RNG.normal(size=len(LOG))),
    "double": by_configuration(2 * TRUTH + 7),
}


def test_a_weighted_correlation_is_numpys():
    x, y = RNG.normal(size=(2, 50))
    weight = RNG.integers(0, 6, 50)
    expected = np.corrcoef(np.repeat(x, weight), np.repeat(y, weight))[0, 1]
    assert weighted_correlation(x, y, weight) == pytest.approx(expected, abs=1e-12)
    assert weighted_correlation(x, y) == pytest.approx(pearsonr(x, y).statistic, abs=1e-12)
    covariance = np.cov(x, y, aweights=weight + 0.5)
    expected = covariance[0, 1] / np.sqrt(covariance[0, 0] * covariance[1, 1])
    assert weighted_correlation(x, y, weight + 0.5) == pytest.approx(expected, abs=1e-12)
    shifted = weighted_correlation(1e6 + 1e-3 * x, 1e6 - y, weight + 0.5)
    assert shifted == pytest.approx(-expected, abs=1e-6)


def test_a_constant_metric_has_no_correlation():
    assert np.isnan(weighted_correlation(np.full(5, 0.1), np.arange(5.0)))
    assert np.isnan(weighted_correlation(np.arange(5.0), np.arange(5.0), np.zeros(5)))
    found = correlate({"constant": np.full(len(CONFIGURATIONS), 0.1)}, ONLINE, CONFIGURATIONS, 20)
    assert np.isnan(found.values).all()
    assert np.isnan(found.interval("constant", "one").low)


def test_correlations_are_over_configurations_weighted_by_their_sessions():
    found = correlate(NOISY, ONLINE, CONFIGURATIONS, resamples=50)
    assert found.offline == ("good", "poor", "double")
    assert found.online == ("one", "two")
    assert (found.queries, found.configurations) == (QUERIES, QUERIES * PAGES)
    sessions = CONFIGURATIONS.sessions.astype(int)
    for name, values in NOISY.items():
        for online, rows in ONLINE.items():
            y = np.repeat(by_configuration(rows), sessions)
            expected = np.corrcoef(np.repeat(values, sessions), y)[0, 1]
            assert found.value(name, online) == pytest.approx(expected, abs=1e-12)
    assert found.value("double", "one") == pytest.approx(1.0, abs=1e-12)


def test_a_resample_is_a_log_of_the_queries_drawn():
    found = correlate(NOISY, ONLINE, CONFIGURATIONS, resamples=3, seed=5)
    (counts,) = _draw_queries(QUERIES, 3, 5)
    assert (counts.sum(axis=1) == QUERIES).all()
    for number in range(3):
        weight = counts[number][CONFIGURATIONS.query] * CONFIGURATIONS.sessions
        expected = weighted_correlation(NOISY["poor"], by_configuration(TRUTH), weight)
        assert found.resampled[number, 1, 0] == pytest.approx(expected, abs=1e-10)


def test_the_seed_decides_the_intervals():
    first, again, other = (
        correlate(NOISY, ONLINE, CONFIGURATIONS, 100, seed).interval("poor", "one")
        for seed in (0, 0, 1)
    )
    assert first == again
    assert first != other
    assert first.mean == other.mean


def test_an_interval_of_independent_pages_is_fishers():
    rng = np.random.default_rng(2)
    n = 400
    log = ClickLog(np.arange(n), np.zeros((n, 1), int), np.zeros((n, 1), bool))
    configurations = evaluation.find_configurations(log)
    truth = rng.normal(size=n)
    metric = configurations.mean(truth + rng.normal(size=n)).values
    found = correlate({"metric": metric}, {"truth": truth}, configurations, 2000)
    interval = found.interval("metric", "truth")
    z = np.arctanh(interval.mean)
    expected = np.tanh([z - 1.96 / np.sqrt(n - 3), z + 1.96 / np.sqrt(n - 3)])
    np.testing.assert_allclose([interval.low, interval.high], expected, atol=0.015)


def test_more_pages_of_the_same_queries_tell_nothing_new():
    repeated = many_sessions(repeats=3)
    configurations = evaluation.find_configurations(repeated)
    assert len(configurations) == 3 * len(CONFIGURATIONS)
    rows = {"one": np.tile(TRUTH, 3)}
    noise = np.random.default_rng(3).normal(size=len(LOG))
    metric = by_configuration(TRUTH + noise)
    metrics = by_configuration(np.tile(TRUTH + noise, 3), configurations)
    once = correlate({"m": metric}, {"one": TRUTH}, CONFIGURATIONS).interval("m", "one")
    thrice = correlate({"m": metrics}, rows, configurations).interval("m", "one")
    np.testing.assert_allclose(thrice[:4], once[:4], atol=1e-10)


def test_differences_are_paired():
    found = correlate(NOISY, ONLINE, CONFIGURATIONS)
    better = found.difference("good", "poor", "one")
    assert better.mean == pytest.approx(found.value("good", "one") - found.value("poor", "one"))
    assert 0 < better.low < better.mean < better.high
    assert better.p_value < 0.01
    worse = found.difference("poor", "good", "one")
    assert worse.mean == -better.mean
    assert worse.p_value == better.p_value
    assert found.difference("good", "good", "one") == (0.0, 0.0, 0.0, 1.0)


def test_metrics_that_differ_by_chance_are_not_told_apart():
    values = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        metrics = {
            name: by_configuration(TRUTH + rng.normal(size=len(LOG))) for name in ("one", "two")
        }
        found = correlate(metrics, {"truth": TRUTH}, CONFIGURATIONS, 200)
        values.append(found.difference("one", "two", "truth").p_value)
    assert 1 <= (np.array(values) < 0.2).sum() <= 18  # 8 expected
    assert (np.array(values) < 0.001).sum() == 0


def test_configurations_without_a_value_are_left_out():
    rows = np.where(LOG.query < 10, np.nan, TRUTH)
    found = correlate(NOISY, {"late": rows}, CONFIGURATIONS, 20)
    kept = CONFIGURATIONS.query >= 10
    expected = weighted_correlation(
        NOISY["poor"][kept], by_configuration(TRUTH)[kept], CONFIGURATIONS.sessions[kept]
    )
    assert found.value("poor", "late") == pytest.approx(expected, abs=1e-12)


def test_wrong_arguments_are_named():
    with pytest.raises(ValueError, match="short has shape"):
        correlate({"short": [1.0, 2.0]}, ONLINE, CONFIGURATIONS)
    with pytest.raises(ValueError, match="values has shape"):
        correlate(NOISY, {"one": [1.0]}, CONFIGURATIONS)
    one = evaluation.find_configurations(LOG[LOG.query == 0])
    with pytest.raises(ValueError, match="at least 2 queries"):
        correlate({"one": np.arange(PAGES)}, {"one": np.arange(PAGES)}, one)
    with pytest.raises(ValueError, match="offline has no metrics"):
        correlate({}, ONLINE, CONFIGURATIONS)
    with pytest.raises(ValueError, match="resamples"):
        correlate(NOISY, ONLINE, CONFIGURATIONS, resamples=1)
    with pytest.raises(ValueError, match="metric must be one of good, poor, double"):
        correlate(NOISY, ONLINE, CONFIGURATIONS, 5).value("bad", "one")
    with pytest.raises(ValueError, match="weight must be at least 0"):
        weighted_correlation([1.0, 2.0], [1.0, 2.0], [1.0, -1.0])
