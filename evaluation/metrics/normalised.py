"""Perplexity relative to the other models of an experiment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

OFFSET = 0.2  # equation 16: where the best model stands in a spider chart


@overload
def normalised_perplexity(perplexities: Mapping[str, ArrayLike]) -> dict[str, Any]: ...


@overload
def normalised_perplexity(perplexities: ArrayLike) -> NDArray[np.float64]: ...


def normalised_perplexity(
    perplexities: Mapping[str, ArrayLike] | ArrayLike,
) -> dict[str, Any] | NDArray[np.float64]:
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
        result = _normalised(np.stack(columns, axis=-1) if columns else np.zeros(0))
        return {name: result[..., column][()] for column, name in enumerate(names)}
    return _normalised(np.asarray(perplexities, dtype=np.float64))


def _normalised(values: NDArray[np.float64]) -> NDArray[np.float64]:
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
