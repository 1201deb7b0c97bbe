"""What a reader found in a table: its columns, its size, and everything that is odd."""

from __future__ import annotations

from dataclasses import dataclass, field

from .sources import BadLog

ODDITIES = {
    "clicks_not_shown": "clicks on documents that their page does not show (dropped)",
    "missing_clicks": "clicks that are missing (taken as no click)",
    "multiple_clicks": "documents clicked more than once on a page (taken as one click)",
    "summed_clicks": "documents with ten clicks or more on a page, or with two or more beside a "
    "column of impressions (taken as one): sums over many pages are no log of pages",
    "summed_rows": "rows with more than one impression (taken as one): sums over many pages are no "
    "log of pages (weight=… says that a column is how often its whole page was shown)",
    "weight_conflicts": "pages whose rows have different weights (the first is taken)",
    "all_clicked": "documents, all of them clicked: a table of clicks alone does not say what else "
    "was shown",
    "none_clicked": "documents, none of them clicked",
    "repeated_documents": "pages that show a document twice",
    "repeated_rows": "rows that repeat the page, rank and document of another, as where a click "
    "has a row of its own (joined)",
    "repeated_queries": "pages that show a document twice, as where a session asks a query again: "
    "nothing says where the next page begins (give rank=… or page=…)",
    "mixed_sessions": "pages that show a document twice, as where the rows of several sessions "
    "stand mixed: nothing tells them apart (give session=…, user=… or page=…)",
    "page_pieces": "pages that look like the rest of an earlier one: its rows stand apart, as "
    "where sessions interleave, or they are second pages of results (give page=…, or sort the "
    "table by session and time)",
    "late_pages": "pages that begin below the first rank (moved up to it)",
    "unsplit_documents": "rows whose document looks like a list, such as a|b|c (list_separator=… "
    "splits it)",
    "rank_gaps": "pages with gaps in their ranks (closed up)",
    "rank_ties": "pages with two documents at one rank (kept in order)",
    "mixed_pages": "page ids that stand for several queries (split)",
    "shared_pages": "page ids that stand for several sessions or users (split)",
    "colliding_queries": "query ids that stand for several queries (kept apart)",
    "similar_queries": "query ids that differ from another only by case or white space",
    "similar_documents": "document ids that differ from another only by case or white space",
    "zero_propensities": "pages with a propensity of 0 (dropped)",
    "tiny_propensities": "pages with a tiny propensity (below 1e-5 per slot)",
    "long_pages": "pages longer than 99% of the pages are",
    "empty_pages": "pages without a document (dropped)",
    "ungraded_lines": "lines without grades, though others have them (taken as not judged)",
    "grade_conflicts": "documents with different grades (the most frequent is taken)",
    "feature_conflicts": "documents with different features (the first are taken)",
    "unknown_labels": "grades of documents that no page shows (dropped)",
    "cut_slots": "documents beyond the last slot (dropped)",
    "cut_clicks": "clicks beyond the last slot (dropped)",
    "vertical_conflicts": "pages whose rows have different verticals (the first is taken)",
    "cut_verticals": "verticals below the last slot (taken to stand right below it)",
    "clickless_pages": "pages without a click (dropped, as asked)",
    "ungraded_pages": "pages of queries without a grade (dropped, as asked)",
}
# What was asked for, and what is the usual case, is shown in the table, but it is not odd.
_NOT_ODD = (
    "multiple_clicks", "clickless_pages", "ungraded_pages", "cut_slots", "cut_clicks",
    "unknown_labels",
)  # fmt: skip


@dataclass
class LogReport:
    """Numbers of a table that was read; ``print`` shows them as a short table.

    Attributes
    ----------
    where : str
        The file, or "the table".
    columns : str
        Which column means what, and which of that was guessed.
    roles : dict from role to the name of its column
    unused : tuple of str
        Columns of the table that were not read.
    rows, pages, queries, documents, pairs, clicks, slots : int
        ``pairs`` are queries with a document that they showed; ``slots`` those of the longest page.
    oddities : dict from a name of ``ODDITIES`` to how often
    notes : list of str
        Sentences with more on an oddity.
    """

    where: str
    columns: str = ""
    roles: dict[str, str] = field(default_factory=dict)
    unused: tuple[str, ...] = ()
    rows: int = 0
    pages: int = 0
    queries: int = 0
    documents: int = 0
    pairs: int = 0
    clicks: int = 0
    slots: int = 0
    oddities: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def count(self, name: str, number: int) -> None:
        """Count an oddity."""
        assert name in ODDITIES, name
        if number:
            self.oddities[name] = self.oddities.get(name, 0) + int(number)

    def refuse(self) -> None:
        """Raise if anything was odd: what ``strict=True`` asks for."""
        if self.summary:
            raise BadLog(f"{self.summary} (strict=True refuses that)")

    @property
    def summary(self) -> str:
        """Return the oddities as one sentence; empty where there are none."""
        odd = [f"{n:,} {ODDITIES[k]}" for k, n in self.oddities.items() if k not in _NOT_ODD]
        return f"{self.where}: " + "; ".join(odd) if odd else ""

    def lines(self) -> list[tuple[str, str]]:
        """Return the table: pairs of what and how much."""
        size = [
            (name, f"{getattr(self, name):,}")
            for name in ("rows", "pages", "queries", "documents", "pairs", "clicks", "slots")
        ]
        odd = [(ODDITIES[name], f"{n:,}") for name, n in self.oddities.items()]
        left = ", ".join(self.unused[:10]) + (", …" if len(self.unused) > 10 else "")
        columns = [("columns", self.columns), *([("columns not read", left)] if left else [])]
        return [("read from", self.where), *columns, *size, *odd]

    def __str__(self) -> str:
        lines = self.lines()
        width = min(max(len(what) for what, _ in lines), 72)
        return "\n".join([*(f"{what:<{width}}  {much}" for what, much in lines), *self.notes])
