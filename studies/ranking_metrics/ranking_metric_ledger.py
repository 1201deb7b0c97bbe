"""The ledger of the paper on ranking metrics: its claims, tested on rows of the study.

Every finding is one number for each seed and banner, and must stand on every banner. What is
claimed of Criteo's data can only be tested on ours, which were made so that click-through rates
fall with the rank; the first claim is therefore about how the study was made.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...common.typing import Floats
from ...evaluation.statistics import rank_correlation
from ..claims import Claim, Finding, every_above
from .measurements import CHOOSING, FUNCTION, METRIC, ORDERING, Measurements

WEAK, STRONG = 0.7, 0.95  # rank correlations that say little, and nearly everything
LEAD = 0.1  # of counterfactual disagreement's rank correlation over pairwise disagreement's
RULES = (
    "A claim holds when all its findings hold, and does not hold when one does not. [low, high] "
    "is the 95% Student-t interval over seeds. A finding holds when the intervals of all banners "
    "lie on the claimed side, does not hold when one lies on the other side (at a level of 5% "
    "divided by their number), and is undecided otherwise. Rank correlations are Spearman's over "
    "the scoring functions."
)
_ROUGH = ("estimated", "sharper", "flatter")
_SAME = 1e-9  # metrics that are the same but for rounding


def ranking_ledger(found: Measurements) -> list[Claim]:
    """Return the paper's claims with their findings."""
    return [
        _falling_rates(found),
        _position_bias(found),
        _good_agreement(found),
        _outliers(found),
        _constant_offset(found),
        *_more_samples(found),
        _less_noise(found),
        _sure_queries(found),
        _matches_uniform(found),
        _importance_weights(found),
        _whole_pages(found),
        _learning(
            found, ORDERING,
            "The same idea applies to the pairwise ranking loss, and could be used for learning",
        ),
        _learning(
            found, CHOOSING,
            "The same where the ranker chooses from all candidates, and does not only order what "
            "production chose (not in the paper)",
        ),
    ]


def _test(
    found: Measurements, text: str, threshold: float, measure: Callable[[str], Floats]
) -> Finding:
    """Test that ``measure(banner)``, one number for each seed, is above a threshold."""
    values = {f"{banner}:": measure(banner) for banner in found.banners}
    complete = bool(values) and all(len(one) for one in values.values())
    return every_above(text, values if complete else {}, threshold)


def _falling_rates(found: Measurements) -> Claim:
    def fall(banner: str, last: int) -> Floats:
        every = (found.series("ctr", "production", banner, seed) for seed in found.seeds)
        return np.array([one.values[0] / one.values[last - 1] for one in every if one is not None])

    shared = min(found.slots.values())
    text = f"click-through rate at rank 1 over that at rank {shared} > 2"
    findings = [_test(found, text, 2.0, lambda banner: fall(banner, shared))]
    if {"small", "large"} <= set(found.banners):
        difference = fall("large", shared) - fall("small", shared)
        findings.append(every_above("the same, large − small banner > 0", {"": difference}))
    return Claim(
        "Click-through rate strongly depends on the rank, especially on large banners (our user "
        "was made so)", "section 4, Figure 2", tuple(findings),
    )  # fmt: skip


def _position_bias(found: Measurements) -> Claim:
    text = f"{WEAK} − rank correlation of pairwise with shuffled traffic > 0"
    return Claim(
        "Pairwise disagreement on non-shuffled traffic is severely affected by position bias: it "
        "correlates weakly with shuffled traffic", "section 4, Figure 3a",
        (_test(found, text, 0.0, lambda one: WEAK - found.correlations("pairwise", one,
                                                                        "reference")),),
    )  # fmt: skip


