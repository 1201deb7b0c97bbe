"""What table fits maximise, its gradients, the search for it, and the closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import SLOTS, small_world
from looping import loop_over
from model_contract import simulate
from scipy.optimize import minimize
from scipy.special import expit

from clickgym import clickmodels, envs, evaluation, policies
from clickgym.clickmodels import cells
from clickgym.clickmodels.networks.network import seeded
from clickgym.clickmodels.registry import registered_class
from clickgym.clickmodels.tablefit import pair_counts, quasi_newton
from clickgym.clickmodels.tablefit.cascade_fit import (
    CascadeFit,
    ChainFold,
    ChainObjective,
    FittedChain,
)
from clickgym.clickmodels.tablefit.continuation import ByRank, ByRelevance, Satisfying
from clickgym.clickmodels.tablefit.examined_fit import (
    _EXAMINATION_SD,
    CellLogits,
    ClickRegression,
    ExaminedObjective,
)
from clickgym.clickmodels.tablefit.gru_examination import GRUExamination
from clickgym.clickmodels.tablefit.prior import BetaPrior, logistic
from clickgym.clickmodels.tablefit.quasi_newton import search
from clickgym.data import ClickLog


def slope(function, point, step=1e-5):
    """The gradient of ``function`` by central differences."""
    rows = step * np.eye(len(point))
    return np.array([function(point + row) - function(point - row) for row in rows]) / (2 * step)


def examined_objective(kind):
    """The objective of a small log with one logit a cell (PBM), a design (ARM) or a GRU (CACM)."""
    world, log = small_world(short=True), simulate(80, short=True, weighted=True)
    number = cells.rank_cells if kind == "free" else cells.prefix_cells
    fold = pair_counts.PairCellFold(log, world, number)
    shape = len(fold.pairs), len(fold.cells)
    if kind == "GRU":
        with seeded(0):
            examination = GRUExamination(SLOTS, 3, fold.cells)
    else:
        examination = (CellLogits if kind == "free" else ClickRegression)(fold)
    prior = BetaPrior(0.7, 1.9)
    return ExaminedObjective(fold.whole, examination, prior, *shape), fold


@loop_over("kind", ["free", "design", "GRU"])
def test_the_gradient_of_attractiveness_and_examination_is_the_slope(kind):
    objective, _ = examined_objective(kind)
    size = objective.n_pairs + len(objective.examination.start())
    point = np.random.default_rng(2).normal(size=size)
    expected = slope(lambda x: objective(x)[0], point)
    np.testing.assert_allclose(objective(point)[1], expected, rtol=1e-5, atol=1e-5)


def test_the_likelihood_that_is_maximised_is_the_pbms():
    world, log = small_world(short=True), simulate(80, short=True, weighted=True)
    objective, fold = examined_objective("free")
    point = np.random.default_rng(2).normal(size=objective.n_pairs + SLOTS)
    pairs, ranks = point[:-SLOTS], point[-SLOTS:]
    prior = objective.prior.loss(logistic(pairs)) + 0.5 * (ranks @ ranks) / _EXAMINATION_SD**2
    attractiveness = np.full(world.n_queries * world.n_docs, 0.5)
    attractiveness[fold.pairs] = expit(pairs)
    model = clickmodels.PBM(attractiveness.reshape(world.relevance.shape), expit(ranks))
    expected = log.weight @ model.log_likelihood(log.query, log.ranking, log.clicks)
    assert prior - objective(point)[0] == pytest.approx(expected, rel=1e-10)


CHAINS = {
    "DBN": Satisfying(patient=False, satisfied=BetaPrior(1.2, 0.8)),
    "SDBN": Satisfying(patient=True, satisfied=BetaPrior(1.2, 0.8)),
    "DCM": ByRank(),
    "CCM": ByRelevance(),
}


def chain_objective(name):
    """The objective of a small log, its fold and a random point."""
    world, log = small_world(short=True), simulate(80, short=True, weighted=True)
    continuation = CHAINS[name]
    fold = ChainFold(log, world, continuation.cells)
    objective = ChainObjective(fold.whole, BetaPrior(0.7, 1.9), continuation)
    size = len(fold.pairs) + len(continuation.start(fold.n_cells))
    return world, log, objective, fold, np.random.default_rng(3).normal(size=size)


@loop_over("name", CHAINS)
def test_the_gradient_of_a_model_that_reads_from_the_top_is_the_slope(name):
    _, _, objective, _, point = chain_objective(name)
    expected = slope(lambda x: objective(x)[0], point)
    np.testing.assert_allclose(objective(point)[1], expected, rtol=1e-5, atol=1e-5)


def chain_at(name, world, objective, fold, point):
    """The model whose logits are ``point``."""
    n_pairs = len(fold.pairs)
    fitted = FittedChain(
        point[:n_pairs], point[n_pairs:], objective.attractive, objective.continuation
    )
    return registered_class(name)(**CascadeFit(CHAINS[name]).arguments(fold, fitted, world))


@loop_over("name", CHAINS)
def test_the_likelihood_that_is_maximised_is_the_models(name):
    world, log, objective, fold, point = chain_objective(name)
    n_pairs = len(fold.pairs)
    prior = objective.attractive.loss(logistic(point[:n_pairs]))
    prior += objective.continuation.prior(point[n_pairs:])[0]
    model = chain_at(name, world, objective, fold, point)
    expected = log.weight @ model.log_likelihood(log.query, log.ranking, log.clicks)
    assert prior - objective(point)[0] == pytest.approx(expected, rel=1e-10)


def dbn_posterior(attractive, satisfied, continuation, clicks):
    """P(examined | clicks) of each rank and P(the last click satisfied | clicks), by enumeration.

    Reading ends at one of the ranks; up to there everything was examined.
    """
    n = len(clicks)
    ends, satisfying = np.zeros(n), 0.0
    for end in range(n):
        if clicks[end + 1 :].any():
            continue
        joint = np.prod(np.where(clicks, attractive, 1 - attractive)[: end + 1])
        joint *= np.prod(np.where(clicks, 1 - satisfied, 1.0)[:end]) * continuation**end
        stops = 1.0 if end == n - 1 else 1 - continuation
        if clicks[end]:
            satisfying = joint * satisfied[end]
            joint *= satisfied[end] + (1 - satisfied[end]) * stops
        else:
            joint *= stops
        ends[end] = joint
    return ends[::-1].cumsum()[::-1] / ends.sum(), satisfying / ends.sum()


def test_expected_examinations_and_satisfactions_are_those_of_an_enumeration(monkeypatch):
    world, log, objective, fold, point = chain_objective("DBN")
    model = chain_at("DBN", world, objective, fold, point)
    expected = np.zeros((2, world.n_queries, world.n_docs))
    for query, ranking, clicked, weight in zip(
        log.query, log.ranking, log.clicks, log.weight, strict=True
    ):
        page, clicks = ranking[ranking >= 0], clicked[ranking >= 0]
        values = model.attractiveness[query, page], model.satisfaction[query, page]
        examined, satisfied = dbn_posterior(*values, model.continuation, clicks)
        expected[0, query, page] += weight * examined
        if clicks.any():
            expected[1, query, page[np.flatnonzero(clicks)[-1]]] += weight * satisfied
    expected = expected.reshape(2, -1)[:, fold.pairs]
    learned_from = []
    monkeypatch.setattr(
        BetaPrior, "learn", lambda self, *counts: learned_from.append(counts) or self
    )
    objective.learn(point)
    (clicks, examined), (satisfied, clicked) = learned_from
    np.testing.assert_allclose([examined, satisfied], expected, atol=1e-9)
    np.testing.assert_array_equal(clicks, clicked)


def ending_with_a_click(n=4000, seed=0):
    """A log in which nothing stands below a last click: reading surely reached the page's end."""
    rng = np.random.default_rng(seed)
    world = small_world()
    query = rng.integers(0, world.n_queries, n)
    ranking = np.stack([rng.permutation(world.n_docs)[:SLOTS] for _ in range(n)])
    values = rng.beta(1.0, 2.0, (world.n_queries, world.n_docs))
    clicks = rng.random((n, SLOTS)) < values[query[:, None], ranking]
    clicks[:, -1] = True
    return world, ClickLog(query, ranking, clicks)


