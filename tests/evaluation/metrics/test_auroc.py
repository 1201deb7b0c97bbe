"""Area under the ROC curve."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import random_models, small_world
from judging import Conditional, Fixed, RankOnly, random_log, repeated
from looping import loop_over
from sklearn.metrics import roc_auc_score

from clickgym import clickmodels, evaluation
from clickgym.data import ClickLog

MODELS = random_models()
WORLDS = [small_world(), small_world(short=True)]


def test_by_hand():
    log = ClickLog([0, 0], [[0, 1, 2], [2, 1, -1]], [[1, 0, 1], [0, 1, 0]])
    # Clicked: .9, .2, .5; not: .5, .9. Won: .9 > .5, half of .9 = .9, half of .5 = .5.
    full, per_rank = evaluation.auroc(Fixed([0.9, 0.5, 0.2]), log)
    assert full == pytest.approx(2.0 / 6.0)
    np.testing.assert_allclose(per_rank, [0.5, 0.5, np.nan])


def test_perfect_predictions_have_area_one():
    log = ClickLog([0, 0], [[0, 1], [0, 1]], [[1, 0], [1, 0]])
    assert evaluation.auroc(Fixed([0.6, 0.4]), log).full == 1.0


@loop_over("conditional", [True, False])
@loop_over("weighted", [True, False])
@loop_over("name", MODELS)
@loop_over("any_world", WORLDS)
def test_equals_scikit_learns(name, weighted, conditional, any_world):
    model = MODELS[name]
    log = random_log(any_world, model, weighted=weighted)
    if conditional:
        probs = model.conditional_click_probs(log.query, log.ranking, log.clicks)
    else:
        probs = model.click_probs(log.query, log.ranking)
    weight = np.ones(len(log)) if log.weight is None else log.weight
    result = evaluation.auroc(model, log, conditional)
    shown = log.ranking >= 0
    full = roc_auc_score(
        log.clicks[shown], probs[shown], sample_weight=np.repeat(weight, shown.sum(axis=1))
    )
    assert result.full == pytest.approx(full)
    for rank, page in enumerate(shown.T):
        expected = roc_auc_score(
            log.clicks[page, rank], probs[page, rank], sample_weight=weight[page]
        )
        assert result.per_rank[rank] == pytest.approx(expected)


@loop_over("any_world", WORLDS)
def test_weights_count_like_repeated_rows(any_world):
    log = random_log(any_world, MODELS["UBM"], weighted=True)
    weighted = evaluation.auroc(MODELS["UBM"], log)
    plain = evaluation.auroc(MODELS["UBM"], repeated(log))
    np.testing.assert_allclose(weighted.per_rank, plain.per_rank, rtol=1e-12)
    assert weighted.full == pytest.approx(plain.full, rel=1e-12)


@loop_over("any_world", WORLDS)
def test_compressing_changes_nothing(any_world):
    log = random_log(any_world, MODELS["CoCM"], n=5000)
    whole = evaluation.auroc(MODELS["CoCM"], log)
    folded = evaluation.auroc(MODELS["CoCM"], log.compress())
    np.testing.assert_allclose(folded.per_rank, whole.per_rank, rtol=1e-12)
    assert folded.full == pytest.approx(whole.full, rel=1e-12)


@loop_over("clicked", [0, 1])
def test_one_class_has_no_area(clicked):
    log = ClickLog([0, 0], [[0, 1], [0, 1]], [[clicked, 1], [clicked, 0]])
    result = evaluation.auroc(Fixed(0.5), log)
    np.testing.assert_allclose(result.per_rank, [np.nan, 0.5])
    assert result.full == 0.5


def test_one_class_in_the_whole_log_has_no_area():
    log = ClickLog([0, 0], [[0, 1], [0, 1]], [[0, 0], [0, 0]])
    assert np.isnan(evaluation.auroc(Fixed(0.5), log).full)


def test_a_class_without_weight_is_no_class():
    log = ClickLog([0, 0], [[0], [0]], [[1], [0]], weight=[1.0, 0.0])
    assert np.isnan(evaluation.auroc(Fixed(0.5), log).full)


def test_needs_a_conditional_model():
    log = ClickLog([0], [[0]], [[1]])
    with pytest.raises(clickmodels.NotCapable, match="not conditional"):
        evaluation.auroc(RankOnly(0.5), log)


def test_clicks_unseen_needs_a_generative_model():
    log = ClickLog([0], [[0]], [[1]])
    with pytest.raises(clickmodels.NotCapable, match="not generative"):
        evaluation.auroc(Conditional(0.5), log, conditional=False)


def test_a_nan_is_an_error():
    log = ClickLog([0], [[0]], [[1]])
    with pytest.raises(ValueError, match="not a probability"):
        evaluation.auroc(Fixed(np.nan), log)
