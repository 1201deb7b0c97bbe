"""The robustness protocol: click models under every user, logging policy and seed; resumable."""

from __future__ import annotations

import dataclasses
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clickgym import studies
from clickgym.common.storage import write_whole
from clickgym.scripts._inputs import require_writable, tell_if_replaced
from clickgym.scripts._options import option, parse

SHIFT = "strong-shift"
PRESET = "the preset's"
NUMBERS = ("seeds", "impressions", "slots", "test_pages")


@dataclass(frozen=True)
class ProtocolRun:
    """Fit click models to logs of every kind, judge them in and out of distribution.

    Example:
      clickgym protocol quick --model PBM DBN oracle --seeds 2 --jobs 2
      clickgym protocol --candidate my_module:MyModel
    """

    preset: str | None = option(
        None, "what to run", positional=True, choices=tuple(studies.PRESETS),
        absent="quick, or paper if only candidates are to be fitted",
    )  # fmt: skip
    user: list[str] | None = option(None, absent=PRESET)
    logging: list[str] | None = option(None, absent=PRESET)
    model: list[str] | None = option(
        None, "click model, or oracle for the user itself", also=("oracle",), absent=PRESET
    )
    candidate: list[str] | None = option(
        None, "click model of your own, also of the working directory; without --model it joins "
        "the results that come with the package", metavar="MODULE:CLASS", absent="none",
    )  # fmt: skip
    seeds: int | None = option(None, absent=PRESET)
    parameters: str | None = option(None, absent=PRESET)
    world: str | None = option(None)
    queries: int | None = option(None, absent=f"all of the file; {PRESET} without one")
    docs: int | None = option(None, absent=PRESET)
    world_seed: int = option(0)
    impressions: int | None = option(None, absent=PRESET)
    slots: int | None = option(None, absent=PRESET)
    test_pages: int | None = option(
        None, "pages per test policy", least=1, metavar="N", absent=PRESET
    )
    policies: bool = option(
        True, "say what the models' policies are worth, if the preset asks for it; this can be "
        "added later",
    )  # fmt: skip
    shift: bool = option(
        True, "add tables 3 and 4, the strong shift of section 6.1, if its users are among --user"
    )
    jobs: int = option(2)
    scheduler: str | None = option(None)
    retry_failed: bool = option(False)
    out: str | None = option(None, absent="protocol-PRESET")

    def study(self) -> tuple[str, studies.Protocol]:
        """Return the preset's name and what to compute."""
        candidates = tuple(self.candidate or ())
        preset = self.preset or ("paper" if candidates else "quick")
        known = studies.PRESETS[preset]
        lists = {"users": self.user, "loggings": self.logging, "models": self.model}
        given: dict[str, Any] = {
            name: tuple(dict.fromkeys(values or ())) for name, values in lists.items()
        }
        given["parameters"] = self.parameters
        every = 0 if self.world else known.world.n_queries  # all of a file
        world = studies.WorldSetting.of(
            self.world or "",
            every if self.queries is None else self.queries,
            known.world.n_docs if self.docs is None else self.docs,
            self.world_seed,
        )
        changed = {name: value for name, value in given.items() if value}
        numbers = {name: getattr(self, name) for name in NUMBERS}
        changed |= {name: value for name, value in numbers.items() if value is not None}
        if not self.policies:
            changed["optimise"] = False
        return preset, dataclasses.replace(known, world=world, candidates=candidates, **changed)


def run(settings: ProtocolRun) -> tuple[list[dict[str, Any]], int, Path]:
    """Compute what is missing and save the rows; return them, how many cells failed, and where."""
    preset, study = settings.study()
    study.check(settings.jobs)
    out = Path(settings.out or f"protocol-{preset}")
    require_writable(out)
    tell_if_replaced(out, settings)
    join = bool(study.candidates) and not settings.model
    rows, failed, study = compute(settings, study, join, out / "rows.parquet")
    shift = studies.shift_of(study) if settings.shift and preset != SHIFT else None
    if shift is not None:
        more, lost, _ = compute(settings, shift, join, out / f"{SHIFT}.parquet")
        rows, failed = [*rows, *more], failed + lost
    with write_whole(out / "settings.json") as temporary:
        temporary.write_text(json.dumps(dataclasses.asdict(settings), indent=2) + "\n")
    return rows, failed, out


def compute(
    settings: ProtocolRun, study: studies.Protocol, join: bool, path: Path
) -> tuple[list[dict[str, Any]], int, studies.Protocol]:
    """Compute what is missing of a study and save its rows to ``path``.

    Where candidates ``join`` results that come with the package, nothing else is computed. Return
    the rows, how many cells failed, and what was computed.
    """
    known = studies.shipped_rows(study) if join else []
    if known:
        seeds = max(row["seed"] for row in known) + 1
        study = dataclasses.replace(study, models=(), seeds=seeds)
        print(f"{len(known)} results of other models come with the package", file=sys.stderr)
    found = studies.protocol(
        path.parent, study, settings.jobs, settings.retry_failed, settings.scheduler or ""
    )
    wanted = len(study.users) * len(study.loggings) * len(study.sources) * study.seeds
    rows = [*known, *found]
    studies.save_rows(rows, path)
    return rows, wanted - len(found), study


def report(rows: list[dict[str, Any]], settings: ProtocolRun, out: Path) -> Path:
    """Write what the rows say, and print tables 3 and 4 where they are all; return the page."""
    from rich.console import Console

    preset, study = settings.study()
    page = studies.write_report(rows, out, {"preset": preset, **study.said()})
    if preset == SHIFT:
        console = Console(width=None if Console().is_terminal else 120)
        for user in study.users:
            console.print(studies.shift_table(rows, user))
    return page


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command."""
    start = time.perf_counter()
    settings = parse(ProtocolRun, "protocol", arguments)
    rows, failed, out = run(settings)
    page = report(rows, settings, out)
    print(f"{len(rows)} rows: {out / 'rows.parquet'}   {time.perf_counter() - start:.0f} s")
    print(f"open {page}")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
