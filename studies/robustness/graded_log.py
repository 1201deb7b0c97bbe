"""Claim 1 on a real log with human grades: nDCG by query, and what it says of naive baselines.

``clickgym fit`` measures it on any log with grades; the rows of one such log come with the package.
One real log has no worlds to draw, so intervals are over its queries: those over seeds would only
know the initialisation and the order of ties.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from ...clickmodels import ClickModel
from ...common.typing import Floats, Integers
from ...data import World
from ...evaluation.metrics.graded import dcg, ideal_dcg, order_candidates
from ..claims import UNDECIDED, Claim, Finding, every_above
from ..constants import CLICK_MODELS, NAIVE
from ..engine.rows import Row, distinct, load_rows, where
from .judging import keep_shown

RESULTS = Path(__file__).parent / "results" / "graded"  # come with the package
DEPTH = 3
VERSION = "2"  # changes when fits to such a log change
NOT_RUN = "not run"
TEST = "nDCG@3: best naive baseline − best click model > 0, mean over queries of a real graded log"
RULES = (
    "[low, high] is the 95% Student-t interval over queries, within which the models are compared; "
    "the best of either side is that of the highest mean. The claim holds when the interval lies "
    "above 0, does not hold when it lies below, and is undecided otherwise."
)


def shipped_graded() -> list[Row]:
    """Return the rows that come with the package, as this version fits the models."""
    rows = [row for path in sorted(RESULTS.glob("*.parquet")) for row in load_rows(path)]
    return [row for row in rows if row.get("version") == VERSION]


def ndcg_by_query(
    model: ClickModel, world: World, seeds: Sequence[int]
) -> tuple[Integers, Floats]:
    """Return the queries that count and the nDCG@3 of each, (m,), a mean over orders of ties.

    Over the judged documents that the model's log showed, as ``judge_grades``.
    """
    shown = keep_shown(world, model)
    gain = np.where(shown.candidates, shown.gain, 0.0)
    ideal = ideal_dcg(shown, DEPTH)
    values = []
    queries = np.zeros(0, dtype=np.int64)
    for seed in seeds:
        queries, documents = order_candidates(model, shown, seed)
        ordered = np.take_along_axis(gain[queries], documents, axis=1)
        values.append(dcg(ordered, DEPTH) / ideal[queries])
    return queries, np.mean(values, axis=0)


def graded_rows(
    log: str, world: World, fits: Mapping[str, Sequence[tuple[ClickModel, Sequence[int]]]]
) -> list[Row]:
    """Return a row per model and query: "log", "model", "query", "ndcg_3", "version".

    Parameters
    ----------
    log : str
        What to call it.
    fits : dict of sequences
        By model, its fits, each with the seeds that break its ties; a row has their mean.
    """
    rows = []
    for name, pairs in fits.items():
        found = [ndcg_by_query(model, world, seeds) for model, seeds in pairs]
        queries = found[0][0]
        means = np.mean([values for _, values in found], axis=0)
        rows += [
            {"log": log, "model": name, "query": query, "ndcg_3": value, "version": VERSION}
            for query, value in zip(queries.tolist(), means.tolist(), strict=True)
        ]
    return rows


def naive_on_graded_logs(rows: Sequence[Row]) -> Finding:
    """Compare the best naive baseline with the best of the paper's click models, query by query."""
    differences, notes = {}, []
    for log in distinct(rows, "log"):
        known = where(rows, log=log)
        sides = [_best(known, names) for names in (NAIVE, CLICK_MODELS)]
        if all(name for name, _ in sides):
            (naive, ours), (rival, theirs) = sides
            differences[f"{log}:"] = np.subtract(ours, theirs)
            notes.append(f"{naive} − {rival}, {len(ours)} queries")
    if not differences:
        return Finding(TEST, UNDECIDED, NOT_RUN)
    return every_above(TEST, differences).with_note("; ".join(notes))


def graded_claim(*findings: Finding) -> Claim:
    """Return claim 1 with its findings."""
    return Claim(
        "Naive baselines beat click models at nDCG", "section 4.2", findings, "Tables 1 and 2"
    )


def _best(rows: Sequence[Row], names: Sequence[str]) -> tuple[str, list[float]]:
    """Return the model with the highest mean and its values by query; "" without any."""
    found = {
        name: [row["ndcg_3"] for row in sorted(where(rows, model=name), key=lambda r: r["query"])]
        for name in distinct(rows, "model")
        if name in names
    }
    if not found:
        return "", []
    best = max(found, key=lambda name: float(np.mean(found[name])))
    return best, found[best]
