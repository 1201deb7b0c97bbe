"""Errors of estimates: root mean squares over repetitions, scaled, counted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..engine.rows import Row, where

CONDITION = ("candidates", "slots", "metric", "logging", "alpha", "target")
ASPIRATION = "on-policy"  # left out where estimators are compared
LOWEST = 0.001  # what the best estimator's scaled error is, so that it fits a log scale


def root_mean_squares(rows: Sequence[Row], keys: Sequence[str]) -> list[Row]:
    """Return a row for each value of ``keys``: errors of ``estimate`` against ``truth``.

    ``rmse``, ``median`` (of |error|, which a few bad ones do not move), ``bias`` (the mean
    error), ``spread`` (standard deviation of the estimates) and the number of ``repetitions``.
    """
    groups: dict[tuple[Any, ...], list[float]] = {}
    values: dict[tuple[Any, ...], list[float]] = {}
    for row in rows:
        key = tuple(row[name] for name in keys)
        groups.setdefault(key, []).append(row["estimate"] - row["truth"])
        values.setdefault(key, []).append(row["estimate"])
    return [
        {
            **dict(zip(keys, key, strict=True)),
            "rmse": float(np.sqrt(np.mean(np.square(errors)))),
            "median": float(np.median(np.abs(errors))),
            "bias": float(np.mean(errors)),
            "spread": float(np.std(values[key])),
            "repetitions": len(errors),
        }
        for key, errors in groups.items()
    ]


def scale_errors(errors: Sequence[Row], n: int) -> list[Row]:
    """Return the errors at sample size ``n``, scaled within each condition.

    ``normalised`` runs from 0.001 (the best estimator) to 1 (the worst) as in figure 2; on-policy
    is left out.
    """
    chosen = [row for row in errors if row["n"] == n and row["estimator"] != ASPIRATION]
    result = []
    for condition in dict.fromkeys(condition_of(row) for row in chosen):
        part = [row for row in chosen if condition_of(row) == condition]
        found = np.array([row["rmse"] for row in part])
        low, span = found.min(), max(np.ptp(found), np.finfo(float).tiny)
        scaled = LOWEST + (1.0 - LOWEST) * (found - low) / span
        result += [
            {**row, "normalised": float(value)} for row, value in zip(part, scaled, strict=True)
        ]
    return result


def condition_of(row: Row) -> tuple[Any, ...]:
    """Return which experimental condition a row belongs to."""
    return tuple(row[name] for name in CONDITION)


def wins(
    errors: Sequence[Row], better: str, worse: str, n: int, by: str = "rmse"
) -> tuple[int, int]:
    """Return in how many conditions ``better`` has the lower error at ``n``, and of how many.

    ``by`` is "rmse" or "median".
    """
    found = {
        name: {
            condition_of(row): row[by]
            for row in where(errors, estimator=name, n=n)
        }
        for name in (better, worse)
    }  # fmt: skip
    shared = found[better].keys() & found[worse].keys()
    return sum(found[better][key] < found[worse][key] for key in shared), len(shared)
