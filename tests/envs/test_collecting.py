"""Collecting logs: queries, rankings, propensities and clicks all follow what they came from."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import random_models, small_world
from looping import loop_over
from scipy.stats import chisquare

from clickgym import clickmodels
from clickgym.clickmodels import ClickModel, NotCapable
from clickgym.data import ClickLog, World
from clickgym.envs import collect
from clickgym.policies import PlackettLuce, Policy, Ranker, Uniform, stochastic

WORLDS = {"full": small_world(), "short": small_world(short=True)}
USERS = clickmodels.user_names()
COLUMNS = ("query", "ranking", "clicks", "log_propensity")


def scores(world):
    return np.where(world.candidates, world.gain, -np.inf)


POLICIES = {
    "Uniform": lambda world: Uniform(world, slots=4),
    "stochastic": lambda world: stochastic(scores(world), 0.5, slots=4),
    "Ranker": lambda world: Ranker(scores(world), slots=4),
}
every_world = loop_over("kind", WORLDS)
every_policy = loop_over("policy", POLICIES)


def collected(kind="full", user="CoCM", policy="Uniform", n=1000, seed=0):
    world = WORLDS[kind]
    return collect(world, clickmodels.true_user(user, world), POLICIES[policy](world), n, seed)


# The log


@loop_over("n", [1, 4095, 4096, 4097, 10_000])  # pages are drawn 4096 at a time
def test_a_log_has_as_many_rows_as_asked_for(n):
    assert len(collected(n=n)) == n


@loop_over(
    ("name", "shape", "kind"),
    [("query", (50,), "i4"), ("ranking", (50, 4), "i2"), ("clicks", (50, 4), "?"),
     ("log_propensity", (50,), "f8")],
)  # fmt: skip
def test_columns_have_the_designs_shapes_and_types(name, shape, kind):
    column = getattr(collected(n=50), name)
    assert (column.shape, column.dtype) == (shape, np.dtype(kind))


def test_a_collected_log_has_no_weights():
    assert collected(n=5).weight is None


def test_a_collected_log_carries_the_worlds_fingerprint():
    assert collected(n=5).fingerprint == WORLDS["full"].fingerprint


@every_policy
@loop_over("name", COLUMNS)
def test_the_same_seed_gives_the_same_log(policy, name):
    first, second = (collected(policy=policy, n=5000, seed=3) for _ in range(2))
    np.testing.assert_array_equal(getattr(first, name), getattr(second, name))


@loop_over("name", COLUMNS[:3])
def test_another_seed_gives_another_log(name):
    first, second = (collected(n=200, seed=seed) for seed in (3, 4))
    assert not np.array_equal(getattr(first, name), getattr(second, name))


def test_pages_beyond_the_first_chunk_are_not_those_of_the_first():
    log = collected(n=2 * 4096)
    assert not np.array_equal(log.ranking[:4096], log.ranking[4096:])


# What it follows


@loop_over("seed", [0, 1])
def test_queries_follow_query_probs(seed):
    world = WORLDS["full"]
    counts = np.bincount(collected(n=20_000, seed=seed).query, minlength=world.n_queries)
    assert chisquare(counts, world.query_probs * 20_000).pvalue > 1e-3


def test_a_world_of_one_query_is_asked_nothing_else():
    world = World([[0, 1, 2, 3]])
    log = collect(world, clickmodels.true_user("PBM", world), Uniform(world, 2), 100, seed=0)
    assert set(log.query.tolist()) == {0}


def test_a_query_with_all_the_weight_is_asked_every_time():
    grades = np.tile([0, 4, 2], (5, 1))
    world = World(grades, query_probs=[0, 0, 1, 0, 0])
    log = collect(world, clickmodels.true_user("PBM", world), Uniform(world, 2), 500, seed=0)
    assert set(log.query.tolist()) == {2}


@every_world
@every_policy
def test_log_propensity_equals_the_policys_log_prob(kind, policy):
    log = collected(kind, policy=policy, n=6000)
    expected = POLICIES[policy](WORLDS[kind]).log_prob(log.query, log.ranking)
    np.testing.assert_allclose(log.log_propensity, expected, rtol=1e-10, atol=1e-12)


@every_world
@every_policy
def test_only_candidates_are_shown(kind, policy):
    log = collected(kind, policy=policy)
    candidates = WORLDS[kind].candidates[log.query[:, None], log.ranking]
    assert candidates[log.ranking >= 0].all()


@every_policy
def test_short_lists_give_short_pages(policy):
    log = collected("short", policy=policy)
    lengths = np.minimum(WORLDS["short"].n_candidates, 4)
    np.testing.assert_array_equal((log.ranking >= 0).sum(axis=1), lengths[log.query])


def test_rankings_follow_the_policy():
    """How often each document of a query comes first, under weights that differ."""
    world = WORLDS["full"]
    weights = np.tile(np.arange(1.0, 8.0), (6, 1))
    user = clickmodels.true_user("DBN", world)
    log = collect(world, user, PlackettLuce(weights, slots=2), 20_000, seed=0)
    counts = np.bincount(log.ranking[:, 0], minlength=7)
    assert chisquare(counts, weights[0] / 28 * 20_000).pvalue > 1e-3


@every_world
@every_policy
@loop_over("user", USERS)
def test_clicks_follow_click_probs_of_the_shown_rankings(kind, policy, user):
    world = WORLDS[kind]
    log = collected(kind, user, policy, n=10_000)
    probs = clickmodels.true_user(user, world).click_probs(log.query, log.ranking)
    spread = np.sqrt((probs * (1 - probs)).sum(axis=0))
    z = (log.clicks - probs).sum(axis=0) / spread
    assert (np.abs(z) < 4.0).all(), z  # 120 slots in all: one beyond 4 by chance in 130 runs


@loop_over("user", USERS)
def test_clicks_follow_click_probs_of_every_query(user):
    world = WORLDS["full"]
    log = collected("full", user, n=20_000)
    probs = clickmodels.true_user(user, world).click_probs(log.query, log.ranking)
    for query in range(world.n_queries):
        rows = log.query == query
        # Slots of a page depend on each other, so pages are what is independent.
        excess = (log.clicks[rows] - probs[rows]).sum(axis=1)
        assert abs(excess.mean()) < 4.0 * excess.std(ddof=1) / np.sqrt(rows.sum()), query


def test_a_policy_without_log_prob_gives_a_log_without_propensities():
    class Shuffled(Policy):
        has_log_prob = False
        slots, shape = 3, (6, 7)

        def draw(self, query, rng):
            return np.argsort(rng.random((len(query), 7)), axis=1)[:, :3], None

    world = WORLDS["full"]
    log = collect(world, clickmodels.true_user("DBN", world), Shuffled(), 10, seed=0)
    assert log.log_propensity is None


def test_a_users_own_model_needs_only_conditionals():
    class Always(ClickModel):
        def relevance(self):
            return np.ones((6, 7))

        def conditional_click_probs(self, query, ranking, clicks):
            return np.where(np.asarray(ranking) >= 0, 1.0, 0.0)

    world = WORLDS["short"]
    log = collect(world, Always(), Uniform(world, 4), 100, seed=0)
    np.testing.assert_array_equal(log.clicks, log.ranking >= 0)


def test_a_ranker_from_rankings_without_n_docs_can_log():
    world = WORLDS["full"]
    policy = Ranker.from_rankings(np.tile([1, 0], (6, 1)))
    log = collect(world, clickmodels.true_user("DBN", world), policy, 10, seed=0)
    assert (log.ranking == [1, 0]).all()


# What does not belong together


def test_a_user_of_another_world_is_refused():
    full, short = WORLDS["full"], WORLDS["short"]
    user = clickmodels.true_user("DBN", short)
    with pytest.raises(ValueError, match="the click model DBN belongs to another world"):
        collect(full, user, Uniform(full, 4), 10, seed=0)


def test_a_policy_of_another_world_is_refused():
    full, short = WORLDS["full"], WORLDS["short"]
    user = clickmodels.true_user("DBN", full)
    with pytest.raises(ValueError, match="the policy Uniform belongs to another world"):
        collect(full, user, Uniform(short, 4), 10, seed=0)


@loop_over("use", [ClickLog.check_world, lambda log, world: world.restricted_to(log)])  # fmt: skip
def test_a_log_is_refused_by_another_world(use):
    with pytest.raises(ValueError, match="the log belongs to another world"):
        use(collected(n=10), WORLDS["short"])


def test_a_log_is_accepted_by_its_world_with_other_query_probs():
    world = WORLDS["full"]
    other = World(world.relevance, world.features, name="other")
    assert collected(n=10).check_world(other) is None


def test_a_log_can_be_collected_in_the_world_restricted_to_another():
    world = WORLDS["full"]
    restricted = world.restricted_to(collected(n=3))
    log = collect(
        restricted, clickmodels.true_user("DBN", world), Uniform(restricted, 4), 500, seed=1
    )
    assert restricted.candidates[log.query[:, None], log.ranking][log.ranking >= 0].all()


@loop_over("which", ["user", "policy"])
def test_what_has_another_shape_is_refused(which):
    world = small_world(n_docs=8)
    user = clickmodels.true_user("DBN", world) if which == "policy" else random_models()["DBN"]
    policy = Uniform(world, 4) if which == "user" else PlackettLuce(np.ones((6, 7)), slots=4)
    with pytest.raises(ValueError, match="for 6 queries of 7 candidates"):
        collect(world, user, policy, 10, seed=0)


@loop_over("n", [0, -1, 2.0, True, "10", None])
def test_a_bad_number_of_pages_is_named(n):
    with pytest.raises(ValueError, match=r"^n\b"):
        collected(n=n)


def test_a_policy_with_longer_pages_than_the_user_knows_is_refused():
    world = WORLDS["full"]
    user = clickmodels.true_user("PBM", world, slots=3)
    with pytest.raises(ValueError, match="policy shows 4 slots, the user knows 3"):
        collect(world, user, Uniform(world, 4), 10, seed=0)


def test_a_model_that_only_ranks_is_no_user():
    class Popular(ClickModel):
        capabilities = frozenset({"rank"})

        def relevance(self):
            return np.ones((6, 7))

    with pytest.raises(NotCapable, match="Popular is not generative"):
        collect(WORLDS["full"], Popular(), Uniform(WORLDS["full"], 4), 10, seed=0)
