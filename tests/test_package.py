"""The package as a whole: direction of imports, what it installs, what importing it costs."""

from __future__ import annotations

import ast
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
LAYERS = (
    "common", "data", "clickmodels", "policies", "evaluation", "envs", "agents", "studies",
    "scripts",
)  # fmt: skip
FOLDERS = [name for name in LAYERS if (ROOT / name / "__init__.py").is_file()]
MODULES = [path for name in FOLDERS for path in sorted((ROOT / name).rglob("*.py"))]
MODULES_AND_ROOT = [ROOT / "__init__.py", *MODULES]


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


every_module = pytest.mark.parametrize("path", MODULES, ids=name_of)
every_module_and_root = pytest.mark.parametrize("path", MODULES_AND_ROOT, ids=name_of)


def run_python(code: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run ``code`` in a fresh interpreter, without the paths that pytest added."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    return subprocess.run(
        [sys.executable, "-c", code], cwd=cwd, env=environment, text=True, capture_output=True,
        timeout=120,
    )  # fmt: skip


# Imports go one way only


def imported(tree: ast.AST, path: Path) -> list[tuple[int, tuple[str, ...]]]:
    """Every import of the package in a module, at any depth, as (line, path below clickgym)."""
    package = path.parent.relative_to(ROOT).parts  # ("envs",) for envs/collecting.py
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name.split(".") for alias in node.names]
            found += [(node.lineno, tuple(n[1:])) for n in names if n[0] == "clickgym"]
        elif isinstance(node, ast.ImportFrom):
            module = tuple(node.module.split(".")) if node.module else ()
            if node.level:
                start = package[: len(package) - node.level + 1]
            elif module[:1] == ("clickgym",):
                start, module = (), module[1:]
            else:
                continue
            found += [(node.lineno, (*start, *module, alias.name)) for alias in node.names]
    return found


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("from . import checks", [("envs", "checks")]),
        ("from .spaces import Rankings", [("envs", "spaces", "Rankings")]),
        ("from .. import data", [("data",)]),
        ("from ..agents import train", [("agents", "train")]),
        ("def f():\n    from ..agents import train", [("agents", "train")]),
        ("if TYPE_CHECKING:\n    from ..agents import train", [("agents", "train")]),
        ("import clickgym.agents.sb3", [("agents", "sb3")]),
        ("from clickgym import agents", [("agents",)]),
        ("import numpy\nfrom os import path", []),
    ],
)
def test_the_walk_finds(code, expected):
    found = imported(ast.parse(code), ROOT / "envs" / "recording.py")
    assert [target for _, target in found] == expected


@every_module
def test_imports_go_one_way_only(path):
    own = LAYERS.index(path.relative_to(ROOT).parts[0])
    allowed = {*LAYERS[: own + 1], "__version__"}
    wrong = [
        f"{name_of(path)}:{line} imports {'.'.join(target) or 'the package itself'}"
        for line, target in imported(ast.parse(path.read_text()), path)
        if not target or target[0] not in allowed
    ]
    assert wrong == []


@pytest.mark.parametrize(  # scripts are also run as files, so they import clickgym
    "path", [path for path in MODULES_AND_ROOT if path.parent.name != "scripts"], ids=name_of
)
def test_imports_of_the_package_are_relative_outside_scripts(path):
    absolute = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            absolute += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            absolute.append(node.module)
    own = {"clickgym", *LAYERS}
    assert [name for name in absolute if name.split(".")[0] in own] == []


def test_every_folder_of_code_has_its_place_in_the_order():
    folders = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    assert folders <= set(LAYERS)


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


@pytest.fixture(scope="module")
def modules_after_import(tmp_path_factory) -> set[str]:
    """Everything that a fresh interpreter has imported after ``import clickgym``."""
    code = "import clickgym, sys; print(*sys.modules)"
    result = run_python(code, cwd=tmp_path_factory.mktemp("elsewhere"))
    assert result.returncode == 0, result.stderr
    return set(result.stdout.split())


@pytest.mark.parametrize("name", ["torch", "stable_baselines3", "matplotlib", "lightgbm"])
def test_importing_the_package_does_not_import(name, modules_after_import):
    assert "clickgym.envs" in modules_after_import
    assert name not in modules_after_import


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


@pytest.mark.parametrize("folder", ["tests", "benchmarks", "docs"])
def test_a_wheel_does_not_hold(wheel, folder):
    assert [name for name in wheel if folder in name.split("/")] == []


def test_a_wheel_says_that_it_is_typed(wheel):
    assert "clickgym/py.typed" in wheel


def test_a_wheel_holds_the_reports_template(wheel):
    assert "clickgym/evaluation/reporting/report.html" in wheel


# Docstrings


def is_overload(node: ast.AST) -> bool:
    """Whether a function is one of several signatures; the last one has the docstring."""
    decorators = getattr(node, "decorator_list", [])
    return any(ast.unparse(decorator).endswith("overload") for decorator in decorators)


@every_module_and_root
def test_a_module_has_a_docstring(path):
    assert ast.get_docstring(ast.parse(path.read_text()))


@every_module_and_root
def test_public_classes_and_functions_have_docstrings(path):
    kinds = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    places = [ast.parse(path.read_text())]
    missing = []
    while places:
        for node in places.pop().body:
            if isinstance(node, kinds) and not (node.name.startswith("_") or is_overload(node)):
                if ast.get_docstring(node) is None:
                    missing.append(f"{name_of(path)}:{node.lineno} {node.name}")
                if isinstance(node, ast.ClassDef):
                    places.append(node)
    assert missing == []
