"""Networks told by a table what the log hardly showed, and what they do not know."""

from __future__ import annotations

import functools

import gymnasium as gym
import numpy as np
import pytest
from fitted_tables import small_log
from looping import loop_over

from clickgym import clickmodels, policies
from clickgym.clickmodels import ClickModel, Ensemble, NotCapable
from clickgym.clickmodels.cells import all_clicks
from clickgym.clickmodels.ncm.model import scale_to
from clickgym.clickmodels.networks.support import Support, blend
from clickgym.clickmodels.uncertainty.exposure import count_shown

SMALL = {"epochs": 2, "embedding": 6, "hidden": 6}
PAGE = [3, 11, 0, 7, 5, 9]


@functools.cache
def fitted(name="NCM", prior="exposure", parameters="table"):
    world, logging, log = small_log()
    source = logging if prior == "score" else None
    return clickmodels.fit(
        name, log, world, prior=prior, logging=source, parameters=parameters, **SMALL
    )


def joint(model, page=PAGE):
    vectors = all_clicks(len(page))
    pages = np.zeros(len(vectors), dtype=int), np.tile(page, (len(vectors), 1))
    return vectors, np.exp(model.log_likelihood(*pages, vectors))


def never_shown():
    world, _, log = small_log()
    return (count_shown(log, world) == 0) & world.candidates


def test_impressions_are_counted_document_by_document():
    world, _, log = small_log()
    wanted = np.zeros((world.n_queries, world.n_docs))
    rows, slots = np.nonzero(log.ranking >= 0)
    np.add.at(wanted, (log.query[rows], log.ranking[rows, slots]), 1.0)
    np.testing.assert_array_equal(count_shown(log, world), wanted)
    folded = count_shown(log.compress(), world)
    np.testing.assert_allclose(folded, wanted)


def test_the_blend_is_the_networks_where_the_log_showed_much_and_else_the_tables():
    own, table = np.array([[0.4, 0.9]]), np.array([[0.2, 0.1]])
    got = blend(own, table, np.array([[1e9, 0.0]]))
    np.testing.assert_allclose(got, [[0.4, 0.2]], rtol=1e-5)  # on the network's scale: twice


def test_embeddings_have_the_tables_posterior_of_what_was_never_shown():
    world, _, log = small_log()
    model = fitted("DBN", parameters="embedding")
    table = clickmodels.fit("DBN", log, world, prior="exposure")
    unseen = never_shown()
    ratio = model.attractiveness[unseen] / table.attractiveness[unseen]
    assert unseen.any()
    np.testing.assert_allclose(ratio, ratio[0])
    np.testing.assert_array_equal(
        model.uncertainty.strengths["attractiveness"], table.uncertainty.strengths["attractiveness"]
    )
    assert (model.lower(0.1).attractiveness <= model.attractiveness + 1e-12).all()
    assert {"trust", "pessimism"} <= set(model.posterior().numbers)


@loop_over("prior", ["exposure", "score"])
def test_ncm_orders_what_was_never_shown_as_the_table_does(prior):
    world, logging, log = small_log()
    source = logging if prior == "score" else None
    table = clickmodels.fit("UBM", log, world, prior=prior, logging=source)
    model, unseen = fitted(prior=prior), never_shown()
    ratio = model.relevance()[unseen] / table.attractiveness[unseen]
    np.testing.assert_allclose(ratio, np.median(ratio), rtol=1e-6)
    plain = fitted(prior="plain")
    assert plain.relevance()[unseen].std() > 0  # its first weights
    np.testing.assert_array_equal(plain.hidden_weights, model.hidden_weights)


def test_the_informed_ncm_is_a_distribution_over_clicks():
    for model in (fitted(), fitted().lower(0.2), fitted().lower(0.9)):
        vectors, probs = joint(model)
        assert probs.sum() == pytest.approx(1.0, abs=1e-12)
        got = model.click_probs([0], [PAGE])[0]
        np.testing.assert_allclose(got, probs @ vectors, atol=1e-12)
        rough = model.rough_columns(np.array([0]), np.array(PAGE)[:, None])
        assert rough == pytest.approx(got.sum(), abs=0.1)


