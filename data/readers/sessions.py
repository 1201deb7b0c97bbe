"""Click logs of search sessions, with human grades where there are any."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import overload

import numpy as np
from numpy.typing import NDArray

from ...common.runtime import warn_caller
from ..log import ClickLog
from ..world import World
from .log_files import Index, Page, PathLike, Paths, existing_files, numbered_lines, read_logs

FIELDS = ("session", "query", "documents", "types", "clicks")
SPAM, UNJUDGED, MAX_GRADE = -2, -1, 4


@overload
def read_sessions(path: Paths, labels: PathLike | None = None) -> tuple[World, ClickLog]: ...
@overload
def read_sessions(
    path: Mapping[str, Paths], labels: PathLike | None = None
) -> tuple[World, dict[str, ClickLog]]: ...
def read_sessions(
    path: Paths | Mapping[str, Paths], labels: PathLike | None = None
) -> tuple[World, ClickLog | dict[str, ClickLog]]:
    """Read a log with lines ``session TAB query TAB [documents] TAB [types] TAB [clicks]``.

    Parameters
    ----------
    path : path, sequence of paths, or mapping from names to either
        Several files share one world. A sequence is read one file after the other into one log.
        A mapping, such as ``{"train": …, "valid": …, "test": …}``, gives a log for each name.
    labels : path, optional
        A file of the same lines with ``TAB [grades]`` at their end. Only query, documents and
        grades are used: a grade goes to the document wherever the query shows it. Grades are
        0 to 4; -2 (spam) becomes 0, as in LETOR; -1 is unjudged.

    Returns
    -------
    world : World
        ``query_ids`` and ``doc_ids`` keep the file's names. Queries are numbered in order of first
        appearance, and so are the documents of each, which are its candidates. ``relevance`` is
        -1 for a document without a grade. ``query_probs`` are the frequencies in all files.
    log : ClickLog, or dict of them
        The pages in the order of the file, with the world's fingerprint. Shorter pages end in
        empty slots (-1). Sessions and types of results are not kept.

    Warns
    -----
    UserWarning
        If lines of ``labels`` disagree about a document, with the number of such query-document
        pairs: the most frequent grade is taken, and the highest of equally frequent ones. If none
        of the graded documents is in the log.

    Raises
    ------
    ValueError
        With file and line: a malformed line, lists of different lengths, a click that is not 0 or
        1, a grade outside -2..4. With the file: no pages in it.
    FileNotFoundError
        With the file.

    Notes
    -----
    Clicks are by slot, so no click can be on a document that was not shown, and a document shown
    twice on a page stays there twice, clicked where it was clicked. Graded documents that no page
    of the log shows are left out. Reads about 5 MB of text a
    second; ``read_log(path, format="sessions")`` is faster, and keeps the sessions.
    """
    if labels is None:
        return read_logs(path, _read_pages)
    (graded,) = existing_files(labels)
    return read_logs(path, _read_pages, lambda index: _read_grades(graded, index))


def _read_pages(path: Path) -> Iterator[Page]:
    for where, line in numbered_lines(path):
        query, documents, clicks = _split_line(line, where)
        if not set(clicks) <= {"0", "1"}:
            raise ValueError(f"{where}: clicks must be 0 or 1")
        yield query, documents, [slot for slot, click in enumerate(clicks) if click == "1"]


def _read_grades(path: Path, index: Index) -> NDArray[np.int8]:
    """Return the grades of the documents in ``index``, (Q, N); -1 where there is none."""
    votes: defaultdict[tuple[int, int], Counter[int]] = defaultdict(Counter)
    for where, line in numbered_lines(path):
        query, documents, grades = _split_line(line, where, "grades")
        for document, text in zip(documents, grades, strict=True):
            grade = _parse_grade(text, where)
            pair = index.find(query, document)
            if pair is not None and grade != UNJUDGED:
                votes[pair][grade] += 1
    relevance = np.full(index.shape, UNJUDGED, dtype=np.int8)
    for pair, grades_of_pair in votes.items():
        relevance[pair] = max(grades_of_pair, key=lambda grade: (grades_of_pair[grade], grade))
    disagreeing = sum(len(grades_of_pair) > 1 for grades_of_pair in votes.values())
    if disagreeing:
        warn_caller(
            f"{path}: lines disagree about the grades of {disagreeing} query-document pairs; the "
            "most frequent grade of each is taken",
            UserWarning,
        )
    if not votes:
        warn_caller(f"{path}: none of its graded documents is in the log", UserWarning)
    return relevance


def _parse_grade(text: str, where: str) -> int:
    try:
        grade = int(text)
    except ValueError:
        raise ValueError(f"{where}: grade {text!r} is not an integer") from None
    if not SPAM <= grade <= MAX_GRADE:
        raise ValueError(f"{where}: grade {grade} is outside {SPAM}..{MAX_GRADE}")
    return 0 if grade == SPAM else grade


def _split_line(line: str, where: str, last: str = "clicks") -> tuple[str, list[str], list[str]]:
    """Return the query, the documents and the list in the last field of a line."""
    names = FIELDS if last == FIELDS[-1] else (*FIELDS, last)
    fields = line.split("\t")
    if len(fields) != len(names):
        raise ValueError(
            f"{where}: {len(fields)} fields split by tabs, not {len(names)} ({', '.join(names)})"
        )
    query = fields[1].strip()
    if not query:
        raise ValueError(f"{where}: the query is empty")
    documents, *others = (
        _split_list(text, f"{where}: {name}")
        for text, name in zip(fields[2:], names[2:], strict=True)
    )
    for items, name in zip(others, names[3:], strict=True):
        if len(items) != len(documents):
            raise ValueError(f"{where}: {len(documents)} documents, but {len(items)} {name}")
    return query, documents, others[-1]


def _split_list(text: str, what: str) -> list[str]:
    text = text.strip()
    if not (text.startswith("[") and text.endswith("]")):
        raise ValueError(f"{what} is not a list in brackets")
    items = [item.strip() for item in text[1:-1].split(",")]
    if "" in items:
        raise ValueError(f"{what} has an empty item")
    return items
