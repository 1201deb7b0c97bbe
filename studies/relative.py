"""Equation 16 on rows of results: each model's perplexity relative to the other models'."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..evaluation import Metric, ResultTable, normalised_perplexity
from .conditions import LOGGINGS, USERS, Condition, complete, in_distribution, out_of_distribution
from .curse_study import CURSE_MODELS
from .judging import NAIVE, REFERENCE
from .selecting import Row, distinct

ORACLE = "oracle"  # the model of the rows in which the user predicts itself
NOT_COMPARED = (ORACLE, REFERENCE, *NAIVE)


def compared_models(rows: Sequence[Row]) -> list[str]:
    """Return the models that Figure 1 compares: all but oracles, naive baselines and ARM-NC.

    The paper's six come first, in its order; a model without any perplexity is left out.
    """
    able = [row for row in rows if row.get("perplexity") is not None]
    return [name for name in distinct(able, "model", CURSE_MODELS) if name not in NOT_COMPARED]


def relative(
    rows: Sequence[Row], conditions: Sequence[Condition], models: Sequence[str]
) -> tuple[list[int], NDArray[np.float64]]:
    """Return equation 16 under every condition, and the seeds that count.

    Models are compared within a condition and a seed: they were fitted to the same log. Only
    seeds count that are complete: all models, all conditions.

    Returns
    -------
    list of int, (seeds, conditions, models) floats
    """
    seeds, values = complete(rows, conditions, models)
    return seeds, normalised_perplexity(values) if values.size else values


def relative_by_model(
    rows: Sequence[Row], conditions: Sequence[Condition], models: Sequence[str]
) -> tuple[list[int], dict[str, NDArray[np.float64]]]:
    """Return the mean of equation 16 over conditions, (seeds,) for each model.

    A model that has no perplexity at all under one of the conditions is left out.
    """
    able = [
        model
        for model in models
        if conditions and all(complete(rows, [one], [model])[0] for one in conditions)
    ]
    seeds, values = relative(rows, conditions, able)
    return seeds, dict(zip(able, values.mean(axis=1).T, strict=True)) if seeds else {}


def relative_table(rows: Sequence[Row]) -> ResultTable:
    """Return the companion of Figure 1: mean equation 16 of every model it compares.

    A seed's value is the mean over the axes named in the heading; intervals are over seeds.
    """
    models = compared_models(rows)
    outside = out_of_distribution(rows)
    columns = {"ind": in_distribution(rows), "ood": outside}
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
        seeds, found = relative_by_model(rows, conditions, models)
        for model, values in found.items():
            table.add(model, {name: values}, seeds)
    return table
