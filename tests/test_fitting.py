"""Fitting click models: recovery, real clicks, degenerate logs, seeds, weights and gradients."""

from __future__ import annotations

import functools
import os
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from conftest import SLOTS, small_world
from judging import random_log, repeated
from scipy.optimize import minimize
from scipy.special import betaln, expit, logit

from clickgym import clickmodels, data, envs, evaluation, policies
from clickgym.clickmodels.fitting import is_random, takes_parameters
from clickgym.clickmodels.networks.network import seeded
from clickgym.clickmodels.networks.prefix_networks import GRUExamination
from clickgym.clickmodels.pages import all_clicks
from clickgym.clickmodels.registry import registered_class
from clickgym.clickmodels.tablefit import cascade_fit as chain_fit
from clickgym.clickmodels.tablefit import cells, quasi_newton
from clickgym.clickmodels.tablefit import pair_counts as pair_cells
from clickgym.clickmodels.tablefit.cascade_fit import CascadeFit
from clickgym.clickmodels.tablefit.continuation import ByRank, ByRelevance, Satisfying
from clickgym.clickmodels.tablefit.examined_fit import (
    _EXAMINATION_SD,
    CellLogits,
    ClickRegression,
    ExaminedObjective,
)
from clickgym.clickmodels.tablefit.prior import BetaPrior, logistic
from clickgym.clickmodels.tablefit.quasi_newton import search
from clickgym.data import ClickLog

NAMES = [
    name
    for name in clickmodels.names()
    if registered_class(name).__module__.startswith("clickgym.")  # a test may register its own
]
VARIANTS = [
    (name, parameters)
    for name in NAMES
    for parameters in (("table", "embedding") if takes_parameters(name) else ("table",))
]
DETERMINISTIC = [variant for variant in VARIANTS if not is_random(*variant)]
RANDOM = [variant for variant in VARIANTS if is_random(*variant)]
SMALL = {"epochs": 1, "embedding": 4, "hidden": 4}  # of fits by mini-batches


def label(value):
    return "-".join(value) if isinstance(value, tuple) else None


every_variant = pytest.mark.parametrize("variant", VARIANTS, ids=label)


def fitted(variant, log, world, seed=0, **settings):
    """The model ``(name, parameters)``, trained briefly where it is trained by mini-batches."""
    name, parameters = variant
    if parameters == "embedding" or name == "NCM":
        settings = {**SMALL, **settings}
    return clickmodels.fit(name, log, world, seed=seed, parameters=parameters, **settings)


def assert_same_state(model, other, tolerance=0.0):
    first, second = model.state(), other.state()
    assert first.keys() == second.keys()
    for key, value in first.items():
        np.testing.assert_allclose(value, second[key], rtol=0, atol=tolerance, err_msg=key)


def same_state(model, other):
    second = other.state()
    return all(np.array_equal(value, second[key]) for key, value in model.state().items())


# Recovery: what made a log can be found in it

IMPRESSIONS, TEST_PAGES = 1_000_000, 50_000


class Recovery:
    """A user, a large log of its clicks under uniform rankings, and the model fitted to it."""

    def __init__(self, name):
        world = data.embedded_world(10)
        self.user = clickmodels.true_user(name, world)
        uniform = policies.Uniform(world)
        self.log = envs.collect(world, self.user, uniform, IMPRESSIONS, seed=0)
        self.model = clickmodels.fit(name, self.log, world)
        test = envs.collect(world, self.user, uniform, TEST_PAGES, seed=1)
        self.oracle = evaluation.perplexity(self.user, test).mean
        self.perplexity = evaluation.perplexity(self.model, test).mean

    def examination_error(self, kind):
        """The mean relative error of examination, each cell counted as often as it occurred."""
        found, true = (m.examination.ravel() for m in (self.model, self.user))
        numbers = cells.cell_numbers(kind, self.log.clicks)
        occurred = np.bincount(numbers.ravel(), minlength=len(true))
        error = np.abs((found / found[0]) / (true / true[0]) - 1.0)
        return np.average(error, weights=occurred)


@pytest.fixture(scope="module")
def recovery():
    return functools.cache(Recovery)


