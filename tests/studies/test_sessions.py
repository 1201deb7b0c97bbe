"""Sessions drawn from a click model, and the metrics of their time."""

from __future__ import annotations

import numpy as np
import pytest

from clickgym import clickmodels, data, studies
from clickgym.studies.slates.session_model import CAP, READING, Sessions

WORLD = data.synthetic_world(n_queries=4, n_docs=6)
USER = clickmodels.true_user("DBN", WORLD, floor=0.2)
N = 40_000


@pytest.fixture(scope="module")
def sessions():
    query = np.full(N, 2)
    ranking = np.tile([3, 0, 5, 1, -1], (N, 1))
    return studies.sample_sessions(USER, query, ranking, np.random.default_rng(0))


def test_clicks_are_the_users(sessions):
    expected = USER.click_probs([2], [[3, 0, 5, 1, -1]])[0]
    error = 5 * np.sqrt(expected * (1 - expected) / N)
    assert (np.abs(sessions.clicks.mean(axis=0) - expected) <= error).all()


def test_satisfaction_is_the_users(sessions):
    clicked = sessions.clicks[:, 0]
    expected = USER.satisfaction[2, 3]
    found = sessions.satisfied[clicked, 0].mean()
    assert abs(found - expected) < 5 * np.sqrt(expected * (1 - expected) / clicked.sum())


def test_who_is_satisfied_reads_no_further(sessions):
    done = np.cumsum(sessions.satisfied, axis=1) - sessions.satisfied > 0  # in an earlier slot
    assert done.any()
    assert not (sessions.examined & done).any()


def test_what_is_clicked_was_examined(sessions):
    assert not (sessions.clicks & ~sessions.examined).any()
    assert not (sessions.satisfied & ~sessions.clicks).any()
    assert ((sessions.visit > 0) == sessions.clicks).all()


def test_empty_slots_are_never_examined(sessions):
    assert not sessions.examined[:, 4].any()


def test_both_metrics_stay_in_their_range(sessions):
    success, utility = sessions.time_to_success(), sessions.utility_rate()
    assert success.min() > 0.0
    assert success.max() == 1.0
    assert -1.0 <= utility.min() < 0 < utility.max() < 1.0


def by_hand(satisfied):
    flags = np.array([[False, True, True]])
    content = np.array([[False, False, satisfied]])
    return Sessions(np.ones((1, 3), dtype=bool), flags, content, np.array([[0.0, 10.0, 40.0]]))


def test_the_time_to_success_by_hand():
    assert by_hand(True).time_to_success()[0] == pytest.approx((3 * READING + 10.0) / CAP)


def test_without_success_the_time_is_the_cap():
    assert by_hand(False).time_to_success()[0] == 1.0


def test_the_utility_rate_by_hand():
    useless = 3 * READING + 10.0
    assert by_hand(True).utility_rate()[0] == pytest.approx((40.0 - useless) / (40.0 + useless))
    assert by_hand(False).utility_rate()[0] == -1.0
