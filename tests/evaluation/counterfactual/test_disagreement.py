"""Pairwise and counterfactual disagreement: their expectations, errors and refusals."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from every_page import EXAMINATION, MIXED, SCORES, every_outcome, literal_samples, small_log
from looping import loop_over

from clickgym import clickmodels, data, envs, policies
from clickgym.data import ClickLog
from clickgym.evaluation import (
    counterfactual_disagreement,
    counterfactual_pairs,
    naive_pairs,
    pairwise_disagreement,
)

SKEWED = policies.PlackettLuce([[8.0, 4.0, 2.0, 1.0, 0.5]], slots=3)
EVEN = policies.PlackettLuce(np.ones((1, 5)), slots=3)
BOTH = ["reject", "keep"]


def quality_user(quality):
    """Click probabilities of a PBM whose products have this quality, (5,)."""
    return lambda query, ranking: np.asarray(quality)[ranking] * EXAMINATION


def one_click_user(quality):
    """At most one click on a page: the probabilities of the ranks sum to less than one."""
    return lambda query, ranking: np.asarray(quality)[ranking] * EXAMINATION / 2.0


EQUAL = np.full(5, 0.6)


@loop_over("clicked_pairs", BOTH)
def test_under_uniform_shuffling_both_have_the_same_expectation(clicked_pairs):
    log = every_outcome(EVEN, quality_user(MIXED))
    usual = pairwise_disagreement(log, SCORES, clicked_pairs)
    other = counterfactual_disagreement(log, SCORES, EVEN, clicked_pairs)
    assert 0.05 < usual < 0.45
    assert other.value == pytest.approx(usual.value, abs=1e-12)


def test_on_a_shuffled_log_both_are_equal_but_for_what_they_reject():
    world = data.synthetic_world(n_queries=20, n_docs=8)
    shuffled = policies.Uniform(world, slots=4)
    log = envs.collect(world, clickmodels.true_user("DBN", world), shuffled, 3000, seed=0)
    scores = np.random.default_rng(0).normal(size=(20, 8))
    usual, other = pairwise_disagreement(log, scores), None
    other = counterfactual_disagreement(log, scores, shuffled)
    assert other.value == pytest.approx(usual.value, abs=1e-12)
    assert other.stderr == pytest.approx(usual.stderr)
    assert 1.0 - other.rejected == pytest.approx(0.75 * (1.0 - usual.rejected))


RANKERS = [policies.Ranker.from_rankings([page], 5) for page in ([0, 1, 2], [2, 0, 1])]


@loop_over(
    "policy",
    [
        SKEWED,
        policies.PlackettLuce([[1.0, 1, 1, 1, 30]], slots=3),
        policies.PlackettLuce([[1.0, 2, 3, 4, 5]], 0.3, slots=3),
        policies.Mixture([SKEWED, EVEN], [0.9, 0.1]),
        policies.Mixture([*RANKERS, SKEWED], [0.6, 0.2, 0.2]),
    ],
)
def test_equal_products_get_a_half_whatever_the_policy_if_there_is_one_click(policy):
    log = every_outcome(policy, one_click_user(EQUAL), one_click=True)
    assert counterfactual_disagreement(log, SCORES, policy).value == pytest.approx(0.5, abs=1e-12)


def test_equal_products_get_no_half_from_pairwise_disagreement():
    log = every_outcome(SKEWED, one_click_user(EQUAL), one_click=True)
    assert pairwise_disagreement(log, SCORES) < 0.45  # the scores are near those of the policy
    assert pairwise_disagreement(log, -SCORES) > 0.55


def test_with_several_clicks_equal_products_get_a_half_only_if_clicked_pairs_are_kept():
    log = every_outcome(SKEWED, quality_user(EQUAL))
    kept = counterfactual_disagreement(log, SCORES, SKEWED, "keep")
    assert kept.value == pytest.approx(0.5, abs=1e-12)
    assert abs(counterfactual_disagreement(log, SCORES, SKEWED) - 0.5) > 0.01


def test_a_better_product_at_the_same_rank_is_preferred():
    """What position bias hides: the policy shows the worst products first."""
    log = every_outcome(SKEWED, one_click_user([0.5, 0.6, 0.7, 0.8, 0.9]), one_click=True)
    true = np.arange(5.0)[None]
    assert counterfactual_disagreement(log, true, SKEWED) < 0.5
    assert pairwise_disagreement(log, true) > 0.5


@loop_over("clicked_pairs", BOTH)
def test_agrees_with_the_algorithms_drawn_literally(clicked_pairs):
    log, policy, table = small_log(n=1500)
    keep = clicked_pairs == "keep"
    for maker in (None, policy):
        drawn = literal_samples(log, maker, table, np.random.default_rng(1), keep)
        got = pairwise_disagreement(log, table, clicked_pairs)
        if maker is not None:
            got = counterfactual_disagreement(log, table, policy, clicked_pairs)
        error = drawn.std() / np.sqrt(len(drawn))
        assert abs(drawn.mean() - got) < 4.0 * error
        assert abs(len(drawn) / log.clicks.sum() - (1.0 - got.rejected)) < 0.04


def test_a_page_by_hand():
    """Clicks on A (score 2) and C (score 1), others B (2) and D (0)."""
    log = ClickLog([0], [[0, 1, 2, 3]], [[True, False, True, False]])
    table = [[2.0, 2.0, 1.0, 0.0]]
    # A: B ties, D is below. C: B is above, D below.
    rejecting = pairwise_disagreement(log, table)
    assert rejecting == pytest.approx((0.5 + 0.0 + 1.0 + 0.0) / 4.0)
    assert rejecting.rejected == pytest.approx(1.0 / 3.0)
    # In addition A: C is below. C: A is above.
    keeping = pairwise_disagreement(log, table, "keep")
    assert keeping == pytest.approx((1.5 + 1.0) / 6.0)
    assert keeping.rejected == 0.0


def test_weighted_rows_are_as_many_single_ones():
    log, policy, table = small_log()
    folded = log.compress()
    assert len(folded) < len(log) / 5
    for pairs, same in (
        (naive_pairs(log), naive_pairs(folded)),
        (counterfactual_pairs(log, policy), counterfactual_pairs(folded, policy)),
    ):
        got, again = pairs.disagreement(table), same.disagreement(table)
        assert again.value == pytest.approx(got.value, abs=1e-13)
        assert again.stderr == pytest.approx(got.stderr)
        assert (again.n, again.rejected) == (got.n, pytest.approx(got.rejected))
        assert again.effective_pages == pytest.approx(got.effective_pages)


def test_the_standard_error_is_that_of_a_ratio_over_pages():
    log, _, table = small_log(n=400)
    got = pairwise_disagreement(log, table)
    wrong, accepted = np.zeros(len(log)), np.zeros(len(log))
    for row, (query, page, clicks) in enumerate(
        zip(log.query, log.ranking, log.clicks, strict=True)
    ):
        for clicked in page[clicks]:
            for other in page[~clicks]:
                own, others = table[query, clicked], table[query, other]
                accepted[row] += 0.5
                wrong[row] += 0.5 * ((others > own) + 0.5 * (others == own))
    ratio = wrong.sum() / accepted.sum()
    delta = np.sqrt(((wrong - ratio * accepted) ** 2).sum()) / accepted.sum()
    assert got == pytest.approx(ratio)
    assert got.stderr == pytest.approx(delta, rel=0.02)
    spread = accepted.sum() ** 2 / (accepted**2).sum()
    assert got.effective_pages == pytest.approx(min(spread, accepted.sum()))


def test_intervals_cover():
    _, policy, table = small_log(n=1)
    exact = small_log(1, 200_000)[0]
    truths = [
        pairwise_disagreement(exact, table).value,
        counterfactual_disagreement(exact, table, policy).value,
    ]
    covered = np.zeros(2)
    logs = [small_log(seed, 150)[0] for seed in range(100, 400)]
    for log in logs:
        got = [pairwise_disagreement(log, table), counterfactual_disagreement(log, table, policy)]
        covered += [one.low <= truth <= one.high for one, truth in zip(got, truths, strict=True)]
    assert (covered / len(logs) > 0.92).all()
    assert (covered / len(logs) < 0.98).all()


def test_several_functions_at_once_are_as_one_by_one():
    log, policy, table = small_log()
    pairs = counterfactual_pairs(log, policy)
    functions = [table, -table, np.random.default_rng(0).normal(size=(2, 5))]
    together = pairs.disagreements(functions)
    for got, one in zip(together, functions, strict=True):
        alone = counterfactual_disagreement(log, one, policy)
        assert (got.value, got.stderr) == (alone.value, alone.stderr)
    assert together[0] + together[1] == pytest.approx(1.0)


def test_pages_may_be_short():
    """The second query has four candidates for three slots, a third one only two."""
    policy = policies.PlackettLuce([[4.0, 2, 1, 1], [1.0, 3, 0, 0]], slots=3)
    rng = np.random.default_rng(0)
    query = rng.integers(0, 2, 2000)
    ranking = policy.sample(query, rng)
    clicks = (rng.random((2000, 3)) < 0.3) & (ranking >= 0)
    log, table = ClickLog(query, ranking, clicks), np.array([[3.0, 2, 1, 0], [0.0, 1, 9, 9]])
    got = counterfactual_disagreement(log[query == 1], table, policy)
    # P(document 1 first) = 3/4. With one click: where it hits 1 at rank 1, the other is 0 with
    # 1/4, no disagreement; where it hits 0 at rank 1, the other is 1 with 3/4, and so on.
    one = log[(query == 1) & (clicks.sum(axis=1) == 1)]
    first, best = one.clicks[:, 0], one.ranking[one.clicks] == 1
    below = np.where(first, 0.25, 0.75)[best].sum()
    above = np.where(first, 0.75, 0.25)[~best].sum()
    assert got == pytest.approx(above / (above + below))


def test_a_certain_looking_estimate_has_an_interval():
    log = ClickLog([0] * 5, [[0, 1]] * 5, [[True, False]] * 5)
    got = pairwise_disagreement(log, [[1.0, 0.0]])
    assert got.value == 0.0
    assert got.high == pytest.approx(1.0 - 0.05 ** (1.0 / 5.0))


def test_scores_of_a_model_and_of_a_policy():
    log, logging, _ = small_log()
    quality = np.tile(MIXED, (2, 1))
    by_table = counterfactual_disagreement(log, quality, logging)
    by_model = counterfactual_disagreement(log, clickmodels.PBM(quality, EXAMINATION), logging)
    by_policy = counterfactual_disagreement(log, policies.Ranker(quality, slots=5), logging)
    assert by_table.value == by_model.value == by_policy.value


def test_documents_that_a_policy_does_not_show_are_equal_and_last():
    log = ClickLog([0, 0, 0], [[0, 1], [1, 2], [2, 3]], [[False, True]] * 3)
    shows_one = policies.Ranker([[0.0, 3.0, 2.0, 1.0]], slots=1)
    # 1 beats 0, 2 loses to 1, 3 and 2 are equal.
    assert pairwise_disagreement(log, shows_one) == pytest.approx((0.0 + 1.0 + 0.5) / 3.0)


def test_what_a_ranking_does_not_show_is_tied_and_said():
    log, logging, _ = small_log()
    quality = np.tile(MIXED, (2, 1))
    pairs = counterfactual_pairs(log, logging)
    full, short, constant = pairs.disagreements(
        [quality, policies.Ranker(quality, slots=2), np.zeros_like(quality)]
    )
    assert full.tied == 0.0
    assert 0.0 < short.tied < 1.0
    assert abs(short - full) < short.tied / 2.0 + 1e-12
    assert (constant.tied, constant.value) == (pytest.approx(1.0), pytest.approx(0.5))


def test_a_plackett_luce_policy_stands_for_its_weights_and_not_for_its_page():
    log, logging, _ = small_log()
    weights = np.exp(np.tile(MIXED, (2, 1)))
    pairs = counterfactual_pairs(log, logging)
    got = pairs.disagreement(policies.PlackettLuce(weights, slots=1))
    assert (got.value, got.tied) == (pairs.disagreement(weights).value, 0.0)


def test_survives_pickling():
    log, policy, table = small_log()
    got = counterfactual_disagreement(log, table, policy)
    again = pickle.loads(pickle.dumps(got))
    assert (again.value, again.low, again.rejected) == (got.value, got.low, got.rejected)
    assert again.effective_pages == got.effective_pages
