"""Off-policy evaluation of slates: the paper's studies, and promises against deployment."""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clickgym import studies
from clickgym.common.storage import write_whole
from clickgym.evaluation.reporting.figures import save_figure
from clickgym.scripts._inputs import require_writable, tell_if_replaced
from clickgym.scripts._options import option, parse

Rows = list[dict[str, Any]]
# Options that only some studies take.
PRESET = "the preset's"
_WORLD = ("world", "queries", "docs", "world_seed")
TAKES = {
    "conditions": (*_WORLD, "repetitions", "size", "direct", "space", "scheduler"),
    "bias": (*_WORLD, "space"),
    "learning": (*_WORLD, "slates", "trees"),
    "sessions": ("repetitions", "size", "direct"),
    "promises": (*_WORLD, "repetitions", "user", "model", "optimiser", "logging", "pages",
                 "impressions"),
}  # fmt: skip
STUDIES = tuple(TAKES)


@dataclass(frozen=True)
class OpeRun:
    """Estimate policies' values from other policies' logs, and learn from slate rewards.

    conditions: the slates paper's 40 conditions (figure 2). bias: what PI comes to with endless
    logs, by enumeration. learning: PI-OPT beside SUP and LambdaMART (table 1). sessions: metrics
    of whole sessions (figure 1). promises: what is estimated for policies that were optimised
    inside click models, and what they earn.

    Example:
      clickgym ope conditions --preset quick --jobs 2
    """

    study: str = option("conditions", "what to run", positional=True, choices=STUDIES)
    preset: str = option("quick", "how much of it; large: conditions only",
                         choices=studies.PRESET_NAMES)  # fmt: skip
    world: str | None = option(None)
    queries: int | None = option(None, absent=f"all of the file; {PRESET} without one")
    docs: int | None = option(None, absent=PRESET)
    world_seed: int = option(0)
    repetitions: int | None = option(
        None, "logs (conditions, sessions) or seeds (promises)", least=1, metavar="N",
        absent=PRESET,
    )  # fmt: skip
    size: list[int] | None = option(
        None, "sample sizes, ascending (conditions, sessions)", least=1, metavar="N",
        absent=PRESET, was=("sizes",),
    )  # fmt: skip
    direct: int | None = option(
        None, "largest size for direct methods", least=0, metavar="N", absent=PRESET
    )
    space: list[str] | None = option(
        None, "slate space of m candidates and l slots (conditions; one for bias)", metavar="M,L",
        absent=PRESET, was=("spaces",),
    )  # fmt: skip
    slates: int | None = option(
        None, "slates per training query (learning)", least=1, metavar="N", absent=PRESET,
        was=("samples",),
    )  # fmt: skip
    trees: int | None = option(
        None, "boosted trees (learning)", least=1, metavar="N", absent=PRESET
    )
    user: list[str] | None = option(None, "true user (promises)", absent=PRESET)
    model: list[str] | None = option(None, "click model (promises)", absent=PRESET)
    optimiser: list[str] | None = option(
        None, "Top-Down, Max-Reward or an agent (promises)", metavar="NAME", absent=PRESET,
        was=("optimisers",),
    )  # fmt: skip
    logging: list[str] | None = option(
        None, "ranker whose stochastic variant makes the log (promises)", absent=PRESET
    )
    pages: int | None = option(
        None, "budget of an agent, in result pages (promises)", absent=PRESET
    )
    impressions: int | None = option(None, "impressions per log (promises)", absent=PRESET)
    jobs: int = option(2)
    scheduler: str | None = option(None)
    retry_failed: bool = option(False)
    out: str | None = option(None, absent="ope-STUDY-PRESET")

    def check(self) -> None:
        """Raise where an option was given that this study does not take."""
        usual = OpeRun()
        for name in sorted(set().union(*TAKES.values()) - set(TAKES[self.study])):
            if getattr(self, name) != getattr(usual, name):
                raise ValueError(f"{self.study} takes no --{name.replace('_', '-')}")

    @property
    def folder(self) -> Path:
        """Where results go."""
        return Path(self.out or f"ope-{self.study}-{self.preset}")

    def world_setting(self, known: studies.WorldSetting) -> studies.WorldSetting:
        """Return the world's setting where options differ from the ``known`` one."""
        every = 0 if self.world else known.n_queries  # all of a file
        return studies.WorldSetting.of(
            self.world or "",
            every if self.queries is None else self.queries,
            known.n_docs if self.docs is None else self.docs,
            self.world_seed,
        )

    def given(self, **options: Any) -> dict[str, Any]:
        """Return the options that are not empty."""
        return {name: value for name, value in options.items() if value}


def conditions(settings: OpeRun) -> int:
    """Run the 40 conditions; return how many cells failed."""
    known = studies.OPE_PRESETS[settings.preset]
    changed = settings.given(
        sizes=tuple(settings.size or ()), repetitions=settings.repetitions,
        spaces=tuple(_space(text) for text in settings.space or ()),
    )  # fmt: skip
    if settings.direct is not None:
        changed["direct"] = settings.direct
    study = dataclasses.replace(known, world=settings.world_setting(known.world), **changed)
    rows, failed = studies.ope(
        settings.folder, study, settings.jobs, settings.retry_failed, settings.scheduler or ""
    )
    errors = studies.root_mean_squares(rows, (*studies.CONDITION, "estimator", "n"))
    tables = [studies.wins_table(errors), studies.errors_table(errors)]
    _save(settings, rows, tables, dataclasses.asdict(study))
    studies.save_rows(errors, settings.folder / "errors.parquet")
    save_figure(studies.figure_2(errors), settings.folder / "figure2.png")
    save_figure(studies.all_conditions(errors), settings.folder / "conditions.png")
    return failed


