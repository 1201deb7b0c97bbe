"""Files of ratings: MovieLens in all its formats, and plain CSV."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.csv
from numpy.typing import NDArray

from ...common.memory import require_memory
from ..ratings import HIGHEST, BadRating, Ratings
from .log_files import PathLike

FILES = ("u.data", "ratings.dat", "ratings.csv")
# The names that a header may give to the three columns, in small letters, without "_".
HEADERS = (
    ("user", "userid"),
    ("item", "itemid", "movie", "movieid"),
    ("rating", "stars"),
)
_BYTES_PER_RATING = 60  # while a file is read: Arrow's columns, indices, and the order of pairs
_TEXT = pa.dictionary(pa.int32(), pa.string())


def load_movielens(path: PathLike) -> Ratings:
    """Read ratings of a MovieLens data set, or of a plain CSV file.

    Parameters
    ----------
    path : path
        A file, or the folder of a data set with a file ``u.data``, ``ratings.dat`` or
        ``ratings.csv`` in it. What the file looks like decides how it is read, not its name:

        - ``user TAB item TAB rating TAB time`` (ml-100k)
        - ``user::item::rating::time`` (ml-1m, ml-10m)
        - ``userId,movieId,rating,timestamp`` (ml-latest, ml-latest-small, ml-20m, ml-25m, ml-32m)
        - ``user,item,rating``

        The last two with a header, whose columns may then be in any order among others, or without
        one. Files that end in ``.gz`` are unpacked while they are read.

    Returns
    -------
    Ratings
        In the order of the file; users and items are numbered in the order of their first
        ratings. Half stars are rounded up: 0.5 becomes 1, 2.5 becomes 3.

    Raises
    ------
    ValueError
        With file and line: a malformed row, a rating that is no number of half stars from 0.5 to
        5, a second rating of the same item by the same user. With the file or folder: no ratings
        in it.
    FileNotFoundError
        With the path.

    Notes
    -----
    Reads about a million ratings a second and takes about 60 bytes for each while it does.
    """
    file = _find_file(Path(path))
    layout = _look_at(file)
    require_memory(
        _BYTES_PER_RATING / 20 * file.stat().st_size * (4 if file.suffix == ".gz" else 1),
        str(file), "read a part of the ratings",
    )  # fmt: skip
    try:
        with _open(file) as stream:
            table = pyarrow.csv.read_csv(stream, *layout.options())
    except (pa.ArrowInvalid, pa.ArrowKeyError) as error:
        layout.raise_first_bad_line(error)
    if not table.num_rows:
        raise ValueError(f"{file}: no ratings in it")
    stars = _read_stars(table.column(2), layout)
    user, user_ids = _encode(table.column(0), "user", layout)
    item, item_ids = _encode(table.column(1), "item", layout)
    del table
    try:
        return Ratings(user, item, np.ceil(stars).astype(np.int8), user_ids, item_ids)
    except BadRating as error:
        also = "" if error.other is None else f" already in line {layout.line_of(error.other)}"
        layout.fail(error.row, f"{error.reason}{also}")


def _find_file(path: Path) -> Path:
    if path.is_file():
        return path
    if not path.is_dir():
        raise FileNotFoundError(f"{path}: no such file or folder")
    found = [path / name for name in FILES if (path / name).is_file()]
    if len(found) != 1:
        names = " and ".join(file.name for file in found) or "none of them"
        raise ValueError(
            f"{path}: a folder must have one of {', '.join(FILES)} in it, and this has {names}; "
            "name the file itself"
        )
    return found[0]


def _open(path: Path) -> pa.NativeFile:
    return pa.input_stream(str(path), compression="gzip" if path.suffix == ".gz" else None)


@dataclass(frozen=True)
class _Layout:
    """How the rows of a file are split, and where user, item and rating are."""

    path: Path
    mark: str  # between fields
    places: tuple[int, int, int]
    n_fields: int
    header: bool

    def options(self) -> tuple[object, object, object]:
        """Return how Arrow reads the file. It splits at one letter, so "::" has a field inside."""
        step = len(self.mark)
        names = [str(number) for number in range(step * (self.n_fields - 1) + 1)]
        user, item, rating = (names[step * place] for place in self.places)
        return (
            pyarrow.csv.ReadOptions(column_names=names, skip_rows=self._lines_of_header()),
            pyarrow.csv.ParseOptions(
                delimiter=self.mark[0], quote_char='"' if self.mark == "," else False
            ),
            pyarrow.csv.ConvertOptions(
                include_columns=[user, item, rating],
                column_types={user: _TEXT, item: _TEXT, rating: pa.float64()},
            ),
        )

    def _lines_of_header(self) -> int:
        return next(number for number, _ in _lines(self.path)) if self.header else 0

    def records(self) -> Iterator[tuple[int, str]]:
        """Yield each row with its line. A loop over rows: only to find the line of an error."""
        return islice(_lines(self.path), int(self.header), None)

    def line_of(self, row: int) -> int:
        """Return the line, from 1, of a row, from 0."""
        return next(number for number, _ in islice(self.records(), row, None))

    def fail(self, row: int, what: str) -> NoReturn:
        """Raise an error about a row that names file and line."""
        raise ValueError(f"{self.path}, line {self.line_of(row)}: {what}")

    def raise_first_bad_line(self, error: Exception) -> NoReturn:
        """Raise an error that names the first line which is not a rating."""
        for number, line in self.records():
            fields = _split(line, self.mark)
            where = f"{self.path}, line {number}"
            if len(fields) != self.n_fields:
                raise ValueError(f"{where}: {len(fields)} fields, not {self.n_fields}") from None
            if math.isnan(_number(fields[self.places[2]])):
                what = f"the rating {fields[self.places[2]]!r} is not a number"
                raise ValueError(f"{where}: {what}") from None
        raise ValueError(f"{self.path}: cannot be read ({error})") from error


def _look_at(path: Path) -> _Layout:
    """Return the layout of a file, by its first line that is not blank."""
    number, line = next(_lines(path), (1, ""))
    if not line:
        raise ValueError(f"{path}: no ratings in it")
    mark = next((mark for mark in ("::", "\t") if mark in line), ",")
    fields = _split(line, mark)
    if len(fields) < 3:
        raise ValueError(
            f"{path}, line {number}: no user, item and rating, split by tabs, '::' or commas"
        )
    if not math.isnan(_number(fields[2])) or not math.isnan(_number(fields[-1])):
        return _Layout(path, mark, (0, 1, 2), len(fields), header=False)
    given = [field.strip().lower().replace("_", "") for field in fields]
    places = [[i for i, name in enumerate(given) if name in names] for names in HEADERS]
    if any(len(found) != 1 for found in places):
        raise ValueError(
            f"{path}, line {number}: neither a rating nor a header with the columns user, item and "
            f"rating (or userId, movieId, rating): {line.strip()[:80]!r}"
        )
    user, item, rating = (found[0] for found in places)
    return _Layout(path, mark, (user, item, rating), len(fields), header=True)


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield each line that is not blank with its number."""
    with _open(path) as stream:
        for number, line in enumerate(io.BufferedReader(stream), start=1):
            try:
                text = line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                raise ValueError(f"{path}, line {number}: not UTF-8 text ({error})") from error
            if text.strip("\r\n"):
                yield number, text.rstrip("\r\n")


