"""The ledger of the robustness paper: its claims, tested on rows of the protocol.

Perplexities are compared by equation 16 ("nPPL") among the paper's six click models and the one
that a finding adds, so that an average over conditions is not one over scales, and other models in
the rows change nothing. nDCG is at 3, as in Tables 3 and 4. Findings need all six models.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...common.typing import Floats
from ...evaluation.statistics import rank_correlation
from ..claims import Claim, Finding, correlated_above, every_above, some_below
from ..constants import CLICK_MODELS, LOGGINGS, NAIVE, REFERENCE
from ..engine.rows import Row, distinct
from .conditions import Condition, in_distribution, out_of_distribution, read_complete_seeds
from .relative import relative, rise

NEAR_OPTIMAL = LOGGINGS[0]
MISMATCHED = ("CoCM", "CoCM-mismatch")
STRONG_SHIFT = ("BM25", "random")  # of a near-optimal log, section 6.2
ROBUST, BRITTLE = ("PBM", "UBM", "CACM-minus"), ("ARM", "DBN", "NCM")
NDCG = "ndcg_3"
PREDICTS = 0.7  # a rank correlation that explains half of the variance of ranks
# By what a click may depend on beside its document: rank; rank and latest click; whether earlier
# documents satisfied; all earlier clicks, linearly; all of them, by a network; all of the page.
COMPLEXITY = ("PBM", "UBM", "DBN", "ARM", "CACM-minus", "NCM")
NOTHING = 1.0  # a gain, in per cent of Top-Down's clicks, that is none
BySeed = dict[str, Floats]
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


def naive_at_ndcg(rows: Sequence[Row]) -> Claim:
    """Compare the best naive baseline's nDCG with the best click model's, within a seed.

    Best in that seed, log by log: luck favours the side with more models, a little.
    """
    naive = [name for name in distinct(rows, "model") if name in NAIVE]
    values = _seeds(rows, in_distribution(rows), [*naive, *CLICK_MODELS], NDCG)
    differences: BySeed = {}
    if naive and values is not None:
        best, rival = (part.max(axis=2) for part in np.split(values, [len(naive)], axis=2))
        differences[""] = (best - rival).mean(axis=1)
    test = "nDCG@3: best naive baseline − best click model > 0, mean over users and logs"
    return Claim(
        "Naive baselines beat click models at nDCG", "section 4.2",
        (every_above(test, differences),),
    )  # fmt: skip


def collapse(rows: Sequence[Row]) -> Claim:
    """Compare dCTR and ARM-NC with the click models where the log is near-optimal."""
    findings = []
    inside = [one for one in in_distribution(rows) if one.logging == NEAR_OPTIMAL]
    strong = [one for one in out_of_distribution(rows) if _strong(one)]
    for name in ("dCTR", REFERENCE):
        models = [name, *CLICK_MODELS]
        quality = _seeds(rows, inside, models, NDCG)
        high: BySeed = {}
        if quality is not None:
            high[""] = (quality[..., 0] - quality[..., 1:].mean(axis=2)).mean(axis=1)
        test = f"nDCG@3: {name} − mean of click models > 0, ε-oracle's logs"
        findings.append(every_above(test, high))
        perplexity = _relative(rows, strong, models)
        low: BySeed = {}
        if perplexity is not None:
            low[""] = (perplexity[..., 0] - perplexity[..., 1:].max(axis=2)).mean(axis=1)
        test = f"nPPL: {name} − worst click model > 0, ε-oracle's logs, BM25 and random tests"
        findings.append(every_above(test, low))
    return Claim(
        "dCTR and ARM-NC collapse out of distribution in spite of high nDCG", "section 6.1",
        tuple(findings),
    )  # fmt: skip


def nothing_predicts(rows: Sequence[Row]) -> Claim:
    """Correlate what can be observed with out-of-distribution perplexity, over six models.

    Within a condition, between means over seeds; the sign is such that +1 predicts perfectly.
    """
    findings = []
    for name, field, sign in (("ind PPL", "perplexity", 1.0), ("nDCG@3", NDCG, -1.0)):
        test = f"rank correlation of {name} with ood PPL < {PREDICTS}"
        correlations: dict[str, list[float]] = {}
        for one in out_of_distribution(rows):
            seen = _seeds(rows, [one], CLICK_MODELS, field)
            wanted = _seeds(rows, [one], CLICK_MODELS)
            if seen is not None and wanted is not None:
                found = rank_correlation(sign * seen.mean(axis=(0, 1)), wanted.mean(axis=(0, 1)))
                correlations.setdefault(_log(one), []).append(found)
        findings.append(correlated_above(test, correlations, PREDICTS).negate(test))
    return Claim(
        "Neither in-distribution perplexity nor nDCG predicts out-of-distribution perplexity",
        "section 6.1", tuple(findings),
    )  # fmt: skip


def dbn_matched_and_mismatched(rows: Sequence[Row]) -> Claim:
    """Compare DBN with the others on its own user, and on users that are none."""
    own = CLICK_MODELS.index("DBN")
    outside = out_of_distribution(rows)
    findings = []
    for name, axes in (("in", in_distribution(rows)), ("out of", outside)):
        perplexity = _relative(rows, [one for one in axes if one.user == "DBN"], CLICK_MODELS)
        lead: BySeed = {}
        if perplexity is not None:
            others = np.delete(perplexity, own, axis=2)
            lead[""] = (others.min(axis=2) - perplexity[..., own]).mean(axis=1)
        test = f"nPPL {name} distribution, DBN user: best other model − DBN > 0"
        findings.append(every_above(test, lead))
    mismatched = [one for one in outside if one.user in MISMATCHED]
    risen = _rise(rows, mismatched)
    test = "rise of DBN's nPPL from in to out of distribution > 0, CoCM users"
    findings.append(every_above(test, {} if risen is None else {"": risen[..., own].mean(axis=1)}))
    near = [one for one in mismatched if one.logging == NEAR_OPTIMAL]
    perplexity = _relative(rows, near, CLICK_MODELS)
    lag: BySeed = {}
    if perplexity is not None:
        others = np.delete(perplexity, own, axis=2).mean(axis=2)
        lag[""] = (perplexity[..., own] - others).mean(axis=1)
    test = "nPPL out of distribution, CoCM users, ε-oracle's logs: DBN − mean of others > 0"
    findings.append(every_above(test, lag))
    return Claim(
        "DBN is best when the user is a DBN, and brittle under mismatch", "section 6.2",
        tuple(findings),
    )  # fmt: skip


def robust_three(rows: Sequence[Row]) -> Claim:
    """Compare how much nPPL rises out of distribution: the three brittle − the three robust."""
    near = [one for one in out_of_distribution(rows) if one.logging == NEAR_OPTIMAL]
    test = "rise of nPPL, ε-oracle's logs: mean of ARM, DBN, NCM − mean of PBM, UBM, CACM⊖ > 0"
    risen = _rise(rows, near)
    if risen is None:
        finding = every_above(test, {})
    else:
        by_model = dict(zip(CLICK_MODELS, risen.mean(axis=1).T, strict=True))
        brittle, robust = (
            np.mean([by_model[name] for name in names], axis=0) for names in (BRITTLE, ROBUST)
        )
        rises = ", ".join(f"{name} {values.mean():+.3f}" for name, values in by_model.items())
        finding = every_above(test, {"": brittle - robust}).with_note(f"rises: {rises}")
    return Claim(
        "PBM, UBM and CACM⊖ are more robust than ARM, DBN and NCM under a near-optimal logging "
        "policy", "section 6.2", (finding,),
    )  # fmt: skip


def simple_predicts_robustly(rows: Sequence[Row]) -> Finding:
    """Correlate complexity with the rise of nPPL from in to out of distribution."""
    correlations: dict[str, list[float]] = {}
    for one in out_of_distribution(rows):
        risen = _rise(rows, [one])
        if risen is not None:
            means = dict(zip(CLICK_MODELS, risen.mean(axis=(0, 1)), strict=True))
            found = rank_correlation(range(len(COMPLEXITY)), [means[name] for name in COMPLEXITY])
            correlations.setdefault(_log(one), []).append(found)
    order = " < ".join(COMPLEXITY)
    test = f"rank correlation of complexity ({order}) with the rise of nPPL > 0"
    return correlated_above(test, correlations)


def _strong(condition: Condition) -> bool:
    return condition.logging == NEAR_OPTIMAL and condition.test in STRONG_SHIFT


def _log(condition: Condition) -> str:
    return f"{condition.user}, {condition.logging}"


def _seeds(
    rows: Sequence[Row], conditions: Sequence[Condition], models: Sequence[str], field: str = ""
) -> Floats | None:
    """Return values (seeds, conditions, models) of complete seeds; None without any."""
    values = read_complete_seeds(rows, conditions, models, field)[1]
    return values if values.size else None


def _relative(
    rows: Sequence[Row], conditions: Sequence[Condition], models: Sequence[str]
) -> Floats | None:
    """Return equation 16 (seeds, conditions, models) of complete seeds; None without any."""
    values = relative(rows, conditions, models)[1]
    return values if values.size else None


def _rise(rows: Sequence[Row], conditions: Sequence[Condition]) -> Floats | None:
    """Return the rise of the six models' equation 16, as above; None without any."""
    values = rise(rows, conditions, CLICK_MODELS)[1]
    return values if values.size else None


