"""The cross table: policies of one model judged by the others."""

from __future__ import annotations

import numpy as np
import pytest

from clickgym import data, evaluation, policies
from clickgym.clickmodels import PBM

TABLE = evaluation.CrossTable(
    ["A", "B", "C"], ["A", "B", "C", "D"],
    np.array([[1.2, 1.0, 1.1, 0.9], [1.0, 1.5, 1.1, 1.2], [0.8, 0.9, 1.3, 0.7]]), [0, 1, 2],
)  # fmt: skip


def test_own_promise_median_of_the_others_and_their_difference():
    assert TABLE.promised.tolist() == [1.2, 1.5, 1.3]
    assert TABLE.others.tolist() == [1.0, 1.1, 0.8]
    assert TABLE.excess == pytest.approx([0.2, 0.4, 0.5])
    assert TABLE.suspect == 2


def test_a_judge_that_is_generous_to_all_counts_no_more_than_a_strict_one():
    found = TABLE.liking
    # less the means 0.9, 0.95, 1.1 and 2.8 / 3 of what A, B, C and D say of others' policies
    assert found == pytest.approx([0.0, 0.1, -0.1])
    generous = evaluation.CrossTable(
        TABLE.policies, TABLE.judges, TABLE.values + np.array([0.0, 0.0, 5.0, 0.0]), TABLE.own
    )
    assert generous.liking == pytest.approx(found)


def test_a_single_judge_has_no_others():
    alone = evaluation.CrossTable(["A"], ["A"], np.array([[1.0]]), [0])
    assert np.isnan(alone.others).all()
    assert alone.suspect is None


def test_judges_give_the_values_of_a_policy():
    world = data.World(np.zeros((1, 3), np.int8))
    policy = policies.Ranker.from_rankings([[2, 0]], world=world)
    judges = {
        "even": PBM(np.full((1, 3), 0.5), np.array([1.0, 0.5])),
        "last": PBM(np.array([[0.0, 0.0, 1.0]]), np.array([0.8, 0.5])),
    }
    found = evaluation.judge_policy(policy, judges, world)
    assert found == pytest.approx({"even": 0.75, "last": 0.8})


def test_documents_that_the_log_hardly_ever_showed_are_counted():
    world = data.World(np.zeros((2, 3), np.int8), query_probs=[0.75, 0.25])
    query, ranking = [0, 0, 1], [[0, 1], [0, 2], [1, 0]]
    log = data.ClickLog(query, ranking, np.zeros((3, 2), bool), weight=[9.0, 1.0, 20.0])
    policy = policies.Ranker.from_rankings([[0, 1], [1, 2]], world=world)
    # of query 0 document 1 was shown 9 times, of query 1 document 2 never
    assert evaluation.share_hardly_shown(policy, log, world) == pytest.approx(0.5)
    assert evaluation.share_hardly_shown(policy, log, world, 5) == pytest.approx(0.25 * 0.5)


def test_a_random_policy_is_refused():
    world = data.World(np.zeros((1, 3), np.int8))
    log = data.ClickLog([0], [[0, 1]], np.zeros((1, 2), bool))
    with pytest.raises(ValueError, match="not deterministic"):
        evaluation.share_hardly_shown(policies.Uniform(world, 2), log, world)
