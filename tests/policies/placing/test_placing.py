"""Where policies place the block of a page: probabilities, draws, wrappers, what is refused."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from clickgym import envs, policies
from clickgym.clickmodels import UBM, true_user
from clickgym.data import World
from clickgym.policies import Mixture, Placed, PlackettLuce, Policy, Ranker, page_log_prob
from clickgym.policies.placing.pages import draw_places, place_log_probs

K, N = 3, 4
# Query 1 has two candidates, query 2 no block.
RELEVANCE = [[3, 1, 0, 4], [2, 4, -1, -1], [1, 2, 3, 0]]
CANDIDATES = np.array(RELEVANCE) >= 0
WORLD = World(np.maximum(RELEVANCE, 0), candidates=CANDIDATES, vertical=[1, 0, -1])
WEIGHTS = np.where(CANDIDATES, [[1.0, 2.0, 0.5, 1.5]], 0.0)
RANKING = PlackettLuce(WEIGHTS, 1.0, K)
TABLE = np.array([[0.1, 0.2, 0.3, 0.4, 0.0], [0.0, 0.1, 0.2, 0.3, 0.4], [0.5, 0.5, 0, 0, 0]])
PLACED = Placed(RANKING, TABLE, WORLD)
QUERY = np.arange(3).repeat(4000)


class Drawing(Policy):
    """A policy of one's own that only draws where the block stands, the same for all queries."""

    def __init__(self, chances=(0.25, 0.0, 0.5, 0.25, 0.0)):
        self.slots, self.shape, self.chances = K, (3, N), np.array(chances)

    def draw(self, query, rng):
        return RANKING.draw(query, rng)

    def log_prob(self, query, ranking):
        return RANKING.log_prob(query, ranking)

    def place(self, query, ranking, rng):
        column = rng.choice(K + 2, len(query), p=self.chances)
        return column - 1, np.log(self.chances[column])


class Nearest(Policy):
    """Places the block by the ranking: below its document 3, if that is shown."""

    def __init__(self):
        self.slots, self.shape = K, (3, N)

    def draw(self, query, rng):
        return RANKING.draw(query, rng)

    def log_prob(self, query, ranking):
        return RANKING.log_prob(query, ranking)

    def place_log_probs(self, query, ranking):
        found = ranking == 3
        column = np.where(found.any(axis=1), found.argmax(axis=1) + 2, 0)
        return np.where(np.arange(K + 2) == column[:, None], 0.0, -np.inf)


def table(policy, query, ranking):
    return np.exp(place_log_probs(policy, np.asarray(query), np.asarray(ranking), WORLD))


def test_a_policy_that_says_nothing_shows_no_block():
    position, log_prob = RANKING.place(np.array([0, 1]), np.zeros((2, K), int), None)
    assert position.tolist() == [-1, -1]
    assert log_prob.tolist() == [0.0, 0.0]
    np.testing.assert_array_equal(table(RANKING, [0], [[0, 1, 2]]), [[1, 0, 0, 0, 0]])
    assert not RANKING.places_blocks


def test_a_table_of_places_is_what_is_placed():
    np.testing.assert_allclose(table(PLACED, [0], [[0, 1, 2]]), TABLE[:1])


def test_a_place_beyond_the_page_is_not_shown():
    np.testing.assert_allclose(table(PLACED, [1], [[1, 0, -1]]), [[0.4, 0.1, 0.2, 0.3, 0.0]])


def test_a_query_without_a_type_has_no_block():
    np.testing.assert_allclose(PLACED.places[2], [1, 0, 0, 0, 0])
    for policy in (PLACED, Drawing()):
        np.testing.assert_allclose(table(policy, [2], [[0, 1, 2]]), [[1, 0, 0, 0, 0]])
    untyped = World(WORLD.relevance, candidates=CANDIDATES, vertical=[-1] * 3)
    assert not Placed(RANKING, 1, untyped).places_blocks


