"""Top-Down and Max-Reward policies against enumeration."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from conftest import small_world

from clickgym import clickmodels, data, envs, policies

SIZES = [(6, 6), (8, 4)]
STRUCTURES = ("PBM", "UBM", "DBN", "CoCM", "ARM", "CACM-minus", "NCM")
N_QUERIES = 3


def world_of(n_docs):
    rng = np.random.default_rng(4)
    relevance = rng.integers(0, 5, (N_QUERIES, n_docs))
    relevance[:, :2] = (0, 4)
    return data.World(relevance)


def model_of(name, n_docs, slots):
    """A model with random parameters; NCM is fitted, for it has too many to draw."""
    rng = np.random.default_rng(8)
    attractiveness = rng.random((N_QUERIES, n_docs))
    if name == "NCM":
        world = world_of(n_docs)
        user = clickmodels.true_user("CoCM", world, floor=0.2)
        log = envs.collect(world, user, policies.Uniform(world, slots), 400, seed=0)
        return clickmodels.fit("NCM", log, world, epochs=2, check_every=10)
    makers = {
        "PBM": lambda: clickmodels.PBM(attractiveness, rng.random(slots)),
        "UBM": lambda: clickmodels.UBM(attractiveness, rng.random((slots, slots))),
        "DBN": lambda: clickmodels.DBN(attractiveness, rng.random((N_QUERIES, n_docs)), 0.8),
        "CoCM": lambda: clickmodels.CoCM(attractiveness, modes=(0.2, 0.7, 0.1)),
        "ARM": lambda: clickmodels.ARM(attractiveness, rng.normal(size=slots)),
        "CACM-minus": lambda: clickmodels.CACMMinus(attractiveness, rng.random(2**slots - 1)),
    }
    return makers[name]()


def fitted_of(name, n_docs, slots):
    """A model fitted to a short log of a CoCM user."""
    world = world_of(n_docs)
    user = clickmodels.true_user("CoCM", world, floor=0.2)
    log = envs.collect(world, user, policies.Uniform(world, slots), 400, seed=0)
    return clickmodels.fit(name, log, world)


def best_values(model, n_docs, slots):
    orders = np.array(list(itertools.permutations(range(n_docs), slots)))
    return np.array([
        model.expected_clicks(np.full(len(orders), query), orders).max()
        for query in range(N_QUERIES)
    ])  # fmt: skip


@pytest.mark.parametrize("name", STRUCTURES)
def test_the_true_optimum_is_found(name):
    for n_docs, slots in SIZES:
        model = model_of(name, n_docs, slots)
        best = best_values(model, n_docs, slots)
        for method in ("auto", "exact"):
            policy = policies.max_reward(model, world_of(n_docs), slots, method=method)
            np.testing.assert_allclose(policy.found.values, best, atol=1e-12, err_msg=method)
            shown = model.expected_clicks(np.arange(N_QUERIES), policy.rankings)
            np.testing.assert_allclose(shown, best, atol=1e-12, err_msg=method)


@pytest.mark.parametrize("name", STRUCTURES)
def test_guided_search_finds_it_too(name):
    """For random parameters and, where there is a fit, fitted ones; NCM is always fitted."""
    for n_docs, slots in SIZES:
        models = [model_of(name, n_docs, slots)]
        if name not in ("CoCM", "NCM"):
            models.append(fitted_of(name, n_docs, slots))
        for model in models:
            policy = policies.max_reward(model, world_of(n_docs), slots, method="guided")
            best = best_values(model, n_docs, slots)
            np.testing.assert_allclose(policy.found.values, best, atol=1e-9)


def test_more_slots_than_a_model_knows_are_refused():
    for name in ("PBM", "UBM", "CACM-minus"):
        with pytest.raises(ValueError, match=f"slots is 6, but the {name} knows 4 ranks"):
            policies.max_reward(model_of(name, 8, 4), world_of(8), 6)


def test_bad_restarts_are_refused():
    with pytest.raises(ValueError, match="restarts"):
        policies.max_reward(model_of("DBN", 6, 6), world_of(6), 6, restarts=-1)


def test_a_model_without_relevance_is_searched_too():
    class Shy(clickmodels.DBN):
        capabilities = frozenset({"conditional", "generative"})

    known = model_of("DBN", 6, 6)
    shy = Shy(known.attractiveness, known.satisfaction, known.continuation)
    found = policies.max_reward(shy, world_of(6), 6, method="guided").found.values
    np.testing.assert_allclose(found, best_values(known, 6, 6), atol=1e-9)


class Plain(clickmodels.ClickModel):
    """A PBM as a model of one's own has it: conditionals alone, so scores are expensive."""

    def __init__(self, known):
        self.known = known

    def relevance(self):
        return self.known.relevance()

    def conditional_click_probs(self, query, ranking, clicks):
        return self.known.conditional_click_probs(query, ranking, clicks)


