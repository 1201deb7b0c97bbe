"""Ranking metrics where nothing is known of the logging policy but how to draw its pages."""

from __future__ import annotations

import numpy as np
import pytest
from every_page import OnlySamples, small_log
from looping import loop_over

from clickgym.evaluation import counterfactual_disagreement
from clickgym.policies.given_set import conditional
from clickgym.policies.slates import placements

LOG, POLICY, TABLE = small_log(n=20_000)


@pytest.fixture
def few_draws(monkeypatch):
    """So few pages are drawn that the draws matter as much as the log."""
    monkeypatch.setattr(conditional, "SAMPLES", 2000)
    monkeypatch.setattr(OnlySamples, "placements", place_few)


def place_few(policy, query, pages=0, seed=0):
    return placements.sample_placements(policy, query, 300, seed)


def measure(resample, seed=0, policy=None):
    policy = OnlySamples(POLICY) if policy is None else policy
    return counterfactual_disagreement(LOG, TABLE, policy, resample=resample, seed=seed)


@loop_over("resample", ["order", "page"])
def test_is_near_what_known_probabilities_give(resample):
    exact, drawn = measure(resample, policy=POLICY), measure(resample)
    assert drawn.stderr > exact.stderr
    assert abs(drawn - exact) < 0.01
    assert drawn.rejected == pytest.approx(exact.rejected, abs=0.01)


@loop_over("resample", ["order", "page"])
def test_the_standard_error_includes_the_draws(resample, few_draws):
    """The same log, other draws: how far the values lie apart is what the errors add."""
    exact = measure(resample, policy=POLICY)
    got = [measure(resample, seed) for seed in range(40)]
    added = np.sqrt(np.mean([one.stderr**2 for one in got]) - exact.stderr**2)
    assert added > 0.3 * exact.stderr
    assert 0.6 < np.std(got, ddof=1) / added < 1.6


@loop_over("resample", ["order", "page"])
def test_draws_follow_the_seed(resample, few_draws):
    first, again, other = (measure(resample, seed) for seed in (1, 1, 2))
    assert (first.value, first.stderr) == (again.value, again.stderr)
    assert first.value != other.value
