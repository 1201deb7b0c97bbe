"""``clickgym card`` on a log: its files, and what it says of wrong input."""

from __future__ import annotations

import json

import pytest

from clickgym import clickmodels, data, envs, policies
from clickgym.scripts.card import main


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Return the folder of a saved world, log, policy and model."""
    folder = tmp_path_factory.mktemp("saved")
    world = data.synthetic_world(n_queries=20, n_docs=8, seed=1)
    logging = policies.logging_policy("BM25", world, slots=3)
    log = envs.collect(world, clickmodels.true_user("DBN", world), logging, 3_000, 0)
    model = clickmodels.fit("UBM", log, world)
    world.save(folder / "world.safetensors")
    log.save(folder / "log.parquet")
    logging.save(folder / "logging.safetensors")
    model.save(folder / "UBM.safetensors")
    policies.max_reward(model, world, slots=3).save(folder / "policy.safetensors")
    return folder


def run(saved, out, *more):
    given = ["--log", str(saved / "log.parquet"), "--policy", str(saved / "policy.safetensors")]
    return main([*given, "--out", str(out), *more])


def test_files(saved, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    model = str(saved / "UBM.safetensors")
    assert run(saved, tmp_path, "--model", model, "--logging", "BM25") == 0
    said = capsys.readouterr().out
    text, page = ((tmp_path / f"card.{end}").read_text() for end in ("txt", "html"))
    values = json.loads((tmp_path / "card.json").read_text())
    assert text.strip() in said
    assert text.startswith(f"policy: {values['verdict'].upper()}")
    assert "UBM" in [one["model"] for one in values["promises"]]
    assert "UBM score" in [one["model"] for one in values["promises"]]
    assert f"<h1>policy: {values['verdict']}</h1>" in page
    saved_logging = str(saved / "logging.safetensors")
    assert run(saved, tmp_path, "--model", model, "--logging", saved_logging) == 0
    assert json.loads((tmp_path / "card.json").read_text()) == values


def test_unknown_logging_policy(saved, tmp_path):
    pytest.importorskip("matplotlib")
    assert run(saved, tmp_path) == 0
    values = json.loads((tmp_path / "card.json").read_text())
    assert [one["model"] for one in values["promises"]] == [
        "PBM exposure", "UBM exposure", "DBN exposure",
    ]  # fmt: skip


def test_wrong_input(saved, tmp_path):
    with pytest.raises(ValueError, match="give the --log"):
        main(["--policy", str(saved / "policy.safetensors")])
    with pytest.raises(FileNotFoundError, match="--policy none: no such file"):
        main([str(saved / "log.parquet"), "--policy", "none"])
    with pytest.raises(ValueError, match="--logging must be one of"):
        run(saved, tmp_path, "--logging", "nobody")
    with pytest.raises(ValueError, match="--temperature is of the ranker"):
        run(saved, tmp_path, "--temperature", "0.1")
    other = data.synthetic_world(n_queries=20, n_docs=8, seed=2)
    policies.Ranker(other.gain, slots=3, world=other).save(tmp_path / "other.safetensors")
    given = ["--log", str(saved / "log.parquet"), "--world", str(saved / "world.safetensors")]
    with pytest.raises(ValueError, match=r"--policy .*other.safetensors"):
        main([*given, "--policy", str(tmp_path / "other.safetensors")])
