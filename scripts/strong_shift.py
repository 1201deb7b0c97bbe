"""Tables 3 and 4 of the robustness paper: what a strong policy shift does to click models."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from clickgym import clickmodels, studies
from clickgym.common.storage import write_whole
from clickgym.scripts._arguments import option, parse


@dataclass(frozen=True)
class Shift:
    """Fit models under a near-optimal policy, judge them under the reverse order."""

    user: list[str] = option(["DBN", "CoCM"], "true users, a table each")
    models: list[str] = option(list(studies.SHIFT_MODELS), "click models")
    seeds: int = option(10, "seeds; each draws a log and an initialisation")
    impressions: int = option(100_000, "impressions of a log; 80% to fit")
    parameters: str = option("table", "kind of parameters", choices=("table", "embedding"))
    jobs: int = option(1, "processes")
    out: str = option("strong-shift", "folder for tables; finished cells there are kept")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, print and save."""
    from rich.console import Console

    settings = parse(Shift, "strong-shift", arguments)
    for kind, given, names in (
        ("user", settings.user, clickmodels.user_names()),
        ("model", settings.models, clickmodels.names()),
    ):
        unknown = ", ".join(name for name in given if name not in names)
        if unknown:
            known = ", ".join(names)
            raise SystemExit(f"clickgym strong-shift: unknown {kind} {unknown}; known: {known}")
    out = Path(settings.out)
    for user in settings.user:
        table = studies.strong_shift(
            user, settings.models, settings.seeds, None, settings.impressions,
            settings.parameters, settings.jobs, out,
        )  # fmt: skip
        Console(width=None if Console().is_terminal else 130).print(table)
        table.save(out / f"{user}.parquet")
        with write_whole(out / f"{user}.md") as temporary:
            temporary.write_text(table.to_markdown() + "\n")
    with write_whole(out / "settings.json") as temporary:
        temporary.write_text(json.dumps(dataclasses.asdict(settings), indent=2) + "\n")
    print(f"tables: {out}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
