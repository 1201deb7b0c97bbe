"""One self-contained HTML page: settings, ledger, figures and sortable tables.

It opens from disk and asks for nothing else: pictures are inside it, and its content security
policy allows its own script alone. Every text is escaped.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from .formats import LedgerLine, PlainTable, Shown, html_table
from .html_templates import render
from .tables import ResultTable


def report_page(title: str, summary: str, sections: Mapping[str, str]) -> str:
    """Return the page: sections of HTML under their plain-text headings, with links to them."""
    parts = {name: Markup(content) for name, content in sections.items()}
    return render("report.html", title=title, summary=summary, sections=parts)


def settings_section(settings: Mapping[str, Any]) -> str:
    """Return a table of the settings; lists are shown without Python's brackets."""
    texts = {
        name: ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
        for name, value in settings.items()
    }
    rows = [[Shown(name), Shown(text)] for name, text in texts.items()]
    return html_table(["setting", "value"], rows)


def figure_section(png: bytes, caption: str) -> str:
    """Return a figure with its picture inside."""
    return render("figure.html", caption=caption, data=base64.b64encode(png).decode())


def tables_section(tables: Sequence[ResultTable | PlainTable]) -> str:
    """Return tables one below the other."""
    return "\n".join(table.to_html() for table in tables)


def ledger_section(lines: Sequence[LedgerLine], rules: str) -> str:
    """Return a ledger of claims, each above its findings, with the rules of the tests.

    ``lines`` are those of ``formats.ledger_markdown``.
    """
    return render("ledger.html", lines=lines, rules=rules)
