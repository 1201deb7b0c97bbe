"""Which models can be fitted, what ``fit`` refuses, and what its prior does to rare pairs."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from conftest import small_world
from fitted_tables import small_log
from looping import loop_over
from model_contract import simulate

from clickgym import clickmodels, data
from clickgym.clickmodels.fitting import is_random, takes_parameters
from clickgym.clickmodels.networks import schedule
from clickgym.clickmodels.uncertainty.exposure import PRIORS
from clickgym.data import ClickLog


def test_names_hold_every_model_of_the_paper():
    assert set(clickmodels.names()) >= {
        "dCTR", "drCTR", "rCTR", "CTR", "TopPop", "TopPopObs", "RankTopObs",
        "PBM", "UBM", "DBN", "NCM", "CACM-minus", "ARM", "ARM-NC",
    }  # fmt: skip


def test_names_hold_nothing_that_cannot_be_fitted():
    assert "CoCM" not in clickmodels.names()


def test_models_with_a_choice_of_parameters():
    chosen = {name for name in clickmodels.names() if takes_parameters(name)}
    assert chosen >= {"PBM", "UBM", "DBN", "ARM", "CACM-minus"}


def test_an_unknown_name_is_named_with_the_known_ones():
    with pytest.raises(ValueError, match=r"'pbm'.*PBM"):
        clickmodels.fit("pbm", simulate(), small_world())


def test_a_model_that_cannot_be_fitted_is_named():
    with pytest.raises(ValueError, match="'CoCM' cannot be fitted"):
        clickmodels.fit("CoCM", simulate(), small_world())


@loop_over(
    ("name", "parameters"), [("NCM", "table"), ("CACM-minus", "table"), ("PBM", "embedding")]
)
def test_random_fits_are_known_as_such(name, parameters):
    assert is_random(name, parameters)


def test_a_validation_log_with_other_slots_is_refused():
    log = simulate()
    one_slot = ClickLog(log.query, log.ranking[:, :1], log.clicks[:, :1])
    with pytest.raises(ValueError, match="validation has 1 slots, log 5"):
        clickmodels.fit("NCM", simulate(), small_world(), validation=one_slot)


def test_a_validation_log_without_impressions_is_refused():
    with pytest.raises(ValueError, match="validation has no impressions"):
        clickmodels.fit("NCM", simulate(), small_world(), validation=simulate()[:0])


@loop_over("name", ["ARM", "ARM-NC", "CACM-minus"])
def test_pages_too_long_for_a_table_of_prefixes_are_refused(name):
    world = data.World(np.zeros((1, 15), int))
    log = ClickLog([0], [np.arange(15)], [np.zeros(15, bool)])
    with pytest.raises(ValueError, match=f"{name} takes pages of up to 14 slots"):
        clickmodels.fit(name, log, world)


FEW, MANY = (0, 3), (1, 3)  # pairs that are clicked whenever shown: 3 and 300 times


@functools.cache
def log_with_a_rare_pair():
    """Pairs of attractiveness near 0.2, each shown about 100 times, and the two of above."""
    rng = np.random.default_rng(0)
    world = data.World(np.zeros((20, 4), int))
    user = clickmodels.PBM(rng.beta(8, 32, size=(20, 4)), [1.0, 0.8])
    query = rng.integers(20, size=3000)
    ranking = rng.permuted(np.tile(np.arange(3), (3000, 1)), axis=1)[:, :2]
    clicks = user.sample(query, ranking, rng)
    rare = np.repeat([FEW, MANY], [3, 300], axis=0)
    log = ClickLog(
        np.concatenate([query, rare[:, 0]]),
        np.concatenate([ranking, np.stack([rare[:, 1], np.full(303, -1)], axis=1)]),
        np.concatenate([clicks, np.tile([True, False], (303, 1))]),
    )
    return world, log


tables = loop_over("name", ["PBM", "UBM", "DBN", "ARM", "CACM-minus"])


@tables
def test_a_pair_seen_three_times_stays_near_the_others(name):
    world, log = log_with_a_rare_pair()
    model = clickmodels.fit(name, log, world)
    first = model.click_probs([FEW[0]], [[FEW[1]]])[0, 0]
    assert first < 0.6


@tables
def test_a_pair_seen_often_goes_where_its_clicks_are(name):
    world, log = log_with_a_rare_pair()
    model = clickmodels.fit(name, log, world)
    assert model.click_probs([MANY[0]], [[MANY[1]]])[0, 0] > 0.9


@tables
def test_a_pair_never_seen_has_the_mean_of_the_others(name):
    world, log = log_with_a_rare_pair()
    model = clickmodels.fit(name, log, world)
    assert not model.seen[5, 3]
    low, high = np.quantile(model.attractiveness[:, :3], [0.1, 0.9])
    assert low < model.attractiveness[5, 3] < high


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("PBM", {}),
        ("NCM", {"epochs": 2, "embedding": 4, "hidden": 4}),
        ("NCM", {"epochs": 1, "embedding": 4, "hidden": 4, "members": 2}),
        ("NCM", {"epochs": 1, "embedding": 4, "hidden": 4, "members": 2, "bootstrap": False}),
        ("UBM", {"epochs": 1, "embedding": 4, "hidden": 4, "parameters": "embedding"}),
    ],
)
def test_several_priors_give_the_fits_of_each_and_train_once(name, settings, monkeypatch):
    trained = []
    train = schedule.train
    monkeypatch.setattr(
        schedule, "train", lambda network, *rest: trained.append(1) or train(network, *rest)
    )
    world, logging, log = small_log()
    together = clickmodels.fit_priors(
        name, log, world, PRIORS, seed=3, logging=logging, **settings
    )
    networks = 0 if name == "PBM" else settings.get("members", 1)
    assert len(trained) == networks
    assert list(together) == ["plain", "exposure", "score"]
    for prior, model in together.items():
        source = logging if prior == "score" else None
        alone = clickmodels.fit(
            name, log, world, seed=3, prior=prior, logging=source, **settings
        )
        ours, theirs = (getattr(one, "members", [one]) for one in (model, alone))
        for mine, other in zip(ours, theirs, strict=True):
            assert_same(mine.state(), other.state())
            assert (mine.uncertainty is None) == (other.uncertainty is None)
            if mine.uncertainty is not None:
                assert_same(mine.uncertainty.strengths, other.uncertainty.strengths)
                assert mine.uncertainty.numbers == other.uncertainty.numbers


def assert_same(arrays, others):
    assert arrays.keys() == others.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, others[name], err_msg=name)


def test_one_of_several_priors_may_go_without_the_logging_policy():
    world, logging, log = small_log()
    assert list(clickmodels.fit_priors("PBM", log, world, "plain", logging=logging)) == ["plain"]
    assert list(clickmodels.fit_priors("PBM", log, world, ["exposure", "plain"])) == [
        "exposure", "plain",
    ]  # fmt: skip


def test_priors_that_are_none_are_refused():
    world, logging, log = small_log()
    for priors, text in (([], "priors must name one"), (["flat"], "prior must be one of"),
                         (["score"], "needs logging")):  # fmt: skip
        with pytest.raises(ValueError, match=text):
            clickmodels.fit_priors("PBM", log, world, priors)
    with pytest.raises(ValueError, match="logging is for prior='score', not prior='plain'"):
        clickmodels.fit("PBM", log, world, logging=logging)
