"""What a click model says about the outcomes in a log: its predictions, checked, and their loss."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ...clickmodels import ClickModel
from ...clickmodels.base import CONDITIONAL, GENERATIVE, log_of_outcomes
from ...data import ClickLog

CHUNK = 1 << 16  # rows of a log that a model is asked about at once
TOLERANCE = 1e-9  # how far rounding may push a probability out of [0, 1]

Chunks = Iterator[tuple[slice, NDArray[np.float64]]]


class ImpossibleOutcome(UserWarning):
    """A log holds something that a model gives probability zero, so its loss is infinite."""


def weights(log: ClickLog) -> NDArray[np.float64]:
    """Return how many impressions each row stands for, (n,)."""
    return np.ones(len(log)) if log.weight is None else log.weight


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
    return _predictions(model, log, conditional)


def _predictions(model: ClickModel, log: ClickLog, conditional: bool) -> Chunks:
    for start in range(0, len(log), CHUNK):
        rows = slice(start, min(start + CHUNK, len(log)))
        query, ranking = log.query[rows], log.ranking[rows]
        if conditional:
            probs = model.conditional_click_probs(query, ranking, log.clicks[rows])
        else:
            probs = model.click_probs(query, ranking)
        yield rows, _checked(probs, ranking.shape, model.name, start)


def _checked(
    probs: NDArray[np.float64], shape: tuple[int, ...], name: str, start: int
) -> NDArray[np.float64]:
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
    """Return -log2 P(what happened) slot by slot, a chunk of rows at a time.

    Yields
    ------
    rows : slice
    loss : (m, K) float64
        inf where the model called impossible what happened; 0 in empty slots and in rows of
        weight 0, which do not count. Once everything was asked for, what was impossible is warned
        about.
    """
    return _losses(predictions(model, log, conditional), model, log)


def _losses(chunks: Chunks, model: ClickModel, log: ClickLog) -> Chunks:
    asked = weights(log) > 0
    impossible = outcomes = 0
    for rows, probs in chunks:
        counted = (log.ranking[rows] >= 0) & asked[rows, None]
        loss = log_of_outcomes(probs, log.clicks[rows]) / -np.log(2.0)
        loss[~counted] = 0.0
        impossible += int(np.isinf(loss).sum())
        outcomes += int(counted.sum())
        yield rows, loss
    warn_impossible(model, impossible, outcomes, "outcomes", stacklevel=4)


def warn_impossible(
    model: ClickModel, impossible: int, total: int, what: str, stacklevel: int
) -> None:
    """Warn that ``impossible`` of ``total`` things in a log have probability zero, if any."""
    if impossible:
        warnings.warn(
            f"{model.name} gives probability 0 to {impossible} of the {total} {what} in the log: "
            "its loss is infinite",
            ImpossibleOutcome,
            stacklevel=stacklevel,
        )
