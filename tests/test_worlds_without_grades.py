"""A world without grades: what needs them refuses in one sentence, all else works."""

from __future__ import annotations

import dataclasses

import gymnasium as gym
import numpy as np
import pytest

from clickgym import agents, clickmodels, data, envs, evaluation, policies, studies
from clickgym.scripts import collect, deploy, train
from clickgym.scripts import world as describe

Q, N, SLOTS = 5, 6, 4
REFUSED = r"^[^.]* grades, and this world has none[^.]*$"  # one sentence
TINY = {"embedding": 4, "hidden": 4, "epochs": 1}


def make_world(graded=()):
    """A world with features; of the queries ``graded`` all documents have grades."""
    rng = np.random.default_rng(0)
    relevance = np.full((Q, N), -1)
    relevance[list(graded)] = rng.integers(0, 5, (len(graded), N))
    relevance[list(graded), :2] = (0, 4)
    candidates = np.ones((Q, N), dtype=bool)
    candidates[0, 3:] = False
    features = rng.normal(size=(Q, N, 3)).astype(np.float32)
    return data.World(relevance, features, candidates=candidates)


def make_log(world, n=600):
    """Pages that a PBM clicks, without propensities."""
    rng = np.random.default_rng(1)
    user = clickmodels.PBM(rng.random((Q, N)), np.array([0.9, 0.7, 0.5, 0.3]))
    log = envs.collect(world, user, policies.Uniform(world, SLOTS), n, 0)
    return dataclasses.replace(log, log_propensity=None)


WORLD = make_world()
LOG = make_log(WORLD)
MODEL = clickmodels.fit("PBM", LOG, WORLD)
SCORES = np.random.default_rng(2).random((Q, N))
PAGES = (np.array([1, 2]), np.array([[0, 1, 2, 3], [5, 4, 3, 2]]))
POLICY = policies.Uniform(WORLD, SLOTS)
NEED_GRADES = {
    **{
        f"user {name}": lambda name=name: clickmodels.true_user(name, WORLD)
        for name in clickmodels.user_names()
    },
    **{
        f"logging {name}": lambda name=name: policies.logging_policy(name, WORLD)
        for name in policies.ranker_names()
        if name not in ("random", "BM25")
    },
    **{
        f"environment {name}": lambda name=name: gym.make(f"clickgym/{name}-v0", world=WORLD)
        for name in clickmodels.user_names()
    },
    "ranker": lambda: policies.named_ranker("oracle", WORLD),
    "supervised": lambda: policies.fit_supervised(WORLD),
    "LambdaMART": lambda: policies.fit_lambdamart(WORLD),
    "ndcg": lambda: evaluation.ndcg(MODEL, WORLD, 3),
    "recall": lambda: evaluation.recall(SCORES, WORLD, 3),
    "metric ndcg": lambda: evaluation.metric_rewards("ndcg", *PAGES, WORLD),
    "metric err": lambda: evaluation.metric_rewards("err", *PAGES, WORLD),
    "slate ndcg": lambda: evaluation.slate_rewards("ndcg", LOG, WORLD),
    "reward": lambda: envs.RankingEnv(user=MODEL, world=WORLD, slots=SLOTS, reward="ndcg"),
    "vector reward": lambda: envs.RankingVectorEnv(
        2, user=MODEL, world=WORLD, slots=SLOTS, reward="ndcg"
    ),
    "curse": lambda: evaluation.curse(POLICY, MODEL, None, WORLD, POLICY),
    "deploy": lambda: evaluation.deploy(POLICY, MODEL, None, WORLD),
    **{
        f"study {name}": lambda name=name: dataclasses.replace(
            studies.study_class(name)(), world=studies.WorldSetting.from_world(WORLD)
        ).check()
        for name in ("conditions", "bias", "learning", "curse", "compare", "promises", "protocol")
    },
}


@pytest.mark.parametrize("what", NEED_GRADES)
def test_what_needs_grades_refuses_in_one_sentence(what):
    with pytest.raises(ValueError, match=REFUSED):
        NEED_GRADES[what]()


def test_curse_with_a_model_in_the_users_place_works():
    other = clickmodels.fit("DBN", LOG, WORLD)
    report = evaluation.curse(POLICY, MODEL, other, WORLD, POLICY)
    assert report.deployed > 0


@pytest.mark.parametrize("command", [collect, deploy, train])
def test_commands_name_the_option_that_needs_grades(command, monkeypatch, tmp_path):
    monkeypatch.setattr(command, "world_of", lambda setting: WORLD)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=r"^--user DBN needs grades"):
        command.main(["--user", "DBN"])
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_the_description_of_a_world_says_that_it_has_no_grades(monkeypatch, capsys):
    monkeypatch.setattr(describe, "world_of", lambda setting: WORLD)
    assert describe.main([]) == 0
    text = capsys.readouterr().out
    assert "no grades" in text
    assert "nDCG@10" not in text


