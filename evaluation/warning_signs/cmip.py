"""CMIP: what a model's scores still know of the logging policy, beyond the documents' grades.

Conditional mutual information with the logging policy, I(model score; logging score | grade), over
pairs of query and document (Deffayet et al. 2023). A model that has told relevance from what the
logging policy preferred has none.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ...clickmodels import ClickModel
from ...common import checks
from ...common.typing import Booleans, Floats, Integers
from ...data import World
from ...policies import Policy
from ..statistics import Estimate
from .sign import to_json

MOST_INFORMATION = 0.05  # nats: as much as a correlation of 0.31 within a grade
FEWEST_PAIRS = 200
_SHRINK = np.linspace(0.0, 1.0, 11)  # what log-ratios are multiplied with
# Small trees and a slow rate: pairs are few, and an overfitted ratio costs more than a coarse one.
_TREES = {
    "max_iter": 50, "learning_rate": 0.1, "max_leaf_nodes": 6, "min_samples_leaf": 50,
    "early_stopping": False,
}  # fmt: skip


class ConditionalInformation(Estimate):
    """A lower bound of the conditional mutual information, in nats, with its standard error.

    Attributes
    ----------
    correlation : float
        The correlation of two normal variables that share as much: √(1 - exp(-2 I)).
    """

    sign: ClassVar[str] = "CMIP"

    @property
    def correlation(self) -> float:
        """The correlation of two normal variables that share as much information."""
        return math.sqrt(-math.expm1(-2.0 * max(self.value, 0.0)))

    @property
    def warning(self) -> str | None:
        """Speaks above 0.05 nats, where that is more than two standard errors above 0."""
        if self.value <= MOST_INFORMATION or self.value <= 2.0 * self.stderr:
            return None
        return (
            f"Among documents of one grade the model's scores follow the logging policy's as if "
            f"correlated by {self.correlation:.2f} (CMIP {self.value:.2g} nats): it has taken "
            "some of what was preferred for what is relevant. Prefer a model with a lower CMIP, "
            "and distrust what this one says of documents that the log rarely showed."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the estimate as JSON values, with its name and warning."""
        names = ("value", "stderr", "low", "high", "correlation", "n")
        values = {name: to_json(getattr(self, name)) for name in names}
        return {"sign": self.sign, "warning": self.warning, **values}


def cmip(
    model_or_scores: ClickModel | ArrayLike,
    logging_scores: Policy | ArrayLike,
    world: World,
    seed: int = 0,
    repeats: int = 5,
    folds: int = 5,
    most_pairs: int = 20_000,
) -> ConditionalInformation:
    """Return CMIP: I(model score; logging score | grade) over the candidates of ``world``.

    Parameters
    ----------
    model_or_scores : ClickModel or (Q, N) floats
        A model's ``relevance()``, or scores.
    logging_scores : Policy or (Q, N) floats
        What the logging policy ranked by; of a policy its ``document_scores()``, where it has
        some.
    world : World
        With grades. Pairs are its candidates that have a grade and, on both sides, a finite score.
    repeats, folds : int
        So often pairs are halved at random, and so many classifiers are trained each time.
    most_pairs : int
        At most so many pairs, drawn at random, are looked at.

    Returns
    -------
    ConditionalInformation
        An ``Estimate`` in nats; 0 where model and logging share nothing beyond grades. Its
        standard error counts a query's pairs as one.

    Notes
    -----
    The pairs are halved. In one half logging scores are redrawn, by a permutation within each
    grade, so that they know nothing of the model's scores but the grade. Gradient-boosted trees
    learn to tell the halves apart; their log-odds estimate the log-ratio of the two densities, T,
    and the Donsker–Varadhan bound mean(T) - log(mean(exp T)), each mean over one half, is at most
    the information. Every pair's T comes from trees that were not trained on its fold, multiplied
    by what suits the bound of the other folds best, between 0 and 1. Both scores enter as normal
    scores of their ranks within the grade, with their sum, difference and product: the information
    does not change, and trees see it better.

    What makes both scores higher in some queries than in others counts as well. Of documents that
    the log never showed a model has only its prior, and logging decided which these are: give a
    world whose candidates are those that the log showed (``world.restricted_to(log)``), unless
    this is what you ask about.
    """
    world.require_grades("CMIP needs")
    repeats = checks.positive_integer(repeats, "repeats")
    folds = checks.positive_integer(folds, "folds", 2)
    most_pairs = checks.positive_integer(most_pairs, "most_pairs", FEWEST_PAIRS)
    seed = checks.positive_integer(seed, "seed", 0)
    own, logged = _find_scores(model_or_scores, world), _find_logging_scores(logging_scores, world)
    used = world.candidates & (world.relevance >= 0) & np.isfinite(own) & np.isfinite(logged)
    query, document = np.nonzero(used)
    if len(query) < FEWEST_PAIRS:
        raise ValueError(
            f"CMIP needs {FEWEST_PAIRS} documents with a grade and both scores, and this world has "
            f"{len(query)}"
        )
    rng = np.random.default_rng(seed)
    if len(query) > most_pairs:
        kept = np.sort(rng.choice(len(query), most_pairs, replace=False))
        query, document = query[kept], document[kept]
    grade = world.relevance[query, document].astype(np.int64)
    first = _normal_scores(own[query, document], grade)
    second = _normal_scores(logged[query, document], grade)
    influence = np.zeros(world.n_queries)
    bounds = []
    for _ in range(repeats):
        bound, moved = _bound_once(first, second, grade, folds, rng)
        bounds.append(bound)
        influence += np.bincount(query, moved, world.n_queries) / repeats
    stderr = math.sqrt(float(influence @ influence))
    return ConditionalInformation(
        float(np.mean(bounds)), stderr, method=f"{repeats} × {folds} classifiers", n=len(query)
    )


