"""Pages of reports: escaping, the content security policy, and ledgers of claims."""

from __future__ import annotations

import base64
import hashlib
import re

from clickgym.evaluation.reporting.formats import PlainTable, ledger_markdown
from clickgym.evaluation.reporting.page import (
    figure_section,
    ledger_section,
    report_page,
    settings_section,
    tables_section,
)

EVIL = """<script>alert("it's")</script>"""
LINES = [
    (f"1. {EVIL} (section 2)", "does not hold", "", ""),
    ("", "holds", f"tested {EVIL}", "0.1 [0.0, 0.2]"),
    ("", "undecided", "tested too", f"numbers {EVIL}"),
]


def evil_page() -> str:
    table = PlainTable(EVIL, f"name {EVIL}", [f"heading {EVIL}"], legend=f"legend {EVIL}")
    table.add(f"row {EVIL}", [f"cell {EVIL}"])
    sections = {
        f"Ledger {EVIL}": ledger_section(LINES, f"rules {EVIL}"),
        "Tables": tables_section([table, table]),
        "Figure": figure_section(b"png", f"caption {EVIL}"),
        "Settings": settings_section({f"setting {EVIL}": [f"value {EVIL}", 2]}),
    }
    return report_page(f"title {EVIL}", f"summary {EVIL}", sections)


def test_every_text_is_escaped():
    page = evil_page()
    escaped = "&lt;script&gt;alert(&#34;it&#39;s&#34;)&lt;/script&gt;"
    assert page.count("<script>") == page.count("</script>") == 1
    assert "alert(\"" not in page
    for text in (
        "1.", "tested", "numbers", "rules", "name", "heading", "legend", "row", "cell", "caption",
        "setting", "value", "title", "summary", "Ledger",
    ):  # fmt: skip
        assert f"{text} {escaped}" in page, text


def test_the_content_security_policy_allows_the_pages_own_script_alone():
    page = evil_page()
    script = re.search(r"<script>(.*?)</script>", page, re.DOTALL)[1]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)[1]
    assert policy == (
        "default-src 'none'; img-src data:; style-src 'unsafe-inline'; "
        f"script-src 'sha256-{digest}'"
    )


def test_links_lead_to_the_sections():
    page = evil_page()
    assert re.findall(r'<a href="#(s\d)">', page) == re.findall(r'<section id="(s\d)">', page)


def test_a_ledger_has_each_claim_above_its_findings():
    section = ledger_section([("1. A claim", "holds", "", ""), ("", "holds", "a", "b")], "Rules.")
    verdict = '<td><span class="verdict holds">holds</span></td></tr>'
    claim = f'<tr class="claim"><th colspan="2">1. A claim</th>{verdict}'
    assert f"{claim}<tr><td>a</td><td>b</td>{verdict}" in section
    assert 'class="verdict does-not-hold">does not hold<' in ledger_section(LINES, "")


def test_a_ledger_in_markdown_has_a_line_per_claim_and_finding():
    text = ledger_markdown(LINES, "The rules.")
    assert text.startswith("| claim | verdict | tested | numbers |\n")
    assert text.count("\n|") == 1 + len(LINES)
    assert text.endswith("\n\nThe rules.\n")
