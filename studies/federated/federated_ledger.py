"""The ledger of the paper on federated search: its claims, and what the study says of them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from ...data.world import VERTICALS
from ..claims import Claim, Finding, every_above
from .abandonment_cells import ABANDONED, DIFFERENCE, GOOD, OTHERS
from .correlation_cells import (
    BAD_ONLY,
    DCG,
    EBU,
    EVERY,
    MIDDLE,
    PAPER,
    RECIPROCAL,
    REFITTED,
    UCTR,
    UDBN,
    UDCM,
    UFCM,
    UUBM,
    UVCM,
)
from .drawn_pages import INTENTS
from .federated_findings import find
from .federated_rows import ABANDONMENT, ATTENTION, CORRELATION, SHOWN, Pooled, PooledRows

NEWS, IMAGES, VIDEO, LOCATION = VERTICALS
ALIKE, CLOSE = 0.05, 0.02  # correlations that are similar, and nearly the same
MODEL_BASED = (EBU, UDCM, UDBN, UUBM, UFCM, UVCM)
_FUTURE = "the paper's future work"
_SECTION = {NEWS: "Table 2", IMAGES: "Table 3", VIDEO: "Table 4", LOCATION: "Table 5"}


def federated_ledger(found: PooledRows) -> list[Claim]:
    """Return the paper's claims with their findings."""
    return [
        *_news_alike(found), *_news_ahead(found),
        *(claim for vertical in (IMAGES, VIDEO) for claim in _media_best(found, vertical)),
        *(claim for vertical in (IMAGES, VIDEO) for claim in _media_second(found, vertical)),
        _attention(found), _location_ranks(found), _location_clicks(found),
        _abandonment(found), _good_and_bad(found), *_bad_only(found),
    ]  # fmt: skip


def _say(columns: Sequence[str]) -> str:
    return "RR metrics" if tuple(columns) == RECIPROCAL else ", ".join(columns)


def _leads(
    found: PooledRows, leader: str, others: Sequence[str], vertical: str,
    columns: Sequence[str], user: str, intent: str, sessions: str = EVERY,
) -> dict[str, Pooled]:  # fmt: skip
    """Return how far a metric is above each other one."""
    return {
        f"{leader} − {other} in {column}": found.difference(
            leader, other, user, vertical, intent, sessions, column
        )
        for column in columns
        for other in others
        if other != leader
    }


def _within(
    found: PooledRows, metrics: Sequence[str], most: float, columns: Sequence[str],
    user: str, intent: str,
) -> dict[str, Pooled]:  # fmt: skip
    """Return by how much differences of news are smaller than ``most``."""
    result = {}
    for place, first in enumerate(metrics):
        for name, one in _leads(
            found, first, metrics[place + 1 :], NEWS, columns, user, intent
        ).items():
            closer = tuple(most - abs(value) for value in one.by_seed)
            result[f"({name})"] = Pooled(most - abs(one.value), one.stderr, closer)
    return result


def _news_alike(found: PooledRows) -> list[Claim]:
    others = [name for name in PAPER if name != DCG]
    own = (UUBM, UFCM, UVCM)

    def over_dcg(user: str, intent: str) -> dict[str, Pooled]:
        columns = (UCTR, *RECIPROCAL)
        every = (_leads(found, one, (DCG,), NEWS, columns, user, intent) for one in others)
        return {name: number for one in every for name, number in one.items()}

    return [
        Claim(
            "News: uUBM, uFCM and uVCM have nearly the same correlation with UCTR", _SECTION[NEWS],
            (find(found, f"{CLOSE} − |difference| > 0 among {', '.join(own)}, UCTR",
                  partial(_within, found, own, CLOSE, (UCTR,))),),
        ),
        Claim(
            "News: all metrics but DCG have similar correlations, and DCG a lower one",
            _SECTION[NEWS],
            (
                find(found, f"{ALIKE} − |difference| > 0 among all but DCG, UCTR",
                     partial(_within, found, others, ALIKE, (UCTR,))),
                find(found, f"{ALIKE} − |difference| > 0 among all but DCG, RR columns",
                     partial(_within, found, others, ALIKE, RECIPROCAL)),
                find(found, "each of the others − DCG > 0, all columns", over_dcg),
            ),
        ),
    ]  # fmt: skip


