"""What a policy would show, in the ids of one's own log."""

from __future__ import annotations

import numpy as np
import pyarrow.parquet as pq
import pytest
from conftest import small_world

from clickgym import policies
from clickgym.data import World, read_log

TABLE = {
    "query": ["tea", "tea", "tea", "zürich", "zürich"],
    "url": ["a,b", "c", "d", "c", "é"],
    "rank": [1, 2, 3, 1, 2],
    "click": [0, 1, 0, 1, 1],
}
ROWS = [
    ("tea", 1, "d"), ("tea", 2, "c"), ("zürich", 1, "é"), ("zürich", 2, "c"),
]  # fmt: skip


@pytest.fixture
def ranked():
    world, _ = read_log(TABLE)
    scores = np.arange(6.0).reshape(2, 3)
    return policies.Ranker(scores, slots=2, world=world), world


def rows_of(table):
    columns = table.to_pydict()
    assert list(columns) == ["query", "rank", "document"]
    return list(zip(*columns.values(), strict=True))


def test_rankings_are_in_the_ids_of_the_log(ranked):
    policy, world = ranked
    assert rows_of(policy.deployed_rankings(world).table) == ROWS


def test_rankings_are_a_frame(ranked):
    policy, world = ranked
    assert list(policy.to_frame(world).itertuples(index=False, name=None)) == ROWS


def test_rankings_are_saved_as_parquet(ranked, tmp_path):
    policy, world = ranked
    policy.deployed_rankings(world).save(tmp_path / "rankings.parquet")
    assert rows_of(pq.read_table(tmp_path / "rankings.parquet")) == ROWS


def test_rankings_are_saved_as_csv(ranked, tmp_path):
    policy, world = ranked
    policy.deployed_rankings(world).save(tmp_path / "rankings.csv")
    lines = (tmp_path / "rankings.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0] == '"query","rank","document"'
    assert lines[3] == '"zürich",1,"é"'


def test_another_ending_is_an_error_and_writes_nothing(ranked, tmp_path):
    policy, world = ranked
    with pytest.raises(ValueError, match=r"rankings\.xlsx: rankings are written as \.csv or"):
        policy.deployed_rankings(world).save(tmp_path / "rankings.xlsx")
    assert list(tmp_path.iterdir()) == []


def test_of_a_stochastic_policy_it_is_the_greedy_ranking():
    world = small_world()
    policy = policies.PlackettLuce(np.random.default_rng(0).random((6, 7)), slots=3)
    documents = policy.deployed_rankings(world).table["document"].to_numpy()
    np.testing.assert_array_equal(documents.reshape(6, 3), policy.greedy(np.arange(6)))


def test_queries_without_candidates_are_left_out():
    world = World([[1, 0], [2, 3]], candidates=[[0, 0], [1, 1]], query_probs=[0, 1])
    table = policies.Uniform(world, slots=2).deployed_rankings(world).table
    assert table["query"].to_pylist() == [1, 1]


def test_the_policy_of_another_world_is_an_error(ranked):
    policy, _ = ranked
    with pytest.raises(ValueError, match="another world"):
        policy.deployed_rankings(World([[1, 0, 2], [2, 3, 1]]))
