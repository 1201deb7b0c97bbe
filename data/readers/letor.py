"""Worlds from LETOR files: MSLR, MQ2007 and MQ2008, Yahoo, Istella."""

from __future__ import annotations

import gzip
import io
import re
import zlib
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...common import checks
from ...common.memory import require_memory
from ...common.typing import Booleans, Integers
from ..candidates import check_sampler, draw_candidates, power_law
from ..world import World
from .log_files import Paths, existing_files

# Blocks, because the compiled parser's time grows with the square of the lines it gets at once.
BLOCK_LINES = 10_000
DOC_ID = re.compile(rb"#\s*docid\s*=\s*(\S+)")
LARGEST = float(np.finfo(np.float32).max)
LARGEST_INDEX = 2**31 - 1


def load_letor(
    path_or_paths: Paths,
    n_docs: int | None = None,
    max_queries: int | None = None,
    max_grade: int = 4,
    seed: int = 0,
    *,
    min_docs: int = 1,
    mixed_grades: bool = False,
    sampler: str = "stratified",
) -> World:
    """Read a world from files with lines ``grade qid:Q 1:v … F:v # comment``.

    Parameters
    ----------
    path_or_paths : path, or sequence of paths
        Files, plain or gzip, read one after the other. A qid that is in two of them is an error:
        most likely they are folds that overlap.
    n_docs : int, optional
        Draw so many candidates per query (at least 2) by ``sampler``. None: keep all, in the
        order of the file, padded to the longest list.
    max_queries : int, optional
        Keep the first so many queries in the order of the files, counted after ``min_docs`` and
        ``mixed_grades``. Reading goes by blocks of 10,000 lines and stops when these queries are
        complete, that is, when another one has begun: what comes later is neither read nor checked.
    max_grade : int
        The highest grade there can be.
    seed : int
        For the draw, and for which queries are frequent: frequencies follow ``power_law``.
    min_docs : int
        Leave out queries with fewer documents in the files. The paper has 10.
    mixed_grades : bool
        Leave out queries whose grades are all the same. The paper does.
    sampler : {"stratified", "relevant"}
        How the ``n_docs`` are drawn: so that all grades are there, or as in section 6.1 of the
        robustness paper, hardly any of grade 0 (see ``data.candidates``).

    Returns
    -------
    World
        Features (Q, N, F) are 0 where a line does not give them. ``query_ids`` are the qids.
        ``doc_ids`` come from comments ``#docid = X`` (MQ2007, MQ2008), or else are
        "<qid>:<place in the query, from 0>". The lines of a query need not stand together.

    Raises
    ------
    ValueError
        With file and line: a malformed line, a missing qid, a value that is NaN, infinite or
        beyond float32, a feature index below 1 or not rising, a grade that is not an integer in
        0..max_grade, a damaged gzip file. With the file: no documents in it, or a shared qid.
    FileNotFoundError
        With the file.
    MemoryError
        The world would not fit into the memory that is available (where the system tells).

    Notes
    -----
    Time grows with the lines that are read, about 15 MB of text per second. Memory is 4 bytes per
    feature of each line read, and about 5 for each place of the world: Q x ``n_docs``, or
    without ``n_docs`` Q x the longest list. For MSLR-WEB10K this is about 2 GB with ten documents
    per query, and 8 GB with all of them, most of which is padding.
    """
    paths = existing_files(path_or_paths, "path_or_paths")
    keep = _Keep(
        None if n_docs is None else checks.positive_integer(n_docs, "n_docs", 2),
        None if max_queries is None else checks.positive_integer(max_queries, "max_queries"),
        checks.positive_integer(min_docs, "min_docs"),
        mixed_grades,
    )
    max_grade = checks.positive_integer(max_grade, "max_grade")
    seed = checks.positive_integer(seed, "seed", 0)
    check_sampler(sampler)
    draw_rng, query_rng = np.random.default_rng(seed).spawn(2)

    blocks = _read_files(paths, max_grade, keep)
    qid = np.concatenate([block.qid for block in blocks])
    grade = np.concatenate([block.grade for block in blocks])
    width = max(block.features.shape[1] for block in blocks)
    query = _number_queries(qid)
    kept = np.flatnonzero(keep.select_queries(query, grade))[:max_queries]
    if not len(kept):
        raise ValueError(f"no query passes min_docs={min_docs}, mixed_grades={mixed_grades}")
    longest = int(np.bincount(query)[kept].max())
    _require_memory(keep.world_bytes(len(kept), longest, width), paths)
    line, place = _list_lines(query, kept, longest)
    if n_docs is not None:
        drawn = draw_candidates(sampler, grade[line], line >= 0, n_docs, draw_rng)
        line = np.where(drawn < 0, -1, np.take_along_axis(line, np.maximum(drawn, 0), axis=1))

    return World(
        np.where(line >= 0, grade[line], -1),
        _gather_features(blocks, line, width),
        power_law(len(kept), query_rng),
        query_ids=qid[line.max(axis=1)].astype(np.str_),
        doc_ids=_name_documents(blocks, qid, place, line),
        max_grade=max_grade,
        name=" + ".join(path.name for path in paths),
    )


