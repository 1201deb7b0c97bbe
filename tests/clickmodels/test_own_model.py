"""Adding a click model, as docs/own_model.md does: one file, and everything works with it."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import SLOTS, small_world
from model_contract import (
    check_fits,
    check_model,
    check_parameters_do_not_follow_the_callers_arrays,
    check_the_seed_decides,
    fit_variant,
    simulate,
    variants,
)

import clickgym
from clickgym import clickmodels, evaluation, policies
from clickgym.clickmodels import network_fitting, registry
from clickgym.clickmodels.networks.network import CellNetwork
from clickgym.clickmodels.networks.numpy import has_gradients
from clickgym.clickmodels.tablefit.cascade_fit import CascadeFit
from clickgym.clickmodels.tablefit.continuation import Satisfying
from clickgym.envs import collect

PAGE = Path(clickgym.__file__).parent / "docs" / "own_model.md"
PARAMETERS = {  # of a random model of 6 queries and 7 documents
    "OneAndDone": lambda rng: (rng.random((6, 7)), 0.4),
    "PairedPBM": lambda rng: (rng.random((6, 7)), rng.random(3)),
    "ClickDBN": lambda rng: (rng.random((6, 7)), rng.random((6, 7)), 0.8),
}
VARIANTS = [
    ("OneAndDone", "table"),
    ("PairedPBM", "table"), ("PairedPBM", "embedding"), ("PairedPBM", "grade"),
    ("ClickDBN", "table"), ("ClickDBN", "embedding"), ("ClickDBN", "grade"),
]  # fmt: skip


def sources():
    """The models of the page, by name: each block down to where the model is used."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    cut = [block.partition("\nworld = ")[0] for block in blocks]
    return {re.search(r'register\("(\w+)"\)', source)[1]: source for source in cut}


@pytest.fixture
def own_models(tmp_path, monkeypatch):
    """Each of the page's models in a file of its own, forgotten after the test."""
    monkeypatch.setattr(registry, "_CLASSES", dict(registry._CLASSES))
    for name, source in sources().items():
        path = tmp_path / f"{name}.py"
        path.write_text(source, encoding="utf-8")
        spec = importlib.util.spec_from_file_location(name, path)
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, name, module)  # where pickle looks for the class
        spec.loader.exec_module(module)


def test_every_model_of_the_page_is_tested(own_models):
    assert set(sources()) == set(PARAMETERS) <= set(clickmodels.names())
    assert variants(PARAMETERS) == VARIANTS


@pytest.mark.parametrize("name", PARAMETERS)
def test_an_added_model_keeps_the_whole_contract(own_models, name, tmp_path):
    parameters = PARAMETERS[name](np.random.default_rng(0))
    check_model(registry.registered_class(name)(*parameters), tmp_path)


@pytest.mark.parametrize("variant", VARIANTS, ids="-".join)
def test_an_added_model_can_be_fitted(own_models, variant, tmp_path):
    check_fits(variant)
    check_model(fit_variant(variant, simulate(100), small_world()), tmp_path)


def test_what_is_easily_forgotten_is_told_in_words(own_models, monkeypatch):
    cls = registry.registered_class("OneAndDone")
    monkeypatch.setattr(cls, "deterministic", frozenset())
    with pytest.raises(AssertionError, match=r"deterministic = frozenset"):
        check_the_seed_decides(("OneAndDone", "table"))

    def keep(self, rate, discount=0.5):
        self.rate, self.discount = np.asarray(rate), float(discount)

    monkeypatch.setattr(cls, "__init__", keep)
    with pytest.raises(AssertionError, match=r"copy it \(np.array, not np.asarray\)"):
        check_parameters_do_not_follow_the_callers_arrays(cls(np.full((6, 7), 0.5)))


def test_nobody_writes_the_network_of_a_model_with_a_logit_for_each_cell(own_models):
    network = network_fitting.make_network("PairedPBM", small_world(), SLOTS, 4, 4)
    assert isinstance(network, CellNetwork)
    assert has_gradients(network)
    assert network.frozen().examination.shape == ((SLOTS + 1) // 2,)


def test_nobody_writes_the_network_of_a_model_beside_dbn(own_models):
    settings = {"parameters": "embedding", "epochs": 1, "embedding": 4, "hidden": 4}
    own, known = (
        clickmodels.fit(name, simulate(100), small_world(), **settings).state()
        for name in ("ClickDBN", "DBN")
    )
    for key, value in known.items():
        np.testing.assert_array_equal(own[key], value, err_msg=key)


def test_both_ways_find_the_user_that_made_a_log(own_models):
    name, world = "PairedPBM", small_world(10, 6)
    values = clickmodels.true_user("PBM", world, floor=0.05).attractiveness
    user = registry.registered_class(name)(values, [1.0, 0.7, 0.4])
    train, test = (
        collect(world, user, policies.Uniform(world, SLOTS), 12_000, seed=seed) for seed in (0, 1)
    )
    oracle = evaluation.perplexity(user, test).mean
    for parameters in ("table", "embedding"):
        model = clickmodels.fit(name, train, world, parameters=parameters)
        assert evaluation.perplexity(model, test).mean / oracle - 1.0 < 5e-3, parameters


def test_a_continuation_without_a_network_has_tables_alone(monkeypatch):
    class Plain(Satisfying):
        """Without embeddings."""

        network = None

    monkeypatch.setattr(registry, "_CLASSES", dict(registry._CLASSES))

    @clickmodels.register("Plain")
    class PlainDBN(clickmodels.DBN):
        table_fit = CascadeFit(Plain(patient=False))

    assert variants(["Plain"]) == [("Plain", "table"), ("Plain", "grade")]
    check_fits(("Plain", "table"))
    with pytest.raises(ValueError, match="Plain has no parameters='embedding'"):
        clickmodels.fit("Plain", simulate(), small_world(), parameters="embedding")
    with pytest.raises(ValueError, match="Plain has no network for parameters='embedding'"):
        network_fitting.make_network("Plain", small_world(), SLOTS, 4, 4)


def test_a_table_that_is_not_declared_is_told_in_words(own_models, monkeypatch):
    cls = registry.registered_class("ClickDBN")
    monkeypatch.setattr(cls, "pair_tables", frozenset({"attractiveness"}))
    with pytest.raises(ValueError, match="pair_tables must name all its tables by query and doc"):
        clickmodels.fit("ClickDBN", simulate(), small_world(), parameters="grade")
