"""The lines of a LETOR file: read by blocks with a compiled parser, and checked."""

from __future__ import annotations

import gzip
import io
import re
import zlib
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

# Blocks, because the compiled parser's time grows with the square of the lines it gets at once.
BLOCK_LINES = 10_000
DOC_ID = re.compile(rb"#\s*docid\s*=\s*(\S+)")
LARGEST = float(np.finfo(np.float32).max)
LARGEST_INDEX = 2**31 - 1


class Block(NamedTuple):
    """The documents of some consecutive lines."""

    qid: NDArray[np.int64]  # (n,)
    grade: NDArray[np.int8]  # (n,)
    features: Any  # (n, F) float32, F as far as seen here; a SciPy matrix, sparse
    doc_ids: NDArray[np.str_]  # (n,), "" for a line that gives none
    position: int  # bytes of the file read so far


def read_blocks(path: Path, max_grade: int) -> Iterator[Block]:
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
            block = _parsed(path, first, lines, max_grade, file.tell())
            if len(block.qid):
                yield block
            first += len(lines)


def _parsed(path: Path, first: int, lines: list[bytes], max_grade: int, position: int) -> Block:
    """Parse lines, the first of which has the number ``first``."""
    from sklearn.datasets import load_svmlight_file  # here, because it takes long to import

    try:
        features, grade, qid = load_svmlight_file(
            io.BytesIO(b"".join(lines)), dtype=np.float32, zero_based=False, query_id=True
        )
    except (ValueError, OverflowError) as error:
        raise _located(path, first, lines, max_grade, str(error)) from error
    sound = (
        len(qid) == len(grade)  # the parser skips a missing qid silently
        and np.isin(grade, np.arange(max_grade + 1)).all()
        and np.isfinite(features.data).all()
    )
    if not sound:
        raise _located(path, first, lines, max_grade, "malformed")
    return Block(qid, grade.astype(np.int8), features, _doc_ids(lines), position)


def _doc_ids(lines: list[bytes]) -> NDArray[np.str_]:
    """Names that comments give to the documents of these lines, "" where there is none."""
    found = [DOC_ID.search(line) for line in lines if line.partition(b"#")[0].strip()]
    names = [match[1].decode(errors="replace") if match else "" for match in found]
    return np.array(names, dtype=np.str_)


def _located(
    path: Path, first: int, lines: list[bytes], max_grade: int, otherwise: str
) -> ValueError:
    """Return an error that names the first malformed line and what is wrong with it."""
    for number, line in enumerate(lines, start=first):
        fault = _fault(line, max_grade)
        if fault:
            return ValueError(f"{path}:{number}: {fault}")
    return ValueError(f"{path}:{first} to {first + len(lines) - 1}: {otherwise}")


def _fault(line: bytes, max_grade: int) -> str:
    """Say what is wrong with a line; "" if nothing is.

    What is wrong here must be wrong for ``_parsed`` too: this only puts it into words.
    """
    words = line.partition(b"#")[0].split()
    if not words:
        return ""
    try:
        grade = float(words[0])
    except ValueError:
        return f"grade {_shown(words[0])} is not a number"
    if not grade.is_integer():
        return f"grade {_shown(words[0])} is not an integer"
    if not 0 <= grade <= max_grade:
        return f"grade {grade:.0f} is outside 0..{max_grade} (max_grade)"
    if len(words) < 2 or not words[1].startswith(b"qid"):
        return "no qid after the grade"
    try:
        np.int64(words[1].partition(b":")[2])
    except (ValueError, OverflowError):
        return f"{_shown(words[1])} is not qid:integer"
    previous = 0
    for word in words[2:]:
        left, _, right = word.partition(b":")
        try:
            index, value = int(left), float(right)
        except ValueError:
            return f"{_shown(word)} is not index:value"
        if not 1 <= index <= LARGEST_INDEX:
            return f"feature index {index} is outside 1..{LARGEST_INDEX}"
        if index <= previous:
            return f"feature index {index} comes after {previous}: indices must rise"
        if not abs(value) <= LARGEST:
            return f"feature {index} is {_shown(right)}, not a finite float32 number"
        previous = index
    return ""


def _shown(word: bytes) -> str:
    return repr(word[:40].decode(errors="replace"))
