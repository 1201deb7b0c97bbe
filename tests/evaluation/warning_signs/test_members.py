"""Disagreement of models, and the silence of bootstraps about what no log showed."""

from __future__ import annotations

import numpy as np
import pytest

from clickgym import clickmodels, data, envs, evaluation, policies
from clickgym.clickmodels import PBM, Ensemble


@pytest.fixture
def two_queries():
    return data.World(np.zeros((2, 3), np.int8), query_probs=[0.25, 0.75])


@pytest.fixture
def log():
    clicks = np.zeros((2, 2), bool)
    return data.ClickLog([0, 1], [[0, 1], [0, 1]], clicks, weight=[20.0, 20.0])


def make_models(seed=0, number=3):
    rng = np.random.default_rng(seed)
    return [PBM(rng.random((2, 3)), np.array([1.0, 0.5])) for _ in range(number)]


def test_spreads_are_those_of_the_models_click_probabilities(two_queries, log):
    models = make_models()
    policy = policies.Ranker.from_rankings([[0, 2], [2, 1]], world=two_queries)
    found = evaluation.members_disagreement(models, policy, log, two_queries)
    values = [evaluation.value(policy, model, two_queries).value for model in models]
    assert found.values == pytest.approx(values)
    assert found.spread == pytest.approx(np.std(values, ddof=1))
    pages = [model.click_probs([0, 1], [[0, 2], [2, 1]]) for model in models]
    by_query = np.std([page.sum(axis=1) for page in pages], axis=0, ddof=1)
    assert found.per_query == pytest.approx(by_query)
    assert found.query_spread == pytest.approx(by_query @ [0.25, 0.75])
    by_slot = np.std(pages, axis=0, ddof=1)
    assert found.supported_spread == pytest.approx(0.25 * by_slot[0, 0] + 0.75 * by_slot[1, 1])
    assert found.unsupported_spread == pytest.approx(0.25 * by_slot[0, 1] + 0.75 * by_slot[1, 0])
    assert found.unsupported == 0.5


def test_a_stochastic_policy_is_compared_on_the_same_pages(two_queries, log):
    models = make_models()
    policy = policies.PlackettLuce(np.random.default_rng(1).random((2, 3)), slots=2)
    found = evaluation.members_disagreement(models, policy, log, two_queries)
    values = [evaluation.value(policy, model, two_queries).value for model in models]
    assert found.values == pytest.approx(values)  # so few pages are enumerated


def test_an_ensemble_stands_for_its_members(two_queries, log):
    models = make_models()
    policy = policies.Ranker.from_rankings([[0, 1], [0, 1]], world=two_queries)
    one = evaluation.members_disagreement(Ensemble(models), policy, log, two_queries)
    assert one.models == ("PBM 1", "PBM 2", "PBM 3")
    named = dict(zip("abc", models, strict=True))
    other = evaluation.members_disagreement(named, policy, log, two_queries)
    assert other.models == ("a", "b", "c")
    assert one.spread == other.spread


def test_a_bootstrap_of_tables_is_silent_about_what_the_log_never_showed():
    world = data.synthetic_world(n_queries=20, n_docs=20, n_features=2, seed=1)
    user = clickmodels.true_user("PBM", world)
    # the log shows the first ten documents only
    logging = policies.PlackettLuce((np.arange(20) < 10) * np.ones((20, 1)), slots=5)
    logging.fingerprint = world.fingerprint
    log = envs.collect(world, user, logging, 20_000, 0)
    ensemble = clickmodels.fit("PBM", log, world, members=6)
    half = policies.Ranker.from_rankings([[0, 10, 1, 11, 2]] * 20, world=world)
    found = evaluation.members_disagreement(ensemble, half, log, world)
    assert found.unsupported == pytest.approx(0.4)
    # the error of what was never shown is far larger, and the members' spread far smaller
    error = np.abs(ensemble.relevance() - user.relevance())[:, :12].reshape(-1, 12)
    assert error[:, 10:].mean() > 3.0 * error[:, :3].mean()
    assert found.unsupported_spread < 0.5 * found.supported_spread
    assert found.silent
    assert "their agreement there is no evidence" in found.warning


def test_it_speaks_where_promises_differ(two_queries, log):
    policy = policies.Ranker.from_rankings([[0, 1], [0, 1]], world=two_queries)
    base = make_models(number=1)[0]
    attractiveness, examination = base.attractiveness, base.examination
    near = {"a": base, "b": PBM(attractiveness * 0.99, examination)}
    far = {"a": base, "b": PBM(attractiveness * 0.5, examination)}
    assert evaluation.members_disagreement(near, policy, log, two_queries).warning is None
    text = evaluation.members_disagreement(far, policy, log, two_queries).warning
    assert "(b) and" in text


def test_bad_models_are_named(two_queries, log):
    policy = policies.Ranker.from_rankings([[0, 1], [0, 1]], world=two_queries)
    with pytest.raises(ValueError, match="two or more"):
        evaluation.members_disagreement(make_models(number=1), policy, log, two_queries)
    with pytest.raises(ValueError, match="no click model"):
        evaluation.members_disagreement({"a": 1, "b": 2}, policy, log, two_queries)
    pop = clickmodels.fit("TopPop", log, two_queries)
    with pytest.raises(clickmodels.NotCapable):
        evaluation.members_disagreement([pop, pop], policy, log, two_queries)
