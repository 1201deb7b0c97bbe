"""A table of texts, for a terminal and as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..evaluation.table_formats import Shown, markdown, rich_table

if TYPE_CHECKING:
    from rich.table import Table


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