def bias(settings: OpeRun) -> int:
    """Run PI's expectations; return how many cells failed."""
    arguments = studies.preset_of(studies.BIAS_PRESETS, settings.preset)
    arguments["world"] = settings.world_setting(arguments["world"])
    spaces = [_space(text) for text in settings.space or ()]
    if len(spaces) > 1:
        raise ValueError(f"bias takes one of --space, not {len(spaces)}")
    arguments |= settings.given(space=spaces[0] if spaces else None)
    rows, failed = studies.bias_study(
        settings.folder, jobs=settings.jobs, retry_failed=settings.retry_failed, **arguments
    )
    _save(settings, rows, [studies.bias_table(rows)], arguments)
    save_figure(studies.bias_picture(rows), settings.folder / "bias.png")
    return failed


def learning(settings: OpeRun) -> int:
    """Run table 1; return how many cells failed."""
    arguments = studies.preset_of(studies.LEARNING_PRESETS, settings.preset)
    arguments["world"] = settings.world_setting(arguments["world"])
    arguments |= settings.given(samples=settings.slates, trees=settings.trees)
    rows, failed = studies.learning_study(
        settings.folder, jobs=settings.jobs, retry_failed=settings.retry_failed, **arguments
    )
    name = Path(settings.world or "").name or "embedded world"
    _save(settings, rows, [studies.learning_table(rows, name)], arguments)
    return failed


def sessions(settings: OpeRun) -> int:
    """Run figure 1's setting; return how many cells failed."""
    arguments = studies.preset_of(studies.SESSION_PRESETS, settings.preset)
    arguments |= settings.given(
        sizes=tuple(settings.size or ()), repetitions=settings.repetitions
    )
    if settings.direct is not None:
        arguments["direct"] = settings.direct
    rows, failed = studies.session_study(
        settings.folder, jobs=settings.jobs, retry_failed=settings.retry_failed, **arguments
    )
    errors = studies.root_mean_squares(rows, ("metric", "estimator", "n"))
    _save(settings, rows, studies.session_tables(errors), arguments)
    save_figure(studies.figure_1(errors), settings.folder / "figure1.png")
    return failed


def promises(settings: OpeRun) -> int:
    """Run promises against deployment; return how many cells failed."""
    arguments = studies.preset_of(studies.PROMISE_PRESETS, settings.preset)
    known = arguments.get("world", studies.PROMISE_WORLD)
    lists = {
        "users": settings.user, "models": settings.model, "optimisers": settings.optimiser,
        "loggings": settings.logging,
    }  # fmt: skip
    arguments |= settings.given(
        world=settings.world_setting(known), seeds=settings.repetitions, pages=settings.pages,
        impressions=settings.impressions,
        **{name: tuple(values or ()) for name, values in lists.items()},
    )  # fmt: skip
    rows, failed = studies.promises(
        settings.folder, jobs=settings.jobs, retry_failed=settings.retry_failed, **arguments
    )
    tables = []
    for logging in dict.fromkeys(row["logging"] for row in rows):
        part = [row for row in rows if row["logging"] == logging]
        tables.append(studies.promise_table(part, logging))
        save_figure(studies.promise_picture(part), settings.folder / f"promises-{logging}.png")
    _save(settings, rows, tables, arguments)
    return failed


def _space(text: str) -> tuple[int, int]:
    candidates, _, slots = text.partition(",")
    if not (candidates.isdigit() and slots.isdigit()):
        raise ValueError(f"--space takes m,l such as 10,5, not {text!r}")
    return int(candidates), int(slots)


def _save(
    settings: OpeRun, rows: Rows, tables: Sequence[Any], study: dict[str, Any]
) -> None:
    """Print the tables; write them, the rows, the options, and the ``study`` that they made."""
    from rich.console import Console

    console = Console(width=None if Console().is_terminal else 150)
    for table in tables:
        console.print(table)
    out = settings.folder
    studies.save_rows(rows, out / "rows.parquet")
    with write_whole(out / "tables.md") as temporary:
        temporary.write_text("\n".join(table.to_markdown() for table in tables))
    with write_whole(out / "settings.json") as temporary:
        content = {**dataclasses.asdict(settings), "study_settings": study}
        temporary.write_text(json.dumps(content, indent=2, default=dataclasses.asdict) + "\n")


_RUN: dict[str, Callable[[OpeRun], int]] = {
    "conditions": conditions, "bias": bias, "learning": learning, "sessions": sessions,
    "promises": promises,
}  # fmt: skip


def require_same_study(settings: OpeRun) -> None:
    """Raise where the folder has another study's results, which would be left beside these."""
    path = settings.folder / "settings.json"
    if path.is_file():
        study = json.loads(path.read_text()).get("study")
        if study != settings.study:
            raise ValueError(
                f"--out {settings.folder} has results of {study}, not of {settings.study}: give "
                "another folder"
            )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command."""
    start = time.perf_counter()
    settings = parse(OpeRun, "ope", arguments)
    settings.check()
    require_writable(settings.folder)
    require_same_study(settings)
    tell_if_replaced(settings.folder, settings)
    failed = _RUN[settings.study](settings)
    print(f"tables, pictures and rows: {settings.folder}   {time.perf_counter() - start:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
