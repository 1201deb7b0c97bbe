"""Adding a click model: one file and one line in the registry, and everything works with it."""

from __future__ import annotations

import importlib.util
import sys

import numpy as np
import pytest
from conftest import SLOTS, small_world
from model_contract import check_fits, check_model, fit_variant, simulate, variants

from clickgym import clickmodels, evaluation, policies
from clickgym.clickmodels import fitting, registry
from clickgym.clickmodels.networks.network import CellNetwork
from clickgym.clickmodels.networks.numpy import has_gradients
from clickgym.envs import collect

SOURCE = '''
"""A position-based model whose ranks share their examination in pairs."""

from collections.abc import Iterator

import numpy as np

from clickgym.clickmodels import register
from clickgym.clickmodels.reading.attractiveness import WithAttractiveness
from clickgym.clickmodels.reading.independent import IndependentModel
from clickgym.clickmodels.cells import Cells, SlotCells
from clickgym.clickmodels.tablefit.examined_fit import ExaminedFit
from clickgym.common import checks


def walk_pairs_of_ranks(clicks) -> Iterator[SlotCells]:
    """Yield half the 0-based slot."""
    for slot in range(clicks.shape[1]):
        yield SlotCells(slot // 2, 1, None)


@register("PairedPBM")
class PairedPBM(WithAttractiveness, IndependentModel):
    """P(click) = attractiveness × examination of the pair of ranks."""

    table_fit = ExaminedFit(Cells(walk_pairs_of_ranks, lambda slots: ((slots + 1) // 2,)))

    def __init__(self, attractiveness, examination):
        super().__init__(attractiveness)
        self.examination = checks.probabilities(examination, "examination", 1).copy()

    @property
    def max_slots(self):
        return 2 * len(self.examination)

    def state(self):
        return {"attractiveness": self.attractiveness, "examination": self.examination}

    def _probs(self, query, document, rank):
        return self._attractiveness.columns(query, document) * self.examination[rank // 2]
'''


@pytest.fixture
def name(tmp_path, monkeypatch):
    """The name of a model in a file of its own, forgotten after the test."""
    for one in ("_CLASSES", "_NETWORKS"):
        monkeypatch.setattr(registry, one, dict(getattr(registry, one)))
    path = tmp_path / "paired_pbm.py"
    path.write_text(SOURCE, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("paired_pbm", path)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "paired_pbm", module)  # where pickle looks for the class
    spec.loader.exec_module(module)
    return "PairedPBM"


def test_an_added_model_keeps_the_whole_contract(name, tmp_path):
    rng = np.random.default_rng(0)
    check_model(registry.registered_class(name)(rng.random((6, 7)), rng.random(3)), tmp_path)
    for variant in variants([name]):
        check_model(fit_variant(variant, simulate(100), small_world()), tmp_path)


def test_an_added_model_can_be_fitted_with_tables_and_with_embeddings(name):
    assert name in clickmodels.names()
    assert variants([name]) == [(name, "table"), (name, "embedding")]
    for variant in variants([name]):
        check_fits(variant)


def test_nobody_writes_the_network_of_a_model_with_a_logit_for_each_cell(name):
    network = fitting.make_network(name, small_world(), SLOTS, 4, 4)
    assert isinstance(network, CellNetwork)
    assert has_gradients(network)
    assert network.frozen().examination.shape == ((SLOTS + 1) // 2,)


def test_both_ways_find_the_user_that_made_a_log(name):
    world = small_world(10, 6)
    values = clickmodels.true_user("PBM", world, floor=0.05).attractiveness
    user = registry.registered_class(name)(values, [1.0, 0.7, 0.4])
    train, test = (
        collect(world, user, policies.Uniform(world, SLOTS), 12_000, seed=seed) for seed in (0, 1)
    )
    oracle = evaluation.perplexity(user, test).mean
    for parameters in ("table", "embedding"):
        model = clickmodels.fit(name, train, world, parameters=parameters)
        assert evaluation.perplexity(model, test).mean / oracle - 1.0 < 5e-3, parameters


def test_a_model_without_a_network_says_so(monkeypatch):
    monkeypatch.setattr(registry, "_CLASSES", dict(registry._CLASSES))
    monkeypatch.setattr(clickmodels.ARM, "name", "Other")
    clickmodels.register("Other")(clickmodels.ARM)
    with pytest.raises(ValueError, match="Other has no network for parameters='embedding'"):
        clickmodels.fit("Other", simulate(), small_world(), parameters="embedding")
