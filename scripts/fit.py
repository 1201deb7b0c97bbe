"""Fit click models to a log and judge them: table, picture, saved models."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from clickgym import clickmodels, data, evaluation, studies
from clickgym.common.runtime import import_extra
from clickgym.common.storage import write_text, write_whole
from clickgym.scripts._inputs import WorldOptions, real_logs, require_files, saved_log
from clickgym.scripts._options import option, parse
from clickgym.studies.runner import require_writable
from clickgym.studies.worlds import world_of

PICTURE = "perplexity.png"


@dataclass(frozen=True)
class Fit(WorldOptions):
    """Fit models to a log and judge them on another part of it, or on another log.

    Example:
      clickgym collect --docs 10 --out log.parquet
      clickgym fit --log log.parquet --docs 10 --model PBM UBM DBN --out fitted
    """

    log: str | None = option(None, "log saved by clickgym collect", metavar="FILE")
    pyclick: str | None = option(None, "real log in PyClick's format", metavar="FILE")
    sessions: list[str] | None = option(
        None, "real log in the session format: one file, or one each to fit, validate and judge",
        metavar="FILE",
    )  # fmt: skip
    labels: str | None = option(None, "human grades for --sessions", metavar="FILE", absent="none")
    clicked_only: bool = option(False, "leave out pages without a click, as the paper does")
    test: str | None = option(
        None, "saved log to judge on", metavar="FILE", absent="a part of the log"
    )
    split: list[float] = option(
        [0.8, 0.1, 0.1], "shares of the log to fit to, validate on (may be left out) and judge on",
        metavar="SHARE",
    )  # fmt: skip
    model: list[str] = option(
        ["PBM", "UBM", "DBN"], "click model, or all for every one", also=("all",)
    )
    parameters: str = option("table")
    seeds: int = option(1, "number of seeds of those fits that are random")
    seed: int = option(0, "seed of the split")
    queries: int | None = option(None)
    module: list[str] | None = option(None)
    jobs: int = option(1)
    out: str = option("fitted", "folder for models, tables and pictures")
    overwrite: bool = option(
        False, "write into a folder that holds another run's results", group="the run"
    )


def check_inputs(settings: Fit) -> None:
    """Raise where the options name no log, or files that are not there."""
    sessions = settings.sessions or []
    if bool(settings.log) + bool(settings.pyclick) + bool(sessions) != 1:
        raise ValueError("give one of --log, --pyclick and --sessions")
    if not math.isclose(sum(settings.split), 1) or min(settings.split) < 0:
        shares = " ".join(map(str, settings.split))
        raise ValueError(f"--split must be shares that sum to 1, not {shares}")
    if len(sessions) not in (0, 1, 3):
        raise ValueError("--sessions takes one file, or one each to fit, validate and judge")
    require_files(settings, ("log", "pyclick", "sessions", "labels", "test"))


def logs(settings: Fit) -> tuple[data.World, data.ClickLog, data.ClickLog | None, data.ClickLog]:
    """Return the world and the logs to fit to, to validate on and to judge on."""
    sessions = settings.sessions or []
    if settings.log:
        world = world_of(settings.world_setting())
        found = [saved_log(settings.log, world)]
    else:
        world, found = real_logs(settings.pyclick, sessions, settings.labels)
    if settings.test:
        found.append(saved_log(settings.test, world))
    if settings.clicked_only:
        found = [log[log.clicks.any(axis=1)] for log in found]
    parts = tuple(found) if len(found) > 1 else found[0].split(settings.split, settings.seed)
    if len(parts) == 2:
        return world, parts[0], None, parts[1]
    if len(parts) == 3:
        return world, parts[0], parts[1] if len(parts[1]) else None, parts[2]
    raise ValueError("--split takes two or three shares")


def draw(judged: studies.Judged, test: data.ClickLog, path: Path) -> None:
    """Draw the perplexity of every model by rank."""
    import_extra("matplotlib", "plots", "the picture needs").use("Agg")
    import matplotlib.pyplot as plt

    figure = plt.figure(figsize=(8, 4.5), layout="constrained")
    axis = figure.subplots()
    colours = plt.get_cmap("tab10")
    shown = 0
    for name, model in judged.models.items():
        if "generative" in model.capabilities:  # ARM-NC's perplexity must not be compared
            perplexity = evaluation.perplexity(model, test)
            ranks = np.arange(1, len(perplexity.per_rank) + 1)
            style = "-" if shown < 10 else "--"
            label = f"{name} ({perplexity.mean:.4f})"
            axis.plot(ranks, perplexity.per_rank, style, marker="o", markersize=3,
                      color=colours(shown % 10), label=label)  # fmt: skip
            shown += 1
    axis.set_xlabel("rank")
    axis.set_ylabel("conditional perplexity (lower is better)")
    axis.grid(alpha=0.25)
    if shown:
        axis.legend(fontsize=8, frameon=False)
    with write_whole(path) as temporary:
        figure.savefig(temporary, dpi=130, format="png")
    plt.close(figure)


def main(arguments: Sequence[str] | None = None) -> int:
    """Fit, judge, print and save."""
    from rich.console import Console

    settings = parse(Fit, "fit", arguments)
    check_inputs(settings)
    out = Path(settings.out)
    if (out / "settings.json").exists() and not settings.overwrite:
        raise ValueError(f"{out} holds another run; give another --out, or --overwrite")
    require_writable(out)
    names = clickmodels.names() if "all" in settings.model else tuple(settings.model)
    world, train, validation, test = logs(settings)
    judged = studies.judge_log(
        train, test, world, names, settings.seeds, validation, settings.parameters, settings.jobs
    )
    console = Console(width=None if Console().is_terminal else 200)
    tables = {"clicks": judged.clicks, "pages": judged.pages, "grades": judged.grades}
    for label, table in tables.items():
        if table is not None and table.models:
            console.print(table)
            table.save(out / f"{label}.parquet")
            write_text(out / f"{label}.md", table.to_markdown() + "\n")
    for name, model in judged.models.items():
        model.save(out / f"{name}.safetensors")
    draw(judged, test, out / PICTURE)
    page = studies.write_log_report(
        judged, out, dataclasses.asdict(settings), {PICTURE: "Perplexity by rank"}
    )
    write_text(out / "settings.json", json.dumps(dataclasses.asdict(settings), indent=2) + "\n")
    print(f"models, tables and picture: {out}")
    print(f"open {page}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
