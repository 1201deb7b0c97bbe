"""The checks of the architecture pass on the tree, and find what is put there on purpose."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
LINT = "import sys; from importlinter.cli import lint_imports_command as lint; sys.exit(lint())"
LATE = "\n\ndef later():\n    from {} import {}\n"


@pytest.fixture
def tree(tmp_path) -> Path:
    """A copy of the package in a folder that has its configuration beside it."""
    package = tmp_path / "clickgym"
    ignored = shutil.ignore_patterns("__pycache__", "results")
    for folder in ROOT.glob("*/__init__.py"):
        shutil.copytree(folder.parent, package / folder.parent.name, ignore=ignored)
    shutil.copy(ROOT / "__init__.py", package)
    shutil.copy(ROOT / "setup.cfg", tmp_path)
    return package


def run(tree: Path, *command: str | Path) -> tuple[int, str]:
    """Run Python on the copy; return its exit code and all that it printed."""
    environment = {**os.environ, "PYTHONPATH": str(tree.parent), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, *command], cwd=tree.parent, env=environment, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120,
    )  # fmt: skip
    return done.returncode, done.stdout


def lint(tree: Path) -> tuple[int, str]:
    return run(tree, "-c", LINT, "--config", "setup.cfg", "--no-cache")


def measure(tree: Path) -> tuple[int, str]:
    return run(tree, ROOT / "tests" / "architecture.py")


def add(path: Path, text: str) -> None:
    path.write_text(path.read_text() + text)


def test_the_tree_passes(tree):
    for code, printed in (lint(tree), measure(tree)):
        assert code == 0, printed


def test_an_import_by_the_name_of_the_package_is_found(tree):
    add(tree / "data" / "candidates.py", LATE.format("clickgym.data.synthetic", "synthetic_world"))
    code, printed = measure(tree)
    assert code == 1
    assert "imports of clickgym by its name, scripts aside: 1\n    data/candidates.py:" in printed


def test_a_cycle_by_a_late_import_is_found(tree):
    add(tree / "data" / "candidates.py", LATE.format(".synthetic", "synthetic_world"))
    code, printed = lint(tree)
    assert code == 1
    assert "No cycles are allowed in clickgym.data." in printed


def test_an_upward_import_is_found(tree):
    add(tree / "data" / "candidates.py", LATE.format("..envs", "collect"))
    code, printed = lint(tree)
    assert code == 1
    assert "clickgym.data is not allowed to import clickgym.envs" in printed


def test_a_folder_without_a_place_in_the_order_is_found(tree):
    (tree / "attic").mkdir()
    (tree / "attic" / "__init__.py").write_text('"""Nobody knows."""\n')
    code, printed = lint(tree)
    assert code == 1
    assert "- clickgym.attic" in printed


def test_a_cycle_through_a_packages_init_is_found(tree):
    add(tree / "data" / "candidates.py", LATE.format(".", "World"))
    code, printed = measure(tree)
    assert code == 1
    assert "clickgym.data, clickgym.data.candidates" in printed


def test_an_import_for_types_alone_is_no_cycle(tree):
    text = "\n\nfrom typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from . import World\n"
    before = measure(tree)
    add(tree / "data" / "candidates.py", text)
    assert measure(tree) == before


def test_a_wide_folder_is_found(tree):
    for number in range(17):
        (tree / "common" / f"more_{number}.py").write_text('"""One more."""\n')
    code, printed = measure(tree)
    assert code == 1
    assert "widest folder, models aside: common with" in printed


def test_a_deep_chain_of_models_is_found(tree):
    text = "".join(f"\n\nclass Deeper{n + 1}(Deeper{n}):\n    pass\n" for n in range(5))
    add(tree / "clickmodels" / "pbm.py", "\n\nDeeper0 = PBM\n" + text)
    code, printed = measure(tree)
    assert code == 1
    assert "<- PBM <- Deeper1 <- Deeper2 <- Deeper3 <- Deeper4 <- Deeper5" in printed
