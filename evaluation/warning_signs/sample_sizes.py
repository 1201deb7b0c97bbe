"""How many impressions of a policy itself a log is worth, by the weights of its estimators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...common import checks
from ...common.typing import Floats
from ...data import ClickLog, World
from ...policies import Policy
from ..logs.pairs import LoggedPairs, count_pairs
from ..offpolicy.importance import importance_weights
from ..offpolicy.inputs import check_policy
from ..offpolicy.pseudoinverse_weights import PseudoinverseWeights
from ..offpolicy.slate_estimates import ENOUGH, summarise_weights
from ..values import SAMPLES
from .shown import ShownDocuments, documents_shown
from .sign import SignReport, percent
from .support import MOST_UNSUPPORTED


@dataclass(frozen=True)
class SampleSizes(SignReport):
    """Effective sample sizes (Σ w)² / Σ w² of the log's impressions.

    Attributes
    ----------
    impressions : float
        Of the log.
    page : float or None
        By importance weights π/μ of whole pages (IPS); None where there are none.
    no_page : str
        Why not; empty where ``page`` is known.
    by_slot : (K,)
        By weights P_π(slot shows d) / P_μ(slot shows d) of the document in each slot.
    slots : float
        The smallest of them: a slot-wise estimate rests on all slots.
    covered : float
        The share of what the policy shows, by slot and document, that the log showed there: the
        mean slot-wise weight but for chance. What is not covered has no weight at all, and a
        sample size says nothing of it.
    propensities : str
        Where P_μ comes from: "logging policy", or "shares in the log".
    pseudoinverse : float or None
        By the pseudoinverse estimator's weights, where they were given.
    """

    sign: ClassVar[str] = "effective sample size"
    impressions: float
    page: float | None
    no_page: str
    by_slot: Floats
    slots: float
    covered: float
    propensities: str
    pseudoinverse: float | None

    @property
    def warning(self) -> str | None:
        """Speaks below 100 effective impressions, and where 5% were never logged in their slot."""
        if self.slots < ENOUGH:
            return (
                f"For this policy the log is worth {self.slots:.3g} impressions by slot and "
                f"document, fewer than {ENOUGH}: no estimate by weights can be trusted, and only "
                "a model's promise is left. Test the policy on a share of the traffic."
            )
        if self.page is not None and self.page < ENOUGH:
            return (
                f"For this policy the log is worth {self.page:.3g} impressions by whole pages, "
                f"fewer than {ENOUGH}: do not trust IPS or DR by pages. By slot and document it is "
                f"worth {self.slots:.3g}, which PI can use. {self._blind_spot()}".rstrip()
            )
        return self._blind_spot() or None

    def _blind_spot(self) -> str:
        """Say how much no weight reaches, where that is much."""
        if self.covered >= 1.0 - MOST_UNSUPPORTED:
            return ""
        return (
            f"{percent(1.0 - self.covered)} of what the policy shows was never logged in its slot: "
            "estimates by weights leave it out, and are too low or too high by whatever it earns."
        )


def sample_sizes(
    policy: Policy,
    log: ClickLog,
    world: World,
    logging: Policy | None = None,
    weights: PseudoinverseWeights | None = None,
    samples: int = SAMPLES,
    seed: int = 0,
    *,
    pairs: LoggedPairs | None = None,
    shown: ShownDocuments | None = None,
) -> SampleSizes:
    """Return how many impressions of ``policy`` itself ``log`` is worth.

    Parameters
    ----------
    logging : Policy, optional
        Who made the log. Page weights need it where the log has no propensities. Without it, or
        where its probabilities by slot would have to be sampled, slot-wise weights take each
        query's shares in the log.
    weights : PseudoinverseWeights, optional
        Of these policies, for ``pseudoinverse``.
    samples, seed : int
        For policies whose probabilities by slot are not known (see ``documents_shown``).
    pairs, shown : LoggedPairs and ShownDocuments, optional
        ``count_pairs(log, world)`` and ``documents_shown(policy, world, samples, seed)``, where
        they are known.
    """
    samples = checks.positive_integer(samples, "samples", 2)
    log.check_world(world)
    if not log.impressions > 0:
        raise ValueError("the log has no impressions to weight")
    check_policy("policy", policy, log, world)
    if logging is not None:
        check_policy("logging", logging, log, world)
    pairs = count_pairs(log, world) if pairs is None else pairs
    shown = documents_shown(policy, world, samples, seed) if shown is None else shown
    wanted, covered = _chances(shown, pairs, world)
    known = None if logging is None else documents_shown(logging, world, samples, seed + 1)
    if known is None or not known.exact:
        propensities = "shares in the log"
        logged = pairs.by_slot / pairs.impressions[pairs.query][:, None]
    else:
        propensities = "logging policy"
        logged, _ = _chances(known, pairs, world)
        _check_shown(logged, pairs)
    there = pairs.by_slot > 0
    ratio = np.divide(wanted, logged, out=np.zeros_like(wanted), where=there)
    by_slot = _effective_size(ratio, pairs.by_slot)
    filled = np.bincount(shown.slot, shown.chance, shown.slots) > 0
    page, no_page = _page_size(policy, log, world, logging)
    pseudoinverse = None
    if weights is not None:
        if weights.target is not policy:
            raise ValueError("weights were made for another target policy than this very one")
        summary = summarise_weights(weights.of(log.query, log.ranking), log.counts)
        pseudoinverse = float(summary["effective_sample_size"])
    return SampleSizes(
        log.impressions, page, no_page, by_slot, float(by_slot[filled].min(initial=np.inf)),
        covered, propensities, pseudoinverse,
    )  # fmt: skip


def _chances(
    shown: ShownDocuments, pairs: LoggedPairs, world: World
) -> tuple[Floats, float]:
    """Return P(slot shows the document | query) of the logged pairs, (p, K), and how much it is.

    The latter is the share of all that is shown that the log showed in its slot.
    """
    slots = pairs.by_slot.shape[1]
    place = pairs.find(shown.query, shown.document)
    there = place >= 0
    key = place[there] * slots + shown.slot[there]
    flat: Floats = np.bincount(key, shown.chance[there], pairs.by_slot.size).astype(np.float64)
    table = flat.reshape(pairs.by_slot.shape)
    by_query = world.query_probs[pairs.query][:, None]
    total = shown.chance @ world.query_probs[shown.query]
    covered = (table * by_query)[pairs.by_slot > 0].sum()
    return table, float(min(covered / total, 1.0)) if total > 0 else 0.0


def _check_shown(logged: Floats, pairs: LoggedPairs) -> None:
    """Raise where the log shows what its policy never does."""
    wrong = (pairs.by_slot > 0) & ~(logged > 0)
    if wrong.any():
        row, slot = np.argwhere(wrong)[0]
        raise ValueError(
            f"the log shows document {pairs.document[row]} of query {pairs.query[row]} in slot "
            f"{slot}, which the logging policy never does"
        )


def _effective_size(weights: Floats, counts: Floats) -> Floats:
    """Return (Σ n w)² / Σ n w² down each column, (K,); 0 where there is no weight."""
    squares = (counts * weights**2).sum(axis=0)
    total = (counts * weights).sum(axis=0)
    return np.divide(total**2, squares, out=np.zeros_like(total), where=squares > 0)


def _page_size(
    policy: Policy, log: ClickLog, world: World, logging: Policy | None
) -> tuple[float | None, str]:
    """Return the effective sample size by whole pages, or None and why there is none."""
    try:
        weights = importance_weights(log, policy, logging, world)
    except ValueError as error:
        return None, str(error)
    return float(summarise_weights(weights, log.counts)["effective_sample_size"]), ""
