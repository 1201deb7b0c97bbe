"""Support: shares of what a policy shows, against sums over pages."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from clickgym import data, evaluation, policies


@pytest.fixture
def log():
    # query 0: documents 0 and 1 often, 2 once; query 1: documents 0 and 1; query 2: nothing
    ranking = [[0, 1], [1, 0], [2, -1], [0, 1]]
    clicks = np.zeros((4, 2), bool)
    return data.ClickLog([0, 0, 0, 1], ranking, clicks, weight=[9.0, 3.0, 1.0, 20.0])


@pytest.fixture
def three_queries():
    return data.World(np.zeros((3, 4), np.int8), query_probs=[0.5, 0.25, 0.25])


def test_a_rankers_shares_are_exact(log, three_queries):
    policy = policies.Ranker.from_rankings([[0, 2], [1, 3], [0, 1]], world=three_queries)
    found = evaluation.support(policy, log, three_queries)
    # slot 1: query 0 fine, query 1 fine (20 times, but in slot 2), query 2 never
    # slot 2: query 0 once, query 1 never, query 2 never
    assert found.exact
    assert found.by_slot_never.tolist() == [0.25, 0.5]
    assert found.by_slot_hardly.tolist() == [0.25, 1.0]
    assert found.by_slot_not_there.tolist() == [0.5, 1.0]
    assert (found.never, found.hardly, found.not_there) == (0.375, 0.625, 0.75)
    assert found.per_query.tolist() == [0.5, 0.5, 1.0]
    assert found.queries_never == 0.25


def test_hardly_is_what_one_says(log, three_queries):
    policy = policies.Ranker.from_rankings([[0, 2], [1, 0], [0, 1]], world=three_queries)
    shares = [evaluation.support(policy, log, three_queries, hardly=m).hardly for m in (1, 2, 13)]
    assert shares == [0.25, 0.5, 0.75]


def test_a_stochastic_policys_shares_are_sums_over_its_pages(log, three_queries):
    weights = np.random.default_rng(0).random((3, 4))
    policy = policies.PlackettLuce(weights, slots=2)
    found = evaluation.support(policy, log, three_queries)
    seen = evaluation.count_pairs(log, three_queries)
    expected = np.zeros(2)
    for query, page in itertools.product(range(3), itertools.permutations(range(4), 2)):
        chance = np.exp(policy.log_prob([query], [page]))[0] * three_queries.query_probs[query]
        expected += chance * (seen.count(np.array([query]), np.array(page)) < 10)
    assert found.exact
    assert found.by_slot_hardly == pytest.approx(expected)
    assert found.hardly == pytest.approx(expected.mean())


class Drawing(policies.Policy):
    """A Plackett-Luce policy that can only be drawn from."""

    has_log_prob = False

    def __init__(self, policy):
        self.policy, self.slots, self.shape = policy, policy.slots, policy.shape

    def sample(self, query, rng):
        return self.policy.sample(query, rng)


def test_a_policy_that_only_draws_is_sampled(log, three_queries):
    known = policies.PlackettLuce(np.random.default_rng(0).random((3, 4)), slots=2)
    exact = evaluation.support(known, log, three_queries)
    drawn = evaluation.support(Drawing(known), log, three_queries, samples=20_000, seed=1)
    assert not drawn.exact
    assert drawn.hardly == pytest.approx(exact.hardly, abs=0.02)
    again = evaluation.support(Drawing(known), log, three_queries, samples=20_000, seed=1)
    assert drawn.to_dict() == again.to_dict()


def test_pages_are_drawn_where_queries_are_many(log, three_queries, monkeypatch):
    from clickgym.evaluation.warning_signs import shown

    policy = policies.PlackettLuce(np.random.default_rng(0).random((3, 4)), slots=2)
    exact = evaluation.support(policy, log, three_queries)
    monkeypatch.setattr(shown, "_EXACT_QUERIES", 2)
    drawn = evaluation.support(policy, log, three_queries, samples=20_000)
    assert not drawn.exact
    assert drawn.by_slot_hardly == pytest.approx(exact.by_slot_hardly, abs=0.02)


def test_short_pages_count_what_they_show(log, three_queries):
    policy = policies.Ranker.from_rankings([[3, -1], [0, 1], [-1, -1]], world=three_queries)
    found = evaluation.support(policy, log, three_queries)
    # mass: query 0 0.5 in slot 1, query 1 0.25 in each slot, query 2 nothing
    assert found.never == pytest.approx(0.5)
    assert found.by_slot_never == pytest.approx([2 / 3, 0.0])
    assert np.isnan(found.per_query[2])


def test_it_speaks_above_five_percent(log, three_queries):
    of_all = policies.Ranker.from_rankings([[0, 1], [0, 1], [-1, -1]], world=three_queries)
    assert evaluation.support(of_all, log, three_queries).warning is None
    beyond = policies.Ranker.from_rankings([[0, 3], [0, 1], [-1, -1]], world=three_queries)
    text = evaluation.support(beyond, log, three_queries).warning
    assert "33% of what the policy shows was shown fewer than 10 times in the log" in text


def test_bad_input_is_named(log, three_queries):
    policy = policies.Ranker.from_rankings([[0, 1]] * 3, world=three_queries)
    with pytest.raises(ValueError, match="hardly must be at least 1"):
        evaluation.support(policy, log, three_queries, hardly=0)
    other = data.World(np.zeros((3, 5), np.int8))
    with pytest.raises(ValueError, match="world"):
        evaluation.support(policy, log, other)
    empty = policies.Ranker.from_rankings([[-1, -1]] * 3, 4, world=three_queries)
    with pytest.raises(ValueError, match="the policy shows nothing"):
        evaluation.support(empty, log, three_queries)
