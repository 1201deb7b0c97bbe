"""The neural click model's scores: all prefixes, the likely ones, and the rough ones."""

from __future__ import annotations

import functools
import itertools

import numpy as np
import pytest

from clickgym import clickmodels, data, envs, policies
from clickgym.clickmodels import ClickModel
from clickgym.clickmodels.ncm.tree import PrefixTree

N_QUERIES, N_DOCS = 5, 12


@functools.cache
def world_and_model():
    """A network with large weights, so that clicks do depend on clicks."""
    world = data.synthetic_world(n_queries=N_QUERIES, n_docs=N_DOCS, seed=1)
    rng = np.random.default_rng(0)
    width, hidden = 4, 6
    model = clickmodels.NCM(
        query_embedding=rng.normal(size=(N_QUERIES, width)),
        document_embedding=rng.normal(size=(N_QUERIES, N_DOCS, width)),
        input_weights=rng.normal(size=(3 * hidden, 2 * width + 1)),
        hidden_weights=rng.normal(size=(3 * hidden, hidden)),
        input_bias=rng.normal(size=3 * hidden),
        hidden_bias=rng.normal(size=3 * hidden),
        output_weights=rng.normal(size=hidden),
        output_bias=-1.0,
    )
    return world, model


def pages(slots, n=40):
    rng = np.random.default_rng(slots)
    ranking = np.argsort(rng.random((n, N_DOCS)), axis=1)[:, :slots]
    ranking[:3, slots // 2 :] = -1
    return rng.integers(0, N_QUERIES, n), ranking


def test_the_tree_is_the_sum_over_all_prefixes():
    _, model = world_and_model()
    for slots in (1, 2, 5, 9):
        query, ranking = pages(slots, 100)
        expected = ClickModel.click_probs(model, query, ranking)
        for threads in (1, 2):
            got, bound = PrefixTree(model, threads=threads).click_probs(query, ranking)
            np.testing.assert_allclose(got, expected, atol=1e-12, err_msg=f"{slots} {threads}")
            assert (bound == 0.0).all()


def test_single_precision_is_off_by_little():
    _, model = world_and_model()
    query, ranking = pages(10)
    got, _ = PrefixTree(model, np.float32).click_probs(query, ranking)
    np.testing.assert_allclose(got, model.click_probs(query, ranking), atol=2e-5)


def test_leaving_out_prefixes_keeps_its_bound():
    _, model = world_and_model()
    query, ranking = pages(10)
    expected = model.click_probs(query, ranking)
    for drop in (1e-4, 1e-3, 1e-2):
        got, bound = PrefixTree(model, drop=drop).click_probs(query, ranking)
        error = np.abs(got - expected)
        assert (error <= bound + 1e-12).all(), drop
        assert bound.max() > 0.0, drop
        assert error.max() > 0.0, drop


def test_huge_weights_do_not_overflow():
    _, model = world_and_model()
    state = {name: np.asarray(value) * 200.0 for name, value in model.state().items()}
    state["output_bias"] = float(state["output_bias"])
    huge = clickmodels.NCM(**state)
    query, ranking = pages(4)
    expected = ClickModel.click_probs(huge, query, ranking)
    np.testing.assert_allclose(huge.click_probs(query, ranking), expected, atol=1e-12)
    assert np.isfinite(huge.rough_columns(query, np.ascontiguousarray(ranking.T))).all()


def test_a_click_may_undo_a_huge_gate():
    """The update gate is shut by a bias of -60 and opened again by a click of +60."""
    _, model = world_and_model()
    state = model.state()
    hidden = len(model.output_weights)
    weights, bias = state["input_weights"].copy(), state["input_bias"].copy()
    for huge in (60.0, 300.0):
        bias[hidden : 2 * hidden], weights[hidden : 2 * hidden, -1] = -huge, huge
        shut = clickmodels.NCM(**state | {"input_weights": weights, "input_bias": bias})
        query, ranking = pages(5)
        expected = ClickModel.click_probs(shut, query, ranking)
        for dtype, tolerance in ((np.float64, 1e-12), (np.float32, 2e-4)):
            got, _ = PrefixTree(shut, dtype).click_probs(query, ranking)
            np.testing.assert_allclose(got, expected, atol=tolerance)


def test_pages_whose_prefixes_are_all_unlikely_have_a_score():
    _, model = world_and_model()
    state = {name: np.zeros_like(value) for name, value in model.state().items()}
    even = clickmodels.NCM(**state | {"output_bias": 0.0})  # P(click) = 1/2, whatever happened
    query, ranking = pages(12, 5)
    ranking[:3] = ranking[3]
    scores = even.score_columns(query, np.ascontiguousarray(ranking.T))
    np.testing.assert_allclose(scores, 6.0, atol=1e-5)


def test_rough_scores_order_rankings_nearly_as_exact_ones():
    world = data.synthetic_world(n_queries=3, n_docs=8, seed=1)
    user = clickmodels.true_user("CoCM", world, floor=0.1)
    log = envs.collect(world, user, policies.Uniform(world, 5), 1_500, seed=0)
    model = clickmodels.fit("NCM", log, world, epochs=3, check_every=20)
    rng = np.random.default_rng(0)
    ranking = np.argsort(rng.random((200, 8)), axis=1)[:, :5]
    query = np.zeros(200, dtype=np.int64)
    rough = model.rough_columns(query, np.ascontiguousarray(ranking.T))
    assert np.corrcoef(rough, model.expected_clicks(query, ranking))[0, 1] > 0.9


def test_rough_scores_of_one_slot_are_exact():
    _, model = world_and_model()
    query, ranking = pages(1)
    rough = model.rough_columns(query, np.ascontiguousarray(ranking.T))
    np.testing.assert_allclose(rough, model.expected_clicks(query, ranking), atol=1e-5)


def test_a_search_inside_it_beats_top_down():
    world, model = world_and_model()
    start = policies.top_down(model, world)
    before = model.expected_clicks(np.arange(N_QUERIES), start.rankings)
    found = policies.max_reward(model, world).found
    assert found.method == "guided"
    assert (found.values >= before).all()
    assert found.values.mean() > before.mean()


def test_enumeration_finds_the_optimum_where_scores_are_rounded():
    """Nine slots, of which short lists fill four: all orders are scored exactly."""
    world, model = world_and_model()
    few = world.with_candidates(np.arange(N_DOCS) < [[4]] * N_QUERIES, world.query_probs)
    policy = policies.max_reward(model, few, slots=9, method="exact")
    orders = np.array(list(itertools.permutations(range(4))))
    pages_of = np.pad(orders, ((0, 0), (0, 5)), constant_values=-1)
    for query in range(N_QUERIES):
        best = model.expected_clicks(np.full(24, query), pages_of).max()
        assert policy.found.values[query] == pytest.approx(best, abs=1e-12)
