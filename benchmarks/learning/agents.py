"""How much of what can be earned each agent learns, with how many pages and in how much time.

    python benchmarks agents [--agents PPO SAC] [--task small] [--picture FILE]

The standard task: 100 queries of 30 candidates, ten slots, a true DBN user and a true
CoCM-mismatch user, and exact expected clicks as the reward, as inside a learned model (--reward
clicks: sampled clicks). The small task: 20 queries of 10 documents, all 10 shown, so that only
their order counts. "share" is the part of the way from a random ranking to the best one found that
the deployed policy has gone, by exact values; of MaskablePPO, which deploys a stochastic policy, by
the exact values of 2,000 rankings. It can exceed 1, for the best is searched for. Pages are the
agent's own budget; seconds are wall time of one training run of this process, with one thread,
without the measuring. The seeds are the agents'; settings were chosen on other worlds (--world-seed
100 and up) and other seeds.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from _measure import Row, judge, new_parser, new_table, save_rows, show

from clickgym import agents, clickmodels, data, envs, evaluation, policies
from clickgym.common.runtime import keep_freed_memory
from clickgym.evaluation.reporting.figures import new_figure, save_figure

TASKS = {"standard": (100, 30, ("DBN", "CoCM-mismatch")), "small": (20, 10, ("DBN",))}
SLOTS = 10
VARIANTS = {
    f"{name}, {label}": (name, settings)
    for name in agents.names()
    for label, settings in agents.agent_class(name).variants.items()
}
# The least share on the standard task that agents are held to, from expected clicks.
BARS = {"PolicyGradient": 0.97, "PPO": 0.93, "MaskablePPO": 0.93, "SAC": 0.9, "DQN": 0.9}
ALLOWED = {"DBN": 0.0, "CoCM-mismatch": 0.03}  # below them
MOMENTS = np.geomspace(0.05, 1.0, 8)  # of the budget, at which curves are measured


class Course(NamedTuple):
    """Shares and seconds at MOMENTS of training, (seeds, moments)."""

    shares: np.ndarray
    seconds: np.ndarray


class Judge:
    """The task of one user, and the values between which shares are counted."""

    def __init__(self, task: str, user: str, reward: str, world_seed: int) -> None:
        n_queries, n_docs, _ = TASKS[task]
        self.world = data.synthetic_world(n_queries, n_docs, seed=world_seed)
        self.user = clickmodels.true_user(user, self.world)
        self.env = envs.RankingVectorEnv(
            1, user=self.user, world=self.world, slots=SLOTS, reward=reward
        )
        self.random = self.value(policies.Uniform(self.world, SLOTS), 50_000)
        self.top_down = self.value(policies.top_down(self.user, self.world, SLOTS))
        self.best = self.value(evaluation.best_policy(self.user, self.world, SLOTS))

    def value(self, policy: policies.Policy, samples: int = 2_000) -> float:
        """Return the clicks per page that a policy earns."""
        return evaluation.value(policy, self.user, self.world, samples=samples).value

    def train(self, label: str, seeds: int) -> Course:
        """Train an agent for its budget, with each seed."""
        name, settings = VARIANTS.get(label, (label, {}))
        course = Course(*np.zeros((2, seeds, len(MOMENTS))))
        for seed in range(seeds):
            run = agents.TrainingRun(name, self.env, 1, seed, **settings)
            spent = 0.0
            for place, part in enumerate(MOMENTS):
                start = time.perf_counter()
                run.agent.learn(round(part * run.agent.budget))
                spent += time.perf_counter() - start
                share = (self.value(run.policy()) - self.random) / (self.best - self.random)
                course.shares[seed, place], course.seconds[seed, place] = share, spent
        return course


def draw(courses: dict[str, dict[str, Course]], path: Path) -> None:
    """Draw share against seconds of training, a panel for each user, a curve for each agent."""
    figure = new_figure(1.0 + 4.6 * len(courses), 4.2)
    panels = figure.subplots(1, len(courses), squeeze=False, sharey=True)[0]
    for panel, (user, of_agents) in zip(panels, courses.items(), strict=True):
        for label, course in of_agents.items():
            seconds, shares = course.seconds.mean(axis=0), course.shares
            (line,) = panel.plot(seconds, shares.mean(axis=0), marker=".", label=label)
            spread = shares.min(axis=0), shares.max(axis=0)
            panel.fill_between(seconds, *spread, color=line.get_color(), alpha=0.15, linewidth=0)
        panel.set_xscale("log")
        panel.set_ylim(0.0, 1.02)
        panel.set_title(f"{user} user")
        panel.set_xlabel("seconds of training")
        panel.grid(alpha=0.25)
    panels[0].set_ylabel("share of the way from random to best")
    panels[-1].legend(loc="lower right", fontsize=8)
    save_figure(figure, path)


def measure(
    judged: Judge, user: str, labels: Sequence[str], seeds: int, bars: dict[str, float]
) -> tuple[dict[str, Course], list[Row]]:
    """Train agents on one user, print their table, and return their courses and rows."""
    most = (judged.top_down - judged.random) / (judged.best - judged.random)
    values = f"random {judged.random:.3f}, best {judged.best:.3f} clicks a page"
    table = new_table(
        f"{user} user: {values}; Top-Down has a share of {most:.3f}",
        "agent", "pages", "share by seed", "mean", "seconds", "bar", left=("bar",),
    )  # fmt: skip
    courses, rows = {}, []
    for label in labels:
        courses[label] = course = judged.train(label, seeds)
        budget = agents.agent_class(VARIANTS.get(label, (label,))[0]).budget
        shares, seconds = course.shares[:, -1], course.seconds[:, -1].mean()
        each = " ".join(f"{share:.3f}" for share in shares)
        bar = bars[label] - ALLOWED[user] if label in bars else None
        verdict = judge(float(shares.min()), bar)
        numbers = f"{budget:,}", each, f"{shares.mean():.3f}", f"{seconds:.0f}", verdict
        table.add_row(label, *numbers)
        print(f"{user}, {label}: {each} ({seconds:.0f} s)", flush=True)
        rows += [
            Row(f"{label} on {user}: {budget:,} pages", seconds, "s"),
            Row(f"{label} on {user}: regret left", 1.0 - float(shares.mean()), "of the way"),
        ]
    show(table, 120)
    return courses, rows


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("--agents", nargs="+", default=[*agents.names(), *VARIANTS])
    parser.add_argument("--task", choices=tuple(TASKS), default="standard")
    parser.add_argument("--user", nargs="+", help="users of the task (all)")
    parser.add_argument("--reward", default="expected_clicks")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--world-seed", type=int, default=0)
    parser.add_argument("--picture", type=Path, help="file for share against seconds")
    options = parser.parse_args()
    torch.set_num_threads(1)
    keep_freed_memory()
    held = options.task == "standard" and options.reward == "expected_clicks"
    courses, rows = {}, []
    for user in options.user or TASKS[options.task][2]:
        judged = Judge(options.task, user, options.reward, options.world_seed)
        bars = BARS if held else {}
        courses[user], more = measure(judged, user, options.agents, options.seeds, bars)
        rows += more
    save_rows(options.json, rows)
    if options.picture is not None:
        draw(courses, options.picture)


if __name__ == "__main__":
    main()
