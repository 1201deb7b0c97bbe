"""Writing a table of marked cells as HTML."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from .statistics import BOLD
from .table_formats import Shown


def html_table(
    headings: Sequence[str], rows: Sequence[Sequence[Shown]], title: str = "", legend: str = ""
) -> str:
    """Return an HTML table between its caption and its legend; all texts are escaped.

    Headings are buttons, and cells that stand for a number have it as ``data-value``, so that a
    page's script can sort by them; without a script the table is just a table.
    """
    head = "".join(
        f'<th scope="col"><button type="button">{escape(heading)}</button></th>'
        for heading in headings
    )
    body = "\n".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    caption = f"<caption>{escape(title)}</caption>" if title else ""
    after = f'<p class="legend">{escape(legend)}</p>' if legend else ""
    return (
        f'<div class="scroll"><table class="sortable">{caption}<thead><tr>{head}</tr></thead>\n'
        f"<tbody>\n{body}\n</tbody></table></div>{after}\n"
    )


def _cell(shown: Shown) -> str:
    text = escape(shown.marked)
    text = f"<strong>{text}</strong>" if shown.mark == BOLD else text
    if shown.value is None:
        return f"<td>{text}</td>"
    number = f"{shown.value}" if np.isfinite(shown.value) else "Infinity"
    return f'<td class="number" data-value="{number}">{text}</td>'
