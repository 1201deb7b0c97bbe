"""How well a click model predicts clicks: its probabilities, their loss, perplexity, likelihood."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike

from ...clickmodels import ClickModel
from ...clickmodels.base import CONDITIONAL, GENERATIVE
from ...clickmodels.pages import log_of_outcomes
from ...common.runtime import warn_caller
from ...common.typing import Floats
from ...data import ClickLog

CHUNK = 1 << 16  # rows of a log that a model is asked about at once
TOLERANCE = 1e-9  # how far rounding may push a probability out of [0, 1]
OFFSET = 0.2  # equation 16: where the best model stands in a spider chart

Chunks = Iterator[tuple[slice, Floats]]


class ImpossibleOutcome(UserWarning):
    """A log holds something that a model gives probability zero, so its loss is infinite."""


def check_judgeable(model: ClickModel, log: ClickLog, capability: str) -> None:
    """Raise unless ``model`` can do what is asked and ``log`` is its world's and not empty."""
    model.require(capability)
    if None not in (model.fingerprint, log.fingerprint) and model.fingerprint != log.fingerprint:
        raise ValueError(
            f"the click model {model.name} and the log belong to different worlds: their "
            f"fingerprints are {model.fingerprint:.12}… and {log.fingerprint:.12}…"
        )
    if not log.impressions > 0:
        raise ValueError("the log has no impressions to judge a model by")


def predictions(model: ClickModel, log: ClickLog, conditional: bool = True) -> Chunks:
    """Ask the model for the click probabilities of every slot, a chunk of rows at a time.

    Parameters
    ----------
    conditional : bool
        P(C_k = 1 | c_1 .. c_{k-1}); otherwise P(C_k = 1) with clicks unseen.

    Yields
    ------
    rows : slice
    probs : (m, K) float64
        Within [0, 1]. Anything that is not a probability is an error.
    """
    check_judgeable(model, log, CONDITIONAL if conditional else GENERATIVE)
    for start in range(0, len(log), CHUNK):
        rows = slice(start, min(start + CHUNK, len(log)))
        query, ranking = log.query[rows], log.ranking[rows]
        blocks = model.vertical_arguments(*log.blocks(rows))
        if conditional:
            probs = model.conditional_click_probs(query, ranking, log.clicks[rows], **blocks)
        else:
            probs = model.click_probs(query, ranking, **blocks)
        yield rows, _check_probs(probs, ranking.shape, model.name, start)


def _check_probs(probs: Floats, shape: tuple[int, ...], name: str, start: int) -> Floats:
    """Return probabilities without what rounding added; ``start`` is the row of the first."""
    probs = np.asarray(probs, dtype=np.float64)
    if probs.shape != shape:
        raise ValueError(f"{name} gave probabilities of shape {probs.shape}, not {shape}")
    wrong = ~((probs >= -TOLERANCE) & (probs <= 1.0 + TOLERANCE))  # also true of NaN
    if wrong.any():
        row, slot = np.argwhere(wrong)[0]
        raise ValueError(
            f"{name} gave {probs[row, slot]} as the click probability of row {start + row}, "
            f"slot {slot}: not a probability"
        )
    return np.clip(probs, 0.0, 1.0)


def losses(model: ClickModel, log: ClickLog, conditional: bool = True) -> Chunks:
    """Give -log2 P(what happened) of every slot, a chunk of rows at a time.

    Yields
    ------
    rows : slice
    loss : (m, K) float64
        inf where the model called impossible what happened; 0 in empty slots and in rows of
        weight 0, which do not count. After the last chunk a warning counts the impossible ones.
    """
    asked = log.counts > 0
    impossible = outcomes = 0
    for rows, probs in predictions(model, log, conditional):
        counted = (log.ranking[rows] >= 0) & asked[rows, None]
        loss = log_of_outcomes(probs, log.clicks[rows]) / -np.log(2.0)
        loss[~counted] = 0.0
        impossible += int(np.isinf(loss).sum())
        outcomes += int(counted.sum())
        yield rows, loss
    _warn_impossible(model, impossible, outcomes, "outcomes")


def _warn_impossible(model: ClickModel, impossible: int, total: int, what: str) -> None:
    """Warn that ``impossible`` of ``total`` things in a log have probability zero, if any."""
    if impossible:
        warn_caller(
            f"{model.name} gives probability 0 to {impossible} of the {total} {what} in the log: "
            "its loss is infinite",
            ImpossibleOutcome,
        )


class Perplexity(NamedTuple):
    """Perplexity of each rank and on average; 1 is perfect, 2 is a coin.

    Attributes
    ----------
    per_rank : (K,) float64
        NaN for a rank that no page of the log has.
    mean : float
        Over the ranks that have pages, each counted once.
    """

    per_rank: Floats
    mean: float


