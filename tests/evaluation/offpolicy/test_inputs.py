"""Off-policy estimators: options, weights of logs, and what they refuse."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest
from looping import loop_over
from slates import (
    CLICKS,
    LOG,
    NARROW,
    POLICIES,
    RANKER,
    ROWS,
    SOFT,
    UNIFORM,
    USER,
    WEIGHTS,
    WORLD,
    K,
    N,
    Q,
    narrow_log,
)

from clickgym import clickmodels, data, evaluation
from clickgym.common import checks
from clickgym.data import ClickLog
from clickgym.evaluation import SlateEstimate, estimate
from clickgym.policies import PlackettLuce, Policy, Ranker
from clickgym.policies.slates import draws

NAMES = evaluation.estimator_names()
every_name = loop_over("name", NAMES)
# Features that say which document of which query it is, so that a linear model can be right.
ONE_HOT = np.eye(Q * N).reshape(Q, N, Q * N)


def options_for(name):
    return {"model": USER} if name == "dm-model" else {}


# What every estimator has


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore:the log is not the target's own")
@loop_over("target", [RANKER, SOFT])
def test_an_estimate_is_a_number_with_interval_and_method(name, target):
    got = estimate(name, LOG, CLICKS, UNIFORM, target, WORLD, **options_for(name))
    assert isinstance(got, SlateEstimate)
    assert got.low < got.value < got.high
    assert got.n == (ROWS // 2 if name in ("dm-tree", "dm-lasso") else ROWS)
    assert got.method
    assert 0 < got.effective_sample_size <= got.n
    assert got.largest_weight >= 1.0


@every_name
def test_the_seed_decides_everything(name):
    one, again = (
        estimate(name, LOG, CLICKS, UNIFORM, SOFT, WORLD, seed=3, **options_for(name))
        if name != "on-policy" else estimate(name, LOG, CLICKS, UNIFORM, UNIFORM, WORLD)
        for _ in range(2)
    )  # fmt: skip
    assert (one.value, one.stderr) == (again.value, again.stderr)


def test_an_estimate_survives_pickling():
    got = estimate("pi", LOG, CLICKS, UNIFORM, RANKER)
    again = pickle.loads(pickle.dumps(got))
    assert (again.value, again.__dict__) == (got.value, got.__dict__)


@loop_over("name", ["on-policy", "ips", "wips", "pi", "wpi"])
@loop_over("clip", [None, 2.0])
def test_a_compressed_log_gives_what_the_whole_one_gives(name, clip):
    folded = LOG.compress()
    assert len(folded) < len(LOG)
    options = {} if name == "on-policy" or clip is None else {"clip": clip}
    target = UNIFORM if name == "on-policy" else SOFT
    whole = estimate(name, LOG, CLICKS, UNIFORM, target, **options)
    rewards = evaluation.slate_rewards("clicks", folded)
    short = estimate(name, folded, rewards, UNIFORM, target, **options)
    for attribute in ("value", "stderr", "low", "effective_sample_size", "largest_weight", "n"):
        assert getattr(short, attribute) == pytest.approx(getattr(whole, attribute), rel=1e-9)


@loop_over("name", ["dm-tree", "dm-lasso", "dr-ips", "dr-pi"])
def test_regressions_see_impressions_of_a_compressed_log(name):
    """Halves of rows would put a page's rewards into one half each, which biases every fit."""
    folded = LOG.compress()
    rewards = evaluation.slate_rewards("clicks", folded)
    unfolded = folded[np.repeat(np.arange(len(folded)), folded.weight.astype(int))]
    unfolded = replace(unfolded, weight=np.ones(len(unfolded)))  # still in random halves
    clicks = evaluation.slate_rewards("clicks", unfolded)
    got, expected = (
        estimate(name, log, reward, UNIFORM, RANKER, WORLD)
        for log, reward in ((folded, rewards), (unfolded, clicks))
    )
    assert (got.value, got.stderr) == pytest.approx((expected.value, expected.stderr), rel=1e-9)


