"""Tables of the study of ranking metrics."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...common.typing import Floats
from ...evaluation import Metric, ResultTable, interval
from ...evaluation.reporting.formats import PlainTable
from .measurements import (
    BOUNDS,
    DEPLOYMENTS,
    ESTIMATE,
    FUNCTION,
    LABELS,
    METRIC,
    Measurements,
)

LEAST_SEEDS = 3  # below which no intervals are shown: two seeds' are 13 standard errors wide
ROUGH = ("counterfactual", "estimated", "sharper", "flatter")


def study_tables(found: Measurements) -> dict[str, list[ResultTable | PlainTable]]:
    """Return all tables by heading; those that rows say nothing about are left out."""
    tables: dict[str, list[ResultTable | PlainTable]] = {
        "Figure 3": [agreement_table(found)],
        "Variance": [variance_table(found)],
        "Policy only roughly known": [offset_table(found)],
        "Deployed value": [value_table(found, banner) for banner in found.banners],
        "Rankers trained on pairs": [trained_table(found, part) for part in DEPLOYMENTS],
    }
    kept = {name: [one for one in part if _filled(one)] for name, part in tables.items()}
    return {name: part for name, part in kept.items() if part}


def _filled(table: ResultTable | PlainTable) -> bool:
    return bool(table.models if isinstance(table, ResultTable) else table.rows)


def agreement_table(found: Measurements) -> PlainTable:
    """Return each metric's rank correlation with the reference, and the differences."""
    table = PlainTable(
        "Rank correlation with pairwise disagreement on the long shuffled log", "metric",
        [_describe(found, banner) for banner in found.banners],
        f"Spearman's over scoring functions; – where a metric is the same for all of them. "
        f"{_legend(found)}. The last line is a paired difference.",
    )  # fmt: skip
    names = [name for name in found.names(METRIC) if name not in ("reference", "uniform")]
    for name in [*names, *found.names(ESTIMATE)]:
        table.add(LABELS[name], [
            _show(found.correlations(name, banner, "reference", defined=True))
            for banner in found.banners
        ])  # fmt: skip
    table.add("counterfactual − pairwise", [
        _show(found.correlations("counterfactual", banner, "reference")
              - found.correlations("pairwise", banner, "reference"))
        for banner in found.banners
    ])  # fmt: skip
    return table


def variance_table(found: Measurements) -> PlainTable:
    """Return what rejected samples cost, by banner and temperature."""
    table = PlainTable(
        "Impressions that counterfactual disagreement needs, and what is accepted",
        "traffic",
        ["accepted mass", "times pairwise's, same standard error", "the same, one draw a click",
         "variance of the shuffled share over counterfactual's",
         "rank correlation, pairwise", "rank correlation, counterfactual"],
        "“Times pairwise's”: variance over that of pairwise disagreement on the same pages, mean "
        "over functions; “one draw a click”: if one product is drawn for each click, as in the "
        "paper's algorithms. Rank correlations are with the long shuffled log's metric. "
        f"{_legend(found)}.",
    )  # fmt: skip
    for banner in found.banners:
        for warmth in found.temperatures:
            accepted = found.accepted("counterfactual", banner, warmth)
            if not accepted.size:
                continue
            columns = [
                accepted,
                found.variance_ratios("counterfactual", "pairwise", banner, warmth),
                found.variance_ratios("counterfactual", "pairwise", banner, warmth, drawn=True),
                found.variance_ratios("shuffled", "counterfactual", banner, warmth),
                found.correlations("pairwise", banner, "reference", warmth),
                found.correlations("counterfactual", banner, "reference", warmth),
            ]
            table.add(
                f"{_describe(found, banner)}, T = {warmth:g}", [_show(one, 2) for one in columns]
            )
    return table


