"""Ensembles: the mixture, its saving, and members that are what single fits give."""

from __future__ import annotations

import functools
import itertools
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from conftest import SLOTS, random_models, small_world
from looping import loop_over

from clickgym import clickmodels, data, envs, evaluation, policies
from clickgym.clickmodels import Ensemble, bootstrap_weights, member_seed

VECTORS = np.array(list(itertools.product([False, True], repeat=SLOTS)))
FAST = {"epochs": 2, "embedding": 4, "hidden": 4}


@functools.cache
def simulated(n=3000):
    world = small_world(20, 8)
    user = clickmodels.true_user("CoCM", world)
    return world, envs.collect(world, user, policies.Uniform(world, SLOTS), n, seed=0)


@functools.cache
def fitted(name, members=3, seed=0, **settings):
    world, log = simulated()
    return clickmodels.fit(name, log, world, seed=seed, members=members, **settings)


def all_vectors(ranking=(3, 1, 4, 0, 6)):
    return np.zeros(32, dtype=int), np.tile(ranking, (32, 1)), VECTORS


# The mixture


@loop_over("name", ["PBM", "UBM", "DBN", "SDBN", "DCM", "CCM", "ARM", "dCTR"])
def test_the_joint_is_the_members_mean_and_sums_to_one(name):
    model = fitted(name)
    pages = all_vectors()
    each = [np.exp(member.log_likelihood(*pages)) for member in model.members]
    joint = np.exp(model.log_likelihood(*pages))
    np.testing.assert_allclose(joint, np.mean(each, axis=0), rtol=1e-9)
    assert joint.sum() == pytest.approx(1.0, abs=1e-12)


def test_conditionals_are_ratios_of_the_mixtures_prefixes():
    model = random_models()["Ensemble"]
    query, ranking, clicks = all_vectors()
    joint = np.mean(
        [np.exp(member.log_likelihood(query, ranking, clicks)) for member in model.members], axis=0
    )
    got = model.conditional_click_probs(query, ranking, clicks)
    for row, slot in itertools.product(range(32), range(SLOTS)):
        same = (clicks[:, :slot] == clicks[row, :slot]).all(axis=1)
        expected = joint[same & clicks[:, slot]].sum() / joint[same].sum()
        assert got[row, slot] == pytest.approx(expected, rel=1e-9)


def test_a_prefix_that_one_member_cannot_make_leaves_the_others():
    world = small_world()
    never = clickmodels.PBM(np.zeros(world.relevance.shape), np.ones(SLOTS))
    often = clickmodels.PBM(np.full(world.relevance.shape, 0.5), np.ones(SLOTS))
    got = Ensemble([never, often]).conditional_click_probs([0], [[0, 1]], [[True, False]])
    np.testing.assert_allclose(got, [[0.25, 0.5]])
    got = Ensemble([never, never]).conditional_click_probs([0], [[0, 1]], [[True, False]])
    np.testing.assert_array_equal(got, [[0.0, 0.0]])


def test_the_spread_is_the_members_standard_deviation():
    model = random_models()["Ensemble"]
    query, ranking = [0, 3], [[0, 1, 2], [4, 2, -1]]
    each = [member.expected_clicks(query, ranking) for member in model.members]
    np.testing.assert_allclose(model.spread(query, ranking), np.std(each, axis=0, ddof=1))
    one = Ensemble(model.members[:1])
    np.testing.assert_array_equal(one.spread(query, ranking), [0.0, 0.0])


def test_members_disagree_less_the_more_the_log_says():
    world, log = simulated(30_000)
    pages = np.arange(world.n_queries), np.tile(np.arange(SLOTS), (world.n_queries, 1))
    short, long = (
        clickmodels.fit("PBM", log[:n], world, members=10).spread(*pages).mean()
        for n in (2000, 30_000)
    )
    assert 0 < long < 0.5 * short


# Members


@loop_over("name", ["PBM", "UBM", "DBN", "SDBN", "DCM", "CCM", "ARM", "CM"])
def test_a_member_is_what_a_single_fit_to_its_bootstrap_gives(name):
    """Far nearer than two bootstraps are to each other."""
    world, log = simulated()
    model = fitted(name)
    for number, member in enumerate(model.members[:2]):
        seed = member_seed(0, number)
        weighted = replace(log, weight=bootstrap_weights(log, seed))
        single = clickmodels.fit(name, weighted, world, seed=seed)
        np.testing.assert_array_equal(member.seen, single.seen)
        near = np.abs(member.click_probs(log.query, log.ranking) - single.click_probs(
            log.query, log.ranking)).mean()  # fmt: skip
        apart = np.abs(
            model.members[0].click_probs(log.query, log.ranking)
            - model.members[1].click_probs(log.query, log.ranking)
        ).mean()
        assert near < 0.2 * apart