def test_a_model_of_ones_own_is_searched_by_its_conditionals():
    for name in ("PBM", "DBN"):
        known = model_of(name, 8, 4)
        policy = policies.max_reward(Plain(known), world_of(8), 4, method="guided")
        assert (policy.found.values >= 0.99 * best_values(known, 8, 4)).all(), name


def test_rough_scores_are_clicks_as_long_as_there_is_none():
    known = model_of("PBM", 8, 4)  # whose clicks change nothing
    pages = np.tile(np.arange(4), (N_QUERIES, 1))
    rough = Plain(known).rough_columns(np.arange(N_QUERIES), pages.T)
    np.testing.assert_allclose(rough, known.expected_clicks(np.arange(N_QUERIES), pages))


def test_the_papers_search_fills_long_pages():
    world = data.synthetic_world(n_queries=2, n_docs=15)
    user = clickmodels.true_user("DBN", world)
    policy = policies.max_reward(user, world, slots=12, method="paper")
    assert (policy.rankings >= 0).all()


def test_methods_are_told_apart():
    model, world = model_of("PBM", 6, 6), world_of(6)
    found = {m: policies.max_reward(model, world, 6, method=m).found for m in ("closed", "exact")}
    assert [found[m].exact for m in found] == [True, True]
    assert found["exact"].scored > 720 * N_QUERIES > found["closed"].scored
    assert found["closed"].method == "closed"


def test_the_papers_search_is_no_better_than_guided_on_average():
    world = data.synthetic_world(n_queries=5, n_docs=15)
    user = clickmodels.true_user("CoCM-mismatch", world)
    guided = policies.max_reward(user, world, method="guided").found.values
    paper = policies.max_reward(user, world, method="paper").found.values
    assert guided.mean() >= paper.mean() - 1e-12


def test_the_same_seed_finds_the_same():
    world = data.synthetic_world(n_queries=5, n_docs=15)
    user = clickmodels.true_user("CoCM", world)
    rankings = [policies.max_reward(user, world, seed=3).rankings for _ in range(2)]
    np.testing.assert_array_equal(*rankings)


def test_short_lists_give_short_pages():
    world = small_world(short=True)
    user = clickmodels.true_user("CoCM", world)
    for method in ("exact", "guided", "paper"):
        policy = policies.max_reward(user, world, 4, method=method)
        assert sorted(policy.rankings[0].tolist()) == [-1, -1, 0, 1]
        assert policy.rankings[0, 2:].tolist() == [-1, -1]


def test_queries_never_asked_are_not_searched():
    relevance = np.array([[0, 4, 2], [1, 3, 0]])
    world = data.World(relevance, query_probs=[1.0, 0.0])
    user = clickmodels.true_user("DBN", world)
    assert policies.max_reward(user, world, 3).found.values[1] == 0.0


def test_top_down_ranks_candidates_by_relevance():
    world = small_world(short=True)
    user = clickmodels.true_user("DBN", world)
    policy = policies.top_down(user, world, 5)
    shown = world.gain[2][policy.rankings[2]]
    assert (np.diff(shown) <= 0).all()
    assert policy.rankings[0, 2:].tolist() == [-1, -1, -1]


def test_no_closed_form_is_said():
    with pytest.raises(ValueError, match="no closed form for DBN"):
        policies.max_reward(model_of("DBN", 6, 6), world_of(6), 6, method="closed")


@pytest.mark.slow
def test_guided_search_reaches_the_optimum_of_all_orders():
    world = data.synthetic_world(n_queries=20, n_docs=10, seed=3)
    user = clickmodels.true_user("CoCM-mismatch", world)
    exact = policies.max_reward(user, world, method="exact").found.values
    guided = policies.max_reward(user, world, method="guided").found.values
    assert (guided / exact).min() >= 0.999
