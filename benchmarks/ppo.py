"""Training frames a second of Stable-Baselines3's PPO: one native batch against eight loops.

    python benchmarks/ppo.py            (or: make bench)

Both train on clickgym/DBN-v0 (1,000 queries, 10 candidates, 136 features) with the same rollout
(4,096 pages), batch size (1,024), epochs and torch threads (one a core), in turn; the best of three
runs of each counts. The more epochs, the more of the time goes into PPO's own gradient steps, which
are the same on both sides, so the table shows several.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

import gymnasium as gym
import torch
from rich.console import Console
from rich.table import Table
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv

import clickgym
from clickgym import data

ROLLOUT, BATCH_SIZE, RUNS = 4096, 1024, 3
EPOCHS = (1, 2, 10)
ENV_ID = "clickgym/DBN-v0"


def native(world: data.World, num_envs: int = 256) -> VecEnv:
    envs = gym.make_vec(
        ENV_ID, num_envs=num_envs, vectorization_mode="vector_entry_point", world=world
    )
    return clickgym.agents.as_vec_env(envs)


def dummy(world: data.World, num_envs: int = 8) -> VecEnv:
    return DummyVecEnv([lambda: gym.make(ENV_ID, world=world) for _ in range(num_envs)])


def frames_per_second(make: Callable[[], VecEnv], epochs: int) -> float:
    env = make()
    steps = ROLLOUT // env.num_envs
    agent = PPO("MlpPolicy", env, n_steps=steps, batch_size=BATCH_SIZE, n_epochs=epochs, seed=0)
    agent.learn(ROLLOUT)
    start = time.perf_counter()
    agent.learn(2 * ROLLOUT)
    return 2 * ROLLOUT / (time.perf_counter() - start)


def main() -> None:
    torch.set_num_threads(os.cpu_count() or 1)
    world = data.synthetic_world(n_docs=10)
    table = Table(title="PPO training frames a second (bar: 4 times)")
    for head in ("epochs", "DummyVecEnv(8)", "native batch of 256", "times"):
        table.add_column(head, justify="right")
    for epochs in EPOCHS:
        slow, fast = 0.0, 0.0
        for _ in range(RUNS):
            slow = max(slow, frames_per_second(lambda: dummy(world), epochs))
            fast = max(fast, frames_per_second(lambda: native(world), epochs))
        table.add_row(str(epochs), f"{slow:,.0f}", f"{fast:,.0f}", f"{fast / slow:.1f}")
        print(f"{epochs} epochs: {fast / slow:.1f} times", flush=True)
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
