"""Reading LETOR files: what is kept, what it is called, and what is refused."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import numpy as np
import pytest
from looping import loop_over

from clickgym.common import memory
from clickgym.data import World, load_letor
from clickgym.data.readers import letor
from clickgym.evaluation import ndcg

SMALL = """\
2 qid:10 1:0.5 2:3 4:-1 # a comment
0 qid:10 2:1
# a line with nothing but a comment

1 qid:7 1:1e3 3:2
0 qid:7 1:4
0 qid:7
"""
LETOR4 = """\
2 qid:10032 1:0.056537 2:0.000000 #docid = GX029-35-5894638 inc = 0.0119 prob = 0.139842
0 qid:10032 1:0.279152 2:0.5 #docid = GX030-77-6315042 inc = 1 prob = 0.341364
1 qid:10032 1:0.1 2:0.25
"""


def write(folder: Path, text: str, name: str = "file.txt") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def numbered(qid: int, grades: list[int]) -> str:
    """Lines of one query whose only feature is the place in the query, from 1."""
    return "".join(f"{grade} qid:{qid} 1:{i}\n" for i, grade in enumerate(grades, start=1))


@pytest.fixture
def small(tmp_path) -> World:
    return load_letor(write(tmp_path, SMALL))


def test_grades_in_the_order_of_the_file(small):
    assert small.relevance.tolist() == [[2, 0, -1], [1, 0, 0]]


def test_features_with_missing_ones_as_zero(small):
    assert small.features[0].tolist() == [[0.5, 3, 0, -1], [0, 1, 0, 0], [0, 0, 0, 0]]


def test_query_ids_are_the_qids(small):
    assert small.query_ids.tolist() == ["10", "7"]


def test_doc_ids_are_made_from_places(small):
    assert small.doc_ids.tolist() == [["10:0", "10:1", ""], ["7:0", "7:1", "7:2"]]


def test_doc_ids_from_comments_where_there_are_any(tmp_path):
    world = load_letor(write(tmp_path, LETOR4))
    assert world.doc_ids.tolist() == [["GX029-35-5894638", "GX030-77-6315042", "10032:2"]]


def test_name_is_the_files(small):
    assert small.name == "file.txt"


def test_frequencies_follow_a_power_law(small):
    assert sorted(small.query_probs) == pytest.approx(
        [2**-1.12 / (1 + 2**-1.12), 1 / (1 + 2**-1.12)]
    )


def test_gzip_is_read_like_the_plain_file(tmp_path, small):
    path = tmp_path / "packed"  # told by its content, not by its name
    path.write_bytes(gzip.compress(SMALL.encode()))
    assert load_letor(path).fingerprint == small.fingerprint


def test_windows_line_ends(tmp_path, small):
    path = tmp_path / "windows.txt"
    path.write_bytes(SMALL.replace("\n", "\r\n").encode())
    assert load_letor(path).fingerprint == small.fingerprint


def test_several_files_are_one_world(tmp_path):
    paths = [
        write(tmp_path, numbered(1, [0, 1]), "a.txt"),
        write(tmp_path, "3 qid:2 5:1\n", "b.txt"),  # with more features
    ]
    world = load_letor(paths)
    assert world.relevance.tolist() == [[0, 1], [3, -1]]
    assert world.features.shape == (2, 2, 5)


def test_lines_of_a_query_are_gathered(tmp_path):
    text = "".join(f"0 qid:{1 + i % 3} 1:{i}\n" for i in range(300))
    world = load_letor(write(tmp_path, text))
    assert np.array_equal(world.features[:, :, 0], np.arange(300).reshape(100, 3).T)


def test_blocks_make_no_difference(tmp_path, monkeypatch, small):
    monkeypatch.setattr(letor, "BLOCK_LINES", 2)
    assert load_letor(write(tmp_path, SMALL)).fingerprint == small.fingerprint


def test_min_docs(tmp_path):
    path = write(tmp_path, numbered(1, [0, 1]) + numbered(2, [0, 1, 2]))
    assert load_letor(path, min_docs=3).query_ids.tolist() == ["2"]


def test_mixed_grades(tmp_path):
    path = write(tmp_path, numbered(1, [1, 1]) + numbered(2, [0, 1]))
    assert load_letor(path, mixed_grades=True).query_ids.tolist() == ["2"]


def test_filters_that_leave_nothing(small, tmp_path):
    with pytest.raises(ValueError, match="min_docs=4"):
        load_letor(tmp_path / "file.txt", min_docs=4)


def test_max_queries_counts_after_the_filters(tmp_path):
    text = numbered(5, [1, 1]) + numbered(4, [0, 1]) + numbered(3, [0, 2]) + numbered(2, [0, 1])
    world = load_letor(write(tmp_path, text), max_queries=2, mixed_grades=True)
    assert world.query_ids.tolist() == ["4", "3"]


@loop_over("block_lines", [1, 3, 4, 5])
def test_max_queries_keeps_queries_whole(tmp_path, monkeypatch, block_lines):
    monkeypatch.setattr(letor, "BLOCK_LINES", block_lines)
    text = "".join(numbered(qid, [0, 1, 2, 0]) for qid in range(6))
    world = load_letor(write(tmp_path, text), max_queries=2)
    assert world.relevance.tolist() == [[0, 1, 2, 0]] * 2


def test_max_queries_does_not_cut_a_query_that_already_passes(tmp_path, monkeypatch):
    monkeypatch.setattr(letor, "BLOCK_LINES", 4)
    path = write(tmp_path, numbered(1, [1, 1]) + numbered(2, [0, 1, 2, 0]) + numbered(3, [0, 1]))
    world = load_letor(path, max_queries=1, mixed_grades=True)
    assert world.relevance.tolist() == [[0, 1, 2, 0]]


def test_max_queries_stops_reading(tmp_path, monkeypatch):
    monkeypatch.setattr(letor, "BLOCK_LINES", 2)
    text = numbered(1, [0, 1]) + numbered(2, [0, 1]) + "not a line\n"
    assert load_letor(write(tmp_path, text), max_queries=1).n_queries == 1


def test_n_docs_draws_documents_with_their_features_and_names(tmp_path):
    grades = [0] * 20 + [1] * 20 + [4]
    path = write(tmp_path, numbered(8, grades) + numbered(9, grades))
    world = load_letor(path, n_docs=10)
    place = world.features[:, :, 0].astype(int) - 1
    assert np.array_equal(world.relevance, np.array(grades)[place])
    assert world.doc_ids[0].tolist() == [f"8:{i}" for i in place[0]]


def test_n_docs_draws_by_grade(tmp_path):
    world = load_letor(write(tmp_path, numbered(8, [0] * 20 + [1] * 20 + [4])), n_docs=10)
    assert np.bincount(world.relevance[0]).tolist() == [6, 3, 0, 0, 1]


def test_n_docs_pads_short_queries(tmp_path):
    world = load_letor(write(tmp_path, numbered(1, [0, 1])), n_docs=3)
    assert world.candidates.tolist() == [[True, True, False]]


@loop_over("n_docs", [None, 5])
def test_same_seed_same_world(tmp_path, n_docs):
    path = write(tmp_path, "".join(numbered(qid, [0] * 20 + [1] * 20) for qid in range(9)))
    first, second = load_letor(path, n_docs, seed=3), load_letor(path, n_docs, seed=3)
    assert first.fingerprint == second.fingerprint
    assert np.array_equal(first.query_probs, second.query_probs)


@loop_over("attribute", ["doc_ids", "query_probs"])
def test_another_seed_another_draw(tmp_path, attribute):
    path = write(tmp_path, "".join(numbered(qid, [0] * 20 + [1] * 20) for qid in range(9)))
    first, second = load_letor(path, 5, seed=3), load_letor(path, 5, seed=4)
    assert not np.array_equal(getattr(first, attribute), getattr(second, attribute))


MALFORMED = {
    "no value": ("1 qid:1 1:1 2", "'2' is not index:value"),
    "empty value": ("1 qid:1 1:1 2:", "'2:' is not index:value"),
    "value is a word": ("1 qid:1 1:1 2:x", "'2:x' is not index:value"),
    "index is a word": ("1 qid:1 1:1 x:2", "'x:2' is not index:value"),
    "grade is a word": ("good qid:1 1:1", "grade 'good' is not a number"),
    "missing qid": ("1 1:1 2:2", "no qid"),
    "grade alone": ("1", "no qid"),
    "qid after a feature": ("1 1:1 qid:1", "no qid"),
    "two qids": ("1 qid:1 qid:2 1:1", "'qid:2' is not index:value"),
    "qid is a word": ("1 qid:one 1:1", "'qid:one' is not qid:integer"),
    "qid is empty": ("1 qid: 1:1", "'qid:' is not qid:integer"),
    "qid is too large": ("1 qid:99999999999999999999 1:1", "is not qid:integer"),
    "nan": ("1 qid:1 1:1 2:nan", "feature 2 is 'nan'"),
    "inf": ("1 qid:1 1:-inf", "feature 1 is '-inf'"),
    "beyond float32": ("1 qid:1 1:1e39", "feature 1 is '1e39'"),
    "index 0": ("1 qid:1 0:1 1:1", "feature index 0 is outside"),
    "negative index": ("1 qid:1 -1:1", "feature index -1 is outside"),
    "huge index": ("1 qid:1 99999999999999999999:1", "feature index 99999999999999999999 is"),
    "unsorted": ("1 qid:1 2:1 1:1", "feature index 1 comes after 2"),
    "duplicate": ("1 qid:1 1:1 1:2", "feature index 1 comes after 1"),
    "fraction of a grade": ("1.5 qid:1 1:1", "grade '1.5' is not an integer"),
    "grade is nan": ("nan qid:1 1:1", "grade 'nan' is not an integer"),
    "grade too high": ("5 qid:1 1:1", "grade 5 is outside 0..4"),
    "negative grade": ("-1 qid:1 1:1", "grade -1 is outside 0..4"),
}


@loop_over("bad", MALFORMED)
def test_malformed_line_is_named(tmp_path, bad):
    line, message = MALFORMED[bad]
    path = write(tmp_path, f"0 qid:1 1:1 2:2\n\n{line}\n0 qid:1 1:1 2:2\n")
    with pytest.raises(ValueError) as caught:
        load_letor(path)
    assert str(caught.value).startswith(f"{path}:3: ")
    assert message in str(caught.value)


def test_line_numbers_go_on_from_block_to_block(tmp_path, monkeypatch):
    monkeypatch.setattr(letor, "BLOCK_LINES", 2)
    path = write(tmp_path, numbered(1, [0, 1, 0, 1]) + "broken\n")
    with pytest.raises(ValueError, match=r"file\.txt:5: "):
        load_letor(path)


def test_malformed_line_of_a_later_file(tmp_path):
    paths = [write(tmp_path, SMALL, "a.txt"), write(tmp_path, "1 qid:3 1:x\n", "b.txt")]
    with pytest.raises(ValueError, match=r"b\.txt:1: "):
        load_letor(paths)


def test_max_grade_allows_higher_grades(tmp_path):
    assert load_letor(write(tmp_path, "7 qid:1 1:1\n"), max_grade=7).relevance.tolist() == [[7]]


def test_qid_in_two_files(tmp_path):
    paths = [write(tmp_path, SMALL, "a.txt"), write(tmp_path, numbered(7, [0, 1]), "b.txt")]
    with pytest.raises(ValueError, match=r"b\.txt: qid 7 is also in .*a\.txt"):
        load_letor(paths)


def test_same_file_twice(tmp_path):
    path = write(tmp_path, SMALL)
    with pytest.raises(ValueError, match="is also in"):
        load_letor([path, path])


@loop_over("text", ["", "\n\n", "# only a comment\n"])
def test_file_without_documents(tmp_path, text):
    path = write(tmp_path, text, "empty.txt")
    with pytest.raises(ValueError, match=r"empty\.txt: no documents"):
        load_letor(path)


def test_empty_file_among_others(tmp_path):
    paths = [write(tmp_path, SMALL), write(tmp_path, "", "empty.txt")]
    with pytest.raises(ValueError, match=r"empty\.txt: no documents"):
        load_letor(paths)


def test_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nowhere\.txt: no such file"):
        load_letor(tmp_path / "nowhere.txt")


def test_missing_file_is_found_before_others_are_read(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nowhere\.txt"):
        load_letor([write(tmp_path, "broken\n"), tmp_path / "nowhere.txt"])


def test_no_file():
    with pytest.raises(ValueError, match="path_or_paths"):
        load_letor([])


def packed_sample() -> bytes:
    rng = np.random.default_rng(0)
    return gzip.compress("".join(f"0 qid:1 1:{x}\n" for x in rng.random(5000)).encode())


DAMAGED = {
    "cut": packed_sample()[:-4000],
    "without its checksum": packed_sample()[:-8],
    "altered": packed_sample()[:9000] + b"\x00" * 50 + packed_sample()[9050:],
    "followed by something else": packed_sample() + b"rubbish",
}


@loop_over("damage", DAMAGED)
def test_damaged_gzip_is_named(tmp_path, damage):
    path = tmp_path / "file.gz"
    path.write_bytes(DAMAGED[damage])
    with pytest.raises(ValueError, match=r"file\.gz:\d+: damaged or truncated gzip"):
        load_letor(path)


@loop_over(
    ("argument", "value"),
    [("n_docs", 1), ("max_queries", 0), ("max_grade", 0), ("seed", -1), ("min_docs", 0)],
)
def test_bad_arguments_are_named(tmp_path, argument, value):
    with pytest.raises(ValueError, match=argument):
        load_letor(write(tmp_path, SMALL), **{argument: value})


def uneven(folder: Path) -> Path:
    """One long and many short queries with 50 features: padding makes them 15 times larger."""
    lines = [f"{i % 2} qid:{q} 50:1\n" for q in range(100) for i in range(2 if q else 300)]
    return write(folder, "".join(lines))


def test_world_that_does_not_fit_is_refused_with_advice(tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 6e6)
    with pytest.raises(MemoryError, match=r"n_docs=.*max_queries="):
        load_letor(uneven(tmp_path))


def test_n_docs_needs_no_memory_for_padded_features(tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 6e6)
    assert load_letor(uneven(tmp_path), n_docs=2).n_docs == 2


def test_large_file_is_refused_after_its_first_block(tmp_path, monkeypatch):
    monkeypatch.setattr(letor, "BLOCK_LINES", 100)
    monkeypatch.setattr(memory, "available_memory", lambda: 1e6)
    texts = [numbered(qid, [0, 1]) for qid in range(10_000)]
    path = write(tmp_path, "".join([*texts[:50], "broken\n", *texts[50:]]))
    with pytest.raises(MemoryError):
        load_letor(path)


def test_large_file_is_read_as_far_as_max_queries_needs(tmp_path, monkeypatch):
    monkeypatch.setattr(letor, "BLOCK_LINES", 100)
    monkeypatch.setattr(memory, "available_memory", lambda: 1e6)
    text = "".join(numbered(qid, [0, 1]) for qid in range(10_000))
    assert load_letor(write(tmp_path, text), max_queries=60).n_queries == 60


@pytest.fixture(scope="module")
def mslr() -> Path:
    folder = os.environ.get("CLICKGYM_DATA")
    if not folder:
        pytest.skip("CLICKGYM_DATA does not name the folder with the real samples")
    return Path(folder) / "mslr" / "sample.txt"


@pytest.fixture(scope="module")
def mslr_world(mslr) -> World:
    return load_letor(mslr)


def test_mslr_lists(mslr_world):
    lengths = mslr_world.candidates.sum(axis=1)
    assert mslr_world.features.shape == (43, 308, 136)
    assert (lengths.sum(), lengths.min(), np.median(lengths)) == (5000, 18, 95)


def test_mslr_grade_shares(mslr_world):
    shares = np.bincount(mslr_world.relevance[mslr_world.candidates]) / 5000
    assert shares == pytest.approx([0.56, 0.29, 0.13, 0.011, 0.006], abs=0.005)


def test_mslr_last_qid(mslr_world):
    assert mslr_world.query_ids[-1] == "631"


def test_mslr_bm25(mslr):
    world = load_letor(mslr, max_queries=42)  # the last one is cut off
    assert ndcg(world.features[:, :, 109], world, 10) == pytest.approx(0.38, abs=0.005)


def test_mslr_random_order(mslr_world):
    scores = np.random.default_rng(0).random((50, *mslr_world.relevance.shape))
    mean = np.mean([ndcg(each, mslr_world, 10) for each in scores])
    assert mean == pytest.approx(0.19, abs=0.015)


def test_mslr_papers_filter(mslr):
    world = load_letor(mslr, n_docs=10, min_docs=10, mixed_grades=True)
    assert world.relevance.shape == (41, 10)
