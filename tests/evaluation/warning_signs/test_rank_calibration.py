"""Calibration by rank, against counts by hand and models that are right and wrong."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from clickgym import clickmodels, data, envs, evaluation, policies
from clickgym.clickmodels import DBN, PBM, NotCapable


@pytest.fixture(scope="module")
def setting():
    world = data.synthetic_world(n_queries=30, n_docs=10, n_features=2, seed=0)
    user = clickmodels.true_user("CoCM-mismatch", world)
    logging = policies.logging_policy("epsilon-oracle", world, slots=6)
    return world, user, envs.collect(world, user, logging, 40_000, 0)


def test_clicks_by_rank_and_last_click_are_counted_by_hand(setting):
    world, _, log = setting
    log = log[:300].compress()
    model = clickmodels.true_user("DBN", world)
    found = evaluation.rank_calibration(model, log)
    probs = model.conditional_click_probs(log.query, log.ranking, log.clicks)
    observed, predicted = Counter(), Counter()
    for row, weight in enumerate(log.counts):
        last = 0
        for slot in range(log.slots):
            observed[slot, last] += weight * log.clicks[row, slot]
            predicted[slot, last] += weight * probs[row, slot]
            last = slot + 1 if log.clicks[row, slot] else last
    for slot, last in np.ndindex(found.observed_after.shape):
        assert found.observed_after[slot, last] == observed[slot, last]
        assert found.predicted_after[slot, last] == pytest.approx(predicted[slot, last])
    assert found.observed.tolist() == (log.counts @ log.clicks).tolist()
    assert found.predicted == pytest.approx(log.counts @ probs)
    assert found.pages == 300


def test_statistics_are_what_they_say():
    model = PBM(np.full((1, 2), 0.5), np.array([1.0, 0.2]))
    clicks = np.array([[True, False], [False, False], [False, True]])
    log = data.ClickLog([0, 0, 0], [[0, 1]] * 3, clicks, weight=[400.0, 500.0, 100.0])
    found = evaluation.rank_calibration(model, log)
    # rank 1: 400 clicks where 500 ± √250 were predicted; rank 2: 100 where 100 ± √90 were
    assert found.scaled == pytest.approx((100**2 / 250 + 0) / 2)
    assert found.misplaced == pytest.approx(np.sqrt(100**2 - 250) / 500)
    # cells: rank 1; rank 2 after no click, 100 of 600; rank 2 after a click, 0 of 400
    squares, variances = np.array([100**2, 40**2, 40**2]), np.array([250, 54, 36])
    assert found.scaled_after == pytest.approx((squares / variances).mean())
    assert found.misplaced_after == pytest.approx(np.sqrt(squares - variances).sum() / 500)


def test_the_true_user_is_calibrated(setting):
    _, user, log = setting
    found = evaluation.rank_calibration(user, log)
    assert 0.2 < found.scaled < 2.5
    assert 0.4 < found.scaled_after < 2.0
    assert found.misplaced_after < 0.02
    assert found.warning is None


def test_a_model_that_is_wrong_about_examination_is_found_out(setting):
    world, _, log = setting
    train, test = log.split([0.5, 0.5], seed=0)
    wrong = evaluation.rank_calibration(clickmodels.fit("DBN", train, world), test)
    right = evaluation.rank_calibration(clickmodels.fit("UBM", train, world), test)
    assert wrong.misplaced_after > 2.0 * right.misplaced_after
    assert right.warning is None
    assert "wrong about how users read a page" in wrong.warning


def test_a_part_of_the_log_says_the_same(setting):
    _, user, log = setting
    part = evaluation.rank_calibration(user, log, pages=10_000, seed=1)
    again = evaluation.rank_calibration(user, log, pages=10_000, seed=1)
    other = evaluation.rank_calibration(user, log, pages=10_000, seed=2)
    assert part.pages == 10_000
    assert part.to_dict() == again.to_dict() != other.to_dict()
    whole = evaluation.rank_calibration(user, log, pages=None)
    assert part.observed / part.shown == pytest.approx(whole.observed / whole.shown, abs=0.02)


def test_empty_slots_do_not_count():
    model = DBN(np.full((1, 2), 0.5), np.full((1, 2), 0.5), 0.9)
    log = data.ClickLog([0, 0], [[0, -1], [0, 1]], np.zeros((2, 2), bool))
    found = evaluation.rank_calibration(model, log)
    assert found.shown.tolist() == [2.0, 1.0]
    assert np.isnan(found.misplaced)  # without a click there is no share of them
    assert found.to_dict()["misplaced"] is None
    assert found.warning is None


def test_a_model_without_probabilities_is_refused(setting):
    world, _, log = setting
    with pytest.raises(NotCapable):
        evaluation.rank_calibration(clickmodels.fit("TopPop", log, world), log)
    with pytest.raises(ValueError, match="pages must be at least 1"):
        evaluation.rank_calibration(clickmodels.true_user("DBN", world), log, pages=0)
