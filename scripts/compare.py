"""Compare agents trained inside click models and deployed on true users."""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from clickgym import agents, studies
from clickgym.common.storage import write_whole
from clickgym.evaluation.reporting.figures import save_figure
from clickgym.scripts._inputs import WorldOptions, tell_if_replaced
from clickgym.scripts._options import option, parse


@dataclass(frozen=True)
class Compare(WorldOptions):
    """Train every agent inside every model for every user and seed; tables, heat map, curves.

    Example:
      clickgym compare --agent PolicyGradient PPO --model PBM NCM --user CoCM --seeds 3 --jobs 2
    """

    agent: list[str] = option(list(agents.names()), open=True)
    model: list[str] = option(
        ["PBM", "UBM", "DBN", "NCM"], 'click model, or "true user" to learn from the user itself',
        also=("true user",),
    )  # fmt: skip
    user: list[str] = option(["DBN", "CoCM", "CoCM-mismatch"])
    seeds: int = option(3)
    pages: int = option(
        50_000, "budget of every agent in result pages, or own for the agent's own", word="own"
    )
    budget: list[str] | None = option(
        None, "other budgets for some agents", metavar="AGENT=PAGES", absent="--pages for all"
    )
    logging: str = option("epsilon-oracle")
    impressions: int = option(100_000)
    slots: int = option(10)
    jobs: int = option(1)
    module: list[str] | None = option(None)
    retry_failed: bool = option(False)
    out: str = option("compare")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command."""
    from rich.console import Console

    settings = parse(Compare, "compare", arguments)
    start = time.perf_counter()
    out = Path(settings.out)
    world = settings.world_setting()
    tell_if_replaced(out, settings)
    modules = settings.module or []
    names, models, users = (
        list(dict.fromkeys(given)) for given in (settings.agent, settings.model, settings.user)
    )
    rows = studies.compare(
        out, names, models, users, settings.seeds, world,
        settings.pages, settings.logging, settings.impressions, settings.slots, settings.jobs,
        settings.retry_failed, _budgets(settings.budget or [], names), modules,
    )  # fmt: skip
    order = {name: place for place, name in enumerate(models)}
    rows.sort(key=lambda row: (order[row["model"]], row["seed"]))
    console = Console(width=None if Console().is_terminal else 110)
    tables = []
    for user in users:
        table = studies.compare_table(rows, user)
        console.print(table)
        tables.append(table.to_markdown() + "\n")
    _write(out / "tables.md", "\n".join(tables))
    _write(out / "settings.json", json.dumps(dataclasses.asdict(settings), indent=2) + "\n")
    plain = [{key: row[key] for key in row if key != "history"} for row in rows]
    studies.save_rows(plain, out / "rows.parquet")
    studies.save_rows(
        [
            {**{key: row[key] for key in ("agent", "model", "user", "seed")}, **point}
            for row in rows
            for point in row["history"]
        ],
        out / "history.parquet",
    )
    for user in users:
        save_figure(studies.training_curves(rows, user), out / f"training-{user}.png")
    save_figure(studies.heat_map(rows), out / "heat-map.png")
    parted = max(rows, key=studies.parting)
    save_figure(studies.run_picture(parted), out / "parting.png")
    where = f"{parted['agent']} inside {parted['model']} on {parted['user']}"
    fall = studies.parting(parted)
    print(f"largest fall of a deployed value while the promise rose: {fall:.3f} ({where})")
    print(f"pictures and tables: {out}   {time.perf_counter() - start:.0f} s")
    return 0 if len(rows) == len(names) * len(models) * len(users) * settings.seeds else 1


def _budgets(given: list[str], names: list[str]) -> dict[str, int]:
    """Return budgets given as name=pages."""
    budgets = {}
    for item in given:
        name, _, text = item.partition("=")
        if name not in names or not text.isdigit():
            raise ValueError(f"--budget takes an agent of this run as name=pages, not {item!r}")
        budgets[name] = int(text)
    return budgets


def _write(path: Path, text: str) -> None:
    with write_whole(path) as temporary:
        temporary.write_text(text)


if __name__ == "__main__":
    raise SystemExit(main())
