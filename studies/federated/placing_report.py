"""The table, the picture and the ledger of the curse of placing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...evaluation import Interval, Metric, ResultTable, interval
from ...evaluation.reporting.figures import BEST, LOGGING, new_figure
from ...policies.placing.best import REWARDS
from ..claims import Claim, Finding, every_above
from ..engine.rows import Row, by_seed, distinct, where

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TOP, EVERYWHERE = "top", "uniform"
USUAL, BEST_PLACES, UNSEEN = "usual place", "best places", "never logged"
SECTION = "not in the paper"
_SIDES = ("promised", "deployed")
_WORDS = {"clicks": "clicks per page", "satisfied": "satisfied pages"}
_BEYOND = "beyond the usual place"
_COLOURS = {"UBM": "#8c8c8c", "FCM": "#0c4c8a", "VCM": "#e69f00"}
_MORE = ("#7b3294", "#1b7837", "#56b4e9")
LOGS = {"uniform": "at all places", "three": "at three places", "top": "at the top"}
RULES = (
    "Differences are taken within a seed, which draws the world, the log and the fit, and tested "
    "over seeds by Student-t intervals (95%). A claim about every condition must stand in each."
)


def name_user(row: Row) -> str:
    """Return the user of a row in words."""
    share = f"{100 * row['satisfied']:g}% satisfied by the block"
    return f"{row['user']} user" + (f", {share}" if row["satisfied"] else "")


def placing_table(rows: Sequence[Row]) -> ResultTable:
    """Return promised and deployed rewards, a row per user, log and model.

    Two more rows per user and log are of blocks at the usual and at the best places.
    """
    groups = _groups(rows)
    every = [f"{text}: {who}" for text, part in groups
             for who in (USUAL, *distinct(part, "model"), BEST_PLACES)]  # fmt: skip
    columns = [f"{one} {name}" for one in REWARDS for name in (*_SIDES, "gap", "over usual")]
    table = ResultTable(
        [
            Metric(name, False, digits=3, exclude=tuple(every), arrow=False)
            for name in (*columns, UNSEEN)
        ],
        "Clicks per page and share of satisfied pages: what models promise for the places that "
        f'they choose, and what users deliver; "{USUAL}": the block stays where the log usually '
        f'had it; "over usual": deployed beyond that; "{UNSEEN}": the share of pages whose block a '
        "model puts (for clicks) where the log never has one of its type, or takes away though the "
        "log never does",
    )
    for text, part in groups:
        first = where(part, model=part[0]["model"])
        for who, key in ((USUAL, "usual"), (BEST_PLACES, "best")):
            values = {f"{one} deployed": [row[f"{one}_{key}"] for row in first] for one in REWARDS}
            if key == "best":
                values |= _over_usual(first, "best")
                _add_models(table, text, part)
            table.add(f"{text}: {who}", values, [row["seed"] for row in first])
    return table


def _add_models(table: ResultTable, text: str, rows: Sequence[Row]) -> None:
    for model in distinct(rows, "model"):
        own = where(rows, model=model)
        values = {UNSEEN: [row["clicks_unseen"] for row in own], **_over_usual(own, "deployed")}
        for one in REWARDS:
            for side in _SIDES:
                values[f"{one} {side}"] = [row[f"{one}_{side}"] for row in own]
            values[f"{one} gap"] = [row[f"{one}_promised"] - row[f"{one}_deployed"] for row in own]
        table.add(f"{text}: {model}", values, [row["seed"] for row in own])


def _over_usual(rows: Sequence[Row], key: str) -> dict[str, list[float]]:
    return {
        f"{one} over usual": [row[f"{one}_{key}"] - row[f"{one}_usual"] for row in rows]
        for one in REWARDS
    }


def _groups(rows: Sequence[Row]) -> list[tuple[str, list[Row]]]:
    """Return the rows of each user and log, with both in words."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        text = f"{name_user(row)}; blocks {LOGS.get(row['placing'], row['placing'])}"
        groups.setdefault(text, []).append(row)
    return list(groups.items())