@loop_over("name", ["SDBN", "DCM"])
def test_counting_agrees_with_the_likelihood_where_nothing_is_hidden(name):
    """Up to how far the priors are learned, which counting does to the end."""
    world, log = ending_with_a_click()
    counted = clickmodels.fit(name, log, world, method="counts")
    likely = clickmodels.fit(name, log, world)
    seen = counted.seen
    np.testing.assert_allclose(
        likely.attractiveness[seen], counted.attractiveness[seen], atol=5e-3
    )
    # Satisfaction is not compared: counting takes every last click for a satisfied one, while the
    # likelihood knows nothing of what would have followed on the last rank.
    above = slice(0, SLOTS - 1)  # what a click on the last rank leads to has no effect
    if name == "DCM":
        np.testing.assert_allclose(
            likely.continuation[above], counted.continuation[above], atol=5e-3
        )


@loop_over("name", ["SDBN", "DCM"])
def test_counting_takes_what_is_likely_for_certain(name):
    """Where pages have a tail, the likelihood predicts better: a user may read on past a click."""
    world = small_world(60, 8)
    user = clickmodels.true_user(name, world, attractiveness_scale=0.5)
    train = envs.collect(world, user, policies.Uniform(world, SLOTS), 8000, seed=0)
    test = envs.collect(world, user, policies.Uniform(world, SLOTS), 8000, seed=1)
    perplexity = {
        method: evaluation.perplexity(
            clickmodels.fit(name, train, world, method=method), test
        ).mean
        for method in ("likelihood", "counts")
    }
    assert perplexity["likelihood"] < perplexity["counts"]


@loop_over("kind", ["free", "design", *CHAINS])
def test_the_search_finds_what_scipys_finds(kind):
    if kind in CHAINS:
        _, _, objective, _, point = chain_objective(kind)
    else:
        objective, _ = examined_objective(kind)
        point = np.zeros(objective.n_pairs + len(objective.examination.start()))
    found = search(objective, np.zeros(len(point)), warm=False)  # the priors are learned on the way
    best = minimize(objective, found, jac=True, method="L-BFGS-B", options={"maxiter": 5000})
    assert best.fun <= objective(found)[0] <= best.fun + 0.1  # nats


@pytest.mark.parametrize("name", ["PBM", "UBM", "DBN", "DCM", "CCM", "ARM"])
def test_priors_are_learned_to_the_end_where_the_log_confounds(name, monkeypatch):
    """A near-optimal ranker shows good documents high: the prior decides what is promised."""
    world = small_world(60, 20)
    user = clickmodels.true_user("CoCM-mismatch", world)
    log = envs.collect(world, user, policies.logging_policy("epsilon-oracle", world), 5000, seed=0)
    tables = [clickmodels.fit(name, log, world).relevance()]
    for setting, value in {"_ROUNDS": 60, "_STEPS": 60, "_SETTLED": 0, "_TOLERANCE": 1e-10}.items():
        monkeypatch.setattr(quasi_newton, setting, value)
    tables.append(clickmodels.fit(name, log, world).relevance())
    shown = world.restricted_to(log).candidates
    assert np.sqrt(np.mean((tables[0] - tables[1])[shown] ** 2)) < 0.015
