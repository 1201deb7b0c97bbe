"""Writing a table of marked cells as HTML."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

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
    numeric = [any(cell.value is not None for cell in column) for column in zip(*rows, strict=True)]
    body = "\n".join(f"<tr>{''.join(map(_cell, row, numeric))}</tr>" for row in rows)
    caption = f"<caption>{escape(title)}</caption>" if title else ""
    after = f'<p class="legend">{escape(legend)}</p>' if legend else ""
    return (
        f'<div class="scroll"><table class="sortable">{caption}<thead><tr>{head}</tr></thead>\n'
        f"<tbody>\n{body}\n</tbody></table></div>{after}\n"
    )


def _cell(shown: Shown, numeric: bool) -> str:
    """Return a cell; ``numeric`` says whether its column is one of numbers."""
    text = escape(shown.marked)
    text = f"<strong>{text}</strong>" if shown.mark == BOLD else text
    attributes = ' class="number"' if numeric else ""
    if shown.value is not None:
        number = str(float(shown.value)).replace("inf", "Infinity")  # as JavaScript reads it
        attributes += f' data-value="{number}"'
    return f"<td{attributes}>{text}</td>"
