"""Posteriors of fitted tables: checked against the truth, by integration, and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from fitted_tables import TABLES, fitted, small_log
from scipy import stats

from clickgym import clickmodels, data, envs, policies
from clickgym.clickmodels import ClickModel, NotCapable
from clickgym.clickmodels.uncertainty.information import ExaminedInformation, skip_information


@pytest.mark.parametrize("name", TABLES)
def test_every_table_fit_has_a_posterior_around_its_tables(name):
    model, posterior = fitted(name), fitted(name).posterior()
    np.testing.assert_array_equal(posterior.mean, model.attractiveness)
    low, high = posterior.interval(0.95)
    assert (posterior.sd > 0).all()
    assert (low <= posterior.mean).all()
    assert (posterior.mean <= high).all()


@pytest.mark.parametrize("name", TABLES)
def test_a_posterior_is_saved_with_its_model(name, tmp_path):
    fitted(name).save(tmp_path / "model")
    loaded = ClickModel.load(tmp_path / "model")
    assert loaded.posterior().numbers == fitted(name).posterior().numbers
    for table in loaded.posterior():
        expected = fitted(name).posterior()[table].quantile(0.1)
        np.testing.assert_array_equal(loaded.posterior()[table].quantile(0.1), expected)


def test_a_file_without_a_posterior_says_so_when_asked(tmp_path):
    model = clickmodels.PBM(fitted("PBM").attractiveness, fitted("PBM").examination)
    model.save(tmp_path / "model")
    with pytest.raises(NotCapable, match="no posterior"):
        ClickModel.load(tmp_path / "model").posterior()


def test_a_true_user_has_no_posterior():
    with pytest.raises(NotCapable, match="this DBN has no posterior"):
        clickmodels.true_user("DBN", small_log()[0]).lower(0.1)


def test_documents_that_were_never_shown_have_the_priors_spread():
    world, _, _ = small_log()
    model = fitted("PBM")
    never = world.candidates & ~model.seen
    assert never.any()
    strength = model.uncertainty.strengths["attractiveness"]
    assert len(np.unique(strength[never])) == 1
    assert (strength[model.seen] >= 0.5 * strength[never][0]).all()


def test_a_model_by_grade_has_the_posterior_of_its_grades():
    world, _, log = small_log()
    model = clickmodels.fit("PBM", log, world, parameters="grade")
    grade = np.maximum(world.relevance, 0)[world.candidates]
    expected = model.by_grade.posterior().sd[0][grade]
    np.testing.assert_allclose(model.posterior().sd[world.candidates], expected)


def test_lower_is_the_same_kind_of_model_at_the_quantile():
    model = fitted("DBN")
    lower, posterior = model.lower(0.16), model.posterior()
    assert type(lower) is type(model)
    np.testing.assert_allclose(lower.attractiveness, posterior.quantile(0.16))
    np.testing.assert_allclose(lower.satisfaction, posterior["satisfaction"].quantile(0.84))
    assert lower.fingerprint == model.fingerprint


@pytest.mark.parametrize("name", ["PBM", "UBM", "DBN", "CCM", "DCM", "ARM"])
def test_a_lower_model_expects_fewer_clicks_on_every_logged_page(name):
    _, _, log = small_log()
    model = fitted(name)
    levels = [model.lower(level).expected_clicks(log.query, log.ranking) for level in (0.05, 0.3)]
    assert (levels[0] < levels[1]).all()


@pytest.mark.parametrize("level", [0.0, 1.0, -0.1, float("nan")])
def test_a_level_that_is_no_quantile_is_refused(level):
    with pytest.raises(ValueError, match="level"):
        fitted("PBM").lower(level)


def test_skips_are_worth_what_the_second_derivative_says():
    def log_skip(logit, examined):
        return np.log1p(-examined / (1.0 + np.exp(-logit)))

    logit, examined, step = np.linspace(-4, 3, 15), np.linspace(0.05, 1.0, 15), 1e-4
    second = log_skip(logit + step, examined) - 2 * log_skip(logit, examined)
    second = (second + log_skip(logit - step, examined)) / step**2
    found = skip_information(1.0 / (1.0 + np.exp(-logit)), examined)
    np.testing.assert_allclose(found, -second, atol=1e-6)


def test_examined_clicks_and_skips_are_a_beta_posterior():
    """With examination known and 1 the posterior is the conjugate one."""
    clicks, skips = np.array([0.0, 3.0]), np.array([50.0, 7.0])
    prior = np.array([0.5, 2.0])
    mean = (clicks + prior[0]) / (clicks + skips + prior.sum())
    index = np.arange(2)
    found = ExaminedInformation(index, 0 * index, clicks, skips, mean, np.ones(1))
    information = found.observed + prior.sum() * mean * (1 - mean)
    np.testing.assert_allclose(information / (mean * (1 - mean)), clicks + skips + prior.sum())


def test_examination_adds_the_variance_of_the_joint_information():
    """The Schur complement equals inverting the whole matrix, the first cell held fixed."""
    rng = np.random.default_rng(0)
    pair, cell = (axis.ravel() for axis in np.meshgrid(range(5), range(3), indexing="ij"))
    clicks, skips = rng.uniform(1, 20, 15), rng.uniform(5, 60, 15)
    a, e = rng.uniform(0.1, 0.8, 5), np.array([0.9, 0.6, 0.3])
    skips[cell == 0] += 100  # the cell that was examined most
    found = ExaminedInformation(pair, cell, clicks, skips, a, e)
    prior = rng.uniform(0.1, 1.0, 5)
    variance = found.variance_from_examination(prior, 0.1, np.eye(3))
    rows = np.zeros((15, 8))  # the derivative of each row's P(click) by all logits
    rows[range(15), pair] = a[pair] * e[cell] * (1 - a[pair])
    rows[range(15), 5 + cell] = a[pair] * e[cell] * (1 - e[cell])
    click = a[pair] * e[cell]
    whole = rows.T @ (rows * ((clicks + skips) / (click * (1 - click)))[:, None])
    whole += np.diag([*prior, 0.1, 0.1, 0.1])
    kept = [0, 1, 2, 3, 4, 6, 7]
    joint = np.diag(np.linalg.inv(whole[np.ix_(kept, kept)]))[:5]
    np.testing.assert_allclose(1.0 / np.diag(whole)[:5] + variance, joint)


def test_the_curvature_of_a_cascade_is_that_of_its_objective():
    """Strengths of a DBN's posterior, against second differences of its log posterior."""
    from clickgym.clickmodels.tablefit.cascade_fit import ChainObjective, chain_strengths

    world, _, log = small_log()
    fit = clickmodels.DBN.table_fit
    fold = fit.fold(log, world)
    found = fit.search(fold, fold.whole, 0, None)
    objective = ChainObjective(fold.whole, found.attractive, found.continuation)
    point, pairs = np.concatenate([found.logits, found.theta]), len(fold.pairs)
    attractive, satisfied = chain_strengths(fold.whole, found)
    for place in (0, 7, 40, pairs + 3, pairs + 25):
        step = np.zeros(len(point))
        step[place] = 1e-4
        slopes = objective(point + step)[1][place] - objective(point - step)[1][place]
        mean = 1.0 / (1.0 + np.exp(-point[place]))
        strength = (attractive if place < pairs else satisfied)[place % pairs]
        assert strength * mean * (1 - mean) == pytest.approx(slopes / 2e-4, rel=1e-4)


