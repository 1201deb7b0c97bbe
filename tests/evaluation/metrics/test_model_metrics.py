"""Metrics made from click models, against enumeration of all click vectors and other code."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from conftest import random_models
from looping import loop_over
from sklearn.metrics import dcg_score
from vertical_users import ATTRACTIVENESS, PUBLISHED

from clickgym import clickmodels, data, evaluation
from clickgym.clickmodels import FCM, SDBN, UBM
from clickgym.evaluation import metric

MAX_GRADE, K = 4, 5
# Random models of one query whose candidates are the grades 0 .. 4 and unjudged documents.
MODELS = random_models(3, n_queries=1, n_docs=MAX_GRADE + 2)
MODELS.pop("Ensemble")
VECTORS = np.array(list(itertools.product([False, True], repeat=K)))


def random_grades(n, seed=0, lowest=-2, slots=K):
    """Full and short pages; -2 are unjudged documents, -1 empty slots."""
    rng = np.random.default_rng(seed)
    grades = rng.integers(lowest, MAX_GRADE + 1, (n, slots))
    grades[grades == -1] = -2
    length = np.where(np.arange(n) % 2, slots, rng.integers(0, slots + 1, n))
    return np.where(np.arange(slots) < length[:, None], grades, -1)


GRADES = random_grades(12)
BLOCKS = {
    "vertical": np.arange(12) % 3 - 1,
    "vertical_position": np.random.default_rng(1).integers(0, K + 1, 12),
}


def gains(page):
    """r of each slot of one page."""
    return np.array([(2.0**grade - 1) / 2**MAX_GRADE if grade >= 0 else 0.0 for grade in page])


def joint(model, page, block=None):
    """P(clicks) of all click vectors of one page of grades."""
    classes = [MAX_GRADE + 1 if grade == -2 else grade for grade in page]
    rows = np.zeros(len(VECTORS), int), np.tile(classes, (len(VECTORS), 1)), VECTORS
    blocks = {} if block is None else {
        name: np.full(len(VECTORS), value)
        for name, value in zip(("vertical", "vertical_position"), block, strict=True)
    }  # fmt: skip
    return np.exp(model.log_likelihood(*rows, **blocks))


def each_block(name):
    """The block of each page, for models that know blocks."""
    if not MODELS[name].knows_verticals:
        return [None] * len(GRADES)
    return list(zip(*BLOCKS.values(), strict=True))


@loop_over("name", sorted(set(MODELS) - {"FCM"}))
def test_a_utility_is_the_expected_gain_of_the_clicks(name):
    expected = [
        joint(MODELS[name], page, block) @ (VECTORS @ gains(page))
        for page, block in zip(GRADES, each_block(name), strict=True)
    ]
    got = metric(f"u{name}", GRADES, model=MODELS[name], **BLOCKS)
    np.testing.assert_allclose(got, expected, atol=1e-12)


@loop_over(("name", "latent"), [("uFCM", "slot"), ("uFCM-page", "page")])
def test_fcm_has_a_metric_of_each_reading(name, latent):
    for given in ("page", "slot"):
        model = FCM(**{**MODELS["FCM"].state(), "latent": given})
        reading = FCM(**{**model.state(), "latent": latent})
        expected = [
            joint(reading, page, block) @ (VECTORS @ gains(page))
            for page, block in zip(GRADES, each_block("FCM"), strict=True)
        ]
        got = metric(name, GRADES, model=model, **BLOCKS)
        np.testing.assert_allclose(got, expected, atol=1e-12, err_msg=given)


@loop_over("name", sorted(MODELS))
def test_the_chance_of_a_click_is_that_of_any_click_vector_but_the_empty_one(name):
    expected = [
        joint(MODELS[name], page, block)[1:].sum()
        for page, block in zip(GRADES, each_block(name), strict=True)
    ]
    got = metric(f"any{name}", GRADES, model=MODELS[name], **BLOCKS)
    np.testing.assert_allclose(got, expected, atol=1e-12)


def effort(attractive, satisfied, after_skip=1.0, after_click=1.0):
    """Σ_k P(satisfied at k) / k of one page, rank by rank.

    ``satisfied`` are P(satisfied | click) by rank; the others P(the next rank is read) after a
    skip, and after a click that did not satisfy.
    """
    total, reached = 0.0, 1.0
    for rank, (a, s) in enumerate(zip(attractive, satisfied, strict=True), start=1):
        total += reached * a * s / rank
        reached *= (1 - a) * after_skip + a * (1 - s) * after_click
    return total


# P(satisfied | click) of shown classes, and how reading goes on after a skip and after a click.
ENDS = {
    "DBN": (lambda model, shown: model.satisfaction[0, shown], 0.8, 0.8),
    "SDBN": (lambda model, shown: model.satisfaction[0, shown], 1.0, 1.0),
    "CM": (lambda model, shown: np.ones(len(shown)), 1.0, 1.0),
    "DCM": (lambda model, shown: 1 - model.continuation[: len(shown)], 1.0, 1.0),
    "CCM": (
        lambda model, shown: 1 - np.interp(
            model.attractiveness[0, shown], [0, 1], model.continuation[1:]
        ),
        MODELS["CCM"].continuation[0],
        1.0,
    ),
}  # fmt: skip


@loop_over("name", sorted(ENDS))
def test_an_effort_is_the_expected_reciprocal_rank_of_satisfaction(name):
    model, (satisfied, after_skip, after_click) = MODELS[name], ENDS[name]
    expected = []
    for page in GRADES:
        shown = [MAX_GRADE + 1 if grade == -2 else grade for grade in page if grade != -1]
        attractive = model.attractiveness[0, shown]
        expected.append(effort(attractive, satisfied(model, shown), after_skip, after_click))
    np.testing.assert_allclose(metric(f"rr{name}", GRADES, model=model), expected, atol=1e-12)


def test_ubm_with_published_parameters_gives_the_known_clicks():
    model = UBM([ATTRACTIVENESS], PUBLISHED)
    lowest = np.zeros((1, 10), int)
    clicks = evaluation.grade_click_probs(model, lowest, max_grade=3)
    assert clicks.sum() == pytest.approx(1.1977, abs=5e-5)
    assert clicks[0, 0] == pytest.approx(0.488, abs=5e-4)
    assert metric("uUBM", lowest, max_grade=3, model=model) == 0
    # The recursion as it is printed: over the rank of the latest click.
    page = np.random.default_rng(0).integers(0, 4, 10)
    a, probs = np.array(ATTRACTIVENESS)[page], [1.0]
    for k in range(10):
        read = [
            probs[j] * PUBLISHED[k][j] * np.prod([1 - a[i] * PUBLISHED[i][j] for i in range(j, k)])
            for j in range(k + 1)
        ]
        probs.append(a[k] * sum(read))
    expected = np.array(probs[1:]) @ ((2.0**page - 1) / 8)
    got = metric("uUBM", [page], max_grade=3, model=model)
    assert got == pytest.approx([expected], abs=1e-12)


def test_dcg_is_that_of_scikit_learn():
    grades = random_grades(200, lowest=0, slots=10)
    gain = np.where(grades > 0, 2.0**grades - 1, 0.0)
    order = np.tile(np.arange(10, 0, -1), (200, 1))
    expected = [dcg_score(one[None], two[None]) for one, two in zip(gain, order, strict=True)]
    np.testing.assert_allclose(metric("DCG", grades), expected, atol=1e-12)


def test_err_is_the_product_of_its_definition():
    grades = random_grades(200, slots=10)
    r = np.where(grades > 0, 2.0**grades - 1, 0.0) / 16
    left = np.cumprod(1 - r, axis=1) / (1 - r)
    np.testing.assert_allclose(metric("ERR", grades), (left * r / np.arange(1, 11)).sum(axis=1))


def test_err_is_that_of_ir_measures():
    ir_measures = pytest.importorskip("ir_measures")
    grades = random_grades(60, slots=10)
    shown = [(row, slot) for row, slot in np.argwhere(grades != -1)]
    judged = [
        ir_measures.Qrel(str(row), f"d{slot}", int(grades[row, slot]))
        for row, slot in shown
        if grades[row, slot] >= 0
    ]
    run = [ir_measures.ScoredDoc(str(row), f"d{slot}", 10.0 - slot) for row, slot in shown]
    expected = {
        int(found.query_id): found.value
        for found in ir_measures.iter_calc([ir_measures.ERR @ 10], judged, run)
    }
    got = metric("ERR", grades)
    assert len(expected) > 40
    for row, value in expected.items():
        assert got[row] == pytest.approx(value, abs=1e-5), row


def test_ebu_is_the_utility_of_an_sdbn():
    model = MODELS["SDBN"]
    expected = metric("uSDBN", GRADES, model=model)
    np.testing.assert_array_equal(metric("EBU", GRADES, model=model), expected)
    satisfied = SDBN(np.ones((1, 5)), (2.0 ** np.arange(5)[None] - 1) / 16)
    grades = random_grades(20, lowest=0)
    got = metric("rrSDBN", grades, model=satisfied)
    np.testing.assert_allclose(got, metric("ERR", grades), atol=1e-12)


def test_a_missing_grade_above_another_is_an_unjudged_document():
    first, second = metric("uUBM", [[3, -1, 4, -1, -1], [3, -2, 4, -1, -1]], model=MODELS["UBM"])
    assert first == second
    model = MODELS["SDBN"]
    empty, unjudged = metric("rrSDBN", [[3, 4, -1], [3, 4, -2]], model=model)
    assert unjudged > empty


def test_grades_of_pages_tell_unjudged_documents_from_empty_slots():
    candidates = [[True, True, True, False]]
    world = data.World([[3, -1, 0, -1]], candidates=candidates)
    grades = evaluation.page_grades(world, [0, 0], [[1, 0, 2, -1], [2, 1, -1, -1]])
    np.testing.assert_array_equal(grades, [[-2, 3, 0, -1], [0, -2, -1, -1]])
    with pytest.raises(ValueError, match="4 candidates"):
        evaluation.page_grades(world, [0], [[4]])


def test_a_fitted_model_is_read_by_its_grades():
    rng = np.random.default_rng(0)
    world = data.World(rng.integers(-1, 5, (6, 8)), candidates=np.ones((6, 8), bool))
    query = rng.integers(0, 6, 300)
    ranking = np.argsort(rng.random((300, 8)), axis=1)[:, :K]
    log = data.ClickLog(query, ranking, rng.random((300, K)) < 0.3)
    model = clickmodels.fit("DBN", log, world, parameters="grade")
    grades = evaluation.page_grades(world, query, ranking)
    gain = np.where(grades > 0, 2.0**grades - 1, 0) / 16
    expected = (model.click_probs(query, ranking) * gain).sum(axis=1)
    np.testing.assert_allclose(metric("uDBN", grades, model=model), expected, atol=1e-12)
    with pytest.raises(ValueError, match="1 query of 4 grades"):
        metric("uDBN", np.zeros((1, 3), int), max_grade=3, model=model)


def test_every_name_that_is_known_can_be_asked_for():
    names = evaluation.metric_names()
    assert {"uUBM", "uDBN", "uSDBN", "uDCM", "uFCM", "uFCM-page", "uVCM", "EBU", "rrDBN", "rrDCM",
            "ERR", "DCG", "uPBM", "uCM", "uCCM", "anyUBM"} <= set(names)  # fmt: skip
    assert "rrUBM" not in names  # UBM has no satisfaction
    with pytest.raises(ValueError, match=r"unknown metric 'rrUBM'; known: anyARM.*uUBM"):
        metric("rrUBM", GRADES, model=MODELS["UBM"])


@loop_over(
    ("name", "model", "words"),
    [
        ("uUBM", None, r"uUBM needs a model: clickmodels.fit\('UBM', log, world, parameters='gr"),
        ("uUBM", "DBN", "uUBM needs the model UBM, not DBN"),
        ("EBU", "DBN", r"EBU needs the model SDBN, not DBN: .*, method='clicked'\)$"),
        ("uUBM", 3, "uUBM needs the model UBM, not int"),
        ("uNCM", None, "uNCM needs a model: NCM by hand, of one query"),
        ("ERR", "SDBN", "ERR has no parameters"),
    ],
)
def test_a_missing_or_wrong_model_is_named(name, model, words):
    with pytest.raises(ValueError, match=words):
        metric(name, GRADES, model=MODELS.get(model, model))


@loop_over(
    ("grades", "words"),
    [
        ([[0, 5]], r"grades\[0, 1\] is 5, but must be 0 to 4"),
        ([[0, -3]], r"grades\[0, 1\] is -3"),
        (np.zeros((2, 0), int), "at least one slot"),
        ([0, 1], "grades must have 2 dimension"),
        ([[0.5]], "grades must hold integers"),
    ],
)
def test_bad_grades_are_named(grades, words):
    with pytest.raises(ValueError, match=words):
        metric("ERR", grades)


def test_a_model_without_a_class_of_unjudged_documents_says_so():
    model = UBM([ATTRACTIVENESS], PUBLISHED)
    with pytest.raises(ValueError, match=r"grades\[0, 0\] has no grade, and this UBM has no class"):
        metric("uUBM", [[-2, 1]], max_grade=3, model=model)
    with pytest.raises(ValueError, match="1 query of 5 grades"):
        metric("uUBM", [[0, 1]], model=model)
    with pytest.raises(ValueError, match="uUBM needs parameters by grade"):
        metric("uUBM", [[0, 1]], model=random_models()["UBM"])


def test_pages_are_batched():
    grades = random_grades(500, seed=4)
    whole = metric("uUBM", grades, model=MODELS["UBM"])
    alone = [metric("uUBM", [page], model=MODELS["UBM"])[0] for page in grades[:20]]
    np.testing.assert_allclose(whole[:20], alone, atol=1e-15)
    assert metric("DCG", grades[:0]).shape == (0,)
