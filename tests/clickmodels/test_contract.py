"""The contract of click models (see ``model_contract``), over the registry and all true users.

Each model stands against its own joint distribution over all 2^K click vectors; that the joint
is the paper's is the business of test_brute_force.py.
"""

from __future__ import annotations

import functools

import numpy as np
import pytest
from conftest import SLOTS, random_models, small_ratings_world, small_vertical_world, small_world
from looping import loop_over
from model_contract import (
    CHECKS,
    CONDITIONAL_CHECKS,
    FIT_CHECKS,
    GENERATIVE_CHECKS,
    check_fits,
    check_model,
    choose_checks,
    variants,
)

from clickgym import clickmodels, policies
from clickgym.clickmodels import fitting, registry
from clickgym.envs import collect

NAMES = [
    name
    for name in clickmodels.registered()
    if registry.registered_class(name).__module__.startswith("clickgym.")  # a test may add its own
]
FITTED = [name for name in clickmodels.names() if name in NAMES]


@functools.cache
def random_model(name):
    """A model of the registered class ``name``: of random parameters, or fitted to a small log."""
    models = random_models(seed=2)
    if name in models:
        return models[name]
    world = small_world()
    user = clickmodels.true_user("CoCM", world)
    log = collect(world, user, policies.Uniform(world, SLOTS), 300, seed=0)
    return clickmodels.fit(name, log, world)

PARTS = {
    "joint": GENERATIVE_CHECKS[:7],
    "pages": GENERATIVE_CHECKS[7:],
    "all": CONDITIONAL_CHECKS + CHECKS,
}
ITEMS = [  # a model that only ranks has no item of clicks
    (name, part)
    for part, checks in PARTS.items()
    for name in NAMES
    if choose_checks(registry.registered_class(name).capabilities, checks)
]


@pytest.mark.parametrize(("name", "part"), ITEMS)
def test_a_registered_model(name, part, tmp_path):
    model = random_model(name)
    checks = choose_checks(model.capabilities, PARTS[part])
    assert checks, "there must be a check"
    check_model(model, tmp_path, checks)


def test_every_check_is_run_on_a_registered_model():
    classes = [registry.registered_class(name) for name in NAMES]
    run = {check for cls in classes for check in choose_checks(cls.capabilities)}
    assert run == {check for checks in PARTS.values() for check in checks}


@pytest.mark.parametrize("name", clickmodels.user_names())
@pytest.mark.parametrize("short", [False, True], ids=["full lists", "short lists"])
def test_a_true_user(name, short, tmp_path):
    check_model(clickmodels.true_user(name, small_world(short=short)), tmp_path)


@pytest.mark.parametrize("name", clickmodels.user_names("ratings"))
@pytest.mark.parametrize("short", [False, True], ids=["full lists", "short lists"])
def test_a_true_user_of_ratings(name, short, tmp_path):
    check_model(clickmodels.true_user(name, small_ratings_world(short=short)), tmp_path)


@pytest.mark.parametrize("name", clickmodels.user_names("verticals"))
@pytest.mark.parametrize("short", [False, True], ids=["full lists", "short lists"])
def test_a_true_user_of_verticals(name, short, tmp_path):
    check_model(clickmodels.true_user(name, small_vertical_world(short=short)), tmp_path)


def mark_slow(variant):
    """The variant; a network that is fitted by grade, as it is by pair, takes many seconds."""
    name, parameters = variant
    slow = parameters == "grade" and fitting.is_random(name)
    marks = [pytest.mark.slow] if slow else []
    return pytest.param(variant, marks=marks, id="-".join(variant))


@pytest.mark.parametrize("variant", [mark_slow(variant) for variant in variants(FITTED)])
@pytest.mark.parametrize("checks", [FIT_CHECKS[:1], FIT_CHECKS[1:]], ids=["odd logs", "other"])
def test_a_fit(variant, checks):
    check_fits(variant, checks)


@loop_over("name", sorted(random_models()))
def test_a_model_without_fingerprint_fits_any_world_of_its_shape(name):
    assert random_models()[name].check_world(small_world()) is None


@loop_over("samples", [0, 1, 2.5])
def test_a_bad_number_of_samples_is_named(samples):
    with pytest.raises(ValueError, match="samples"):
        random_models()["PBM"].estimate_click_probs([0], [[1]], samples, np.random.default_rng(0))


@loop_over("name", ["PBM", "UBM", "DCM", "CoCM"])
def test_a_page_longer_than_the_model_knows_is_refused(name):
    with pytest.raises(ValueError, match=rf"ranking has 6 slots, but this {name} knows {SLOTS}"):
        random_models()[name].click_probs([0], [[0, 1, 2, 3, 4, 5]])
