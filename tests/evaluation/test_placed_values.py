"""Values of policies that place blocks: all pages with all places, one by one."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from clickgym import evaluation, policies
from clickgym.clickmodels import UBM, true_user
from clickgym.data import World
from clickgym.evaluation.values import score_pages
from clickgym.policies import Placed, PlackettLuce, Ranker, page_log_prob

K, N = 3, 4
RELEVANCE = [[3, 1, 0, 4], [2, 4, -1, -1], [1, 2, 3, 0]]
CANDIDATES = np.array(RELEVANCE) >= 0
WORLD = World(
    np.maximum(RELEVANCE, 0), candidates=CANDIDATES, vertical=[1, 0, -1],
    query_probs=[0.5, 0.3, 0.2],
)
RANKING = PlackettLuce(np.where(CANDIDATES, [[1.0, 2.0, 0.5, 1.5]], 0.0), 1.0, K)
TABLE = np.array([[0.1, 0.2, 0.3, 0.4, 0.0], [0.0, 0.1, 0.2, 0.3, 0.4], [0.5, 0.5, 0, 0, 0]])
PLACED = Placed(RANKING, TABLE, WORLD)
FIXED = Placed(Ranker(np.where(CANDIDATES, WORLD.relevance, -np.inf), K, world=WORLD), TABLE, WORLD)


@pytest.fixture(scope="module", params=["FCM", "VCM"])
def user(request):
    return true_user(request.param, WORLD, slots=K)


def ask(user, query, page, position, reward):
    typed = WORLD.vertical[query] >= 0
    block = {
        "vertical": [WORLD.vertical[query] if typed and position >= 0 else -1],
        "vertical_position": [position if typed else -1],
    }
    method = user.expected_clicks if reward == "clicks" else user.satisfied_probs
    return float(method([query], [page], **user.vertical_arguments(*block.values()))[0])


def pages_of(query):
    documents = np.flatnonzero(CANDIDATES[query])
    for order in itertools.permutations(documents, min(K, len(documents))):
        yield [*order, *[-1] * (K - len(order))], len(order)


def literal_value(policy, user, reward="clicks"):
    total = 0.0
    for query in range(3):
        for page, length in pages_of(query):
            for position in range(-1, length + 1):
                chance = np.exp(page_log_prob(policy, [query], [page], [position], WORLD)[0])
                reached = WORLD.query_probs[query] * chance
                total += reached * ask(user, query, page, position, reward)
    return total


@pytest.mark.parametrize("reward", ["clicks", "satisfied"])
@pytest.mark.parametrize("policy", [PLACED, FIXED])
def test_a_value_is_the_sum_over_pages_and_places(policy, reward, user):
    found = evaluation.value(policy, user, WORLD, reward=reward)
    assert found.method == "exact"
    assert found.value == pytest.approx(literal_value(policy, user, reward), abs=1e-12)


class OnlyDraws(policies.Policy):
    """Draws its places; some are too rare to be found by drawing."""

    deterministic = True
    chances = np.array([0.3, 1e-9, 0.4, 0.3 - 1e-9, 0.0])

    def __init__(self):
        self.slots, self.shape = K, (3, N)

    def draw(self, query, rng):
        return FIXED.draw(query, rng)

    def log_prob(self, query, ranking):
        return FIXED.log_prob(query, ranking)

    def greedy(self, query):
        return FIXED.greedy(query)

    def place(self, query, ranking, rng):
        column = rng.choice(K + 2, len(query), p=self.chances)
        return column - 1, np.log(self.chances[column])


def test_places_that_are_only_drawn_are_sampled(user):
    found = evaluation.value(OnlyDraws(), user, WORLD, samples=20_000)
    table = np.tile(OnlyDraws.chances, (3, 1))
    exact = literal_value(Placed(FIXED.policy, table, WORLD), user)
    assert found.method == "sampled pages"
    assert abs(found.value - exact) < 5 * found.stderr
    assert found.stderr < 0.01


def test_a_user_without_verticals_ignores_the_block():
    ubm = UBM(np.where(CANDIDATES, 0.4, 0.0), np.full((K, K), 0.7))
    ubm.fingerprint = WORLD.fingerprint
    placed, plain = (evaluation.value(one, ubm, WORLD).value for one in (PLACED, RANKING))
    assert placed == pytest.approx(plain, abs=1e-12)


def test_sampled_pages_have_the_places_of_the_policy(user, monkeypatch):
    monkeypatch.setattr(evaluation.values, "MOST_PAGES", 0)
    found = evaluation.value(PLACED, user, WORLD, samples=40_000)
    assert found.method == "sampled pages"
    assert abs(found.value - literal_value(PLACED, user)) < 5 * found.stderr


def test_the_best_page_is_found_over_rankings_and_places(user):
    report = evaluation.curse(FIXED, user, user, WORLD, logging=PLACED)
    best = sum(
        WORLD.query_probs[query]
        * max(
            ask(user, query, page, position, "clicks")
            for page, length in pages_of(query)
            for position in range(-1, length + 1)
        )
        for query in range(3)
    )
    assert report.best.method == "exact"
    assert report.best.value == pytest.approx(best, abs=1e-12)
    assert report.regret.value == pytest.approx(best - literal_value(FIXED, user), abs=1e-12)
    assert report.logging_value.value == pytest.approx(literal_value(PLACED, user), abs=1e-12)


def test_both_models_of_a_deployment_see_the_same_blocks(user):
    model = true_user("VCM" if user.label == "FCM" else "FCM", WORLD, slots=K)
    found = evaluation.deploy(PLACED, model, user, WORLD)
    gap = literal_value(PLACED, model) - literal_value(PLACED, user)
    assert found.gap.value == pytest.approx(gap, abs=1e-12)
    first, second = score_pages(PLACED, (model, user), WORLD, 10, 0)
    assert first.pages is second.pages
