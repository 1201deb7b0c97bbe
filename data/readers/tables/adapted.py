"""What the reader of a special format gives back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .sources import TableSource


@dataclass(frozen=True)
class Adapted:
    """A source in a plain form.

    Attributes
    ----------
    source : TableSource
    columns : mapping from roles to columns
        What the format says; None is to be guessed, ``""`` means that there is none.
    oddities : mapping from names of oddities to how often
    catalogue : bool
        Whether every document is a candidate of every query.
    """

    source: TableSource
    columns: Mapping[str, str | None]
    oddities: Mapping[str, int] = field(default_factory=dict)
    catalogue: bool = False
