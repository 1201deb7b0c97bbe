"""ClickLog: validation, splitting, folding equal rows, and Parquet files."""

from __future__ import annotations

import dataclasses
from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import random_models, small_world
from looping import loop_over

from clickgym.common import grouping
from clickgym.data import ClickLog
from clickgym.data import log as log_module

COLUMNS = ("query", "ranking", "clicks", "log_propensity", "weight")


def random_log(n=500, n_queries=6, n_docs=7, slots=3, seed=0, weight=True, propensity=True):
    """Random pages with empty slots and with many equal rows; propensities take four values."""
    rng = np.random.default_rng(seed)
    ranking = np.argsort(rng.random((n, n_docs)), axis=1)[:, :slots]
    ranking[np.arange(slots) >= rng.integers(1, slots + 1, size=(n, 1))] = -1
    clicks = (rng.random((n, slots)) < 0.3) & (ranking >= 0)
    return ClickLog(
        rng.integers(0, n_queries, n),
        ranking,
        clicks,
        rng.choice([-1.0, -1.0000000000000002, -2.5, 0.0], n) if propensity else None,
        rng.integers(0, 5, n).astype(float) if weight else None,
        fingerprint="ab" * 32,
    )


def rows_of(log):
    """Each row as a tuple of plain values (its weight left out)."""
    propensity = [None] * len(log) if log.log_propensity is None else log.log_propensity.tolist()
    pages = zip(log.query.tolist(), log.ranking.tolist(), log.clicks.tolist(), strict=True)
    return [
        (query, tuple(ranking), tuple(clicks), value)
        for (query, ranking, clicks), value in zip(pages, propensity, strict=True)
    ]


def counted(log):
    """The weight of each distinct row, one row at a time."""
    counts = Counter()
    weights = [1.0] * len(log) if log.weight is None else log.weight.tolist()
    for row, weight in zip(rows_of(log), weights, strict=True):
        counts[row] += weight
    return counts


def assert_same(one, other):
    for name in COLUMNS:
        left, right = getattr(one, name), getattr(other, name)
        assert (left is None) == (right is None), name
        if left is not None:
            assert left.dtype == right.dtype, name
            np.testing.assert_array_equal(left, right, err_msg=name)
    assert one.fingerprint == other.fingerprint


# Validation


def arguments(**changes):
    given = {
        "query": [0, 1, 0],
        "ranking": [[0, 1], [2, -1], [1, 0]],
        "clicks": [[0, 1], [1, 0], [0, 0]],
        "log_propensity": [-0.5, -1.0, 0.0],
        "weight": [1.0, 0.0, 2.5],
    }
    return given | changes


@loop_over(
    ("name", "value"),
    [
        ("query", [[0, 1, 0]]),  # 2d
        ("query", [0.0, 1.0, 0.0]),  # float
        ("query", [0, -1, 0]),  # negative
        ("query", [0, 2**31, 0]),  # beyond int32
        ("ranking", [0, 2, 1]),  # 1d
        ("ranking", [[0.0, 1.0], [2.0, -1.0], [1.0, 0.0]]),  # float
        ("ranking", [[0, 1], [2, -1]]),  # too few rows
        ("ranking", [[0, 1], [2], [1, 0]]),  # ragged
        ("ranking", [[0, 1], [2, -2], [1, 0]]),  # below minus one
        ("ranking", [[0, 1], [-1, 2], [1, 0]]),  # gap
        ("ranking", np.zeros((3, 0), dtype=int)),  # no slots
        ("clicks", [0, 1, 0]),  # 1d
        ("clicks", [[0], [1], [0]]),  # other slots
        ("clicks", [[0, 1], [1, 0]]),  # too few rows
        ("clicks", [[0, 2], [1, 0], [0, 0]]),  # two
        ("clicks", [[0, np.nan], [1, 0], [0, 0]]),  # nan
        ("clicks", [[0, 1], [1, 1], [0, 0]]),  # on an empty slot
        ("log_propensity", [-0.5, -1.0]),  # too short
        ("log_propensity", [-0.5, 0.1, 0.0]),  # above zero
        ("log_propensity", [-0.5, np.nan, 0.0]),  # nan
        ("log_propensity", [-0.5, -np.inf, 0.0]),  # impossible
        ("weight", [[1.0], [0.0], [2.5]]),  # 2d
        ("weight", [1.0, 2.0]),  # too short
        ("weight", [1.0, -1.0, 2.0]),  # negative
        ("weight", [1.0, np.inf, 2.0]),  # infinite
    ],
)
def test_a_bad_argument_is_named(name, value):
    with pytest.raises(ValueError, match=rf"\b{name}\b"):
        ClickLog(**arguments(**{name: value}))


