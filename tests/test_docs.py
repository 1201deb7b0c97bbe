"""Every Python block of the README and the docs is run, and the links lead somewhere."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from forked import run_forked
from looping import loop_over

ROOT = Path(__file__).resolve().parent.parent
CLICKS = ROOT / "tests" / "own_clicks.csv"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCKS = [
    pytest.param(code, id=f"{page.relative_to(ROOT)}-{number}")
    for page in PAGES
    for number, code in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL))
]


@pytest.mark.parametrize("code", BLOCKS)
def test_code_block_runs(code, tmp_path):
    shutil.copy(CLICKS, tmp_path / "clicks.csv")  # the table of blocks about a log of one's own
    assert re.search(r"^(import|from) clickgym\b", code, re.MULTILINE)  # it is there already
    run = run_forked(code, tmp_path)
    assert run.returncode == 0, run.stderr


@loop_over(
    ("code", "error"),
    [
        ("print(numpy.pi)", "NameError: name 'numpy' is not defined"),
        ("print(clickgym.data)", "NameError: name 'clickgym' is not defined"),
        ("import warnings\nwarnings.warn('old', DeprecationWarning)", "DeprecationWarning: old"),
    ],
)
def test_a_code_block_that_is_wrong_is_found(code, error, tmp_path):
    run = run_forked(code, tmp_path)
    assert run.returncode == 1
    assert error in run.stderr


@loop_over("page", PAGES)
def test_local_links_exist(page):
    links = re.findall(r"\]\((?!https?:)([^)]+)\)", page.read_text())
    assert [link for link in links if not leads_somewhere(page, link)] == []


def leads_somewhere(page, link):
    """Whether a link's file is there, and the heading that it names."""
    name, _, heading = link.partition("#")
    target = page.parent / name if name else page
    if not heading or not target.exists():
        return target.exists()
    titles = re.findall(r"^#+ (.+)$", target.read_text(), re.MULTILINE)
    slugs = [re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles]
    return heading in slugs


def test_readme_commands_are_make_targets():
    makefile = (ROOT / "Makefile").read_text()
    named = set(re.findall(r"\bmake ([a-z-]+)", (ROOT / "README.md").read_text()))
    assert {"demo", "test"} <= named
    assert [name for name in named if not re.search(rf"^{name}:", makefile, re.MULTILINE)] == []
