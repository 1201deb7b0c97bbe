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
from clickgym.scripts._arguments import option, parse
from clickgym.scripts._runs import WorldOptions, tell_if_replaced


@dataclass(frozen=True)
class Compare(WorldOptions):
    """Train every agent inside every model for every user and seed; tables, heat map, curves."""

    agents: list[str] = option(list(agents.names()), "agents")
    models: list[str] = option(
        ["PBM", "UBM", "DBN", "NCM"], 'click models; "true user": learn from the user itself'
    )
    user: list[str] = option(["DBN", "CoCM", "CoCM-mismatch"], "true users")
    seeds: int = option(3, "seeds; each draws a log, a fit and a training run")
    pages: int = option(50_000, "budget of every agent in result pages; 0: the agent's own")
    budget: list[str] = option([""], "other budgets for some agents, as name=pages")
    logging: str = option("epsilon-oracle", "ranker whose stochastic variant logs")
    impressions: int = option(100_000, "impressions of a log; 80% to fit")
    slots: int = option(10, "documents a page")
    jobs: int = option(1, "processes")
    modules: list[str] = option([""], "modules to import first, with agents of your own")
    retry_failed: bool = option(False, "try again what failed before")
    out: str = option("compare", "folder for results; finished cells there are not computed again")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command."""
    from rich.console import Console

    settings = parse(Compare, "compare", arguments)
    start = time.perf_counter()
    out = Path(settings.out)
    world = settings.world_setting()
    tell_if_replaced(out, settings)
    modules = [name for name in settings.modules if name]
    names, models, users = (
        list(dict.fromkeys(given)) for given in (settings.agents, settings.models, settings.user)
    )
    rows = studies.compare(
        out, names, models, users, settings.seeds, world,
        settings.pages, settings.logging, settings.impressions, settings.slots, settings.jobs,
        settings.retry_failed, _budgets(settings.budget, names), modules,
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
    for item in filter(None, given):
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
