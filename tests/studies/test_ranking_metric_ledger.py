"""The ledger of the study of ranking metrics: each claim with rows that hold and that do not."""

from __future__ import annotations

import pytest

from clickgym.studies import Measurements, ranking_ledger


def row(part, name, at, value, seed, impressions=None):
    return {
        "banner": "small", "slots": 4, "temperature": 0.5, "seed": seed, "part": part,
        "name": name, "at": at, "impressions": impressions, "value": value, "stderr": 0.01,
        "accepted": 0.5,
    }  # fmt: skip


def verdict(words, **series):
    """Return the verdict on the claim that has ``words``.

    ``series`` are made numbers by name, for part and length of log: the same for three seeds, but
    for a little that differs.
    """
    if "reference" in series:
        series = dict.fromkeys(("pairwise", "shuffled"), series["reference"]) | series
        series.setdefault("counterfactual", series["reference"])
    rows = []
    for seed in range(3):
        for name, (part, size, values) in series.items():
            known = name.replace("_", " ")
            moved = [one * (1.0 + 0.001 * seed) for one in values]
            rows += [row(part, known, at, one, seed, size) for at, one in enumerate(moved)]
    claims = [one for one in ranking_ledger(Measurements(rows, 0.5)) if words in one.statement]
    assert len(claims) == 1
    return claims[0].verdict


def metric(*values):
    return "metric", 50, values


def function(*values):
    return "function", None, values


BOTH = pytest.mark.parametrize(("right", "expected"), [(True, "holds"), (False, "does not hold")])


@BOTH
def test_queries_on_which_production_is_sure_are_downweighted(right, expected):
    accepted = (0.9, 0.7, 0.5, 0.1) if right else (0.1, 0.5, 0.7, 0.9)
    found = verdict(
        "nearly deterministic", sure=("query", None, (0.2, 0.4, 0.6, 0.9)),
        accepted=("query", None, accepted), clicks=("query", None, (5, 5, 5, 5)),
    )  # fmt: skip
    assert found == expected


@BOTH
@pytest.mark.parametrize(
    ("part", "words"), [("ordering", "could be used for learning"), ("choosing", "all candidates")]
)
def test_rankers_learn_more_from_counterfactual_pairs(part, words, right, expected):
    better, worse = (part, None, (0.30,)), (part, None, (0.28,))
    counterfactual, naive = (better, worse) if right else (worse, better)
    found = verdict(
        words,
        **{"linear, counterfactual pairs": counterfactual, "linear, naive pairs": naive},
    )
    assert found == expected


@BOTH
def test_outliers_are_far_from_production(right, expected):
    """The first third of functions is off the line; it is far from production or close to it."""
    close = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
    found = verdict(
        "Outliers", reference=metric(0.40, 0.41, 0.42, 0.43, 0.44, 0.45),
        counterfactual=metric(0.46, 0.37, 0.421, 0.431, 0.441, 0.451),
        closeness=function(*(close if right else close[::-1])),
    )  # fmt: skip
    assert found == expected


@BOTH
def test_a_roughly_known_policy_shifts_all_functions_alike(right, expected):
    reference = (0.40, 0.41, 0.42, 0.43)
    near, far = (0.411, 0.419, 0.431, 0.439), (0.452, 0.460, 0.470, 0.482)
    found = verdict(
        "almost constant", reference=metric(*reference),
        counterfactual=metric(*(near if right else far)),
        sharper=metric(*(far if right else near)),
    )  # fmt: skip
    assert found == expected


def test_a_shift_that_differs_between_functions_is_not_constant():
    found = verdict(
        "almost constant", reference=metric(0.40, 0.41, 0.42, 0.43),
        counterfactual=metric(0.40, 0.41, 0.42, 0.43), sharper=metric(0.52, 0.31, 0.54, 0.35),
    )  # fmt: skip
    assert found == "does not hold"


@BOTH
def test_importance_weights_order_functions_less_well(right, expected):
    deployed, other = (0.30, 0.29, 0.28, 0.27), (0.28, 0.30, 0.27, 0.29)
    clear, noise = (0.40, 0.41, 0.42, 0.43), (0.42, 0.40, 0.43, 0.41)
    estimate = other if right else deployed
    found = verdict(
        "Importance-weighted", deployed=function(*deployed),
        counterfactual=metric(*(clear if right else noise)),
        ips=("estimate", 50, estimate), wips=("estimate", 50, estimate),
    )  # fmt: skip
    assert found == expected


@BOTH
def test_whole_pages_are_nearer_to_deployed_values(right, expected):
    clear, noise = metric(0.40, 0.41, 0.42, 0.43), metric(0.42, 0.40, 0.43, 0.41)
    found = verdict(
        "Resampling full banners", deployed=function(0.30, 0.29, 0.28, 0.27),
        pages=clear if right else noise, counterfactual=noise if right else clear,
    )  # fmt: skip
    assert found == expected


@BOTH
def test_on_shuffled_traffic_both_metrics_are_one(right, expected):
    other = (0.40, 0.41) if right else (0.40, 0.42)
    assert verdict(
        "uniformly shuffled", uniform=metric(0.40, 0.41), shuffled=metric(*other)
    ) == expected  # fmt: skip


@BOTH
def test_click_rates_fall_with_the_rank(right, expected):
    rates = (0.3, 0.2, 0.12, 0.1) if right else (0.3, 0.29, 0.28, 0.27)
    assert verdict("Click-through rate", production=("ctr", None, rates)) == expected


def test_without_rows_nothing_is_decided():
    assert verdict("Outliers", reference=metric(0.4, 0.5)) not in ("holds", "does not hold")
