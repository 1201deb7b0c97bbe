"""Do agents learn where a vertical block helps?

    python benchmarks placing_agents [--plain] [--top] [--picture FILE] [--json FILE]

PolicyGradient and PPO in clickgym/Federated-v0: 20 queries of 20 documents, ten slots, a true FCM
user whose blocks are images, video, news and locations (four queries each, four without any), and
the same over an FCM and a UBM that were fitted to 50,000 pages with the block at random places. All
are deployed on the true user: clicks per page, and how far the block's place has come from random
(0) to the best that there is for the agent's own rankings (1); and what they were promised by the
model that they learned on. Three seeds. With --plain nobody is satisfied by a block without a
click, and nobody overlooks what stands above it. With --top all logged blocks stand at the top.
"""

from __future__ import annotations

from pathlib import Path

import gymnasium as gym
import numpy as np
from _measure import Row, new_parser, new_table, save_rows, show

from clickgym import agents, clickmodels, data, envs, evaluation, policies
from clickgym.clickmodels import ClickModel
from clickgym.common.runtime import import_extra

AGENTS = ("PolicyGradient", "PPO")
SLOTS, LOCATION = 10, 3
POINTS = (0, 2, 5, 10, 20, 40, 70, 100, 150, 200)  # thousand pages
SEEDS = 3
COLOURS = {"true user": "#1b7855", "learned FCM": "#d95f02", "learned UBM": "#7570b3"}


def make_world() -> data.World:
    """Return a small world with blocks of all types, and queries without one."""
    world = data.synthetic_world(n_queries=20, n_docs=20)
    return world.with_vertical(np.arange(20) % 5 - 1)


def make_sources(
    world: data.World, user: ClickModel, top: bool
) -> dict[str, dict[str, ClickModel]]:
    """Return what each environment is made around: the user, or a model of a log.

    The log's blocks stand at random places, or all at the ``top``.
    """
    places = 0 if top else np.full(SLOTS + 2, 1 / (SLOTS + 2))
    logging = policies.Placed(policies.Uniform(world, SLOTS), places, world)
    log = envs.collect(world, user, logging, 50_000, seed=0)
    learned = {f"learned {kind}": clickmodels.fit(kind, log, world) for kind in ("FCM", "UBM")}
    return {"true user": {"user": user}} | {
        name: {"click_model": model} for name, model in learned.items()
    }


def judge(
    policy: policies.Placed, model: ClickModel, user: ClickModel, world: data.World
) -> tuple[float, ...]:
    """Return clicks per page on the true user, and the share of the way from random to best.

    Then the share of locations that are shown, and the clicks that the ``model`` promises.
    """
    uniform = policies.Placed(policy.policy, np.full(SLOTS + 2, 1 / (SLOTS + 2)), world)
    best = policies.best_place(user, world, policy.policy)
    values = [evaluation.value(one, user, world) for one in (uniform, policy, best)]
    lowest, own, highest = (float(value) for value in values)
    shown = 1.0 - policy.places[world.vertical == LOCATION, 0].mean()
    promised = float(evaluation.value(policy, model, world))
    return own, (own - lowest) / (highest - lowest), float(shown), promised


def learn(
    name: str, source: dict[str, ClickModel], seed: int, user: ClickModel, world: data.World
) -> list[tuple[float, ...]]:
    """Return what ``judge`` says after each of POINTS."""
    env = gym.make(
        "clickgym/Federated-v0", world=world, slots=SLOTS, observation="ids", **source
    )
    agent = agents.agent_class(name)(agents.Task.of(env), seed)
    (model,) = source.values()
    found = []
    for point in POINTS:
        agent.learn(1000 * point)
        policy = agent.policy()
        assert isinstance(policy, policies.Placed)
        found.append(judge(policy, model, user, world))
    return found


def draw(curves: dict[tuple[str, str], np.ndarray], highest: float, path: Path) -> None:
    """Draw clicks per page above, the share of the way of places below; a column per agent."""
    import_extra("matplotlib", "plots", "--picture needs")
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(2, len(AGENTS), figsize=(9, 6), sharex=True, sharey="row")
    for (name, source), values in curves.items():
        for row in range(2):
            part = values[:, :, row]
            panel = axes[row, AGENTS.index(name)]
            panel.plot(POINTS, part.mean(axis=0), color=COLOURS[source], label=source)
            spread = part.min(axis=0), part.max(axis=0)
            panel.fill_between(POINTS, *spread, color=COLOURS[source], alpha=0.15, lw=0)
    for column, name in enumerate(AGENTS):
        axes[0, column].axhline(highest, color="black", lw=0.8, ls="--")
        axes[0, column].set_title(name)
        axes[1, column].axhline(1, color="black", lw=0.8, ls="--")
        axes[1, column].axhline(0, color="grey", lw=0.8, ls=":")
        axes[1, column].set_xlabel("thousand pages")
    axes[0, 0].set_ylabel("clicks per page on the true user")
    axes[1, 0].set_ylabel("place: from random (0) to best (1)")
    axes[1, 0].set_ylim(-1.1, 1.1)
    axes[0, -1].legend(title="trained on", loc="lower right", frameon=False)
    figure.tight_layout()
    figure.savefig(path, dpi=130)


def main() -> None:
    """Train, print the table, and draw the picture."""
    parser = new_parser(__doc__)
    parser.add_argument("--picture", type=Path, help="file for the learning curves")
    parser.add_argument("--plain", action="store_true", help="no satisfaction, no blindness")
    parser.add_argument("--top", action="store_true", help="logged blocks stand at the top")
    options = parser.parse_args()
    world = make_world()
    off = {"satisfied": False, "blind": False} if options.plain else {}
    user = clickmodels.true_user("FCM", world, slots=SLOTS, **off)
    highest = float(evaluation.value(policies.best_pages(user, world, SLOTS), user, world))
    sources = make_sources(world, user, options.top)
    curves = {
        (name, source): np.array([learn(name, made, s, user, world) for s in range(SEEDS)])
        for name in AGENTS
        for source, made in sources.items()
    }
    title = f"after {POINTS[-1]},000 pages; the best pages that were found earn {highest:.3f}"
    heads = "agent", "trained on", "promised", "clicks", "place", "locations shown"
    table = new_table(title, *heads, left=("trained on",))
    rows = []
    for (name, source), values in curves.items():
        clicks, share, shown, promised = values[:, -1].mean(axis=0)
        numbers = f"{promised:.3f}", f"{clicks:.3f}", f"{share:.2f}", f"{shown:.0%}"
        table.add_row(name, source, *numbers)
        rows.append(Row(f"{name} on {source}", float(clicks), "clicks a page"))
    show(table)
    save_rows(options.json, rows)
    if options.picture is not None:
        draw(curves, highest, options.picture)


if __name__ == "__main__":
    main()
