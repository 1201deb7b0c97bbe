"""World.save and World.load; what earlier commits saved still fits."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from conftest import small_world
from looping import loop_over

from clickgym import clickmodels
from clickgym.common.storage import save_arrays
from clickgym.data import ClickLog, World, read_log

TABLE = {
    "query": ["tea", "tea", "zürich", "zürich"],
    "url": ["a", "b", "b", "é"],
    "rank": [1, 2, 1, 2],
    "click": [0, 1, 0, 1],
}
BEFORE = Path(__file__).parent / "saved_54d1d79"  # written by the commit before ids lay flat


def with_ids():
    return World(
        [[0, 3, -1], [1, 2, 4]],
        np.arange(12.0).reshape(2, 3, 2),
        [0.25, 0.75],
        [[1, 1, 0], [1, 0, 1]],
        ["q1", "q ü"],
        [["a", "", "b"], ["", "c", ""]],
        name="with ids",
    )


def restricted():
    log = ClickLog([0, 0], [[0], [1]], [[False], [True]])
    return with_ids().restricted_to(log)


@loop_over("make", [with_ids, restricted, small_world, lambda: read_log(TABLE)[0]])
def test_a_saved_world_is_loaded_the_same(make, tmp_path):
    world = make()
    world.save(tmp_path / "world.safetensors")
    again = World.load(tmp_path / "world.safetensors")
    assert again.fingerprint == world.fingerprint
    assert (again.name, again.max_grade) == (world.name, world.max_grade)
    for name in ("relevance", "features", "query_probs", "candidates", "query_ids", "doc_ids"):
        one, other = getattr(world, name), getattr(again, name)
        assert (one is None) == (other is None)
        if one is not None:
            np.testing.assert_array_equal(np.asarray(one), np.asarray(other))


def test_a_log_fits_the_world_that_was_loaded(tmp_path):
    world, log = read_log(TABLE)
    world.save(tmp_path / "world")
    log.save(tmp_path / "log.parquet")
    ClickLog.load(tmp_path / "log.parquet").check_world(World.load(tmp_path / "world"))


@loop_over("share", [0.0, 0.3, 0.9])
def test_a_truncated_file_is_named(share, tmp_path):
    path = tmp_path / "world"
    with_ids().save(path)
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])
    with pytest.raises(ValueError, match=r"world: not a whole safetensors file"):
        World.load(path)


def test_a_missing_file_and_a_file_of_another_kind_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere: no such file"):
        World.load(tmp_path / "nowhere")
    clickmodels.PBM(np.ones((2, 2)), np.ones(2)).save(tmp_path / "model")
    with pytest.raises(ValueError, match=r"model: holds a .*, not a world"):
        World.load(tmp_path / "model")


@loop_over(
    ("name", "value"),
    [
        ("relevance", np.full((2, 3), 9, dtype=np.int8)),
        ("query_probs", np.array([0.5, 0.9])),
        ("doc_codes", np.array([0, 9], dtype=np.int32)),
        ("doc_starts", np.array([0, 2, 1])),
        ("doc_ids_ends", np.array([1, 99])),
        ("something", np.zeros(1)),
    ],
)
def test_a_file_with_bad_values_is_named(name, value, tmp_path):
    arrays = {
        "relevance": np.zeros((2, 3), dtype=np.int8),
        "query_probs": np.array([0.5, 0.5]),
        "doc_ids_bytes": np.frombuffer(b"ab", dtype=np.uint8),
        "doc_ids_ends": np.array([1, 2]),
        "doc_codes": np.array([0, 1], dtype=np.int32),
        "doc_starts": np.array([0, 1, 2]),
    }
    header = {"max_grade": 4, "name": "", "fingerprint": "ab"}
    save_arrays(tmp_path / "good", "world", header, arrays)
    assert World.load(tmp_path / "good").doc_ids.tolist() == [["a", "", ""], ["b", "", ""]]
    save_arrays(tmp_path / "bad", "world", header, arrays | {name: value})
    with pytest.raises(ValueError, match="bad: does not make a world"):
        World.load(tmp_path / "bad")
    if name in arrays:
        del arrays[name]
        save_arrays(tmp_path / "less", "world", header, arrays)
        with pytest.raises(ValueError, match="less: does not make a world"):
            World.load(tmp_path / "less")


# What the commit before saved


def world_of_before():
    return World(
        [[0, 3, -1], [1, 2, 4], [0, -1, 2]],
        query_ids=["tea", "Tea", "7"],
        doc_ids=[["a", "https://x.example/é?q=1", ""], ["b", "", "c"], ["007", "a", "zürich "]],
        candidates=[[1, 1, 0], [1, 1, 1], [1, 1, 1]],
    )


def test_ids_that_lie_flat_keep_the_fingerprint_of_ids_that_were_padded():
    expected = json.loads((BEFORE / "expected.json").read_text())
    assert world_of_before().fingerprint == expected["fingerprint"]


def test_a_model_and_a_log_of_the_commit_before_fit_their_world():
    expected = json.loads((BEFORE / "expected.json").read_text())
    log = ClickLog.load(BEFORE / "log.parquet")
    model = clickmodels.ClickModel.load(BEFORE / "PBM.safetensors")
    log.check_world(world_of_before())
    world_of_before().check_fingerprint(model.fingerprint, "the model")
    assert log.clicks.tolist() == expected["clicks"]
    assert log.extra == {}
    np.testing.assert_allclose(model.relevance(), expected["relevance"], rtol=1e-12)


# Grades


def test_a_world_from_a_log_says_that_it_has_no_grades():
    world, _ = read_log(TABLE)
    assert not world.has_grades
    with pytest.raises(ValueError, match="nDCG needs grades, and this world has none"):
        world.require_grades("nDCG needs")
    with_ids().require_grades("nDCG needs")
