"""What made a log can be found in it; real clicks are predicted as well as by others."""

from __future__ import annotations

import functools
import os
from pathlib import Path

import numpy as np
import pytest
from conftest import SLOTS, small_world

from clickgym import clickmodels, data, envs, evaluation, policies
from clickgym.clickmodels import cells

CHAIN_USERS = ["DBN", "SDBN", "DCM", "CCM", "CM"]
IMPRESSIONS, TEST_PAGES = 1_000_000, 50_000


class Recovery:
    """A user, a large log of its clicks under uniform rankings, and the model fitted to it."""

    def __init__(self, name):
        world = data.embedded_world(10)
        self.user = clickmodels.true_user(name, world)
        uniform = policies.Uniform(world)
        self.log = envs.collect(world, self.user, uniform, IMPRESSIONS, seed=0)
        self.model = clickmodels.fit(name, self.log, world)
        test = envs.collect(world, self.user, uniform, TEST_PAGES, seed=1)
        self.oracle = evaluation.perplexity(self.user, test).mean
        self.perplexity = evaluation.perplexity(self.model, test).mean

    def examination_error(self, kind):
        """The mean relative error of examination, each cell counted as often as it occurred."""
        found, true = (m.examination.ravel() for m in (self.model, self.user))
        numbers = cells.cell_numbers(kind, self.log.clicks)
        occurred = np.bincount(numbers.ravel(), minlength=len(true))
        error = np.abs((found / found[0]) / (true / true[0]) - 1.0)
        return np.average(error, weights=occurred)


@pytest.fixture(scope="module")
def recovery():
    return functools.cache(Recovery)


@pytest.mark.parametrize(("name", "excess"), [("PBM", 1e-3), ("UBM", 1e-3), ("DBN", 1.5e-3)])
def test_a_model_of_the_users_structure_predicts_as_well_as_the_user(recovery, name, excess):
    assert recovery(name).perplexity / recovery(name).oracle - 1.0 <= excess


@pytest.mark.parametrize(
    ("name", "kind"), [("PBM", cells.rank_cells), ("UBM", cells.latest_cells)]
)
def test_examination_is_recovered_up_to_its_scale(recovery, name, kind):
    assert recovery(name).examination_error(kind) <= 0.02


def test_continuation_is_recovered(recovery):
    true = recovery("DBN").user.continuation
    assert recovery("DBN").model.continuation == pytest.approx(true, rel=0.01)


# Real clicks, against PyClick and CLAX (../shared/data/README.md has the split and their numbers)


@pytest.fixture(scope="module")
def yandex():
    folder = os.environ.get("CLICKGYM_DATA")
    if not folder:
        pytest.skip("CLICKGYM_DATA does not name the folder with the real samples")
    with pytest.warns(UserWarning, match="dropped 417 clicks"):
        world, log = data.read_pyclick(Path(folder) / "yandex" / "sample.txt")
    order = np.random.default_rng(0).permutation(len(log))
    train, test = np.split(order, [int(0.8 * len(log))])
    return world, log[train], log[test]


@pytest.mark.parametrize(("name", "bound"), [
    ("PBM", 1.3867), ("UBM", 1.3636), ("DBN", 1.3661), ("CCM", 1.3673), ("DCM", 1.3896),
    ("SDBN", 1.4082),
])  # fmt: skip
def test_real_clicks_are_predicted_as_well_as_by_pyclick_and_clax(yandex, name, bound):
    world, train, test = yandex
    model = clickmodels.fit(name, train, world)
    assert evaluation.perplexity(model, test).mean <= bound


@pytest.mark.parametrize("name", ["PBM", "UBM", *CHAIN_USERS])
def test_tables_and_embeddings_fit_the_same_user(name):
    """Both ways come near to the user that made the log."""
    world = small_world(10, 6)
    user = clickmodels.true_user(name, world, floor=0.05)
    train = envs.collect(world, user, policies.Uniform(world, SLOTS), 12_000, seed=0)
    test = envs.collect(world, user, policies.Uniform(world, SLOTS), 12_000, seed=1)
    oracle = evaluation.perplexity(user, test).mean
    for parameters in ("table", "embedding"):
        model = clickmodels.fit(name, train, world, parameters=parameters)
        assert evaluation.perplexity(model, test).mean / oracle - 1.0 < 5e-3


@pytest.mark.parametrize("name", CHAIN_USERS)
def test_shared_rates_are_recovered(name):
    world = small_world(200, 8)
    user = clickmodels.true_user(name, world, floor=0.05)
    log = envs.collect(world, user, policies.Uniform(world, SLOTS), 60_000, seed=0)
    model = clickmodels.fit(name, log, world)
    shown = np.zeros(world.relevance.shape)
    np.add.at(shown, (log.query[:, None], log.ranking), 1.0)
    error = np.abs(model.attractiveness - user.attractiveness)
    assert np.average(error, weights=shown) < 0.03
    if name in ("DBN", "DCM", "CCM"):
        rates = np.atleast_1d(user.continuation)[: SLOTS - 1]
        np.testing.assert_allclose(
            np.atleast_1d(model.continuation)[: SLOTS - 1], rates, atol=0.05
        )
