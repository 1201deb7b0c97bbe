"""Training frames a second of Stable-Baselines3's PPO: one native batch against eight loops.

    python benchmarks ppo            (or: make bench)

Both train on the same environment (1,000 queries, 10 candidates, 136 features): clickgym/DBN-v0,
and clickgym/Learned-v0 around a PBM, a UBM and an NCM that were fitted to 20,000 logged pages of a
CoCM user. Rollout (4,096 pages), batch size (1,024), epochs and torch threads (one a core) are the
same, in turn; the best of three runs of each counts. The more epochs, the more of the time goes
into PPO's own gradient steps, which are the same on both sides, so the table shows several.
"""

from __future__ import annotations

import os
import time
from typing import Any

import gymnasium as gym
import torch
from _measure import Row, new_parser, new_table, save_rows, show
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv

from clickgym import agents, clickmodels, data, envs, policies

ROLLOUT, BATCH_SIZE, RUNS = 4096, 1024, 3
EPOCHS = (1, 2, 10)


def environments(world: data.World) -> dict[str, tuple[str, dict[str, Any]]]:
    """Return the id and the arguments of every environment by its name in the table."""
    user = clickmodels.true_user("CoCM", world)
    log = envs.collect(world, user, policies.logging_policy("epsilon-oracle", world), 20_000, 0)
    found: dict[str, tuple[str, dict[str, Any]]] = {"DBN, true": ("clickgym/DBN-v0", {})}
    for name in ("PBM", "UBM", "NCM"):
        settings = {"epochs": 2} if name == "NCM" else {}
        model = clickmodels.fit(name, log, world, **settings)
        found[f"{name}, learned"] = ("clickgym/Learned-v0", {"click_model": model})
    return found


def native(env_id: str, settings: dict[str, Any], num_envs: int = 256) -> VecEnv:
    batch = gym.make_vec(
        env_id, num_envs=num_envs, vectorization_mode="vector_entry_point", **settings
    )
    return agents.as_vec_env(batch)


def dummy(env_id: str, settings: dict[str, Any], num_envs: int = 8) -> VecEnv:
    return DummyVecEnv([lambda: gym.make(env_id, **settings) for _ in range(num_envs)])


def frames_per_second(env: VecEnv, epochs: int) -> float:
    steps = ROLLOUT // env.num_envs
    agent = PPO("MlpPolicy", env, n_steps=steps, batch_size=BATCH_SIZE, n_epochs=epochs, seed=0)
    agent.learn(ROLLOUT)
    start = time.perf_counter()
    agent.learn(2 * ROLLOUT)
    return 2 * ROLLOUT / (time.perf_counter() - start)


def main() -> None:
    options = new_parser(__doc__).parse_args()
    torch.set_num_threads(os.cpu_count() or 1)
    world = data.synthetic_world(n_docs=10)
    table = new_table(
        "PPO training frames a second (bar: 4 times)",
        "environment", "epochs", "DummyVecEnv(8)", "native batch of 256", "times",
    )  # fmt: skip
    rows = []
    for name, (env_id, more) in environments(world).items():
        settings = {"world": world, **more}
        for epochs in EPOCHS:
            slow, fast = 0.0, 0.0
            for _ in range(RUNS):
                slow = max(slow, frames_per_second(dummy(env_id, settings), epochs))
                fast = max(fast, frames_per_second(native(env_id, settings), epochs))
            table.add_row(name, str(epochs), f"{slow:,.0f}", f"{fast:,.0f}", f"{fast / slow:.1f}")
            print(f"{name}, {epochs} epochs: {fast / slow:.1f} times", flush=True)
            label = f"{name}, {epochs} epochs"
            rows += [Row(f"{label}, native", fast, "frames/s"),
                     Row(f"{label}, DummyVecEnv", slow, "frames/s")]  # fmt: skip
    show(table, 100)
    save_rows(options.json, rows)


if __name__ == "__main__":
    main()
