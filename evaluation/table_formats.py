"""Writing a table of marked cells as Markdown, and for a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, NamedTuple

from .statistics import BOLD

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
