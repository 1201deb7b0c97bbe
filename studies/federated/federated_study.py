"""The paper on federated search: which metric predicts what users do on pages with a block."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Self

from ... import clickmodels
from ...common import checks
from ...data.world import VERTICALS
from ...evaluation.reporting.formats import ledger_markdown
from ...evaluation.reporting.page import ledger_section
from ..claims import ledger_lines
from ..engine.rows import Row
from ..registry import register
from ..study import Report, Results, Stage, Study, setting
from . import abandonment_cells, correlation_cells
from .abandonment_cells import AbandonmentCell, abandonment_cell
from .correlation_cells import (
    BAD_ONLY,
    RECIPROCAL,
    REFITTED,
    UCTR,
    CorrelationCell,
    correlation_cell,
)
from .drawn_pages import CANDIDATES, INTENTS, NAVIGATIONAL
from .federated_findings import RULES
from .federated_ledger import LOCATION, federated_ledger
from .federated_pictures import (
    abandonment_picture,
    attention_picture,
    correlation_picture,
    lead_picture,
)
from .federated_rows import PooledRows, abandonment_rows, correlation_rows
from .federated_setting import ALL, PageSetting
from .federated_tables import (
    TABLES,
    abandonment_table,
    attention_table,
    correlation_table,
    kinds_of,
    lead_table,
    online_table,
    perplexity_table,
    table_1,
)

_CORRELATIONS, _EXPERIMENT = "comparing metrics", "suppressing the block"


@register("federated")
@dataclass(frozen=True)
class Federated(Study):
    """Show pages with a block of news, images, video or places to users, and compare metrics.

    Click models are fitted to one half of the users, parameters by grade. Metrics that come from
    them are then correlated with what the other half did, over configurations (a query with a
    fixed page). A row has ``user``, ``vertical``, ``seed``, ``part``, ``intent``, ``sessions``,
    ``metric``, ``against``, ``column``, ``value``, ``low`` and ``high``.

    Example:
      clickgym federated --preset quick
      clickgym federated --preset paper --vertical images --jobs 2
    """

    users: tuple[str, ...] = setting(
        clickmodels.user_names("verticals"), "true user", flag="user",
        known=partial(clickmodels.user_names, "verticals"),
    )
    verticals: tuple[str, ...] = setting(
        VERTICALS, "type of the block", flag="vertical", choices=VERTICALS
    )
    queries: int = setting(1000, "navigational queries, and as many informational ones")
    configurations: int = setting(5, "pages of each query", metavar="N")
    impressions: int = setting(200_000, "sessions of one page, by user and type", least=100)
    seeds: int = setting(5)
    first_seed: int = setting(0, "the first seed", least=0, metavar="N")
    suppressed: float = setting(
        0.5, "share of users without the location block in the A/B experiment", metavar="SHARE"
    )
    resamples: int = setting(1000, "resamples of queries for intervals", least=2, metavar="N")
    slots: int = setting(10)
    noise: float = setting(
        4.0, "how far the production ranker is off, in grades", metavar="NUMBER"
    )

    @classmethod
    def presets(cls) -> dict[str, Self]:
        """Return "quick" (300 queries of either intent, one seed) and "paper"."""
        return {"quick": cls(queries=300, impressions=60_000, seeds=1), "paper": cls()}

    @classmethod
    def small(cls) -> Self:
        """Return a run that takes a moment."""
        return cls(
            ("FCM",), ("images", LOCATION), queries=20, configurations=3, impressions=1500, seeds=1,
            resamples=20, slots=4,
        )  # fmt: skip

    def check(self) -> None:
        """Raise where the study could not run."""
        super().check()
        if self.slots > CANDIDATES:
            raise ValueError(f"slots must be at most {CANDIDATES}, not {self.slots}")
        checks.finite(self.noise, "noise", 0)
        if not self.noise >= 0.0:
            raise ValueError(f"noise must be at least 0, not {self.noise}")
        share = float(checks.finite(self.suppressed, "suppressed", 0))
        if not 0.0 < share < 1.0:
            raise ValueError(f"suppressed must be between 0 and 1, not {self.suppressed}")

    def _pages(self, user: str, vertical: str, seed: int) -> PageSetting:
        return PageSetting(
            user, vertical, seed, self.queries, self.configurations, self.impressions, self.slots,
            self.noise,
        )  # fmt: skip

    def stages(self, folder: Path, results: Results) -> Iterator[Stage]:
        """Give the correlations of every user, type and seed, then the A/B experiment."""
        seeds = range(self.first_seed, self.first_seed + self.seeds)
        every = [
            self._pages(user, vertical, seed)
            for seed in seeds
            for user in dict.fromkeys(self.users)
            for vertical in dict.fromkeys(self.verticals)
        ]
        yield Stage(
            _CORRELATIONS, correlation_cell,
            [CorrelationCell(pages, self.resamples) for pages in every],
            correlation_cells.VERSION, correlation_cells.RESULT, label=_name_cell,
        )  # fmt: skip
        yield Stage(
            _EXPERIMENT, abandonment_cell,
            [AbandonmentCell(pages, self.suppressed) for pages in every
             if pages.vertical == LOCATION],
            abandonment_cells.VERSION, abandonment_cells.RESULT, label=_name_cell,
        )  # fmt: skip

    def rows(self, results: Results) -> list[Row]:
        """Return a row per number."""
        return [
            row
            for stage, read in ((_CORRELATIONS, correlation_rows), (_EXPERIMENT, abandonment_rows))
            for cell, result in results[stage]
            for row in read(cell, result)
        ]

    def report(self, rows: list[Row]) -> Report:
        """Return the ledger, Tables 1 to 5, the A/B experiment, and what goes beyond the paper."""
        found = PooledRows(rows)
        lines = ledger_lines(federated_ledger(found))
        users, types = kinds_of(found)
        report = Report(
            "Metrics for pages with a vertical block",
            "Which metric of judged pages predicts what users do where a block of news, images, "
            "video or places stands among the web results?",
        )
        report.sections["Ledger of claims"] = ledger_section(lines, RULES)
        report.texts["ledger.md"] = ledger_markdown(lines, RULES)
        first = table_1(found)
        report.tables["Table 1"] = [first]
        printed = [first]
        for vertical in types:
            tables = {
                (user, intent): correlation_table(found, user, vertical, intent)
                for user in users
                for intent in (*INTENTS, ALL)
            }
            report.tables[f"Table {TABLES[vertical]}: {vertical}"] = list(tables.values())
            printed += [tables[user, NAVIGATIONAL] for user in users]
        report.figures["correlations.png"] = (
            "Correlations with UCTR: mean over seeds, with 95% intervals.",
            correlation_picture(found, UCTR),
        )
        report.figures["correlations-rr.png"] = (
            "Correlations with MeanRR: mean over seeds, with 95% intervals.",
            correlation_picture(found, "MeanRR"),
        )
        report.figures["leads.png"] = (
            "Paired differences: how far uFCM, uVCM and the true user's utility are above uUBM.",
            lead_picture(found),
        )
        report.tables["Paired differences"] = [
            lead_table(found, column) for column in (UCTR, *RECIPROCAL)
        ]
        report.figures["attention.png"] = (
            "Attention: the true user's, and what FCM and VCM find in the training sessions.",
            attention_picture(found),
        )
        report.tables["Attention"] = [attention_table(found)]
        if LOCATION in types:
            experiment = abandonment_table(found)
            report.figures["abandonment.png"] = (
                "A/B experiment: sessions without a click, good and bad.",
                abandonment_picture(found),
            )
            report.tables["A/B experiment"] = [experiment]
            report.tables["Bad abandonment only"] = [
                correlation_table(found, user, LOCATION, intent, sessions)
                for sessions in (BAD_ONLY, REFITTED)
                for user in users
                for intent in (*INTENTS, ALL)
            ]
            printed.append(experiment)
        report.tables["What was seen"] = [online_table(found), perplexity_table(found)]
        report.printed = printed
        report.lines = [
            f"{verdict:>40}  {statement}" for statement, verdict, *_ in lines if statement
        ]
        return report


def _name_cell(cell: CorrelationCell | AbandonmentCell) -> str:
    pages = cell.pages
    return f"{pages.vertical}, {pages.user} user, seed {pages.seed}"