class _Keep(NamedTuple):
    """What to keep of the files: the arguments of ``load_letor``."""

    n_docs: int | None
    max_queries: int | None
    min_docs: int
    mixed_grades: bool

    def select_queries(self, query: Integers, grade: NDArray[np.int8]) -> Booleans:
        """Return which queries (Q,) pass, given the query and grade of each line (n,)."""
        count = np.bincount(query)
        mixed = np.zeros(len(count), dtype=bool)
        first = np.unique(query, return_index=True)[1]
        mixed[query[grade != grade[first][query]]] = True
        return (count >= self.min_docs) & (mixed | (not self.mixed_grades))

    def is_complete(self, blocks: list[_Block], n_queries: int) -> bool:
        """Return whether these blocks, of ``n_queries`` queries, hold all that is to be kept."""
        if self.max_queries is None or n_queries <= self.max_queries:
            return False
        query = _number_queries(np.concatenate([block.qid for block in blocks]))
        passing = self.select_queries(query, np.concatenate([block.grade for block in blocks]))
        passing[query[-1]] = False  # it may go on in the next block
        return int(passing.sum()) >= self.max_queries

    def world_bytes(self, n_queries: float, longest: int, width: int) -> float:
        """Return the memory of a world of the lines: features, their check, lists and names."""
        places = n_queries * (self.n_docs or longest)
        return 5 * places * width + 120 * n_queries * longest


def _read_files(paths: list[Path], max_grade: int, keep: _Keep) -> list[_Block]:
    """Read blocks and make their features dense, while there is memory for what is to be kept."""
    blocks: list[_Block] = []
    file_of: dict[int, int] = {}
    counts: Counter[int] = Counter()
    sizes = [path.stat().st_size for path in paths]
    for number, path in enumerate(paths):
        empty = True
        for block in _read_blocks(path, max_grade):
            empty = False
            counts.update(block.qid.tolist())
            for qid in np.unique(block.qid).tolist():
                if file_of.setdefault(qid, number) != number:
                    raise ValueError(f"{path}: qid {qid} is also in {paths[file_of[qid]]}")
            growth = sum(sizes) / (sum(sizes[:number]) + block.position)
            if keep.max_queries is not None:
                growth = max(1.0, min(growth, keep.max_queries / len(counts)))
            lines_to_store = counts.total() * (growth - 1) + len(block.qid)
            width = block.features.shape[1]
            padded = keep.world_bytes(len(counts) * growth, max(counts.values()), width)
            _require_memory(4 * width * lines_to_store + padded, paths)
            blocks.append(block._replace(features=block.features.toarray()))
            if keep.is_complete(blocks, len(counts)):
                return blocks
        if empty:
            raise ValueError(f"{path}: no documents in it")
    return blocks


def _require_memory(needed: float, paths: list[Path]) -> None:
    advice = (
        "give n_docs= to draw some documents of each query, or max_queries= to read fewer queries"
    )
    require_memory(needed, ", ".join(map(str, paths)), advice)


