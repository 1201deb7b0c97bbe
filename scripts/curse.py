"""Optimise inside learned click models, deploy on the true user, compare promise and delivery."""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from clickgym import studies
from clickgym.common.storage import write_whole
from clickgym.evaluation.reporting.figures import save_figure
from clickgym.scripts._inputs import WorldOptions, tell_if_replaced
from clickgym.scripts._options import option, parse


@dataclass(frozen=True)
class Curse(WorldOptions):
    """Collect logs, fit click models, deploy their Top-Down and Max-Reward policies.

    Example:
      clickgym curse --user CoCM --logging epsilon-oracle BM25 --model PBM UBM --seeds 3 --jobs 2
    """

    user: list[str] = option(["CoCM-mismatch"])
    logging: list[str] = option(["epsilon-oracle"])
    model: list[str] = option(["PBM", "UBM", "DBN", "NCM"])
    seeds: int = option(3)
    queries: int = option(1000)
    impressions: int = option(100_000)
    slots: int = option(10)
    parameters: str = option("table")
    documents: str = option(
        "shown", "what policies may show: documents of the log, or all", choices=("shown", "all")
    )
    rate: bool = option(False, "draw click-through rates instead of clicks per page")
    jobs: int = option(1)
    retry_failed: bool = option(False)
    out: str = option("curse")


def run(settings: Curse, command: str) -> bool:
    """Run the study, print its tables, save tables and picture; return whether no cell failed."""
    from rich.console import Console

    start = time.perf_counter()
    out = Path(settings.out)
    world = settings.world_setting()
    tell_if_replaced(out, settings)
    users, loggings, models = (
        list(dict.fromkeys(names)) for names in (settings.user, settings.logging, settings.model)
    )
    rows = studies.curse_study(
        out / "cells", users, loggings, models, settings.seeds, world,
        settings.impressions, settings.slots, settings.parameters, settings.documents,
        settings.jobs, settings.retry_failed,
    )  # fmt: skip
    rows = sorted(rows, key=lambda row: models.index(row["model"]))
    console = Console(width=None if Console().is_terminal else 170)
    tables = []
    for user in users:
        for logging in loggings:
            table = studies.curse_table(rows, user, logging)
            console.print(table)
            tables.append(table.to_markdown() + "\n")
    _write(out / "tables.md", "\n".join(tables))
    _write(out / "settings.json", json.dumps(dataclasses.asdict(settings), indent=2) + "\n")
    studies.save_rows(rows, out / "rows.parquet")
    save_figure(studies.curse_picture(rows, settings.rate), out / "curse.png")
    print(f"picture: {out / 'curse.png'}   tables: {out / 'tables.md'}", end="   ")
    print(f"{time.perf_counter() - start:.0f} s (clickgym {command})")
    return len(rows) == len(users) * len(loggings) * len(models) * settings.seeds


def _write(path: Path, text: str) -> None:
    with write_whole(path) as temporary:
        temporary.write_text(text)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command."""
    return 0 if run(parse(Curse, "curse", arguments), "curse") else 1


if __name__ == "__main__":
    raise SystemExit(main())
