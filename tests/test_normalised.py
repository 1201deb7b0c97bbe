"""Normalised perplexity, equation 16."""

from __future__ import annotations

import numpy as np
import pytest

from clickgym.evaluation import normalised_perplexity

WORST = 0.2 + np.log(2.0)


def test_by_hand():
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


@pytest.mark.parametrize("wrong", [[1.2, np.nan], [], 1.2, {}])
def test_what_cannot_be_compared_is_an_error(wrong):
    with pytest.raises(ValueError, match="perplexities"):
        normalised_perplexity(wrong)


def test_different_shapes_are_an_error():
    with pytest.raises(ValueError, match="different shapes"):
        normalised_perplexity({"PBM": [1.2, 1.5], "UBM": [1.6]})