@pytest.mark.parametrize(("name", "excess"), [("PBM", 1e-3), ("UBM", 1e-3), ("DBN", 1.5e-3)])
def test_a_model_of_the_users_structure_predicts_as_well_as_the_user(recovery, name, excess):
    assert recovery(name).perplexity / recovery(name).oracle - 1.0 <= excess


@pytest.mark.parametrize(
    ("name", "kind"), [("PBM", cells.rank_cells), ("UBM", cells.latest_cells)]
)
def test_examination_is_recovered_up_to_its_scale(recovery, name, kind):
    assert recovery(name).examination_error(kind) <= 0.02


def test_continuation_is_recovered(recovery):
    true = recovery("DBN").user.continuation
    assert recovery("DBN").model.continuation == pytest.approx(true, rel=0.01)


# Real clicks, against PyClick and CLAX (../shared/data/README.md has the split and their numbers)


@pytest.fixture(scope="module")
def yandex():
    folder = os.environ.get("CLICKGYM_DATA")
    if not folder:
        pytest.skip("CLICKGYM_DATA does not name the folder with the real samples")
    with pytest.warns(UserWarning, match="dropped 417 clicks"):
        world, log = data.read_pyclick(Path(folder) / "yandex" / "sample.txt")
    order = np.random.default_rng(0).permutation(len(log))
    train, test = np.split(order, [int(0.8 * len(log))])
    return world, log[train], log[test]


@pytest.mark.parametrize(("name", "bound"), [
    ("PBM", 1.3867), ("UBM", 1.3636), ("DBN", 1.3661), ("CCM", 1.3673), ("DCM", 1.3896),
    ("SDBN", 1.4082),
])  # fmt: skip
def test_real_clicks_are_predicted_as_well_as_by_pyclick_and_clax(yandex, name, bound):
    world, train, test = yandex
    model = clickmodels.fit(name, train, world)
    assert evaluation.perplexity(model, test).mean <= bound


# Degenerate logs: a valid model all the same


def simulated(n=60, short=False, weighted=False, user="DBN"):
    world = small_world(short=short)
    return random_log(world, clickmodels.true_user(user, world), n, weighted=weighted)


def no_clicks():
    log = simulated()
    return ClickLog(log.query, log.ranking, np.zeros_like(log.clicks))


def only_clicks():
    log = simulated()
    return ClickLog(log.query, log.ranking, np.ones_like(log.clicks))


def one_query():
    log = simulated()
    return ClickLog(np.full(len(log), 3), log.ranking, log.clicks)


def one_slot():
    log = simulated()
    return ClickLog(log.query, log.ranking[:, :1], log.clicks[:, :1])


def always_clicked():
    log = simulated()
    return ClickLog(log.query, log.ranking, log.clicks | (log.ranking == 2))


def different_lengths():
    """Pages of 0 to 5 documents."""
    log = simulated()
    kept = np.arange(SLOTS) < np.random.default_rng(0).integers(SLOTS + 1, size=len(log))[:, None]
    return ClickLog(log.query, np.where(kept, log.ranking, -1), log.clicks & kept)


def one_document():
    return ClickLog(np.zeros(30, int), np.full((30, 1), 4), np.arange(30)[:, None] % 3 == 0)


def huge_weights():
    log = simulated()
    weight = np.where(np.arange(len(log)) == 0, 1e7, 1.0)
    return ClickLog(log.query, log.ranking, log.clicks, weight=weight)


LOGS = {
    "no clicks": no_clicks,
    "nothing but clicks": only_clicks,
    "one impression": lambda: ClickLog([1], [[4, 0, 2, 1, 6]], [[0, 1, 0, 0, 0]]),
    "one impression without a click": lambda: ClickLog([1], [[4, 0, 2, 1, 6]], [[0] * 5]),
    "one query": one_query,
    "one slot": one_slot,
    "one document": one_document,
    "a document always clicked": always_clicked,
    "different lengths": different_lengths,
    "weights, some of them 0": lambda: simulated(weighted=True),
    "a row of huge weight": huge_weights,
}


