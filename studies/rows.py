"""Rows of results as Parquet."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from ..data.files import replaced


def save_rows(rows: Sequence[dict[str, Any]], path: str | os.PathLike[str]) -> None:
    """Write rows with the same keys, atomically."""
    import pyarrow
    from pyarrow import parquet

    with replaced(path) as temporary:
        parquet.write_table(pyarrow.Table.from_pylist(list(rows)), temporary)


def load_rows(path: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """Read what ``save_rows`` wrote."""
    from pyarrow import parquet

    rows: list[dict[str, Any]] = parquet.read_table(path).to_pylist()
    return rows
