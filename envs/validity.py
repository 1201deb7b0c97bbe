"""Finding, refusing and repairing rankings that repeat a document or show a non-candidate."""

from __future__ import annotations

import numpy as np

from ..common.typing import Booleans, Integers


def wrong_slots(ranking: Integers, candidates: Booleans, length: Integers) -> Booleans:
    """Return (n, K) bool: which slots repeat an earlier document or show a non-candidate.

    Slots from a page's ``length`` (n,) on are not looked at. ``candidates`` is (n, N).
    """
    slots = ranking.shape[1]
    used = np.arange(slots) < length[:, None]
    order = np.argsort(np.where(used, ranking, candidates.shape[1]), axis=1, kind="stable")
    ordered = np.take_along_axis(ranking, order, axis=1)
    repeats = np.zeros(ranking.shape, dtype=bool)
    repeats[:, 1:] = ordered[:, 1:] == ordered[:, :-1]
    wrong = np.zeros(ranking.shape, dtype=bool)
    np.put_along_axis(wrong, order, repeats, axis=1)
    wrong |= ~np.take_along_axis(candidates, ranking, axis=1)
    return wrong & used


def next_unused(document: Integers, free: Booleans) -> Integers:
    """Return each row's document if it is free, else the next free one in index order, cyclic.

    ``document`` (n,), ``free`` (n, N) with at least one free document per row.
    """
    n_docs = free.shape[1]
    distance = (np.arange(n_docs) - document[:, None]) % n_docs
    return np.where(free, distance, n_docs).argmin(axis=1)


def repair(ranking: Integers, candidates: Booleans, length: Integers) -> tuple[Integers, Booleans]:
    """Return valid rankings (n, K), empty from ``length`` on, and which rows were changed (n,).

    From the top, a document that is used already or no candidate is replaced by the next unused
    candidate in index order. Costs O(n N) per slot, for the rows that need it.
    """
    result = ranking.copy()
    changed = np.asarray(wrong_slots(ranking, candidates, length).any(axis=1))
    rows = np.flatnonzero(changed)
    if len(rows):
        free = candidates[rows].copy()
        for slot in range(ranking.shape[1]):
            on_page = slot < length[rows]
            picked = next_unused(ranking[rows, slot], free | ~on_page[:, None])
            result[rows, slot] = picked
            free[np.flatnonzero(on_page), picked[on_page]] = False
    result[np.arange(ranking.shape[1]) >= length[:, None]] = -1
    return result, changed


def make_valid(
    ranking: Integers, candidates: Booleans, length: Integers, invalid: str, place: str
) -> tuple[Integers, Booleans]:
    """Return what ``repair`` does, or with ``invalid="raise"`` refuse what it would change.

    ``place`` names a slot in the error: "actions[{row}, {slot}]".
    """
    if invalid == "repair":
        return repair(ranking, candidates, length)
    wrong = wrong_slots(ranking, candidates, length)
    if wrong.any():
        row, slot = np.argwhere(wrong)[0]
        raise ValueError(
            f"{place.format(row=row, slot=slot)} shows document {ranking[row, slot]}, which is on "
            "the page already or no candidate; invalid='repair' replaces it"
        )
    empty = np.arange(ranking.shape[1]) >= length[:, None]
    return np.where(empty, -1, ranking), np.zeros(len(ranking), dtype=bool)
