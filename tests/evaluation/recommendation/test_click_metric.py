"""The metric whose discount is fitted to a user's clicks."""

from __future__ import annotations

import numpy as np
import pytest
from small_ratings import small_parts

from clickgym import clickmodels, policies
from clickgym.evaluation.recommendation.click_metric import ClickMetric, fit_click_metric
from clickgym.evaluation.recommendation.click_rates import click_rates
from clickgym.evaluation.recommendation.rating_metrics import list_precision


def parts(slots=6):
    train, world = small_parts(n_users=200)
    names = ("random", "popularity")
    return world, [policies.recommender(name, train, world, slots=slots) for name in names]


@pytest.mark.parametrize("name", ["no-bias", "examination-log", "examination-quad"])
def test_the_metric_is_the_rate_of_users_who_look_at_the_place_alone(name):
    world, systems = parts()
    user = clickmodels.true_user(name, world, slots=6)
    metric = fit_click_metric(user, world, systems)
    np.testing.assert_allclose(metric.gain, [0, 0, 0.1, 0.2, 0.8, 1.0], atol=1e-9)
    place = np.arange(1, 7)
    expected = {
        "no-bias": np.ones(6), "examination-log": 1 / np.log2(place + 1),
        "examination-quad": 0.5 ** (place - 1.0),
    }  # fmt: skip
    np.testing.assert_allclose(metric.discount, expected[name], rtol=1e-9)
    for policy in systems:
        np.testing.assert_allclose(
            metric.score(policy, world), click_rates(policy, user, world), atol=1e-9
        )


def test_the_fit_has_the_least_squares():
    world, systems = parts()
    user = clickmodels.true_user("cascade-high", world, slots=6)
    metric = fit_click_metric(user, world, systems)

    def squares(discount, gain):
        total = 0.0
        for policy in systems:
            rating = np.take_along_axis(world.relevance, policy.rankings, axis=1)
            probs = user.click_probs(np.arange(world.n_queries), policy.rankings)
            total += ((probs - np.append(gain, 0.0)[rating] * discount) ** 2).sum()
        return total

    least = squares(metric.discount, metric.gain)
    assert metric.discount[1:].max() < metric.discount[0] == 1.0
    for place in range(6):
        for step in (-0.01, 0.01):
            other = metric.discount.copy()
            other[place] += step
            assert squares(other, metric.gain) > least
    for rating in range(1, 6):
        for step in (-0.01, 0.01):
            other = metric.gain.copy()
            other[rating] += step
            assert squares(metric.discount, other) > least


def test_binary_gains_are_kept():
    world, systems = parts()
    user = clickmodels.true_user("no-bias", world, slots=6)
    metric = fit_click_metric(user, world, systems, relevant=4)
    assert set(metric.gain[:4]) == {0.0}
    assert metric.gain[4] == metric.gain[5] > 0.8
    assert metric.discount[0] == 1.0


def test_precision_is_one_such_metric():
    world, systems = parts()
    metric = ClickMetric(np.ones(6), np.array([0, 0, 0, 0, 1.0, 1.0]))
    np.testing.assert_allclose(
        metric.score(systems[1], world), list_precision(systems[1], world)
    )


def test_what_cannot_be_fitted_is_refused():
    world, systems = parts()
    train, _ = small_parts(n_users=200)
    user = clickmodels.true_user("no-bias", world, slots=6)
    with pytest.raises(ValueError, match="no policies"):
        fit_click_metric(user, world, [])
    shorter = policies.recommender("random", train, world, slots=4)
    with pytest.raises(ValueError, match="show 6 and 4 slots"):
        fit_click_metric(user, world, [systems[0], shorter])
    with pytest.raises(ValueError, match="this metric needs"):
        fit_click_metric(user, world, systems).score(shorter, world)
    never = clickmodels.PBM(np.zeros(world.relevance.shape), np.ones(6))
    with pytest.raises(ValueError, match="never clicks"):
        fit_click_metric(never, world, systems)
