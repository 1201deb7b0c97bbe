"""Online metrics of pages, by hand and with weights; configurations and their means."""

from __future__ import annotations

import numpy as np
import pytest
from looping import loop_over

from clickgym import data, evaluation
from clickgym.data import ClickLog

WORLD = data.World([[0, 1, 2, 4], [3, -1, 0, 0]], candidates=np.ones((2, 4), bool))
LOG = ClickLog(
    [0, 0, 1, 0, 1],
    [[3, 1, 0, 2], [3, 1, 0, 2], [0, 1, 2, -1], [3, 1, 0, 2], [0, 1, 2, -1]],
    [[1, 0, 0, 1], [0, 0, 0, 0], [0, 1, 0, 0], [0, 1, 1, 0], [1, 0, 0, 0]],
)
BY_HAND = {
    "UCTR": [1, 0, 1, 1, 1],
    "MaxRR": [1, 0, 1 / 2, 1 / 2, 1],
    "MeanRR": [(1 + 1 / 4) / 2, 0, 1 / 2, (1 / 2 + 1 / 3) / 2, 1],
    "MinRR": [1 / 4, 0, 1 / 2, 1 / 3, 1],
    "Gain": [15 / 16 + 3 / 16, 0, 0, 1 / 16, 7 / 16],
    "MaxGain": [15 / 16, 0, 0, 1 / 16, 7 / 16],
}


def test_online_metrics_are_those_counted_by_hand():
    found = evaluation.online_metrics(LOG, WORLD)
    assert list(found) == list(BY_HAND)
    for name, values in BY_HAND.items():
        np.testing.assert_allclose(found[name], values, err_msg=name)
    assert list(evaluation.online_metrics(LOG)) == list(BY_HAND)[:4]


def test_reciprocal_ranks_may_leave_out_abandoned_pages():
    found = evaluation.online_metrics(LOG, WORLD, abandoned=False)
    for name, values in BY_HAND.items():
        expected = np.array(values, dtype=float)
        if name.endswith("RR"):
            expected[1] = np.nan
        np.testing.assert_allclose(found[name], expected, err_msg=name)


def test_gains_need_grades_and_the_logs_world():
    none = data.World(np.full((2, 4), -1), candidates=np.ones((2, 4), bool))
    with pytest.raises(ValueError, match="the gain of what was clicked needs grades"):
        evaluation.online_metrics(LOG, none)
    with pytest.raises(ValueError, match="but there are 1 queries"):
        evaluation.online_metrics(LOG, data.World([[0, 1, 2, 3]]))


def test_equal_pages_of_a_query_are_one_configuration():
    found = evaluation.find_configurations(LOG)
    assert len(found) == 2
    order = np.argsort(found.query)
    np.testing.assert_array_equal(found.ranking[order], [[3, 1, 0, 2], [0, 1, 2, -1]])
    np.testing.assert_array_equal(found.sessions[order], [3, 2])
    np.testing.assert_array_equal(found.query[found.row], LOG.query)
    np.testing.assert_array_equal(found.ranking[found.row], LOG.ranking)
    np.testing.assert_array_equal(found.grades(WORLD)[order], [[4, 1, 0, 2], [3, -2, 0, -1]])
    assert found.blocks == {"vertical": None, "vertical_position": None}


@loop_over(("vertical", "place", "number"), [
    ([0, 0, 0, 0, 0], [2, 2, 2, 2, 2], 2),
    ([0, 0, 0, 0, 0], [2, 1, 2, 2, 2], 3),
    ([0, 1, 0, 0, -1], [2, 2, 2, 2, -1], 4),
])  # fmt: skip
def test_pages_with_other_blocks_are_other_configurations(vertical, place, number):
    log = ClickLog(
        LOG.query, LOG.ranking, LOG.clicks, vertical=vertical, vertical_position=place
    )
    found = evaluation.find_configurations(log)
    assert len(found) == number
    np.testing.assert_array_equal(found.vertical[found.row], vertical)
    np.testing.assert_array_equal(found.vertical_position[found.row], place)


def test_means_are_weighted_by_impressions_and_leave_nan_out():
    weight = [1.0, 3.0, 2.0, 0.0, 6.0]
    log = ClickLog(LOG.query, LOG.ranking, LOG.clicks, weight=weight)
    found = evaluation.find_configurations(log)
    order = np.argsort(found.query)
    means = found.mean(BY_HAND["MeanRR"])
    np.testing.assert_allclose(means.values[order], [0.625 / 4, (1.0 + 6.0) / 8])
    np.testing.assert_allclose(means.sessions[order], [4, 8])
    kept = found.mean(evaluation.online_metrics(log, abandoned=False)["MeanRR"])
    np.testing.assert_allclose(kept.values[order], [0.625, 7 / 8])
    np.testing.assert_allclose(kept.sessions[order], [1, 8])
    with pytest.raises(ValueError, match="values has shape"):
        found.mean([1.0])


def test_a_compressed_log_has_the_same_means():
    rng = np.random.default_rng(0)
    ranking = np.array([[0, 1, 2, 3], [3, 2, 1, 0]])[rng.integers(0, 2, 300)]
    log = ClickLog(rng.integers(0, 2, 300), ranking, rng.random((300, 4)) < 0.3)
    tables = []
    for one in (log, log.compress()):
        found = evaluation.find_configurations(one)
        mean = found.mean(evaluation.online_metrics(one, WORLD)["Gain"])
        keys = zip(found.query.tolist(), found.ranking[:, 0].tolist(), strict=True)
        tables.append(dict(zip(keys, zip(*mean, strict=True), strict=True)))
    assert tables[0].keys() == tables[1].keys()
    for key, values in tables[0].items():
        assert values == pytest.approx(tables[1][key])
