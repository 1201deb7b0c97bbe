"""Files that earlier commits saved load, and give what they gave then."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import saved_files

from clickgym import clickmodels, policies
from clickgym.scripts import main

FOLDERS = sorted((Path(__file__).parent / "saved").iterdir())


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_files_of_an_earlier_commit_give_the_same(folder):
    assert saved_files.check(folder) > 100


RUNS = [
    pytest.param(path.parent / name, arguments, id=f"{path.parent.parent.name}-{name}")
    for path in sorted(Path(__file__).parent.glob("saved/*/runs/commands.json"))
    for name, arguments in json.loads(path.read_text()).items()
]
# Their results are not today's: logs of gains that were scaled, narrower networks.
OTHER_RESULTS = [one for one in RUNS if one.id.startswith("7f7097b-")]
SAME_RESULTS = [one for one in RUNS if one not in OTHER_RESULTS]
assert SAME_RESULTS, "the run folders of an earlier commit are missing"
KINDS = ("cells", "fits", "logs", "models")


def go_on(saved, arguments, folder):
    """Run the command in a copy of its folder; return the files of each kind, before and after."""
    shutil.copytree(saved, folder)
    (folder / "rows.parquet").unlink()
    command = saved.name.replace("_", "-")
    assert main([command, *arguments, "--jobs", "1", "--out", str(folder)]) == 0
    return [
        {
            f"{kind}/{path.name}": path.read_bytes()
            for kind in KINDS
            for path in (place / kind).glob("[!.]*.*")
        }
        for place in (saved, folder)
    ]


@pytest.mark.parametrize(("saved", "arguments"), SAME_RESULTS)
def test_a_run_of_an_earlier_commit_goes_on_without_computing_a_cell_again(
    saved, arguments, tmp_path
):
    folder = tmp_path / saved.name
    before, after = go_on(saved, arguments, folder)
    assert after == before
    old, new = (pq.read_table(place / "rows.parquet") for place in (saved, folder))
    assert new.select(old.column_names).equals(old)


@pytest.mark.parametrize(("saved", "arguments"), OTHER_RESULTS)
def test_a_run_whose_results_have_changed_is_computed_anew_beside_its_files(
    saved, arguments, tmp_path
):
    folder = tmp_path / saved.name
    before, after = go_on(saved, arguments, folder)
    assert before.items() < after.items()
    old, new = (pq.read_table(place / "rows.parquet") for place in (saved, folder))
    assert len(new) == len(old)
    numbers = [one for one in old.column_names if one.startswith(("perplexity", "promised"))]
    assert numbers
    assert not new.select(numbers).equals(old.select(numbers))


def test_files_of_this_tree_give_the_same_and_are_of_every_kind(tmp_path):
    saved_files.make(tmp_path / "files")
    assert saved_files.check(tmp_path / "files") > 100
    names = {path.stem for path in (tmp_path / "files").iterdir()}
    assert {f"model-{name}" for name in clickmodels.registered()} <= names
    assert {f"policy-{cls.name}" for cls in find_policies(policies.Policy)} <= names


def test_a_file_that_gives_something_else_is_found(tmp_path):
    saved_files.make(tmp_path / "files")
    with np.load(tmp_path / "files" / "expected.npz") as arrays:
        expected = dict(arrays)
    expected["model-PBM log_likelihood"] += 1e-6
    np.savez(tmp_path / "files" / "expected.npz", **expected)
    with pytest.raises(AssertionError, match="model-PBM log_likelihood"):
        saved_files.check(tmp_path / "files")


def find_policies(cls):
    """Return the package's own classes of policies that can be saved, by way of ``cls``."""
    below = [found for sub in cls.__subclasses__() for found in (sub, *find_policies(sub))]
    ours = [found for found in below if found.__module__.startswith("clickgym.")]
    return [found for found in ours if "name" in vars(found)]
