"""The rankings that a policy would show, in the world's own ids: what gets deployed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from numpy.typing import NDArray

from ..common.runtime import import_extra
from ..common.storage import write_whole
from ..data import World

if TYPE_CHECKING:
    from .base import Policy


class DeployedRankings:
    """The greedy ranking of each query that has candidates, one row per shown document.

    Parameters
    ----------
    policy : Policy
        Of a stochastic policy, the ranking that takes the likeliest next document at every slot.
    world : World
        Whose ids are given; without ids they are its indices.

    Attributes
    ----------
    table : pyarrow.Table
        ``query``, ``rank`` (from 1), ``document``; of a policy that places blocks also
        ``vertical_position``, the likeliest place on the query's page (-1 = not shown).
    """

    def __init__(self, policy: Policy, world: World) -> None:
        policy.check_world(world)
        query = np.flatnonzero(world.n_candidates > 0)
        ranking = policy.greedy(query)
        page, slot = np.nonzero(ranking >= 0)
        shown = query[page], ranking[page, slot]
        columns = {
            "query": shown[0] if world.query_ids is None else _texts(world.query_ids[shown[0]]),
            "rank": slot + 1,
            "document": shown[1] if world.doc_ids is None else _texts(world.doc_ids[shown]),
        }
        if policy.places_blocks and world.vertical is not None:
            place = policy.place_log_probs(query, ranking).argmax(axis=1) - 1
            columns["vertical_position"] = np.where(world.vertical[query] >= 0, place, -1)[page]
        self.table = pa.table(columns)

    def to_frame(self) -> Any:
        """Return the rows as a pandas frame; needs ``clickgym[plots]``."""
        import_extra("pandas", "plots", "frames need")
        return self.table.to_pandas()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the rows as CSV or Parquet, as the name ends, whole or not at all."""
        writers = {".csv": pyarrow.csv.write_csv, ".parquet": pyarrow.parquet.write_table}
        suffix = Path(path).suffix.lower()
        if suffix not in writers:
            raise ValueError(f"{path}: rankings are written as .csv or .parquet, not {suffix!r}")
        with write_whole(path) as temporary, pa.OSFile(str(temporary), "wb") as file:
            writers[suffix](self.table, file)


def _texts(ids: NDArray[np.str_]) -> pa.Array:
    return pa.array(ids.tolist(), pa.string())
