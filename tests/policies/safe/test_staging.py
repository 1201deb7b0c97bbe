"""Staged deployment: the share of traffic, and the loss of the mixture."""

from __future__ import annotations

import numpy as np
import pytest

from clickgym import clickmodels, evaluation
from clickgym.policies import PlackettLuce, Policy, Ranker, stage, staged_share


@pytest.mark.parametrize(
    ("value", "loss", "low", "share"),
    [(1.0, 0.1, 0.0, 0.1), (2.0, 0.1, 1.5, 0.2), (1.0, 0.1, 0.95, 1.0), (1.0, 0.0, 1.2, 1.0),
     (1.0, 0.0, 0.5, 0.0), (0.0, 0.0, 0.0, 1.0)],
)  # fmt: skip
def test_the_share_is_what_the_worst_case_allows(value, loss, low, share):
    assert staged_share(value, loss, low) == pytest.approx(share, abs=1e-12)


def test_the_loss_of_the_mixture_is_at_most_what_was_allowed(world, tmp_path):
    user = clickmodels.true_user("PBM", world)
    logging = Ranker(world.gain, 3, world=world)
    new = PlackettLuce(1.1 - world.gain, 0.1, 3)  # about the worst
    before = evaluation.value(logging, user, world).value
    low = evaluation.value(new, user, world).value
    assert low < before
    for pessimistic in (low, 0.5 * low, 0.0):
        policy = stage(new, logging, before, 0.05, pessimistic)
        loss = before - evaluation.value(policy, user, world).value
        exact = 0.05 * (before - low) / (before - pessimistic)
        assert loss == pytest.approx(exact, abs=1e-9)
        assert loss <= 0.05 + 1e-9
    policy.save(tmp_path / "staged.safetensors")
    np.testing.assert_array_equal(
        Policy.load(tmp_path / "staged.safetensors").weights, policy.weights
    )


@pytest.mark.parametrize(
    ("arguments", "named"),
    [((-1.0, 0.1), "logging_value"), ((1.0, -0.1), "max_loss"), ((1.0, 0.1, -0.5), "low"),
     ((np.nan, 0.1), "logging_value")],
)  # fmt: skip
def test_bad_numbers_are_named(arguments, named):
    with pytest.raises(ValueError, match=named):
        staged_share(*arguments)
