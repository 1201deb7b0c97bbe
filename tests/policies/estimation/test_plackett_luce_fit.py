"""The most probable Plackett-Luce weights of pages."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from clickgym.data import ClickLog, World
from clickgym.policies import PlackettLuce
from clickgym.policies.estimation import plackett_luce_fit
from clickgym.policies.estimation.pages import LoggedPages
from clickgym.policies.estimation.plackett_luce_fit import fit_log_weights, page_log_probs

CANDIDATES = np.array([[1, 1, 1, 1, 1, 1], [1, 1, 0, 1, 1, 0], [0, 1, 1, 0, 0, 0]], bool)


def draw_pages(n=300, temperature=0.5, seed=0):
    rng = np.random.default_rng(seed)
    weights = np.where(CANDIDATES, rng.random(CANDIDATES.shape) + 0.05, 0.0)
    policy = PlackettLuce(weights, temperature, 3)
    query = rng.integers(0, 3, n)
    ranking = policy.sample(query, rng)
    log = ClickLog(query, ranking, np.zeros(ranking.shape, dtype=bool))
    return LoggedPages.from_log(log, World(np.where(CANDIDATES, 0, -1))), policy


def posterior(pages, query, spread, log_weights):
    """The log-posterior of one query, page by page and draw by draw."""
    total = -0.5 * (log_weights**2).sum() / spread**2
    shown = np.flatnonzero(CANDIDATES[query])
    for row in np.flatnonzero(pages.place == query):
        left = dict(zip(shown.tolist(), log_weights.tolist(), strict=True))
        for document in pages.ranking[row][pages.ranking[row] >= 0].tolist():
            chance = left[document] - np.logaddexp.reduce(list(left.values()))
            total += pages.counts[row] * chance
            del left[document]
    return total


@pytest.mark.parametrize("spread", [0.3, 2.0, 20.0])
def test_it_finds_the_maximum_that_a_general_search_finds(spread):
    pages, _ = draw_pages()
    found = fit_log_weights(pages, spread)
    for query in range(3):
        shown = CANDIDATES[query]
        best = minimize(
            lambda given, q=query: -posterior(pages, q, spread, given), np.zeros(shown.sum())
        )
        here = posterior(pages, query, spread, found[query, shown])
        assert here == pytest.approx(-best.fun, abs=1e-4), query
        assert np.isneginf(found[query, ~shown]).all()


def test_where_it_begins_does_not_matter():
    pages, _ = draw_pages()
    start = np.random.default_rng(1).normal(0.0, 5.0, CANDIDATES.shape)
    plain, other = (fit_log_weights(pages, 3.0, begin) for begin in (None, start))
    np.testing.assert_allclose(plain[CANDIDATES], other[CANDIDATES], atol=0.02)


def test_log_probabilities_are_those_of_the_policy():
    pages, policy = draw_pages()
    with np.errstate(divide="ignore"):
        given = np.log(policy.weights) / policy.temperature
    expected = policy.log_prob(pages.queries[pages.place], pages.ranking)
    np.testing.assert_allclose(page_log_probs(pages, given), expected, rtol=1e-10, atol=1e-12)


def test_weights_of_many_pages_are_the_true_ones():
    pages, policy = draw_pages(200_000)
    found = fit_log_weights(pages, 16.0)
    expected = np.log(policy.weights[CANDIDATES]) / policy.temperature
    for query in range(3):
        rows = np.nonzero(CANDIDATES)[0] == query
        apart = found[CANDIDATES][rows] - expected[rows]
        assert np.ptp(apart) < 0.1, query


def test_a_document_that_was_never_shown_gets_a_small_weight():
    log = ClickLog([0] * 50, [[0, 1]] * 25 + [[1, 0]] * 25, np.zeros((50, 2), dtype=bool))
    pages = LoggedPages.from_log(log, World(np.zeros((1, 4), dtype=int)))
    found = fit_log_weights(pages, 8.0)[0]
    assert -30 < found[2] - found[0] < -4
    assert found[2] == pytest.approx(found[3])
    assert found[0] == pytest.approx(found[1], abs=0.01)


def test_batches_of_queries_give_the_same_weights(monkeypatch):
    pages, _ = draw_pages()
    whole = fit_log_weights(pages, 3.0)
    monkeypatch.setattr(plackett_luce_fit, "_BATCH", 7)
    batches = plackett_luce_fit._batches(CANDIDATES)
    found = [(queries.tolist(), width) for queries, width in batches]
    assert found == [([2], 3), ([1], 5), ([0], 6)]
    monkeypatch.setattr(plackett_luce_fit, "_CHUNK", 20)
    np.testing.assert_allclose(fit_log_weights(pages, 3.0), whole, atol=0.01)
