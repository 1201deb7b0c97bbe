"""Files of ratings: the formats of MovieLens, and errors that name file and line."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import numpy as np
import pytest
from looping import loop_over

from clickgym.data import load_movielens

FORMATS = {  # the same ratings in each; half stars where the data set has them
    "u.data": "196\t242\t3\t881250949\n186\t302\t3\t891717742\n196\t302\t1\t878887116\n",
    "ratings.dat": "196::242::3::978300760\n186::302::3::978302109\n196::302::1::978301968\n",
    "ratings.csv": "userId,movieId,rating,timestamp\n"
    "196,242,2.5,881250949\n186,302,3.0,891717742\n196,302,0.5,878887116\n",
    "plain.csv": "196,242,3\n186,302,3\n196,302,1\n",
    "header.csv": "user,item,rating\n196,242,3\n186,302,3\n196,302,1\n",
    "other.csv": 'time,rating,"item_id",user_id\n7,3,242,196\n8,3,"302",186\n9,1,302,196\n',
    "quoted.csv": 'user,"the, item",item,rating\n196,"a, b",242,3\n186,c,302,3\n196,d,302,1\n',
    "blank.csv": "\r\n196,242,3\r\n\r\n186,302,3\r\n196,302,1\r\n\r\n",
    "mark.csv": "\ufeffuserId,movieId,rating\n196,242,3\n186,302,3\n196,302,1\n",
    "three.tsv": "196\t242\t3\n186\t302\t3\n196\t302\t1",
}


def write(folder, text, name="ratings.csv"):
    path = folder / name
    path.write_bytes(text.encode())
    return path


def check_same(ratings):
    assert ratings.user_ids.tolist() == ["196", "186"]
    assert ratings.item_ids.tolist() == ["242", "302"]
    assert ratings.user.tolist() == [0, 1, 0]
    assert ratings.item.tolist() == [0, 1, 1]
    assert ratings.rating.tolist() == [3, 3, 1]


@loop_over("name", FORMATS)
def test_every_format_is_recognised(name, tmp_path):
    check_same(load_movielens(write(tmp_path, FORMATS[name], name)))


@loop_over("name", ["u.data", "ratings.dat", "ratings.csv"])
def test_a_folder_of_a_data_set_is_read(name, tmp_path):
    folder = tmp_path / name.replace(".", "_")
    folder.mkdir()
    write(folder, FORMATS[name], name)
    write(folder, "1,Toy Story (1995),Animation", "movies.csv")
    check_same(load_movielens(folder))
    check_same(load_movielens(str(folder)))


def test_packed_files_are_read(tmp_path):
    path = tmp_path / "ratings.csv.gz"
    path.write_bytes(gzip.compress(FORMATS["ratings.csv"].encode()))
    check_same(load_movielens(path))


def test_half_stars_are_rounded_up(tmp_path):
    stars = np.arange(1, 11) / 2
    text = "".join(f"1,{item},{rating}\n" for item, rating in enumerate(stars))
    found = load_movielens(write(tmp_path, text)).rating
    assert found.tolist() == [1, 1, 2, 2, 3, 3, 4, 4, 5, 5]


def test_ids_stay_as_they_are_written(tmp_path):
    ratings = load_movielens(write(tmp_path, "007,0x1F,3\nann,1e5,4\n"))
    assert ratings.user_ids.tolist() == ["007", "ann"]
    assert ratings.item_ids.tolist() == ["0x1F", "1e5"]


ROWS = "1,10,3\n1,11,4\n\n"  # the next is line 4


@loop_over(
    ("text", "message"),
    [
        (ROWS + "2,10\n", "line 4: 2 fields, not 3"),
        (ROWS + "2,10,3,5\n", "line 4: 4 fields, not 3"),
        (ROWS + "2,10,good\n", "line 4: the rating 'good' is not a number"),
        (ROWS + "2,10,\n", "line 4: the rating is missing"),
        (ROWS + "2,10,6\n", "line 4: the rating 6 is not a number of whole or half stars"),
        (ROWS + "2,10,0\n", "line 4: the rating 0 is not"),
        (ROWS + "2,10,-1\n", "line 4: the rating -1 is not"),
        (ROWS + "2,10,3.7\n", r"line 4: the rating 3\.7 is not"),
        (ROWS + "2,10,inf\n", "line 4: the rating inf is not"),
        (ROWS + ",10,3\n", "line 4: the user is empty"),
        (ROWS + "2,,3\n", "line 4: the item is empty"),
        (ROWS + "1,11,2\n", "line 4: user 1 rated item 11 already in line 2"),
        ("user,item,rating\n" + ROWS + "1,11,2\n", "line 5: user 1 rated item 11 already in line"),
        ("1\t10\t3\t7\n\n2\t10\t3\n", "line 3: 3 fields, not 4"),
        ("1::10::3::7\n2::10::9::7\n", "line 2: the rating 9 is not"),
        ("1::10::3::7\n2::10::x::7\n", "line 2: the rating 'x' is not a number"),
        ("1::10::3::7\n2::10::3\n", "line 2: 3 fields, not 4"),
        ("1::10::3::7\n1::10::4::8\n", "line 2: user 1 rated item 10 already in line 1"),
        ("who,what,how\n1,2,3\n", "line 1: neither a rating nor a header with the columns user"),
        ("1 2 3\n", "line 1: no user, item and rating, split by"),
        ("", "no ratings in it"),
        ("user,item,rating\n", "no ratings in it"),
    ],
)
def test_bad_rows_are_named_with_file_and_line(text, message, tmp_path):
    path = write(tmp_path, text)
    with pytest.raises(ValueError, match=rf"{path.name}(, |: ){message}"):
        load_movielens(path)


def test_bytes_that_are_no_text_are_named_with_file_and_line(tmp_path):
    path = tmp_path / "ratings.csv"
    path.write_bytes(b"1,10,3\n\xff\xfe,11,3\n")
    with pytest.raises(ValueError, match=r"ratings\.csv, line 2: not UTF-8 text"):
        load_movielens(path)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nothing\.csv: no such file or folder"):
        load_movielens(tmp_path / "nothing.csv")


def test_a_folder_without_ratings_or_with_several_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"u\.data, ratings\.dat, ratings\.csv in it.* none"):
        load_movielens(tmp_path)
    for name in ("u.data", "ratings.csv"):
        write(tmp_path, FORMATS[name], name)
    with pytest.raises(ValueError, match=r"this has u\.data and ratings\.csv"):
        load_movielens(tmp_path)


@pytest.fixture(scope="module")
def sample():
    folder = os.environ.get("CLICKGYM_DATA")
    if not folder or not (Path(folder) / "movielens").exists():
        pytest.skip("CLICKGYM_DATA names no folder with the MovieLens sample")
    return load_movielens(Path(folder) / "movielens")


def test_the_sample_has_the_counts_of_its_readme(sample):
    assert (len(sample), sample.n_users, sample.n_items) == (100_004, 671, 9066)


def test_popularity_finds_what_an_outside_trial_found_in_the_sample(sample):
    train, test = sample.split(0.8, seed=0)
    counts = np.bincount(train.item, minlength=sample.n_items)
    for training_items, precision in ((False, 0.122), (True, 0.068)):
        world = test.world(train, training_items)
        scores = np.where(world.candidates, counts, -1)
        top = np.argpartition(-scores, 10, axis=1)[:, :10]
        found = (np.take_along_axis(world.relevance, top, axis=1) >= 4).mean()
        assert found == pytest.approx(precision, abs=0.002)
