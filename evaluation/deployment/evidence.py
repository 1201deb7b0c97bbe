"""What a log and its witnesses say about a policy: promises, and how far it leaves the log."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...common.typing import Floats, Integers
from ...policies import Policy
from ..logs.description import RARE
from ..logs.pairs import LoggedPairs
from ..values import ShownPages, shown_pages
from ..warning_signs.members import SAMPLES
from .promises import Promise, hardly_shown
from .witnesses import Witnesses

Numbers = dict[str, float]


@dataclass(frozen=True, eq=False)
class Evidence:
    """What is known of a policy before it is deployed.

    Attributes
    ----------
    pages : ShownPages
        What the policy shows.
    promises : tuple of Promise
        Of the witnesses.
    numbers : dict of float
        What the predicted interval is made from, without a unit. Of each witness: by what share
        it expects more of the policy's pages than of the logged ones (``promise``, ``cautious``,
        ``pessimistic``), the share of promised clicks on documents that the log hardly showed
        (``unsupported``), and how badly it predicts the log (``misplaced`` clicks, ``untrusted``
        differences between pages, ``unlikely``, the nats per page by which another witness is
        better). Then shares of what the policy shows that the log ``hardly`` or ``never`` showed
        or never in that slot (``not_there``); how much exposure ``moved`` to other documents, and
        to other documents or slots (``reordered``), both 0 for the log's own policy and at most
        1; ``noise``, the standard error of the log's mean clicks as a share of it; ``scarcity``,
        1 / √(impressions per query).
    """

    pages: ShownPages
    promises: tuple[Promise, ...]
    numbers: Numbers


def gather(policy: Policy, witnesses: Witnesses, seed: int = 0) -> Evidence:
    """Return the evidence about a policy; pages of a stochastic one are drawn by ``seed``."""
    world, pairs = witnesses.world, witnesses.pairs
    pages = shown_pages(policy, world, SAMPLES, seed, most=SAMPLES)
    if not (pages.ranking >= 0).any():
        raise ValueError("the policy shows nothing: all its pages are empty")
    rare = hardly_shown(pages, pairs)
    numbers = _moves(pages, pairs, world.query_probs)
    numbers["noise"] = witnesses.earned.stderr / witnesses.earned.value
    asked = int((world.query_probs > 0).sum())
    numbers["scarcity"] = float(np.sqrt(asked / witnesses.log.impressions))
    promises, likeliest = [], max(witnesses.likelihoods.values())
    for one in witnesses.promisers:
        found = one.promise(pages, rare)
        promises.append(found)
        known = one.model.uncertainty
        assert known is not None
        assert known.level is not None
        assert found.cautious is not None
        assert found.pessimistic is not None
        level = float(world.query_probs @ known.level)
        calibration = witnesses.calibrations[one.name]
        numbers |= {
            f"promise {one.name}": _gain(found.promised, level),
            f"cautious {one.name}": _gain(found.cautious, level),
            f"pessimistic {one.name}": _gain(found.pessimistic, level),
            f"unsupported {one.name}": found.hardly,
            f"misplaced {one.name}": float(np.nan_to_num(calibration.misplaced_after)),
            f"untrusted {one.name}": 1.0 - known.numbers["trust"],
            f"unlikely {one.name}": likeliest - witnesses.likelihoods[one.name],
        }
    return Evidence(pages, tuple(promises), numbers)


def _gain(value: float, level: float) -> float:
    """Return by what share a value is above the level; of a negative value -1."""
    return max(value / level, 0.0) - 1.0


def _moves(pages: ShownPages, pairs: LoggedPairs, query_probs: Floats) -> Numbers:
    """Return how far a policy's pages leave the log's, as shares of what it shows."""
    there = pages.ranking >= 0
    row, slot = np.nonzero(there)
    query, document = pages.query[row], pages.ranking[row, slot]
    mass = pages.weight[row]
    times = pairs.count(query, document)
    in_slot = pairs.count_in_slot(query, document, slot)
    total = float(mass.sum())
    logged = query_probs[pairs.query] / np.maximum(pairs.impressions[pairs.query], 1e-300)
    by_slot = pairs.by_slot * logged[:, None]

    def moved(key: Integers, logged_key: Integers, amount: Floats) -> float:
        """Return the share that is shown elsewhere than in the log."""
        places, place = np.unique(np.concatenate([key, logged_key]), return_inverse=True)
        own = np.bincount(place[: len(key)], mass, len(places))
        before = np.bincount(place[len(key) :], amount, len(places))
        both = float(np.minimum(own, before).sum())
        return max(1.0 - both / max(total, float(before.sum())), 0.0)

    width = int(max(document.max(initial=0), pairs.document.max(initial=0))) + 1
    slots = max(int(slot.max(initial=0)) + 1, by_slot.shape[1])
    pair, pair_logged = query * width + document, pairs.query * width + pairs.document
    cells = (pair_logged[:, None] * slots + np.arange(by_slot.shape[1])).reshape(-1)
    return {
        "hardly": float(mass @ (times < RARE)) / total,
        "never": float(mass @ (times == 0)) / total,
        "not_there": float(mass @ (in_slot == 0)) / total,
        "moved": moved(pair, pair_logged, by_slot.sum(axis=1)),
        "reordered": moved(pair * slots + slot, cells, by_slot.reshape(-1)),
    }
