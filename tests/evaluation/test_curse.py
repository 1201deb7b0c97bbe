"""The optimiser's curse: cases with a known answer."""

from __future__ import annotations

import importlib
import pickle

import numpy as np
import pytest
from looping import loop_over

from clickgym import agents, clickmodels, data, envs, evaluation, policies
from clickgym.evaluation import Estimate
from clickgym.evaluation import values as pages

USERS = ("PBM", "UBM", "DBN", "CoCM", "CoCM-mismatch")
SLOTS = 4


def world_and_logging(n_queries=20, n_docs=7):
    world = data.synthetic_world(n_queries=n_queries, n_docs=n_docs, seed=2)
    return world, policies.logging_policy("epsilon-oracle", world, SLOTS)


@loop_over("name", USERS)
def test_the_user_as_its_own_model_has_no_gap_and_no_regret(name):
    world, logging = world_and_logging()
    user = clickmodels.true_user(name, world)
    policy = policies.max_reward(user, world, SLOTS)
    report = evaluation.curse(policy, user, user, world, logging)
    assert policy.found.exact
    assert report.best.method == "exact"
    assert abs(report.gap) < 1e-9
    assert abs(report.regret) < 1e-9
    assert abs(report.added_by_optimising) < 1e-9
    assert np.abs(report.per_query).max() < 1e-9
    assert report.lift > 0.0


def noisy(user, world, noise, seed):
    """The user's model with attractiveness as if it had been learned from little data."""
    rng = np.random.default_rng(seed)
    shift = noise * rng.normal(size=user.attractiveness.shape)
    logit = np.log(np.clip(user.attractiveness, 0.02, 0.98))
    logit = logit - np.log1p(-np.clip(user.attractiveness, 0.02, 0.98)) + shift
    return clickmodels.DBN(1 / (1 + np.exp(-logit)), user.satisfaction, user.continuation)


def test_the_mean_gap_is_positive_and_grows_with_noise():
    world, logging = world_and_logging()
    user = clickmodels.true_user("DBN", world)
    gaps = []
    for noise in (0.0, 0.5, 1.0, 2.0):
        reports = []
        for seed in range(8):
            model = noisy(user, world, noise, seed)
            policy = policies.max_reward(model, world, SLOTS)
            reports.append(evaluation.curse(policy, model, user, world, logging))
        gaps.append(np.mean([report.gap for report in reports]))
    assert gaps[1] > 0.0
    assert (np.diff(gaps) > 0.0).all()


def test_the_split_adds_up():
    world, logging = world_and_logging()
    user = clickmodels.true_user("CoCM", world)
    model = clickmodels.fit("PBM", envs.collect(world, user, logging, 2_000, 0), world)
    policy = policies.max_reward(model, world, SLOTS)
    report = evaluation.curse(policy, model, user, world, logging)
    parts = report.model_error_on_logging + report.added_by_optimising
    assert report.gap == pytest.approx(parts, abs=1e-12)
    assert report.gap == pytest.approx(report.promised - report.deployed, abs=1e-12)
    assert report.regret == pytest.approx(report.best - report.deployed, abs=1e-12)
    assert report.lift == pytest.approx(report.deployed - report.logging_value, abs=1e-12)
    mean = report.query_probs @ report.per_query
    assert report.gap == pytest.approx(mean, abs=1e-12)
    under_model = evaluation.value(logging, model, world)
    on_user = evaluation.value(logging, user, world)
    assert report.model_error_on_logging == pytest.approx(under_model - on_user, abs=1e-12)
    top_down = evaluation.value(policies.top_down(model, world, SLOTS), user, world)
    assert report.top_down == pytest.approx(top_down, abs=1e-12)


@loop_over("sampled", [False, True])
def test_optimising_adds_nothing_to_the_logging_policy_itself(sampled, monkeypatch):
    if sampled:
        monkeypatch.setattr(pages, "MOST_PAGES", 0)
    world, logging = world_and_logging()
    user = clickmodels.true_user("CoCM", world)
    model = clickmodels.fit("UBM", envs.collect(world, user, logging, 2_000, 0), world)
    again = policies.PlackettLuce(logging.weights, logging.temperature, SLOTS)
    for policy in (logging, again):
        report = evaluation.curse(policy, model, user, world, logging, samples=500)
        assert report.added_by_optimising == pytest.approx(0.0, abs=1e-12)
        assert report.added_by_optimising.stderr == pytest.approx(0.0, abs=1e-12)
        assert report.lift == pytest.approx(0.0, abs=1e-12)
        assert report.gap != 0.0


