"""Tables 3 and 4 with and without each thing that the released code does otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Self

from ...clickmodels.registry import registered_class
from ..constants import SHIFT_MODELS
from ..engine.grid import cell_key
from ..engine.rows import Row
from ..registry import register
from ..robustness.protocol import Protocol
from ..robustness.released import CAUSAL, FLOOR, SIGMA, UNSMOOTHED
from ..robustness.strong_shift import StrongShift
from ..study import Report, Results, Stage, Study, setting
from ..worlds import SMALL_WORLD, WorldSetting
from .published import USERS
from .released_report import ALL, LOGS, TEXT, make_report

TABLES, GRADES = "all switches, tables", "documents of all grades"
_LOG_SWITCHES = (FLOOR, SIGMA)  # those that change the logs
# What is switched, by the name of the variant; the last two are choices of our own, beside all.
VARIANTS: dict[str, tuple[str, ...]] = {
    TEXT: (),
    **{name: (name,) for name in (*_LOG_SWITCHES, UNSMOOTHED, CAUSAL)},
    LOGS: _LOG_SWITCHES,
    ALL: (*_LOG_SWITCHES, UNSMOOTHED, CAUSAL),
    TABLES: (*_LOG_SWITCHES, UNSMOOTHED, CAUSAL),
    GRADES: (),
}


@register("released")
@dataclass(frozen=True)
class Released(Study):
    """Compare Tables 3 and 4 as printed, as the released code gives them, and as clickgym does.

    The strong shift of section 6.1 is run without any switch of the released code, with each of
    them alone, and with all; also with all switches and tables of attractiveness instead of
    embeddings, and without any on documents of all grades. Networks are always those of the code.
    Every number stands beside the paper's and the released code's (of an outside run); what differs
    is named, with what speaks to the reason.

    Example:
      clickgym released --user DBN --seeds 3
    """

    users: tuple[str, ...] = setting(USERS, flag="user", choices=USERS)
    models: tuple[str, ...] = setting(SHIFT_MODELS, flag="model", choices=SHIFT_MODELS)
    seeds: int = setting(
        10, "number of seeds; each draws a world, a log and an initialisation"
    )
    world: WorldSetting = setting(WorldSetting(n_queries=1000, n_docs=10), "", whole_file=True)
    impressions: int = setting(100_000)
    worlds: int = setting(0, least=0, nothing=0)

    @classmethod
    def small(cls) -> Self:
        """Return a run that takes a moment."""
        return cls(("DBN",), ("PBM", "dCTR"), world=SMALL_WORLD, impressions=300, seeds=2)

    @cached_property
    def protocols(self) -> dict[str, Protocol]:
        """The run of every variant."""
        return {name: self._protocol(name) for name in VARIANTS}

    def _protocol(self, variant: str) -> Protocol:
        shift = StrongShift(
            self.users, self.models, self.seeds, self.world, self.impressions, worlds=self.worlds,
            released=VARIANTS[variant],
        )  # fmt: skip
        if variant == TABLES:
            counted = (name for name in self.models if registered_class(name).network is None)
            shift = replace(shift, parameters="table", models=tuple(counted))
        if variant == GRADES:
            shift = replace(shift, sampler="stratified")
        return shift.protocol

    def check(self) -> None:
        """Raise where the study could not run; the world is loaded for it."""
        super().check()
        for protocol in self.protocols.values():
            protocol.check()

    def stages(self, folder: Path, results: Results) -> Iterator[Stage]:
        """Give the protocol's stages with the cells of all variants, each once."""
        every = [list(one.stages(folder, results)) for one in self.protocols.values()]
        for same in zip(*every, strict=True):
            cells = dict.fromkeys(cell for stage in same for cell in stage.cells)
            yield replace(same[0], cells=list(cells))

    def rows(self, results: Results) -> list[Row]:
        """Return the protocol's rows, each with its variant."""
        rows: list[Row] = []
        for variant, protocol in self.protocols.items():
            logs = protocol.log_cells("")
            keys = {cell_key(cell, "") for cell in (*logs, *protocol.cells(logs, ""))}
            own = Results()
            for name, found in results.items():
                own[name] = [pair for pair in found if cell_key(pair[0], "") in keys]
            rows += [row | {"variant": variant} for row in protocol.rows(own)]
        return rows

    def report(self, rows: list[Row]) -> Report:
        """Return the tables and the picture."""
        return make_report(rows)
