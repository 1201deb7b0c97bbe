"""Input that the ranking metrics refuse, each time in words."""

from __future__ import annotations

import numpy as np
import pytest
from every_page import small_log
from looping import loop_over

from clickgym import clickmodels, data, envs, evaluation, policies
from clickgym.data import ClickLog
from clickgym.evaluation import counterfactual_disagreement, naive_pairs, pairwise_disagreement

LOG, POLICY, TABLE = small_log(n=50)


def test_a_deterministic_policy():
    policy = policies.Ranker(TABLE, slots=3)
    with pytest.raises(ValueError, match=r"deterministic.*every sample would be rejected"):
        counterfactual_disagreement(LOG, TABLE, policy)


def test_a_policy_that_has_one_order_of_each_set():
    policy = policies.Mixture(
        [policies.Ranker.from_rankings([page], 4) for page in ([0, 1], [2, 3])], [0.5, 0.5]
    )
    log = ClickLog([0, 0], [[0, 1], [2, 3]], [[True, False]] * 2)
    with pytest.raises(ValueError, match="every sample is rejected"):
        counterfactual_disagreement(log, np.zeros((1, 4)), policy)


@loop_over("shape", [(2, 4), (1, 5), (3, 5), (2,), (2, 5, 1)])
def test_scores_of_another_shape(shape):
    with pytest.raises(ValueError, match="scores"):
        counterfactual_disagreement(LOG, np.zeros(shape), POLICY)


@loop_over("shape", [(2, 4), (1, 5)])
def test_scores_that_lack_a_document_of_the_log(shape):
    with pytest.raises(ValueError, match=r"scores has shape .* but the log has query 1"):
        pairwise_disagreement(LOG, np.zeros(shape))


def test_scores_with_nan():
    table = TABLE.copy()
    table[1, 2] = np.nan
    with pytest.raises(ValueError, match=r"scores must be finite.*\(1, 2\)"):
        pairwise_disagreement(LOG, table)


def test_scores_that_are_no_table():
    for wrong in (data.synthetic_world(n_queries=2, n_docs=5), "scores", None):
        with pytest.raises(ValueError, match="scores must hold numbers"):
            pairwise_disagreement(LOG, wrong)


def test_a_log_of_another_world():
    worlds = [data.synthetic_world(n_queries=4, n_docs=6, seed=seed) for seed in (0, 1)]
    logging = [policies.Uniform(world, slots=3) for world in worlds]
    user = clickmodels.true_user("PBM", worlds[0])
    log = envs.collect(worlds[0], user, logging[0], 100, seed=0)
    with pytest.raises(ValueError, match="policy and the log belong to different worlds"):
        counterfactual_disagreement(log, worlds[0].gain, logging[1])
    with pytest.raises(ValueError, match=r"scores \(PBM\) and the log belong to different worlds"):
        pairwise_disagreement(log, clickmodels.true_user("PBM", worlds[1]))


def test_a_shown_product_that_the_policy_never_shows():
    policy = policies.PlackettLuce([[1.0, 1.0, 1.0, 1.0, 0.0]] * 2, slots=3)
    with pytest.raises(ValueError, match="never"):
        counterfactual_disagreement(LOG, TABLE, policy)


def test_a_log_without_clicks():
    log = ClickLog([0], [[0, 1, 2]], [[False] * 3])
    with pytest.raises(ValueError, match="no clicks"):
        pairwise_disagreement(log, TABLE)


def test_an_empty_log():
    for call in (pairwise_disagreement, counterfactual_disagreement):
        policy = [POLICY] if call is counterfactual_disagreement else []
        with pytest.raises(ValueError, match=r"the log has no (clicks|impressions)"):
            call(LOG[:0], TABLE, *policy)


def test_pages_of_one_product():
    log = ClickLog([0], [[0, -1, -1]], [[True, False, False]])
    with pytest.raises(ValueError, match="every sample is rejected"):
        pairwise_disagreement(log, TABLE)


def test_a_page_that_shows_a_product_twice():
    log = ClickLog([0, 0], [[0, 1], [2, 2]], [[True, False]] * 2)
    with pytest.raises(ValueError, match="row 1 of the log shows a document twice"):
        pairwise_disagreement(log, TABLE)


def test_an_unknown_way_with_clicked_pairs():
    with pytest.raises(ValueError, match="clicked_pairs must be one of reject, keep"):
        naive_pairs(LOG, "drop")


def test_propensities_of_another_policy_are_warned_of():
    log = ClickLog([0], [[0, 1, 2]], [[True, False, False]], [-0.5])
    with pytest.warns(evaluation.WrongLogging):
        counterfactual_disagreement(log, TABLE, POLICY)
