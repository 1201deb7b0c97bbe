"""Doubly robust estimators: what a reward model expects, corrected by its errors on the log."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from ...clickmodels import ClickModel
from ...common import checks
from ...common.typing import Floats, Integers
from ...policies.slates.moments import SAMPLES
from .direct_method import (
    PAGES,
    PageFunction,
    Pages,
    Predict,
    expect_rewards,
    fit_regression,
    model_predictions,
    name_sampling,
    predict_pages,
    split_halves,
)
from .importance import weigh_pages
from .inputs import Inputs
from .pseudoinverse_estimates import find_tables, weigh_slots
from .pseudoinverse_weights import PseudoinverseWeights
from .slate_estimates import RowWeights, SlateEstimate, mean_estimate, summarise_weights


def _correct(inputs: Inputs, asked: _RewardModel, weights: RowWeights) -> SlateEstimate:
    """Return the mean of what is expected plus the weighted errors of what was predicted.

    Where all weights are zero the log says nothing about those errors: what the model expects, with
    an infinite interval.
    """
    rows, counts = weights.values, inputs.counts
    means, errors, variance = asked.predict(inputs)
    variance += weights.variance_of(counts * errors / counts.sum())
    target = inputs.need_policy("target")
    method = name_sampling(f"{weights.method}, {asked.name}", target, asked.samples)
    if not rows[counts > 0].any():
        method, variance = f"{method}, the model alone: nothing known of its errors", math.inf
    result = mean_estimate(means + rows * errors, counts, method, variance)
    return result.set_attributes(**summarise_weights(rows, counts), **weights.attributes)


@dataclass(frozen=True)
class _RewardModel:
    """A reward model as the options of ``estimate`` describe it."""

    direct: Any = "tree"
    reward: str | PageFunction = "clicks"
    predictions: ArrayLike | None = None
    features: ArrayLike | None = None
    settings: dict[str, Any] | None = None
    samples: int = PAGES
    seed: int = 0

    @property
    def name(self) -> str:
        """What the estimate's method calls it."""
        if isinstance(self.direct, str):
            return self.direct
        return str(getattr(self.direct, "name", type(self.direct).__name__))

    def unfold(self, inputs: Inputs) -> Inputs:
        """Return one row per impression for regressions, which are fitted to halves of the log."""
        return inputs if isinstance(self.direct, ClickModel) else inputs.unfold()

    def predict(self, inputs: Inputs) -> tuple[Floats, Floats, float]:
        """Return what is expected for each row and the error of its prediction, (n,) each.

        And the variance of the mean that drawing the target's pages brings.
        """
        parts, known = self._predictors(inputs), self._known_predictions(inputs)
        rng = np.random.default_rng((self.seed, 2))
        means, errors = np.zeros(len(inputs.rows)), np.zeros(len(inputs.rows))
        drawn = 0.0
        for rows, predict in parts:
            part = inputs.take(rows)
            expected, variance = expect_rewards(predict, part, self.samples, rng)
            found = known
            if found is None:
                found = predict_pages(predict, Pages.of_log(part.log))
            means[rows], errors[rows] = expected[part.rows], part.rewards - found
            share = np.bincount(part.rows, part.counts) / inputs.counts.sum()
            drawn += float(share**2 @ variance)
        return means, errors, drawn

    def _predictors(self, inputs: Inputs) -> list[tuple[Integers, Predict]]:
        """Return parts of the log's rows, each with predictions of a model not fitted to it.

        A regression that is fitted to one half predicts the other, and the other way round.
        """
        if isinstance(self.direct, ClickModel):
            if self.features is not None or self.settings:
                raise ValueError(
                    "features and settings are a regression's; direct is a click model"
                )
            whole = np.arange(len(inputs.rows))
            return [(whole, model_predictions(self.direct, self.reward, inputs))]
        if self.reward != "clicks":
            raise ValueError("reward is what a click model predicts; direct is a regression")
        first, second = split_halves(inputs, self.seed)
        return [
            (asked, fit_regression(self.direct, inputs.take(seen), self.features, self.settings))
            for seen, asked in ((first, second), (second, first))
        ]

    def _known_predictions(self, inputs: Inputs) -> Floats | None:
        """Return the given predictions of the log's rows, (n,), checked; None without any."""
        if self.predictions is None:
            return None
        if not isinstance(self.direct, ClickModel):
            raise ValueError(
                "predictions are a click model's: regressions are fitted to the log first"
            )
        values = checks.finite(self.predictions, "predictions", 1)
        checks.same_shape(values, inputs.rewards.shape, "predictions", "the log")
        return values


Function = TypeVar("Function", bound=Callable[..., SlateEstimate])


def _takes_model_options(function: Function) -> Function:
    """Let the signature of ``function`` list the options of ``_RewardModel`` that it passes on."""
    *own, _ = inspect.signature(function).parameters.values()
    options = inspect.signature(_RewardModel).parameters.values()
    function.__signature__ = inspect.Signature([*own, *options])  # type: ignore[attr-defined]
    return function


@_takes_model_options
def doubly_robust_ips(inputs: Inputs, clip: float | None = None, **options: Any) -> SlateEstimate:
    """Return what a reward model expects, corrected by importance weights."""
    asked = _RewardModel(**options)
    inputs = asked.unfold(inputs)
    return _correct(inputs, asked, weigh_pages(inputs, "doubly robust IPS", asked.seed).clip(clip))


@_takes_model_options
def doubly_robust_pi(
    inputs: Inputs,
    clip: float | None = None,
    weights: PseudoinverseWeights | None = None,
    **options: Any,
) -> SlateEstimate:
    """Return what a reward model expects, corrected by pseudoinverse weights."""
    asked = _RewardModel(**options)
    inputs = asked.unfold(inputs)
    tables = find_tables(inputs, weights, SAMPLES, asked.seed)
    return _correct(inputs, asked, weigh_slots(inputs, tables, "doubly robust PI").clip(clip))
