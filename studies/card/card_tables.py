"""Tables of the deployment card's calibration and of its test."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ...common.typing import Booleans, Floats
from ...evaluation.deployment.calibration import Calibrations
from ...evaluation.deployment.verdict import DEPLOY, VERDICTS
from ...evaluation.reporting.formats import PlainTable
from ..engine.rows import Row, distinct, where
from .calibrating import GROUPS
from .card_rows import RIVALS

WORTH = 0.05  # a lift that is worth deploying for, as a share of the logging value
LABELS = {"wpi": "PI, ratio form", "dr-pi": "doubly robust PI"}


def column(rows: Sequence[Row], name: str) -> Floats:
    """Return a column of numbers, (n,); NaN where there is none."""
    return np.array([np.nan if row[name] is None else row[name] for row in rows], dtype=float)


def coefficient_table(made: Calibrations) -> PlainTable:
    """Return what each trait adds to the middle and to the width of an interval."""
    table = PlainTable(
        "What traits add to the predicted lift and to the width of its interval", "trait",
        ("middle", "spread", "middle, policy unknown", "spread, policy unknown"),
        "Per unit of the trait, as shares of what the log earned; with the logging policy's "
        "scores, and without.",
    )  # fmt: skip
    tables = [
        of for one in (made.scores, made.exposure) for of in (one.centre, one.spread)
    ]
    for name in dict.fromkeys(name for of in tables for name in of):
        table.add(name, [f"{of[name]:+.3f}" if name in of else "" for of in tables])
    return table


def group_table(made: Calibrations) -> PlainTable:
    """Return the quantiles that the spread is multiplied by."""
    table = PlainTable(
        "The ends of the interval, in spreads from its middle", "hardly shown, up to",
        ("policies", "low", "high", "low, policy unknown", "high, policy unknown"),
    )  # fmt: skip
    for one, other in zip(made.scores.groups, made.exposure.groups, strict=True):
        ends = (one.low, one.high, other.low, other.high)
        table.add(f"{one.hardly:.0%}", [str(one.policies), *(f"{end:+.2f}" for end in ends)])
    return table


def coverage_table(rows: Sequence[Row]) -> PlainTable:
    """Return coverage and width of the card's intervals, by what kind of policy it was."""
    table = PlainTable(
        "The card's 90% intervals", "policies",
        ("number", "covered", "below", "above", "mean width", "of best - random"),
        "Below: the deployed value was lower than the interval.",
    )  # fmt: skip
    parts = {"all": list(rows)}
    hardly = column(rows, "about hardly")
    before = -1.0
    for most in GROUPS:
        inside = (hardly > before) & (hardly <= most)
        parts[f"hardly shown {max(before, 0):.0%} to {most:.0%}"] = [
            row for row, there in zip(rows, inside, strict=True) if there
        ]
        before = most
    for name in ("user", "logging", "family", "lists", "impressions"):
        parts |= {f"{name} {one}": where(rows, **{name: one}) for one in distinct(rows, name)}
    for name, part in parts.items():
        if part:
            table.add(name, _coverage(part))
    return table


def _coverage(rows: Sequence[Row]) -> list[str]:
    low, high, true = (column(rows, name) for name in ("low", "high", "deployed"))
    width = high - low
    room = column(rows, "best") - column(rows, "random")
    return [
        str(len(rows)), f"{((low <= true) & (true <= high)).mean():.1%}",
        f"{(true < low).mean():.1%}", f"{(true > high).mean():.1%}", f"{width.mean():.3f}",
        f"{width.mean() / room.mean():.2f}",
    ]  # fmt: skip


def comparison_table(rows: Sequence[Row]) -> PlainTable:
    """Return the card beside promise, PI and DR, on the policies that all of them judged."""
    judged = [row for row in rows if row["promise"] is not None]
    table = PlainTable(
        f"{len(judged):,} policies that all of them judged", "judge",
        ("mean error", "mean |error|", "90% interval covers", "mean width", "median width",
         "deploys", "of these wrong", f"of lifts above {WORTH:.0%}"),
        "Clicks per page. Intervals are cut to what a page can have, and are all of that where "
        "nothing is known. A promise has no interval: it deploys where it is above what the log "
        "earned, PI and DR where the lower end of their interval is. Wrong: the true lift is "
        "negative; last, the share of policies with a true lift above "
        f"{WORTH:.0%} of the logging value that are deployed.",
    )  # fmt: skip
    if not judged:
        return table
    earned = column(judged, "earned")
    deploys = np.array([row["verdict"] == DEPLOY for row in judged])
    table.add("deployment card", _judge(judged, "predicted", "low", "high", deploys))
    promised = column(judged, "promise") > earned
    table.add("promise of a UBM", _judge(judged, "promise", "", "", promised))
    for name in RIVALS:
        surely = column(judged, f"{name} low") > earned
        table.add(LABELS[name], _judge(judged, name, f"{name} low", f"{name} high", surely))
    return table


def _judge(
    rows: Sequence[Row], value: str, low: str, high: str, deploys: Booleans
) -> list[str]:
    true = column(rows, "deployed")
    error = column(rows, value) - true
    texts = [f"{error.mean():+.3f}", f"{np.abs(error).mean():.3f}"]
    if low:
        ends = column(rows, low), column(rows, high)
        inside, width = (ends[0] <= true) & (true <= ends[1]), ends[1] - ends[0]
        texts += [f"{inside.mean():.1%}", f"{width.mean():.3f}", f"{np.median(width):.3f}"]
    else:
        texts += ["", "", ""]
    return [*texts, *_deploying(rows, deploys)]


def _deploying(rows: Sequence[Row], deploys: Booleans) -> list[str]:
    """Return how often it is deployed, how often wrongly, and how many worth it are."""
    lift = column(rows, "deployed") - column(rows, "logging_value")
    worth = lift > WORTH * column(rows, "logging_value")
    wrong = _share(lift[deploys] < 0)
    return [str(int(deploys.sum())), wrong, _share(deploys[worth])]


def _share(of: Booleans) -> str:
    return f"{of.mean():.1%}" if len(of) else "–"


def verdict_table(rows: Sequence[Row]) -> PlainTable:
    """Return what became of the policies of each verdict."""
    table = PlainTable(
        "Verdicts", "verdict",
        ("policies", "mean lift", "negative lift", f"lift above {WORTH:.0%}",
         f"of all lifts above {WORTH:.0%}"),
        "Lifts as shares of the logging policy's value.",
    )  # fmt: skip
    logging = column(rows, "logging_value")
    lift = column(rows, "deployed") / logging - 1.0
    worth = lift > WORTH
    said: Callable[[str], Booleans] = lambda verdict: np.array(  # noqa: E731
        [row["verdict"] == verdict for row in rows]
    )
    for verdict in VERDICTS:
        own = said(verdict)
        mean = f"{lift[own].mean():+.1%}" if own.any() else "–"
        table.add(verdict, [
            str(int(own.sum())), mean, _share(lift[own] < 0), _share(worth[own]),
            _share(own[worth]),
        ])  # fmt: skip
    return table
