"""The graph of ranks, against graphs that one can draw."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from clickgym import clickmodels, data, envs, evaluation, policies


def log_of(*rankings, weight=None, query=None):
    ranking = np.array(rankings)
    query = np.zeros(len(ranking), int) if query is None else query
    return data.ClickLog(query, ranking, np.zeros(ranking.shape, bool), weight=weight)


def test_a_chain_is_connected_and_its_weakest_link_is_named():
    # 1-2 by two documents, 2-3 by one; 1-3 by one
    log = log_of([0, 1, 2], [1, 0, 3], [4, 3, 5], weight=[300.0, 100.0, 50.0])
    found = evaluation.identifiability(log)
    assert found.connected
    assert found.components == ((1, 2, 3),)
    # documents 0 and 1: 300 against 100 each; document 3: 100 at rank 3, 50 at rank 2
    assert found.comparisons[0, 1] == pytest.approx(2 * 75.0)
    assert found.comparisons[1, 2] == pytest.approx(100 * 50 / 150)
    assert found.comparisons[0, 2] == 0.0
    assert found.weakest == pytest.approx(100 / 3)
    assert found.weakest_ranks == (2, 3)
    laplacian = np.array([[150, -150, 0], [-150, 150 + 100 / 3, -100 / 3], [0, -100 / 3, 100 / 3]])
    expected = np.sort(np.linalg.eigvals(laplacian).real)[1]
    assert found.algebraic_connectivity == pytest.approx(expected)
    assert "Ranks 2 and 3" in found.warning


def test_the_weakest_link_is_that_of_the_best_tree():
    rng = np.random.default_rng(0)
    ranking = np.array([rng.permutation(12)[:4] for _ in range(8)])
    log = log_of(*ranking, weight=rng.integers(1, 500, 8).astype(float))
    found = evaluation.identifiability(log)
    edges = list(itertools.combinations(range(4), 2))
    best = 0.0  # over all trees of four ranks, the largest least edge
    for tree in itertools.combinations(edges, 3):
        reached = {0}
        for _ in range(3):
            reached |= {b for a, b in tree if a in reached} | {a for a, b in tree if b in reached}
        if len(reached) == 4:
            best = max(best, min(found.comparisons[edge] for edge in tree))
    assert best > 0
    assert found.weakest == pytest.approx(best)


def test_a_fixed_ranking_identifies_nothing():
    found = evaluation.identifiability(log_of([0, 1, 2], [0, 1, 2]))
    assert found.components == ((1,), (2,), (3,))
    assert not found.connected
    assert found.weakest_ranks is None
    assert found.algebraic_connectivity == 0.0
    assert "3 groups of ranks (1; 2; 3)" in found.warning


def test_the_same_document_of_another_query_connects_nothing():
    found = evaluation.identifiability(log_of([0, 1], [1, 0], query=[0, 1]))
    assert not found.connected


def test_ranks_never_shown_do_not_count():
    found = evaluation.identifiability(log_of([0, 1, -1], [1, 0, -1], weight=[3000.0, 3000.0]))
    assert found.components == ((1, 2),)
    assert found.weakest == pytest.approx(3000.0)
    assert found.warning is None


def test_one_rank_needs_no_link():
    found = evaluation.identifiability(log_of([0], [1]))
    assert found.connected
    assert found.warning is None
    assert found.to_dict()["weakest"] is None  # infinite, which JSON has not


def test_relevance_is_recovered_where_the_graph_is_connected_and_not_elsewhere():
    world = data.World(np.zeros((1, 4), np.int8))
    user = clickmodels.PBM(np.array([[0.8, 0.6, 0.4, 0.2]]), np.array([1.0, 0.3]))
    swapped = policies.Mixture(
        [policies.Ranker.from_rankings([page], world=world) for page in ([0, 1], [1, 2], [3, 0])],
        [0.4, 0.3, 0.3],
    )
    fixed = policies.Ranker.from_rankings([[0, 1]], world=world)
    for policy, connected in ((swapped, True), (fixed, False)):
        log = envs.collect(world, user, policy, 200_000, 0)
        assert evaluation.identifiability(log).connected == connected
        model = clickmodels.fit("PBM", log, world)
        ratio = model.relevance()[0, 1] / model.relevance()[0, 0]
        assert (abs(ratio - 0.6 / 0.8) < 0.05) == connected


def test_an_empty_log_is_refused():
    with pytest.raises(ValueError, match="the log shows nothing"):
        evaluation.identifiability(log_of([-1, -1]))
