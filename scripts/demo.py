"""Simulate the paper's three users on the embedded world and draw what their clicks look like."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clickgym import clickmodels, data, envs, policies
from clickgym.data.files import replaced
from clickgym.scripts._arguments import option, parse

USERS = ("DBN", "CoCM", "CoCM-mismatch")


@dataclass(frozen=True)
class Demo:
    """Simulate the paper's three users, print and draw click-through rates by rank."""

    pages: int = option(100_000, "pages to show to each user under each policy")
    out: str = option("demo", "folder for the picture")
    seed: int = option(0, "seed of everything random")


def rankings(world: data.World) -> dict[str, policies.Policy]:
    """Return the policies that the demo compares."""
    return {
        "best first": policies.stochastic(world.gain, temperature=0.1, world=world),
        "random": policies.Uniform(world),
        "worst first": policies.stochastic(-world.gain, temperature=0.1, world=world),
    }


def simulate(settings: Demo) -> dict[str, dict[str, dict[str, NDArray[np.float64]]]]:
    """Return, for each user and policy, simulated and exact click-through rates by rank, (K,)."""
    world = data.embedded_world()
    result: dict[str, dict[str, dict[str, NDArray[np.float64]]]] = {}
    for name in USERS:
        user = clickmodels.true_user(name, world)
        result[name] = {}
        for label, policy in rankings(world).items():
            log = envs.collect(world, user, policy, settings.pages, settings.seed)
            exact = user.click_probs(log.query, log.ranking).mean(axis=0)
            result[name][label] = {"simulated": log.clicks.mean(axis=0), "exact": exact}
    return result


def print_table(result: dict[str, dict[str, dict[str, NDArray[np.float64]]]]) -> None:
    """Print clicks a page and click-through rates by rank."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title="Click-through rate by rank (simulated)")
    slots = len(next(iter(next(iter(result.values())).values()))["simulated"])
    for head in ("user", "ranking", "clicks a page", *(f"{rank + 1}" for rank in range(slots))):
        table.add_column(head, justify="right" if head not in ("user", "ranking") else "left")
    for user, by_policy in result.items():
        for label, rates in by_policy.items():
            cells = [f"{rate:.3f}" for rate in rates["simulated"]]
            table.add_row(user, label, f"{rates['simulated'].sum():.3f}", *cells)
    console = Console()
    if not console.is_terminal:
        console = Console(width=130)
    console.print(table)


def draw(result: dict[str, dict[str, dict[str, NDArray[np.float64]]]], path: Path) -> None:
    """Draw simulated (dots) and exact (lines) click-through rates by rank, a panel a user."""
    try:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("the picture needs pip install 'clickgym[plots]'") from error
    figure = plt.figure(figsize=(11, 3.6), layout="constrained")
    axes = figure.subplots(1, len(result), sharey=True)
    colours = ("#0c4c8a", "#7f7f7f", "#d95f02")
    for axis, (user, by_policy) in zip(axes, result.items(), strict=True):
        for colour, (label, rates) in zip(colours, by_policy.items(), strict=True):
            ranks: Any = np.arange(1, len(rates["exact"]) + 1)
            clicks = rates["simulated"].sum()
            axis.plot(ranks, rates["exact"], color=colour, label=f"{label} ({clicks:.2f} clicks)")
            axis.plot(ranks, rates["simulated"], "o", color=colour, markersize=4)
        axis.set_title(user)
        axis.set_xlabel("rank")
        axis.set_xticks(ranks)
        axis.set_ylim(bottom=0)
        axis.grid(alpha=0.25)
        axis.legend(fontsize=8, frameon=False)
    axes[0].set_ylabel("click-through rate")
    figure.suptitle("Lines: exact probabilities. Dots: simulated pages.", fontsize=9)
    with replaced(path) as temporary:
        figure.savefig(temporary, dpi=130, format="png")
    plt.close(figure)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demo."""
    settings = parse(Demo, "demo", arguments)
    result = simulate(settings)
    print_table(result)
    path = Path(settings.out) / "clicks_by_rank.png"
    draw(result, path)
    print(f"picture: {path}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