def _number_queries(qid: Integers) -> Integers:
    """Return each line's query (n,), numbered from 0 in the order in which qids first appear."""
    _, first, index = np.unique(qid, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[index]


def _list_lines(query: Integers, kept: Integers, longest: int) -> tuple[Integers, Integers]:
    """Return line numbers of the kept queries' documents, (Q, longest), and places of lines (n,).

    A line number is -1 where there is none. A line's place is the number of lines of its query
    before it.
    """
    counts = np.bincount(query)
    order = np.argsort(query, kind="stable")
    place = np.empty_like(query)
    place[order] = np.arange(len(query)) - np.repeat(np.cumsum(counts) - counts, counts)
    row = np.full(len(counts), -1)
    row[kept] = np.arange(len(kept))
    inside = np.flatnonzero(row[query] >= 0)
    line = np.full((len(kept), longest), -1)
    line[row[query[inside]], place[inside]] = inside
    return line, place


def _name_documents(
    blocks: list[_Block], qid: Integers, place: Integers, line: Integers
) -> NDArray[np.str_]:
    """Return document names, shaped like ``line``; "" where there is no document."""
    made = np.char.add(np.char.add(qid.astype(np.str_), ":"), place.astype(np.str_))
    given = np.concatenate([block.doc_ids for block in blocks])
    names = np.where(given == "", made, given)
    result = np.full(line.shape, "", dtype=names.dtype)
    result[line >= 0] = names[line[line >= 0]]
    return result


def _gather_features(blocks: list[_Block], line: Integers, width: int) -> NDArray[np.float32]:
    """Return features (Q, N, width) of the documents in these lines (Q, N); 0 for no document."""
    features = np.zeros((*line.shape, width), dtype=np.float32)
    start = 0
    for block in blocks:
        stop = start + len(block.qid)
        here = (line >= start) & (line < stop)
        features[here, : block.features.shape[1]] = block.features[line[here] - start]
        start = stop
    features.flags.writeable = False  # a world shares such an array instead of copying it
    return features


class _Block(NamedTuple):
    """The documents of some consecutive lines."""

    qid: Integers  # (n,)
    grade: NDArray[np.int8]  # (n,)
    features: Any  # (n, F) float32, F as far as seen here; a SciPy matrix, sparse
    doc_ids: NDArray[np.str_]  # (n,), "" for a line that gives none
    position: int  # bytes of the file read so far


def _read_blocks(path: Path, max_grade: int) -> Iterator[_Block]:
    """Yield the documents of a file, plain or gzip.

    Anything malformed is a ValueError that names file and line.
    """
    first = 1
    with path.open("rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
        file.seek(0)
        stream = gzip.GzipFile(fileobj=file) if packed else file
        while True:
            lines: list[bytes] = []
            try:
                lines.extend(islice(stream, BLOCK_LINES))
            except (EOFError, gzip.BadGzipFile, zlib.error) as error:
                where = f"{path}:{first + len(lines)}"
                raise ValueError(f"{where}: damaged or truncated gzip file ({error})") from error
            if not lines:
                return
            block = _parse_lines(path, first, lines, max_grade, file.tell())
            if len(block.qid):
                yield block
            first += len(lines)


def _parse_lines(
    path: Path, first: int, lines: list[bytes], max_grade: int, position: int
) -> _Block:
    """Parse lines, the first of which has the number ``first``."""
    from sklearn.datasets import load_svmlight_file  # here, because it takes long to import

    try:
        features, grade, qid = load_svmlight_file(
            io.BytesIO(b"".join(lines)), dtype=np.float32, zero_based=False, query_id=True
        )
    except (ValueError, OverflowError) as error:
        raise _locate_fault(path, first, lines, max_grade, str(error)) from error
    sound = (
        len(qid) == len(grade)  # the parser skips a missing qid silently
        and np.isin(grade, np.arange(max_grade + 1)).all()
        and np.isfinite(features.data).all()
    )
    if not sound:
        raise _locate_fault(path, first, lines, max_grade, "malformed")
    return _Block(qid, grade.astype(np.int8), features, _find_doc_ids(lines), position)


def _find_doc_ids(lines: list[bytes]) -> NDArray[np.str_]:
    """Return the names that comments give to the documents of these lines, "" for no name."""
    found = [DOC_ID.search(line) for line in lines if line.partition(b"#")[0].strip()]
    names = [match[1].decode(errors="replace") if match else "" for match in found]
    return np.array(names, dtype=np.str_)


def _locate_fault(
    path: Path, first: int, lines: list[bytes], max_grade: int, otherwise: str
) -> ValueError:
    """Return an error that names the first malformed line and what is wrong with it."""
    for number, line in enumerate(lines, start=first):
        fault = _describe_fault(line, max_grade)
        if fault:
            return ValueError(f"{path}:{number}: {fault}")
    return ValueError(f"{path}:{first} to {first + len(lines) - 1}: {otherwise}")


def _describe_fault(line: bytes, max_grade: int) -> str:
    """Say what is wrong with a line; "" if nothing is.

    What is wrong here must be wrong for ``_parse_lines`` too: this only puts it into words.
    """
    words = line.partition(b"#")[0].split()
    if not words:
        return ""
    try:
        grade = float(words[0])
    except ValueError:
        return f"grade {_quote(words[0])} is not a number"
    if not grade.is_integer():
        return f"grade {_quote(words[0])} is not an integer"
    if not 0 <= grade <= max_grade:
        return f"grade {grade:.0f} is outside 0..{max_grade} (max_grade)"
    if len(words) < 2 or not words[1].startswith(b"qid"):
        return "no qid after the grade"
    try:
        np.int64(words[1].partition(b":")[2])
    except (ValueError, OverflowError):
        return f"{_quote(words[1])} is not qid:integer"
    previous = 0
    for word in words[2:]:
        left, _, right = word.partition(b":")
        try:
            index, value = int(left), float(right)
        except ValueError:
            return f"{_quote(word)} is not index:value"
        if not 1 <= index <= LARGEST_INDEX:
            return f"feature index {index} is outside 1..{LARGEST_INDEX}"
        if index <= previous:
            return f"feature index {index} comes after {previous}: indices must rise"
        if not abs(value) <= LARGEST:
            return f"feature {index} is {_quote(right)}, not a finite float32 number"
        previous = index
    return ""


def _quote(word: bytes) -> str:
    return repr(word[:40].decode(errors="replace"))
