"""What the readers of click-log files share: their lines, dense indices, a world and its logs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..log import ClickLog
from ..world import World

PathLike = str | os.PathLike[str]
Paths = PathLike | Sequence[PathLike]


class Index:
    """Dense indices of queries, and of the documents of each, in order of first appearance."""

    def __init__(self) -> None:
        self.queries: dict[str, int] = {}
        self.documents: list[dict[str, int]] = []  # by query

    def page(self, query: str, documents: list[str]) -> tuple[int, list[int]]:
        """Return the index of a query and those of the documents that its page shows."""
        number = self.queries.setdefault(query, len(self.queries))
        if number == len(self.documents):
            self.documents.append({})
        known = self.documents[number]
        return number, [known.setdefault(document, len(known)) for document in documents]

    @property
    def shape(self) -> tuple[int, int]:
        """Number of queries Q, and of documents N of the query with most of them."""
        return len(self.queries), max(map(len, self.documents))

    def find(self, query: str, document: str) -> tuple[int, int] | None:
        """Return the indices of a query and its document; None if no page shows it."""
        number = self.queries.get(query)
        if number is None or document not in self.documents[number]:
            return None
        return number, self.documents[number][document]


class Pages:
    """Pages as they are read, one after the other; ``log`` makes arrays of them."""

    def __init__(self) -> None:
        self._query: list[int] = []
        self._documents: list[list[int]] = []
        self._clicked_page: list[int] = []
        self._clicked_slot: list[int] = []

    def __len__(self) -> int:
        return len(self._query)

    def add(self, query: int, documents: list[int], clicked: list[int]) -> None:
        """Add a page with these documents, clicked in these slots; one may be named twice."""
        self._clicked_page.extend([len(self._query)] * len(clicked))
        self._clicked_slot.extend(clicked)
        self._query.append(query)
        self._documents.append(documents)

    @property
    def longest(self) -> int:
        """The most documents that a page shows."""
        return max(map(len, self._documents))

    def counts(self, n_queries: int) -> NDArray[np.int64]:
        """Return the number of pages of each query, (Q,)."""
        return np.bincount(self._query, minlength=n_queries)

    def log(self, slots: int, fingerprint: str) -> ClickLog:
        """Return the pages in the order in which they were added, as a log of ``slots`` slots."""
        lengths = np.fromiter(map(len, self._documents), dtype=np.int64, count=len(self))
        ranking = np.full((len(self), slots), -1, dtype=np.int32)
        shown = np.arange(slots) < lengths[:, None]
        ranking[shown] = np.fromiter(chain.from_iterable(self._documents), dtype=np.int32)
        clicks = np.zeros(ranking.shape, dtype=bool)
        clicks[self._clicked_page, self._clicked_slot] = True
        query = np.array(self._query, dtype=np.int32)
        return ClickLog(query, ranking, clicks, fingerprint=fingerprint)


class LogFiles:
    """Files that share a world: one piece, or several by name.

    Parameters
    ----------
    given : path, sequence of paths, or mapping from names to either
        The files of one piece are read one after the other.
    """

    def __init__(self, given: Paths | Mapping[str, Paths]) -> None:
        named = given if isinstance(given, Mapping) else {"": given}
        self.paths = {name: _existing(paths) for name, paths in named.items()}
        if not self.paths:
            raise ValueError("path must name at least one file")
        self.index = Index()
        self.pieces: dict[str, Pages] = {}

    def read(self, read_file: Callable[[Path, Index, Pages], None]) -> None:
        """Read all files: ``read_file`` adds the pages of one to the index and the pages."""
        for name, paths in self.paths.items():
            pages = self.pieces[name] = Pages()
            for path in paths:
                before = len(pages)
                read_file(path, self.index, pages)
                if len(pages) == before:
                    raise ValueError(f"{path}: no pages in it")

    def world(self, relevance: NDArray[np.int8] | None = None) -> World:
        """Return the world of what was shown, with grades (Q, N) or without any."""
        shape = self.index.shape
        candidates = np.zeros(shape, dtype=bool)
        names = [[""] * shape[1] for _ in range(shape[0])]
        for query, documents in enumerate(self.index.documents):
            candidates[query, : len(documents)] = True
            names[query][: len(documents)] = documents
        counts = sum(pages.counts(shape[0]) for pages in self.pieces.values())
        return World(
            np.full(shape, -1, dtype=np.int8) if relevance is None else relevance,
            query_probs=counts / np.sum(counts),
            candidates=candidates,
            query_ids=list(self.index.queries),
            doc_ids=names,
            name=" + ".join(path.name for path in chain.from_iterable(self.paths.values())),
        )

    def logs(self, world: World) -> dict[str, ClickLog]:
        """Return the log of each piece; all have as many slots as the longest page of any."""
        slots = max(pages.longest for pages in self.pieces.values())
        return {name: pages.log(slots, world.fingerprint) for name, pages in self.pieces.items()}


def numbered_lines(path: Path) -> Iterator[tuple[str, str]]:
    """Yield each line that is not blank with where it stands ("file:number")."""
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            where = f"{path}:{number}"
            try:
                text = line.decode("utf-8")
            except UnicodeDecodeError as error:
                raise ValueError(f"{where}: not UTF-8 text ({error})") from error
            if text.strip():
                yield where, text.rstrip("\r\n")


def _existing(given: Paths) -> list[Path]:
    paths = [Path(path) for path in ([given] if isinstance(given, (str, os.PathLike)) else given)]
    if not paths:
        raise ValueError("path must name at least one file")
    for path in paths:
        if not path.is_file():
            raise FileNotFoundError(f"{path}: no such file")
    return paths
