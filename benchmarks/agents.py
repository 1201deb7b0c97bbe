"""How much of what can be earned each agent learns, within its budget, on a small true world.

    python benchmarks/agents.py [--agents PPO SAC] [--seeds 3]

The world: 20 queries of 10 documents, all 10 shown, a true DBN user. "share" is the part of the way
from a random ranking to the reference that the deployed policy has gone: to the best ranking found
for agents that learn orders, to Top-Down for those that learn attractiveness. Pages are the
agent's own budget. Seconds are wall time of this run, one thread.
"""

from __future__ import annotations

import time

import gymnasium as gym
import torch
from _measure import Row, new_parser, save_rows, show
from rich.table import Table

from clickgym import agents, clickmodels, data, evaluation, policies

VARIANTS = {
    f"{name}, {label}": (name, settings)
    for name in agents.names()
    for label, settings in agents.agent_class(name).variants.items()
}


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("--agents", nargs="+", default=[*agents.names(), *VARIANTS])
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    torch.set_num_threads(1)
    world = data.synthetic_world(n_queries=20, n_docs=10)
    user = clickmodels.true_user("DBN", world)
    env = gym.make("clickgym/DBN-v0", world=world, slots=10)
    random = evaluation.value(policies.Uniform(world), user, world, samples=200_000)
    best = evaluation.value(evaluation.best_policy(user, world, 10), user, world)
    relevance = evaluation.value(policies.top_down(user, world), user, world)
    print(f"random {random:.4f} ± {random.stderr:.4f}, Top-Down {relevance:.4f}, best {best:.4f}")
    table = Table("agent", "to", "pages", "share by seed", "clicks a page", "seconds")
    rows = []
    for label in options.agents:
        name, settings = VARIANTS.get(label, (label, {}))
        kind = agents.agent_class(name)
        budget, to = kind.budget, "Top-Down" if kind.aims_at == "Top-Down" else "best"
        reference = relevance if to == "Top-Down" else best
        values, start = [], time.perf_counter()
        for seed in range(options.seeds):
            policy = agents.train(name, env, budget, seed, **settings)
            values.append(evaluation.value(policy, user, world).value)
        seconds = (time.perf_counter() - start) / options.seeds
        shares = " ".join(f"{(value - random) / (reference - random):.3f}" for value in values)
        clicks = " ".join(f"{value:.3f}" for value in values)
        table.add_row(label, to, f"{budget:,}", shares, clicks, f"{seconds:.0f}")
        print(f"{label}: {shares} ({seconds:.0f} s)", flush=True)
        rows += [Row(f"{label}: {budget:,} pages", seconds, "s")]
    show(table, 120)
    save_rows(options.json, rows)


if __name__ == "__main__":
    main()
