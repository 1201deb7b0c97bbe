"""The same log as a file or frame of any kind gives an equal world and log."""

from __future__ import annotations

import gzip
import json
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from clickgym.data import read_log

PAGES = 60


def long_table(seed=0):
    """A log with ids that are awkward to keep: zeros in front, dates, commas, quotes, UTF-8."""
    rng = np.random.default_rng(seed)
    queries = ["007", "7", "zürich, hotel", 'the "best" tea', "2024-01-05", "東京"]
    urls = [f"https://x.example/{d}?a=1;b=2,3|4" for d in range(5)] + ["0012", "2023-05-06", "é'a"]
    columns = {name: [] for name in ("query", "url", "rank", "click", "page_id", "user", "time")}
    for page in range(PAGES):
        shown = rng.permutation(len(urls))[: rng.integers(2, 6)]
        for rank, document in enumerate(shown, start=1):
            values = (
                queries[page % len(queries)], urls[document], rank, int(rng.random() < 0.3),
                f"p{page}", f"u{page % 7}", 1_700_000_000 + 60 * page,
            )  # fmt: skip
            for name, value in zip(columns, values, strict=True):
                columns[name].append(value)
    columns["propensity"] = [0.25] * len(columns["query"])
    columns["grade"] = [len(url) % 5 for url in columns["url"]]
    columns["length"] = [float(len(url)) for url in columns["url"]]
    return pa.table(columns)


def list_table(table):
    """The same log with one row per page."""
    pages = list(dict.fromkeys(table["page_id"].to_pylist()))
    rows = {page: [] for page in pages}
    for row in table.to_pylist():
        rows[row["page_id"]].append(row)
    one, many = ("query", "page_id", "user", "time", "propensity"), ("url", "click", "grade")
    columns = {name: [rows[page][0][name] for page in pages] for name in one}
    columns |= {name: [[row[name] for row in rows[page]] for page in pages] for name in many}
    columns["length"] = [[row["length"] for row in rows[page]] for page in pages]
    return pa.table(columns)


def write_json_lines(table, path):
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in table.to_pylist())
    path.write_text(text, encoding="utf-8")


def write_csv(table, path, delimiter=","):
    options = pyarrow.csv.WriteOptions(delimiter=delimiter)
    pyarrow.csv.write_csv(table, path, options)


def write_list_csv(table, path):
    texts = {
        name: [json.dumps(value) if isinstance(value, list) else value for value in column]
        for name, column in list_table(table).to_pydict().items()
    }
    write_csv(pa.table(texts), path)


def in_file(name, write):
    def make(table, folder):
        write(table, folder / name)
        return folder / name

    return make


def write_gzip(table, path):
    write_csv(table, path.with_suffix(""))
    path.write_bytes(gzip.compress(path.with_suffix("").read_bytes()))


def write_zstd(table, path):
    write_csv(table, path.with_suffix(""))
    with pa.output_stream(str(path), compression="zstd") as file:
        file.write(path.with_suffix("").read_bytes())


def write_with_bom(table, path):
    write_csv(table, path)
    text = path.read_bytes().replace(b"\n", b"\r\n").replace(b'"query"', b'" query "')
    path.write_bytes(b"\xef\xbb\xbf" + text)


def write_stream(table, path):
    with pa.ipc.new_stream(str(path), table.schema) as file:
        file.write_table(table)


def write_views(table, folder):
    """As some libraries hand them over: views of texts, large lists, dictionaries."""
    kinds = {"url": pa.string_view(), "page_id": pa.large_string(), "rank": pa.uint8()}
    for name, kind in kinds.items():
        index = table.column_names.index(name)
        table = table.set_column(index, name, table[name].cast(kind))
    index = table.column_names.index("query")
    return table.set_column(index, "query", table["query"].dictionary_encode())


