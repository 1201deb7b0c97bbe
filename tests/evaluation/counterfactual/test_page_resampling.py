"""Section 5's variants: another page instead of another order, and scores of whole pages."""

from __future__ import annotations

import numpy as np
import pytest
from every_page import (
    EXAMINATION,
    MIXED,
    SCORES,
    OnlySamples,
    every_outcome,
    every_ranking,
    small_log,
)
from looping import loop_over

from clickgym import clickmodels, policies
from clickgym.data import ClickLog
from clickgym.evaluation import PagePairs, counterfactual_disagreement, page_disagreement
from clickgym.evaluation.counterfactual import whole_pages

SKEWED = policies.PlackettLuce([[8.0, 4.0, 2.0, 1.0, 0.5]], slots=3)
USER = clickmodels.PBM(np.tile(MIXED, (2, 1)), EXAMINATION)


@loop_over("clicked_pairs", ["reject", "keep"])
def test_the_other_product_is_what_the_policy_shows_at_the_clicked_rank(clicked_pairs):
    log, policy, table = small_log(n=300)
    wrong = accepted = 0.0
    pages = every_ranking(5, 3)
    for query, page, clicks in zip(log.query, log.ranking, log.clicks, strict=True):
        chance = np.exp(policy.log_prob(np.full(len(pages), query), pages))
        for rank in np.flatnonzero(clicks):
            other = pages[:, rank]
            kept = other != page[rank]
            if clicked_pairs == "reject":
                kept &= ~np.isin(other, page[clicks])
            own, others = table[query, page[rank]], table[query, other]
            accepted += chance @ kept
            wrong += chance @ (kept * ((others > own) + 0.5 * (others == own)))
    got = counterfactual_disagreement(log, table, policy, clicked_pairs, resample="page")
    assert got.value == pytest.approx(wrong / accepted)
    assert got.rejected == pytest.approx(1.0 - accepted / log.clicks.sum())


def test_with_whole_pages_equal_products_get_a_half_too():
    equal = every_outcome(SKEWED, lambda query, ranking: 0.4 + 0.0 * ranking)
    got = counterfactual_disagreement(equal, SCORES, SKEWED, "keep", resample="page")
    assert got.value == pytest.approx(0.5, abs=1e-12)


def test_whole_pages_of_weighted_rows():
    log, policy, table = small_log()
    plain, folded = (
        counterfactual_disagreement(rows, table, policy, resample="page")
        for rows in (log, log.compress())
    )
    assert folded.value == pytest.approx(plain.value)
    assert folded.stderr == pytest.approx(plain.stderr)


@loop_over("scores", [USER.expected_clicks, np.tile(SCORES, (2, 1))])
def test_pages_are_compared_as_by_enumeration(scores):
    log, policy, _ = small_log(n=300)

    def value(query, pages):
        if callable(scores):
            return scores(query, pages)
        return (scores[query[:, None], pages] / np.log2([2.0, 3.0, 4.0])).sum(axis=1)

    wrong = accepted = 0.0
    pages = every_ranking(5, 3)
    clicked = log[log.clicks.any(axis=1)]
    for query, page in zip(clicked.query, clicked.ranking, strict=True):
        same_query = np.full(len(pages), query)
        chance = np.exp(policy.log_prob(same_query, pages))
        chance[(pages == page).all(axis=1)] = 0.0
        gap = value(same_query, pages) - value(np.array([query]), page[None])
        accepted += chance.sum()
        wrong += chance @ ((gap > 1e-9) + 0.5 * (np.abs(gap) <= 1e-9))
    got = page_disagreement(log, scores, policy)
    assert got.method == "counterfactual pages, enumerated"
    assert got.value == pytest.approx(wrong / accepted)
    assert got.rejected == pytest.approx(1.0 - accepted / len(clicked))


def test_drawn_pages_agree_with_all_pages():
    log, policy, _ = small_log(n=5000)
    exact = page_disagreement(log, USER.expected_clicks, policy)
    drawn = page_disagreement(log, USER.expected_clicks, OnlySamples(policy), samples=10)
    assert "10 drawn for each" in drawn.method
    assert abs(drawn - exact) < 4.0 * np.sqrt(drawn.stderr**2 - exact.stderr**2)
    assert exact.stderr < drawn.stderr < 1.3 * exact.stderr
    folded = page_disagreement(log.compress(), USER.expected_clicks, OnlySamples(policy), 10)
    assert folded.stderr == pytest.approx(drawn.stderr, rel=0.05)


def test_intervals_of_drawn_pages_cover():
    _, policy, _ = small_log(n=1)
    truth = page_disagreement(small_log(1, 200_000)[0], USER.expected_clicks, policy).value
    covered = 0
    for seed in range(300):
        log = small_log(1000 + seed, 150)[0]
        pages = PagePairs(log, OnlySamples(policy), samples=2, seed=seed)
        got = pages.disagreement(USER.expected_clicks)
        covered += got.low <= truth <= got.high
    assert 0.92 < covered / 300 < 0.98


def test_the_better_user_model_recognises_clicked_pages_better():
    """At most one click: pages that are clicked more often are clicked pages more often."""
    log = every_outcome(
        SKEWED, lambda query, ranking: MIXED[ranking] * EXAMINATION / 2.0, one_click=True
    )
    right, wrong = (
        USER.expected_clicks,
        lambda query, ranking: -USER.expected_clicks(query, ranking),
    )
    found = PagePairs(log, SKEWED).disagreements([right, wrong])
    assert found[0] < 0.45
    assert found[0] + found[1] == pytest.approx(1.0)


def test_draws_follow_the_seed():
    log, policy, _ = small_log(n=500)
    first, again, other = (
        page_disagreement(log, USER.expected_clicks, OnlySamples(policy), seed=seed)
        for seed in (1, 1, 2)
    )
    assert (first.value, first.stderr) == (again.value, again.stderr)
    assert first.value != other.value


def test_short_pages_are_drawn():
    policy = policies.PlackettLuce([[4.0, 2, 1, 1], [1.0, 3, 0, 0]], slots=3)
    log = ClickLog([0, 1], [[0, 1, 2], [0, 1, -1]], [[True, False, False]] * 2)
    got = page_disagreement(log, [[3.0, 2, 1, 0], [1.0, 0, 0, 0]], policy, samples=500)
    assert "drawn" in got.method
    assert got.value == 0.0  # both pages are in the best order


def test_scores_must_be_finite_on_pages():
    log, policy, table = small_log(n=50)
    with pytest.raises(ValueError, match="-inf for document"):
        page_disagreement(log, np.where(table == 3.0, -np.inf, table), policy)


def test_a_function_must_score_every_page():
    log, policy, _ = small_log(n=50)
    with pytest.raises(ValueError, match="what scores returned has shape"):
        page_disagreement(log, lambda query, ranking: np.zeros(3), policy)


def test_a_deterministic_policy_is_refused():
    log, _, table = small_log(n=50)
    with pytest.raises(ValueError, match="deterministic"):
        page_disagreement(log, table, policies.Ranker(table, slots=3))


def test_a_policy_of_one_page_is_refused():
    policy = policies.PlackettLuce([[1.0]], slots=1)
    log = ClickLog([0], [[0]], [[True]])
    for call in (page_disagreement, counterfactual_disagreement):
        with pytest.raises(ValueError, match="every sample is rejected"):
            call(log, [[1.0]], policy)


def test_long_lists_are_not_enumerated():
    assert whole_pages._every_order(policies.PlackettLuce(np.ones((1, 20)), slots=5), [0]) is None
