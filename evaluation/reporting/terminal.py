"""Tables for a terminal: columns that do not fit beside each other stand below each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table
    from rich.text import Text

    Column = Sequence[Text]  # a heading and its cells

_WHOLE = 40  # characters of a cell that are never broken; longer ones are sentences
_EDGE = 3  # of a column: a line and two blanks


def terminal_tables(
    title: str, columns: Sequence[Column], legend: str, width: int
) -> Iterator[RenderableType]:
    """Give one table, or several with the first column in each where one would be too wide.

    Numbers are never cut: headings fold between words, then columns move to a next table. What is
    wider than the terminal on its own, as long sentences are, folds.

    Parameters
    ----------
    columns : sequence of columns
        Each is a heading and its cells; the first has the names of the rows.
    width : int
        Characters of a line.
    """
    from rich.text import Text

    natural = [max(text.cell_len for text in column) for column in columns]
    if sum(natural) + _EDGE * len(columns) + 1 <= width:
        heads = [Text(text) if text else None for text in (title, legend)]
        yield _make_table(columns, [None] * len(columns), *heads)
        return
    least = [_least_width(column) for column in columns]
    if title:
        yield Text(title, style="italic")
    for block in _pack(least, width):
        room = width - 1 - _EDGE * len(block) - sum(least[place] for place in block)
        widths = {place: least[place] for place in block}
        for place in block:  # what is left over goes to whoever can use it, the first first
            more = min(natural[place] - widths[place], max(room, 0))
            widths[place] += more
            room -= more
        yield _make_table([columns[place] for place in block], list(widths.values()))
    if legend:
        yield Text(legend, style="dim italic")


def _least_width(column: Column) -> int:
    """Return the width at which no cell and no word of the heading is broken."""
    heading, *cells = column
    words = [len(word) for word in heading.plain.split()]
    return max([1, *words, *(min(cell.cell_len, _WHOLE) for cell in cells)])


def _pack(least: Sequence[int], width: int) -> Iterator[list[int]]:
    """Give the columns of each table: the first one, and as many others as fit, at least one."""
    block, used = [0], least[0] + _EDGE + 1
    for place in range(1, len(least)):
        needed = least[place] + _EDGE
        if len(block) > 1 and used + needed > width:
            yield block
            block, used = [0], least[0] + _EDGE + 1
        block.append(place)
        used += needed
    yield block


def _make_table(
    columns: Sequence[Column],
    widths: Sequence[int | None],
    title: Text | None = None,
    caption: Text | None = None,
) -> Table:
    from rich.table import Table

    table = Table(title=title, caption=caption)
    for place, (column, width) in enumerate(zip(columns, widths, strict=True)):
        side = "right" if place else "left"
        table.add_column(column[0], justify=side, width=width, overflow="fold")  # type: ignore[arg-type]
    for row in zip(*(column[1:] for column in columns), strict=True):
        table.add_row(*row)
    return table