def test_sampled_clicks_have_the_scaled_probabilities():
    model = fitted().lower(0.2)
    query, ranking = np.zeros(20_000, dtype=int), np.tile(PAGE, (20_000, 1))
    clicks = model.sample(query, ranking, np.random.default_rng(0))
    np.testing.assert_allclose(clicks.mean(axis=0), model.click_probs([0], [PAGE])[0], atol=0.02)


def test_a_scale_brings_a_chance_where_it_is_wanted():
    wanted, chance = np.array([0.01, 0.3, 0.97]), np.array([0.2, 0.2, 0.2])
    model = fitted()
    scale = scale_to(wanted, chance)
    np.testing.assert_allclose(scale * chance / (1 + np.maximum(scale - 1, 0) * chance), wanted)
    target = np.full(model.shape, 0.37)
    np.testing.assert_allclose(model.with_relevance(target).relevance(), target)


@loop_over("scale", [np.ones((2, 3)), np.full((20, 12), -1.0)])
def test_a_scale_that_cannot_be_is_refused(scale):
    with pytest.raises(ValueError, match="scale"):
        clickmodels.NCM(**{**fitted().state(), "scale": scale})


def test_a_lower_ncm_has_the_quantile_as_its_relevance():
    model = fitted()
    for level in (0.1, 0.8):
        wanted = model.posterior().quantile(level)
        np.testing.assert_allclose(model.lower(level).relevance(), wanted, rtol=1e-8)


def test_ncm_keeps_scale_and_posterior_in_its_file(tmp_path):
    model = fitted()
    model.save(tmp_path / "ncm.safetensors")
    loaded = ClickModel.load(tmp_path / "ncm.safetensors")
    np.testing.assert_array_equal(loaded.relevance(), model.relevance())
    np.testing.assert_array_equal(loaded.posterior().sd, model.posterior().sd)
    assert loaded.cautious().lower(0.2).expected_clicks([0], [PAGE]) == pytest.approx(
        model.cautious().lower(0.2).expected_clicks([0], [PAGE])
    )
    assert loaded.posterior().numbers == model.posterior().numbers
    with pytest.raises(NotCapable, match="prior='exposure'"):
        fitted(prior="plain").posterior()


def test_caution_hears_the_table_that_informed_ncm():
    model = fitted()
    pair = model.cautious()
    assert [member.name for member in pair.members] == ["NCM", "UBM"]
    each = [member.expected_clicks([0], [PAGE])[0] for member in pair.members]
    assert model.pessimistic(0).expected_clicks([0], [PAGE]) == pytest.approx(np.mean(each))
    assert model.pessimistic(1).expected_clicks([0], [PAGE])[0] < np.mean(each)
    own, table = (member.posterior().numbers["trust"] for member in pair.members)
    assert pair.posterior().numbers["trust"] == pytest.approx((own + table) / 2)
    assert fitted(prior="plain").cautious() is fitted(prior="plain")


def test_max_reward_and_learned_environments_are_careful_with_ncm():
    world, _, _ = small_log()
    model = fitted()
    policy = policies.max_reward(model, world, slots=3, pessimism="auto")
    careful = policies.max_reward(model, world, slots=3, pessimism=1)
    bold = policies.max_reward(model, world, slots=3)
    assert policy.found.pessimism == model.cautious().posterior().numbers["pessimism"]
    assert careful.found.promise < bold.found.promise
    make = {"world": world, "click_model": model, "slots": 3, "pessimism": 1.0}
    env = gym.make("clickgym/Learned-v0", reward="pessimistic", **make)
    env.reset(seed=0)
    assert 0.0 <= env.step(env.action_space.sample())[1] <= 3.0


# Ensembles


@functools.cache
def ensemble(name="UBM", prior="exposure"):
    world, _, log = small_log()
    settings = SMALL if name == "NCM" else {}
    return clickmodels.fit(name, log, world, members=3, prior=prior, **settings)


