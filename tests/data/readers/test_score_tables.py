"""Tables of scores in ids of one's own."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from clickgym import data

INF = np.inf


@pytest.fixture
def world():
    return data.World(
        np.zeros((2, 3), dtype=int), query_ids=["7", "x"], doc_ids=[["a", "b", "c"], ["c", "a", ""]]
    )


def write(path, *rows):
    path.write_text("\n".join(["query,document,score", *rows]))
    return path


def test_scores_stand_where_the_world_has_the_document(world, tmp_path):
    rows = [("x", "a", 2.5), ("7", "c", -1.0), ("7", "a", 4.0), ("y", "a", 9.0), ("x", "b", 9.0)]
    expected = [[4.0, -INF, -1.0], [-INF, 2.5, -INF]]
    path = write(tmp_path / "s.csv", *(",".join(map(str, row)) for row in rows))
    assert data.read_scores(path, world).tolist() == expected
    columns = dict(zip(("query", "document", "score"), zip(*rows, strict=True), strict=True))
    table = pa.table({key: list(one) for key, one in columns.items()})
    pq.write_table(table, tmp_path / "s.parquet")
    assert data.read_scores(tmp_path / "s.parquet", world).tolist() == expected


def test_a_world_without_ids_is_asked_by_index(tmp_path):
    world = data.World(np.zeros((2, 3), dtype=int))
    path = write(tmp_path / "s.csv", "1,2,5", "0,0,3", "0,3,8")
    assert data.read_scores(path, world).tolist() == [[3.0, -INF, -INF], [-INF, -INF, 5.0]]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (["x,a,1", "x,a,2"], "query x has document a twice"),
        (["x,a,1", "x,c,inf"], "the score is inf"),
        (["x,a,good"], "column score has what is no number"),
        (["y,a,1"], "no row has a query and a document"),
    ],
)
def test_what_is_wrong_with_a_table_is_named(world, tmp_path, rows, message):
    with pytest.raises(data.BadLog, match=message):
        data.read_scores(write(tmp_path / "s.csv", *rows), world)


def test_a_missing_column_is_named(world, tmp_path):
    (tmp_path / "s.csv").write_text("query,product,score\n7,a,1")
    with pytest.raises(data.BadLog, match="no column 'document'"):
        data.read_scores(tmp_path / "s.csv", world)
