"""Metrics of judged pages that come from click models: utility, effort, and the old ones.

A click model by grade says how a page of grades is clicked, before anyone has seen it. Its utility
is the gain of what is clicked, Σ_k P(C_k) r_k with r = (2^R - 1) / 2^Rmax; its effort is how early
users are satisfied, Σ_k P(satisfied at k) / k (Chuklin et al. 2013; Markov et al. 2014).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...clickmodels import SDBN, ClickModel, Ensemble, registered
from ...clickmodels.base import GENERATIVE
from ...clickmodels.fitting import takes_grades
from ...clickmodels.registry import registered_class
from ...common import checks
from ...common.typing import Floats, Integers
from ...data import World

EMPTY, UNJUDGED = -1, -2


def page_grades(world: World, query: ArrayLike, ranking: ArrayLike) -> Integers:
    """Return the grades of pages for ``metric``, (n, K): -1 empty slots, -2 unjudged documents."""
    queries = checks.integers(query, "query", 1)
    pages = checks.integers(ranking, "ranking", 2)
    checks.same_shape(queries, pages.shape[:1], "query", "ranking")
    checks.rankings(pages, queries, world.n_queries, world.n_docs)
    grades = world.relevance[queries[:, None], pages].astype(np.int64)
    grades[grades < 0] = UNJUDGED
    grades[pages < 0] = EMPTY
    return grades


def relevance_of_grades(grades: Integers, max_grade: int) -> Floats:
    """Return r = (2^R - 1) / 2^Rmax, laid out alike; 0 where there is no grade."""
    return (2.0 ** np.maximum(grades, 0) - 1.0) / 2.0**max_grade


@dataclass(frozen=True)
class _Pages:
    """Pages of grades: as classes, -1 empty and ``max_grade + 1`` unjudged, and their blocks."""

    classes: Integers  # (n, K)
    max_grade: int
    blocks: tuple[ArrayLike | None, ArrayLike | None] = (None, None)

    @property
    def gain(self) -> Floats:
        """R of each slot, (n, K); 0 on empty slots and unjudged documents."""
        grades = np.where(self.classes > self.max_grade, 0, self.classes)
        return relevance_of_grades(grades, self.max_grade)

    @property
    def ranks(self) -> Floats:
        """1 .. K, (K,)."""
        return np.arange(1.0, self.classes.shape[1] + 1.0)

    def ask(self, model: ClickModel, method: str, *more: Any, **options: Any) -> Floats:
        """Return what a model by grade says of the pages."""
        query = np.zeros(len(self.classes), dtype=np.int64)
        return np.asarray(getattr(model, method)(query, self.classes, *more, **options))

    def clicks(self, model: ClickModel) -> Floats:
        """Return P(C_k = 1), (n, K)."""
        return self.ask(model, "click_probs", **model.vertical_arguments(*self.blocks))


def _utility(model: ClickModel, pages: _Pages) -> Floats:
    return np.einsum("nk,nk->n", pages.clicks(model), pages.gain)


def _effort(model: ClickModel, pages: _Pages) -> Floats:
    return pages.ask(model, "satisfying_clicks") @ (1.0 / pages.ranks)


def _any_click(model: ClickModel, pages: _Pages) -> Floats:
    blocks = model.vertical_arguments(*pages.blocks)
    nothing = np.zeros(pages.classes.shape, dtype=bool)
    return -np.expm1(pages.ask(model, "log_likelihood", nothing, **blocks))


@dataclass(frozen=True)
class _ModelMetric:
    """A metric of a click model.

    ``changes`` are arguments of the model's constructor that the metric reads it with, ``fitted``
    how ``fit`` is called for it besides.
    """

    model: str
    measure: Callable[[ClickModel, _Pages], Floats]
    changes: Mapping[str, Any] = field(default_factory=dict)
    fitted: str = ""


def _dcg(pages: _Pages) -> Floats:
    """Return Σ_k (2^R_k - 1) / log2(k + 1), (n,)."""
    return pages.gain @ (2.0**pages.max_grade / np.log2(pages.ranks + 1.0))


def _err(pages: _Pages) -> Floats:
    """Return the effort of a user who clicks everything and is satisfied with probability r."""
    grades = np.append(np.arange(pages.max_grade + 1), UNJUDGED)
    satisfaction = relevance_of_grades(grades[None], pages.max_grade)
    return _effort(SDBN(np.ones(satisfaction.shape), satisfaction), pages)


_PLAIN: dict[str, Callable[[_Pages], Floats]] = {"DCG": _dcg, "ERR": _err}
# Names of papers that are not a form and a model's name.
_NAMED = {
    "EBU": _ModelMetric("SDBN", _utility, fitted=", method='clicked'"),
    "uFCM": _ModelMetric("FCM", _utility, {"latent": "slot"}),
    "uFCM-page": _ModelMetric("FCM", _utility, {"latent": "page"}),
}
_FORMS = {"u": _utility, "any": _any_click, "rr": _effort}


def _model_metrics() -> dict[str, _ModelMetric]:
    """Return the metrics of all registered models that say what a form needs."""
    found = {}
    for name in registered():
        cls = registered_class(name)
        if GENERATIVE not in cls.capabilities or issubclass(cls, Ensemble):
            continue
        for form, measure in _FORMS.items():
            satisfies = cls.satisfying_clicks is not ClickModel.satisfying_clicks
            if measure is not _effort or satisfies:
                found[form + name] = _ModelMetric(name, measure)
    return found | _NAMED


def metric_names() -> tuple[str, ...]:
    """Return the names that ``metric`` takes, in alphabetical order."""
    return tuple(sorted([*_PLAIN, *_model_metrics()], key=str.casefold))


def metric(
    name: str,
    grades: ArrayLike,
    max_grade: int = 4,
    model: ClickModel | None = None,
    vertical: ArrayLike | None = None,
    vertical_position: ArrayLike | None = None,
) -> Floats:
    """Return a metric of judged pages, (n,): what users will get out of them.

    Parameters
    ----------
    name : str
        One of ``metric_names()``. For a registered click model M, ``"uM"`` is the utility
        Σ_k P(C_k) r_k and ``"anyM"`` P(a click); ``"rrM"`` is the effort
        Σ_k P(satisfied at k) / k, where the model says when a user is satisfied: DBN, SDBN and CM
        by their satisfaction, DCM and CCM by ending at a click. ``"uFCM"`` is the paper's, which
        notices the block for each result anew, ``"uFCM-page"`` once a page. ``"EBU"`` is the
        utility of an SDBN fitted with ``method="clicked"``. ``"ERR"`` and ``"DCG"`` (with the
        gain 2^R - 1) take no model.
    grades : (n, K) integers
        0 .. ``max_grade``. -2 is a document without a grade, -1 an empty slot. Empty slots only
        trail, so a -1 above a grade is a document without a grade, too. ``page_grades`` writes
        them so.
    max_grade : int
        Rmax in r = (2^R - 1) / 2^Rmax.
    model : ClickModel, optional
        With parameters by grade: fitted with ``parameters="grade"``, or given as a model of one
        query whose candidates are the grades 0 .. ``max_grade`` and, where there are documents
        without one, that class.
    vertical, vertical_position : (n,) integers, optional
        The pages' blocks; models that know none ignore them.

    Notes
    -----
    Exact. A document without a grade has r = 0, but is clicked and satisfies like its class.
    Costs what ``click_probs`` costs: O(n K²) for UBM, FCM and VCM, O(n K) for cascades.
    """
    pages = _read_pages(grades, max_grade, vertical, vertical_position)
    if name in _PLAIN:
        if model is not None:
            raise ValueError(f"{name} has no parameters: leave model out")
        return _PLAIN[name](pages)
    known = _model_metrics()
    if name not in known:
        raise ValueError(f"unknown metric {name!r}; known: {', '.join(metric_names())}")
    wanted = known[name]
    return wanted.measure(_read_model(name, wanted, model, pages), pages)


def grade_click_probs(
    model: ClickModel,
    grades: ArrayLike,
    max_grade: int = 4,
    vertical: ArrayLike | None = None,
    vertical_position: ArrayLike | None = None,
) -> Floats:
    """Return P(C_k = 1), (n, K), of pages of grades; arguments as in ``metric``."""
    pages = _read_pages(grades, max_grade, vertical, vertical_position)
    return pages.clicks(_by_grade("P(click)", model, pages))


def _read_pages(
    grades: ArrayLike,
    max_grade: int,
    vertical: ArrayLike | None,
    vertical_position: ArrayLike | None,
) -> _Pages:
    max_grade = checks.positive_integer(max_grade, "max_grade")
    array = checks.integers(grades, "grades", 2).astype(np.int64)
    if array.shape[1] == 0:
        raise ValueError("grades must have at least one slot")
    wrong = (array < UNJUDGED) | (array > max_grade)
    if wrong.any():
        row, slot = np.argwhere(wrong)[0]
        raise ValueError(
            f"grades[{row}, {slot}] is {array[row, slot]}, but must be 0 to {max_grade}, "
            f"{UNJUDGED} for a document without a grade or {EMPTY} for an empty slot"
        )
    shown = np.logical_or.accumulate(array[:, ::-1] != EMPTY, axis=1)[:, ::-1]
    classes = np.where(array >= 0, array, np.where(shown, max_grade + 1, EMPTY))
    return _Pages(classes, max_grade, (vertical, vertical_position))


def _read_model(
    name: str, wanted: _ModelMetric, model: ClickModel | None, pages: _Pages
) -> ClickModel:
    """Return the model by grade that a metric reads."""
    how = f"{wanted.model} by hand, of one query whose candidates are the grades; fit has none"
    if takes_grades(wanted.model):
        how = f"clickmodels.fit({wanted.model!r}, log, world, parameters='grade'{wanted.fitted})"
    if model is None:
        raise ValueError(f"{name} needs a model: {how}")
    if not isinstance(model, ClickModel) or model.name != wanted.model:
        given = getattr(model, "name", type(model).__name__)
        raise ValueError(f"{name} needs the model {wanted.model}, not {given}: {how}")
    found = _by_grade(name, model, pages)
    if wanted.changes:
        found = type(found).from_state(**{**found.state(), **wanted.changes})
    return found


def _by_grade(name: str, model: ClickModel, pages: _Pages) -> ClickModel:
    found = model if model.by_grade is None else model.by_grade
    n_queries, n_classes = found.shape
    grades = pages.max_grade + 1
    fitted = model.by_grade is not None  # it has the class of unjudged documents
    if n_queries != 1 or n_classes not in ((grades + 1,) if fitted else (grades, grades + 1)):
        raise ValueError(
            f"{name} needs parameters by grade: a model of 1 query of {grades} grades (and the "
            f"class of unjudged documents) with max_grade={pages.max_grade}, not of {n_queries} "
            f"queries of {n_classes}; fit it with parameters='grade'"
        )
    unjudged = pages.classes == grades
    if n_classes == grades and unjudged.any():
        row, slot = np.argwhere(unjudged)[0]
        raise ValueError(
            f"grades[{row}, {slot}] has no grade, and this {model.name} has no class for it: "
            f"give it the {grades + 1}th"
        )
    return found
