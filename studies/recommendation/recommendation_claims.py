"""What the recommendation paper claims, as numbers that must be above a threshold.

A test is a function of the mean scores of systems, so that it can be asked of resampled users, too.
Its number stands for "every" or for "some" of several conditions (systems, users): the least or the
greatest of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...common.typing import Floats
from ...evaluation.recommendation.prediction import fit_line
from ...evaluation.recommendation.system_scores import NDCG, PRECISION, SystemScores

SHOWN, RATED = "shown items", "shown items with a rating"
POPULARITY, ITEM_BASED, USER_BASED, MF = "popularity", "item-based", "user-based", "mf"
NO_BIAS = "no-bias"
LOG, QUADRATIC = ("examination-log", "browsing-log"), ("examination-quad", "browsing-quad")
CASCADE = ("cascade-low", "cascade-high")
USERS = (NO_BIAS, LOG[0], QUADRATIC[0], LOG[1], QUADRATIC[1], *CASCADE)  # in Table 2's order
SYSTEMS = (POPULARITY, MF, USER_BASED, "random", ITEM_BASED)


class MeanScores(NamedTuple):
    """Mean scores (..., S, M) of systems by measures, perhaps of many resamples of users."""

    values: Floats
    systems: tuple[str, ...]
    measures: tuple[str, ...]

    def of(self, measure: str, *systems: str) -> Floats:
        """Return the scores of some systems, (..., s); of all unless any are named."""
        places = [self.systems.index(name) for name in systems or self.systems]
        return self.values[..., places, self.measures.index(measure)]

    def error(self, metric: str, users: Sequence[str], relative: bool = False) -> Floats:
        """Return the residual standard error from a metric to each user's rate, (..., u)."""
        lines = [fit_line(self.of(metric), self.of(user)) for user in users]
        return np.stack([line.relative if relative else line.error for line in lines], axis=-1)

    def others(self, *systems: str) -> list[str]:
        """Return the systems but for these."""
        return [name for name in self.systems if name not in systems]


@dataclass(frozen=True)
class Check:
    """One number of a claim.

    Attributes
    ----------
    text : str
        What is tested; "{metric}" stands for the form of nDCG.
    number : function of ``MeanScores`` and the name of a metric
        Gives (..., n): one for each condition.
    threshold : float
        What it must be above.
    some : bool
        Whether one condition is enough; otherwise all must be above.
    forms : bool
        Whether it is about nDCG, and asked of every form of it.
    """

    text: str
    number: Callable[[MeanScores, str], Floats]
    threshold: float = 0.0
    some: bool = False
    forms: bool = False


@dataclass(frozen=True)
class Bounds:
    """A number, its interval over resampled users, and which condition it comes from."""

    value: float
    low: float
    high: float
    condition: int


def bound(test: Check, metric: str, scores: SystemScores, drawn: Floats, level: float) -> Bounds:
    """Return the number of a test with its interval.

    Parameters
    ----------
    drawn : (resamples, S, M)
        Means over resampled users.
    level : float
        Such as 0.05: what an interval may miss. The bound by which one condition decides alone
        has this level divided by their number (Bonferroni); with very many it is the outermost
        resample.
    """
    found = test.number(MeanScores(scores.means(), scores.systems, scores.measures), metric)
    many = test.number(MeanScores(drawn, scores.systems, scores.measures), metric)
    tail, number = level / 2.0, len(found)
    outer = (tail / number, 1.0 - tail) if test.some else (tail, 1.0 - tail / number)
    if np.isnan(found).any() or np.isnan(many).all(axis=0).any():
        return Bounds(float("nan"), float("nan"), float("nan"), 0)
    low, high = np.nanquantile(many, outer, axis=0)
    choose, place = (np.max, np.argmax) if test.some else (np.min, np.argmin)
    return Bounds(float(choose(found)), float(choose(low)), float(choose(high)), int(place(found)))


def _one(values: Floats) -> Floats:
    return values[..., None]


def _lead(measure: str | None, system: str, sign: float) -> Callable[[MeanScores, str], Floats]:
    """Return the function that compares a system with each other one by a measure."""

    def number(scores: MeanScores, metric: str) -> Floats:
        name = measure or metric
        return sign * (scores.of(name, system) - scores.of(name, *scores.others(system)))

    return number


def _difference(worse: str | None, better: str | None, user: str) -> Callable[..., Floats]:
    """Return the function of one metric's error minus another's; None stands for nDCG."""

    def number(scores: MeanScores, metric: str) -> Floats:
        high, low = (scores.error(name or metric, [user]) for name in (worse, better))
        return high - low

    return number


def _without_bias(relative: bool) -> Callable[[MeanScores, str], Floats]:
    def number(scores: MeanScores, metric: str) -> Floats:
        errors = scores.error(PRECISION, USERS, relative)
        return errors[..., 1:] - errors[..., :1]

    return number