def _best(
    found: PooledRows, leader: str, vertical: str, columns: Sequence[str],
    among: Sequence[str] = PAPER,
) -> Finding:  # fmt: skip
    """Test that a metric is above each other one."""
    which = "each of the paper's metrics" if among is PAPER else ", ".join(among)
    which = which if among is PAPER or len(among) == 1 else f"each of {which}"
    text = f"{vertical}: {leader} − {which} > 0, {_say(columns)}"
    ask = partial(_leads, found, leader, among, vertical, columns)
    return find(found, text, ask, leader.removeprefix("u"))


def _news_ahead(found: PooledRows) -> list[Claim]:
    old = [name for name in PAPER if name not in (UFCM, UVCM)]
    return [
        Claim(
            f"News: uFCM and uVCM are slightly superior to the others in {_say(columns)}",
            _SECTION[NEWS],
            tuple(_best(found, leader, NEWS, columns, old) for leader in (UFCM, UVCM)),
        )
        for columns in ((UCTR,), RECIPROCAL)
    ]


def _media_best(found: PooledRows, vertical: str) -> list[Claim]:
    name, section = vertical.capitalize(), _SECTION[vertical]
    return [
        Claim(
            f"{name}: uFCM has a higher correlation with UCTR than uUBM", section,
            (_best(found, UFCM, vertical, (UCTR,), (UUBM,)),),
        ),
        Claim(
            f"{name}: uFCM has the highest correlation with UCTR", section,
            (_best(found, UFCM, vertical, (UCTR,)),),
        ),
        Claim(
            f"{name}: uFCM has the highest correlation with RR metrics", section,
            tuple(_best(found, UFCM, vertical, (column,)) for column in RECIPROCAL),
        ),
    ]  # fmt: skip


def _media_second(found: PooledRows, vertical: str) -> list[Claim]:
    others = [name for name in MODEL_BASED if name not in (UFCM, UVCM)]
    name, section = vertical.capitalize(), _SECTION[vertical]

    def middle(user: str, intent: str) -> dict[str, Pooled]:
        one = found.difference(*MIDDLE, user, vertical, intent, EVERY, UCTR)
        return {"uFCM + uUBM − 2 uVCM": one}

    return [
        Claim(
            f"{name}: uVCM is second among model-based metrics", section,
            (
                _best(found, UFCM, vertical, (UCTR,), (UVCM,)),
                _best(found, UVCM, vertical, (UCTR,), others),
                _best(found, UVCM, vertical, RECIPROCAL, others),
            ),
        ),
        Claim(
            f"{name}: uVCM is close to uUBM", section,
            (find(found, f"{vertical}: uVCM is closer to uUBM than to uFCM, UCTR", middle),),
        ),
    ]  # fmt: skip


def _attention(found: PooledRows) -> Claim:
    def mean(user: str, vertical: str, name: str) -> np.ndarray:
        """Return attention over the positions of the sessions, one number for each seed."""
        total: np.ndarray = np.zeros(1)
        for position in sorted({row["column"] for row in found.rows if row["part"] == SHOWN}):
            shares, values = (
                np.array(found.pool(part, user, vertical, metric=metric, column=position).by_seed)
                for part, metric in ((SHOWN, ""), (ATTENTION, name))
            )
            total = total + shares * values
        return total

    findings = []
    for user in found.values("user"):
        types = [one for one in (IMAGES, VIDEO) if one in found.values("vertical")]
        lower = {
            f"{vertical}, {user} user": mean(user, vertical, "FCM") - mean(user, vertical, "VCM")
            for vertical in types
        }
        low = {
            f"{vertical}, {user} user": 0.5 - mean(user, vertical, "VCM") for vertical in types
        }
        findings += [
            every_above(f"{user} user: mean attention, FCM's − VCM's > 0", lower),
            every_above(f"{user} user: 0.5 − VCM's mean attention > 0", low),
        ]
    return Claim(
        "Images and video: FCM finds high attention, VCM low attention, which makes it UBM-like",
        "discussion of Tables 3 and 4", tuple(findings),
    )  # fmt: skip


