"""The shape of the house, in numbers: its widest folder, its deepest model, how modules import.

``make check`` runs it, and fails where a bound is broken; ``test_architecture.py`` tests it.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from pathlib import Path

import grimp

import clickgym
from clickgym.clickmodels import ClickModel

ROOT = Path(clickgym.__file__).resolve().parent
ROOMS = (
    "common", "data", "clickmodels", "policies", "evaluation", "envs", "agents", "studies",
    "scripts",
)  # fmt: skip
MOST_MODULES, MOST_DEPTH = 16, 2


def folder_widths(root: Path = ROOT) -> Counter[str]:
    """Return the number of modules by folder; ``clickmodels`` has its models and is left out."""
    widths: Counter[str] = Counter()
    for room in ROOMS:
        for path in (root / room).rglob("*.py"):
            folder = path.parent.relative_to(root).as_posix()
            if path.name != "__init__.py" and folder != "clickmodels":
                widths[folder] += 1
    return widths


def deepest_model() -> tuple[int, list[str], list[str]]:
    """Return the longest chain of clickgym's own classes below ``ClickModel``, and its mixins.

    Mixins are the last class's other parents of the package, ``WithAttractiveness`` for one. They
    do not count: they are parts that a model is composed of, and know no ``ClickModel``.
    """
    pairs: list[tuple[list[type], type]] = [([ClickModel], ClickModel)]
    for chain, cls in pairs:
        for child in cls.__subclasses__():
            if child.__module__.startswith("clickgym."):
                pairs.append(([*chain, child], child))
    longest = max((chain for chain, _ in pairs), key=len)
    known = {*longest, *ClickModel.__mro__}
    mixins = [cls.__name__ for cls in longest[-1].__mro__ if cls not in known]
    return len(longest) - 1, [cls.__name__ for cls in longest], mixins


def cyclic_modules(package: str = "clickgym") -> list[list[str]]:
    """Return groups of modules that import each other in a circle, late imports included.

    A package's ``__init__`` counts as a module here, which import-linter's contract leaves out.
    """
    graph = grimp.build_graph(package, exclude_type_checking_imports=True, cache_dir=None)
    return strongly_connected(
        {name: graph.find_modules_directly_imported_by(name) for name in graph.modules}
    )


def absolute_imports(root: Path = ROOT) -> list[str]:
    """Return the lines that import clickgym by its name where imports are relative.

    Scripts may: they are also run as files. (Ruff cannot tell the two apart in a clone that is
    called clickgym.)
    """
    found = []
    for room in ROOMS:
        for path in sorted((root / room).rglob("*.py")) if room != "scripts" else ():
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
                if isinstance(node, ast.ImportFrom) and node.level == 0:
                    names = [node.module or ""]
                if any(name.split(".")[0] == "clickgym" for name in names):
                    found.append(f"{path.relative_to(root).as_posix()}:{node.lineno}")
    return found


def strongly_connected(imports: dict[str, set[str]]) -> list[list[str]]:
    """Return the groups of more than one name in which each reaches all others (Tarjan 1972)."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    groups = []

    def visit(name: str) -> None:
        order[name] = low[name] = len(order)
        stack.append(name)
        for target in imports.get(name, ()):
            if target not in order:
                visit(target)
                low[name] = min(low[name], low[target])
            elif target in stack:
                low[name] = min(low[name], order[target])
        if low[name] == order[name]:
            group = stack[stack.index(name) :]
            del stack[stack.index(name) :]
            if len(group) > 1 or name in imports.get(name, ()):
                groups.append(sorted(group))

    for name in sorted(imports):
        if name not in order:
            visit(name)
    return groups


def main() -> int:
    """Print the numbers; 1 where one is out of bounds."""
    (folder, modules), *_ = folder_widths().most_common(1)
    depth, chain, mixins = deepest_model()
    cycles, absolute = cyclic_modules(), absolute_imports()
    print(f"widest folder, models aside: {folder} with {modules} modules (at most {MOST_MODULES})")
    print(f"longest chain below ClickModel: {depth}, {' <- '.join(chain)} (at most {MOST_DEPTH})")
    print(f"mixins of that model, which the chain leaves out: {', '.join(mixins) or 'none'}")
    print(f"cycles of imports, __init__ files included: {len(cycles)}")
    for cycle in cycles:
        print("   ", ", ".join(cycle))
    number = f"imports of clickgym by its name, scripts aside: {len(absolute)}"
    print(number, *absolute, sep="\n    ")
    return int(modules > MOST_MODULES or depth > MOST_DEPTH or bool(cycles or absolute))


if __name__ == "__main__":
    sys.exit(main())
