"""Tables 3 and 4 of the robustness paper: a strong shift from training to test policy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Self

from ...data.candidates import SAMPLERS
from ..constants import ORACLE, SHIFT_MODELS
from ..engine.rows import Row
from ..registry import register
from ..study import Report, Results, Stage, Study, setting
from ..worlds import SMALL_WORLD, WorldSetting
from .protocol import RELEASED, SHIFT, Protocol
from .protocol_report import shift_table
from .released import SWITCHES


@register("strong-shift")
@dataclass(frozen=True)
class StrongShift(Study):
    """Fit models under a near-optimal policy, judge them under the reverse order (section 6.1).

    Ten documents per query, hardly any of grade 0 (``--sampler stratified`` draws all grades).
    Training pages come from a Plackett-Luce policy on
    the true gain (T = 0.5), 80% to fit, 10% to validate, 10% for in-distribution perplexity;
    out-of-distribution pages show the same documents in the reverse order. The oracle is the user
    itself. A seed draws the world, the log and the initialisation, so that intervals are over
    worlds (the paper varied the initialisation alone). It is the protocol's preset of the
    same name, with a table per user as its report.

    Example:
      clickgym strong-shift --user DBN --model PBM UBM DBN --seeds 3
    """

    users: tuple[str, ...] = setting(("DBN", "CoCM"), flag="user")
    models: tuple[str, ...] = setting(SHIFT_MODELS, flag="model")
    seeds: int = setting(
        10, "number of seeds; each draws a world, a log and an initialisation"
    )
    world: WorldSetting = setting(
        WorldSetting(n_queries=1000, n_docs=10), "", whole_file=True
    )
    impressions: int = setting(100_000)
    parameters: str = setting("embedding", choices=("table", "embedding"))
    worlds: int = setting(0, least=0, nothing=0, later=True)
    sampler: str = setting("relevant", choices=tuple(SAMPLERS), later=True)
    released: tuple[str, ...] = setting((), choices=tuple(SWITCHES), later=True)
    training: str = setting(RELEASED, choices=(RELEASED, "text"), later=True)

    @cached_property
    def protocol(self) -> Protocol:
        """The same as a run of the protocol."""
        return replace(
            Protocol.presets()[SHIFT], users=self.users, seeds=self.seeds, world=self.world,
            models=(ORACLE, *dict.fromkeys(self.models)), impressions=self.impressions,
            parameters=self.parameters, worlds=self.worlds, sampler=self.sampler,
            released=self.released, training=self.training,
        )  # fmt: skip

    @classmethod
    def small(cls) -> Self:
        """Return a run that takes a moment."""
        return cls(("DBN",), ("PBM", "dCTR"), world=SMALL_WORLD, impressions=300, seeds=1)

    def check(self) -> None:
        """Raise where the study could not run; the world is loaded for it."""
        self.protocol.check()

    def stages(self, folder: Path, results: Results) -> Iterator[Stage]:
        """Give the protocol's stages."""
        return self.protocol.stages(folder, results)

    def rows(self, results: Results) -> list[Row]:
        """Return the protocol's rows."""
        return self.protocol.rows(results)

    def report(self, rows: list[Row]) -> Report:
        """Return a table per user."""
        tables = {user: shift_table(rows, user) for user in dict.fromkeys(self.users)}
        return Report(
            "A strong policy shift", "Tables 3 and 4 of the robustness paper.",
            {"Tables": list(tables.values())},
            texts={f"{user}.md": table.to_markdown() + "\n" for user, table in tables.items()},
            tables_kept={f"{user}.parquet": table for user, table in tables.items()},
        )  # fmt: skip
