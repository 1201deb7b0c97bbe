"""``clickgym ranking-metrics own``: saved policies and models, compared on a log of one's own."""

from __future__ import annotations

import re
from dataclasses import replace

import gymnasium as gym
import numpy as np
import pytest

from clickgym import agents, clickmodels, data, envs, evaluation, policies
from clickgym.scripts import main


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Return a folder with a world, a log as Parquet, its policy, an agent's policy and a model."""
    folder = tmp_path_factory.mktemp("own")
    world = data.synthetic_world(10, 6, seed=1)
    user = clickmodels.PBM(0.1 + 0.6 * world.gain, [1.0, 0.5, 0.25])
    logging = policies.stochastic(-world.gain, 0.5, slots=3, world=world)
    log = envs.collect(world, user, logging, 4_000, seed=0)
    world.save(folder / "world.safetensors")
    log.save(folder / "log.parquet")
    logging.save(folder / "logging.safetensors")
    policies.Ranker(world.gain, 3, world=world).save(folder / "good.safetensors")
    clickmodels.fit("PBM", log, world).save(folder / "model.safetensors")
    env = gym.make("clickgym/Learned-v0", world=world, click_model=user, slots=3, action="ranking")
    agents.train("CascadeUCB1", env, 500, seed=0).save(folder / "agent.safetensors")
    other = data.synthetic_world(10, 6, seed=2)
    policies.Ranker(other.gain, 3, world=other).save(folder / "other.safetensors")
    return folder


def run(files, *words):
    options = ("--log", f"{files}/log.parquet", "--world", f"{files}/world.safetensors")
    return main(["ranking-metrics", "own", *options, *words])


def test_policies_and_models_are_compared_with_the_clicks(files, capsys):
    scorers = [f"{files}/{name}.safetensors" for name in ("good", "model", "agent")]
    assert run(files, "--scorer", *scorers, "--logging-policy", f"{files}/logging.safetensors") == 0
    text = capsys.readouterr().out
    log = data.ClickLog.load(files / "log.parquet")
    policy = policies.Policy.load(files / "logging.safetensors")
    for scorer in (
        policies.Policy.load(scorers[0]), clickmodels.ClickModel.load(scorers[1]),
        policies.Policy.load(scorers[2]),
    ):  # fmt: skip
        assert f"{evaluation.counterfactual_disagreement(log, scorer, policy):.4f}" in text
        assert f"{evaluation.pairwise_disagreement(log, scorer):.4f}" in text


def test_without_its_policy_the_log_says_who_made_it(files, capsys):
    assert run(files, "--scorer", f"{files}/good.safetensors") == 0
    text = capsys.readouterr().out
    assert "is estimated (plackett-luce)" in " ".join(text.split())
    found = [float(one) for one in re.findall(r"0\.\d{4}", text)]
    log = data.ClickLog.load(files / "log.parquet")
    known = evaluation.counterfactual_disagreement(
        log, policies.Policy.load(files / "good.safetensors"),
        policies.Policy.load(files / "logging.safetensors"),
    )  # fmt: skip
    assert np.abs(found[0] - known) < 0.02


def test_what_cannot_be_compared_is_named(files, capsys):
    assert run(files) == 1
    assert "--scorer" in capsys.readouterr().err
    assert run(files, "--scorer", "nothing.safetensors") == 1
    assert "--scorer nothing.safetensors: no such file" in capsys.readouterr().err
    assert run(files, "--scorer", f"{files}/other.safetensors") == 1
    assert "other.safetensors" in capsys.readouterr().err
    good = f"{files}/good.safetensors"
    assert run(files, "--scorer", good, "--logging-policy", good) == 1
    assert "deterministic" in capsys.readouterr().err


def test_a_policy_that_did_not_make_the_log_is_doubted(files):
    log = data.ClickLog.load(files / "log.parquet")
    replace(log, log_propensity=None).save(files / "bare.parquet")
    world = data.World.load(files / "world.safetensors")
    policies.stochastic(world.gain, 0.5, slots=3, world=world).save(files / "wrong.safetensors")
    with pytest.warns(evaluation.WrongLogging, match="the logging policy does not fit the log"):
        assert main([
            "ranking-metrics", "own", "--log", f"{files}/bare.parquet",
            "--world", f"{files}/world.safetensors", "--scorer", f"{files}/good.safetensors",
            "--logging-policy", f"{files}/wrong.safetensors",
        ]) == 0  # fmt: skip


def test_scores_in_ids_of_ones_own_are_compared_and_ties_are_shown(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)  # short names, which tables do not break
    rng = np.random.default_rng(0)
    names = np.array(["shoe", "hat", "bag", "sock"])
    rows = ["query,document,rank,click,page"]
    for page in range(400):
        order = names[rng.permutation(4)]
        clicked = rng.random(4) < 0.3 + 0.3 * (order == "hat")
        rows += [f"q{page % 3},{order[r]},{r + 1},{int(clicked[r])},{page}" for r in range(4)]
    rows += [f"q0,{name},{r + 1},1,400" for r, name in enumerate(["hat", "hat", "bag", "sock"])]
    (tmp_path / "log.csv").write_text("\n".join(rows))
    table = ["query,document,score", "q9,hat,1", "q0,glove,3"]
    table += [f"q{q},{name},{score}" for q in range(3) for name, score in
              zip(names, (1.0, 9.0, 1.0, 0.5), strict=True)]  # fmt: skip
    (tmp_path / "scores.csv").write_text("\n".join(table))
    words = ["ranking-metrics", "own", "log.csv", "--scores", "scores.csv"]
    assert main(words) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "1 pages that show a document twice are left out" in text
    assert "%" in text.partition("scores.csv")[2]
    world, log = data.read_log(tmp_path / "log.csv")
    scores = data.read_scores(tmp_path / "scores.csv", world)
    log = log[:400]
    for option in ("reject", "keep"):
        assert main([*words, "--clicked-pairs", option, "--resample", "page"]) == 0
        text = capsys.readouterr().out
        assert f"{evaluation.pairwise_disagreement(log, scores, option):.4f}" in text


def test_options_reach_the_metric(files, capsys):
    good, logging = f"{files}/good.safetensors", f"{files}/logging.safetensors"
    log, policy = data.ClickLog.load(files / "log.parquet"), policies.Policy.load(logging)
    scorer = policies.Policy.load(good)
    seen = set()
    for keep, resample in (("reject", "order"), ("keep", "order"), ("reject", "page")):
        words = ("--scorer", good, "--logging-policy", logging)
        assert run(files, *words, "--clicked-pairs", keep, "--resample", resample) == 0
        wanted = evaluation.counterfactual_disagreement(log, scorer, policy, keep, resample)
        seen.add(f"{wanted:.4f}")
        text = capsys.readouterr().out
        assert f"{wanted:.4f}" in text
        assert f"{wanted.tied:.0%}" in text
    assert len(seen) == 3