@loop_over("name", ["PBM", "DCM"])
def test_a_member_of_a_short_log_is_what_a_single_fit_gives(name):
    """With a few impressions a pair the prior is most of the fit."""
    world, log = simulated()
    model = clickmodels.fit(name, log[:150], world, members=4)
    tables, singles = [], []
    for number, member in enumerate(model.members):
        seed = member_seed(0, number)
        weighted = replace(log[:150], weight=bootstrap_weights(log[:150], seed))
        singles.append(clickmodels.fit(name, weighted, world).attractiveness)
        tables.append(member.attractiveness)
    near = np.mean([np.abs(a - b).mean() for a, b in zip(tables, singles, strict=True)])
    apart = np.abs(singles[0] - singles[1]).mean()
    assert near < 0.5 * apart


def test_a_fit_of_ones_own_fits_the_members_too():
    @clickmodels.register("OwnPBM")
    class OwnPBM(clickmodels.PBM):
        @classmethod
        def fit(cls, log, world, seed=0):
            return cls(np.full((world.n_queries, world.n_docs), 0.123), np.ones(log.slots))

    world, log = simulated()
    model = clickmodels.fit("OwnPBM", log, world, members=2)
    np.testing.assert_array_equal(model.relevance(), np.full((20, 8), 0.123))


def test_expected_clicks_are_exact_on_long_pages():
    world = small_world(4, 12)
    user = clickmodels.true_user("CoCM", world)
    log = envs.collect(world, user, policies.Uniform(world, 10), 200, seed=0)
    model = clickmodels.fit("NCM", log, world, members=2, **FAST)
    pages = log.query[:20], log.ranking[:20]
    expected = model.click_probs(*pages).sum(axis=1)
    np.testing.assert_allclose(model.expected_clicks(*pages), expected, atol=1e-9)


@loop_over("name", ["NCM", "dCTR"])
def test_members_without_shared_work_are_single_fits(name):
    settings = FAST if name == "NCM" else {}
    world, log = simulated()
    model = clickmodels.fit(name, log, world, members=2, **settings)
    seed = member_seed(0, 1)
    weighted = replace(log, weight=bootstrap_weights(log, seed))
    single = clickmodels.fit(name, weighted, world, seed=seed, **settings)
    got = model.members[1].click_probs(log.query, log.ranking)
    np.testing.assert_allclose(got, single.click_probs(log.query, log.ranking), atol=1e-5)


def test_bootstrap_weights_are_poisson_draws_of_the_impressions():
    _, log = simulated()
    weights = bootstrap_weights(log, 3)
    assert weights.mean() == pytest.approx(1.0, abs=0.06)
    assert weights.var() == pytest.approx(1.0, abs=0.12)
    folded = replace(log, weight=np.full(len(log), 9.0))
    weights = bootstrap_weights(folded, 3)
    assert weights.mean() == pytest.approx(9.0, abs=0.2)
    assert weights.var() == pytest.approx(9.0, abs=1.0)


def test_weights_too_small_for_a_bootstrap_are_an_error():
    world, log = simulated()
    small = replace(log[:10], weight=np.full(10, 1e-9))
    with pytest.raises(ValueError, match="so small that a bootstrap has no impressions"):
        clickmodels.fit("PBM", small, world, members=2)


def test_a_negative_seed_is_named():
    world, log = simulated()
    with pytest.raises(ValueError, match="seed must be at least 0"):
        clickmodels.fit("PBM", log, world, seed=-1, members=2)


def test_a_bootstrap_of_one_impression_has_it():
    _, log = simulated()
    for seed in range(20):
        assert bootstrap_weights(log[:1], seed).sum() > 0


@loop_over("name", ["PBM", "DBN", "CACM-minus", "dCTR"])
def test_the_same_seed_gives_the_same_members_and_another_does_not(name):
    world, log = simulated()
    again = clickmodels.fit(name, log, world, members=3)
    other = clickmodels.fit(name, log, world, seed=1, members=3)
    for first, second, third in zip(
        fitted(name).members, again.members, other.members, strict=True
    ):
        np.testing.assert_array_equal(first.relevance(), second.relevance())
        assert (first.relevance() != third.relevance()).any()


def test_fewer_members_are_the_first_of_more():
    for few, many in zip(fitted("PBM", 2).members, fitted("PBM", 3).members, strict=False):
        np.testing.assert_allclose(few.relevance(), many.relevance(), rtol=1e-12)


def test_without_bootstrap_only_the_seed_varies():
    world, log = simulated()
    same = clickmodels.fit("PBM", log, world, members=3, bootstrap=False)
    single = clickmodels.fit("PBM", log, world)
    assert len(same.members) == 3
    for member in same.members:
        np.testing.assert_array_equal(member.relevance(), single.relevance())
    varied = clickmodels.fit("NCM", log, world, members=2, bootstrap=False, **FAST)
    first, second = varied.members
    assert (first.relevance() != second.relevance()).any()


