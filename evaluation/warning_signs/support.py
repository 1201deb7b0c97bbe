"""How much of what a policy shows the log has hardly shown, or never."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from ...common import checks
from ...common.typing import Booleans, Floats
from ...data import ClickLog, World
from ...policies import Policy
from ..logs.description import RARE
from ..logs.pairs import LoggedPairs, count_pairs
from ..values import SAMPLES
from .shown import ShownDocuments, documents_shown
from .sign import SignReport, percent

MOST_UNSUPPORTED = 0.05  # of what is shown: as much as a page of ten has in every other page


@dataclass(frozen=True)
class Support(SignReport):
    """Shares of what a policy shows: by slot, document and query, as often as it shows them.

    Attributes
    ----------
    never, hardly : float
        The share that the log never showed for the same query, in any slot; and the share that it
        showed fewer than ``at_least`` times, those never shown included.
    not_there : float
        The share that it never showed in the same slot: what estimators that weight slots cannot
        know.
    by_slot_never, by_slot_hardly, by_slot_not_there : (K,)
        The same of each slot; NaN for a slot that is always empty.
    queries_never : float
        The share of traffic of queries that the log has no impression of.
    at_least : int
    exact : bool
        Whether the policy's probabilities were used, or drawn pages.
    per_query : (Q,)
        ``hardly`` of each query; NaN for one that is not asked.
    """

    sign: ClassVar[str] = "support"
    never: float
    hardly: float
    not_there: float
    by_slot_never: Floats
    by_slot_hardly: Floats
    by_slot_not_there: Floats
    queries_never: float
    at_least: int
    exact: bool
    per_query: Floats = field(repr=False)

    @property
    def warning(self) -> str | None:
        """Speaks where more than 5% of what is shown was hardly shown by the log."""
        if self.hardly <= MOST_UNSUPPORTED:
            return None
        return (
            f"{percent(self.hardly)} of what the policy shows was shown fewer than "
            f"{self.at_least} times in the log ({percent(self.never)} never): for these documents "
            "a model has little but its prior. Keep the policy to documents that the log showed, "
            "use a pessimistic promise, or show them in a test first."
        )


def support(
    policy: Policy,
    log: ClickLog,
    world: World,
    hardly: int = RARE,
    samples: int = SAMPLES,
    seed: int = 0,
    *,
    pairs: LoggedPairs | None = None,
    shown: ShownDocuments | None = None,
) -> Support:
    """Return how much of what ``policy`` shows ``log`` hardly showed.

    Parameters
    ----------
    policy : Policy
        Queries count by their frequency in ``world``.
    hardly : int
        Fewer impressions than this are hardly any.
    samples, seed : int
        For stochastic policies whose probabilities are not known (see ``documents_shown``).
    pairs, shown : LoggedPairs and ShownDocuments, optional
        ``count_pairs(log, world)`` and ``documents_shown(policy, world, samples, seed)``, where
        they are known.
    """
    least = checks.positive_integer(hardly, "hardly")
    samples = checks.positive_integer(samples, "samples", 2)
    log.check_world(world)
    shown = documents_shown(policy, world, samples, seed) if shown is None else shown
    pairs = count_pairs(log, world) if pairs is None else pairs
    probs = world.query_probs
    mass = shown.chance * probs[shown.query]
    times = pairs.count(shown.query, shown.document)
    there = pairs.count_in_slot(shown.query, shown.document, shown.slot)
    total = np.bincount(shown.slot, mass, shown.slots)
    if not total.sum() > 0:
        raise ValueError("the policy shows nothing: all its pages are empty")

    def shares(missing: Booleans) -> tuple[float, Floats]:
        amount = np.bincount(shown.slot, mass * missing, shown.slots)
        with np.errstate(invalid="ignore"):
            return float(amount.sum() / total.sum()), np.minimum(amount / total, 1.0)

    never, by_slot_never = shares(times == 0)
    rare, by_slot_rare = shares(times < least)
    not_there, by_slot_not_there = shares(there == 0)
    by_query = np.bincount(shown.query, shown.chance * (times < least), len(probs))
    with np.errstate(invalid="ignore"):
        per_query = by_query / np.bincount(shown.query, shown.chance, len(probs))
    unseen = float(probs[pairs.impressions == 0].sum())
    return Support(
        never, rare, not_there, by_slot_never, by_slot_rare, by_slot_not_there, unseen, least,
        shown.exact, per_query,
    )  # fmt: skip
