"""Equation 16 on rows of results: each model's perplexity relative to the other models'."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...common.typing import Floats
from ...evaluation import Metric, ResultTable, normalised_perplexity
from ..constants import CLICK_MODELS, LOGGINGS, NAIVE, ORACLE, REFERENCE, USERS
from ..engine.rows import Row, distinct
from .conditions import Condition, in_distribution, out_of_distribution, read_complete_seeds

RISE = "ood − ind"
NOT_COMPARED = (ORACLE, REFERENCE, *NAIVE)


def compared_models(rows: Sequence[Row]) -> list[str]:
    """Return the models that Figure 1 compares: all but oracles, naive baselines and ARM-NC.

    The paper's six come first, in its order; a model without any perplexity is left out.
    """
    predicting = [row for row in rows if row.get("perplexity") is not None]
    models = distinct(predicting, "model", CLICK_MODELS)
    return [name for name in models if name not in NOT_COMPARED]


def relative(
    rows: Sequence[Row], conditions: Sequence[Condition], models: Sequence[str]
) -> tuple[list[int], Floats]:
    """Return equation 16 under every condition, and the seeds that count.

    Models are compared within a condition and a seed: they were fitted to the same log. Only
    seeds count that are complete: all models, all conditions.

    Returns
    -------
    list of int, (seeds, conditions, models) floats
    """
    seeds, values = read_complete_seeds(rows, conditions, models)
    return seeds, normalised_perplexity(values) if values.size else values


def rise(
    rows: Sequence[Row], conditions: Sequence[Condition], models: Sequence[str]
) -> tuple[list[int], Floats]:
    """Return how much equation 16 rises from in to out of distribution, and the seeds that count.

    Below zero, the paper calls a model more robust than its counterparts.

    Returns
    -------
    list of int, (seeds, conditions, models) floats
    """
    both = [*(condition.training for condition in conditions), *conditions]
    seeds, values = relative(rows, both, models)
    inside, outside = np.split(values, 2, axis=1)
    return seeds, outside - inside


def models_with_perplexity(
    rows: Sequence[Row], conditions: Sequence[Condition], models: Sequence[str]
) -> list[str]:
    """Return the models that have some perplexity under each of the conditions."""
    return [
        model
        for model in models
        if all(read_complete_seeds(rows, [condition], [model])[0] for condition in conditions)
    ]


def relative_table(rows: Sequence[Row]) -> ResultTable:
    """Return the companion of Figure 1: mean equation 16 of every model it compares.

    A seed's value is the mean over the axes named in the heading; intervals are over seeds.
    """
    models = compared_models(rows)
    outside = out_of_distribution(rows)
    columns = {"ind": in_distribution(rows), "ood": outside, RISE: outside}
    for user in distinct(rows, "user", USERS):
        columns[f"ood, {user} user"] = [one for one in outside if one.user == user]
    for logging in distinct(rows, "logging", LOGGINGS):
        columns[f"ood, log by {logging}"] = [one for one in outside if one.logging == logging]
    table = ResultTable(
        [Metric(name, True, digits=3) for name in columns],
        "Log-normalised perplexity (equation 16): 0.2 for the best model, 0.893 for the worst",
    )
    for model in models:
        table.add(model, {})
    for name, conditions in columns.items():
        names = models_with_perplexity(rows, conditions, models)
        measure = rise if name == RISE else relative
        seeds, values = measure(rows, conditions, names)
        for number, model in enumerate(names if seeds else ()):
            table.add(model, {name: values[:, :, number].mean(axis=1)}, seeds)
    return table