def assert_valid(model, world, slots):
    """Assert that all the model says about full and short pages is a probability."""
    assert np.isfinite(model.relevance()).all()
    clicks = all_clicks(slots)
    pages = [list(range(6, 6 - slots, -1)), [2] + [-1] * (slots - 1)]
    for query in (0, 3):
        for page in pages:
            asked = np.full(len(clicks), query), np.tile(page, (len(clicks), 1))
            if "conditional" in model.capabilities:
                probs = model.conditional_click_probs(*asked, clicks)
                assert np.isfinite(probs).all()
                assert ((probs >= 0) & (probs <= 1)).all()
            if "generative" in model.capabilities:
                joint = np.exp(model.log_likelihood(*asked, clicks))
                assert joint.sum() == pytest.approx(1.0, abs=1e-9)


@every_variant
@pytest.mark.parametrize("kind", LOGS)
def test_a_degenerate_log_gives_a_valid_model(kind, variant):
    log, world = LOGS[kind](), small_world()
    assert_valid(fitted(variant, log, world), world, log.slots)


@every_variant
def test_a_log_of_empty_pages_is_refused(variant):
    log = ClickLog([0, 1], [[-1, -1], [-1, -1]], [[0, 0], [0, 0]])
    with pytest.raises(ValueError, match="no impressions"):
        fitted(variant, log, small_world())


# Seeds


@every_variant
def test_the_same_seed_gives_the_same_model(variant):
    world, log = small_world(), simulated()
    assert_same_state(fitted(variant, log, world, 3), fitted(variant, log, world, 3))


@pytest.mark.parametrize("variant", RANDOM, ids=label)
def test_another_seed_gives_another_model(variant):
    world, log = small_world(), simulated()
    assert not same_state(fitted(variant, log, world, 3), fitted(variant, log, world, 4))


@pytest.mark.parametrize("variant", DETERMINISTIC, ids=label)
def test_a_deterministic_fit_does_not_depend_on_the_seed(variant):
    world, log = small_world(), simulated()
    assert_same_state(fitted(variant, log, world, 3), fitted(variant, log, world, 4))


@pytest.mark.parametrize(
    ("name", "parameters"), [("NCM", "table"), ("CACM-minus", "table"), ("PBM", "embedding")]
)
def test_random_fits_are_known_as_such(name, parameters):
    assert is_random(name, parameters)


# Weights


@pytest.mark.parametrize("variant", DETERMINISTIC, ids=label)
def test_a_weighted_row_is_a_repeated_row(variant):
    world, log = small_world(short=True), simulated(300, short=True, weighted=True)
    model = fitted(variant, log, world)
    assert_same_state(model, fitted(variant, repeated(log), world), 1e-6)


@pytest.mark.parametrize("variant", DETERMINISTIC, ids=label)
def test_a_compressed_log_gives_the_same_model(variant):
    world, log = small_world(short=True), simulated(300, short=True)
    short = ClickLog(log.query, log.ranking[:, :2], log.clicks[:, :2])
    assert len(short.compress()) < 0.8 * len(short)
    model = fitted(variant, short.compress(), world)
    assert_same_state(model, fitted(variant, short, world), 1e-6)


@every_variant
def test_rows_without_weight_are_not_seen(variant):
    log = ClickLog([0, 1], [[0, 1], [2, 3]], [[1, 0], [0, 1]], weight=[0.0, 1.0])
    seen = fitted(variant, log, small_world()).seen
    assert np.argwhere(seen).tolist() == [[1, 2], [1, 3]]


# Folding a log into counts

CELLS = {
    "rank": (cells.rank_cells, lambda slot, above: slot),
    "latest": (
        cells.latest_cells,
        lambda slot, above: slot * SLOTS + max(np.flatnonzero(above) + 1, default=0),
    ),
    "prefix": (
        cells.prefix_cells,
        lambda slot, above: 2**slot - 1 + int("0" + "".join(str(int(c)) for c in above), 2),
    ),
}


def counted(log, n_docs, number):
    """Clicks and skips by (pair, cell), one slot after the other."""
    clicks, skips = Counter(), Counter()
    for query, ranking, clicked, weight in zip(
        log.query, log.ranking, log.clicks, log.weight, strict=True
    ):
        for slot, document in enumerate(ranking):
            if document >= 0 and weight > 0:
                key = query * n_docs + document, number(slot, clicked[:slot])
                (clicks if clicked[slot] else skips)[key] += weight
    return +clicks, +skips