@loop_over("parameters", ["table", "embedding"])
def test_settings_reach_the_members(parameters):
    world, log = simulated()
    if parameters == "embedding":
        model = clickmodels.fit("PBM", log, world, members=2, parameters=parameters, **FAST)
        table = clickmodels.fit("PBM", log, world, members=2)
        assert (model.relevance() != table.relevance()).all()
    else:
        model = clickmodels.fit("SDBN", log, world, members=2, method="counts")
        default = clickmodels.fit("SDBN", log, world, members=2)
        assert (model.relevance() != default.relevance()).any()
        with pytest.raises(TypeError, match="epochs"):
            clickmodels.fit("SDBN", log, world, members=2, epochs=3)


# The object


@loop_over("name", ["PBM", "NCM"])
def test_a_saved_ensemble_is_loaded_the_same(tmp_path, name):
    settings = FAST if name == "NCM" else {}
    world, log = simulated()
    model = clickmodels.fit(name, log, world, members=2, **settings)
    model.save(tmp_path / "model.safetensors")
    loaded = clickmodels.ClickModel.load(tmp_path / "model.safetensors")
    assert isinstance(loaded, Ensemble)
    assert loaded.fingerprint == world.fingerprint
    np.testing.assert_array_equal(loaded.seen, model.seen)
    pages = log.query[:50], log.ranking[:50], log.clicks[:50]
    np.testing.assert_array_equal(loaded.log_likelihood(*pages), model.log_likelihood(*pages))
    loaded.check_world(world)
    for member, before in zip(loaded.members, model.members, strict=True):
        assert member.fingerprint == world.fingerprint
        np.testing.assert_array_equal(member.seen, before.seen)


def test_an_ensemble_with_a_member_that_cannot_be_loaded_is_not_saved(tmp_path):
    class Unregistered(clickmodels.PBM):
        pass

    model = Ensemble([Unregistered(np.full((2, 3), 0.5), [1.0])])
    with pytest.raises(ValueError, match="Unregistered is not registered"):
        model.save(tmp_path / "model.safetensors")
    assert not list(tmp_path.iterdir())


def test_an_ensemble_can_do_what_all_members_can():
    world, log = simulated()
    model = clickmodels.fit("ARM-NC", log, world, members=2)
    assert model.capabilities == frozenset({"rank", "conditional"})
    pages = log.query[:5], log.ranking[:5], log.clicks[:5]
    each = [member.conditional_click_probs(*pages) for member in model.members]
    np.testing.assert_allclose(model.conditional_click_probs(*pages), np.mean(each, axis=0))
    with pytest.raises(clickmodels.NotCapable, match="not generative"):
        model.click_probs(log.query[:5], log.ranking[:5])
    ranks = clickmodels.fit("TopPop", log, world, members=2)
    assert ranks.capabilities == frozenset({"rank"})


def test_an_ensemble_is_a_user_and_has_a_best_policy():
    world, log = simulated()
    model = fitted("DBN")
    again = envs.collect(world, model, policies.Uniform(world, SLOTS), 2000, seed=1)
    assert again.clicks.mean() == pytest.approx(log.clicks.mean(), abs=0.03)
    best = policies.max_reward(model, world, SLOTS)
    random = evaluation.value(policies.Uniform(world, SLOTS), model, world, samples=2000)
    assert evaluation.value(best, model, world) > random


def test_reports_name_the_members():
    assert fitted("PBM").label == "PBM × 3"
    assert random_models()["Ensemble"].label == "Ensemble of 3"


@loop_over("members", [0, -1, 2.5, True])
def test_a_bad_number_of_members_is_named(members):
    world, log = simulated()
    with pytest.raises(ValueError, match="members must be"):
        clickmodels.fit("PBM", log, world, members=members)


def test_members_of_different_worlds_are_refused():
    with pytest.raises(ValueError, match="at least one"):
        Ensemble([])
    with pytest.raises(ValueError, match=r"members\[1\] is for"):
        Ensemble([random_models()["PBM"], random_models(n_docs=9)["PBM"]])
    with pytest.raises(ValueError, match=r"members\[1\] belongs to another world"):
        Ensemble([fitted("PBM").members[0], clickmodels.PBM(np.full((20, 8), 0.5), [1.0])])
    with pytest.raises(ValueError, match=r"members\[0\] is not a click model"):
        Ensemble(["PBM"])


# Real clicks


@pytest.mark.parametrize("name", ["PBM", "UBM", "DBN", "CCM", "DCM", "SDBN", "ARM"])
def test_an_ensemble_predicts_real_clicks_at_least_as_well_as_its_members(name):
    folder = os.environ.get("CLICKGYM_DATA")
    if not folder:
        pytest.skip("CLICKGYM_DATA does not name the folder with the real samples")
    with pytest.warns(UserWarning, match="dropped 417 clicks"):
        world, log = data.read_pyclick(Path(folder) / "yandex" / "sample.txt")
    order = np.random.default_rng(0).permutation(len(log))
    train, test = np.split(order, [int(0.8 * len(log))])
    model = clickmodels.fit(name, log[train], world, members=10)
    each = [evaluation.perplexity(member, log[test]).mean for member in model.members]
    assert evaluation.perplexity(model, log[test]).mean <= np.mean(each)
