"""What agents that look at features have learned about queries that they never saw.

    python benchmarks unseen_queries [--queries 1000] [--picture FILE]

The users of the standard task (see ``agents.py``) ask 80% of the queries while an agent
trains, from exact expected clicks, for its own budget; then they ask the others, too. LambdaMART
learns from the true grades of the same 80%. "share" is the part of the way from a random ranking to
the best one found that the ranking has gone, on the queries trained on and on the others apart.
Each seed deals the queries anew.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from _measure import Row, new_parser, new_table, save_rows, show

from clickgym import agents, clickmodels, data, envs, evaluation, policies
from clickgym.common.runtime import keep_freed_memory
from clickgym.evaluation.reporting.figures import new_figure, save_figure

SLOTS, TRAINED = 10, 0.8
AGENTS = {
    "PolicyGradient, features": ("PolicyGradient", {"features": True}),
    "PPO": ("PPO", {}), "SAC": ("SAC", {}), "PolicyGradient, table": ("PolicyGradient", {}),
}  # fmt: skip
TEACHER = "LambdaMART on true grades"
PARTS = ("trained on", "unseen")


def part_of(world: data.World, asked: np.ndarray) -> data.World:
    """Return the world in which only some queries are asked."""
    probs = np.where(asked, world.query_probs, 0.0)
    return world.with_candidates(world.candidates, probs / probs.sum())


def learned(
    label: str, world: data.World, user: clickmodels.ClickModel, trained: np.ndarray, seed: int
) -> policies.Policy:
    """Return what is learned from the queries ``trained`` (Q,) bool."""
    if label == TEACHER:
        candidates = world.candidates & trained[:, None]
        graded = world.with_candidates(candidates, part_of(world, trained).query_probs)
        return policies.fit_lambdamart(graded, SLOTS, seed).policy(world)
    name, settings = AGENTS[label]
    env = envs.RankingVectorEnv(
        1, user=user, world=part_of(world, trained), slots=SLOTS, reward="expected_clicks"
    )
    return agents.train(name, env, agents.agent_class(name).budget, seed=seed, **settings)


def shares(name: str, n_queries: int, seed: int) -> dict[str, tuple[float, ...]]:
    """Return the shares of all on the queries of each of PARTS."""
    world = data.synthetic_world(n_queries, 30, seed=0)
    user = clickmodels.true_user(name, world)
    order = np.random.default_rng(seed).permutation(n_queries)
    trained = np.isin(np.arange(n_queries), order[: round(TRAINED * n_queries)])
    parts = [part_of(world, trained), part_of(world, ~trained)]

    def values(policy: policies.Policy) -> np.ndarray:
        return np.array([evaluation.value(policy, user, part).value for part in parts])

    lowest = values(policies.Uniform(world, SLOTS))
    best = values(evaluation.best_policy(user, world, SLOTS))
    found = {}
    for label in (*AGENTS, TEACHER):
        ranking = values(learned(label, world, user, trained, seed))
        found[label] = tuple(((ranking - lowest) / (best - lowest)).tolist())
        print(f"{name}, seed {seed}, {label}: {found[label]}", flush=True)
    return found


def draw(of_users: dict[str, dict[str, np.ndarray]], path: Path) -> None:
    """Draw a panel for each user: bars of the mean shares, with the range over seeds."""
    figure = new_figure(1.0 + 4.6 * len(of_users), 3.6)
    panels = figure.subplots(1, len(of_users), squeeze=False, sharey=True)[0]
    for panel, (user, found) in zip(panels, of_users.items(), strict=True):
        place = np.arange(len(found))
        for which, part in enumerate(PARTS):
            one = np.array([of_agent[:, which] for of_agent in found.values()])
            mean = one.mean(axis=1)
            spread = np.abs(np.array([one.min(axis=1), one.max(axis=1)]) - mean)
            panel.barh(place + 0.4 * which, mean, 0.38, xerr=spread, label=f"queries {part}")
        panel.set_yticks(place + 0.2, list(found))
        panel.set_title(f"{user} user")
        panel.set_xlabel("share of the way from random to best")
        panel.grid(alpha=0.25, axis="x")
    panels[0].invert_yaxis()
    panels[-1].legend(loc="lower right", fontsize=8)
    save_figure(figure, path)


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("--user", nargs="+", default=["DBN", "CoCM-mismatch"])
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--picture", type=Path, help="file for the bars")
    options = parser.parse_args()
    torch.set_num_threads(1)
    keep_freed_memory()
    of_users, rows = {}, []
    for user in options.user:
        by_seed = [shares(user, options.queries, seed) for seed in range(options.seeds)]
        found = {label: np.array([one[label] for one in by_seed]) for label in by_seed[0]}
        of_users[user] = found
        heads = [f"share, queries {part}" for part in PARTS]
        table = new_table(f"{user} user, {options.queries} queries", "agent", *heads)
        for label, one in found.items():
            cells = [f"{part.mean():.3f} ({part.min():.3f} to {part.max():.3f})" for part in one.T]
            table.add_row(label, *cells)
            rows.append(Row(f"{label} on {user}: regret left, unseen", 1 - one[:, 1].mean(), ""))
        show(table)
    save_rows(options.json, rows)
    if options.picture is not None:
        draw(of_users, options.picture)


if __name__ == "__main__":
    main()