@pytest.mark.parametrize("name", clickmodels.names())
def test_every_model_is_fitted_saved_and_loaded(name, tmp_path):
    model = clickmodels.fit(name, LOG, WORLD, **(TINY if name == "NCM" else {}))
    model.save(tmp_path / "model")
    again = clickmodels.ClickModel.load(tmp_path / "model")
    again.check_world(WORLD)
    np.testing.assert_array_equal(again.relevance(), model.relevance())


@pytest.mark.parametrize("name", ["PBM", "UBM", "DBN", "CACM-minus", "ARM"])
def test_models_with_embeddings_are_fitted(name):
    model = clickmodels.fit(name, LOG, WORLD, parameters="embedding", **TINY)
    assert np.isfinite(model.relevance()[WORLD.candidates]).all()


def test_learned_environments_run_single_and_vectorised():
    settings = {"world": WORLD, "click_model": MODEL, "slots": SLOTS}
    env = gym.make("clickgym/Learned-v0", **settings)
    env.reset(seed=0)
    rewards = []
    for _ in range(50):
        rewards.append(env.step(env.action_space.sample())[1])
        env.reset()
    assert sum(rewards) > 0
    many = gym.make_vec(
        "clickgym/Learned-v0", num_envs=8, vectorization_mode="vector_entry_point", **settings
    )
    many.reset(seed=0)
    assert many.step(many.action_space.sample())[1].sum() > 0


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("CascadeKL-UCB", {}),
        ("PolicyGradient", {}),
        ("PPO", {"num_envs": 8, "steps": 2, "batch_size": 16}),
    ],
)
def test_agents_learn_and_their_policies_are_saved(name, settings, tmp_path):
    if name == "PPO":
        pytest.importorskip("stable_baselines3")
    env = gym.make("clickgym/Learned-v0", world=WORLD, click_model=MODEL, slots=SLOTS)
    policy = agents.train(name, env, 64, **settings)
    assert evaluation.value(policy, MODEL, WORLD) > 0
    policy.save(tmp_path / "policy")
    policies.Policy.load(tmp_path / "policy").check_world(WORLD)


def test_the_best_rankings_inside_a_model_are_found():
    best = policies.max_reward(MODEL, WORLD, SLOTS)
    ranked = policies.top_down(MODEL, WORLD, SLOTS)
    random = evaluation.value(POLICY, MODEL, WORLD)
    assert evaluation.value(best, MODEL, WORLD) >= evaluation.value(ranked, MODEL, WORLD) > random


@pytest.mark.parametrize("name", evaluation.estimator_names())
def test_every_off_policy_estimate_works(name):
    logging = policies.estimate_logging(LOG, WORLD)
    rewards = evaluation.slate_rewards("clicks", LOG)
    options = {"model": MODEL} if name == "dm-model" else {}
    target = POLICY if name == "on-policy" else policies.stochastic(SCORES, 2.0, SLOTS, world=WORLD)
    found = evaluation.estimate(name, LOG, rewards, logging, target, WORLD, **options)
    assert 0 < found < SLOTS
    assert found.stderr > 0


def test_the_world_its_log_and_what_is_fitted_are_saved_and_loaded_together(tmp_path):
    WORLD.save(tmp_path / "world")
    LOG.save(tmp_path / "log")
    world, log = data.World.load(tmp_path / "world"), data.ClickLog.load(tmp_path / "log")
    assert not world.has_grades
    log.check_world(world)
    MODEL.check_world(world)


def test_with_grades_of_some_queries_metrics_are_those_of_the_graded_part():
    some, alone = make_world(graded=[1, 3]), make_world(graded=[1, 3])
    alone = alone.with_candidates(
        alone.candidates & (alone.relevance >= 0), np.array([0.0, 0.5, 0.0, 0.5, 0.0])
    )
    assert some.has_grades
    for metric in (evaluation.ndcg, evaluation.recall):
        assert metric(SCORES, some, 3) == pytest.approx(metric(SCORES, alone, 3))
    user = clickmodels.true_user("DBN", some)
    assert evaluation.value(policies.Uniform(some, SLOTS), user, some) > 0
    pages = np.array([1, 2]), np.array([[0, 1, 2, 3], [0, 1, 2, 3]])
    graded, ungraded = evaluation.metric_rewards("ndcg", *pages, some)
    assert graded > 0 == ungraded