def coverage(name, logging, floor, seed, prior, queries=100, pages=100_000):
    """Return the coverage of shown and of never shown pairs, and the share of zeros known so."""
    world = data.synthetic_world(n_queries=queries, n_docs=30, seed=seed)
    user = clickmodels.true_user(name, world, floor=floor)
    policy = policies.Uniform(world)
    if logging != "uniform":
        policy = policies.logging_policy(logging, world, seed=seed)
    log = envs.collect(world, user, policy, pages, seed=seed)
    model = clickmodels.fit(name, log, world, prior=prior)
    posterior, truth = model.posterior(), user.attractiveness
    # The scale on which attractiveness is traded for examination: the first rank's agree.
    scale = model.examination.flat[0] / user.examination.flat[0]
    low, high = (end * scale for end in posterior.interval(0.95))
    inside = (low <= truth) & (truth <= high)
    place = log.query.astype(int)[:, None] * 30 + log.ranking
    times = np.bincount(place.ravel(), minlength=world.n_queries * 30).reshape(truth.shape)
    zeros = (truth == 0) & world.candidates & (times >= 100)
    known = (posterior.quantile(0.975) * scale)[zeros] < 0.05
    never = world.candidates & ~model.seen
    return inside[model.seen].mean(), inside[never], known


@pytest.mark.parametrize("prior", ["plain", "exposure"])
@pytest.mark.parametrize("name", ["PBM", "UBM"])
def test_intervals_cover_the_truth_quickly(name, prior):
    shown, _, _ = coverage(name, "uniform", 0.02, 5, prior, queries=40, pages=30_000)
    assert 0.90 <= shown <= 0.98


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("logging", ["uniform", "epsilon-oracle"])
@pytest.mark.parametrize("name", ["PBM", "UBM"])
def test_intervals_cover_the_truth(name, logging, seed):
    shown, never, _ = coverage(name, logging, 0.02, seed, "exposure")
    assert 0.90 <= shown <= 0.98
    assert not len(never) or never.mean() >= 0.90


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("logging", ["uniform", "epsilon-oracle"])
@pytest.mark.parametrize("name", ["PBM", "UBM"])
def test_pairs_that_are_never_clicked_are_known_to_be_bad(name, logging, seed):
    _, _, known = coverage(name, logging, 0.0, seed, "exposure")
    assert known.mean() >= 0.95


def test_quantiles_are_those_of_beta_distributions():
    posterior = fitted("PBM").posterior()
    table, level = posterior["attractiveness"], 0.3
    beta = stats.beta(table.strength * table.mean, table.strength * (1 - table.mean))
    np.testing.assert_allclose(table.quantile(level), beta.ppf(level))
    np.testing.assert_allclose(table.sd, beta.std())


def test_an_unknown_table_is_named():
    with pytest.raises(KeyError, match="there is: attractiveness"):
        fitted("PBM").posterior()["satisfaction"]