def test_a_click_on_an_empty_slot_is_located():
    with pytest.raises(ValueError, match=r"clicks\[1, 1\]"):
        ClickLog(**arguments(clicks=[[0, 1], [1, 1], [0, 0]]))


def test_an_unknown_argument_is_an_error():
    with pytest.raises(TypeError, match="weights"):
        ClickLog(**arguments(), weights=[1.0, 1.0, 1.0])


@loop_over("name", COLUMNS)
def test_attributes_cannot_be_set(name):
    with pytest.raises(dataclasses.FrozenInstanceError, match=name):
        setattr(ClickLog(**arguments()), name, None)


@loop_over("name", COLUMNS)
def test_arrays_cannot_be_written_into(name):
    with pytest.raises(ValueError, match="read-only"):
        getattr(ClickLog(**arguments()), name)[0] = 0


@loop_over(
    ("name", "dtype"),
    [("query", np.int32), ("clicks", np.bool_), ("log_propensity", np.float64),
     ("weight", np.float64)],
)  # fmt: skip
def test_dtypes_are_those_of_the_design(name, dtype):
    assert getattr(ClickLog(**arguments()), name).dtype == dtype


def test_length_is_the_number_of_rows():
    assert len(ClickLog(**arguments())) == 3


def test_slots_is_the_width_of_ranking():
    assert ClickLog(**arguments()).slots == 2


def test_impressions_are_the_sum_of_weights():
    assert ClickLog(**arguments()).impressions == 3.5


def test_impressions_without_weights_are_the_rows():
    assert ClickLog(**arguments(weight=None)).impressions == 3.0


@loop_over("rows", [slice(1, 3), [1, 2], np.array([False, True, True])])
def test_chosen_rows_are_a_log_of_all_columns(rows):
    expected = ClickLog([1, 0], [[2, -1], [1, 0]], [[1, 0], [0, 0]], [-1.0, 0.0], [0.0, 2.5])
    assert_same(ClickLog(**arguments())[rows], expected)


@loop_over(("query", "ranking", "name"), [(6, 0, "query"), (0, 7, "ranking")])
def test_a_log_that_shows_what_a_world_has_not_is_refused(query, ranking, name):
    with pytest.raises(ValueError, match=rf"^{name}\[0"):
        ClickLog([query], [[ranking]], [[False]]).check_world(small_world())


def test_a_log_of_another_world_is_refused():
    with pytest.raises(ValueError, match="the log belongs to another world"):
        random_log().check_world(small_world())


# Splitting


def numbered_log(n=1000):
    """A log whose weights number its rows."""
    rng = np.random.default_rng(0)
    return ClickLog(rng.integers(0, 6, n), np.zeros((n, 1), int), np.zeros((n, 1), bool),
                    weight=np.arange(n, dtype=float))  # fmt: skip


@loop_over("fractions", [(1.0,), (0.8, 0.1, 0.1), (0.5, 0.5), (1 / 3,) * 3, (0.0, 1.0)])
def test_split_parts_are_disjoint_and_complete(fractions):
    parts = numbered_log().split(fractions, seed=1)
    numbers = np.concatenate([part.weight for part in parts])
    np.testing.assert_array_equal(np.sort(numbers), np.arange(1000))


@loop_over(
    ("n", "fractions", "sizes"),
    [
        (1000, (0.8, 0.1, 0.1), [800, 100, 100]),
        (1000, (0.0, 1.0), [0, 1000]),
        (10, (1 / 3, 1 / 3, 1 / 3), [3, 4, 3]),
        (1, (0.5, 0.25, 0.25), [0, 1, 0]),
        (0, (0.5, 0.5), [0, 0]),
    ],
)
def test_split_sizes_follow_the_fractions(n, fractions, sizes):
    assert [len(part) for part in numbered_log(n).split(fractions, seed=1)] == sizes


