"""Ranking metrics of what a team has: its own table of clicks, and agents trained earlier."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from every_page import MIXED, small_log

from clickgym import agents, clickmodels, data, envs, evaluation, policies


def write_clicks(path, log):
    """Write a log as a table of one row per shown product."""
    n, slots = log.ranking.shape
    pq.write_table(
        pa.table({
            "session": np.repeat(np.arange(n), slots),
            "query": [f"q{query}" for query in np.repeat(log.query, slots)],
            "document": [f"d{document}" for document in log.ranking.ravel()],
            "rank": np.tile(np.arange(1, slots + 1), n),
            "click": log.clicks.ravel().astype(int),
        }),
        path,
    )  # fmt: skip


def test_on_a_table_read_from_parquet_with_an_estimated_policy(tmp_path):
    log, policy, _ = small_log(n=20_000)
    write_clicks(tmp_path / "clicks.parquet", log)
    world, own = data.read_log(tmp_path / "clicks.parquet")
    logging = policies.estimate_logging(own, world, "plackett-luce")
    quality = {f"d{number}": value for number, value in enumerate(MIXED)}
    scores = np.zeros((world.n_queries, world.n_docs))
    for query, document in np.argwhere(world.candidates):
        scores[query, document] = quality[world.doc_ids[query, document]]
    got = evaluation.counterfactual_disagreement(own, scores, logging)
    known = evaluation.counterfactual_disagreement(log, np.tile(MIXED, (2, 1)), policy)
    assert got.value == pytest.approx(known.value, abs=0.01)
    assert got.rejected == pytest.approx(known.rejected, abs=0.02)
    assert got.estimated_propensities
    assert "estimated propensities (plackett-luce)" in got.method
    assert not known.estimated_propensities


def test_of_an_agent_trained_earlier(tmp_path):
    world = data.synthetic_world(n_queries=10, n_docs=6)
    user = clickmodels.true_user("PBM", world)
    logging = policies.stochastic(-world.gain, 1.0, slots=4, world=world)  # worse than chance
    log = envs.collect(world, user, logging, 5000, seed=0)
    env = gym.make("clickgym/PBM-v0", world=world, slots=4, action="ranking")
    trained = agents.train("CascadeUCB1", env, 5000, seed=0)
    trained.save(tmp_path / "agent.safetensors")
    agent = policies.Policy.load(tmp_path / "agent.safetensors")
    got = evaluation.counterfactual_disagreement(log, agent, logging)
    assert got.high < 0.5
    assert got.low > evaluation.counterfactual_disagreement(log, world.gain, logging) - 0.05