@pytest.mark.parametrize("way", ["sorted", "slot by slot", "table", "table in parts"])
@pytest.mark.parametrize("kind", CELLS)
def test_folded_counts_are_those_of_a_loop(monkeypatch, kind, way):
    if way == "table in parts":
        monkeypatch.setattr(pair_cells, "_PART", 40)
        monkeypatch.setattr(pair_cells, "_CHUNK", 17)
    elif way != "table":
        monkeypatch.setattr(pair_cells, "_DENSE", 0)
        monkeypatch.setattr(pair_cells, "_COUNTED", 0 if way == "sorted" else 1 << 25)
    world, log = small_world(short=True), simulated(150, short=True, weighted=True)
    function, number = CELLS[kind]
    fold = pair_cells.PairCellFold(log[log.weight > 0], world, function)
    counts = fold.whole
    keys = list(zip(fold.pairs[counts.pair], fold.cells[counts.cell], strict=True))
    clicks = Counter(dict(zip(keys, counts.clicks, strict=True)))
    skips = Counter(dict(zip(keys, counts.skips, strict=True)))
    assert (+clicks, +skips) == counted(log, world.n_docs, number)
    (again,) = fold.counts(log.weight[log.weight > 0, None])
    np.testing.assert_array_equal(again.clicks, counts.clicks)
    np.testing.assert_array_equal(again.pair, counts.pair)
    np.testing.assert_array_equal(again.skips, counts.skips)


@pytest.mark.parametrize("slots", [1, 2, 5])
def test_a_click_prefix_has_the_number_that_it_is_listed_under(slots):
    clicks, length = cells.prefix_clicks(slots)
    found = cells.cell_numbers(cells.prefix_cells, np.pad(clicks, ((0, 0), (0, 1))))
    numbers = np.arange(2**slots - 1)
    np.testing.assert_array_equal(found[numbers, length], numbers)


def test_click_prefixes_are_all_different():
    clicks, length = cells.prefix_clicks(SLOTS)
    assert len({(n, row.tobytes()) for n, row in zip(length, clicks, strict=True)}) == 2**SLOTS - 1


# Gradients


def slope(function, point, step=1e-5):
    """The gradient of ``function`` by central differences."""
    rows = step * np.eye(len(point))
    return np.array([function(point + row) - function(point - row) for row in rows]) / (2 * step)


def examined_objective(kind):
    """The objective of a small log with one logit a cell (PBM), a design (ARM) or a GRU (CACM)."""
    world, log = small_world(short=True), simulated(80, short=True, weighted=True)
    number = cells.rank_cells if kind == "free" else cells.prefix_cells
    fold = pair_cells.PairCellFold(log, world, number)
    shape = len(fold.pairs), len(fold.cells)
    if kind == "GRU":
        with seeded(0):
            examination = GRUExamination(SLOTS, 3, fold.cells)
    else:
        examination = (CellLogits if kind == "free" else ClickRegression)(fold)
    prior = BetaPrior(0.7, 1.9)
    return ExaminedObjective(fold.whole, examination, prior, *shape), fold


@pytest.mark.parametrize("kind", ["free", "design", "GRU"])
def test_the_gradient_of_attractiveness_and_examination_is_the_slope(kind):
    objective, _ = examined_objective(kind)
    size = objective.n_pairs + len(objective.examination.start())
    point = np.random.default_rng(2).normal(size=size)
    expected = slope(lambda x: objective(x)[0], point)
    np.testing.assert_allclose(objective(point)[1], expected, rtol=1e-5, atol=1e-5)


def test_the_likelihood_that_is_maximised_is_the_pbms():
    world, log = small_world(short=True), simulated(80, short=True, weighted=True)
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
    world, log = small_world(short=True), simulated(80, short=True, weighted=True)
    continuation = CHAINS[name]
    fold = chain_fit.ChainFold(log, world, continuation.cells)
    objective = chain_fit.ChainObjective(fold.whole, BetaPrior(0.7, 1.9), continuation)
    size = len(fold.pairs) + len(continuation.start(fold.n_cells))
    return world, log, objective, fold, np.random.default_rng(3).normal(size=size)