def test_a_bootstrap_is_of_one_mind_about_what_was_never_shown_and_its_posterior_is_not():
    model, unseen = ensemble(prior="plain"), never_shown()
    seen = ~unseen & small_log()[0].candidates
    tables = np.stack([member.attractiveness for member in model.members])
    relative = tables.std(axis=0, ddof=1) / tables.mean(axis=0)
    known = model.posterior()
    assert relative[unseen].mean() < 0.5 * relative[seen].mean()
    assert (known.sd / known.mean)[unseen].mean() > 3 * relative[unseen].mean()
    lower = model.lower(0.16).relevance() / model.relevance()
    assert lower[unseen].mean() < lower[seen].mean()


def test_a_doubtful_ensemble_is_worth_its_mean_less_the_disagreement():
    query, ranking = np.array([0]), np.array([PAGE])
    lower = ensemble().lower(0.16)
    each = [member.expected_clicks(query, ranking)[0] for member in lower.members]
    wanted = np.mean(each) - lower.doubt * np.std(each, ddof=1)
    assert lower.doubt == pytest.approx(0.9945, abs=1e-3)
    assert lower.expected_clicks(query, ranking)[0] == pytest.approx(wanted)
    assert lower.score_columns(query, ranking.T)[0] == pytest.approx(wanted)
    assert ensemble().lower(0.8).doubt == 0


@loop_over("name", ["UBM", "NCM"])
def test_a_doubtful_ensemble_is_a_distribution_over_clicks(name):
    lower = ensemble(name).lower(0.05)
    vectors, probs = joint(lower)
    assert probs.sum() == pytest.approx(1.0, abs=1e-9)
    pages = np.zeros(len(vectors), dtype=int), np.tile(PAGE, (len(vectors), 1))
    got = lower.click_probs(*pages)[0]
    np.testing.assert_allclose(got, probs @ vectors, atol=1e-9)
    chances = lower.conditional_click_probs(*pages, vectors)
    product = np.where(vectors, chances, 1.0 - chances).prod(axis=1)
    np.testing.assert_allclose(product, probs, atol=1e-9)
    query, ranking = np.zeros(20_000, dtype=int), np.tile(PAGE, (20_000, 1))
    clicks = lower.sample(query, ranking, np.random.default_rng(0))
    np.testing.assert_allclose(clicks.mean(axis=0), got, atol=0.02)
    assert not lower.reads_down  # whether a page is read depends on all of it


def test_ensembles_keep_doubt_and_numbers_in_their_file(tmp_path):
    for model in (ensemble(), ensemble().lower(0.16)):
        model.save(tmp_path / "ensemble.safetensors")
        loaded = ClickModel.load(tmp_path / "ensemble.safetensors")
        assert loaded.doubt == model.doubt
        pages = [0], [PAGE]
        assert loaded.expected_clicks(*pages) == pytest.approx(model.expected_clicks(*pages))
    assert ensemble().posterior().numbers["trust"] <= 1


def test_ensembles_made_by_hand_have_the_means_of_their_members_numbers():
    world, _, log = small_log()
    pair = [clickmodels.fit(name, log, world, prior="exposure") for name in ("UBM", "DBN")]
    model = Ensemble(pair)
    wanted = np.mean([one.posterior().numbers["trust"] for one in pair])
    assert model.posterior().numbers["trust"] == pytest.approx(wanted)
    policy = policies.max_reward(model, world, slots=3, pessimism="auto")
    assert policy.found.promise > 0
    with pytest.raises(NotCapable, match="no posterior"):
        Ensemble([pair[0], clickmodels.true_user("CoCM", world, slots=6)]).lower(0.1)


@loop_over("doubt", [-1.0, np.nan])
def test_a_doubt_that_cannot_be_is_refused(doubt):
    with pytest.raises(ValueError, match="doubt"):
        Ensemble(ensemble().members, doubt=doubt)


def test_a_networks_support_names_its_tables():
    world, _, log = small_log()
    table = clickmodels.fit("DBN", log, world, prior="exposure")
    support = Support.of(table, count_shown(log, world))
    assert set(support.tables) == {"attractiveness", "satisfaction"}
