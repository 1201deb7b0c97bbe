"""Safe policies from a log: what they promise to do, on small worlds."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from clickgym import clickmodels, data, envs, evaluation, policies
from clickgym.policies import ByQuery, Mixture, PlackettLuce, Policy, Ranker, Uniform, safe_policy
from clickgym.policies.safe.exposure import expected_exposure

SLOTS = 4
EXAMINATION = 0.9 ** np.arange(SLOTS)
NAMES = policies.safe_policy_names()
every_name = pytest.mark.parametrize("name", NAMES)


@pytest.fixture(scope="module")
def world():
    rng = np.random.default_rng(3)
    return data.World(rng.integers(0, 5, (12, 9)))


@pytest.fixture(scope="module")
def user(world):
    return clickmodels.true_user("PBM", world, floor=0.05)


@pytest.fixture(scope="module")
def logging(world):
    return policies.logging_policy("epsilon-oracle", world, SLOTS, temperature=0.6, noise_sd=0.5)


@pytest.fixture(scope="module")
def log(world, user, logging):
    return envs.collect(world, user, logging, 40_000, seed=0)


def learn(name, log, world, logging, **choices):
    return safe_policy(name, log, world, logging, SLOTS, examination=EXAMINATION, **choices)


def value(policy, user, world):
    return evaluation.value(policy, user, world).value


def exposure(policy):
    with np.errstate(divide="ignore"):
        return expected_exposure(np.log(policy.weights) / policy.temperature, EXAMINATION)


@every_name
def test_with_much_log_of_a_position_biased_user_they_improve_on_the_logging_policy(
    name, log, world, user, logging
):
    policy = learn(name, log, world, logging)
    before, best = value(logging, user, world), value(Ranker(world.gain, SLOTS), user, world)
    assert value(policy, user, world) > before + 0.3 * (best - before)


@every_name
def test_the_examination_is_found_from_the_log(name, log, world, user, logging):
    policy = safe_policy(name, log, world, logging, SLOTS)
    assert value(policy, user, world) > value(logging, user, world) + 0.1


@every_name
def test_the_scale_of_the_examination_does_not_matter(name, log, world, logging):
    wanted = learn(name, log, world, logging, steps=5)
    got = safe_policy(name, log, world, logging, SLOTS, examination=7 * EXAMINATION, steps=5)
    np.testing.assert_allclose(got.weights, wanted.weights, rtol=1e-9)


@every_name
def test_it_is_a_policy_that_is_saved_and_the_same_again(name, log, world, logging, tmp_path):
    policy = learn(name, log, world, logging, steps=5)
    assert isinstance(policy, PlackettLuce)
    policy.check_world(world)
    policy.save(tmp_path / "policy.safetensors")
    loaded, again = Policy.load(tmp_path / "policy.safetensors"), learn(
        name, log, world, logging, steps=5
    )  # fmt: skip
    np.testing.assert_array_equal(loaded.weights, policy.weights)
    np.testing.assert_array_equal(again.weights, policy.weights)


@every_name
def test_weighted_rows_count_as_often_as_they_say(name, log, world, logging):
    short = log[:500]
    folded = learn(name, short.compress(), world, logging, steps=5)
    np.testing.assert_allclose(
        folded.weights, learn(name, short, world, logging, steps=5).weights, rtol=1e-6
    )


@every_name
def test_queries_that_were_not_asked_keep_the_logging_policy(name, log, world, logging):
    rest = log[log.query > 2]
    policy = learn(name, rest, world, logging, steps=10)
    np.testing.assert_array_equal(policy.weights[:3], logging.weights[:3])
    assert not np.allclose(policy.weights[3:], logging.weights[3:])


@every_name
def test_after_another_kind_of_logging_policy_too(name, log, world, user, logging, tmp_path):
    mixed = Mixture([logging, Uniform(world, SLOTS)], [0.8, 0.2])
    log = envs.collect(world, user, mixed, 20_000, seed=1)
    rest = log[log.query > 2]
    policy = learn(name, rest, world, mixed)
    assert isinstance(policy, ByQuery)
    query = np.repeat(np.arange(world.n_queries), 3)
    pages = policy.sample(query, np.random.default_rng(0))
    np.testing.assert_allclose(
        policy.log_prob(query[:9], pages[:9]), mixed.log_prob(query[:9], pages[:9])
    )
    assert value(policy, user, world) > value(mixed, user, world)
    policy.save(tmp_path / "policy.safetensors")
    loaded = Policy.load(tmp_path / "policy.safetensors")
    np.testing.assert_allclose(loaded.log_prob(query, pages), policy.log_prob(query, pages))


@every_name
def test_what_a_deterministic_policy_never_shows_is_not_shown(name, world, user):
    logging = Ranker(np.random.default_rng(0).normal(size=world.relevance.shape), SLOTS)
    log = envs.collect(world, user, logging, 5_000, seed=0)
    policy = learn(name, log, world, logging)
    shown = np.zeros(world.relevance.shape, dtype=bool)
    np.put_along_axis(shown, logging.greedy(np.arange(world.n_queries)), True, axis=1)
    assert (policy.weights[~shown] == 0).all()
    assert (policy.weights[shown] > 0).all()


def test_an_estimated_logging_policy_will_do(log, world, user, logging):
    bare = dataclasses.replace(log, log_propensity=None)
    policy = learn("prpo", bare, world, policies.estimate_logging(bare, world))
    assert isinstance(policy, PlackettLuce)
    assert value(policy, user, world) == pytest.approx(
        value(learn("prpo", log, world, logging), user, world), abs=0.1
    )


class Drawn(Mixture):
    """A mixture whose placements are drawn."""

    def placements(self, query, pages=1_000, seed=0):
        return Policy.placements(self, query, pages, seed)

    def slate_moments(self, query, samples=1_000, seed=0):
        return Policy.slate_moments(self, query, samples, seed)


def test_the_seed_is_that_of_drawn_pages(world, user, logging):
    drawn = Drawn([logging, Uniform(world, SLOTS)], [0.8, 0.2])
    log = envs.collect(world, user, drawn, 2_000, seed=1)
    first, again, other = (
        learn("prpo", log, world, drawn, seed=seed, steps=3).weights for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.allclose(first, other, rtol=1e-6)


@pytest.mark.parametrize("name", ["exposure-risk", "prpo"])
def test_documents_never_shown_get_no_more_attention(name, world, user):
    rng = np.random.default_rng(0)
    weights = np.where(rng.random(world.relevance.shape) < 0.4, 1e-3, 1.0)
    logging = PlackettLuce(weights, slots=SLOTS)
    log = envs.collect(world, user, logging, 3_000, seed=0)
    seen = np.zeros(weights.shape, dtype=bool)
    np.put_along_axis(seen[log.query], log.ranking, True, axis=1)
    for slot in log.ranking.T:
        seen[log.query, slot] = True
    before = (exposure(logging) * ~seen).sum(axis=1)
    after = (exposure(learn(name, log, world, logging)) * ~seen).sum(axis=1)
    assert before.max() > 0
    assert (after <= before + 1e-4).all()


def test_without_evidence_the_bound_keeps_the_logging_policy(log, world, logging):
    policy = learn("exposure-risk", log[:50], world, logging, delta=1e-6)
    asked = np.unique(log.query[:50])
    change = np.abs(exposure(policy) - exposure(logging))[asked]
    assert change.max() < 0.02


def test_a_bolder_bound_comes_closer_to_the_clicks(log, world, logging):
    divergence = []
    for delta in (0.001, 0.05, 0.5):
        policy = learn("exposure-risk", log[:2_000], world, logging, delta=delta)
        divergence.append((exposure(policy) ** 2 / exposure(logging)).sum(axis=1).mean())
    assert divergence == sorted(divergence)


def test_the_bound_of_the_mean_is_bolder_than_those_of_the_queries(log, world, logging):
    short = log[:2_000]
    mean, query = (
        learn("exposure-risk", short, world, logging, bound=bound) for bound in ("mean", "query")
    )
    spread = [(exposure(p) ** 2 / exposure(logging)).sum(axis=1).mean() for p in (mean, query)]
    assert spread[0] > spread[1]


def test_with_inverted_clicks_prpo_keeps_its_share_of_the_value_and_ips_does_not(
    log, world, user, logging
):
    lies = dataclasses.replace(log, clicks=~log.clicks)
    before = value(logging, user, world)
    ips = value(learn("ips", lies, world, logging), user, world)
    assert ips < 0.5 * before
    for low in (0.5, 0.8, 0.9):
        policy = learn("prpo", lies, world, logging, low=low, high=1.0 / low)
        assert value(policy, user, world) > max((low - 0.01) * before, ips)


def test_factors_of_one_keep_the_logging_policy(log, world, logging):
    policy = learn("prpo", log, world, logging, low=1.0, high=1.0)
    assert np.abs(exposure(policy) - exposure(logging)).max() < 0.02


def test_the_log_says_how_much_attention_where_documents_were_shown_often(log, world, logging):
    by_log, by_policy = (
        exposure(learn("ips", log, world, logging, propensity=propensity, clip=0.0))
        for propensity in ("log", "policy")
    )
    assert np.abs(by_log - by_policy).mean() < 0.05


@every_name
def test_an_unknown_choice_is_an_error(name, log, world, logging):
    with pytest.raises(TypeError, match="has no choice strength; it has: "):
        learn(name, log, world, logging, strength=1.0)


@pytest.mark.parametrize(
    ("name", "choices", "error"),
    [
        ("best", {}, "name must be one of exposure-risk, prpo, ips"),
        ("ips", {"steps": 0}, "steps must be at least 1"),
        ("ips", {"clip": 2.0}, "clip must be within"),
        ("ips", {"propensity": "both"}, "propensity must be one of"),
        ("exposure-risk", {"delta": 0.0}, "delta must be within"),
        ("exposure-risk", {"bound": "page"}, "bound must be one of"),
        ("prpo", {"low": 1.5}, "low must be within"),
        ("prpo", {"high": 0.5}, "high at least 1"),
    ],
)
def test_bad_choices_are_named(name, choices, error, log, world, logging):
    with pytest.raises(ValueError, match=error):
        learn(name, log, world, logging, **choices)


def test_bad_arguments_are_named(log, world, logging):
    with pytest.raises(ValueError, match="slots is 10, but the log has 4"):
        safe_policy("ips", log, world, logging)
    with pytest.raises(ValueError, match="examination has shape"):
        safe_policy("ips", log, world, logging, SLOTS, examination=[1.0, 0.5])
    with pytest.raises(ValueError, match="examination must be at least 0"):
        safe_policy("ips", log, world, logging, SLOTS, examination=[0.0] * SLOTS)
    with pytest.raises(ValueError, match="no impressions"):
        learn("ips", log[:0], world, logging)
    with pytest.raises(ValueError, match="logging shows 3 slots"):
        learn("ips", log, world, Uniform(world, 3))