def _location_ranks(found: PooledRows) -> Claim:
    rest = [name for name in PAPER if name not in (DCG, UDCM, EBU)]
    return Claim(
        "Location: DCG has the highest correlation with RR metrics, followed by uDCM and EBU",
        _SECTION[LOCATION],
        (
            *(_best(found, DCG, LOCATION, (column,)) for column in RECIPROCAL),
            *(_best(found, name, LOCATION, RECIPROCAL, rest) for name in (UDCM, EBU)),
        ),
    )  # fmt: skip


def _location_clicks(found: PooledRows) -> Claim:
    return Claim(
        "Location: uDCM has the highest correlation with UCTR", _SECTION[LOCATION],
        (_best(found, UDCM, LOCATION, (UCTR,)),),
    )


def _rates(found: PooledRows, kind: str, user: str, intent: str) -> dict[str, Pooled]:
    return {kind: found.pool(ABANDONMENT, user, LOCATION, intent, metric=DIFFERENCE, column=kind)}


def _abandonment(found: PooledRows) -> Claim:
    return Claim(
        "Location: abandonment is higher with the block than without it", "discussion of Table 5",
        (find(found, "abandonment, block shown − suppressed > 0",
              partial(_rates, found, ABANDONED)),),
    )  # fmt: skip


def _good_and_bad(found: PooledRows) -> Claim:
    return Claim(
        "Location: it is higher by good abandonment, and by banner blindness (our users have both)",
        "discussion of Table 5",
        (
            find(found, "good abandonment, block shown − suppressed > 0",
                 partial(_rates, found, GOOD)),
            find(found, "bad abandonment of those whom the block did not satisfy, shown − "
                 "suppressed > 0", partial(_rates, found, OTHERS)),
        ),
    )  # fmt: skip


def _bad_only(found: PooledRows) -> list[Claim]:
    def gain(metric: str, sessions: str, user: str, intent: str) -> np.ndarray:
        every, bad = (
            np.array(found.pool(
                CORRELATION, user, LOCATION, intent, kind, metric, "", UCTR
            ).by_seed)
            for kind in (EVERY, sessions)
        )  # fmt: skip
        return bad - every if len(bad) == len(every) else np.zeros(0)

    claims = []
    for sessions, text in ((BAD_ONLY, ""), (REFITTED, ", in training too")):
        findings = []
        for user in found.values("user"):
            for intent in INTENTS:
                values = {f"{name}:": gain(name, sessions, user, intent) for name in PAPER}
                values = {name: one for name, one in values.items() if len(one)}
                findings.append(every_above(
                    f"{user} user, {intent}: correlation with UCTR without good abandonment − with "
                    "it > 0, each of the paper's metrics", values,
                ))  # fmt: skip
        claims.append(Claim(
            f"Location: correlations are higher where only bad abandonment counts{text}",
            _FUTURE, tuple(findings),
        ))  # fmt: skip
    old = [one for one in PAPER if one not in (UFCM, UVCM)]
    findings = [
        find(found, f"{leader} − each metric that knows no blocks > 0, UCTR, {sessions}",
             partial(_leads, found, leader, old, LOCATION, (UCTR,), sessions=sessions),
             leader.removeprefix("u"))
        for sessions in (BAD_ONLY, REFITTED)
        for leader in (UFCM, UVCM)
    ]  # fmt: skip
    claims.append(Claim(
        "Location: where only bad abandonment counts, metrics that know the block are the best",
        _FUTURE, tuple(findings),
    ))  # fmt: skip
    return claims