def max_reward_gains(rows: Sequence[Row]) -> Claim:
    """Test the gain of Max-Reward over Top-Down in every log of the mismatched user."""
    return Claim(
        "Max-Reward beats Top-Down for PBM and UBM on mismatch", "section 6.3",
        tuple(
            every_above(
                f"{model}'s gain by Max-Reward, % of Top-Down's clicks, > 0 in every log of "
                "CoCM-mismatch",
                _gains(rows, model, MISMATCHED[1:]),
            )
            for model in ("PBM", "UBM")
        ),
    )  # fmt: skip


def max_reward_in_vain(rows: Sequence[Row]) -> Claim:
    """Look for a log in which Max-Reward gains less than ``NOTHING`` over Top-Down."""
    return Claim(
        "NCM and CACM⊖ gain nothing or lose with Max-Reward in some configurations",
        "section 6.3",
        tuple(
            some_below(
                f"{model}'s gain by Max-Reward, % of Top-Down's clicks, < {NOTHING:g} in some log "
                "of a CoCM user",
                _gains(rows, model, MISMATCHED), NOTHING,
            )
            for model in ("NCM", "CACM-minus")
        ),
    )  # fmt: skip


def simple_gains(rows: Sequence[Row]) -> Finding:
    """Correlate complexity with the gain of Max-Reward over Top-Down on the CoCM users."""
    correlations: dict[str, list[float]] = {}
    for one in _logs(rows, MISMATCHED):
        gains = _gain(rows, one, COMPLEXITY)
        if gains.size:
            found = rank_correlation(range(len(COMPLEXITY)), -gains.mean(axis=0))
            correlations[_log(one)] = [found]
    test = "rank correlation of complexity with losing by Max-Reward > 0, CoCM users"
    return correlated_above(test, correlations)


def _gains(
    rows: Sequence[Row], model: str, users: Sequence[str]
) -> dict[str, Floats]:
    """Return a model's gains by log, (seeds,) each; empty when a log of the rows lacks them."""
    gains = {f"{_log(one)}:": _gain(rows, one, [model])[:, 0] for one in _logs(rows, users)}
    return gains if all(values.size for values in gains.values()) else {}


def _gain(
    rows: Sequence[Row], condition: Condition, models: Sequence[str]
) -> Floats:
    """Return Max-Reward's gain over Top-Down, deployed, in per cent, (seeds, models)."""
    fields = ("top_down_deployed", "max_reward_deployed")
    whole = [row for row in rows if None not in [row.get(field) for field in fields]]
    top_down, max_reward = (
        read_complete_seeds(whole, [condition], models, field)[1] for field in fields
    )
    gain: Floats = 100.0 * (max_reward / top_down - 1.0)[:, 0, :]
    return gain


def _logs(rows: Sequence[Row], users: Sequence[str]) -> list[Condition]:
    return [one for one in in_distribution(rows) if one.user in users]
