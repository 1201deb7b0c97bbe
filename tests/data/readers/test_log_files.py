"""Reading real click logs: what is kept, in which order, and what is refused."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import numpy as np
import pytest
from looping import loop_over

from clickgym.data import read_pyclick, read_sessions

PYCLICK = (
    "q_1\ta,b,c : b , c; q_1\tb,d,a :;\n"
    "q_2\tx,a : a , a  ;  q_2\tx :; q_2\ty,x : y; \n"
)  # fmt: skip
SESSIONS = """\
7\t30\t[4, 5, 6]\t[1, 1, 1]\t[0, 1, 0]
7\t31\t[5, 8]\t[1, 1]\t[0, 0]
9\t30\t[6, 9, 4]\t[1, 1, 1]\t[1, 0, 1]
"""
LABELS = """\
7\t30\t[4, 5, 77]\t[1, 1, 1]\t[0, 1, 0]\t[3, -2, 4]
9\t30\t[9, 6]\t[1, 1]\t[0, 0]\t[-1, 0]
9\t99\t[4]\t[1]\t[0]\t[2]
"""


def write(folder: Path, text: str, name: str = "log.txt") -> Path:
    path = folder / name
    path.write_text(text)
    return path


@pytest.fixture
def pyclick(tmp_path):
    return read_pyclick(write(tmp_path, PYCLICK))


@pytest.fixture
def sessions(tmp_path):
    return read_sessions(write(tmp_path, SESSIONS))


# PyClick's format


def test_pyclick_queries_and_documents_in_order_of_first_appearance(pyclick):
    world, _ = pyclick
    assert world.query_ids.tolist() == ["q_1", "q_2"]
    assert world.doc_ids.tolist() == [["a", "b", "c", "d"], ["x", "a", "y", ""]]


def test_pyclick_pages_in_the_order_of_the_file(pyclick):
    _, log = pyclick
    assert log.query.tolist() == [0, 0, 1, 1, 1]
    assert log.ranking.tolist() == [[0, 1, 2], [1, 3, 0], [0, 1, -1], [0, -1, -1], [2, 0, -1]]


def test_pyclick_clicks_by_slot(pyclick):
    _, log = pyclick
    assert [np.flatnonzero(row).tolist() for row in log.clicks] == [[1, 2], [], [1], [], [0]]


def test_pyclick_candidates_are_what_was_shown(pyclick):
    world, _ = pyclick
    assert world.n_candidates.tolist() == [4, 3]


def test_pyclick_has_no_grades(pyclick):
    world, _ = pyclick
    assert (world.relevance == -1).all()


def test_pyclick_frequencies_are_the_logs(pyclick):
    world, _ = pyclick
    assert world.query_probs.tolist() == pytest.approx([0.4, 0.6])


def test_pyclick_log_belongs_to_its_world(pyclick):
    world, log = pyclick
    assert log.fingerprint == world.fingerprint
    log.check_world(world)


def test_pyclick_world_is_named_after_the_file(pyclick):
    assert pyclick[0].name == "log.txt"


def test_pyclick_clicks_on_documents_not_shown_are_dropped_with_a_warning(tmp_path):
    path = write(tmp_path, "q\ta,b : z , a , z; q\ta,b : z\n")
    with pytest.warns(UserWarning, match="dropped 3 clicks") as caught:
        _, log = read_pyclick(path)
    assert str(path) in str(caught[0].message)
    assert caught[0].filename == __file__
    assert log.clicks.tolist() == [[True, False], [False, False]]


def test_pyclick_without_dropped_clicks_warns_of_nothing(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read_pyclick(write(tmp_path, PYCLICK))


def test_pyclick_click_on_a_document_shown_twice_goes_to_the_higher_slot(tmp_path):
    world, log = read_pyclick(write(tmp_path, "q\ta,b,a : a\n"))
    assert log.ranking.tolist() == [[0, 1, 0]]
    assert log.clicks.tolist() == [[True, False, False]]
    assert world.n_candidates.tolist() == [2]


def test_pyclick_windows_lines_and_blank_lines(tmp_path, pyclick):
    _, log = read_pyclick(write(tmp_path, PYCLICK.replace("\n", "\r\n\r\n")))
    assert log.ranking.tolist() == pyclick[1].ranking.tolist()


def test_pyclick_sequence_of_files_is_one_log(tmp_path, pyclick):
    first, second = PYCLICK.splitlines(keepends=True)
    paths = [write(tmp_path, first, "1"), write(tmp_path, second, "2")]
    world, log = read_pyclick(paths)
    assert world.fingerprint == pyclick[0].fingerprint
    assert log.ranking.tolist() == pyclick[1].ranking.tolist()


def test_pyclick_mapping_of_files_is_a_log_a_name(tmp_path):
    paths = {
        "train": write(tmp_path, "q\ta,b : b\n", "1"),
        "test": write(tmp_path, "q\tb : b; p\tc,d,e :\n", "2"),
    }
    world, logs = read_pyclick(paths)
    assert world.query_ids.tolist() == ["q", "p"]
    assert {name: log.ranking.tolist() for name, log in logs.items()} == {
        "train": [[0, 1, -1]],
        "test": [[1, -1, -1], [0, 1, 2]],
    }
    assert {log.fingerprint for log in logs.values()} == {world.fingerprint}


@loop_over(
    ("page", "message"),
    [
        ("q a,b : a", "not query<TAB>documents : clicks"),
        ("\ta,b : a", "not query<TAB>documents : clicks"),
        ("q\ta,b", "not query<TAB>documents : clicks"),
        ("q\ta : b : c", "not query<TAB>documents : clicks"),
        ("q\ta,,b :", "name of a document is empty"),
        ("q\t :", "name of a document is empty"),
        ("q\ta,b : a ,", "name of a document is empty"),
        ("", "not query<TAB>documents : clicks"),
    ],
)
def test_pyclick_malformed_page_is_located(tmp_path, page, message):
    path = write(tmp_path, f"q\ta,b :\nq\ta :; {page}; q\ta :;\n")
    with pytest.raises(ValueError, match=message) as error:
        read_pyclick(path)
    assert str(error.value).startswith(f"{path}:2, page 2: ")


# Sessions


def test_sessions_queries_and_documents_in_order_of_first_appearance(sessions):
    world, _ = sessions
    assert world.query_ids.tolist() == ["30", "31"]
    assert world.doc_ids.tolist() == [["4", "5", "6", "9"], ["5", "8", "", ""]]


def test_sessions_pages_and_clicks(sessions):
    _, log = sessions
    assert log.query.tolist() == [0, 1, 0]
    assert log.ranking.tolist() == [[0, 1, 2], [0, 1, -1], [2, 3, 0]]
    assert log.clicks.astype(int).tolist() == [[0, 1, 0], [0, 0, 0], [1, 0, 1]]


def test_sessions_world_without_labels(sessions):
    world, log = sessions
    assert (world.relevance == -1).all()
    assert world.n_candidates.tolist() == [4, 2]
    assert world.query_probs.tolist() == pytest.approx([2 / 3, 1 / 3])
    assert log.fingerprint == world.fingerprint


def test_labels_are_joined_by_query_and_document(tmp_path):
    world, _ = read_sessions(write(tmp_path, SESSIONS), write(tmp_path, LABELS, "labels"))
    # 4 has 3; 5 is spam; 6 has 0; 9 is unjudged; query 31 has no line.
    assert world.relevance.tolist() == [[3, 0, 0, -1], [-1, -1, -1, -1]]


def test_labels_do_not_change_candidates(tmp_path, sessions):
    world, _ = read_sessions(write(tmp_path, SESSIONS), write(tmp_path, LABELS, "labels"))
    assert world.candidates.tolist() == sessions[0].candidates.tolist()


@loop_over(("grades", "taken"), [([1, 3, 1], 1), ([1, 3], 3), ([-2, 0, 2], 0)])
def test_labels_that_disagree(tmp_path, grades, taken):
    labels = "".join(f"1\t30\t[4]\t[1]\t[0]\t[{grade}]\n" for grade in grades)
    path = write(tmp_path, labels, "labels")
    with pytest.warns(UserWarning, match="disagree about the grades of 1 ") as caught:
        world, _ = read_sessions(write(tmp_path, SESSIONS), path)
    assert str(path) in str(caught[0].message)
    assert caught[0].filename == __file__
    assert world.relevance[0, 0] == taken


def test_spam_and_grade_0_agree(tmp_path):
    labels = write(tmp_path, "1\t30\t[4, 4]\t[1, 1]\t[0, 0]\t[-2, 0]\n", "labels")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        world, _ = read_sessions(write(tmp_path, SESSIONS), labels)
    assert world.relevance[0, 0] == 0


def test_labels_of_another_log_warn(tmp_path):
    labels = write(tmp_path, "1\t99\t[4]\t[1]\t[0]\t[2]\n", "labels")
    with pytest.warns(UserWarning, match="none of its graded documents is in the log"):
        read_sessions(write(tmp_path, SESSIONS), labels)


def test_sessions_document_shown_twice_keeps_its_slots_and_clicks(tmp_path):
    world, log = read_sessions(write(tmp_path, "1\t2\t[3, 4, 3]\t[1, 1, 1]\t[0, 0, 1]\n"))
    assert log.ranking.tolist() == [[0, 1, 0]]
    assert log.clicks.tolist() == [[False, False, True]]
    assert world.n_candidates.tolist() == [2]


def test_sessions_sequence_of_files_is_one_log(tmp_path, sessions):
    lines = SESSIONS.splitlines(keepends=True)
    paths = [write(tmp_path, lines[0], "1"), write(tmp_path, "".join(lines[1:]), "2")]
    world, log = read_sessions(paths)
    assert world.fingerprint == sessions[0].fingerprint
    assert log.ranking.tolist() == sessions[1].ranking.tolist()


def test_sessions_mapping_of_files_shares_one_world(tmp_path):
    lines = SESSIONS.splitlines(keepends=True)
    paths = {"train": write(tmp_path, lines[1], "1"), "test": [write(tmp_path, lines[0], "2")]}
    world, logs = read_sessions(paths, labels=write(tmp_path, LABELS, "labels"))
    assert list(logs) == ["train", "test"]
    assert world.query_ids.tolist() == ["31", "30"]
    assert logs["train"].ranking.tolist() == [[0, 1, -1]]
    assert logs["test"].ranking.tolist() == [[0, 1, 2]]
    assert world.relevance[1].tolist() == [3, 0, 0]


@loop_over(
    ("line", "message"),
    [
        ("1\t2\t[3]\t[1]", "4 fields split by tabs, not 5"),
        ("1\t2\t[3]\t[1]\t[0]\t[4]", "6 fields split by tabs, not 5"),
        ("1\t \t[3]\t[1]\t[0]", "the query is empty"),
        ("1\t2\t3\t[1]\t[0]", "documents is not a list in brackets"),
        ("1\t2\t[3\t[1]\t[0]", "documents is not a list in brackets"),
        ("1\t2\t[]\t[]\t[]", "documents has an empty item"),
        ("1\t2\t[3, 4]\t[1, 1]\t[0, ]", "clicks has an empty item"),
        ("1\t2\t[3, 4]\t[1, 1]\t[0]", "2 documents, but 1 clicks"),
        ("1\t2\t[3, 4]\t[1]\t[0, 0]", "2 documents, but 1 types"),
        ("1\t2\t[3, 4]\t[1, 1]\t[0, 2]", "clicks must be 0 or 1"),
    ],
)
def test_sessions_malformed_line_is_located(tmp_path, line, message):
    path = write(tmp_path, f"1\t2\t[3]\t[1]\t[0]\n\n{line}\n")
    with pytest.raises(ValueError, match=message) as error:
        read_sessions(path)
    assert str(error.value).startswith(f"{path}:3: ")


@loop_over(
    ("line", "message"),
    [
        ("1\t2\t[3]\t[1]\t[0]", "5 fields split by tabs, not 6"),
        ("1\t2\t[3]\t[1]\t[0]\t[good]", "grade 'good' is not an integer"),
        ("1\t2\t[3]\t[1]\t[0]\t[5]", "grade 5 is outside -2..4"),
        ("1\t2\t[3]\t[1]\t[0]\t[-3]", "grade -3 is outside -2..4"),
        ("1\t2\t[3]\t[1]\t[0]\t[1, 2]", "1 documents, but 2 grades"),
    ],
)
def test_labels_malformed_line_is_located(tmp_path, line, message):
    labels = write(tmp_path, line + "\n", "labels")
    with pytest.raises(ValueError, match=message) as error:
        read_sessions(write(tmp_path, SESSIONS), labels)
    assert str(error.value).startswith(f"{labels}:1: ")


# Both


@loop_over("read", [read_pyclick, read_sessions])
def test_missing_file(tmp_path, read):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        read(tmp_path / "nowhere")


def test_missing_labels(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        read_sessions(write(tmp_path, SESSIONS), tmp_path / "nowhere")


@loop_over("read", [read_pyclick, read_sessions])
def test_file_without_pages(tmp_path, read):
    with pytest.raises(ValueError, match=r"log\.txt: no pages in it"):
        read(write(tmp_path, " \n\n"))


@loop_over("read", [read_pyclick, read_sessions])
@loop_over("nothing", [[], {}, {"train": []}])
def test_no_files(read, nothing):
    with pytest.raises(ValueError, match="at least one file"):
        read(nothing)


@loop_over("read", [read_pyclick, read_sessions])
def test_not_text(tmp_path, read):
    path = tmp_path / "log.txt"
    path.write_bytes(b"\xff\xfe\n")
    with pytest.raises(ValueError, match=r"log\.txt:1: not UTF-8 text"):
        read(path)


# The real samples


def real(name: str) -> Path:
    folder = os.environ.get("CLICKGYM_DATA")
    if not folder:
        pytest.skip("CLICKGYM_DATA does not name the folder with the real samples")
    return Path(folder) / name


@pytest.fixture(scope="module")
def yandex():
    path = real("yandex/sample.txt")
    with pytest.warns(UserWarning, match="dropped 417 clicks"):
        return read_pyclick(path)


@pytest.fixture(scope="module")
def trec():
    names = ("train", "valid", "test")
    paths = {name: real(f"trec_session/{name}_per_query_quid.txt") for name in names}
    with pytest.warns(UserWarning, match="disagree about the grades of 16 "):
        return read_sessions(paths, labels=real("trec_session/labels.txt"))


def test_yandex_pages_queries_and_pairs(yandex):
    world, log = yandex
    assert len(log) == 35_064
    assert world.n_queries == 20
    assert world.candidates.sum() == 1_024


def test_yandex_most_frequent_query(yandex):
    world, log = yandex
    assert np.bincount(log.query).max() == 20_102
    assert world.query_ids[world.query_probs.argmax()] == "9982_0"


def test_yandex_pages_without_a_click(yandex):
    _, log = yandex
    assert 1 - log.clicks.any(axis=1).mean() == pytest.approx(0.34, abs=0.005)


def test_yandex_shows_no_document_twice_on_a_page(yandex):
    _, log = yandex
    ordered = np.sort(log.ranking, axis=1)
    assert (ordered[:, 1:] != ordered[:, :-1]).all()


def test_yandex_first_page(yandex):
    world, log = yandex
    assert world.query_ids[log.query[0]] == "98435_1"
    assert world.doc_ids[0, log.ranking[0, :3]].tolist() == ["232429", "688835", "50189248"]
    assert np.flatnonzero(log.clicks[0]).tolist() == [0, 1, 3]


def test_trec_pages(trec):
    _, logs = trec
    assert {name: len(log) for name, log in logs.items()} == {
        "train": 2_872, "valid": 361, "test": 363,
    }  # fmt: skip


def test_trec_pages_without_a_click(trec):
    _, logs = trec
    clicked = np.concatenate([log.clicks.any(axis=1) for log in logs.values()])
    assert 1 - clicked.mean() == pytest.approx(0.72, abs=0.005)


def test_trec_queries_pairs_and_graded_pairs(trec):
    world, _ = trec
    graded = world.relevance >= 0
    assert world.n_queries == 2_544
    assert world.candidates.sum() == 27_964
    assert graded.sum() == 5_209
    assert graded.any(axis=1).sum() == 488


def test_trec_pages_that_show_a_document_twice_are_kept(trec):
    _, logs = trec
    ordered = np.sort(np.concatenate([log.ranking for log in logs.values()]), axis=1)
    assert (ordered[:, 1:] == ordered[:, :-1]).any(axis=1).sum() == 101