def test_split_rows_keep_their_columns():
    log = random_log()
    expected = Counter(zip(rows_of(log), log.weight.tolist(), strict=True))
    got = Counter()
    for part in log.split((0.6, 0.4), seed=3):
        got += Counter(zip(rows_of(part), part.weight.tolist(), strict=True))
    assert got == expected


def test_split_keeps_the_fingerprint():
    assert [part.fingerprint for part in random_log().split((0.5, 0.5), 0)] == ["ab" * 32] * 2


def test_split_with_the_same_seed_is_the_same():
    first, second = (numbered_log().split((0.5, 0.5), seed=4)[0] for _ in range(2))
    assert_same(first, second)


def test_split_with_another_seed_differs():
    first, second = (numbered_log().split((0.5, 0.5), seed)[0] for seed in (4, 5))
    assert not np.array_equal(first.weight, second.weight)


def test_split_is_not_in_order_of_the_rows():
    first = numbered_log().split((0.5, 0.5), seed=0)[0].weight
    assert 200 < (first < 500).sum() < 300  # 250 expected; 500 or 0 if rows were cut in two


@loop_over("fractions", [[], [0.5], [0.5, 0.6], [-0.5, 1.5], [np.nan, 1.0], 1.0, [[1.0]]])
def test_bad_fractions_are_named(fractions):
    with pytest.raises(ValueError, match="fractions"):
        numbered_log().split(fractions, seed=0)


# Folding equal rows

KINDS = {
    "plain": {"weight": False, "propensity": False},
    "weights": {"weight": True, "propensity": False},
    "propensities": {"weight": False, "propensity": True},
    "both": {"weight": True, "propensity": True},
}
SHAPES = {  # rows of more than 64 bits: 20 slots of 300 documents, then 40 slots of two
    "narrow": {"n_docs": 3, "slots": 2},
    "two words": {"n_queries": 3, "n_docs": 300, "slots": 20},
    "three words": {"n_queries": 1000, "n_docs": 2000, "slots": 15},
    "many columns": {"n_queries": 2, "n_docs": 40, "slots": 40},
    "one slot": {"n_docs": 2, "slots": 1},
    "one document": {"n_queries": 1, "n_docs": 1, "slots": 1},
}


def repeating_log(shape, kind, seed):
    """A random log whose rows, drawn with replacement, repeat however wide they are."""
    log = random_log(n=40, seed=seed, **SHAPES[shape], **KINDS[kind])
    return log[np.random.default_rng(seed).integers(0, 40, 300)]


@loop_over("seed", range(3))
@loop_over("kind", KINDS)
@loop_over("shape", SHAPES)
def test_compress_equals_counting_row_by_row(shape, kind, seed):
    log = repeating_log(shape, kind, seed)
    folded = log.compress()
    got = dict(zip(rows_of(folded), folded.weight.tolist(), strict=True))
    assert got == dict(counted(log))


@loop_over("shape", SHAPES)
def test_compress_leaves_no_two_rows_equal(shape):
    rows = rows_of(repeating_log(shape, "both", 0).compress())
    assert len(set(rows)) == len(rows)


@loop_over("shape", SHAPES)
def test_compressed_rows_are_in_order_of_appearance(shape):
    log = repeating_log(shape, "both", 0)
    assert rows_of(log.compress()) == list(dict.fromkeys(rows_of(log)))


@loop_over("kind", KINDS)
def test_compress_is_idempotent(kind):
    once = repeating_log("narrow", kind, 0).compress()
    assert_same(once.compress(), once)


def test_compress_keeps_the_number_of_impressions():
    log = random_log(n=2000)
    assert log.compress().impressions == pytest.approx(log.impressions)


def test_compress_folds_rows_that_are_not_all_distinct():
    log = random_log(n=2000, n_docs=3, slots=2, weight=False, propensity=False)
    assert len(log.compress()) < len(log) / 5


def test_rows_with_different_propensities_stay_apart():
    log = ClickLog([0, 0], [[1], [1]], [[1], [1]], log_propensity=[-1.0, np.nextafter(-1.0, 0)])
    assert len(log.compress()) == 2


def test_compress_keeps_the_fingerprint():
    assert random_log().compress().fingerprint == "ab" * 32


def test_an_empty_log_compresses_to_an_empty_log():
    assert len(random_log(n=10)[:0].compress()) == 0


