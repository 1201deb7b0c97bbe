"""How many result pages a second: every number from one run, beside what the machine can do.

    python benchmarks environments            (or: make bench)

A page is one query, K = 10 slots shown, clicks drawn, and the next query. Work that is compared is
timed in turn, round after round, and the best round of each counts, so that a busy moment of the
machine does not fall on one of them alone.
"""

from __future__ import annotations

from collections.abc import Callable

import gymnasium as gym
import numpy as np
from _measure import Row, judge, new_parser, new_table, save_rows, show, time_in_turn

import clickgym
from clickgym import clickmodels, data, envs, policies

BATCH = 4096
ROUNDS = 7
SECONDS = 0.25  # of work in a round
USERS = ("DBN", "CoCM")
FEDERATED = ("FCM", "VCM")  # of pages with a block, which the agent places
SLOTS = 10


class NoOp(gym.Env):
    """The least that an environment can do, as a yardstick for Gymnasium's own overhead."""

    observation_space = gym.spaces.Discrete(1000)
    action_space = gym.spaces.Box(-1.0, 1.0, (10,), np.float32)

    def reset(self, *, seed=None, options=None):
        return np.int64(0), {}

    def step(self, action):
        return np.int64(0), 0.0, True, False, {}


def stepper(env: gym.vector.VectorEnv) -> Callable[[], object]:
    """Return a function that steps ``env`` with ever different random scores, made beforehand."""
    rng = np.random.default_rng(1)
    shape = env.action_space.shape
    actions = [rng.uniform(-1, 1, shape).astype(np.float32) for _ in range(8)]
    env.reset(seed=0)
    turn = iter(range(10**12))
    return lambda: env.step(actions[next(turn) % len(actions)])


def pages_of(env: gym.Env, n_docs: int, pages: int = 500) -> Callable[[], object]:
    """Return a function that plays ``pages`` pages, reset and step, in one environment."""
    rng = np.random.default_rng(1)
    actions = list(rng.uniform(-1, 1, (pages, n_docs)).astype(np.float32))
    env.reset(seed=0)

    def play() -> None:
        for action in actions:
            env.reset()
            env.step(action)

    return play


def measure(n_docs: int) -> dict[str, float]:
    world = data.synthetic_world(n_docs=n_docs)
    rng = np.random.default_rng(0)
    features = world.standardised_features
    batch = features[:BATCH].repeat(-(-BATCH // len(features)), axis=0)[:BATCH]
    if "clickgym-bench/NoOp-v0" not in gym.registry:
        gym.register("clickgym-bench/NoOp-v0", NoOp)
    works: dict[str, tuple[Callable[[], object], float]] = {
        "NumPy uniforms": (lambda: rng.random(BATCH * 10), BATCH * 10),
        "copying feature observations": (batch.copy, BATCH),
        "no-op environment, gym.make": (pages_of(gym.make("clickgym-bench/NoOp-v0"), 10), 500),
    }
    for user in USERS:
        name = f"clickgym/{user}-v0"
        for observation in ("ids", "features"):
            env = gym.make_vec(
                name, num_envs=BATCH, vectorization_mode="vector_entry_point", world=world,
                observation=observation,
            )  # fmt: skip
            works[f"{user} make_vec({BATCH}), {observation}"] = (stepper(env), BATCH)
        single = gym.make(name, world=world, observation="ids")
        works[f"{user} gym.make, ids (reset + step)"] = (pages_of(single, n_docs), 500)
        sync = gym.make_vec(
            name, num_envs=8, vectorization_mode="sync", world=world, observation="ids",
            vector_kwargs={"autoreset_mode": gym.vector.AutoresetMode.SAME_STEP},
        )  # fmt: skip
        works[f"{user} SyncVectorEnv(8), ids"] = (stepper(sync), 8)
        model = clickmodels.true_user(user, world)
        policy = policies.stochastic(world.gain, temperature=0.1)
        collect = lambda model=model, policy=policy: envs.collect(  # noqa: E731
            world, model, policy, 25 * BATCH, seed=0
        )
        works[f"{user} collect, Plackett-Luce with propensities"] = (collect, 25 * BATCH)
    blocks = world.with_vertical(np.random.default_rng(0).integers(-1, 4, world.n_queries))
    for user in FEDERATED:
        for observation in ("ids", "features"):
            env = gym.make_vec(
                "clickgym/Federated-v0", num_envs=BATCH, vectorization_mode="vector_entry_point",
                world=blocks, user=user, observation=observation,
            )  # fmt: skip
            works[f"{user}, Federated make_vec({BATCH}), {observation}"] = (stepper(env), BATCH)
        single = gym.make("clickgym/Federated-v0", world=blocks, user=user, observation="ids")
        played = pages_of(single, n_docs + SLOTS + 2)
        works[f"{user}, Federated gym.make (reset + step)"] = (played, 500)
    env = gym.make_vec(
        "clickgym/UBM-v0", num_envs=BATCH, vectorization_mode="vector_entry_point", world=world,
        observation="ids",
    )  # fmt: skip
    works[f"UBM make_vec({BATCH}), ids"] = (stepper(env), BATCH)
    seconds = time_in_turn({name: work for name, (work, _) in works.items()}, ROUNDS, SECONDS)
    return {name: units / seconds[name] for name, (_, units) in works.items()}


def report(n_docs: int) -> list[Row]:
    """Print the table of lists of ``n_docs`` documents, and return its rows."""
    result = measure(n_docs)
    copy = result["copying feature observations"]
    title = f"pages a second, n_docs={n_docs}, 10 slots, 1,000 queries, 136 features"
    table = new_table(title, "work", "a second", "bar", "of a plain copy")
    for name, rate in result.items():
        bar = judge(rate, bar_of(name, copy)) if n_docs == 10 else ""
        share = f"{rate / copy:.0%}" if name.endswith(", features") else ""
        table.add_row(name, f"{rate:,.0f}", bar, share)
    show(table)
    return [Row(f"{name}, {n_docs} documents", rate, "1/s") for name, rate in result.items()]


def bar_of(name: str, copy: float) -> float:
    """Return the least that the project holds itself to on a quiet machine, 0 for nothing."""
    if "Federated" in name:
        return 1_000_000 if name.endswith("ids") else 0.0
    if "make_vec" in name:
        return copy / 2 if name.endswith("features") else 2_500_000
    if name.startswith("CoCM collect"):
        return 1_500_000
    return 50_000 if name.endswith("ids (reset + step)") else 0.0


def main() -> None:
    options = new_parser(__doc__).parse_args()
    print(f"clickgym {clickgym.__version__}, numpy {np.__version__}")
    save_rows(options.json, [row for n_docs in (10, 30) for row in report(n_docs)])


if __name__ == "__main__":
    main()
