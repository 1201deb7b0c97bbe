"""Writing tables as Markdown, as HTML and for a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, NamedTuple

from ..statistics import BOLD

if TYPE_CHECKING:
    from rich.table import Table


class Shown(NamedTuple):
    """A cell as it is shown.

    Attributes
    ----------
    text : str
    mark : str
        "bold", "=", "†", "=†" or "".
    value : float, optional
        The number that the text stands for.
    """

    text: str
    mark: str = ""
    value: float | None = None

    @property
    def marked(self) -> str:
        """The text with "=" and "†" before it."""
        return ("" if self.mark == BOLD else self.mark) + self.text


def markdown(
    headings: Sequence[str],
    rows: Mapping[str, Sequence[Shown]],
    title: str,
    legend: str,
    names: str = "model",
) -> str:
    """Return a Markdown table of ``rows`` by name, between its title and its legend."""
    lines = [[names, *map(escaped, headings)], ["---", *("---:" for _ in headings)]]
    for name, row in rows.items():
        texts = [f"**{shown.text}**" if shown.mark == BOLD else shown.marked for shown in row]
        lines.append([escaped(name), *texts])
    table = _piped(lines)
    parts = [f"**{escaped(title)}**" if title else "", table, escaped(legend)]
    return "\n\n".join(part for part in parts if part) + "\n"


def markdown_lines(headings: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table of plain texts."""
    rows = [[escaped(text) for text in line] for line in (headings, *lines)]
    return _piped([rows[0], ["---"] * len(headings), *rows[1:]])


def _piped(lines: Sequence[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def escaped(text: str) -> str:
    """Return ``text`` so that it stays in one cell of a Markdown table and is no markup."""
    flat = " ".join(escape(text, quote=False).split())
    return "".join("\\" + char if char in "\\`*_[]|" else char for char in flat)


def rich_table(
    headings: Sequence[str],
    rows: Mapping[str, Sequence[Shown]],
    title: str,
    legend: str,
    names: str = "model",
) -> Table:
    """Return the same for a terminal; names are text, never rich's markup."""
    from rich.table import Table
    from rich.text import Text

    table = Table(
        title=Text(title) if title else None, caption=Text(legend) if legend else None
    )
    table.add_column(names)
    for heading in headings:
        table.add_column(Text(heading), justify="right")
    for name, row in rows.items():
        texts = [Text(shown.marked, "bold" if shown.mark == BOLD else "") for shown in row]
        table.add_row(Text(name), *texts)
    return table


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


@dataclass
class PlainTable:
    """Rows of texts by name, between a title and a legend; ``names`` heads the first column."""

    title: str
    names: str
    headings: Sequence[str]
    legend: str = ""
    rows: dict[str, list[Shown]] = field(default_factory=dict)

    def add(self, name: str, texts: Sequence[str]) -> None:
        """Add a row."""
        if len(texts) != len(self.headings):
            raise ValueError(f"{name} has {len(texts)} texts for {len(self.headings)} columns")
        self.rows[name] = [Shown(text) for text in texts]

    def to_markdown(self) -> str:
        """Return the table as Markdown."""
        return markdown(self.headings, self.rows, self.title, self.legend, self.names)

    def __rich__(self) -> Table:
        """Return the table for a terminal."""
        return rich_table(self.headings, self.rows, self.title, self.legend, self.names)
