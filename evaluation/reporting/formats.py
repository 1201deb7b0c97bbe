"""Writing tables as Markdown, as HTML and for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, NamedTuple

from ..statistics import BOLD
from .html_templates import render
from .terminal import terminal_tables

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult


# A claim with its verdict, and below it a line for each finding: "" and its verdict, test, numbers.
LedgerLine = tuple[str, str, str, str]
LEDGER_HEADINGS = ("claim", "verdict", "tested", "numbers")


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
    def marked_text(self) -> str:
        """The text with "=" and "†" before it."""
        return ("" if self.bold else self.mark) + self.text

    @property
    def bold(self) -> bool:
        """Whether it is shown in bold."""
        return self.mark == BOLD


def markdown_lines(headings: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table of plain texts."""
    rows = [[escape_markdown(text) for text in line] for line in (headings, *lines)]
    return _join_cells([rows[0], ["---"] * len(headings), *rows[1:]])


def ledger_markdown(lines: Sequence[LedgerLine], rules: str) -> str:
    """Return a ledger of claims as a Markdown table, with the rules of its tests."""
    return markdown_lines(LEDGER_HEADINGS, lines) + f"\n\n{rules}\n"


def _join_cells(lines: Sequence[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def escape_markdown(text: str) -> str:
    """Return ``text`` so that it stays in one cell of a Markdown table and is no markup."""
    flat = " ".join(escape(text, quote=False).split())
    return "".join("\\" + char if char in "\\`*_[]|" else char for char in flat)


def html_table(
    headings: Sequence[str], rows: Sequence[Sequence[Shown]], title: str = "", legend: str = ""
) -> str:
    """Return an HTML table between its caption and its legend; all texts are escaped.

    Headings are buttons, and cells that stand for a number have it as ``data-value``, so that a
    page's script can sort by them; without a script the table is just a table.
    """
    numeric = [any(cell.value is not None for cell in column) for column in zip(*rows, strict=True)]
    return render(
        "table.html", headings=headings, rows=rows, numeric=numeric, title=title, legend=legend
    )


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
        """Return the table as Markdown, between its title and its legend."""
        headings = [escape_markdown(heading) for heading in self.headings]
        lines = [[self.names, *headings], ["---", *("---:" for _ in headings)]]
        for name, row in self.rows.items():
            texts = [f"**{shown.text}**" if shown.bold else shown.marked_text for shown in row]
            lines.append([escape_markdown(name), *texts])
        title = f"**{escape_markdown(self.title)}**" if self.title else ""
        parts = [title, _join_cells(lines), escape_markdown(self.legend)]
        return "\n\n".join(part for part in parts if part) + "\n"

    def to_html(self) -> str:
        """Return the table and its legend as HTML."""
        rows = [[Shown(name), *cells] for name, cells in self.rows.items()]
        return html_table([self.names, *self.headings], rows, self.title, self.legend)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Show the table on a terminal: ``rich.print(table)``; names are text, never markup."""
        from rich.text import Text

        columns = [[Text(self.names), *(Text(name) for name in self.rows)]]
        for place, heading in enumerate(self.headings):
            cells = [row[place] for row in self.rows.values()]
            texts = [Text(cell.marked_text, "bold" if cell.bold else "") for cell in cells]
            columns.append([Text(heading), *texts])
        yield from terminal_tables(self.title, columns, self.legend, options.max_width)
