"""Benchmarks are found and run by their names, and those that the docs name are there."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

from _rooms import BENCHMARKS, HERE
from looping import loop_over
from speed import against

ROOT = HERE.parent
TEXTS = [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "Makefile"]
TEXTS += [path for kind in ("docs/**/*.md", "benchmarks/**/*.py") for path in ROOT.glob(kind)]


def run(*words: str | Path, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Run ``python benchmarks`` with these words in ``folder``."""
    return subprocess.run(
        [sys.executable, HERE, *words], cwd=folder, text=True, capture_output=True, timeout=120
    )


def test_no_two_benchmarks_have_one_name():
    assert len(list(HERE.glob("*/[!_]*.py"))) == len(BENCHMARKS) > 20


def test_no_room_is_too_full():
    assert max(Counter(path.parent for path in BENCHMARKS.values()).values()) <= 15


@loop_over("name", BENCHMARKS)
def test_every_benchmark_can_write_its_rows(name):
    assert re.search(r"save_rows\((options|arguments)\.json", BENCHMARKS[name].read_text())


@loop_over("words", [(), ("--help",)])
def test_without_a_name_all_are_listed_in_their_rooms(words):
    lines = run(*words).stdout.splitlines()
    listed = [line.split()[0] for line in lines if line.startswith("  ")]
    rooms = {line.split("/")[0] for line in lines if re.match(r"\w+/  \w", line)}
    assert listed == list(BENCHMARKS)
    assert rooms == {path.parent.name for path in BENCHMARKS.values()}
    assert re.search(r"\n  recovery +Does a fitted model find the user", "\n".join(lines))


def test_a_name_that_is_not_there_is_an_error_that_says_which_are():
    done = run("enviroments")
    assert done.returncode == 1
    assert done.stderr.startswith("There is no benchmark 'enviroments', but there are: ")
    assert "environments" in done.stderr


def test_help_is_that_of_the_benchmark(tmp_path):
    done = run("given_set", "--help", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("usage: python benchmarks given_set [-h] [--json JSON]\n")
    assert "How fast rank marginals given the displayed set are" in done.stdout


def test_a_tree_is_measured_by_a_benchmark_that_starts_processes():
    rows = against.measure(ROOT, "growth", ["--sizes", "300", "--no-ncm"])
    assert "300: PBM" in {row.name for row in rows}


def test_benchmarks_that_docs_and_docstrings_name_are_there():
    text = "\n".join(path.read_text() for path in TEXTS)
    assert set(re.findall(r"\bpython\s+benchmarks ([a-z]\w*)", text)) == set(BENCHMARKS)
    files = re.findall(r"\bbenchmarks/[\w/]+\.py", text)
    assert [file for file in files if not (ROOT / file).exists()] == []