@loop_over("name", sorted(random_models()))
@loop_over("weight", [True, False])
def test_compress_keeps_the_likelihood(name, weight):
    model = random_models()[name]
    log = random_log(n=2000, weight=weight)
    folded = log.compress()

    def total(log, weights):
        values = model.log_likelihood(log.query, log.ranking, log.clicks)
        possible = np.isfinite(values)  # the cascade model has no pages with two clicks
        return weights[possible] @ values[possible], weights[~possible].sum()

    weights = log.weight if weight else np.ones(len(log))
    assert total(folded, folded.weight) == pytest.approx(total(log, weights), rel=1e-12)


def test_many_rows_are_folded_and_gathered_in_parts(monkeypatch):
    log = random_log(n=500)
    whole, index = log.compress(), np.random.default_rng(0).permutation(500)[:300]
    few = log[index]
    monkeypatch.setattr(grouping, "_MANY", 10)
    monkeypatch.setattr(grouping, "_CHUNK", 7)
    for one, other in ((whole, log.compress()), (few, log[index])):
        for name in ("query", "ranking", "clicks", "log_propensity", "weight"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def test_rows_are_chosen_by_a_slice_a_mask_or_indices():
    with pytest.raises(ValueError, match="rows must be a slice, a mask or indices"):
        random_log()[3]


# Files


@loop_over("kind", KINDS)
def test_a_saved_log_is_loaded_the_same(tmp_path, kind):
    log = random_log(**KINDS[kind])
    log.save(tmp_path / "log.parquet")
    assert_same(ClickLog.load(tmp_path / "log.parquet"), log)


@loop_over("dtype", [np.int8, np.int16, np.int32, np.int64])
def test_the_dtype_of_rankings_survives_a_file(tmp_path, dtype):
    log = ClickLog([0, 1], np.array([[3, 0], [2, -1]], dtype=dtype), [[0, 1], [1, 0]])
    log.save(tmp_path / "log.parquet")
    assert_same(ClickLog.load(tmp_path / "log.parquet"), log)


def test_a_log_without_fingerprint_survives_a_file(tmp_path):
    log = ClickLog(**arguments())
    log.save(tmp_path / "log.parquet")
    assert ClickLog.load(tmp_path / "log.parquet").fingerprint is None


def test_an_empty_log_survives_a_file(tmp_path):
    log = random_log(n=10)[:0]
    log.save(tmp_path / "log.parquet")
    assert_same(ClickLog.load(tmp_path / "log.parquet"), log)


def test_chosen_rows_survive_a_file(tmp_path):
    log = random_log()[::-3]
    log.save(tmp_path / "log.parquet")
    assert_same(ClickLog.load(tmp_path / "log.parquet"), log)


def test_saving_makes_the_parents(tmp_path):
    random_log().save(tmp_path / "a" / "b" / "log.parquet")
    assert (tmp_path / "a" / "b" / "log.parquet").is_file()


def test_a_path_may_be_text(tmp_path):
    random_log().save(str(tmp_path / "log.parquet"))
    assert len(ClickLog.load(str(tmp_path / "log.parquet"))) == 500


def test_other_programs_can_read_the_columns(tmp_path):
    log = random_log()
    log.save(tmp_path / "log.parquet")
    assert pq.read_table(tmp_path / "log.parquet")["ranking"].to_pylist() == log.ranking.tolist()


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nowhere\.parquet"):
        ClickLog.load(tmp_path / "nowhere.parquet")


def test_a_folder_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=str(tmp_path)):
        ClickLog.load(tmp_path)


@loop_over("share", [0.0, 0.1, 0.5, 0.9, 0.999])
def test_a_truncated_file_is_named(tmp_path, share):
    path = tmp_path / "cut.parquet"
    random_log().save(path)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(ValueError, match=r"cut\.parquet: not a whole Parquet file"):
        ClickLog.load(path)


def loaded_after_flips(path, first=None, last=None, step=1):
    """What loading gives, a log or an error, after flipping a bit of each byte in turn."""
    whole = path.read_bytes()
    for place in range(len(whole))[first:last:step]:
        damaged = bytearray(whole)
        damaged[place] ^= 1
        path.write_bytes(damaged)
        try:
            yield ClickLog.load(path)
        except ValueError as error:
            yield error


def start_of_footer(path):
    """Where the pages end, which have checksums, and the footer starts, which has none."""
    whole = path.read_bytes()
    return len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")


