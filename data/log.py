"""A click log: what was shown, with which propensity, and what was clicked."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import ArrayLike, NDArray

from ..common import checks
from ..common.grouping import fold_rows, take_rows
from ..common.runtime import warn_caller
from ..common.storage import write_whole
from ..common.typing import Booleans, Floats

if TYPE_CHECKING:
    from .world import World

METADATA_KEY = b"clickgym"
FORMAT = 1


class _Numbers(NamedTuple):
    """An optional column of one number per row: what the numbers may be, and how rows fold."""

    lowest: float
    highest: float
    allowed: str
    adds_up: bool = False  # whether equal rows fold into one with the sum, or must agree in it
    whole: bool = False  # int32 instead of floats


# A column is declared by its field of ``ClickLog`` and here: checks, choosing rows, folding and
# files go by these.
OPTIONAL = {
    "log_propensity": _Numbers(-np.inf, 1e-9, "at most 0"),
    "weight": _Numbers(0.0, np.inf, "at least 0", adds_up=True),
    "vertical": _Numbers(-1, 2**31 - 1, "a type from 0 on, or -1 for none", whole=True),
    "vertical_position": _Numbers(-1, 2**31 - 1, "a position from 0 on, or -1", whole=True),
}
COLUMNS = ("query", "ranking", "clicks", *OPTIONAL)
_EXTRA = "extra:"  # begins the names of extra columns in files


@dataclass(frozen=True, eq=False, repr=False)
class ClickLog:
    """Impressions of result pages, one per row; read-only views of the arrays given, not copies.

    Parameters
    ----------
    query : (n,) integers
    ranking : (n, K) integers
        Candidate indices; -1 = empty slot, and empty slots only trail.
    clicks : (n, K) bool
        Never set on an empty slot.
    log_propensity : (n,) floats, optional
        log of the logging policy's probability of the ranking, given the query.
    weight : (n,) floats, optional
        How many impressions a row stands for; every metric honours it.
    vertical, vertical_position : (n,) integers, optional, both or neither
        The type of the page's vertical block (images, news, …), 0 .. T-1, and how many web
        results stand above it, 0 .. K. -1 in either says that the page shows none; it then stands
        in both. The block is not one of the K results and has no click of its own.
    extra : mapping from names to (n,) arrays, optional
        What else is known of each page: session, user, time, …. Kept when rows are chosen, split,
        saved and loaded.
    fingerprint : str, optional
        The world's; using the log with another world is then an error.
    """

    query: NDArray[np.int32]
    ranking: NDArray[Any]
    clicks: Booleans
    log_propensity: Floats | None = None
    weight: Floats | None = None
    vertical: NDArray[np.int32] | None = field(default=None, kw_only=True)
    vertical_position: NDArray[np.int32] | None = field(default=None, kw_only=True)
    extra: Mapping[str, NDArray[Any]] = field(default_factory=dict, kw_only=True)
    fingerprint: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        query = checks.integers(self.query, "query", 1)
        ranking = checks.integers(self.ranking, "ranking", 2)
        clicks = checks.booleans(self.clicks, "clicks", 2)
        n = len(query)
        if ranking.shape[1] == 0:
            raise ValueError("ranking must have at least one slot")
        checks.same_shape(ranking, (n, ranking.shape[1]), "ranking", "query")
        checks.same_shape(clicks, ranking.shape, "clicks", "ranking")
        if n and (query.min() < 0 or query.max() > np.iinfo(np.int32).max):
            raise ValueError("query must hold indices from 0 on")
        limit = np.iinfo(np.int32).max
        checks.rankings(ranking, query, limit, limit)
        empty_clicked = clicks & (ranking < 0)
        if empty_clicked.any():
            row, slot = np.argwhere(empty_clicked)[0]
            raise ValueError(f"clicks[{row}, {slot}] is set, but that slot is empty")
        self._freeze("query", query.astype(np.int32, copy=False))
        if ranking.dtype == np.uint64:  # which NumPy adds to signed integers as floats
            ranking = ranking.astype(np.int64)
        self._freeze("ranking", ranking)
        self._freeze("clicks", clicks)
        for name, column in OPTIONAL.items():
            value = getattr(self, name)
            if value is None:
                continue
            read = checks.integers if column.whole else checks.finite
            array = read(value, name, 1)
            checks.same_shape(array, (n,), name, "query")
            wrong = (array < column.lowest) | (array > column.highest)
            if wrong.any():
                row = int(np.flatnonzero(wrong)[0])
                raise ValueError(f"{name}[{row}] is {array[row]}, but must be {column.allowed}")
            self._freeze(name, array.astype(np.int32, copy=False) if column.whole else array)
        self._check_verticals()
        extra = {str(name): _check_extra(value, str(name), n) for name, value in self.extra.items()}
        object.__setattr__(self, "extra", MappingProxyType(extra))

    def _check_verticals(self) -> None:
        """Raise unless every block has a type and a place; leave -1 in both where it has not."""
        types, places = self.vertical, self.vertical_position
        if types is None and places is None:
            return
        if types is None or places is None:
            given, missing = ("vertical", "vertical_position")[:: -1 if types is None else 1]
            raise ValueError(f"{given} is given without {missing}: a block has a type and a place")
        low = places > self.slots
        if low.any():
            row = int(np.flatnonzero(low)[0])
            raise ValueError(
                f"vertical_position[{row}] is {places[row]}, but only {self.slots} results can "
                "stand above the block"
            )
        none = (types < 0) | (places < 0)
        if ((types >= 0) & none).any() or ((places >= 0) & none).any():
            self._freeze("vertical", np.where(none, np.int32(-1), types))
            self._freeze("vertical_position", np.where(none, np.int32(-1), places))

    def _freeze(self, name: str, array: NDArray[Any] | None) -> None:
        """Set a column to a read-only view of ``array``."""
        view = None if array is None else array.view()
        if view is not None:
            view.flags.writeable = False
        object.__setattr__(self, name, view)

    def __repr__(self) -> str:
        weighted = "" if self.weight is None else f" for {self.impressions:,.0f} impressions"
        propensities = "no" if self.log_propensity is None else "with"
        verticals = ""
        if self.vertical is not None:
            verticals = f", {int((self.vertical >= 0).sum()):,} with a vertical"
        return (
            f"ClickLog({len(self):,} rows{weighted}, {self.slots} slots, {propensities} "
            f"propensities{verticals})"
        )

    def __len__(self) -> int:
        """Return the number of rows n."""
        return len(self.query)

    def __getitem__(self, rows: slice | ArrayLike) -> ClickLog:
        """Return the chosen rows (a slice, a mask or indices) as a log."""
        index = rows if isinstance(rows, slice) else np.asarray(rows)
        if not isinstance(index, slice) and index.ndim != 1:
            raise ValueError(f"rows must be a slice, a mask or indices, not {rows!r}")
        return self._choose(index)

    def _choose(self, index: slice | NDArray[Any], **folded: Floats) -> ClickLog:
        """Return the chosen rows, which were checked when this was made; ``folded`` as given."""
        log = object.__new__(ClickLog)
        for name in COLUMNS:
            array = getattr(self, name)
            log._freeze(name, folded.get(name, None if array is None else take_rows(array, index)))
        extra = {name: _read_only(array[index]) for name, array in self.extra.items()}
        object.__setattr__(log, "extra", MappingProxyType({} if folded else extra))
        object.__setattr__(log, "fingerprint", self.fingerprint)
        return log

    @property
    def slots(self) -> int:
        """Number of slots K."""
        return self.ranking.shape[1]

    @property
    def impressions(self) -> float:
        """Number of impressions: the rows, or the sum of their weights."""
        return float(len(self)) if self.weight is None else float(self.weight.sum())

    @property
    def counts(self) -> NDArray[np.float64]:
        """How many impressions each row stands for, (n,): ``weight``, or ones without it."""
        return np.ones(len(self)) if self.weight is None else self.weight

    def blocks(
        self, rows: slice | NDArray[Any]
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]] | tuple[None, None]:
        """Return ``vertical`` and ``vertical_position`` of the chosen rows; None without any."""
        if self.vertical is None or self.vertical_position is None:
            return None, None
        return self.vertical[rows], self.vertical_position[rows]

    def check_world(self, world: World) -> None:
        """Raise unless this log belongs to ``world`` and shows only documents that it has."""
        world.check_fingerprint(self.fingerprint, "the log")
        checks.rankings(self.ranking, self.query, world.n_queries, world.n_docs)

    def split(self, fractions: Sequence[float], seed: int) -> tuple[ClickLog, ...]:
        """Split the rows at random into one log for each of ``fractions``, which sum to one."""
        shares = _check_fractions(fractions)
        order = np.random.default_rng(seed).permutation(len(self))
        bounds = np.rint(np.cumsum(shares)[:-1] * len(self)).astype(int)
        return tuple(self[np.sort(part)] for part in np.split(order, bounds))

    def split_by(
        self, name: str, fractions: Sequence[float], seed: int = 0
    ) -> tuple[ClickLog, ...]:
        """Split whole groups of rows with the same value of an extra column.

        By ``"time"`` the earliest rows come first; by ``"user"``, ``"session"`` or any other
        column groups are drawn in random order. Each part ends with the group that brings it
        nearest to its fraction of the rows, so parts are as long as groups allow.
        """
        if name not in self.extra:
            has = ", ".join(self.extra) or "no extra columns"
            raise ValueError(f"the log has no column {name!r} to split by; it has {has}")
        shares = _check_fractions(fractions)
        if name == "time":
            _check_times(self.extra[name])
        _, group, counts = np.unique(self.extra[name], return_inverse=True, return_counts=True)
        order = np.arange(len(counts))
        if name != "time":
            order = np.random.default_rng(seed).permutation(len(counts))
        ends = np.concatenate([[0], np.cumsum(counts[order])])
        wanted = np.cumsum(shares)[:-1] * len(self)
        after = np.clip(np.searchsorted(ends, wanted), 1, len(ends) - 1)
        nearer = wanted - ends[after - 1] < ends[after] - wanted
        bounds = after - nearer
        part = np.empty(len(counts), dtype=np.int64)
        part[order] = np.searchsorted(bounds, np.arange(len(counts)), "right")
        return tuple(self[part[group] == number] for number in range(len(shares)))

    def compress(self) -> ClickLog:
        """Fold equal rows into one row with the sum of their weights.

        The likelihood of any model is unchanged. Rows whose propensities or verticals differ stay
        apart. Costs
        a sort of one 64-bit word per row (see ``common.grouping``). Extra columns are dropped,
        with a warning: equal pages of different users are one row then.
        """
        if self.extra:
            warn_caller(f"compress drops the log's columns {', '.join(self.extra)}", UserWarning)
        rows = [self.query[:, None], self.ranking, self.clicks]  # few bits last: they fill up
        for name, column in OPTIONAL.items():
            array = getattr(self, name)
            if array is not None and not column.adds_up:
                rows.append((array if column.whole else array.view(np.uint64))[:, None])
        first, weight = fold_rows(rows, self.weight)
        return self._choose(first, weight=weight)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the log as Parquet, atomically."""
        arrays = {name: getattr(self, name) for name in COLUMNS}
        table = pa.table(
            {name: _to_arrow(array) for name, array in arrays.items() if array is not None}
            | {_EXTRA + name: pa.array(array) for name, array in self.extra.items()}
        )
        header = {"format": FORMAT, "slots": self.slots, "fingerprint": self.fingerprint}
        table = table.replace_schema_metadata({METADATA_KEY: json.dumps(header).encode()})
        with write_whole(path) as temporary:
            pq.write_table(table, temporary, compression="zstd", write_page_checksum=True)

    @staticmethod
    def is_saved(path: str | os.PathLike[str]) -> bool:
        """Return whether a file is a log written by ``save``, and not another table."""
        try:
            metadata = pq.read_schema(path).metadata
        except (pa.ArrowException, OSError, ValueError):
            return False
        return METADATA_KEY in (metadata or {})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> ClickLog:
        """Read a log written by ``save``; anything else is an error that names the file."""
        path = Path(path)
        if not path.is_file():
            raise FileNotFoundError(f"{path}: no such file")
        try:
            table = pq.read_table(path, page_checksum_verification=True)
        except (pa.ArrowException, OSError, ValueError) as error:
            raise ValueError(f"{path}: not a whole Parquet file ({error})") from error
        metadata = (table.schema.metadata or {}).get(METADATA_KEY)
        if metadata is None:
            raise ValueError(f"{path}: a Parquet file, but not a click log that clickgym wrote")
        try:
            return cls(**_from_arrow(table, json.loads(metadata)))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{path}: {error}") from error