def _ratio(measure: str | None, places: Sequence[int]) -> Callable[[MeanScores, str], Floats]:
    """Return the function of errors under quadratic decay over those under logarithmic decay."""

    def number(scores: MeanScores, metric: str) -> Floats:
        name = measure or metric
        steep, flat = (
            scores.error(name, [users[place] for place in places]) for users in (QUADRATIC, LOG)
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            return steep / flat

    return number


def _worst(measure: str | None, users: Sequence[str], relative: bool) -> Callable[..., Floats]:
    """Return the function of the errors of these users minus the greatest of the others'."""

    def number(scores: MeanScores, metric: str) -> Floats:
        name = measure or metric
        rest = [user for user in USERS if user not in users]
        others = scores.error(name, rest, relative).max(axis=-1, keepdims=True)
        return scores.error(name, users, relative) - others

    return number


def _excess(scores: MeanScores, user: str) -> Floats:
    return scores.of(PRECISION) - scores.of(user)


def _deviation(user: str, below: bool) -> Callable[[MeanScores, str], Floats]:
    """Return the function of MF's distance from the line minus each other system's."""

    def number(scores: MeanScores, metric: str) -> Floats:
        residuals = fit_line(scores.of(PRECISION), scores.of(user)).residuals
        own = residuals[..., [scores.systems.index(MF)]]
        rest = residuals[..., [scores.systems.index(name) for name in scores.others(MF)]]
        return (-own if below else np.abs(own)) - np.abs(rest)

    return number


def _swap(scores: MeanScores, user: str, one: str, other: str) -> Floats:
    """Return how far a pair of systems is from having the same order by both; below 0: it has."""
    by_rating = scores.of(PRECISION, one)[..., 0] - scores.of(PRECISION, other)[..., 0]
    by_clicks = scores.of(user, one)[..., 0] - scores.of(user, other)[..., 0]
    return -np.sign(by_rating * by_clicks) * np.minimum(np.abs(by_rating), np.abs(by_clicks))


def pairs_and_users(systems: Sequence[str]) -> list[tuple[str, str, str]]:
    """Return all pairs of systems under all users: what may change ranks."""
    return [
        (one, other, user)
        for user in USERS
        for place, one in enumerate(systems)
        for other in systems[place + 1 :]
    ]


def _any_swap(scores: MeanScores, metric: str) -> Floats:
    every = pairs_and_users(scores.systems)
    return np.stack([_swap(scores, user, one, other) for one, other, user in every], axis=-1)


def _unrated(scores: MeanScores, metric: str) -> Floats:
    share = 1.0 - scores.of(RATED) / scores.of(SHOWN)
    own = share[..., [scores.systems.index(ITEM_BASED)]]
    return own - share[..., [scores.systems.index(one) for one in scores.others(ITEM_BASED)]]


def _explained(scores: MeanScores, metric: str) -> Floats:
    """Return which part of log(popularity's precision / item-based's) unrated items explain."""
    with np.errstate(divide="ignore", invalid="ignore"):
        rated, precise = (
            np.log(scores.of(name, POPULARITY) / scores.of(name, ITEM_BASED))
            for name in (RATED, PRECISION)
        )
        part = rated / precise
    return np.where(np.isfinite(rated) & np.isfinite(precise), part, np.nan)


@dataclass(frozen=True)
class PaperClaim:
    """A statement, where it stands, and its tests by a key that does not change."""

    statement: str
    section: str
    tests: dict[str, Check]


_FOUR, _BEYOND = "section 4", "beyond the paper"
CLAIMS = (
    PaperClaim("Popularity is the best system by metrics of ratings", _FOUR, {
        "popular-precision": Check("precision: popularity − each other system > 0",
                                  _lead(PRECISION, POPULARITY, 1.0)),
        "popular-ndcg": Check("{metric}: popularity − each other system > 0",
                             _lead(None, POPULARITY, 1.0), forms=True),
    }),
    PaperClaim("Item-based is the worst system by metrics of ratings", _FOUR, {
        "item-precision": Check("precision: each other system − item-based > 0",
                               _lead(PRECISION, ITEM_BASED, -1.0)),
        "item-ndcg": Check("{metric}: each other system − item-based > 0",
                          _lead(None, ITEM_BASED, -1.0), forms=True),
    }),
    PaperClaim("Item-based is low because it shows items without ratings", _FOUR, {
        "unrated-share": Check("share of unrated items: item-based − each other system > 0",
                              _unrated),
        "unrated-explains": Check(
            "part of log(precision of popularity / of item-based) that the shares of rated items "
            "explain > 0.5", _explained, 0.5),
    }),
    PaperClaim("Precision predicts the CTR without bias best", _FOUR, {
        "no-bias-metric": Check("no-bias: error by {metric} − by precision > 0",
                               _difference(None, PRECISION, NO_BIAS), forms=True),
        "no-bias-user": Check("error by precision: each other user − no-bias > 0",
                             _without_bias(False)),
        "no-bias-relative": Check("relative error by precision: each other user − no-bias > 0",
                                 _without_bias(True)),
    }),
    PaperClaim("nDCG predicts the CTR under logarithmic decay best", _FOUR, {
        user: Check(f"{user}: error by precision − by {{metric}} > 0",
                   _difference(PRECISION, None, user), forms=True)
        for user in LOG
    }),
    PaperClaim("Agreement is worse under quadratic than under logarithmic decay (up to 3.5 times "
               "the error)", _FOUR, {
        "ratio-examination": Check("{metric}: error of examination-quad / examination-log > 1 "
                                  "(paper: 2.9)", _ratio(None, [0]), 1.0, forms=True),
        "ratio-browsing": Check("{metric}: error of browsing-quad / browsing-log > 1 (paper: 3.5)",
                               _ratio(None, [1]), 1.0, forms=True),
        "ratio-precision": Check("precision: both ratios > 1 (paper: 1.5, 1.1)",
                                _ratio(PRECISION, [0, 1]), 1.0),
    }),
    PaperClaim("Agreement is worst under the cascade", _FOUR, {
        "cascade-ndcg": Check("error by {metric}: cascade users − greatest of others > 0",
                             _worst(None, CASCADE, False), forms=True),
        "cascade-precision": Check("error by precision: cascade users − greatest of others > 0",
                                  _worst(PRECISION, CASCADE, False)),
    }),
    PaperClaim("Precision over-estimates the CTR under cascade-high", _FOUR, {
        "excess-mean": Check("precision − CTR > 0, mean of systems",
                            lambda scores, _: _one(_excess(scores, CASCADE[1]).mean(axis=-1))),
        "excess-every": Check("precision − CTR > 0, each system",
                             lambda scores, _: _excess(scores, CASCADE[1])),
    }),
    PaperClaim("Of Figure 1's three users, precision over-estimates most under browsing-quad",
               _FOUR, {
        "excess-most": Check(
            "mean of systems of precision − CTR: browsing-quad − each of no-bias, cascade-high > 0",
            lambda scores, _: np.stack([
                (_excess(scores, QUADRATIC[1]) - _excess(scores, user)).mean(axis=-1)
                for user in (NO_BIAS, CASCADE[1])
            ], axis=-1)),
    }),
    PaperClaim("MF deviates most from what precision predicts", _FOUR, {
        "deviation-cascade": Check("cascade-high: |residual of MF| − of each other system > 0",
                                  _deviation(CASCADE[1], False)),
        "deviation-browsing": Check(
            "browsing-quad: over-estimate of MF − |residual| of each other system > 0",
            _deviation(QUADRATIC[1], True)),
    }),
    PaperClaim("Some systems change ranks between precision and CTR", _FOUR, {
        "some-swap": Check(
            "some pair of systems under some user: the smaller of its two differences, of opposite "
            "signs, > 0", _any_swap, some=True),
    }),
    PaperClaim("MF and user-based switch ranks under quadratic decay", _FOUR, {
        "swap-quadratic": Check(
            "both users: the smaller of the differences in precision and CTR, of opposite signs, "
            "> 0",
            lambda scores, _: np.stack(
                [_swap(scores, user, MF, USER_BASED) for user in QUADRATIC], axis=-1)),
    }),
    PaperClaim("Relative to each CTR's own spread, agreement is worst under the cascade", _BEYOND, {
        "relative-cascade-ndcg": Check(
            "relative error by {metric}: cascade users − greatest of others > 0",
            _worst(None, CASCADE, True), forms=True),
        "relative-cascade-precision": Check(
            "relative error by precision: cascade users − greatest of others > 0",
            _worst(PRECISION, CASCADE, True)),
    }),
    PaperClaim("Relative to each CTR's own spread, agreement is worst under quadratic decay",
               _BEYOND, {
        "relative-quadratic-ndcg": Check(
            "relative error by {metric}: quadratic users − greatest of others > 0",
            _worst(None, QUADRATIC, True), forms=True),
        "relative-quadratic-precision": Check(
            "relative error by precision: quadratic users − greatest of others > 0",
            _worst(PRECISION, QUADRATIC, True)),
    }),
)  # fmt: skip
FORMS: dict[str, dict[str, str]] = {  # of nDCG, see ``evaluation.list_ndcg``
    NDCG: {},
    "nDCG, gain 2^r − 1": {"gain": "exponential"},
    "nDCG, late discount": {"discount": "late"},
    "nDCG, full ideal": {"ideal": "full"},
    "nDCG, without users who like nothing": {"without": "nan"},
}
