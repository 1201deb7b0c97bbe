"""Student-t intervals, Welch's test and the paper's marks."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from looping import loop_over
from scipy import stats

from clickgym.evaluation import interval, marks, welch
from clickgym.evaluation.statistics import rank_correlation


def seeds_with(mean: float, half_width: float, n: int = 10) -> np.ndarray:
    """Values whose mean and 95% half width are exactly those."""
    shape = np.random.default_rng(0).normal(size=n)
    shape = (shape - shape.mean()) / shape.std(ddof=1)
    return mean + shape * half_width * math.sqrt(n) / stats.t.ppf(0.975, n - 1)


# Intervals


@loop_over("confidence", [0.5, 0.95, 0.99])
@loop_over("n", [2, 10])
def test_interval_is_scipys(n, confidence):
    values = np.random.default_rng(n).normal(3.0, 2.0, size=n)
    low, high = stats.t.interval(confidence, n - 1, values.mean(), stats.sem(values))
    found = interval(values, confidence)
    np.testing.assert_allclose([found.mean, found.low, found.high], [values.mean(), low, high])
    assert found.half_width == pytest.approx((high - low) / 2)
    assert found.n == n


def test_equal_values_have_no_width():
    assert interval([0.1] * 3) == (0.1, 0.1, 0.1, 0.0, 3)  # 0.1 + 0.1 + 0.1 is not 0.3


def test_a_single_value_has_no_interval():
    found = interval([1.5])
    assert found.mean == 1.5
    assert found.n == 1
    assert np.isnan([found.low, found.high, found.half_width]).all()


def test_an_infinite_value_has_no_interval():
    found = interval([1.5, np.inf, 1.4])
    assert found.mean == np.inf
    assert np.isnan(found.half_width)


@loop_over("wrong", [[1.0, np.nan], [], [[1.0, 2.0]]])
def test_what_is_no_list_of_values_is_an_error(wrong):
    with pytest.raises(ValueError, match="values"):
        interval(wrong)


@loop_over("confidence", [0.0, 1.0, 95, np.nan])
def test_confidence_must_be_a_share(confidence):
    with pytest.raises(ValueError, match="confidence"):
        interval([1.0, 2.0], confidence)


# Welch


@loop_over("sizes", [(2, 2), (10, 10), (3, 40)])
@loop_over("scale", [1.0, 1e-4, 1e-150])
def test_welch_is_scipys(sizes, scale):
    rng = np.random.default_rng(1)
    a, b = rng.normal(0.0, 1.0, sizes[0]), rng.normal(0.8, 3.0, sizes[1])
    expected = stats.ttest_ind(a, b, equal_var=False).pvalue
    assert welch(a * scale, b * scale) == pytest.approx(expected)


def test_welch_with_one_constant_is_scipys():
    b = np.random.default_rng(1).normal(size=8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scipy's own, about the constant
        expected = stats.ttest_ind([0.5] * 10, b, equal_var=False).pvalue
    assert welch([0.5] * 10, b) == pytest.approx(expected)


def test_welch_is_symmetric():
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=5), rng.normal(size=9)
    assert welch(a, b) == pytest.approx(welch(b, a))


def test_equal_constants_are_equal():
    assert welch([0.1] * 3, [0.1] * 10) == 1.0


def test_different_constants_are_different():
    assert welch([0.1] * 3, [0.1 + 1e-12] * 10) == 0.0


@loop_over("other", [[1.2, 1.3], [2.0]])
def test_a_single_value_cannot_be_tested(other):
    assert np.isnan(welch([1.0], other))


def test_single_equal_values_are_equal():
    assert welch([1.0], [1.0]) == 1.0


def test_infinite_is_different_from_finite():
    assert welch([np.inf, 1.0], [1.0, 1.1]) == 0.0


def test_infinite_is_equal_to_infinite():
    assert welch([np.inf, 1.0], [np.inf, np.inf]) == 1.0


# Rank correlation


def test_rank_correlation_is_pearsons_of_the_ranks():
    rng = np.random.default_rng(0)
    first = rng.integers(0, 5, 30)  # with ties
    second = first + rng.normal(0.0, 2.0, 30)
    expected = np.corrcoef(stats.rankdata(first), stats.rankdata(second))[0, 1]
    assert rank_correlation(first, second) == pytest.approx(expected)
    assert rank_correlation(first, -second) == pytest.approx(-expected)


def test_ties_alone_say_nothing_of_a_correlation():
    assert rank_correlation([1.0, 1.0, 1.0], [1.0, 2.0, 3.0]) == 0.0


# Marks


def test_the_best_mean_is_bold():
    results = {"PBM": [1.3, 1.31], "UBM": [1.2, 1.21], "DBN": [1.4, 1.41]}
    assert marks(results, lower_is_better=True) == {"PBM": "", "UBM": "bold", "DBN": ""}
    assert marks(results, lower_is_better=False) == {"PBM": "", "UBM": "", "DBN": "bold"}


def test_what_is_not_significantly_worse_is_marked():
    results = {"a": seeds_with(1.0, 0.2), "b": seeds_with(1.1, 0.2), "c": seeds_with(2.0, 0.2)}
    assert marks(results, lower_is_better=True) == {"a": "bold", "b": "=", "c": ""}


def test_ties_are_all_bold():
    results = {"a": [0.3] * 3, "b": [0.3] * 10, "c": [0.2] * 3}
    assert marks(results, lower_is_better=False) == {"a": "bold", "b": "bold", "c": ""}


def test_excluded_models_are_neither_best_nor_marked():
    results = {"oracle": [1.0, 1.0], "a": [1.2, 1.3], "b": [1.2, 1.31]}
    found = marks(results, lower_is_better=True, exclude=["oracle"])
    assert found == {"oracle": "", "a": "bold", "b": "="}


def test_missing_values_have_no_mark():
    assert marks({"a": [], "b": [1.0, 1.1]}, lower_is_better=True) == {"a": "", "b": "bold"}


def test_nothing_to_mark():
    assert marks({"a": []}, lower_is_better=True) == {"a": ""}


def test_daggers_are_for_those_not_worse_than_the_reference():
    results = {
        "better": seeds_with(0.9, 0.01), "good": seeds_with(0.8, 0.01),
        "near": seeds_with(0.69, 0.02), "NC": seeds_with(0.7, 0.02), "bad": seeds_with(0.5, 0.02),
    }  # fmt: skip
    found = marks(results, lower_is_better=False, reference="NC")
    assert found == {"better": "bold", "good": "†", "near": "†", "NC": "", "bad": ""}


def test_daggers_can_be_limited_to_some_models():
    results = {"best": [0.9, 0.91], "naive": [0.8, 0.81], "PBM": [0.7, 0.71], "NC": [0.7, 0.72]}
    found = marks(results, lower_is_better=False, reference="NC", daggers=["PBM"])
    assert found == {"best": "bold", "naive": "", "PBM": "†", "NC": ""}


def test_both_marks_can_stand_together():
    results = {"NC": seeds_with(0.7, 0.2), "a": seeds_with(0.69, 0.2)}
    assert marks(results, lower_is_better=False, reference="NC") == {"NC": "bold", "a": "=†"}


def test_single_values_have_no_test_and_no_mark():
    assert marks({"a": [1.0], "b": [1.1]}, lower_is_better=True) == {"a": "bold", "b": ""}


def test_an_infinite_perplexity_is_worse():
    results = {"a": [1.0, 1.5, 1.2], "b": [1.0, np.inf, 1.2]}
    assert marks(results, lower_is_better=True) == {"a": "bold", "b": ""}


def test_an_unknown_reference_is_an_error():
    with pytest.raises(ValueError, match="reference"):
        marks({"a": [1.0]}, lower_is_better=True, reference="ARM")


def test_a_name_instead_of_names_is_an_error():
    with pytest.raises(ValueError, match="exclude"):
        marks({"a": [1.0]}, lower_is_better=True, exclude="a")


def test_a_nan_is_an_error_that_names_the_model():
    with pytest.raises(ValueError, match="the values of a"):
        marks({"a": [1.0, np.nan], "b": [1.0]}, lower_is_better=True)


# The paper's own tables: means and half widths of appendix D, marks of tables 1, 2, 3 and 4.
CLICK_MODELS = ["PBM", "UBM", "DBN", "NCM", "CACM", "ARM"]
PUBLISHED = {
    "table 1, PPL@2": (True, None, {
        "dCTR": (1.2502, 0.0, ""), "drCTR": (1.2413, 0.0, ""), "PBM": (1.2523, 0.0009, ""),
        "UBM": (1.2431, 0.0002, ""), "DBN": (1.2282, 0.0009, "="), "NCM": (1.2274, 0.0005, "bold"),
        "CACM": (1.2437, 0.0009, ""), "ARM": (1.2478, 0.0007, ""),
    }),
    "table 1, PPL": (True, None, {
        "dCTR": (1.1413, 0.0, ""), "drCTR": (1.1381, 0.0, ""), "PBM": (1.1445, 0.0014, ""),
        "UBM": (1.1410, 0.0, ""), "DBN": (1.1386, 0.0013, ""), "NCM": (1.1371, 0.0002, "bold"),
        "CACM": (1.1417, 0.0018, ""), "ARM": (1.1438, 0.0014, ""),
    }),
    "table 1, nDCG@1": (False, "ARM-NC", {
        "RankTopObs": (0.7911, 0.0002, "bold"), "TopPop": (0.7782, 0.0014, ""),
        "dCTR": (0.7445, 0.0010, ""), "PBM": (0.6801, 0.0051, ""), "UBM": (0.6825, 0.0039, ""),
        "DBN": (0.6665, 0.0067, ""), "NCM": (0.6554, 0.0047, ""), "CACM": (0.6808, 0.0042, ""),
        "ARM": (0.6861, 0.0076, "†"), "ARM-NC": (0.6930, 0.0048, ""),
    }),
    "table 2, nDCG@1": (False, "ARM-NC", {
        "TopPop": (0.7225, 0.0007, ""), "dCTR": (0.7246, 0.0010, "bold"),
        "drCTR": (0.6273, 0.0002, ""), "PBM": (0.5977, 0.0076, ""), "UBM": (0.6017, 0.0083, "†"),
        "DBN": (0.5785, 0.0065, ""), "NCM": (0.5606, 0.0057, ""), "CACM": (0.5648, 0.0105, ""),
        "ARM": (0.5993, 0.0048, ""), "ARM-NC": (0.6086, 0.0084, ""),
    }),
    "table 2, nDCG@3": (False, "ARM-NC", {
        "TopPop": (0.7110, 0.0010, ""), "dCTR": (0.7165, 0.0006, "bold"),
        "drCTR": (0.6531, 0.0001, ""), "PBM": (0.6243, 0.0044, "†"), "UBM": (0.6255, 0.0050, "†"),
        "DBN": (0.6096, 0.0030, ""), "NCM": (0.5987, 0.0043, ""), "CACM": (0.6008, 0.0063, ""),
        "ARM": (0.6258, 0.0030, "†"), "ARM-NC": (0.6279, 0.0040, ""),
    }),
    "table 3, ood PPL": (True, None, {
        "dCTR": (1.4683, 0.0, ""), "PBM": (1.3561, 0.0023, ""), "UBM": (1.3413, 0.0011, "bold"),
        "NCM": (1.3501, 0.0027, ""), "CACM": (1.3414, 0.0010, "="), "ARM-NC": (1.6100, 0.0074, ""),
    }),
    "table 4, ood PPL": (True, None, {
        "dCTR": (1.3485, 0.0, ""), "PBM": (1.3030, 0.0011, ""), "UBM": (1.2949, 0.0007, ""),
        "DBN": (1.3040, 0.0006, ""), "NCM": (1.3067, 0.0009, ""),
        "CACM": (1.2934, 0.0011, "bold"), "ARM-NC": (1.7012, 0.0108, ""),
    }),
}  # fmt: skip


@loop_over("column", PUBLISHED)
def test_marks_are_those_that_the_paper_printed(column):
    lower_is_better, reference, cells = PUBLISHED[column]
    results = {name: seeds_with(mean, half) for name, (mean, half, _) in cells.items()}
    found = marks(results, lower_is_better, reference, daggers=CLICK_MODELS)
    assert found == {name: mark for name, (_, _, mark) in cells.items()}