def test_paired_errors_are_smaller_than_unpaired_and_cover(monkeypatch):
    monkeypatch.setattr(pages, "MOST_PAGES", 0)
    world, logging = world_and_logging()
    user = clickmodels.true_user("CoCM", world)
    model = clickmodels.fit("UBM", envs.collect(world, user, logging, 2_000, 0), world)
    policy = policies.stochastic(model.relevance(), 1.0, SLOTS, world=world)
    reports = [
        evaluation.curse(policy, model, user, world, logging, samples=100, seed=seed)
        for seed in range(60)
    ]
    one = reports[0]
    assert one.gap.stderr < np.hypot(one.promised.stderr, one.deployed.stderr)
    monkeypatch.setattr(pages, "MOST_PAGES", 10**6)
    exact = evaluation.curse(policy, model, user, world, logging)
    for name in ("gap", "deployed", "added_by_optimising", "lift"):
        truth = getattr(exact, name)
        scores = [(getattr(r, name) - truth) / getattr(r, name).stderr for r in reports]
        assert 0.75 < np.std(scores) < 1.3, name
        assert abs(np.mean(scores)) < 0.5, name


def test_a_lower_bound_is_said_and_never_below_what_was_deployed():
    world = data.synthetic_world(n_queries=4, n_docs=15, seed=1)
    user = clickmodels.true_user("CoCM-mismatch", world)
    logging = policies.logging_policy("epsilon-oracle", world)
    weak = policies.named_ranker("BM25", world)
    report = evaluation.curse(weak, user, user, world, logging)
    assert report.best.method == "lower bound"
    assert report.regret > 0.0
    strong = policies.max_reward(user, world, method="guided", restarts=12, seed=5)
    assert evaluation.curse(strong, user, user, world, logging).regret >= -1e-12


def test_a_lower_bound_is_raised_by_what_was_deployed(monkeypatch):
    world, logging = world_and_logging()
    user = clickmodels.true_user("CoCM-mismatch", world)
    weak = policies.named_ranker("reversed", world, SLOTS)
    strong = policies.max_reward(user, world, SLOTS)
    report = evaluation.curse(strong, user, user, world, logging, best=weak)
    assert report.best.method == "lower bound"
    assert report.regret == pytest.approx(0.0, abs=1e-12)
    assert report.regret.method == "lower bound"


def test_deploy_curse_and_tensorboard_say_the_same(monkeypatch):
    """Also of a lower bound, which is raised in those queries where the policy is better."""
    world, logging = world_and_logging()
    user = clickmodels.true_user("CoCM", world)
    model = clickmodels.true_user("PBM", world)
    best = policies.max_reward(user, world, SLOTS).rankings
    reverse = policies.named_ranker("reversed", world, SLOTS).greedy(np.arange(world.n_queries))
    odd = np.arange(world.n_queries)[:, None] % 2 == 1
    half, other_half = (
        policies.Ranker.from_rankings(np.where(rows, best, reverse), world.n_docs)
        for rows in (odd, ~odd)
    )
    soft = policies.stochastic(world.gain, 0.5, SLOTS, world=world)
    for found in (None, other_half):  # the search finds the optimum, or half of it
        user = clickmodels.true_user("CoCM", world)
        if found is not None:
            module = importlib.import_module("clickgym.evaluation.curse")
            monkeypatch.setattr(module, "max_reward", lambda *_, it=found: it)
        watch = agents.CurseWatch(model, user, world)
        for policy in (half, soft, logging):
            deployment = evaluation.deploy(policy, model, user, world, samples=2_000)
            report = evaluation.curse(policy, model, user, world, logging, samples=2_000)
            measured = watch.measure(policy, 0)
            for name in ("promised", "deployed", "gap", "regret"):
                got = getattr(deployment, name)
                assert got.value == getattr(measured, name) == getattr(report, name).value, name
                assert got.stderr == getattr(report, name).stderr, name
    raised = evaluation.deploy(half, model, user, world)
    assert raised.best.method == "lower bound"
    assert raised.best == pytest.approx(evaluation.value(
        policies.Ranker.from_rankings(best, world.n_docs), user, world
    ))  # fmt: skip


def test_the_optimum_of_another_model_is_only_a_lower_bound():
    world, logging = world_and_logging()
    user = clickmodels.true_user("DBN", world)
    other = policies.max_reward(clickmodels.true_user("PBM", world), world, SLOTS)
    assert other.found.exact
    weak = policies.named_ranker("reversed", world, SLOTS)
    report = evaluation.curse(weak, user, user, world, logging, best=other)
    assert report.best.method == "lower bound"


def test_samples_are_paired_only_with_samples(monkeypatch):
    """As many enumerated pages as sampled ones are not the same pages."""
    world = data.World(np.tile([0, 1, 2, 3, 4, 0, 1, 2, 3, 4], (10, 1)))
    user = clickmodels.true_user("DBN", world)
    policy = policies.PlackettLuce(world.gain + 0.1, slots=1)
    assert evaluation.value(policy, user, world).method == "exact"
    logging = policies.Uniform(world, 10)
    report = evaluation.curse(policy, user, user, world, logging, samples=100)
    assert report.logging_value.n == report.deployed.n == 100
    assert report.lift.stderr == report.logging_value.stderr > 0.0


class NoExpectations(clickmodels.DBN):
    """A user that can be watched but not computed."""

    def expected_clicks(self, query, ranking):
        raise clickmodels.NotExact("not here")

    def score_columns(self, query, columns):
        raise clickmodels.NotExact("not here")


