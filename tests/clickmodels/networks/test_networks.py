"""Networks: their losses on other devices, and that what is frozen is what was trained."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from conftest import small_world
from untrained import ALL_NETWORKS, NETWORKS, network_of, simulated, tensors

from clickgym import clickmodels, evaluation
from clickgym.clickmodels.pages import log_of_outcomes
from clickgym.clickmodels.registry import registered_class
from clickgym.data import ClickLog


def test_a_loss_is_computed_on_the_device_of_the_pages():
    """Without a GPU: torch's "meta" device refuses tensors of another device as a GPU would."""
    log = simulated(6)
    for name in ALL_NETWORKS:
        network = network_of(name).to("meta")
        with torch.no_grad():
            loss = network.loss(*(page.to("meta") for page in tensors(log)))
        assert loss.device.type == "meta", name


def assert_frozen_is_trained(name, log):
    network = network_of(name)
    with torch.no_grad():
        loss = network.loss(*tensors(log)).numpy()
    model = network.frozen()
    assert type(model) is registered_class(name)
    probs = model.conditional_click_probs(log.query, log.ranking, log.clicks)
    expected = log_of_outcomes(probs, log.clicks).sum(axis=1)
    np.testing.assert_allclose(-loss, expected, rtol=1e-4, err_msg=name)


def test_a_frozen_model_is_of_the_models_class_and_has_its_networks_likelihood():
    log = simulated(60)
    for name in NETWORKS:
        assert_frozen_is_trained(name, log)
    # A page with two clicks is impossible in the cascade model: all networks, up to one click.
    one_click = ClickLog(log.query, log.ranking, log.clicks & (np.cumsum(log.clicks, axis=1) == 1))
    assert set(ALL_NETWORKS) > set(NETWORKS)
    for name in ALL_NETWORKS:
        assert_frozen_is_trained(name, one_click)


QUICK = {"epochs": 6, "learning_rate": 1e-2, "embedding": 16, "hidden": 16}


def perplexities(name, **settings):
    """The test perplexity of a model fitted to 3,000 pages."""
    world = small_world(short=True)
    model = clickmodels.fit(name, simulated(3000), world, **settings)
    return evaluation.perplexity(model, simulated(3000, seed=2)).mean


def test_embeddings_predict_almost_as_well_as_a_table():
    for name in ("PBM", "UBM", "DBN", "ARM", "CACM-minus"):
        embedded = perplexities(name, parameters="embedding", **QUICK)
        assert embedded == pytest.approx(perplexities(name), rel=0.01), name


def test_the_ncm_predicts_almost_as_well_as_the_users_structure():
    assert perplexities("NCM", **QUICK) == pytest.approx(perplexities("UBM"), rel=0.015)
