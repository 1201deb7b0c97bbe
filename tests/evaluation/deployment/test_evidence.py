"""How far a policy leaves its log, against counts by hand."""

from __future__ import annotations

import numpy as np
import pytest

from clickgym import data, evaluation, policies
from clickgym.evaluation.deployment.evidence import gather


@pytest.fixture(scope="module")
def witnesses():
    world = data.World(np.array([[2, 1, 0, 3], [1, 0, 2, 0]]))
    rng = np.random.default_rng(0)
    query = np.repeat([0, 1], 50)
    ranking = np.tile([0, 1], (100, 1))
    ranking[:5] = [0, 2]  # hardly shown
    log = data.ClickLog(query, ranking, rng.random((100, 2)) < 0.4)
    return evaluation.call_witnesses(log, world)


def numbers_of(witnesses, rankings):
    policy = policies.Ranker.from_rankings(np.array(rankings), world=witnesses.world)
    return gather(policy, witnesses).numbers


def test_the_same_documents_in_another_order(witnesses):
    found = numbers_of(witnesses, [[1, 0], [1, 0]])
    assert found["hardly"] == found["never"] == 0.0
    assert found["not_there"] == 1.0
    assert found["moved"] == pytest.approx(0.5 * 0.1 / 2.0)  # what the log gave document 2
    assert found["reordered"] == pytest.approx(1.0)


def test_other_documents(witnesses):
    found = numbers_of(witnesses, [[0, 2], [0, 3]])
    assert found["hardly"] == pytest.approx(0.5)
    assert found["never"] == found["not_there"] == pytest.approx(0.25)
    # Slots of which the policy keeps what the log shows: both first ones, and a tenth of a second.
    assert found["moved"] == pytest.approx(1.0 - (2.0 + 0.1) / 4.0)
    assert found["reordered"] == pytest.approx(found["moved"])


def test_promise_of_the_logged_pages_is_nothing(witnesses):
    class Logged(policies.Policy):
        has_log_prob = False

        def __init__(self, world):
            self.shape, self.slots = world.candidates.shape, 2

        def sample(self, query, rng):
            rare = (np.asarray(query) == 0) & (rng.random(len(query)) < 0.1)
            return np.column_stack([np.zeros(len(query), int), np.where(rare, 2, 1)])

    found = gather(Logged(witnesses.world), witnesses).numbers
    for name in witnesses.models:
        assert found[f"promise {name}"] == pytest.approx(0.0, abs=0.01)
        assert found[f"cautious {name}"] < 0.0
    assert found["moved"] == pytest.approx(0.0, abs=0.01)


def test_empty_pages(witnesses):
    with pytest.raises(ValueError, match="the policy shows nothing"):
        numbers_of(witnesses, [[-1, -1], [-1, -1]])
