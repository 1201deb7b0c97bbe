"""Expected exposures of Plackett-Luce policies and their gradients, against all pages."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from clickgym.policies import PlackettLuce
from clickgym.policies.safe.climb import climb
from clickgym.policies.safe.exposure import expected_exposure, expose, exposure_blocks
from clickgym.policies.safe.objectives import Clicks, Divergence, LowerBound, Proximal
from clickgym.policies.slates.placements import race_placements

EXAMINATION = np.array([1.0, 0.4, 0.6])
LOGITS = np.array([
    [0.0, -1.0, 0.5, -3.0, 2.0],
    [0.0, 0.0, 0.0, 0.0, 0.0],
    [1.0, -np.inf, 0.0, -np.inf, -np.inf],
    [-9.0, 0.0, -20.0, -5.0, -14.0],
])  # fmt: skip
SLOPES = np.random.default_rng(1).normal(size=LOGITS.shape)


def count_exposure(logits, examination=EXAMINATION):
    """Expected exposures by all pages, (Q, N)."""
    slots, n_docs = len(examination), logits.shape[1]
    policy = PlackettLuce(np.exp(logits), slots=slots)
    result = np.zeros(logits.shape)
    for query in range(len(logits)):
        length = min(slots, int(np.isfinite(logits[query]).sum()))
        some = [(*page, *[-1] * (slots - length))
                for page in itertools.permutations(range(n_docs), length)]  # fmt: skip
        pages = np.array(some)
        probability = np.exp(policy.log_prob(np.full(len(pages), query), pages))
        for slot in range(length):
            np.add.at(result[query], pages[:, slot], probability * examination[slot])
    return result


def test_exposures_are_those_of_all_pages():
    np.testing.assert_allclose(expose(LOGITS, EXAMINATION)[0], count_exposure(LOGITS), atol=3e-6)


def test_gradients_are_those_of_all_pages():
    got = expose(LOGITS, EXAMINATION)[1](SLOPES)
    step = 1e-5
    for document in range(LOGITS.shape[1]):
        ahead, behind = LOGITS.copy(), LOGITS.copy()
        ahead[:, document] += step
        behind[:, document] -= step
        change = count_exposure(ahead) - count_exposure(behind)
        wanted = (SLOPES * change).sum(axis=1) / (2.0 * step)
        np.testing.assert_allclose(got[:, document], wanted, atol=5e-6)


@pytest.mark.parametrize(("slots", "n_docs", "spread"), [(10, 30, 0.0), (10, 30, 8.0), (20, 60, 1)])
def test_long_lists_have_the_exposures_of_the_placements(slots, n_docs, spread):
    logits = np.random.default_rng(0).normal(size=(3, n_docs)) * spread
    examination = 0.9 ** np.arange(slots)
    logs = logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)
    wanted = [examination @ race_placements(row, slots) for row in logs]
    np.testing.assert_allclose(expected_exposure(logits, examination), wanted, atol=5e-6)


def test_every_query_is_in_one_block():
    logits = np.random.default_rng(0).normal(size=(500, 40)) * np.linspace(0.1, 30.0, 500)[:, None]
    blocks = list(exposure_blocks(logits, 10))
    assert len(blocks) > 1
    np.testing.assert_array_equal(np.sort(np.concatenate(blocks)), np.arange(500))


READ_DOWN = np.array([1.0, 0.6, 0.4])
START = np.where(np.isfinite(LOGITS), 0.0, -np.inf)
REWARD = np.random.default_rng(2).random((4, 5))
LOGGING = count_exposure(0.3 * LOGITS, READ_DOWN)
OBJECTIVES = {
    "clicks": Clicks(REWARD),
    "lower bound": LowerBound(REWARD, LOGGING, np.array([0.05, 0.3, 0.1, 1.0])),
    "divergence": Divergence(REWARD, LOGGING, 0.1),
    "proximal": Proximal(REWARD, LOGGING, 0.5, 1.5),
}
every_objective = pytest.mark.parametrize("objective", OBJECTIVES.values(), ids=OBJECTIVES)


def evaluate(objective, logits):
    """The values (Q,) of policies with these logits."""
    return objective.evaluate(np.arange(4), expected_exposure(logits, READ_DOWN))[0]


@every_objective
def test_slopes_are_those_of_the_value(objective):
    rows, exposure = np.arange(4), expected_exposure(LOGITS, READ_DOWN)
    slopes = objective.evaluate(rows, exposure)[1]
    step = 1e-6
    for document in range(5):
        move = step * (np.arange(5) == document) * np.isfinite(LOGITS)
        ends = [objective.evaluate(rows, exposure + sign * move)[0] for sign in (1, -1)]
        wanted = (ends[0] - ends[1]) / (2.0 * step)
        own = np.where(np.isfinite(LOGITS[:, document]), slopes[:, document], 0.0)
        np.testing.assert_allclose(own, wanted, atol=1e-5)


@every_objective
def test_climbing_finds_what_no_random_policy_beats(objective):
    found = climb(objective, START, READ_DOWN, 1e-7, 200)
    best = evaluate(objective, found)
    rng = np.random.default_rng(0)
    for spread in np.repeat([0.3, 1.0, 3.0, 10.0], 50):
        near = np.where(rng.random() < 0.5, found, START)
        assert (
            evaluate(objective, near + spread * rng.normal(size=START.shape)) < best + 3e-3
        ).all()


@every_objective
def test_climbing_from_elsewhere_leads_to_the_same_value(objective):
    best = evaluate(objective, climb(objective, START, READ_DOWN, 1e-7, 200))
    elsewhere = START + 2.0 * np.random.default_rng(0).normal(size=START.shape)
    other = evaluate(objective, climb(objective, elsewhere, READ_DOWN, 1e-7, 200))
    np.testing.assert_allclose(other, best, atol=5e-3)


def test_most_clicks_are_those_of_the_best_documents_in_order():
    found = climb(Clicks(REWARD), START, READ_DOWN, 1e-8, 200)
    ordered = -np.sort(-np.where(np.isfinite(START), REWARD, 0.0), axis=1)[:, :3]
    np.testing.assert_allclose(evaluate(Clicks(REWARD), found), ordered @ READ_DOWN, atol=1e-3)


def test_the_lower_bound_is_highest_at_the_logging_policy_where_nothing_was_clicked():
    bound = LowerBound(np.zeros((4, 5)), LOGGING, np.ones(4))
    found = climb(bound, START, READ_DOWN, 1e-9, 200)
    np.testing.assert_allclose(expected_exposure(found, READ_DOWN), LOGGING, atol=1e-3)
