"""Click logs in PyClick's text format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import overload

from ...common.runtime import warn_caller
from ..log import ClickLog
from ..world import World
from .log_files import Page, Paths, numbered_lines, read_logs


@overload
def read_pyclick(path: Paths) -> tuple[World, ClickLog]: ...
@overload
def read_pyclick(path: Mapping[str, Paths]) -> tuple[World, dict[str, ClickLog]]: ...
def read_pyclick(path: Paths | Mapping[str, Paths]) -> tuple[World, ClickLog | dict[str, ClickLog]]:
    """Read a log with lines of pages ``query<TAB>d1,…,dK : c1 , c2`` that are split by ``;``.

    Parameters
    ----------
    path : path, sequence of paths, or mapping from names to either
        Several files share one world. A sequence is read one file after the other into one log.
        A mapping, such as ``{"train": …, "test": …}``, gives a log for each name.

    Returns
    -------
    world : World
        ``query_ids`` and ``doc_ids`` keep the file's names. Queries are numbered in order of first
        appearance, and so are the documents of each, which are its candidates. There are no
        grades: ``relevance`` is -1 everywhere. ``query_probs`` are the frequencies in all files.
    log : ClickLog, or dict of them
        The pages in the order of the file, with the world's fingerprint. Shorter pages end in
        empty slots (-1).

    Warns
    -----
    UserWarning
        For each file with clicks on documents that their page does not show, with their number:
        these clicks are dropped.

    Raises
    ------
    ValueError
        With file, line and page: a malformed page. With the file: no pages in it.
    FileNotFoundError
        With the file.

    Notes
    -----
    A document that is clicked more than once on a page is clicked. The format names the clicked
    document, not its slot: if a page shows it twice, the click goes to the higher slot. Reads
    about 5 MB of text a second; ``read_log(path, format="pyclick")`` is faster.
    """
    dropped: Counter[Path] = Counter()
    world, logs = read_logs(path, lambda file: _read_pages(file, dropped))
    for file, count in dropped.items():
        if count:
            message = f"{file}: dropped {count} clicks on documents that their page does not show"
            warn_caller(message, UserWarning)
    return world, logs


def _read_pages(path: Path, dropped: Counter[Path]) -> Iterator[Page]:
    """Yield the pages of a file, and count its clicks on documents that are not shown."""
    for where, line in numbered_lines(path):
        texts = line.split(";")
        if not texts[-1].strip():  # a line may end in ";"
            texts.pop()
        for number, text in enumerate(texts, start=1):
            query, _, rest = text.strip().partition("\t")
            shown, colon, clicked = rest.partition(":")
            documents = [name.strip() for name in shown.split(",")]
            clicks = [name.strip() for name in clicked.split(",")] if clicked.strip() else []
            if not (query and colon) or ":" in clicked:
                raise ValueError(f"{where}, page {number}: not query<TAB>documents : clicks")
            if "" in documents or "" in clicks:
                raise ValueError(f"{where}, page {number}: the name of a document is empty")
            slots = [documents.index(click) for click in clicks if click in documents]
            dropped[path] += len(clicks) - len(slots)
            yield query.strip(), documents, slots