@pytest.mark.parametrize("policy", [PLACED, Drawing(), Nearest(), policies.Remembering(PLACED)])
def test_drawn_places_fit_their_probabilities(policy):
    ranking, _ = policy.draw(QUERY, np.random.default_rng(0))
    position, log_prob = draw_places(policy, WORLD, QUERY, ranking, np.random.default_rng(1))
    logs = place_log_probs(policy, QUERY, ranking, WORLD)
    np.testing.assert_allclose(log_prob, logs[np.arange(len(QUERY)), position + 1], atol=1e-12)
    for query in range(3):
        rows = query == QUERY
        shares = np.bincount(position[rows] + 1, minlength=K + 2) / rows.sum()
        np.testing.assert_allclose(shares, np.exp(logs[rows]).mean(axis=0), atol=0.03)


def test_the_seed_decides_the_places():
    pages = np.tile([0, 1, 2], (100, 1))
    first, again, other = (
        PLACED.place(np.zeros(100, int), pages, np.random.default_rng(seed))[0]
        for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_one_place_or_one_per_query_is_a_table_too():
    assert Placed(RANKING, 2, WORLD).places[0].tolist() == [0, 0, 0, 1, 0]
    by_query = Placed(RANKING, [-1, 0, 3], WORLD).places
    assert by_query.argmax(axis=1).tolist() == [0, 1, 0]
    same = Placed(RANKING, TABLE[0], WORLD).places
    np.testing.assert_allclose(same[:2], TABLE[[0, 0]])


@pytest.mark.parametrize(
    ("places", "message"),
    [
        (4, "places has 4, but a block stands at 0 to 3"),
        (-2, "places has -2"),
        ([0, 1], r"places has shape \(2,\)"),
        (np.full((3, 5), 0.1), r"places\[0\] must sum to 1, not 0.5"),
        (np.full((3, 4), 0.25), r"places has shape \(3, 4\), but must be .* 5 places .*\(3, 5\)"),
        ([0.5, 0.5], r"places has shape \(2,\), but must be one whole number, 3 of them"),
        (np.full((3, 5), -0.2), "places"),
    ],
)
def test_bad_places_are_named(places, message):
    with pytest.raises(ValueError, match=message):
        Placed(RANKING, places, WORLD)


def test_a_world_without_verticals_has_no_blocks_to_place():
    with pytest.raises(ValueError, match=r"no verticals, .* world\.with_vertical"):
        Placed(RANKING, 0, World(WORLD.relevance, candidates=WORLD.candidates))


def all_pages(policy, query):
    """Every page of a query with every place, and its probability."""
    documents = np.flatnonzero(CANDIDATES[query])
    for order in itertools.permutations(documents, min(K, len(documents))):
        page = np.array([[*order, *[-1] * (K - len(order))]])
        for position in range(-1, K + 1):
            asked = [query], page, [position]
            yield (*order, position), np.exp(page_log_prob(policy, *asked, WORLD)[0])


@pytest.mark.parametrize(
    "policy",
    [PLACED, Drawing(), Nearest(), Mixture([PLACED, RANKING, Nearest()], [0.5, 0.2, 0.3])],
)
def test_probabilities_of_pages_with_places_sum_to_one(policy):
    for query in range(3):
        total = sum(chance for _, chance in all_pages(policy, query))
        assert total == pytest.approx(1.0, abs=1e-12)


def test_a_mixture_shows_what_its_policies_show():
    other = Placed(PlackettLuce(WEIGHTS**3, 1.0, K), TABLE[:, ::-1], WORLD)
    mixture = Mixture([PLACED, other], [0.3, 0.7])
    for query in range(3):
        first, second = (dict(all_pages(policy, query)) for policy in (PLACED, other))
        for page, chance in all_pages(mixture, query):
            assert chance == pytest.approx(0.3 * first[page] + 0.7 * second[page], abs=1e-12)
    assert not mixture.places_by_query


def test_a_loaded_policy_places_the_same(tmp_path):
    mixture = Mixture([PLACED, RANKING], [0.5, 0.5])
    for policy in (PLACED, mixture, policies.Remembering(PLACED)):
        policy.save(tmp_path / "policy")
        again = Policy.load(tmp_path / "policy")
        pages = np.tile([0, 1, 2], (3, 1))
        got = again.place_log_probs(np.array([0, 1, 2]), pages)
        np.testing.assert_array_equal(got, policy.place_log_probs(np.array([0, 1, 2]), pages))


def test_what_counts_of_pages_do_not_know_is_refused():
    from clickgym.policies.estimation.page_counts import PageCounts

    with pytest.raises(ValueError, match="places blocks, which counts of pages do not know"):
        PageCounts(PLACED, [0], [[0, 1, 2]], [1.0], 1.0)


def test_a_rare_place_of_a_policy_that_only_draws_needs_more():
    rare = Drawing([1e-6, 0.0, 0.5, 0.5 - 1e-6, 0.0])
    with pytest.raises(NotImplementedError, match="need place_log_probs"):
        rare.place_log_probs(np.array([0]), np.array([[0, 1, 2]]))


class Wrong(Drawing):
    def __init__(self, position, log_prob):
        super().__init__()
        self.given = position, log_prob

    def place(self, query, ranking, rng):
        return tuple(np.broadcast_to(one, (len(query),)) for one in self.given)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((4, 0.0), r"Wrong\.place\(\) returns position 4 for row 0"),
        ((0.5, 0.0), r"position that Wrong\.place\(\) returns"),
        ((1, 0.5), r"Wrong\.place\(\) returns log_prob 0\.5"),
        ((1, np.nan), r"Wrong\.place\(\) returns log_prob nan"),
    ],
)
def test_what_place_returns_is_checked(given, message):
    with pytest.raises(ValueError, match=message):
        envs.collect(WORLD, true_user("FCM", WORLD, slots=K), Wrong(*given), 10, seed=0)


