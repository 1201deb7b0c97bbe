"""Hypothesis gives the reader what no table is: it refuses with our own error, or reads it."""

from __future__ import annotations

import gzip
import json
import warnings

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clickgym.data import BadLog, read_log
from clickgym.scripts import main

SUFFIXES = (
    "csv", "tsv", "txt", "jsonl", "json", "parquet", "arrow", "feather", "csv.gz", "csv.zst",
    "jsonl.gz",
)  # fmt: skip
FORMATS = (
    "yandex-2011", "yandex-2013", "pyclick", "sessions", "clax", "baidu-ultr", "open-bandit",
)  # fmt: skip
TABLES = {  # columns that a format of tables has, and those that it may have
    "clax": (("query_doc_ids", "clicks"), ("query_id", "doc_ids", "positions")),
    "baidu-ultr": (("query_md5", "text_md5", "position", "click"), ("query_id", "url_md5")),
    "open-bandit": (("item_id", "position", "click", "propensity_score"), ("timestamp",)),
}
HEADER = b"query,doc,rank,click,propensity,grade,weight,time\n"
FEW = settings(
    max_examples=40,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def refusal(source, **options):
    """Read a source; return what our own error says, or None. Any other error is a failure."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            world, log = read_log(source, **options)
    except BadLog as error:
        return str(error)
    log.check_world(world)
    return None


def refuse_or_read(folder, name, content, **options):
    """Read a file with this content: an error names it."""
    path = folder / name
    path.write_bytes(content)
    said = refusal(path, **options)
    assert said is None or said.startswith(str(path)), "the error does not name the file"
    path.unlink()


def table(rows=40):
    return pa.table(
        {
            "query": [f"q{n // 4}" for n in range(rows)],
            "doc": [f"d{n}" for n in range(rows)],
            "rank": [n % 4 + 1 for n in range(rows)],
            "click": [n % 2 for n in range(rows)],
        }
    )


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Bytes of whole files, by suffix."""
    folder = tmp_path_factory.mktemp("whole")
    pq.write_table(table(), folder / "log.parquet")
    pyarrow.feather.write_feather(table(), folder / "log.feather", compression="uncompressed")
    with pa.ipc.new_stream(str(folder / "log.arrow"), table().schema) as file:
        file.write_table(table())
    frame = table().to_pandas()
    text = frame.to_csv(index=False).encode()
    (folder / "log.csv").write_bytes(text)
    (folder / "log.csv.gz").write_bytes(gzip.compress(text))
    with pa.output_stream(str(folder / "log.csv.zst"), compression="zstd") as file:
        file.write(text)
    frame.to_json(folder / "log.jsonl", orient="records", lines=True)
    return {path.name.removeprefix("log."): path.read_bytes() for path in folder.iterdir()}


@FEW
@given(st.sampled_from(SUFFIXES), st.binary(max_size=400))
def test_random_bytes(tmp_path, suffix, content):
    refuse_or_read(tmp_path, f"log.{suffix}", content)


@FEW
@given(st.sampled_from(("csv", "tsv")), st.binary(max_size=300))
def test_random_bytes_below_a_header(tmp_path, suffix, content):
    header = HEADER if suffix == "csv" else HEADER.replace(b",", b"\t")
    refuse_or_read(tmp_path, f"log.{suffix}", header + content)


@FEW
@given(st.sampled_from(FORMATS), st.text("QCTM 0123456789\t,:;[]\n\r\x00é", max_size=200))
def test_random_text_in_a_format(tmp_path, format, content):
    refuse_or_read(tmp_path, "log.txt", content.encode(), format=format)


@FEW
@given(st.data())
def test_truncated_and_altered_files(tmp_path, whole, data):
    suffix = data.draw(st.sampled_from(sorted(whole)))
    content = bytearray(whole[suffix])
    end = data.draw(st.integers(0, len(content)))
    if data.draw(st.booleans()):
        content = content[:end]
    for _ in range(data.draw(st.integers(0, 3))):
        if content:
            place = data.draw(st.integers(0, len(content) - 1))
            content[place] = data.draw(st.integers(0, 255))
    refuse_or_read(tmp_path, f"log.{suffix}", bytes(content))


ANYTHING = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from(["0", "1", "a", "b", "", "nan", "-1", "1e400", "[", "[]", "[1,2]", "\ufeff"]),
    st.lists(st.one_of(st.integers(-3, 3), st.text(max_size=3)), max_size=3),
)
ROW = st.fixed_dictionaries(
    {"query": st.sampled_from(["a", "b", 1]), "doc": ANYTHING, "rank": st.integers(0, 3)},
    optional=dict.fromkeys(
        ("click", "page", "user", "time", "propensity", "grade", "weight", "session"), ANYTHING
    ),
)


