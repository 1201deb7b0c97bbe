"""One self-contained HTML page: settings, ledger, figures and sortable tables.

It opens from disk and asks for nothing else: pictures are inside it, and its content security
policy allows its own script alone. Every text is escaped.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

from ...common.storage import write_whole
from .formats import Shown, html_table
from .tables import ResultTable


def report_page(title: str, summary: str, sections: Mapping[str, str]) -> str:
    """Return the page: sections of HTML under their plain-text headings, with links to them."""
    template = files(__package__).joinpath("report.html").read_text(encoding="utf-8")
    found = re.search(r"<script>(.*?)</script>", template, re.DOTALL)
    assert found is not None
    digest = base64.b64encode(hashlib.sha256(found[1].encode()).digest()).decode()
    parts = list(enumerate(sections.items()))
    return Template(template).substitute(
        title=escape(title),
        summary=escape(summary),
        hash=f"sha256-{digest}",
        links=" ".join(f'<a href="#s{number}">{escape(name)}</a>' for number, (name, _) in parts),
        body="\n".join(
            f'<section id="s{number}"><h2>{escape(name)}</h2>\n{content}</section>'
            for number, (name, content) in parts
        ),
    )


def write_text(path: Path, text: str) -> None:
    """Write a text file, atomically."""
    with write_whole(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def settings_section(settings: Mapping[str, Any]) -> str:
    """Return a table of the settings."""
    rows = [[Shown(name), Shown(_plain(value))] for name, value in settings.items()]
    return html_table(["setting", "value"], rows)


def figure_section(png: bytes, caption: str) -> str:
    """Return a figure with its picture inside."""
    data = base64.b64encode(png).decode()
    text = escape(caption)
    return (
        f'<figure><img alt="{text}" src="data:image/png;base64,{data}">'
        f"<figcaption>{text}</figcaption></figure>\n"
    )


def tables_section(tables: Sequence[ResultTable]) -> str:
    """Return tables one below the other."""
    return "\n".join(table.to_html() for table in tables)


def _plain(value: Any) -> str:
    """Return a setting as text; lists without Python's brackets."""
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
