"""Numbers of a log, against logs that are small enough to count by hand."""

from __future__ import annotations

import numpy as np
import pytest

from clickgym import data, envs, evaluation, policies
from clickgym.clickmodels import true_user

LOG = data.ClickLog(
    [0, 0, 0, 1],
    [[0, 1], [0, 1], [1, 0], [2, -1]],
    [[True, False], [True, True], [False, False], [True, False]],
)


def test_sizes_and_clicks_are_counted():
    found = evaluation.describe_log(LOG)
    assert (found.impressions, found.queries, found.documents) == (4.0, 2, 3)
    assert found.clicks_per_page == 1.0
    assert found.clicked_pages == 0.75
    assert found.shown.tolist() == [4.0, 3.0]
    assert found.click_rate == pytest.approx([3 / 4, 1 / 3])


def test_the_tail_is_measured_by_impressions():
    found = evaluation.describe_log(LOG)
    assert found.query_shares.tolist() == [0.75, 0.25]
    assert found.effective_queries == pytest.approx(1 / (0.75**2 + 0.25**2))
    assert found.share_of_head(0.5) == 0.75
    assert found.rare_documents == 1.0


def test_two_pages_of_a_query_are_the_same_with_the_chance_of_drawing_a_pair():
    found = evaluation.describe_log(LOG)
    assert found.same_page == pytest.approx(1 / 3)  # of the pairs of query 0; query 1 has none
    assert found.same_document == pytest.approx([1 / 3, 1 / 3])


def test_a_row_counts_as_often_as_its_weight():
    folded = LOG.compress()
    doubled = data.ClickLog(LOG.query, LOG.ranking, LOG.clicks, weight=np.full(4, 2.0))
    whole, twice = evaluation.describe_log(LOG), evaluation.describe_log(doubled)
    assert evaluation.describe_log(folded).same_page == pytest.approx(whole.same_page)
    assert twice.impressions == 8.0
    assert twice.click_rate == pytest.approx(whole.click_rate)
    assert twice.same_page == pytest.approx((6 * (4 * 3 + 2 * 1) / (6 * 5) + 2) / 8)


def test_a_ranker_always_shows_the_same_and_uniform_pages_as_often_as_chance_has_it():
    world = data.synthetic_world(n_queries=5, n_docs=6, seed=0)
    user = true_user("PBM", world)
    fixed = envs.collect(world, user, policies.Ranker(world.gain, 3, world=world), 500, seed=0)
    assert evaluation.describe_log(fixed).same_page == 1.0
    random = envs.collect(world, user, policies.Uniform(world, 3), 50_000, seed=0)
    assert evaluation.describe_log(random).same_document == pytest.approx([1 / 6] * 3, abs=0.003)


def test_a_log_without_impressions_is_refused():
    with pytest.raises(ValueError, match="no impressions"):
        evaluation.describe_log(LOG[:0])