def placing_picture(rows: Sequence[Row]) -> Figure:
    """Draw promised and deployed rewards by log, a panel per reward and user.

    They are differences from what the usual place earns in the same world.
    """
    users = list(dict.fromkeys(name_user(row) for row in rows))
    placings, models = distinct(rows, "placing"), distinct(rows, "model")
    figure = new_figure(max(1.2 + 2.9 * len(users), 6.5), 6.4)
    panels = figure.subplots(len(REWARDS), len(users), squeeze=False, sharey="row", sharex=True)
    for reward, axes in zip(REWARDS, panels, strict=True):
        for user, axis in zip(users, axes, strict=True):
            part = [row for row in rows if name_user(row) == user]
            for place, placing in enumerate(placings):
                own = where(part, placing=placing)
                if own:
                    _draw_log(axis, place, own, reward, models)
            axis.grid(axis="y", alpha=0.25, linewidth=0.5)
            if reward == REWARDS[0]:
                axis.set_title(user.replace(", ", ",\n"), fontsize=9)
            labels = [LOGS.get(one, one).replace(" places", "\nplaces") for one in placings]
            axis.set_xticks(range(len(placings)), labels, fontsize=8)
        axes[0].set_ylabel(f"{_WORDS[reward]}\n{_BEYOND}", fontsize=9)
    figure.supxlabel("where the log placed blocks", fontsize=9)
    handles: dict[str, Any] = {}
    for axis in panels.flat:
        handles |= dict(zip(*axis.get_legend_handles_labels()[::-1], strict=True))
    figure.legend(
        handles.values(), handles.keys(), loc="outside upper center", frameon=False, fontsize=9,
        ncols=1 + len(models),
    )  # fmt: skip
    return figure


def _draw_log(
    axis: Any, place: int, rows: Sequence[Row], reward: str, models: Sequence[str]
) -> None:
    """Draw each model's promise and delivery, and what the usual and the best places earn."""

    def beyond(part: Sequence[Row], key: str) -> Interval:
        return interval([row[f"{reward}_{key}"] - row[f"{reward}_usual"] for row in part])

    for name, key, colour, style in (
        (BEST_PLACES, "best", BEST, ":"), (USUAL, "usual", LOGGING, "--"),
    ):  # fmt: skip
        axis.hlines(
            beyond(rows, key).mean, place - 0.42, place + 0.42, color=colour, linestyle=style,
            linewidth=1.3, label=name,
        )  # fmt: skip
    width = 0.8 / max(len(models), 1)
    for number, model in enumerate(models):
        own = where(rows, model=model)
        if not own:
            continue
        middle = place + (number - (len(models) - 1) / 2) * width
        colour = _COLOURS.get(model, _MORE[number % len(_MORE)])
        for side, shift, mark in (("promised", -0.15, "v"), ("deployed", 0.15, "o")):
            found = beyond(own, side)
            axis.errorbar(
                middle + shift * width, found.mean, yerr=float(np.nan_to_num(found.half_width)),
                fmt=mark, color=colour, markersize=5.5, linewidth=1.0, label=f"{model} {side}",
                markerfacecolor="white" if side == "promised" else colour,
            )  # fmt: skip


# The ledger


def placing_claims(rows: Sequence[Row]) -> list[Claim]:
    """Return what a prototype found, tested on these rows."""
    alone = [row for row in rows if row["satisfied"] == 0]
    content = [row for row in rows if row["satisfied"] > 0]
    return [
        Claim(
            "The right model is cursed where the log has few places: FCM, fitted to a log with "
            "blocks at the top, promises more than its places deliver, which is less than leaving "
            "the blocks there earns",
            SECTION,
            (
                _test(alone, TOP, "promised", "deployed"),
                _test(alone, TOP, "usual", "deployed"),
            ),
        ),
        Claim(
            "A log with blocks everywhere cures it: FCM's places earn more than the usual ones",
            SECTION, (_test(alone, EVERYWHERE, "deployed", "usual"),),
        ),
        Claim(
            "Satisfaction without a click, which no fit knows, curses FCM even then",
            SECTION, (_test(content, EVERYWHERE, "promised", "deployed"),),
        ),
        Claim(
            "And a model of clicks cannot choose for satisfied pages: it knows fewer than there "
            "are, and its places earn less than the best ones", SECTION,
            (
                _test(content, EVERYWHERE, "deployed", "promised", "satisfied"),
                _test(content, EVERYWHERE, "best", "deployed", "satisfied"),
            ),
        ),
    ]  # fmt: skip


def _test(
    rows: Sequence[Row], placing: str, first: str, second: str, reward: str = "clicks"
) -> Finding:
    """Test that one value of FCM on FCM users is above another."""
    part = where(rows, user="FCM", model="FCM", placing=placing)
    high, low = by_seed(part, f"{reward}_{first}"), by_seed(part, f"{reward}_{second}")
    values = {"": [high[seed] - low[seed] for seed in high]} if part else {}
    return every_above(f"{_WORDS[reward]}, blocks {LOGS[placing]}: {first} - {second}", values)