@pytest.mark.parametrize("name", CHAINS)
def test_the_gradient_of_a_model_that_reads_from_the_top_is_the_slope(name):
    _, _, objective, _, point = chain_objective(name)
    expected = slope(lambda x: objective(x)[0], point)
    np.testing.assert_allclose(objective(point)[1], expected, rtol=1e-5, atol=1e-5)


def chain_at(name, world, objective, fold, point):
    """The model whose logits are ``point``."""
    n_pairs = len(fold.pairs)
    fitted = chain_fit.FittedChain(
        point[:n_pairs], point[n_pairs:], objective.attractive, objective.continuation
    )
    return registered_class(name)(**CascadeFit(CHAINS[name]).arguments(fold, fitted, world))


@pytest.mark.parametrize("name", CHAINS)
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
        BetaPrior, "learned", lambda self, *counts: learned_from.append(counts) or self
    )
    objective.learn(point)
    (clicks, examined), (satisfied, clicked) = learned_from
    np.testing.assert_allclose([examined, satisfied], expected, atol=1e-9)
    np.testing.assert_array_equal(clicks, clicked)


# Two ways of fitting


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


@pytest.mark.parametrize("name", ["SDBN", "DCM"])
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


@pytest.mark.parametrize("name", ["SDBN", "DCM"])
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


CHAIN_USERS = ["DBN", "SDBN", "DCM", "CCM", "CM"]


@pytest.mark.parametrize("kind", ["free", "design", *CHAINS])
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


@pytest.mark.parametrize("name", ["PBM", "UBM", *CHAIN_USERS])
def test_tables_and_embeddings_fit_the_same_user(name):
    """Both ways come near to the user that made the log."""
    world = small_world(10, 6)
    user = clickmodels.true_user(name, world, floor=0.05)
    train = envs.collect(world, user, policies.Uniform(world, SLOTS), 12_000, seed=0)
    test = envs.collect(world, user, policies.Uniform(world, SLOTS), 12_000, seed=1)
    oracle = evaluation.perplexity(user, test).mean
    for parameters in ("table", "embedding"):
        model = clickmodels.fit(name, train, world, parameters=parameters)
        assert evaluation.perplexity(model, test).mean / oracle - 1.0 < 5e-3


@pytest.mark.parametrize("name", CHAIN_USERS)
def test_shared_rates_are_recovered(name):
    world = small_world(200, 8)
    user = clickmodels.true_user(name, world, floor=0.05)
    log = envs.collect(world, user, policies.Uniform(world, SLOTS), 60_000, seed=0)
    model = clickmodels.fit(name, log, world)
    shown = np.zeros(world.relevance.shape)
    np.add.at(shown, (log.query[:, None], log.ranking), 1.0)
    error = np.abs(model.attractiveness - user.attractiveness)
    assert np.average(error, weights=shown) < 0.03
    if name in ("DBN", "DCM", "CCM"):
        rates = np.atleast_1d(user.continuation)[: SLOTS - 1]
        np.testing.assert_allclose(
            np.atleast_1d(model.continuation)[: SLOTS - 1], rates, atol=0.05
        )


# The prior


def beta_binomial(one, zero, pairs=20_000, trials=20):
    rng = np.random.default_rng(0)
    n = rng.integers(1, trials + 1, size=pairs)
    return rng.binomial(n, rng.beta(one, zero, size=pairs)).astype(float), n.astype(float)


@pytest.mark.parametrize(("one", "zero"), [(0.5, 2.0), (0.8, 4.0), (2.0, 2.0)])
def test_a_learned_prior_is_the_one_that_made_the_counts(one, zero):
    prior, counts = BetaPrior(), beta_binomial(one, zero)
    for _ in range(10):
        prior = prior.learned(*counts)
    assert (prior.successes, prior.failures) == pytest.approx((one, zero), rel=0.05)