def test_positions_alone_are_not_what_place_returns():
    class Positions(Drawing):
        def place(self, query, ranking, rng):
            return np.zeros(len(query), dtype=int)

    with pytest.raises(ValueError, match=r"Positions\.place\(\) must return two arrays"):
        envs.collect(WORLD, true_user("FCM", WORLD, slots=K), Positions(), 10, seed=0)


# Logs


@pytest.mark.parametrize("policy", [PLACED, Drawing(), Nearest()])
def test_a_log_says_which_block_stood_where_and_how_likely_that_was(policy):
    user = true_user("FCM", WORLD, slots=K)
    log = envs.collect(WORLD, user, policy, 3000, seed=1)
    shown = log.vertical_position >= 0
    np.testing.assert_array_equal(log.vertical, np.where(shown, WORLD.vertical[log.query], -1))
    assert not shown[log.query == 2].any()
    assert (log.vertical_position <= (log.ranking >= 0).sum(axis=1)).all()
    expected = page_log_prob(policy, log.query, log.ranking, log.vertical_position, WORLD)
    np.testing.assert_allclose(log.log_propensity, expected, atol=1e-12)
    again, other = (envs.collect(WORLD, user, policy, 3000, seed) for seed in (1, 2))
    np.testing.assert_array_equal(log.vertical_position, again.vertical_position)
    assert (log.vertical_position != other.vertical_position).any()


def test_a_log_without_blocks_has_no_columns_for_them():
    user = UBM(np.full((3, N), 0.5), np.ones((K, K)))
    assert envs.collect(WORLD, user, RANKING, 10, seed=0).vertical is None
    log = envs.collect(WORLD, user, PLACED, 10, seed=0)  # a user who ignores the blocks
    assert log.vertical is not None


def test_clicks_of_a_log_are_those_of_pages_with_their_blocks():
    user = true_user("FCM", WORLD, slots=K)
    ranker = Placed(Ranker(WEIGHTS, K, world=WORLD), 2, WORLD)
    log = envs.collect(WORLD, user, ranker, 30_000, seed=3)
    for query in range(3):
        rows = log.query == query
        page = log.ranking[rows][:1]
        blocks = {"vertical": log.vertical[rows][:1], "vertical_position": [2 if query < 2 else -1]}
        expected = user.click_probs([query], page, **blocks)[0]
        np.testing.assert_allclose(log.clicks[rows].mean(axis=0), expected, atol=0.02)


def test_rankings_to_deploy_say_where_the_block_stands():
    ranker = Placed(Ranker(WEIGHTS, K, world=WORLD), TABLE, WORLD)
    table = ranker.deployed_rankings(WORLD).table.to_pydict()
    places = dict(zip(table["query"], table["vertical_position"], strict=True))
    assert places == {0: 2, 1: -1, 2: -1}  # of query 1 most would stand beyond the page
    assert "vertical_position" not in RANKING.deployed_rankings(WORLD).table.column_names