@loop_over("name", ["dm-tree", "dm-lasso"])
def test_the_first_half_is_fitted_and_the_second_asked(name):
    """The second half's rewards do not matter, and its queries alone do."""
    first = np.arange(ROWS) < ROWS // 2
    got = estimate(name, LOG, first.astype(float), UNIFORM, RANKER, WORLD)
    assert got.value == pytest.approx(1.0)
    one_query = LOG[np.concatenate([np.flatnonzero(first), np.flatnonzero(LOG.query == 0)[:1000]])]
    rewards = (one_query.query == 0).astype(float)
    asked = estimate(name, one_query, rewards, UNIFORM, RANKER, WORLD, features=ONE_HOT)
    assert asked.value > estimate(name, LOG, (LOG.query == 0) * 1.0, UNIFORM, RANKER, WORLD,
                                  features=ONE_HOT).value + 0.3  # fmt: skip


@loop_over("name", ["dm-tree", "dm-lasso"])
def test_a_log_sorted_by_query_has_random_halves(name):
    order = np.argsort(LOG.query, kind="stable")
    first = (np.arange(ROWS) < ROWS // 2).astype(float)
    got = [
        estimate(name, LOG[order], first, UNIFORM, RANKER, WORLD, seed=seed) for seed in (0, 0, 1)
    ]
    assert got[0].value == got[1].value != got[2].value
    assert got[0].value < 0.9  # 1 if the first half alone were fitted


def test_the_lasso_does_not_mind_a_sorted_log():
    order = np.argsort(LOG.query, kind="stable")
    whole = estimate("dm-lasso", LOG, CLICKS, UNIFORM, RANKER, WORLD)
    ordered = estimate("dm-lasso", LOG[order], CLICKS[order], UNIFORM, RANKER, WORLD)
    assert ordered.value == pytest.approx(whole.value, abs=0.15)


def test_rewards_that_a_click_model_does_not_predict_are_warned_of():
    model = clickmodels.fit("PBM", LOG, WORLD)
    with pytest.warns(evaluation.WrongReward, match="rewards are not 'clicks' of the log"):
        estimate("dm-model", LOG, CLICKS + 1.0, UNIFORM, RANKER, WORLD, model=model)


def test_a_log_of_another_policy_is_not_on_policy():
    with pytest.warns(evaluation.WrongLogging, match="not the target's own: row 0"):
        estimate("on-policy", LOG, CLICKS, UNIFORM, RANKER)


def test_weights_made_for_another_target_are_refused():
    weights = evaluation.PseudoinverseWeights(UNIFORM, SOFT, range(3))
    with pytest.raises(ValueError, match="made for another target"):
        estimate("pi", LOG, CLICKS, UNIFORM, RANKER, weights=weights)


@loop_over("name", ["ips", "pi"])
def test_clipping_limits_the_largest_weight_and_says_so(name):
    got = estimate(name, LOG, CLICKS, UNIFORM, RANKER, clip=1.5)
    assert got.largest_weight == 1.5
    assert "clipped at 1.5" in got.method
    assert getattr(got, "bound", None) is None


def test_effective_sample_size_of_a_deterministic_target_counts_its_pages():
    got = estimate("ips", LOG, CLICKS, UNIFORM, RANKER)
    weights = evaluation.importance_weights(LOG, RANKER, UNIFORM)
    assert got.effective_sample_size == pytest.approx(weights.sum() ** 2 / (weights**2).sum())
    assert got.largest_weight == pytest.approx(60.0)


def test_on_policy_needs_no_policies():
    got = estimate("on-policy", LOG, CLICKS, None, None)
    assert got.value == pytest.approx(CLICKS.mean())
    assert got.stderr == pytest.approx(CLICKS.std(ddof=1) / np.sqrt(len(CLICKS)))


def test_propensities_of_the_log_come_first():
    wrong = PlackettLuce(WEIGHTS, slots=K)
    expected = estimate("ips", LOG, CLICKS, None, RANKER)
    with pytest.warns(evaluation.WrongLogging, match="not who made the log: row 0 has"):
        assert estimate("ips", LOG, CLICKS, wrong, RANKER) == expected
    bare = ClickLog(LOG.query, LOG.ranking, LOG.clicks)
    assert estimate("ips", bare, CLICKS, UNIFORM, RANKER) == pytest.approx(expected, rel=1e-12)
    with pytest.warns(evaluation.WrongLogging, match="the logging policy does not fit the log"):
        other = estimate("ips", bare, CLICKS, wrong, RANKER)
    assert other != pytest.approx(expected, rel=1e-3)


@every_name
def test_whoever_made_the_log_is_not_warned_about(name, recwarn):
    estimate(name, LOG, CLICKS, UNIFORM, UNIFORM, WORLD, **options_for(name))
    assert not [warning for warning in recwarn if warning.category is evaluation.WrongLogging]


def test_pi_with_sampled_marginals_is_near_and_says_so(monkeypatch):
    exact = estimate("pi", LOG, CLICKS, UNIFORM, SOFT)
    monkeypatch.setattr(draws, "MOST_WORK", 0)
    got = estimate("pi", LOG, CLICKS, UNIFORM, SOFT, samples=20_000)
    assert "sampled marginals" in got.method
    assert (exact.bound is None, got.bound is None) == (False, True)
    assert got == pytest.approx(exact, abs=0.05)


def test_weights_can_be_made_before():
    weights = evaluation.PseudoinverseWeights(UNIFORM, SOFT, range(Q))
    got = estimate("wpi", LOG, CLICKS, None, None, weights=weights)
    assert got == estimate("wpi", LOG, CLICKS, UNIFORM, SOFT)


# Errors


@loop_over("name", ["ips", "pi"])
def test_a_page_that_logging_never_shows_is_an_error_that_names_the_row(name):
    log = narrow_log()
    shown = log.ranking.copy()
    shown[7] = [4, 0, 1]
    bad = ClickLog(log.query, shown, log.clicks)
    with pytest.raises(ValueError, match="row 7"):
        estimate(name, bad, np.ones(len(log)), NARROW, NARROW)


@loop_over("value", [-np.inf, np.nan, np.inf])
def test_a_propensity_that_is_not_finite_is_an_error_that_names_the_row(value):
    propensity = LOG.log_propensity.copy()
    propensity[5] = value
    with pytest.raises(ValueError, match=r"log_propensity.*5"):
        ClickLog(LOG.query, LOG.ranking, LOG.clicks, propensity)
    later = LOG[:]  # a log that was changed behind its checks
    object.__setattr__(later, "log_propensity", propensity)
    with pytest.raises(ValueError, match="row 5"):
        estimate("ips", later, CLICKS, None, RANKER)


@loop_over("name", ["ips", "wips", "dr-ips"])
def test_a_propensity_too_small_to_divide_by_is_an_error_that_names_the_row(name):
    propensity = LOG.log_propensity.copy()
    row = int(np.flatnonzero(evaluation.importance_weights(LOG, SOFT) > 0)[0])
    propensity[row] = -600.0
    log = ClickLog(LOG.query, LOG.ranking, LOG.clicks, propensity)
    with pytest.raises(ValueError, match=f"row {row} of the log has log-weight"):
        estimate(name, log, CLICKS, None, SOFT, WORLD)


@loop_over("row", [3, 1500])
def test_a_repeated_document_is_an_error_that_names_the_row(row):
    """Each of its documents is shown in its slot, but never together: PI sees slots alone."""
    query = np.zeros(ROWS, dtype=np.int64)
    pages = UNIFORM.sample(query, np.random.default_rng(0))
    pages[row] = [2, 3, 2]
    log = ClickLog(query, pages, np.zeros(pages.shape, dtype=bool))
    with pytest.raises(ValueError, match=rf"row {row} shows \[2, 3, 2\] for query 0"):
        estimate("pi", log, np.ones(ROWS), UNIFORM, SOFT)


def test_products_may_repeat_documents():
    product = POLICIES["Product"]
    query = np.zeros(ROWS, dtype=np.int64)
    pages = product.sample(query, np.random.default_rng(0))
    assert checks.find_repeats(pages).any()
    log = ClickLog(query, pages, np.zeros(pages.shape, dtype=bool))
    assert estimate("pi", log, np.ones(ROWS), product, product).value == pytest.approx(1.0)


class Wordless(Policy):
    has_log_prob = False
    slots, shape = K, (Q, N)


BARE = ClickLog(LOG.query, LOG.ranking, LOG.clicks)
SHORT = Ranker.from_rankings([[0, 1]] * Q, N)
ELSEWHERE = Ranker(WEIGHTS, slots=K, world=data.World(np.full((Q, N), 3)))
FEW = Ranker.from_rankings([[0, 1, 2]] * Q, 3)
WRONG = {
    "unknown name": (("iips", LOG, CLICKS, UNIFORM, RANKER), {}, "name must be one of"),
    "no impressions": (("ips", LOG[:0], [], UNIFORM, RANKER), {}, "no impressions"),
    "rewards of another length": (("ips", LOG, CLICKS[:-1], UNIFORM, RANKER), {}, "rewards has"),
    "a NaN": (("ips", LOG, CLICKS * np.nan, UNIFORM, RANKER), {}, "rewards has a value"),
    "no propensities": (("ips", BARE, CLICKS, None, RANKER), {}, "no log_propensity"),
    "a name": (("ips", LOG, "clicks", UNIFORM, RANKER), {}, "slate_rewards"),
    "another world": (("ips", LOG, CLICKS, UNIFORM, ELSEWHERE, WORLD), {}, "target: the policy"),
    "no target": (("ips", LOG, CLICKS, UNIFORM, None), {}, "target is None"),
    "no logging policy": (("pi", LOG, CLICKS, None, RANKER), {}, "logging is None"),
    "no world": (("dm-tree", LOG, CLICKS, None, RANKER), {}, "world is None"),
    "no model": (("dm-model", LOG, CLICKS, None, RANKER), {}, "model must be"),
    "no log_prob": (("ips", LOG, CLICKS, None, Wordless()), {}, "no log_prob"),
    "other slots": (("ips", LOG, CLICKS, UNIFORM, SHORT), {}, "target shows 2 slots"),
    "no policy": (("ips", LOG, CLICKS, UNIFORM, "ranker"), {}, "target must be"),
    "clip": (("ips", LOG, CLICKS, UNIFORM, RANKER), {"clip": 0}, "clip must be"),
    "delta": (("pi", LOG, CLICKS, UNIFORM, RANKER), {"delta": 2.0}, "delta must be"),
    "reward_bound": (("pi", LOG, CLICKS, UNIFORM, RANKER), {"reward_bound": 1.0}, "reward_bound"),
    "no bound": (("pi", LOG, CLICKS, UNIFORM, RANKER), {"reward_bound": np.nan}, "reward_bound"),
    "no weights": (("pi", LOG, CLICKS, UNIFORM, RANKER), {"weights": np.ones(ROWS)},
                   "weights must be PseudoinverseWeights"),
    "fewer candidates": (("pi", LOG, CLICKS, UNIFORM, FEW), {}, "target knows 3 candidates"),
    "one row": (("dm-tree", LOG[:1], [1.0], None, RANKER, WORLD), {}, "one row"),
    "few predictions": (("dr-ips", LOG, CLICKS, None, RANKER),
                        {"direct": USER, "predictions": [1.0]}, "predictions has shape"),
    "predictions of a regression": (("dr-ips", LOG, CLICKS, None, RANKER, WORLD),
                                    {"predictions": CLICKS}, "predictions are a click model's"),
    "direct": (("dr-ips", LOG, CLICKS, None, RANKER, WORLD), {"direct": "bush"}, "direct must be"),
}


@loop_over("case", WRONG)
def test_wrong_inputs_are_errors_that_name_them(case):
    arguments, options, message = WRONG[case]
    with pytest.raises(ValueError, match=message):
        estimate(*arguments, **options)


def test_an_unknown_option_is_an_error_that_names_the_known_ones():
    with pytest.raises(TypeError, match="ips has no option 'clipp'; it takes clip, seed"):
        estimate("ips", LOG, CLICKS, UNIFORM, RANKER, clipp=3)


def test_policies_of_another_world_are_an_error():
    other = clickmodels.true_user("PBM", data.synthetic_world(n_queries=Q, n_docs=N))
    with pytest.raises(ValueError, match="world"):
        estimate("dm-model", LOG, CLICKS, None, RANKER, WORLD, model=other)


def test_weights_made_for_other_queries_are_an_error():
    weights = evaluation.PseudoinverseWeights(UNIFORM, RANKER, [0, 1])
    with pytest.raises(ValueError, match="not made for"):
        estimate("pi", LOG, CLICKS, UNIFORM, RANKER, weights=weights)
