"""Results that come with the package, so that a new model costs only its own cells."""

from __future__ import annotations

from pathlib import Path

from ..engine.rows import load_rows
from .protocol import ROW_VERSION, Protocol, Row, shared_settings

RESULTS = Path(__file__).parent / "results"


def shipped_rows(study: Protocol | None = None, folder: Path = RESULTS) -> list[Row]:
    """Return the rows that come with the package; with ``study``, those of its own settings.

    Of a study they are its users, logging policies and seeds, all models, computed as this version
    computes them; none where there are no such results.
    """
    rows = [row for path in sorted(folder.glob("*.parquet")) for row in load_rows(path)]
    if study is None:
        return rows
    wanted = {**shared_settings(study), "version": ROW_VERSION}
    return [
        row
        for row in rows
        if all(row.get(name) == value for name, value in wanted.items())
        and row["user"] in study.users
        and row["logging"] in study.loggings
        and row["seed"] < study.seeds
    ]