def offset_table(found: Measurements) -> PlainTable:
    """Return how far metrics lie from the reference where the policy is not quite known."""
    table = PlainTable(
        "Counterfactual disagreement minus pairwise disagreement on the long shuffled log",
        "policy", ["mean over functions", "standard deviation over functions", "rank correlation"],
        f"{_legend(found)}.",
    )  # fmt: skip
    names = {"counterfactual": "known", "estimated": "estimated from the log",
             "sharper": "too sharp", "flatter": "too flat"}  # fmt: skip
    for banner in found.banners:
        for name, label in names.items():
            means, spreads = found.offsets(name, banner)
            if means.size:
                table.add(f"{_describe(found, banner)}, {label}", [
                    _show(means, 4), _show(spreads, 4),
                    _show(found.correlations(name, banner, "reference")),
                ])  # fmt: skip
    return table


def value_table(found: Measurements, banner: str) -> ResultTable:
    """Return how well each metric and estimator orders functions by their deployed value."""
    size = max(found.sizes(), default=0)
    columns = ("rank correlation", "loss of its pick, %")
    table = ResultTable(
        [Metric(columns[0], False, 3, exclude=(LABELS["reference"],)),
         Metric(columns[1], True, 2, exclude=(LABELS["reference"],))],
        f"{_describe(found, banner)}: offline metrics against deployed values, "
        f"{size:,} impressions",
        subject="metric", least_seeds=LEAST_SEEDS,
    )  # fmt: skip
    left_out = ("uniform", *ROUGH[1:])
    names = [name for name in found.names(METRIC) if name not in left_out]
    for name in sorted([*names, *found.names(ESTIMATE)], key=lambda name: name == "reference"):
        values = {
            columns[0]: found.correlations(name, banner, "deployed", defined=True),
            columns[1]: found.regrets(name, banner),
        }
        for column, one in values.items():
            table.add(LABELS[name], {column: one} if one.size else {})
    return table


def trained_table(found: Measurements, part: str) -> ResultTable:
    """Return the deployed values of rankers that were trained on pairs of the log."""
    columns = {banner: _describe(found, banner) for banner in found.banners}
    table = ResultTable(
        [Metric(name, False, 4, exclude=BOUNDS) for name in columns.values()],
        f"Rankers trained on pairs, {DEPLOYMENTS[part]}: clicks per page on queries that training "
        "did not see",
        subject="ranker", least_seeds=LEAST_SEEDS,
    )  # fmt: skip
    for name in found.names(part):
        values = {
            column: found.trained(part, name, banner) for banner, column in columns.items()
        }
        for column, one in values.items():
            table.add(name, {column: one} if one.size else {})
    return table


def reference_spread(found: Measurements, banner: str) -> str:
    """Return in words how much functions differ on shuffled traffic."""
    ranges = []
    for seed in found.seeds:
        one = found.series(METRIC, "reference", banner, seed)
        if one is not None:
            ranges.append(np.ptp(one.values))
    functions = found.series(FUNCTION, "deployed", banner, found.seeds[0])
    number = 0 if functions is None else len(functions.values)
    return (
        f"{_describe(found, banner)}: disagreements of {number} functions on shuffled traffic lie "
        f"within {np.mean(ranges):.3f}"
    )


def _describe(found: Measurements, banner: str) -> str:
    return f"{banner} banner ({found.slots[banner]})"


def _legend(found: Measurements) -> str:
    number = len(found.seeds)
    if number == 1:
        return "One seed, so no intervals"
    if number < LEAST_SEEDS:
        return f"Mean of {number} seeds, too few for intervals"
    return f"Mean ± half width of the 95% Student-t interval over {number} seeds"


def _show(values: Sequence[float] | Floats, digits: int = 3) -> str:
    if not len(values):
        return "–"
    one = interval(values)
    text = f"{one.mean:.{digits}f}"
    shown = len(values) >= LEAST_SEEDS and not np.isnan(one.half_width)
    return f"{text} ± {one.half_width:.{digits}f}" if shown else text
