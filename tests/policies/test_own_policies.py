"""The base class: policies of one's own, and files that are refused."""

from __future__ import annotations

import numpy as np
import pytest
from policy_variants import SCORES, WEIGHTS, WORLD, N

from clickgym.clickmodels import PBM
from clickgym.common.storage import save_arrays
from clickgym.policies import Policy, Ranker, Uniform, register
from clickgym.policies import base as policies_base


def save(policy, tmp_path):
    path = tmp_path / "policy.safetensors"
    policy.save(path)
    return path


# Files


def test_a_truncated_file_is_named(tmp_path):
    whole = save(Uniform(WORLD), tmp_path).read_bytes()
    path = tmp_path / "policy.safetensors"
    for share in (0.0, 0.5, 0.99):
        path.write_bytes(whole[: int(share * len(whole))])
        with pytest.raises(ValueError, match=r"policy\.safetensors: not a whole safetensors file"):
            Policy.load(path)


def test_a_models_file_is_not_a_policy(tmp_path):
    PBM([[0.5]], [1.0]).save(tmp_path / "model.safetensors")
    with pytest.raises(ValueError, match=r"model\.safetensors: holds a click model, not a policy"):
        Policy.load(tmp_path / "model.safetensors")


def test_a_file_with_an_unknown_name_is_refused_by_name(tmp_path):
    path = tmp_path / "strange.safetensors"
    save_arrays(path, "policy", {"name": "Strange", "settings": {}, "fingerprint": None}, {})
    with pytest.raises(ValueError, match=r"strange\.safetensors: unknown policy 'Strange'"):
        Policy.load(path)


def test_a_file_whose_parameters_are_bad_is_named(tmp_path):
    path = tmp_path / "odd.safetensors"
    header = {"name": "PlackettLuce", "settings": {"slots": 0}, "fingerprint": None}
    save_arrays(path, "policy", header, {"weights": WEIGHTS})
    with pytest.raises(ValueError, match=r"odd\.safetensors: .*slots"):
        Policy.load(path)


# Policies of one's own


class FirstOnly(Policy):
    """A policy of one's own that only knows how to draw: always document 0."""

    has_log_prob = False
    slots, shape = 1, (4, N)

    def draw(self, query, rng):
        return np.zeros((len(query), 1), dtype=np.int64), None

    def state(self):
        return {}


def test_an_own_policy_needs_only_draw_to_sample():
    assert FirstOnly().sample([0, 1], np.random.default_rng(0)).tolist() == [[0], [0]]


def test_methods_that_an_own_policy_does_not_define_say_so():
    for method, arguments in (("log_prob", ([0], [[0]])), ("greedy", ([0],))):
        with pytest.raises(NotImplementedError, match=f"FirstOnly does not define {method}"):
            getattr(FirstOnly(), method)(*arguments)


def test_an_own_policy_is_saved_and_loaded_once_registered(monkeypatch, tmp_path):
    monkeypatch.setattr(policies_base, "_CLASSES", dict(policies_base._CLASSES))
    monkeypatch.setattr(FirstOnly, "name", "")
    register("FirstOnly")(FirstOnly)
    assert type(Policy.load(save(FirstOnly(), tmp_path))) is FirstOnly


def test_an_own_policy_that_is_not_registered_cannot_be_saved(tmp_path):
    with pytest.raises(ValueError, match="FirstOnly is not registered"):
        FirstOnly().save(tmp_path / "policy.safetensors")


def test_a_subclass_that_is_not_registered_is_not_saved_as_its_parent(tmp_path):
    class Reversed(Ranker):
        pass

    with pytest.raises(ValueError, match="Reversed is not registered"):
        Reversed(SCORES).save(tmp_path / "policy.safetensors")


class FromTheContract(Policy):
    """A policy that defines only what the interface asks for: ``sample`` and ``log_prob``."""

    def __init__(self, n_queries, n_docs):
        self.slots, self.shape = 2, (n_queries, n_docs)

    def sample(self, query, rng):
        return np.tile([1, 0], (len(query), 1))

    def log_prob(self, query, ranking):
        return np.where((np.asarray(ranking) == [1, 0]).all(axis=1), 0.0, -np.inf)


def test_a_policy_of_ones_own_needs_no_draw():
    ranking, log_prob = FromTheContract(3, 4).draw(np.array([0, 2]), np.random.default_rng(0))
    assert ranking.tolist() == [[1, 0], [1, 0]]
    assert log_prob.tolist() == [0.0, 0.0]


def test_a_policy_without_log_prob_draws_none():
    policy = FromTheContract(3, 4)
    policy.has_log_prob = False
    assert policy.draw(np.array([0]), np.random.default_rng(0))[1] is None
