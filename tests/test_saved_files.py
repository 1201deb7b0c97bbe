"""Files that earlier commits saved load, and give what they gave then."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import saved_files

from clickgym import clickmodels, policies

FOLDERS = sorted((Path(__file__).parent / "saved").iterdir())


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_files_of_an_earlier_commit_give_the_same(folder):
    assert saved_files.check(folder) > 100


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
