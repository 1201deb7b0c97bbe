"""Rewards of whole pages: clicks, satisfaction, nDCG and ERR."""

from __future__ import annotations

import numpy as np
import pytest
from looping import loop_over
from slates import (
    CLICKS,
    LOG,
    WORLD,
    K,
    indicators,
)

from clickgym import data, evaluation


def test_rewards_of_clicks():
    np.testing.assert_array_equal(CLICKS, LOG.clicks.sum(axis=1))
    satisfied = evaluation.slate_rewards("satisfied", LOG)
    np.testing.assert_array_equal(satisfied, LOG.clicks.any(axis=1))


def test_ndcg_of_pages_by_hand():
    grades = np.maximum(WORLD.relevance, 0)
    gain, discount = 2.0**grades - 1.0, 1.0 / np.log2(np.arange(2, 2 + K))
    ideal = np.sort(gain, axis=1)[:, ::-1][:, :K] @ discount
    shown = (gain[LOG.query][:, None] * indicators(LOG.ranking)).sum(axis=2) @ discount
    got = evaluation.slate_rewards("ndcg", LOG, WORLD)
    np.testing.assert_allclose(got, shown / ideal[LOG.query])


@loop_over(("denominator", "top"), [("2**max - 1", 15.0), ("2**max", 16.0)])
def test_err_of_pages_by_hand(denominator, top):
    world = data.World([[4, 2, 0]])
    got = evaluation.metric_rewards("err", [0, 0], [[1, 0, 2], [0, -1, -1]], world, denominator)
    two, four = 3 / top, 15 / top
    np.testing.assert_allclose(got, [two + (1 - two) * four / 2, four])


def test_ndcg_without_anything_relevant_is_zero():
    assert evaluation.metric_rewards("ndcg", [0], [[0, 1]], data.World([[0, 0]])).tolist() == [0.0]


def test_metrics_need_the_world():
    with pytest.raises(ValueError, match="world is None"):
        evaluation.slate_rewards("ndcg", LOG)
