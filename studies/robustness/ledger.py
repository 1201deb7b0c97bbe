"""The ledger of claims: what the robustness paper found, tested on the rows at hand."""

from __future__ import annotations

from collections.abc import Sequence

from ..claims import Claim
from ..engine.rows import Row
from .policy_claims import max_reward_gains, max_reward_in_vain, simple_gains
from .prediction_claims import (
    collapse,
    dbn_matched_and_mismatched,
    naive_at_ndcg,
    nothing_predicts,
    robust_three,
    simple_predicts_robustly,
)

RULES = (
    "A claim holds when all its findings hold, and does not hold when one does not. Differences "
    "are taken within a seed; [low, high] is the 95% Student-t interval over seeds, of a mean rank "
    "correlation the 95% bootstrap interval over training logs. A finding holds when its interval "
    "lies wholly on the claimed side, does not hold when it lies wholly on the other side, and is "
    "undecided otherwise. A finding on every log needs the intervals of all of them, and fails by "
    "one on the other side at a level of 5% divided by their number; one on some log is the "
    "opposite of that. Nothing is corrected across findings. nPPL is equation 16 among the "
    "paper's six click models; its rise is out of minus in distribution, lower is more robust."
)


def ledger(rows: Sequence[Row]) -> list[Claim]:
    """Return the paper's eight claims with their findings on ``rows``."""
    simple = Claim(
        "Simpler models are the more robust", "sections 6.3 and 7",
        (simple_predicts_robustly(rows), simple_gains(rows)),
    )  # fmt: skip
    return [
        naive_at_ndcg(rows),
        collapse(rows),
        nothing_predicts(rows),
        dbn_matched_and_mismatched(rows),
        robust_three(rows),
        max_reward_gains(rows),
        max_reward_in_vain(rows),
        simple,
    ]
