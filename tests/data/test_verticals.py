"""Pages with a vertical block: the columns of a log, and each query's type in a world."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import small_world
from looping import loop_over

from clickgym.data import ClickLog, World, synthetic_world
from clickgym.data.joining import join_log

N, SLOTS = 60, 3


def make_log(n=N):
    rng = np.random.default_rng(0)
    types = rng.integers(-1, 3, n)
    return ClickLog(
        rng.integers(0, 4, n), np.tile(np.arange(SLOTS), (n, 1)), rng.random((n, SLOTS)) < 0.3,
        vertical=types, vertical_position=np.where(types < 0, -1, rng.integers(0, SLOTS + 1, n)),
    )  # fmt: skip


def assert_has_rows(part, log, rows):
    for name in ("vertical", "vertical_position"):
        np.testing.assert_array_equal(getattr(part, name), getattr(log, name)[rows])


@loop_over("rows", [slice(3, 20, 2), [5, 1, 5], np.arange(N) % 3 == 0])
def test_chosen_rows_keep_their_verticals(rows):
    log = make_log()
    assert_has_rows(log[rows], log, rows)


def test_a_split_keeps_verticals():
    log = make_log()
    parts = log.split((0.5, 0.5), seed=1)
    order = np.random.default_rng(1).permutation(N)
    assert_has_rows(parts[0], log, np.sort(order[: N // 2]))


def test_a_saved_log_has_its_verticals_again(tmp_path):
    log = make_log()
    log.save(tmp_path / "log.parquet")
    again = ClickLog.load(tmp_path / "log.parquet")
    assert_has_rows(again, log, slice(None))
    assert again.vertical.dtype == again.vertical_position.dtype == np.int32


def test_a_log_without_verticals_has_none(tmp_path):
    log = ClickLog([0], [[1]], [[0]])
    log.save(tmp_path / "log.parquet")
    again = ClickLog.load(tmp_path / "log.parquet")
    assert again.vertical is None
    assert again.vertical_position is None


def test_folding_keeps_pages_with_other_verticals_apart():
    log = ClickLog(
        [0] * 5, [[1, 2]] * 5, [[0, 1]] * 5,
        vertical=[0, 0, 1, -1, 0], vertical_position=[2, 2, 2, -1, 1],
    ).compress()  # fmt: skip
    found = zip(log.vertical, log.vertical_position, log.weight, strict=True)
    assert sorted(found) == [(-1, -1, 1), (0, 1, 1), (0, 2, 2), (1, 2, 1)]


def test_a_block_without_type_or_place_is_not_shown():
    log = ClickLog(
        [0] * 3, [[1]] * 3, [[0]] * 3, vertical=[2, -1, 2], vertical_position=[-1, 1, 1]
    )
    assert log.vertical.tolist() == [-1, -1, 2]
    assert log.vertical_position.tolist() == [-1, -1, 1]


@loop_over(
    ("columns", "message"),
    [
        ({"vertical": [0]}, "vertical is given without vertical_position"),
        ({"vertical_position": [0]}, "vertical_position is given without vertical:"),
        ({"vertical": [-2], "vertical_position": [0]}, r"vertical\[0\] is -2"),
        ({"vertical": [0], "vertical_position": [3]}, r"vertical_position\[0\] is 3, but only 2"),
        ({"vertical": [0.5], "vertical_position": [0]}, "vertical must hold integers"),
        ({"vertical": [0], "vertical_position": [0, 1]}, "vertical_position has shape"),
    ],
)
def test_a_bad_vertical_is_named(columns, message):
    with pytest.raises(ValueError, match=message):
        ClickLog([0], [[1, 2]], [[0, 0]], **columns)


def test_a_log_of_another_world_keeps_its_verticals():
    ids = {"query_ids": list("abcd"), "doc_ids": [list("xyz")] * 4}
    own, other = World(np.zeros((4, 3), int), **ids), World(np.ones((4, 3), int), **ids)
    log = make_log()
    joined, left_out = join_log(log, own, other)
    assert left_out == 0
    assert_has_rows(joined, log, slice(None))


# Worlds

TYPES = [0, 1, -1, 2, 0, -1]


def with_types(types=TYPES):
    world = small_world()
    return World(world.relevance, world.features, world.query_probs, vertical=types)


def test_types_are_part_of_the_fingerprint_only_when_given():
    assert with_types(None).fingerprint == small_world().fingerprint
    assert with_types().fingerprint != small_world().fingerprint
    assert with_types().fingerprint != with_types(TYPES[::-1]).fingerprint


def test_the_fingerprint_of_a_world_without_types_is_that_of_earlier_versions():
    world = World([[0, 1, 2], [4, 3, -1]])
    assert world.fingerprint.startswith("3ff97449e85e")


def test_a_saved_world_has_its_types_again(tmp_path):
    with_types().save(tmp_path / "world.safetensors")
    again = World.load(tmp_path / "world.safetensors")
    assert again.vertical.tolist() == TYPES
    assert again.fingerprint == with_types().fingerprint


def test_a_restricted_world_keeps_its_types():
    world = with_types()
    log = ClickLog([0, 3], [[1], [2]], [[0], [1]])
    assert world.restricted_to(log).vertical.tolist() == TYPES


@loop_over("types", [[0] * 5, [-2] + [0] * 5, [0.0] * 6, [[0] * 6]])
def test_bad_types_are_named(types):
    with pytest.raises(ValueError, match=r"^vertical\b"):
        with_types(types)


def test_what_has_blocks_says_so():
    world = synthetic_world(3, 4)
    assert "vertical" not in repr(world)
    assert "verticals of 2 queries, " in repr(world.with_vertical([1, -1, 0]))
    shown = ClickLog([0, 1], [[0], [1]], [[0], [1]], vertical=[1, -1], vertical_position=[0, -1])
    assert repr(shown) == "ClickLog(2 rows, 1 slots, no propensities, 1 with a vertical)"