def _split(line: str, mark: str) -> list[str]:
    return next(csv.reader([line])) if mark == "," else line.split(mark)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _read_stars(column: pa.ChunkedArray, layout: _Layout) -> NDArray[np.float64]:
    stars = column.to_numpy()  # a missing number becomes NaN
    halves = 2 * stars
    wrong = ~((halves >= 1) & (halves <= 2 * HIGHEST) & (halves == np.floor(halves)))
    if wrong.any():
        row = int(wrong.argmax())
        value = stars[row]
        what = "the rating is missing" if math.isnan(value) else (
            f"the rating {value:g} is not a number of whole or half stars from 0.5 to {HIGHEST}"
        )  # fmt: skip
        layout.fail(row, what)
    return stars


def _encode(
    column: pa.ChunkedArray, what: str, layout: _Layout
) -> tuple[NDArray[np.int32], NDArray[np.str_]]:
    """Return indices and distinct texts, numbered in the order of their first appearance."""
    column = column.unify_dictionaries()
    names = np.array(column.chunk(0).dictionary.to_pylist(), dtype=np.str_)
    codes = column.combine_chunks().indices.to_numpy()
    empty = np.flatnonzero(names == "")
    if len(empty):
        layout.fail(int((codes == empty[0]).argmax()), f"the {what} is empty")
    return codes, names
