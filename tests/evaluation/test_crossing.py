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


def test_policies_are_compared_by_the_judges_that_neither_was_found_inside():
    leads = TABLE.leads
    # A and B by C and D: 0.0 and -0.3; A and C by B and D: 0.1 and 0.2; B and C by A and D
    assert leads[0, 1] == pytest.approx(-0.15)
    assert leads[0, 2] == pytest.approx(0.15)
    assert leads[1, 2] == pytest.approx(0.35)
    assert leads == pytest.approx(-leads.T)
    assert TABLE.ahead.tolist() == [1, 2, 0]


def test_neither_generous_judges_nor_own_promises_change_a_comparison():
    rng = np.random.default_rng(0)
    own = [0, 0, 1, 1, 2, 2, 3, 3]
    for _ in range(20):
        earned = rng.uniform(size=8)
        values = earned[:, None] + rng.uniform(-5, 5, 4)  # judges agree, but for their generosity
        values[np.arange(8), own] += rng.uniform(0, 50, 8)
        table = evaluation.CrossTable(list("aabbccdd"), list("abcd"), values, own)
        assert table.leads == pytest.approx(earned[:, None] - earned)
        assert np.argsort(table.ahead).tolist() == np.argsort(earned).tolist()


def test_two_models_have_no_impartial_judge_of_each_other():
    table = evaluation.CrossTable(
        ["A", "a", "B"], ["A", "B"], np.array([[3.0, 1.0], [2.0, 1.5], [1.0, 9.0]]), [0, 0, 1]
    )
    assert np.isnan(table.leads[:2, 2]).all()
    assert table.leads[0, 1] == -0.5  # by B
    assert table.ahead.tolist() == [0, 1, 0]


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
