"""Equation 16 on rows of results: each model's perplexity relative to the other models'."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import numpy as np

from ..evaluation import Metric, ResultTable, normalised_perplexity
from .conditions import LOGGINGS, USERS, Condition, in_distribution, out_of_distribution
from .curse_study import CURSE_MODELS
from .judging import NAIVE, REFERENCE
from .selecting import Row, by_seed, distinct, where

ORACLE = "oracle"  # the model of the rows in which the user predicts itself
NOT_COMPARED = (ORACLE, REFERENCE, *NAIVE)
BySeed = dict[int, float]


def compared_models(rows: Sequence[Row]) -> list[str]:
    """Return the models that Figure 1 compares: all but oracles, naive baselines and ARM-NC.

    The paper's six come first, in its order; a model without any perplexity is left out.
    """
    able = [row for row in rows if row.get("perplexity") is not None]
    return [name for name in distinct(able, "model", CURSE_MODELS) if name not in NOT_COMPARED]


def relative(
    rows: Sequence[Row], condition: Condition, models: Collection[str]
) -> dict[str, BySeed]:
    """Return equation 16 under one condition, by model and seed.

    Models are compared within a seed: they were fitted to the same log. So only seeds count that
    every one of the models has, save models that have none at all, which are left out.
    """
    chosen = where(rows, user=condition.user, logging=condition.logging)
    found = {model: by_seed(where(chosen, model=model), condition.field) for model in models}
    found = {model: values for model, values in found.items() if values}
    if not found:
        return {}
    seeds = _common(found.values())
    values = {model: [found[model][seed] for seed in seeds] for model in found}
    return {
        model: dict(zip(seeds, map(float, column), strict=True))
        for model, column in normalised_perplexity(values).items()
    }


def averaged(
    rows: Sequence[Row], conditions: Sequence[Condition], models: Collection[str]
) -> dict[str, BySeed]:
    """Return the mean of equation 16 over ``conditions``, by model and seed.

    Only models count that have all of the conditions, and of each model only such seeds.
    """
    parts = [relative(rows, condition, models) for condition in conditions]
    result = {}
    for model in models:
        columns = [part[model] for part in parts if model in part]
        if columns and len(columns) == len(parts):
            result[model] = {
                seed: float(np.mean([column[seed] for column in columns]))
                for seed in _common(columns)
            }
    return result


def rise(
    rows: Sequence[Row], conditions: Sequence[Condition], models: Collection[str]
) -> dict[str, BySeed]:
    """Return how much equation 16 rises from in to out of distribution, by model and seed.

    A mean over the out-of-distribution ``conditions``. The paper calls a model more robust than
    its counterparts where this is below zero.
    """
    outside = averaged(rows, conditions, models)
    inside = averaged(rows, [condition.training for condition in conditions], models)
    return {
        model: {
            seed: outside[model][seed] - inside[model][seed]
            for seed in _common([outside[model], inside[model]])
        }
        for model in outside
        if model in inside
    }


def relative_table(rows: Sequence[Row]) -> ResultTable:
    """Return the companion of Figure 1: mean equation 16 of every model it compares.

    A seed's value is the mean over the axes named in the heading; intervals are over seeds.
    """
    models = compared_models(rows)
    inside, outside = in_distribution(rows), out_of_distribution(rows)
    columns = {"ind": averaged(rows, inside, models), "ood": averaged(rows, outside, models)}
    columns["ood − ind"] = rise(rows, outside, models)
    for key, first in (("user", USERS), ("logging", LOGGINGS)):
        for value in distinct(rows, key, first):
            part = [condition for condition in outside if getattr(condition, key) == value]
            label = f"{value} user" if key == "user" else f"log by {value}"
            columns[f"ood, {label}"] = averaged(rows, part, models)
    table = ResultTable(
        [Metric(name, True, digits=3) for name in columns],
        "Log-normalised perplexity (equation 16): 0.2 for the best model, 0.893 for the worst",
    )
    for model in models:
        table.add(model, {})
        for name, column in columns.items():
            values = column.get(model)
            if values:
                table.add(model, {name: list(values.values())}, list(values))
    return table


def _common(columns: Iterable[BySeed]) -> list[int]:
    """Return the seeds that all have."""
    return sorted(set.intersection(*map(set, columns)))
