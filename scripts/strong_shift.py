"""Tables 3 and 4 of the robustness paper: what a strong policy shift does to click models."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from clickgym import studies
from clickgym.common.storage import write_whole
from clickgym.scripts._options import option, parse


@dataclass(frozen=True)
class Shift:
    """Fit models under a near-optimal policy, judge them under the reverse order.

    Example:
      clickgym strong-shift --user DBN --model PBM UBM DBN --seeds 3
    """

    user: list[str] = option(["DBN", "CoCM"])
    model: list[str] = option(list(studies.SHIFT_MODELS))
    seeds: int = option(10)
    impressions: int = option(100_000)
    parameters: str = option("table")
    jobs: int = option(1)
    out: str = option("strong-shift")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, print and save."""
    from rich.console import Console

    settings = parse(Shift, "strong-shift", arguments)
    out = Path(settings.out)
    for user in settings.user:
        table = studies.strong_shift(
            user, settings.model, settings.seeds, None, settings.impressions,
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
