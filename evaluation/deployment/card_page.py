"""The deployment card as one HTML page."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from ..reporting.formats import PlainTable, Shown, html_table
from ..reporting.page import figure_section, report_page, settings_section, tables_section
from .card_picture import plot_card
from .card_text import estimate_table, how_made, promise_table, summarise, unknown_table

if TYPE_CHECKING:
    from .card import DeploymentCard

_CAPTION = (
    "What the policy is predicted to earn, what click models promise for it, and what estimates "
    "by weights say; the dashed line is what the log earned."
)


def card_page(card: DeploymentCard) -> str:
    """Return the page; every text in it is escaped."""
    figure, file = plot_card(card), io.BytesIO()
    figure.savefig(file, dpi=130, format="png")
    tables = {
        "Promises": promise_table(card), "Estimates by weights": estimate_table(card),
        "Documents to test first": unknown_table(card),
    }  # fmt: skip
    sections = {"Prediction": settings_section(summarise(card))}
    sections["Prediction"] += figure_section(file.getvalue(), _CAPTION)
    sections |= {
        heading: tables_section([_untitled(table)])
        for heading, table in tables.items()
        if table.rows
    }
    sections["Warning signs"] = _signs(card)
    sections["How the interval is made"] = _how(card)
    return report_page(f"{card.policy}: {card.verdict}", card.reason, sections)


def _untitled(table: PlainTable) -> PlainTable:
    """Return the table without the title that its section has."""
    return PlainTable("", table.names, table.headings, table.legend, table.rows)


def _signs(card: DeploymentCard) -> str:
    rows = [[Shown(one.name), Shown(one.warning or "")] for one in card.signs.speaking]
    rows += [[Shown(one.name), Shown("nothing to warn of")] for one in card.signs.silent]
    rows += [[Shown(one.name), Shown(f"not known: {one.not_run}")] for one in card.signs.not_run]
    return html_table(["sign", "what it says"], rows)


def _how(card: DeploymentCard) -> str:
    """Return the traits with their parts in the middle and the width of the interval."""
    calibration = card.calibration
    rows = []
    for name, value in card.traits.items():
        parts = [_part(of.get(name), value) for of in (calibration.centre, calibration.spread)]
        seen = calibration.ranges.get(name)
        known = "" if seen is None else f"{seen[0]:.3f} to {seen[1]:.3f}"
        rows.append([Shown(name), Shown(f"{value:.3f}", value=value), *parts, Shown(known)])
    headings = ["trait", "value", "adds to the middle", "adds to the width", "in the calibration"]
    return html_table(headings, rows, legend=how_made(card))


def _part(factor: float | None, value: float) -> Shown:
    if factor is None:
        return Shown("")
    return Shown(f"{factor * value:+.3f}", value=factor * value)