def test_a_user_without_expectations_is_watched():
    world, logging = world_and_logging()
    user = clickmodels.true_user("DBN", world)
    blind = NoExpectations(user.attractiveness, user.satisfaction, user.continuation)
    policy = policies.top_down(user, world, SLOTS)
    report = evaluation.curse(policy, user, blind, world, logging, samples=4_000)
    assert report.best is None
    assert report.regret is None
    assert "best" not in report.numbers()
    assert (report.promised.method, report.promised.stderr) == ("exact", 0.0)
    assert report.deployed.method == "sampled clicks"
    assert abs(report.gap) < 4.5 * report.gap.stderr
    assert len(report.plot().axes) == 3


def test_the_best_is_searched_once():
    world, _ = world_and_logging()
    user = clickmodels.true_user("CoCM", world)
    first = evaluation.best_policy(user, world, SLOTS)
    assert evaluation.best_policy(user, world, SLOTS) is first
    assert evaluation.best_policy(user, world, SLOTS - 1) is not first


def test_a_model_without_relevance_has_no_top_down():
    class Shy(clickmodels.DBN):
        capabilities = frozenset({"conditional", "generative"})

    world, logging = world_and_logging()
    user = clickmodels.true_user("DBN", world)
    model = Shy(user.attractiveness, user.satisfaction, user.continuation)
    report = evaluation.curse(logging, model, user, world, logging)
    assert report.top_down is None
    assert "top_down" not in report.numbers()


def test_frames_and_text():
    world, logging = world_and_logging()
    user = clickmodels.true_user("DBN", world)
    policy = policies.max_reward(user, world, SLOTS)
    report = evaluation.curse(policy, user, user, world, logging)
    table = report.to_frame()
    assert table.loc["promised", "value"] == report.promised.value
    assert list(table.columns) == ["value", "stderr", "low", "high", "method", "n"]
    queries = report.to_frame(per_query=True)
    assert len(queries) == world.n_queries
    assert (queries["query_prob"] * queries["deployed"]).sum() == pytest.approx(report.deployed)
    assert "added_by_optimising" in str(report)


def test_queries_of_a_log_of_ones_own_have_their_ids_in_the_frame():
    table = {"query": ["tea", "tea", "zürich", "zürich"], "doc": list("abbc")}
    world, log = data.read_log(table | {"rank": [1, 2, 1, 2], "click": [0, 1, 1, 0]})
    model, judge = (clickmodels.fit(name, log, world) for name in ("PBM", "DBN"))
    ranker = policies.top_down(model, world, 2)
    report = evaluation.curse(ranker, model, judge, world, policies.Uniform(world, 2))
    assert report.to_frame(per_query=True)["query_id"].tolist() == ["tea", "zürich"]


def test_the_picture_has_three_panels(tmp_path):
    world, logging = world_and_logging()
    user = clickmodels.true_user("CoCM", world)
    model = clickmodels.fit("PBM", envs.collect(world, user, logging, 2_000, 0), world)
    policy = policies.max_reward(model, world, SLOTS)
    report = evaluation.curse(policy, model, user, world, logging)
    figure = report.plot(str(tmp_path / "curse.png"))
    assert len(figure.axes) == 3
    assert (tmp_path / "curse.png").stat().st_size > 1000


def test_models_of_another_world_are_refused():
    world, logging = world_and_logging()
    user = clickmodels.true_user("DBN", world)
    other = clickmodels.true_user("DBN", data.synthetic_world(n_queries=20, n_docs=7, seed=3))
    with pytest.raises(ValueError, match="belongs to another world"):
        evaluation.curse(logging, other, user, world, logging)
    with pytest.raises(ValueError, match="model must be a ClickModel, not str"):
        evaluation.curse(logging, "PBM", user, world, logging)


def test_an_estimate_is_a_number():
    number = Estimate(2.0, 0.5, method="sampled rankings", n=10)
    assert number + 1.0 == 3.0
    assert (number.low, number.high) == pytest.approx((1.02, 2.98), abs=1e-3)
    again = pickle.loads(pickle.dumps(number))
    assert (again.value, again.stderr, again.method, again.n) == (2.0, 0.5, "sampled rankings", 10)
    assert "±" in repr(number)
    assert str(number) == "2.0"
    assert Estimate(1.0, 0.1, 0.5, 1.5).low == 0.5
    assert Estimate(1.0, 0.1).method != "exact"


def test_what_cannot_be_deployed_is_named():
    world, logging = world_and_logging()
    user = clickmodels.true_user("DBN", world)
    good = {"policy": logging, "model": user, "user": user, "world": world}
    for name in ("policy", "model", "user", "best"):
        with pytest.raises(ValueError, match=rf"^{name} must be a \w+, not str"):
            evaluation.deploy(**{**good, name: "x"})
    with pytest.raises(ValueError, match=r"^logging must be a Policy, not str"):
        evaluation.curse(**good, logging="x")
    for policy in (logging, policies.named_ranker("oracle", world, SLOTS)):
        for samples in (0, 1, -3):
            with pytest.raises(ValueError, match=r"^samples must be at least 2"):
                evaluation.deploy(**{**good, "policy": policy}, samples=samples)
