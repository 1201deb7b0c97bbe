"""Everything that a run of the robustness protocol says, written into a folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...evaluation import ResultTable
from ...evaluation.reporting.figures import save_figure
from ...evaluation.reporting.page import (
    figure_section,
    report_page,
    settings_section,
    tables_section,
    write_text,
)
from ..engine.rows import Row, distinct, seeds_said, where
from .conditions import LOGGINGS, USERS
from .ledger import ledger, ledger_markdown, ledger_section
from .protocol_tables import figure_2, protocol_tables
from .relative import relative_table
from .spider import spider
from .strong_shift import is_shifted, shift_table

TITLE = "Robustness of click models to policy shift"
_SPIDER = (
    "log-normalised perplexity (equation 16), near the centre for the best model; background: "
    "user, outer labels: training policy"
)
FIGURES = {  # the files, and what they show
    "figure1.png": f"Figure 1: {_SPIDER}, inner labels: test policy. Where the solid line is "
    "inside the dashed one, a model is more robust than its counterparts.",
    "figure1-ind.png": f"Figure 1, in distribution alone: {_SPIDER}.",
    "figure2.png": "Figure 2: click-through rates of the Top-Down and Max-Reward policies deployed "
    "on the user, and what the models promised.",
}


def write_report(rows: Sequence[Row], folder: str | Path, settings: Mapping[str, Any]) -> Path:
    """Write tables, figures, the ledger and the page that collects them; return the page's path.

    Parameters
    ----------
    rows : sequence of dict
        A cell each: "user", "logging", "model", "seed", "slots" and the numbers of the protocol,
        None where a model cannot have one. The model "oracle" is the user itself. Rows of the
        strong shift ("perplexity_reversed") make tables 3 and 4, the others all the rest.
    folder : path
        For ``tables.md`` and ``report.html``, and unless all rows are of the strong shift for
        ``ledger.md``, ``figure1.png``, ``figure1-ind.png`` and ``figure2.png``; each is replaced as
        a whole.
    settings : dict
        What the page says about how the rows were made.
    """
    _check(rows)
    folder = Path(folder)
    grid = [row for row in rows if not is_shifted(row)]
    shifted = [row for row in rows if is_shifted(row)]
    tables: dict[str, list[ResultTable]] = {}
    sections: dict[str, str] = {}
    if grid:
        sections |= _ledger_and_figures(grid, folder)
        tables["Normalised perplexity"] = [relative_table(grid)]
    if shifted:
        users = distinct(shifted, "user", USERS)
        tables["Strong policy shift"] = [shift_table(shifted, user) for user in users]
    if grid:
        tables |= {f"{user} user": part for user, part in protocol_tables(grid).items()}
    every = [table for part in tables.values() for table in part]
    write_text(folder / "tables.md", "\n".join(table.to_markdown() for table in every))
    sections |= {heading: tables_section(part) for heading, part in tables.items()}
    sections["Settings"] = settings_section(settings)
    page = folder / "report.html"
    write_text(page, report_page(TITLE, _summary(rows), sections))
    return page


def _ledger_and_figures(rows: Sequence[Row], folder: Path) -> dict[str, str]:
    """Write the ledger and the figures; return their sections."""
    claims = ledger(rows)
    figures = (spider(rows), spider(rows, out_of_distribution_too=False), figure_2(rows))
    for name, figure in zip(FIGURES, figures, strict=True):
        save_figure(figure, folder / name)
    write_text(folder / "ledger.md", ledger_markdown(claims))
    sections = {"Ledger of claims": ledger_section(claims)}
    for name, caption in FIGURES.items():
        sections[caption.partition(":")[0]] = figure_section((folder / name).read_bytes(), caption)
    return sections


def _check(rows: Sequence[Row]) -> None:
    if not rows:
        raise ValueError("there are no rows to report on")
    keys = [tuple(row[name] for name in ("user", "logging", "model", "seed")) for row in rows]
    if len(set(keys)) < len(keys):
        twice = next(key for number, key in enumerate(keys) if key in keys[:number])
        raise ValueError(f"rows has a user, logging policy, model and seed twice: {twice}")


def _summary(rows: Sequence[Row]) -> str:
    users, loggings = distinct(rows, "user", USERS), distinct(rows, "logging", LOGGINGS)
    models = distinct(rows, "model")
    seeds = seeds_said(distinct(where(rows, model=model), "seed") for model in models)
    return (
        f"{len(rows)} results: users {', '.join(users)}; logs by {', '.join(loggings)}; models "
        f"{', '.join(models)}; {seeds}. Headings of tables sort them."
    )
