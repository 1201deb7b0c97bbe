"""Every ticked cell of docs/agents/README.md: an algorithm learns a little in that view."""

from __future__ import annotations

import re
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

from clickgym import agents, data

PAGE = Path(__file__).resolve().parents[2] / "docs" / "agents" / "README.md"
TICK = "✓"


def ticked():
    """The ticked cells of the table in the docs, as (action, observation, algorithm)."""
    rows = [
        [cell.strip() for cell in line.strip().strip("|").split("|")]
        for line in PAGE.read_text().splitlines()
        if line.startswith("| ")
    ]
    head = next(row for row in rows if row[0] == "action")
    views = [row for row in rows if row[0].strip("`") in ("scores", "ranking", "slots")]
    return [
        (row[0].strip("`"), row[1].strip("`"), algorithm)
        for row in views
        for algorithm, cell in zip(head[2:], row[2:], strict=True)
        if cell == TICK
    ]


def algorithm_class(name):
    import sb3_contrib
    import stable_baselines3

    return getattr(stable_baselines3, name, None) or getattr(sb3_contrib, name)


SETTINGS = {
    "PPO": {"n_steps": 8, "batch_size": 32, "n_epochs": 1},
    "MaskablePPO": {"n_steps": 8, "batch_size": 32, "n_epochs": 1},
    "A2C": {"n_steps": 8},
    "SAC": {"learning_starts": 16, "buffer_size": 1000, "batch_size": 16},
    "TD3": {"learning_starts": 16, "buffer_size": 1000, "batch_size": 16},
    "DDPG": {"learning_starts": 16, "buffer_size": 1000, "batch_size": 16},
    "DQN": {"learning_starts": 16, "buffer_size": 1000, "batch_size": 16},
}


def test_the_table_is_read():
    cells = ticked()
    assert ("scores", "features", "PPO") in cells
    assert ("slots", "features", "MaskablePPO") in cells
    assert len(cells) > 15


@pytest.mark.parametrize("algorithm", sorted({algorithm for *_, algorithm in ticked()}))
def test_the_algorithm_learns_in_its_views(algorithm):
    world = data.synthetic_world(n_queries=5, n_docs=10)
    for action, observation, ticked_for in ticked():
        if ticked_for != algorithm:
            continue
        env = gym.make_vec(
            "clickgym/DBN-v0", num_envs=4, vectorization_mode="vector_entry_point", world=world,
            slots=4, action=action, observation=observation,
            **({"invalid": "repair"} if action == "ranking" else {}),
        )  # fmt: skip
        policy = "MultiInputPolicy" if observation == "both" else "MlpPolicy"
        vectors = agents.as_vec_env(env)
        learner = algorithm_class(algorithm)(policy, vectors, seed=0, **SETTINGS[algorithm])
        learner.learn(64)
        found = agents.deployed_policy(learner, agents.Task.of(env))
        shown = found.greedy(np.arange(5))
        assert shown.shape == (5, 4), (action, observation)
        assert all(len(set(page)) == 4 for page in shown.tolist()), (action, observation)


def test_the_legend_of_the_table_names_every_mark():
    assert re.search(rf"{TICK}.*smoke test", PAGE.read_text())
