"""Fits with parameters by grade: what they recover, what they are, and how they are kept."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from conftest import small_world
from looping import loop_over
from model_contract import assert_same_state, simulate
from vertical_users import make_user

from clickgym import clickmodels, data
from clickgym.clickmodels import ClickModel, fitting
from clickgym.data import ClickLog

BY_GRADE = np.array([0.1, 0.2, 0.35, 0.55, 0.8, 0.45])  # the last of documents without a grade
SATISFACTION = np.array([0.1, 0.3, 0.5, 0.7, 0.9, 0.4])
SLOTS = 4


@functools.cache
def graded_world():
    """Eight queries of six documents, some of them without a grade."""
    grades = np.random.default_rng(0).integers(-1, 5, (8, 6))
    return data.World(grades, candidates=np.ones((8, 6), dtype=bool))


def known_user(name):
    """A user whose parameters are by grade."""
    world = graded_world()
    a, s = BY_GRADE[world.relevance], SATISFACTION[world.relevance]  # -1 is the last
    rank, latest = np.arange(SLOTS)[:, None], np.arange(SLOTS)
    examination = 0.95 / (1 + 0.4 * np.where(latest > 0, rank + 1 - latest, rank)).clip(0.95)
    makers = {
        "PBM": lambda: clickmodels.PBM(a, examination[:, 0]),
        "UBM": lambda: clickmodels.UBM(a, examination),
        "DBN": lambda: clickmodels.DBN(a, s, 0.9),
        "SDBN": lambda: clickmodels.SDBN(a, s),
        "DCM": lambda: clickmodels.DCM(a, [0.8, 0.6, 0.5, 0.4]),
        "CM": lambda: clickmodels.CM(a),
        "CCM": lambda: clickmodels.CCM(a, [0.9, 0.8, 0.2]),
    }
    return makers[name]()


def draw_log(user, n, seed=1, **blocks):
    """Pages of random documents in random order, and their clicks."""
    rng = np.random.default_rng(seed)
    query = rng.integers(0, 8, n)
    ranking = np.argsort(rng.random((n, 6)), axis=1)[:, :SLOTS]
    clicks = user.sample(query, ranking, rng, **blocks)
    return ClickLog(query, ranking, clicks, **blocks)


@loop_over("name", ["PBM", "UBM", "DBN", "SDBN", "DCM", "CM", "CCM"])
def test_a_fit_recovers_parameters_by_grade(name):
    user, world = known_user(name), graded_world()
    log = draw_log(user, 60_000)
    model = clickmodels.fit(name, log, world, parameters="grade")
    pages = log.query[:500], log.ranking[:500]
    error = model.click_probs(*pages) - user.click_probs(*pages)
    assert np.abs(error).mean() < 0.004
    found = model.by_grade.attractiveness[0]
    if name in ("PBM", "UBM"):  # attractiveness × examination: a factor is open
        found = found * (BY_GRADE.mean() / found.mean())
    assert np.abs(found - BY_GRADE).max() < 0.03
    if name in ("DBN", "SDBN"):
        assert np.abs(model.by_grade.satisfaction[0] - SATISFACTION)[1:].max() < 0.06


@loop_over("name", ["FCM", "VCM"])
def test_a_fit_with_blocks_recovers_clicks_by_grade(name):
    world = graded_world()
    drawn = make_user(name, queries=8, docs=6, slots=SLOTS)
    user = type(drawn)(**{**drawn.state(), "attractiveness": BY_GRADE[world.relevance]})
    rng = np.random.default_rng(3)
    n = 10_000
    blocks = {
        "vertical": rng.integers(0, 4, n), "vertical_position": rng.integers(0, SLOTS + 1, n)
    }  # fmt: skip
    log = draw_log(user, n, **blocks)
    model = clickmodels.fit(name, log, world, parameters="grade")
    some = slice(0, 2000)
    pages, shown = (log.query[some], log.ranking[some]), {k: v[some] for k, v in blocks.items()}
    error = model.click_probs(*pages, **shown) - user.click_probs(*pages, **shown)
    assert np.abs(error).mean() < 0.02
    assert np.corrcoef(model.by_grade.attractiveness[0], BY_GRADE)[0, 1] > 0.99


@loop_over("name", ["DBN", "UBM", "dCTR", "drCTR", "FCM"])
def test_documents_of_a_grade_are_alike(name):
    world = graded_world()
    log = draw_log(known_user("DBN"), 500)
    settings = {"smoothing": 0.0} if name == "drCTR" else {}  # whose relevance is not smoothed
    model = clickmodels.fit(name, log, world, parameters="grade", **settings)
    assert model.name == name
    classes = np.where(world.relevance < 0, 5, world.relevance)
    query, ranking = log.query[:50], log.ranking[:50]
    expected = model.by_grade.click_probs(np.zeros(50, int), classes[query[:, None], ranking])
    np.testing.assert_allclose(model.click_probs(query, ranking), expected, atol=1e-12)
    np.testing.assert_allclose(model.relevance(), model.by_grade.relevance()[0, classes])


def test_click_rates_by_grade_are_counts():
    log, world = draw_log(known_user("DBN"), 400), graded_world()
    model = clickmodels.fit("dCTR", log, world, parameters="grade", smoothing=0.0)
    grades = world.relevance[log.query[:, None], log.ranking]
    rates = [log.clicks[grades == grade].mean() for grade in (0, 1, 2, 3, 4, -1)]
    np.testing.assert_allclose(model.by_grade.click_rate[0], rates)
    np.testing.assert_allclose(model.click_rate, np.array(rates)[world.relevance])
    assert model.impressions.sum() == pytest.approx(log.ranking.size)


def test_counts_of_clicked_pages_are_those_of_ebu():
    log, world = draw_log(known_user("SDBN"), 30_000), graded_world()
    model = clickmodels.fit("SDBN", log, world, parameters="grade", method="clicked").by_grade
    grades = world.relevance[log.query[:, None], log.ranking]
    below = np.cumsum(log.clicks[:, ::-1], axis=1)[:, ::-1]  # clicks from here on
    for column, grade in enumerate((0, 1, 2, 3, 4, -1)):
        read = (grades == grade) & (below > 0)  # none on pages without a click
        click = read & log.clicks
        assert model.attractiveness[0, column] == pytest.approx(click.sum() / read.sum(), abs=2e-3)
        last = (click & (below == 1)).sum() / click.sum()
        assert model.satisfaction[0, column] == pytest.approx(last, abs=5e-3)
    other = clickmodels.fit("SDBN", log, world, parameters="grade", method="counts").by_grade
    assert (model.attractiveness > other.attractiveness).all()  # which counts abandoned pages


def test_a_model_by_grade_is_saved_and_loaded(tmp_path):
    world, log = small_world(), simulate(100)
    for members in (None, 2):
        model = clickmodels.fit("DBN", log, world, parameters="grade", members=members)
        model.save(tmp_path / "model.safetensors")
        loaded = ClickModel.load(tmp_path / "model.safetensors")
        np.testing.assert_array_equal(loaded.seen, model.seen)
        assert loaded.fingerprint == world.fingerprint
        assert loaded.by_grade.shape == (1, 6)
        pairs = [(model, loaded)]
        if members:
            pairs = list(zip(model.members, loaded.members, strict=True))
        for one, other in pairs:
            assert_same_state(one, other)
            assert_same_state(one.by_grade, other.by_grade)
            np.testing.assert_array_equal(one.by_grade.seen, other.by_grade.seen)


def test_a_grade_that_the_log_does_not_show_is_not_seen_by_grade():
    grades = np.array([[0, 1, 4, 4]])
    log = ClickLog(np.zeros(6, int), [[0, 1]] * 6, [[0, 1]] * 6)
    model = clickmodels.fit("DBN", log, data.World(grades), parameters="grade")
    np.testing.assert_array_equal(model.by_grade.seen, [[True, True, False, False, False, False]])
    np.testing.assert_array_equal(model.seen, [[True, True, False, False]])


@loop_over("name", ["NCM", "TopPop", "rCTR", "CTR"])
def test_a_model_without_tables_by_document_is_refused_by_name(name):
    assert not fitting.takes_grades(name)
    with pytest.raises(ValueError, match=f"{name} has no parameters='grade'"):
        clickmodels.fit(name, simulate(), small_world(), parameters="grade")


def test_settings_of_embeddings_are_refused_by_grade():
    with pytest.raises(TypeError, match="epochs"):
        clickmodels.fit("UBM", simulate(), small_world(), parameters="grade", epochs=3)


def test_a_world_without_grades_is_refused():
    world = data.World(np.full((6, 7), -1), candidates=np.ones((6, 7), dtype=bool))
    with pytest.raises(ValueError, match="parameters='grade' needs grades, and this world has no"):
        clickmodels.fit("UBM", simulate(), world, parameters="grade")
