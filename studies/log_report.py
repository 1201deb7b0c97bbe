"""What click models make of a log, as one page: tables 1, 2 and 5 to 8 of the paper."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .judging import Judged, paper_tables
from .report import figure_section, report_page, settings_section, tables_section, write_text

TITLE = "Click models on a log"
NO_GRADES = "The log has no grades, so there is no nDCG and no recall."


def write_log_report(
    judged: Judged, folder: str | Path, settings: Mapping[str, Any], pictures: Mapping[str, str]
) -> Path:
    """Write ``report.html``; return its path.

    Parameters
    ----------
    settings : dict
        What the page says about how the tables were made.
    pictures : dict of str
        Files in ``folder`` that the page shows, with their captions.
    """
    folder = Path(folder)
    sections = {"Tables": tables_section(paper_tables(judged))}
    for name, caption in pictures.items():
        sections[caption] = figure_section((folder / name).read_bytes(), caption)
    sections["Settings"] = settings_section(settings)
    summary = f"Models {', '.join(judged.models)}. Headings of tables sort them."
    if judged.grades is None:
        summary += f" {NO_GRADES}"
    page = folder / "report.html"
    write_text(page, report_page(TITLE, summary, sections))
    return page