def write_feather_1(table, path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        pyarrow.feather.write_feather(table, path, version=1)


KINDS = {
    "Arrow table": lambda table, folder: table,
    "Arrow types": write_views,
    "record batch": lambda table, folder: table.combine_chunks().to_batches()[0],
    "mapping": lambda table, folder: table.to_pydict(),
    "pandas": lambda table, folder: table.to_pandas(),
    "pandas, shuffled index": lambda table, folder: table.to_pandas().set_index(
        np.arange(table.num_rows)[::-1]
    ),
    "polars": lambda table, folder: pl.from_arrow(table),
    "polars, categories": lambda table, folder: pl.from_arrow(table).with_columns(
        pl.col("url").cast(pl.Categorical)
    ),
    "csv": in_file("log.csv", write_csv),
    "tsv": in_file("log.tsv", lambda table, path: write_csv(table, path, "\t")),
    "semicolons": in_file("log.csv", lambda table, path: write_csv(table, path, ";")),
    "csv, BOM and CRLF": in_file("log.csv", write_with_bom),
    "csv.gz": in_file("log.csv.gz", write_gzip),
    "csv.zst": in_file("log.csv.zst", write_zstd),
    "json lines": in_file("log.jsonl", write_json_lines),
    "parquet": in_file("log.parquet", pq.write_table),
    "arrow stream": in_file("log.arrow", write_stream),
    "feather": in_file("log.feather", pyarrow.feather.write_feather),
    "feather 1": in_file("log.feather", write_feather_1),
    "list rows, parquet": in_file(
        "log.parquet", lambda table, path: pq.write_table(list_table(table), path)
    ),
    "list rows, json lines": in_file(
        "log.jsonl", lambda table, path: write_json_lines(list_table(table), path)
    ),
    "list rows, csv": in_file("log.csv", write_list_csv),
    "list rows, pandas": lambda table, folder: list_table(table).to_pandas(),
    "list rows, polars": lambda table, folder: pl.from_arrow(list_table(table)),
}


def read(source):
    return read_log(source, features="length")


def assert_equal_logs(one, other):
    for name in ("query", "ranking", "clicks", "log_propensity"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    assert one.fingerprint == other.fingerprint
    assert list(one.extra) == list(other.extra)
    for name, values in one.extra.items():
        assert values.dtype == other.extra[name].dtype, name
        np.testing.assert_array_equal(values, other.extra[name])


@pytest.fixture(scope="module")
def expected():
    return read(long_table())


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_source_gives_the_same(kind, expected, tmp_path):
    world, log = read(KINDS[kind](long_table(), tmp_path))
    assert world.fingerprint == expected[0].fingerprint
    np.testing.assert_array_equal(world.query_probs, expected[0].query_probs)
    assert_equal_logs(log, expected[1])


def test_the_log_holds_what_the_table_says(expected):
    world, log = expected
    table = long_table().to_pandas()
    assert len(log) == PAGES
    for page, (_, rows) in enumerate(table.groupby("page_id", sort=False)):
        query, n = log.query[page], len(rows)
        assert world.query_ids[query] == rows["query"].iloc[0]
        assert world.doc_ids[query, log.ranking[page, :n]].tolist() == rows["url"].tolist()
        assert log.clicks[page, :n].tolist() == rows["click"].astype(bool).tolist()
        assert (log.ranking[page, n:] == -1).all()
        assert world.relevance[query, log.ranking[page, :n]].tolist() == rows["grade"].tolist()
        lengths = world.features[query, log.ranking[page, :n], 0]
        assert lengths.tolist() == rows["length"].tolist()
        assert log.extra["user"][page] == rows["user"].iloc[0]
        assert log.extra["time"][page] == rows["time"].iloc[0]
    np.testing.assert_allclose(log.log_propensity, np.log(0.25))


def test_numbers_and_texts_that_read_the_same_are_the_same_ids(tmp_path):
    numbers = {"query": [3, 3], "item": [12, 5], "position": [0, 1], "click": [0, 1]}
    texts = numbers | {"query": ["3", "3"], "item": ["12", "5"]}
    floats = numbers | {"item": [12.0, 5.0]}
    frames = (numbers, texts, floats, pd.DataFrame(numbers))
    assert len({read_log(frame)[0].fingerprint for frame in frames}) == 1


def test_interleaved_pages_are_put_together(expected):
    table = long_table()
    order = np.random.default_rng(1).permutation(table.num_rows)
    world, log = read(table.take(pa.array(order)))
    pages = {page: row for row, page in enumerate(expected[1].extra["page"])}
    again = [pages[page] for page in log.extra["page"]]
    for row, was in enumerate(again):
        old, new = expected[1].ranking[was], log.ranking[row]
        before = expected[0].doc_ids[expected[1].query[was], old[old >= 0]]
        assert world.doc_ids[log.query[row], new[new >= 0]].tolist() == before.tolist()
        np.testing.assert_array_equal(log.clicks[row], expected[1].clicks[was])
