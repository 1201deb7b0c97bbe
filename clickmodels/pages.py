"""Pages and their clicks: checks, outcomes, and sums over all click prefixes."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

import numpy as np
from numpy.typing import ArrayLike

from ..common import checks
from ..common.typing import Booleans, Floats, Integers
from ..data import ClickLog
from .cells import PREFIX_SLOTS, all_clicks

if TYPE_CHECKING:
    from .base import ClickModel

_PREFIX_ROWS = 1 << 14  # rows of (page, prefix) held at once: they stay in the cache

_TOLERANCE = 1e-9  # what rounding may add to a probability


class BlockArguments(TypedDict, total=False):
    """The vertical blocks of pages, as keyword arguments of models that know them.

    ``vertical`` (n,) is the type of each page's block, 0 .. T-1, and ``vertical_position`` (n,) how
    many results stand above it, 0 .. K; -1 in either is no block.
    """

    vertical: ArrayLike | None
    vertical_position: ArrayLike | None


class NotExact(ValueError):
    """An exact answer was asked of a model that cannot give one at this size."""


def row_weights(log: ClickLog) -> Floats:
    """Return how many impressions each row of a log stands for, (n,)."""
    return np.ones(len(log)) if log.weight is None else log.weight


def check_pages(
    model: ClickModel, query: ArrayLike, ranking: ArrayLike
) -> tuple[Integers, Integers]:
    """Return ``query`` and ``ranking`` as int64 after checking every index."""
    query_array = checks.integers(query, "query", 1).astype(np.int64, copy=False)
    ranking_array = checks.integers(ranking, "ranking", 2).astype(np.int64, copy=False)
    if len(ranking_array) != len(query_array):
        raise ValueError(f"ranking has {len(ranking_array)} rows, but query has {len(query_array)}")
    checks.rankings(ranking_array, query_array, *model.shape)
    slots = ranking_array.shape[1]
    if slots == 0:
        raise ValueError("ranking must have at least one slot")
    if model.max_slots is not None and slots > model.max_slots:
        raise ValueError(
            f"ranking has {slots} slots, but this {model.name} knows {model.max_slots}"
        )
    return query_array, ranking_array


def check_clicks(ranking: Integers, clicks: ArrayLike) -> Booleans:
    """Return ``clicks`` as an array that is laid out like ``ranking``."""
    array = checks.booleans(clicks, "clicks", 2)
    checks.same_shape(array, ranking.shape, "clicks", "ranking")
    return array


def check_conditionals(model: ClickModel, probs: ArrayLike, shape: tuple[int, ...]) -> Floats:
    """Return what a model gave as conditional click probabilities, after checking them.

    A model may be somebody's own: its numbers are looked at before anything is derived from them.
    """
    array = np.asarray(probs)
    if array.shape != shape:
        raise ValueError(
            f"conditional_click_probs() of {model.name} gave an array of shape {array.shape}, "
            f"but the pages have {shape}"
        )
    inside = array.size == 0 or (array.min() >= -_TOLERANCE and array.max() <= 1.0 + _TOLERANCE)
    if not inside:  # also true of NaN
        wrong = array[~((array >= -_TOLERANCE) & (array <= 1.0 + _TOLERANCE))]
        raise ValueError(
            f"conditional_click_probs() of {model.name} gave {wrong[0]}, which is no probability"
        )
    return array


def log_of_outcomes(probs: Floats, clicks: Booleans) -> Floats:
    """Return log P(what happened) slot by slot; -inf where it could not happen."""
    with np.errstate(divide="ignore"):
        return np.where(clicks, np.log(probs), np.log1p(-probs))


def zero_after_impossible(probs: Floats, clicks: Booleans) -> Floats:
    """Set conditionals (n, K) to 0 in every slot after an outcome that could not happen."""
    impossible = np.where(clicks, probs <= 0.0, probs >= 1.0)
    if impossible.any():
        after = np.logical_or.accumulate(impossible, axis=1)
        probs[:, 1:][after[:, :-1]] = 0.0
    return probs


def sum_over_prefixes(model: ClickModel, query: Integers, ranking: Integers) -> Floats:
    """Return P(C_k = 1) of pages, (n, K), from the conditionals of all 2^(K-1) click prefixes.

    Pages are worked on in chunks. More than ``PREFIX_SLOTS`` slots are too many: ``NotExact``.
    """
    slots = ranking.shape[1]
    if slots > PREFIX_SLOTS:
        raise NotExact(
            f"{type(model).__name__} enumerates click prefixes up to {PREFIX_SLOTS} slots, not "
            f"{slots}; estimate_click_probs samples instead"
        )
    prefixes = all_clicks(slots - 1)
    prefixes = np.column_stack([prefixes, np.zeros(len(prefixes), dtype=bool)])
    result = np.empty(ranking.shape)
    chunk = max(_PREFIX_ROWS // len(prefixes), 1)
    for start in range(0, len(query), chunk):
        part = slice(start, start + chunk)
        pages = np.repeat(ranking[part], len(prefixes), axis=0)
        clicks = np.tile(prefixes, (len(pages) // len(prefixes), 1)) & (pages >= 0)
        probs = model.conditional_click_probs(np.repeat(query[part], len(prefixes)), pages, clicks)
        probs = check_conditionals(model, probs, pages.shape).reshape(-1, len(prefixes), slots)
        weight = np.ones(probs.shape[:2])
        for slot in range(slots - 1):
            weight *= np.abs(probs[:, :, slot] - ~prefixes[:, slot])  # P(what the prefix says)
        result[part] = np.einsum("np,npk->nk", weight, probs)
    return result