def _good_agreement(found: Measurements) -> Claim:
    def lead(banner: str) -> Floats:
        own, other = (
            found.correlations(name, banner, "reference") for name in ("counterfactual", "pairwise")
        )
        return own - other

    first = f"rank correlation of counterfactual with shuffled traffic > {STRONG}"
    second = f"the same, counterfactual − pairwise > {LEAD}"
    return Claim(
        "Counterfactual disagreement correlates reasonably well with shuffled traffic",
        "section 4, Figure 3b",
        (_test(found, first, STRONG,
               lambda one: found.correlations("counterfactual", one, "reference")),
         _test(found, second, LEAD, lead)),
    )  # fmt: skip


def _outliers(found: Measurements) -> Claim:
    def far_minus_close(banner: str) -> Floats:
        result = []
        for seed in found.seeds:
            own, wanted = (
                found.series(METRIC, name, banner, seed) for name in ("counterfactual", "reference")
            )
            close = found.series(FUNCTION, "closeness", banner, seed)
            if own is None or wanted is None or close is None:
                continue
            difference = own.values - wanted.values
            residual = np.abs(difference - np.median(difference))
            order = np.argsort(close.values)
            third = max(len(order) // 3, 1)
            result.append(residual[order[:third]].mean() - residual[order[-third:]].mean())
        return 1000.0 * np.array(result)

    text = (
        "1000 × |counterfactual − shuffled, less its median|: third of functions farthest from "
        "production − closest third > 0"
    )
    return Claim(
        "Outliers are models very far from the logging policy", "section 4",
        (_test(found, text, 0.0, far_minus_close),),
    )  # fmt: skip


def _constant_offset(found: Measurements) -> Claim:
    findings = []
    for name in _ROUGH:
        if name not in found.names(METRIC):
            continue

        def more(banner: str, name: str = name) -> Floats:
            own, known = (found.offsets(one, banner)[0] for one in (name, "counterfactual"))
            return 1000.0 * (np.abs(own) - np.abs(known))

        def steady(banner: str, name: str = name) -> Floats:
            means, spreads = found.offsets(name, banner)
            return 1000.0 * (np.abs(means) - spreads)

        text = f"1000 × |mean offset|, policy {name} − known > 0"
        findings.append(_test(found, text, 0.0, more))
        text = f"1000 × (|mean offset| − its standard deviation over functions), {name} > 0"
        findings.append(_test(found, text, 0.0, steady))
    return Claim(
        "Metrics differ by an almost constant value, because the policy is only approximately "
        "known", "section 4", tuple(findings) or (every_above("mean offset", {}),),
    )  # fmt: skip


def _more_samples(found: Measurements) -> tuple[Claim, Claim]:
    def ratio(banner: str, drawn: bool = False) -> Floats:
        return found.variance_ratios("counterfactual", "pairwise", banner, drawn=drawn)

    name = f"at T = {found.temperature:g}"
    ratio_text = f"variance of counterfactual over pairwise {name}"
    drawn_text = f"the same with one draw for each click {name}"
    more = (
        _test(found, f"{ratio_text} > 1", 1.0, ratio),
        _test(found, f"{drawn_text} > 1", 1.0, lambda one: ratio(one, True)),
    )
    note = "; ".join(
        f"{banner}, T = {warmth:g}: {drawn.mean():.2f}"
        for banner in found.banners
        for warmth in found.temperatures
        if (drawn := found.variance_ratios("counterfactual", "pairwise", banner, warmth, True)).size
    )
    twice = (
        _test(found, f"{drawn_text} > 2", 2.0, lambda one: ratio(one, True)).with_note(note),
        _test(found, f"3 − {drawn_text} > 0", 0.0, lambda one: 3.0 - ratio(one, True)),
    )
    return (
        Claim("Because of the rejected samples the metric has more variance", "section 4", more),
        Claim("It requires twice to thrice as many samples for the same variance", "section 4",
              twice),
    )  # fmt: skip


def _less_noise(found: Measurements) -> Claim:
    def better(banner: str) -> Floats:
        own, other = (
            found.correlations(name, banner, "reference") for name in ("counterfactual", "shuffled")
        )
        return own - other

    text = "variance of the shuffled share's metric over counterfactual's > 2"
    return Claim(
        "With few shuffled banners the metric is far less noisy than the shuffled share's",
        "section 4",
        (_test(found, text, 2.0,
               lambda one: found.variance_ratios("shuffled", "counterfactual", one)),
         _test(found, "rank correlation with the long shuffled log: counterfactual − shuffled "
               "share > 0", 0.0, better)),
    )  # fmt: skip


def _sure_queries(found: Measurements) -> Claim:
    def opposed(banner: str) -> Floats:
        result = []
        for seed in found.seeds:
            sure, accepted, clicks = (
                found.by_query(name, banner, seed) for name in ("sure", "accepted", "clicks")
            )
            if sure is not None and accepted is not None and clicks is not None:
                some = clicks > 0
                result.append(-rank_correlation(sure[some], accepted[some]))
        return np.array(result)

    text = "− rank correlation over queries of how sure production is with accepted mass > 0"
    return Claim(
        "The metric downweights contexts where the policy is nearly deterministic", "section 3.4",
        (_test(found, text, 0.0, opposed),),
    )  # fmt: skip


def _matches_uniform(found: Measurements) -> Claim:
    def distance(banner: str) -> Floats:
        result = []
        for seed in found.seeds:
            own, other = (
                found.series(METRIC, name, banner, seed) for name in ("uniform", "shuffled")
            )
            if own is not None and other is not None:
                result.append(np.abs(own.values - other.values).max())
        return np.array(result)

    largest = max((distance(one).max(initial=0.0) for one in found.banners), default=0.0)
    text = f"{_SAME:g} − largest difference on the shuffled share > 0"
    finding = _test(found, text, 0.0, lambda one: _SAME - distance(one))
    return Claim(
        "On uniformly shuffled traffic the metric matches pairwise disagreement exactly",
        "section 3.1", (finding.with_note(f"largest difference {largest:.1e}"),),
    )  # fmt: skip


def _lead_in_value(found: Measurements, first: str, second: str) -> Callable[[str], Floats]:
    """Return the lead of one over another in rank correlation with deployed value."""

    def lead(banner: str) -> Floats:
        own, other = (found.correlations(name, banner, "deployed") for name in (first, second))
        return own - other if own.size == other.size else np.zeros(0)

    return lead


def _importance_weights(found: Measurements) -> Claim:
    return Claim(
        "Importance-weighted metrics suffer from a high variance, which limits their use",
        "sections 1 and 3.4",
        tuple(
            _test(found, f"rank correlation with deployed value: counterfactual − {label} > 0", 0.0,
                  _lead_in_value(found, "counterfactual", name))
            for name, label in (("ips", "IPS"), ("wips", "weighted IPS"))
        ),
    )  # fmt: skip


def _whole_pages(found: Measurements) -> Claim:
    text = "rank correlation with deployed value: whole pages − counterfactual > 0"
    return Claim(
        "Resampling full banners is better correlated with online results (left open by the paper)",
        "section 5.1",
        (_test(found, text, 0.0, _lead_in_value(found, "pages", "counterfactual")),),
    )  # fmt: skip


def _learning(found: Measurements, part: str, statement: str) -> Claim:
    """Compare rankers trained on counterfactual pairs with those trained on naive ones."""
    kinds = dict.fromkeys(
        name.partition(",")[0] for name in found.names(part) if "counterfactual" in name
    )

    def gain(kind: str) -> Callable[[str], Floats]:
        def measure(banner: str) -> Floats:
            own, other = (
                found.trained(part, f"{kind}, {pairs} pairs", banner)
                for pairs in ("counterfactual", "naive")
            )
            return 1000.0 * (own - other) if own.size == other.size else np.zeros(0)

        return measure

    text = "1000 × deployed value: trained on counterfactual − on naive pairs > 0"
    findings = [_test(found, f"{text}, {kind} ranker", 0.0, gain(kind)) for kind in kinds]
    return Claim(statement, "section 5.2", tuple(findings) or (every_above(text, {}),))