def _from_arrow(table: pa.Table, header: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of the log that ``save`` wrote as ``table``."""
    if header["format"] != FORMAT:
        raise ValueError(f"written in format {header['format']}, this reads {FORMAT}")
    data: dict[str, Any] = {"fingerprint": header["fingerprint"]}
    for name in COLUMNS:
        if name in OPTIONAL and name not in table.column_names:
            continue
        column = table[name]
        if pa.types.is_fixed_size_list(column.type):
            flat = column.combine_chunks().flatten().to_numpy(zero_copy_only=False)
            data[name] = flat.reshape(table.num_rows, header["slots"])
        else:
            data[name] = column.to_numpy()
    data["extra"] = {
        name.removeprefix(_EXTRA): table[name].to_numpy()
        for name in table.column_names
        if name.startswith(_EXTRA)
    }
    return data


def _check_fractions(fractions: Sequence[float]) -> Floats:
    shares = checks.probabilities(fractions, "fractions", 1)
    if len(shares) == 0 or abs(shares.sum() - 1.0) > 1e-9:
        raise ValueError(f"fractions must sum to 1, not {shares.sum():.8g}")
    return shares


def _check_times(times: NDArray[Any]) -> None:
    """Raise unless times have an order: text sorts by its letters, and gaps have no place."""
    if times.dtype.kind == "U":
        raise ValueError(
            f"times are text such as {str(times[:1][0]) if len(times) else ''!r}, whose order is "
            "not that of time; give numbers or dates"
        )
    if times.dtype.kind in "fMm" and np.isnan(times).any():
        raise ValueError(f"row {int(np.flatnonzero(np.isnan(times))[0])} has no time")


def _check_extra(value: ArrayLike, name: str, n: int) -> NDArray[Any]:
    """Return a column of numbers, times or texts, (n,)."""
    array = np.asarray(value)
    if array.dtype.kind == "O":
        array = array.astype(np.str_)
    if array.dtype.kind not in "biufMmU" or array.shape != (n,):
        raise ValueError(
            f"extra[{name!r}] must hold one number, time or text per row, ({n},), not "
            f"{array.dtype} of shape {array.shape}"
        )
    return _read_only(array)


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    view = array.view()
    view.flags.writeable = False
    return view


def _to_arrow(array: NDArray[Any]) -> pa.Array:
    """Return a column of numbers, (n,), or of lists of one length, (n, K)."""
    flat = pa.array(np.ascontiguousarray(array).reshape(-1))
    return flat if array.ndim == 1 else pa.FixedSizeListArray.from_arrays(flat, array.shape[1])