def test_a_broken_file_leaves_nothing_behind(tmp_path, whole):
    out = tmp_path / "fits"
    for suffix, content in whole.items():
        path = tmp_path / f"log.{suffix}"
        path.write_bytes(content[: len(content) // 2] + b"\xff\x00")
        with pytest.raises(SystemExit) as stopped:
            main(["fit", str(path), "--models", "PBM", "--out", str(out)])
        assert stopped.value.code, suffix
        assert not out.exists(), suffix


@FEW
@given(st.lists(ROW, min_size=1, max_size=6))
def test_wrong_types_in_json_lines(tmp_path, rows):
    content = "".join(json.dumps(row) + "\n" for row in rows).encode()
    refuse_or_read(tmp_path, "log.jsonl", content)


VALUE = st.one_of(
    st.integers(-(2**70), 2**70).map(str),
    st.floats().map(str),
    st.sampled_from(["", "0", "1", "-1", "a", '"x,y"', '"x\ny"', '"', "1e999", "yes", "[a, b]"]),
    st.text("aé\u202e\x00 \t'|;", max_size=4),
)


@FEW
@given(
    st.lists(st.lists(VALUE, min_size=8, max_size=8), min_size=0, max_size=5),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.sampled_from(["utf-8", "utf-8-sig", "latin-1", "utf-16"]),
)
def test_any_values_in_csv_of_any_encoding(tmp_path, rows, end, encoding):
    text = HEADER.decode() + "\n".join(",".join(row) for row in rows)
    content = text.replace("\n", end).encode(encoding, errors="replace")
    refuse_or_read(tmp_path, "log.csv", content)


COLUMN = st.one_of(
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=3, max_size=3),
    st.lists(st.one_of(st.none(), st.floats()), min_size=3, max_size=3),
    st.lists(st.sampled_from([0, 1, 2]), min_size=3, max_size=3),
    st.lists(st.one_of(st.none(), st.text(max_size=3)), min_size=3, max_size=3),
    st.lists(st.one_of(st.none(), st.booleans()), min_size=3, max_size=3),
    st.lists(st.binary(max_size=3), min_size=3, max_size=3),
    st.lists(st.datetimes(), min_size=3, max_size=3),
    st.lists(st.lists(st.sampled_from([0, 1, 5]), max_size=2), min_size=3, max_size=3),
    st.lists(st.fixed_dictionaries({"x": st.integers(0, 3)}), min_size=3, max_size=3),
    st.lists(st.decimals(-5, 5, places=2), min_size=3, max_size=3),
)


@FEW
@given(
    st.fixed_dictionaries(
        {"query": COLUMN, "doc": COLUMN, "rank": COLUMN, "click": COLUMN},
        optional=dict.fromkeys(("page", "time", "propensity", "grade", "weight", "user"), COLUMN),
    ),
    st.sampled_from(["grade", "time", "rank", "doc"]),
)
def test_wrong_types_in_tables(columns, feature):
    chosen = {"features": feature, "grade": "", "time": ""} if feature in columns else {}
    said = refusal(columns, **chosen)
    assert said is None or said.startswith("the table")


@FEW
@given(st.sampled_from(sorted(TABLES)), st.data())
def test_wrong_types_in_tables_of_a_format(format, data):
    must, may = (dict.fromkeys(names, COLUMN) for names in TABLES[format])
    columns = data.draw(st.fixed_dictionaries(must, optional=may))
    said = refusal(columns, format=format)
    assert said is None or said.startswith("the table")
