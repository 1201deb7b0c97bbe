"""What the fits to a log with grades say of naive baselines: claim 1 of the robustness paper."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ...clickmodels import ClickModel
from ...common.storage import write_text
from ...evaluation.reporting.formats import ledger_markdown
from ..claims import ledger_lines
from ..engine.keeping import clear_way
from ..engine.rows import save_rows
from ..robustness.graded_log import (
    NOT_RUN,
    RULES,
    graded_claim,
    graded_rows,
    naive_on_graded_logs,
)
from .kept_logs import kept_logs
from .log_fits import LogFitCell, fitted_to_log

BY_QUERY, LEDGER = "ndcg-by-query.parquet", "ledger.md"


def write_graded(folder: Path, cells: Sequence[LogFitCell]) -> None:
    """Write nDCG by query, and the verdict on claim 1 where both sides of it were fitted."""
    if not cells:
        return
    world, _ = kept_logs(cells[0].logs)
    fits: dict[str, list[tuple[ClickModel, Sequence[int]]]] = {}
    for cell in cells:
        fits.setdefault(cell.model, []).append((fitted_to_log(cell), cell.ties))
    rows = graded_rows("this log", world, fits)
    if rows:
        save_rows(rows, clear_way(folder / BY_QUERY))
    finding = naive_on_graded_logs(rows)
    if finding.numbers != NOT_RUN:
        text = ledger_markdown(ledger_lines([graded_claim(finding)]), RULES)
        write_text(clear_way(folder / LEDGER), text)
