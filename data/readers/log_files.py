"""What the readers of click-log files share: their lines, dense indices, a world and its logs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...common.typing import Integers
from ..document_ids import DocumentIds
from ..log import ClickLog
from ..world import World

PathLike = str | os.PathLike[str]
Paths = PathLike | Sequence[PathLike]
Page = tuple[str, list[str], list[int]]  # query, documents from the top, clicked slots from 0


class Index:
    """Dense indices of queries, and of the documents of each, in order of first appearance."""

    def __init__(self) -> None:
        self.queries: dict[str, int] = {}
        self.documents: list[dict[str, int]] = []  # by query

    def add(self, query: str, documents: list[str]) -> tuple[int, list[int]]:
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


class _Pages:
    """The pages of a piece as flat lists, which keep Python's garbage collector idle."""

    def __init__(self) -> None:
        self.query: list[int] = []
        self.length: list[int] = []
        self.documents: list[int] = []  # of all pages, one after the other
        self.clicked_page: list[int] = []
        self.clicked_slot: list[int] = []

    def add(self, query: int, documents: list[int], clicked: list[int]) -> None:
        self.clicked_page += [len(self.query)] * len(clicked)
        self.clicked_slot += clicked
        self.query.append(query)
        self.length.append(len(documents))
        self.documents += documents

    def log(self, slots: int, world: World) -> ClickLog:
        """Return the pages, in their order, as a log of ``slots`` slots."""
        ranking = np.full((len(self.query), slots), -1, dtype=np.int32)
        ranking[np.arange(slots) < np.array(self.length)[:, None]] = self.documents
        clicks = np.zeros(ranking.shape, dtype=bool)
        clicks[self.clicked_page, self.clicked_slot] = True
        return ClickLog(np.array(self.query), ranking, clicks, fingerprint=world.fingerprint)


def read_logs(
    given: Paths | Mapping[str, Paths],
    read_file: Callable[[Path], Iterable[Page]],
    find_grades: Callable[[Index], NDArray[np.int8]] | None = None,
) -> tuple[World, Any]:
    """Read files that share a world: one piece, or several by name.

    Parameters
    ----------
    given : path, sequence of paths, or mapping from names to either
        The files of one piece are read one after the other.
    read_file : function of a path
        Gives the pages of a file.
    find_grades : function of the index, optional
        Returns the grades of its documents, (Q, N).

    Returns
    -------
    world : World
        Of the queries and documents that were shown, with the grades or without any.
    log : ClickLog, or for a mapping a dict of them
        All have as many slots as the longest page of any.
    """
    named = given if isinstance(given, Mapping) else {"": given}
    files = {name: existing_files(paths) for name, paths in named.items()}
    if not files:
        raise ValueError("path must name at least one file")
    index = Index()
    pieces = {name: _Pages() for name in files}
    for name, pages in pieces.items():
        for path in files[name]:
            before = len(pages.query)
            for query, documents, clicked in read_file(path):
                pages.add(*index.add(query, documents), clicked)
            if len(pages.query) == before:
                raise ValueError(f"{path}: no pages in it")
    counts = np.bincount(np.concatenate([pages.query for pages in pieces.values()]))
    title = " + ".join(path.name for path in chain.from_iterable(files.values()))
    world = _make_world(index, counts, find_grades(index) if find_grades else None, title)
    slots = max(max(pages.length) for pages in pieces.values())
    logs = {name: pages.log(slots, world) for name, pages in pieces.items()}
    return world, logs if isinstance(given, Mapping) else logs[""]


def _make_world(
    index: Index, counts: Integers, relevance: NDArray[np.int8] | None, name: str
) -> World:
    """Return the world of all that ``index`` holds; ``counts`` are the pages of each query."""
    shape = index.shape
    lengths = np.array([len(documents) for documents in index.documents])
    query = np.repeat(np.arange(shape[0]), lengths)
    place = np.arange(len(query)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    numbers: dict[str, int] = {}
    names = [numbers.setdefault(name, len(numbers)) for each in index.documents for name in each]
    candidates = np.arange(shape[1]) < lengths[:, None]
    return World(
        np.full(shape, -1, dtype=np.int8) if relevance is None else relevance,
        query_probs=counts / np.sum(counts),
        candidates=candidates,
        query_ids=list(index.queries),
        doc_ids=DocumentIds.from_pairs(list(numbers), query, place, np.array(names), shape),
        name=name,
    )


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


def existing_files(given: Paths, argument: str = "path") -> list[Path]:
    """Return one path or several as a list; there is at least one, and each must be a file."""
    paths = [Path(path) for path in ([given] if isinstance(given, (str, os.PathLike)) else given)]
    if not paths:
        raise ValueError(f"{argument} must name at least one file")
    for path in paths:
        if not path.is_file():
            raise FileNotFoundError(f"{path}: no such file")
    return paths
