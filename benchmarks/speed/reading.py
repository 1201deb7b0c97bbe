"""How many rows a second the reader of tables takes: CSV and Parquet with string ids.

    python benchmarks reading            (or: make bench)

A log of 2 million rows: 200,000 pages of ten documents, 5,000 queries with 30 documents each, ids
such as "https://shop.example/item/12345", ranks and clicks as whole numbers. From the file to the
world and the log, their checks and the world's fingerprint included. Files are in the cache of the
system. Work is timed in turn, round after round; the best round of each counts.
"""

from __future__ import annotations

import json
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from _measure import Row, judge, new_parser, new_table, save_rows, show, time_in_turn

from clickgym import data

PAGES, SLOTS, QUERIES, DOCUMENTS, ROUNDS = 200_000, 10, 5_000, 30, 5
BARS = {"CSV": 1e6, "Parquet": 1.5e6}


def make_table(pages: int) -> pa.Table:
    """One row per shown document."""
    rng = np.random.default_rng(0)
    query = rng.integers(0, QUERIES, pages)
    shown = np.argsort(rng.random((pages, DOCUMENTS)), axis=1)[:, :SLOTS]
    documents = (shown + DOCUMENTS * query[:, None]).ravel()
    queries = pa.array([f"query-{number}" for number in range(QUERIES)])
    urls = pa.array([f"https://shop.example/item/{n}" for n in range(QUERIES * DOCUMENTS)])
    return pa.table(
        {
            "query_id": queries.take(pa.array(np.repeat(query, SLOTS))),
            "url": urls.take(pa.array(documents)),
            "position": np.tile(np.arange(1, SLOTS + 1), pages),
            "clicked": (rng.random(pages * SLOTS) < 0.1).astype(np.int64),
        }
    )


def write_files(table: pa.Table, folder: Path) -> dict[str, Path]:
    """Write the table in every form that is timed."""
    files = {
        "CSV": folder / "log.csv", "CSV, gzip": folder / "log.csv.gz",
        "Parquet": folder / "log.parquet", "JSON lines": folder / "log.jsonl",
    }  # fmt: skip
    pyarrow.csv.write_csv(table, files["CSV"])
    with pa.output_stream(str(files["CSV, gzip"]), compression="gzip") as file:
        file.write(files["CSV"].read_bytes())
    pyarrow.parquet.write_table(table, files["Parquet"])
    with files["JSON lines"].open("w") as text:
        for batch in table.to_batches():
            text.writelines(json.dumps(row) + "\n" for row in batch.to_pylist())
    return files


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("--pages", type=int, default=PAGES)
    options = parser.parse_args()
    table = make_table(options.pages)
    with tempfile.TemporaryDirectory() as folder:
        files = write_files(table, Path(folder))
        works = {name: partial(data.read_log, path) for name, path in files.items()}
        works["Arrow table"] = partial(data.read_log, table)
        seconds = time_in_turn(works, ROUNDS)
    rows = [Row(name, table.num_rows / took, "rows/s") for name, took in seconds.items()]
    shown = new_table(
        f"read_log, {table.num_rows:,} rows with string ids", "source", "rows/s", "seconds", "bar"
    )
    for row in rows:
        bar = judge(row.value, BARS.get(row.name))
        shown.add_row(row.name, f"{row.value:,.0f}", f"{seconds[row.name]:.2f}", bar)
    show(shown)
    save_rows(options.json, rows)


if __name__ == "__main__":
    main()