def test_a_flipped_bit_in_the_columns_never_changes_a_log_silently(tmp_path):
    log, path = random_log(n=40), tmp_path / "damaged.parquet"
    log.save(path)
    for got in loaded_after_flips(path, last=start_of_footer(path)):
        if isinstance(got, ClickLog):
            assert_same(got, log)


def test_an_error_about_a_flipped_bit_always_names_the_file(tmp_path):
    path = tmp_path / "damaged.parquet"
    random_log(n=40).save(path)
    errors = [got for got in loaded_after_flips(path, step=3) if isinstance(got, ValueError)]
    assert len(errors) > 300
    assert [error for error in errors if "damaged.parquet" not in str(error)] == []


def test_a_foreign_parquet_file_is_named(tmp_path):
    pq.write_table(pa.table({"query": [1, 2]}), tmp_path / "foreign.parquet")
    with pytest.raises(ValueError, match=r"foreign\.parquet: a Parquet file, but not a click log"):
        ClickLog.load(tmp_path / "foreign.parquet")


def test_a_text_file_is_named(tmp_path):
    (tmp_path / "notes.txt").write_text("query,ranking\n")
    with pytest.raises(ValueError, match=r"notes\.txt"):
        ClickLog.load(tmp_path / "notes.txt")


def test_a_later_format_is_refused_by_name(tmp_path, monkeypatch):
    monkeypatch.setattr(log_module, "FORMAT", 2)
    random_log().save(tmp_path / "later.parquet")
    monkeypatch.undo()
    with pytest.raises(ValueError, match=r"later\.parquet: written in format 2"):
        ClickLog.load(tmp_path / "later.parquet")


def test_a_file_with_bad_values_is_named(tmp_path):
    path = tmp_path / "bad.parquet"
    random_log().save(path)
    table = pq.read_table(path)
    query = pa.array(np.full(len(table), -3, dtype=np.int32))
    pq.write_table(table.set_column(0, "query", query), path)
    with pytest.raises(ValueError, match=r"bad\.parquet: query"):
        ClickLog.load(path)


def fail_after_half(monkeypatch):
    """Make the writing of Parquet files stop half-way."""

    def write(table, where, **options):
        with open(where, "wb") as file:
            file.write(b"PAR1half")
        raise OSError("no space left on device")

    monkeypatch.setattr(pq, "write_table", write)


def test_a_failed_save_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "log.parquet"
    log = random_log()
    log.save(path)
    fail_after_half(monkeypatch)
    with pytest.raises(OSError, match="no space"):
        random_log(seed=1).save(path)
    assert_same(ClickLog.load(path), log)


def test_a_failed_save_leaves_nothing_behind(tmp_path, monkeypatch):
    fail_after_half(monkeypatch)
    with pytest.raises(OSError, match="no space"):
        random_log().save(tmp_path / "log.parquet")
    assert list(tmp_path.iterdir()) == []


def test_the_old_file_is_there_until_the_new_one_is_whole(tmp_path, monkeypatch):
    path = tmp_path / "log.parquet"
    random_log().save(path)
    old, write, during = path.read_bytes(), pq.write_table, []

    def watched(table, where, **options):
        write(table, where, **options)
        during.append(path.read_bytes())

    monkeypatch.setattr(pq, "write_table", watched)
    random_log(seed=1).save(path)
    assert during == [old]
    assert path.read_bytes() != old


def test_whoever_reads_the_old_file_still_reads_all_of_it(tmp_path):
    path = tmp_path / "log.parquet"
    random_log().save(path)
    old = path.read_bytes()
    with path.open("rb") as reader:
        random_log(seed=1).save(path)
        assert reader.read() == old


def test_a_saved_file_is_as_readable_as_other_files(tmp_path):
    random_log().save(tmp_path / "log.parquet")
    (tmp_path / "other").touch()
    assert (tmp_path / "log.parquet").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_saving_over_a_folder_is_an_error(tmp_path):
    with pytest.raises(ValueError, match=str(tmp_path)):
        random_log().save(tmp_path)


def test_counts_are_the_weights_or_ones():
    log = ClickLog([0, 1], [[0], [1]], [[1], [0]])
    assert log.counts.tolist() == [1.0, 1.0]
    weighted = ClickLog([0, 1], [[0], [1]], [[1], [0]], weight=[2.0, 0.5])
    assert weighted.counts.tolist() == [2.0, 0.5]
