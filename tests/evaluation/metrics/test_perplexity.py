"""Perplexity, log-likelihood and normalised perplexity."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from conftest import random_models, small_world
from judging import Conditional, Fixed, RankOnly, random_log, repeated
from looping import loop_over
from sklearn.metrics import log_loss

from clickgym import clickmodels, evaluation
from clickgym.data import ClickLog
from clickgym.evaluation import normalised_perplexity
from clickgym.evaluation.metrics import perplexity as module

MODELS = random_models()
WORLDS = [small_world(), small_world(short=True)]
WORST = 0.2 + np.log(2.0)  # normalised
TWO_PAGES = ClickLog([0, 0], [[0, 1], [1, -1]], [[1, 0], [0, 0]])


def test_by_hand():
    per_rank, mean = evaluation.perplexity(Fixed([0.8, 0.25]), TWO_PAGES)
    first, second = 2 ** (-(np.log2(0.8) + np.log2(0.2)) / 2), 2 ** -np.log2(0.75)
    np.testing.assert_allclose(per_rank, [first, second])
    assert mean == pytest.approx((first + second) / 2)


def test_a_coin_has_perplexity_two():
    result = evaluation.perplexity(Fixed(0.5), TWO_PAGES)
    np.testing.assert_allclose(result.per_rank, 2.0)
    assert result.mean == pytest.approx(2.0)


def test_certainty_has_perplexity_one():
    log = ClickLog([0], [[0, 1]], [[1, 0]])
    assert evaluation.perplexity(Fixed([1.0, 0.0]), log).mean == 1.0


@loop_over("conditional", [True, False])
@loop_over("name", MODELS)
@loop_over("any_world", WORLDS)
def test_equals_scikit_learns_log_loss(name, conditional, any_world):
    model = MODELS[name]
    log = random_log(any_world, MODELS[name if name in ("DBN", "CM") else "PBM"], weighted=True)
    if conditional:
        probs = model.conditional_click_probs(log.query, log.ranking, log.clicks)
    else:
        probs = model.click_probs(log.query, log.ranking)
    result = evaluation.perplexity(model, log, conditional)
    for rank in range(log.slots):
        page = (log.ranking[:, rank] >= 0) & (log.weight > 0)
        loss = log_loss(
            log.clicks[page, rank], probs[page, rank],
            sample_weight=log.weight[page], labels=[False, True],
        )  # fmt: skip
        assert result.per_rank[rank] == pytest.approx(np.exp(loss))
    assert result.mean == pytest.approx(result.per_rank.mean())


@loop_over("conditional", [True, False])
@loop_over("any_world", WORLDS)
def test_weights_count_like_repeated_rows(conditional, any_world):
    log = random_log(any_world, MODELS["UBM"], weighted=True)
    weighted = evaluation.perplexity(MODELS["UBM"], log, conditional)
    plain = evaluation.perplexity(MODELS["UBM"], repeated(log), conditional)
    np.testing.assert_allclose(weighted.per_rank, plain.per_rank, rtol=1e-12)
    assert weighted.mean == pytest.approx(plain.mean, rel=1e-12)


@loop_over("any_world", WORLDS)
def test_compressing_changes_nothing(any_world):
    log = random_log(any_world, MODELS["CoCM"], n=5000)
    compressed = log.compress()
    assert len(compressed) < len(log)
    whole = evaluation.perplexity(MODELS["CoCM"], log)
    folded = evaluation.perplexity(MODELS["CoCM"], compressed)
    np.testing.assert_allclose(folded.per_rank, whole.per_rank, rtol=1e-12)


@loop_over("any_world", WORLDS)
def test_chunks_change_nothing(any_world, monkeypatch):
    log = random_log(any_world, MODELS["UBM"], weighted=True)
    whole = evaluation.perplexity(MODELS["UBM"], log)
    with monkeypatch.context() as patch:
        patch.setattr(module, "CHUNK", 7)
        chunks = evaluation.perplexity(MODELS["UBM"], log)
    np.testing.assert_allclose(chunks.per_rank, whole.per_rank)


def test_a_chunk_is_the_most_that_a_model_is_asked(world, monkeypatch):
    asked = []

    class Watched(Fixed):
        def conditional_click_probs(self, query, ranking, clicks):
            asked.append(len(query))
            return super().conditional_click_probs(query, ranking, clicks)

    monkeypatch.setattr(module, "CHUNK", 150)
    evaluation.perplexity(Watched(0.3), random_log(world, MODELS["PBM"], n=400))
    assert asked == [150, 150, 100]


def test_a_rank_that_no_page_has_is_left_out():
    log = ClickLog([0, 0], [[0, -1], [1, -1]], [[1, 0], [0, 0]])
    per_rank, mean = evaluation.perplexity(Fixed([0.5, 0.9]), log)
    assert np.isnan(per_rank[1])
    assert mean == pytest.approx(2.0)


def test_an_impossible_click_is_infinite_and_counted():
    log = ClickLog([0, 0, 0], [[0, 1]] * 3, [[1, 0], [1, 0], [0, 0]])
    with pytest.warns(evaluation.ImpossibleOutcome, match="2 of the 6 outcomes"):
        per_rank, mean = evaluation.perplexity(Fixed([0.0, 0.5]), log)
    assert mean == np.inf
    np.testing.assert_allclose(per_rank, [np.inf, 2.0])


def test_an_impossible_skip_is_infinite():
    with pytest.warns(evaluation.ImpossibleOutcome):
        result = evaluation.perplexity(Fixed([1.0, 0.5]), TWO_PAGES)
    assert result.per_rank[0] == np.inf


def test_the_warning_points_at_the_caller():
    with pytest.warns(evaluation.ImpossibleOutcome) as caught:
        evaluation.perplexity(Fixed([1.0, 0.5]), TWO_PAGES)
    assert caught[0].filename == __file__


def test_what_has_no_weight_may_be_impossible():
    log = ClickLog([0, 0], [[0], [1]], [[1], [0]], weight=[0.0, 1.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert evaluation.perplexity(Fixed(0.0), log).mean == 1.0


@loop_over("wrong", [np.nan, np.inf, -1e-6, 1.0 + 1e-6])
@loop_over("conditional", [True, False])
def test_what_is_no_probability_is_an_error(wrong, conditional):
    with pytest.raises(ValueError, match="row 0, slot 1: not a probability"):
        evaluation.perplexity(Fixed([0.5, wrong]), TWO_PAGES, conditional)


def test_rounding_beyond_one_is_one():
    log = ClickLog([0], [[0, 1]], [[1, 0]])
    assert evaluation.perplexity(Fixed([1.0 + 1e-12, -1e-12]), log).mean == 1.0


def test_probabilities_of_another_shape_are_an_error():
    class Wide(Fixed):
        def conditional_click_probs(self, query, ranking, clicks):
            return np.full((len(query), 9), 0.5)

    with pytest.raises(ValueError, match="shape"):
        evaluation.perplexity(Wide(0.5), TWO_PAGES)


def test_needs_a_conditional_model():
    with pytest.raises(clickmodels.NotCapable, match="not conditional"):
        evaluation.perplexity(RankOnly(0.5), TWO_PAGES)


def test_conditional_is_enough_for_conditional_perplexity():
    assert evaluation.perplexity(Conditional(0.5), TWO_PAGES).mean == pytest.approx(2.0)


def test_clicks_unseen_needs_a_generative_model():
    with pytest.raises(clickmodels.NotCapable, match="not generative"):
        evaluation.perplexity(Conditional(0.5), TWO_PAGES, conditional=False)


def test_another_worlds_log_is_an_error(world):
    other = small_world(n_queries=5)
    model = clickmodels.true_user("PBM", world)
    log = ClickLog([0], [[0]], [[0]], fingerprint=other.fingerprint)
    with pytest.raises(ValueError, match="different worlds"):
        evaluation.perplexity(model, log)


def test_its_own_worlds_log_is_not(world):
    model = clickmodels.true_user("PBM", world)
    log = ClickLog([0], [[0]], [[0]], fingerprint=world.fingerprint)
    assert evaluation.perplexity(model, log).mean == pytest.approx(1.0)


@loop_over("weight", [None, [0.0, 0.0]])
def test_a_log_without_impressions_is_an_error(weight):
    rows = 0 if weight is None else 2
    log = ClickLog(
        np.zeros(rows, int), np.zeros((rows, 2), int), np.zeros((rows, 2), bool), weight=weight
    )
    with pytest.raises(ValueError, match="no impressions"):
        evaluation.perplexity(Fixed(0.5), log)


def test_a_log_of_empty_pages_is_an_error():
    log = ClickLog([0], [[-1, -1]], [[0, 0]])
    with pytest.raises(ValueError, match="every page of the log is empty"):
        evaluation.perplexity(Fixed(0.5), log)


@pytest.mark.filterwarnings("ignore:CM gives probability 0")
@loop_over("name", MODELS)
@loop_over("any_world", WORLDS)
def test_the_true_model_beats_every_other(name, any_world):
    log = random_log(any_world, MODELS[name], n=40_000)
    found = {other: evaluation.perplexity(MODELS[other], log).mean for other in MODELS}
    assert min(found, key=found.get) == name


# Log-likelihood


@loop_over("name", MODELS)
@loop_over("any_world", WORLDS)
def test_log_likelihood_is_the_sum_of_the_conditional_losses(name, any_world):
    log = random_log(any_world, MODELS["PBM"] if name == "UBM" else MODELS[name], weighted=True)
    probs = MODELS[name].conditional_click_probs(log.query, log.ranking, log.clicks)
    outcome = np.where(log.clicks, probs, 1.0 - probs)
    pages = np.log(np.where(log.ranking >= 0, outcome, 1.0)).sum(axis=1)
    expected = np.average(pages, weights=log.weight)
    assert evaluation.log_likelihood(MODELS[name], log) == pytest.approx(expected)


@loop_over("any_world", WORLDS)
def test_log_likelihood_weighs_like_repeated_rows(any_world):
    log = random_log(any_world, MODELS["DBN"], weighted=True)
    plain = evaluation.log_likelihood(MODELS["DBN"], repeated(log))
    assert evaluation.log_likelihood(MODELS["DBN"], log) == pytest.approx(plain, rel=1e-12)


@loop_over("any_world", WORLDS)
def test_log_likelihood_is_not_changed_by_compressing(any_world):
    log = random_log(any_world, MODELS["DBN"], n=5000)
    folded = evaluation.log_likelihood(MODELS["DBN"], log.compress())
    assert folded == pytest.approx(evaluation.log_likelihood(MODELS["DBN"], log), rel=1e-12)


def test_an_impossible_page_has_log_likelihood_minus_infinity():
    with pytest.warns(evaluation.ImpossibleOutcome, match="1 of the 2 pages") as caught:
        assert evaluation.log_likelihood(Fixed([0.0, 0.5]), TWO_PAGES) == -np.inf
    assert caught[0].filename == __file__


def test_log_likelihood_ignores_what_has_no_weight():
    log = ClickLog([0, 0], [[0], [1]], [[1], [0]], weight=[0.0, 1.0])
    assert evaluation.log_likelihood(Fixed(0.0), log) == 0.0


@loop_over("wrong", [np.nan, 0.1])
def test_what_is_no_log_probability_is_an_error(wrong):
    class Broken(Fixed):
        def log_likelihood(self, query, ranking, clicks):
            return np.array([-1.0, wrong])

    with pytest.raises(ValueError, match="row 1"):
        evaluation.log_likelihood(Broken(0.5), TWO_PAGES)


def test_log_likelihood_needs_a_generative_model():
    with pytest.raises(clickmodels.NotCapable, match="not generative"):
        evaluation.log_likelihood(Conditional(0.5), TWO_PAGES)


# Normalised perplexity, equation 16


def test_normalised_by_hand():
    result = normalised_perplexity([1.2, 1.3, 1.6])
    np.testing.assert_allclose(result, [0.2, 0.2 + np.log(1.25), WORST])


def test_models_are_on_the_last_axis():
    values = 1.0 + np.random.default_rng(0).random((3, 4, 5))
    result = normalised_perplexity(values)
    np.testing.assert_allclose(result[2, 1], normalised_perplexity(values[2, 1]))
    np.testing.assert_allclose(result.min(axis=-1), 0.2)
    np.testing.assert_allclose(result.max(axis=-1), WORST)


def test_equal_models_all_get_the_best():
    np.testing.assert_array_equal(normalised_perplexity([[1.3, 1.3], [1.1, 1.2]])[0], 0.2)


def test_a_single_model_is_the_best():
    np.testing.assert_array_equal(normalised_perplexity([1.7]), 0.2)


def test_a_dict_gives_a_dict():
    result = normalised_perplexity({"PBM": 1.2, "UBM": 1.6, "DBN": 1.3})
    assert list(result) == ["PBM", "UBM", "DBN"]
    assert result["DBN"] == pytest.approx(0.2 + np.log(1.25))


def test_a_dict_of_arrays_gives_arrays():
    result = normalised_perplexity({"PBM": [1.2, 1.5], "UBM": [1.6, 1.1]})
    np.testing.assert_allclose(result["PBM"], [0.2, WORST])


def test_an_infinite_perplexity_takes_the_limit():
    np.testing.assert_allclose(normalised_perplexity([1.2, np.inf, 1.9]), [0.2, WORST, 0.2])


def test_all_infinite_are_equal():
    np.testing.assert_array_equal(normalised_perplexity([np.inf, np.inf]), 0.2)


def test_the_input_is_left_alone():
    values = np.array([1.2, 1.3])
    normalised_perplexity(values)
    np.testing.assert_array_equal(values, [1.2, 1.3])


@loop_over("wrong", [[1.2, np.nan], [], 1.2, {}])
def test_what_cannot_be_compared_is_an_error(wrong):
    with pytest.raises(ValueError, match="perplexities"):
        normalised_perplexity(wrong)


def test_different_shapes_are_an_error():
    with pytest.raises(ValueError, match="different shapes"):
        normalised_perplexity({"PBM": [1.2, 1.5], "UBM": [1.6]})