def _bound_once(
    first: Floats, second: Floats, grade: Integers, folds: int, rng: np.random.Generator
) -> tuple[float, Floats]:
    """Return the bound of one halving, and by how much each pair moves it, (n,)."""
    n = len(grade)
    real = np.zeros(n, dtype=bool)
    real[rng.permutation(n)[: n // 2]] = True
    redrawn = second.copy()
    redrawn[~real] = _permute_within(second[~real], grade[~real], rng)
    columns = [first, redrawn, first + redrawn, first - redrawn, first * redrawn, grade]
    fold = rng.permutation(np.arange(n) % folds)
    ratio = _log_ratios(np.column_stack(columns), real, fold, rng)
    ratio *= _shrink(ratio, real, fold)
    bound, odds, total = _bound(ratio, real)
    moved = np.where(real, (ratio - ratio[real].mean()) / real.sum(), 0.0)
    moved[~real] = (1.0 - odds[~real] / total) / (~real).sum()
    return bound, moved


def _bound(ratio: Floats, real: Booleans) -> tuple[float, Floats, float]:
    """Return the Donsker–Varadhan bound, exp T of all pairs and its mean over redrawn ones."""
    odds = np.exp(ratio)
    total = float(odds[~real].mean())
    return float(ratio[real].mean()) - math.log(total), odds, total


def _log_ratios(
    columns: Floats, real: Booleans, fold: Integers, rng: np.random.Generator
) -> Floats:
    """Return the log of the ratio of real to redrawn densities, (n,), by trees of other folds."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    ratio = np.empty(len(real))
    for number in range(fold.max() + 1):
        here = fold == number
        trees = HistGradientBoostingClassifier(**_TREES, random_state=int(rng.integers(2**31)))
        trees.fit(columns[~here], real[~here])
        share = real[~here].mean()
        ratio[here] = trees.decision_function(columns[here]) - math.log(share / (1.0 - share))
    return ratio


def _shrink(ratio: Floats, real: Booleans, fold: Integers) -> Floats:
    """Return what each pair's log-ratio is multiplied with, (n,): the best for other folds."""
    result = np.empty(len(ratio))
    for number in range(fold.max() + 1):
        others = fold != number
        bounds = [_bound(ratio[others] * by, real[others])[0] for by in _SHRINK]
        result[~others] = _SHRINK[int(np.argmax(bounds))]
    return result


def _permute_within(values: Floats, grade: Integers, rng: np.random.Generator) -> Floats:
    """Return the values permuted at random within each grade."""
    result = np.empty_like(values)
    result[np.argsort(grade, kind="stable")] = values[np.lexsort((rng.random(len(grade)), grade))]
    return result


def _normal_scores(values: Floats, grade: Integers) -> Floats:
    """Return the normal quantiles of the values' ranks within their grade; ties share one."""
    from scipy.special import ndtri
    from scipy.stats import rankdata

    result = np.empty(len(values))
    for one in np.unique(grade):
        rows = grade == one
        result[rows] = ndtri((rankdata(values[rows]) - 0.5) / rows.sum())
    return result


def _find_scores(model_or_scores: ClickModel | ArrayLike, world: World) -> Floats:
    if isinstance(model_or_scores, ClickModel):
        model_or_scores.check_world(world)
        model_or_scores.require("rank")
        model_or_scores = model_or_scores.relevance()
    scores = checks.scores(model_or_scores, "model_or_scores")
    checks.same_shape(scores, world.relevance.shape, "model_or_scores", "this world")
    return scores


def _find_logging_scores(logging_scores: Policy | ArrayLike, world: World) -> Floats:
    if isinstance(logging_scores, Policy):
        logging_scores.check_world(world)
        found = logging_scores.document_scores()
        if found is None:
            raise ValueError(
                f"the logging policy ({type(logging_scores).__name__}) has no scores of "
                "documents, which CMIP needs; give them as logging_scores, (Q, N)"
            )
        logging_scores = found
    scores = checks.scores(logging_scores, "logging_scores")
    checks.same_shape(scores, world.relevance.shape, "logging_scores", "this world")
    return scores
