"""Saving and loading click models."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import random_models
from looping import loop_over

from clickgym import clickmodels, policies
from clickgym.clickmodels import ClickModel
from clickgym.common.storage import save_arrays

TABLE = np.full((2, 3), 0.5)


def saved(model, tmp_path):
    path = tmp_path / "model.safetensors"
    model.save(path)
    return path


def test_modes_of_a_loaded_cocm_are_the_same_to_the_last_bit(tmp_path):
    for seed in range(30):
        modes = np.random.default_rng(seed).dirichlet(np.ones(3))
        model = clickmodels.CoCM(TABLE, modes=modes)
        assert ClickModel.load(saved(model, tmp_path)).modes == model.modes


def test_which_documents_a_model_has_seen_is_saved(tmp_path):
    model = random_models()["PBM"]
    model.seen = np.random.default_rng(0).random((6, 7)) < 0.5
    np.testing.assert_array_equal(ClickModel.load(saved(model, tmp_path)).seen, model.seen)


@loop_over("share", [0.0, 0.1, 0.5, 0.99])
def test_a_truncated_model_file_is_named(tmp_path, share):
    path = saved(random_models()["DBN"], tmp_path)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(ValueError, match=r"model\.safetensors: not a whole safetensors file"):
        ClickModel.load(path)


def test_a_flipped_bit_anywhere_is_an_error_that_names_the_file(tmp_path):
    path = saved(clickmodels.PBM([[0.3, 0.6]], [1.0, 0.5]), tmp_path)
    whole = path.read_bytes()
    for place in range(len(whole)):
        if whole[place : place + 1] == b" ":
            continue  # padding and JSON's spaces
        damaged = bytearray(whole)
        damaged[place] ^= 1
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"model\.safetensors"):
            ClickModel.load(path)


def test_a_missing_model_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nowhere\.safetensors"):
        ClickModel.load(tmp_path / "nowhere.safetensors")


def test_a_policys_file_is_not_a_model(tmp_path):
    path = tmp_path / "policy.safetensors"
    policies.Ranker(TABLE, slots=2).save(path)
    with pytest.raises(ValueError, match=r"policy\.safetensors: holds a policy, not a click model"):
        ClickModel.load(path)


def test_a_file_with_an_unknown_name_is_refused_by_name(tmp_path):
    path = tmp_path / "strange.safetensors"
    header = {"name": "Strange", "settings": {}, "fingerprint": None}
    save_arrays(path, "click model", header, {"attractiveness": TABLE})
    with pytest.raises(ValueError, match=r"strange\.safetensors: unknown click model 'Strange'"):
        ClickModel.load(path)


def test_a_file_whose_parameters_are_bad_is_named(tmp_path):
    path = tmp_path / "odd.safetensors"
    header = {"name": "CoCM", "settings": {"modes": [1.0, 1.0, 1.0]}, "fingerprint": None}
    save_arrays(path, "click model", header, {"attractiveness": TABLE})
    with pytest.raises(ValueError, match=r"odd\.safetensors: .*modes"):
        ClickModel.load(path)


def test_a_foreign_safetensors_file_is_named(tmp_path):
    from safetensors.numpy import save_file

    save_file({"attractiveness": TABLE}, tmp_path / "foreign.safetensors")
    with pytest.raises(ValueError, match=r"foreign\.safetensors: .* not one that clickgym wrote"):
        ClickModel.load(tmp_path / "foreign.safetensors")


def test_a_failed_save_leaves_the_old_model(tmp_path, monkeypatch):
    path = saved(random_models()["PBM"], tmp_path)
    before = path.read_bytes()

    def fail(arrays, where, metadata):
        where.write_bytes(b"half")
        raise OSError("no space left on device")

    monkeypatch.setattr("clickgym.common.storage.save_file", fail)
    with pytest.raises(OSError, match="no space"):
        random_models()["DBN"].save(path)
    assert [file.read_bytes() for file in tmp_path.iterdir()] == [before]
