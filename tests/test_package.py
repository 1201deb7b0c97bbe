"""The package as a whole: what can be imported from where, what that costs, and what a wheel holds.

The direction of imports, cycles and the shape of the tree are import-linter's and
``architecture.py``'s (see ``test_architecture.py``); docstrings and relative imports are ruff's.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = sorted(path.parent.name for path in ROOT.glob("*/__init__.py"))


def run_python(code: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run ``code`` in a fresh interpreter, without the paths that pytest added."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    return subprocess.run(
        [sys.executable, "-c", code], cwd=cwd, env=environment, text=True, capture_output=True,
        timeout=120,
    )  # fmt: skip


# What can be imported from where


def test_a_folder_cannot_be_imported_by_its_bare_name_from_the_checkout():
    result = run_python("import envs", cwd=ROOT)
    assert result.returncode != 0
    assert "ImportError: attempted relative import beyond top-level package" in result.stderr


def test_the_package_can_be_imported_from_another_directory(tmp_path):
    result = run_python("import clickgym; print(clickgym.envs.__name__)", cwd=tmp_path)
    assert result.stdout.strip() == "clickgym.envs", result.stderr


def test_no_python_file_lies_beside_the_packages_own_init():
    assert [path.name for path in ROOT.glob("*.py")] == ["__init__.py"]


def test_importing_the_package_imports_no_heavy_optional_library(tmp_path):
    result = run_python("import clickgym, sys; print(*sys.modules)", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    imported = set(result.stdout.split())
    assert "clickgym.envs" in imported
    assert imported & {"torch", "stable_baselines3", "matplotlib", "lightgbm", "numba"} == set()
    # These would take a third of the time of the import: functions that use them import them.
    assert imported & {"scipy.stats", "scipy.optimize", "sklearn"} == set()


# The wheel


def reason_not_to_build() -> str | None:
    if importlib.util.find_spec("build") is None:
        return "the package build is not installed"
    try:
        version = importlib.metadata.version("setuptools")
    except importlib.metadata.PackageNotFoundError:
        return "setuptools is not installed"
    if int(version.split(".")[0]) < 77:
        return f"building without isolation needs setuptools 77, here is {version}"
    return None


@pytest.fixture(scope="module")
def tree_and_wheel(tmp_path_factory) -> tuple[Path, list[str]]:
    """A copy of the tree, and the names in the wheel that is built from it."""
    reason = reason_not_to_build()
    if reason is not None:
        pytest.skip(reason)
    tree, out = tmp_path_factory.mktemp("tree") / "copy", tmp_path_factory.mktemp("wheel")
    top = [*FOLDERS, "tests", "benchmarks", "docs"]
    ignored = shutil.ignore_patterns("__pycache__", ".*", "*.egg-info")
    for name in top:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, tree / name, ignore=ignored)
    for path in ROOT.iterdir():
        if path.is_file():
            shutil.copy(path, tree / path.name)
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out)]
    result = subprocess.run(command, cwd=tree, text=True, capture_output=True, timeout=300)
    assert result.returncode == 0, result.stdout + result.stderr
    (path,) = out.glob("*.whl")
    return tree, zipfile.ZipFile(path).namelist()


@pytest.fixture(scope="module")
def wheel(tree_and_wheel) -> list[str]:
    return tree_and_wheel[1]


def test_a_wheel_holds_the_package_and_its_metadata_only(wheel):
    tops = {name.split("/")[0] for name in wheel}
    assert "clickgym" in tops
    assert [top for top in tops if top != "clickgym" and not top.endswith(".dist-info")] == []


def test_a_wheel_holds_every_module(tree_and_wheel):
    tree, wheel = tree_and_wheel
    modules = [path for name in FOLDERS for path in tree.glob(f"{name}/**/*.py")]
    modules.append(tree / "__init__.py")
    code = {name.removeprefix("clickgym/") for name in wheel if name.endswith(".py")}
    assert code == {path.relative_to(tree).as_posix() for path in modules}


def test_a_wheel_holds_no_tests_benchmarks_or_docs(wheel):
    folders = {folder for name in wheel for folder in name.split("/")[:-1]}
    assert folders & {"tests", "benchmarks", "docs"} == set()


def test_a_wheel_says_that_it_is_typed(wheel):
    assert "clickgym/py.typed" in wheel


def test_a_wheel_holds_every_template_and_shipped_result(tree_and_wheel):
    tree, wheel = tree_and_wheel
    files = [path for name in FOLDERS for path in (tree / name).rglob("*") if path.is_file()]
    others = {path.relative_to(tree).as_posix() for path in files if path.suffix != ".py"}
    assert {Path(name).suffix for name in others} == {".html", ".json", ".parquet"}
    assert others - {name.removeprefix("clickgym/") for name in wheel} == set()