def test_learning_makes_the_counts_more_likely_until_they_are_most_likely():
    clicks, trials = beta_binomial(0.8, 4.0, pairs=2000)

    def log_likelihood(point):
        one, zero = np.exp(point)
        return (betaln(clicks + one, trials - clicks + zero) - betaln(one, zero)).sum()

    priors = [BetaPrior().learned(clicks, trials, cycles) for cycles in range(12)]
    points = [np.log([prior.successes, prior.failures]) for prior in priors]
    values = [log_likelihood(point) for point in points]
    assert (np.diff(values) >= 0).all()
    assert (np.diff(values[:5]) > 0).all()
    best = minimize(lambda point: -log_likelihood(point), points[0]).x
    np.testing.assert_allclose(points[-1], best, atol=0.05)


@pytest.mark.parametrize("start", [(0.5, 2.0), (2.0, 8.0), (30.0, 100.0)])
@pytest.mark.parametrize("pairs", [150, 2000])
def test_learning_never_makes_the_counts_less_likely(start, pairs):
    """Also where pairs have one to three trials, so that the likelihood is nearly flat."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        trials = rng.integers(1, 4, size=pairs).astype(float)
        clicks = rng.binomial(trials.astype(int), rng.beta(0.3, 1.2, size=pairs)).astype(float)

        def likelihood(prior, clicks=clicks, trials=trials):
            one, zero = prior.successes, prior.failures
            return (betaln(clicks + one, trials - clicks + zero) - betaln(one, zero)).sum()

        before = BetaPrior(*start)
        assert likelihood(before.learned(clicks, trials)) >= likelihood(before) - 1e-9


@pytest.mark.parametrize("counts", [(0.0, 5.0), (5.0, 5.0), (0.0, 0.0)], ids=["no", "all", "none"])
def test_a_prior_learned_from_one_kind_of_outcome_is_proper(counts):
    clicks, trials = (np.full(10, value) for value in counts)
    assert 0.0 < BetaPrior().learned(clicks, trials).mean < 1.0


def test_the_most_likely_logit_under_the_prior_is_that_of_added_counts():
    prior, clicks, trials = BetaPrior(0.5, 2.0), 3.0, 4.0
    point = np.array([logit((clicks + 0.5) / (trials + 2.5))])
    by_data = clicks * (1 - expit(point)) - (trials - clicks) * expit(point)
    np.testing.assert_allclose(prior.gradient(expit(point)), by_data, atol=1e-12)


FEW, MANY = (0, 3), (1, 3)  # pairs that are clicked whenever shown: 3 and 300 times


@functools.cache
def log_with_a_rare_pair():
    """Pairs of attractiveness near 0.2, each shown about 100 times, and the two of above."""
    rng = np.random.default_rng(0)
    world = data.World(np.zeros((20, 4), int))
    user = clickmodels.PBM(rng.beta(8, 32, size=(20, 4)), [1.0, 0.8])
    query = rng.integers(20, size=3000)
    ranking = rng.permuted(np.tile(np.arange(3), (3000, 1)), axis=1)[:, :2]
    clicks = user.sample(query, ranking, rng)
    rare = np.repeat([FEW, MANY], [3, 300], axis=0)
    log = ClickLog(
        np.concatenate([query, rare[:, 0]]),
        np.concatenate([ranking, np.stack([rare[:, 1], np.full(303, -1)], axis=1)]),
        np.concatenate([clicks, np.tile([True, False], (303, 1))]),
    )
    return world, log


tables = pytest.mark.parametrize("name", ["PBM", "UBM", "DBN", "ARM", "CACM-minus"])


@tables
def test_a_pair_seen_three_times_stays_near_the_others(name):
    world, log = log_with_a_rare_pair()
    model = clickmodels.fit(name, log, world)
    first = model.click_probs([FEW[0]], [[FEW[1]]])[0, 0]
    assert first < 0.6


@tables
def test_a_pair_seen_often_goes_where_its_clicks_are(name):
    world, log = log_with_a_rare_pair()
    model = clickmodels.fit(name, log, world)
    assert model.click_probs([MANY[0]], [[MANY[1]]])[0, 0] > 0.9


@tables
def test_a_pair_never_seen_has_the_mean_of_the_others(name):
    world, log = log_with_a_rare_pair()
    model = clickmodels.fit(name, log, world)
    assert not model.seen[5, 3]
    low, high = np.quantile(model.attractiveness[:, :3], [0.1, 0.9])
    assert low < model.attractiveness[5, 3] < high


# What fit() refuses, and what it adds


def test_names_hold_every_model_of_the_paper():
    assert set(clickmodels.names()) >= {
        "dCTR", "drCTR", "rCTR", "CTR", "TopPop", "TopPopObs", "RankTopObs",
        "PBM", "UBM", "DBN", "NCM", "CACM-minus", "ARM", "ARM-NC",
    }  # fmt: skip


def test_names_hold_nothing_that_cannot_be_fitted():
    assert "CoCM" not in clickmodels.names()


def test_models_with_a_choice_of_parameters():
    chosen = {name for name in NAMES if takes_parameters(name)}
    assert chosen >= {"PBM", "UBM", "DBN", "ARM", "CACM-minus"}


def test_an_unknown_name_is_named_with_the_known_ones():
    with pytest.raises(ValueError, match=r"'pbm'.*PBM"):
        clickmodels.fit("pbm", simulated(), small_world())


def test_a_model_that_cannot_be_fitted_is_named():
    with pytest.raises(ValueError, match="'CoCM' cannot be fitted"):
        clickmodels.fit("CoCM", simulated(), small_world())


@every_variant
def test_an_unknown_setting_is_an_error(variant):
    with pytest.raises(TypeError, match="patience"):
        fitted(variant, simulated(), small_world(), patience=3)


@pytest.mark.parametrize("name", [name for name in NAMES if not takes_parameters(name)])
def test_parameters_of_a_model_without_a_choice_are_refused(name):
    with pytest.raises(ValueError, match=f"{name} has no parameters='embedding'"):
        clickmodels.fit(name, simulated(), small_world(), parameters="embedding")


@pytest.mark.parametrize("name", [name for name in NAMES if takes_parameters(name)])
def test_unknown_parameters_are_refused(name):
    with pytest.raises(ValueError, match="parameters must be one of table, embedding"):
        clickmodels.fit(name, simulated(), small_world(), parameters="tables")


def of_another_world():
    world = small_world(n_docs=8)
    log = simulated()
    return ClickLog(log.query, log.ranking, log.clicks, fingerprint=world.fingerprint)


@pytest.mark.parametrize("name", NAMES)
def test_a_log_of_another_world_is_refused(name):
    with pytest.raises(ValueError, match="the log belongs to another world"):
        clickmodels.fit(name, of_another_world(), small_world())


@pytest.mark.parametrize("name", NAMES)
def test_a_validation_log_of_another_world_is_refused(name):
    with pytest.raises(ValueError, match="belongs to another world"):
        clickmodels.fit(name, simulated(), small_world(), validation=of_another_world())


def test_a_validation_log_with_other_slots_is_refused():
    with pytest.raises(ValueError, match="validation has 1 slots, log 5"):
        clickmodels.fit("NCM", simulated(), small_world(), validation=one_slot())


def test_a_validation_log_without_impressions_is_refused():
    with pytest.raises(ValueError, match="validation has no impressions"):
        clickmodels.fit("NCM", simulated(), small_world(), validation=simulated()[:0])


@pytest.mark.parametrize("name", NAMES)
def test_an_empty_log_is_refused(name):
    with pytest.raises(ValueError, match="no impressions"):
        clickmodels.fit(name, simulated()[:0], small_world())


@pytest.mark.parametrize("name", ["ARM", "ARM-NC", "CACM-minus"])
def test_pages_too_long_for_a_table_of_prefixes_are_refused(name):
    world = data.World(np.zeros((1, 15), int))
    log = ClickLog([0], [np.arange(15)], [np.zeros(15, bool)])
    with pytest.raises(ValueError, match=f"{name} takes pages of up to 14 slots"):
        clickmodels.fit(name, log, world)


@every_variant
def test_a_fitted_model_knows_what_it_has_seen(variant):
    log = simulated(5)
    shown = {(int(q), int(d)) for q, page in zip(log.query, log.ranking, strict=True) for d in page}
    seen = fitted(variant, log, small_world()).seen
    assert {tuple(pair) for pair in np.argwhere(seen).tolist()} == shown


@every_variant
def test_a_fitted_model_belongs_to_its_world(variant):
    assert fitted(variant, simulated(5), small_world()).fingerprint == small_world().fingerprint
