"""Everything that a run of the robustness protocol says, written into a folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...evaluation.reporting.formats import ledger_markdown
from ...evaluation.reporting.page import ledger_section
from ..claims import ledger_lines
from ..constants import LOGGINGS, USERS
from ..engine.rows import Row, describe_seeds, distinct, where
from ..study import Report
from .ledger import RULES, ledger
from .protocol_tables import figure_2, is_shifted, protocol_tables, shift_table
from .relative import relative_table
from .spider import spider

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
        See ``make_report``.
    folder : path
        For ``tables.md`` and ``report.html``, and unless all rows are of the strong shift for
        ``ledger.md``, ``figure1.png``, ``figure1-ind.png`` and ``figure2.png``; each is replaced as
        a whole.
    settings : dict
        What the page says about how the rows were made.
    """
    return make_report(rows).write(Path(folder), settings)


def make_report(rows: Sequence[Row]) -> Report:
    """Return what the rows say.

    Parameters
    ----------
    rows : sequence of dict
        One per cell: "user", "logging", "model", "seed", "slots" and the numbers of the protocol,
        None where a model cannot have one. The model "oracle" is the user itself. Rows of the
        strong shift ("perplexity_reversed") make tables 3 and 4, the others all the rest.
    """
    _check(rows)
    grid = [row for row in rows if not is_shifted(row)]
    shifted = [row for row in rows if is_shifted(row)]
    report = Report(TITLE, _summary(rows))
    if grid:
        lines = ledger_lines(ledger(grid))
        report.sections["Ledger of claims"] = ledger_section(lines, RULES)
        report.texts["ledger.md"] = ledger_markdown(lines, RULES)
        figures = (spider(grid), spider(grid, out_of_distribution_too=False), figure_2(grid))
        for (name, caption), figure in zip(FIGURES.items(), figures, strict=True):
            report.figures[name] = caption, figure
        report.tables["Normalised perplexity"] = [relative_table(grid)]
    if shifted:
        users = distinct(shifted, "user", USERS)
        report.tables["Strong policy shift"] = [shift_table(shifted, user) for user in users]
    if grid:
        report.tables |= {f"{user} user": part for user, part in protocol_tables(grid).items()}
    return report


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
    seeds = describe_seeds(distinct(where(rows, model=model), "seed") for model in models)
    return (
        f"{len(rows)} results: users {', '.join(users)}; logs by {', '.join(loggings)}; models "
        f"{', '.join(models)}; {seeds}. Headings of tables sort them."
    )