def perplexity(model: ClickModel, log: ClickLog, conditional: bool = True) -> Perplexity:
    """Return the perplexity of ``model`` on ``log``, per rank and on average.

    Parameters
    ----------
    conditional : bool
        Predict each click from the clicks above it, P(C_k | c_1 .. c_{k-1}), as the papers do.
        Otherwise with clicks unseen, P(C_k), for which the model must be generative.

    Notes
    -----
    ``2 ** -mean(c log2 p + (1 - c) log2(1 - p))`` over the pages that have the rank, by weight
    (equation 1 of Deffayet et al. lacks the minus sign). When the model gave probability zero to
    something that happened the perplexity is inf, and an ``ImpossibleOutcome`` warning says how
    often. Costs one call of the model for each chunk of rows; memory does not grow with the log.
    """
    weight = log.counts
    total = np.zeros(log.slots)
    pages = np.zeros(log.slots)
    for rows, loss in losses(model, log, conditional):
        # No BLAS here: 0 * inf would be NaN, so rows without weight have no loss at all.
        total += (weight[rows, None] * loss).sum(axis=0)
        pages += (weight[rows, None] * (log.ranking[rows] >= 0)).sum(axis=0)
    per_rank, mean = perplexity_of_totals(total, pages)
    return Perplexity(per_rank, float(mean))


def perplexity_of_totals(total: Floats, pages: Floats) -> tuple[Floats, Floats]:
    """Return perplexities of losses in bits summed by rank, (..., K), over ``pages`` (..., K).

    Returns
    -------
    per_rank : (..., K)
    mean : (...)
    """
    some = pages > 0
    if not some.any(axis=-1).all():
        raise ValueError("every page of the log is empty: there is nothing to predict")
    mean_loss = np.divide(total, pages, out=np.full(total.shape, np.nan), where=some)
    with np.errstate(over="ignore"):
        per_rank = np.exp2(mean_loss)
    return per_rank, np.where(some, per_rank, 0.0).sum(axis=-1) / some.sum(axis=-1)


def log_likelihood(model: ClickModel, log: ClickLog) -> float:
    """Return the mean of log P(clicks | query, ranking) over impressions, in nats.

    -inf, with an ``ImpossibleOutcome`` warning, when the model calls a page of the log impossible.
    """
    check_judgeable(model, log, GENERATIVE)
    weight = log.counts
    total = 0.0
    impossible = 0
    for start in range(0, len(log), CHUNK):
        rows = slice(start, start + CHUNK)
        asked = np.flatnonzero(weight[rows] > 0) + start
        if not len(asked):
            continue
        pages = log.query[asked], log.ranking[asked], log.clicks[asked]
        blocks = model.vertical_arguments(*log.blocks(asked))
        value = np.asarray(model.log_likelihood(*pages, **blocks))
        wrong = ~(value <= TOLERANCE * log.slots)  # also true of NaN
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            raise ValueError(
                f"{model.name} gave {value[row]} as the log-likelihood of row {asked[row]}"
            )
        impossible += int(np.isneginf(value).sum())
        total += float((weight[asked] * value).sum())
    _warn_impossible(model, impossible, int((weight > 0).sum()), "pages")
    return total / log.impressions


@overload
def normalised_perplexity(perplexities: Mapping[str, ArrayLike]) -> dict[str, Any]: ...


@overload
def normalised_perplexity(perplexities: ArrayLike) -> Floats: ...


def normalised_perplexity(
    perplexities: Mapping[str, ArrayLike] | ArrayLike,
) -> dict[str, Any] | Floats:
    """Return equation 16 of Deffayet et al.: 0.2 for the best model, 0.2 + log 2 for the worst.

    Parameters
    ----------
    perplexities : (..., models) floats, or a dict with a number or array (...) for each model
        Models are compared with each other, along the last axis; the other axes (seeds, test
        policies) stay apart.

    Returns
    -------
    The same shape, or a dict with the same keys and shapes.

    Notes
    -----
    ``0.2 + log(1 + (x - min) / (max - min))``, natural logarithm. Where all models are equal, all
    get 0.2. An infinite perplexity takes the limit: it gets 0.2 + log 2, every finite one 0.2.
    """
    if isinstance(perplexities, Mapping):
        names = list(perplexities)
        columns = [np.asarray(perplexities[name], dtype=np.float64) for name in names]
        if len({column.shape for column in columns}) > 1:
            raise ValueError("perplexities has arrays of different shapes for different models")
        result = _normalise(np.stack(columns, axis=-1) if columns else np.zeros(0))
        return {name: result[..., column][()] for column, name in enumerate(names)}
    return _normalise(np.asarray(perplexities, dtype=np.float64))


def _normalise(values: Floats) -> Floats:
    if values.ndim == 0 or values.shape[-1] == 0:
        raise ValueError("perplexities must have at least one model along its last axis")
    if np.isnan(values).any():
        raise ValueError("perplexities has a NaN")
    low = values.min(axis=-1, keepdims=True)
    high = values.max(axis=-1, keepdims=True)
    spread = np.broadcast_to(high > low, values.shape)
    share = np.where(spread & (values == high), 1.0, 0.0)
    between = spread & np.isfinite(high) & (values > low) & (values < high)
    with np.errstate(invalid="ignore"):  # inf - inf, which is not used
        np.divide(values - low, high - low, out=share, where=between)
    return OFFSET + np.log1p(share)
