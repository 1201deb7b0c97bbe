"""Run a benchmark by its name, wherever it lies; without a name, list what there is.

    python benchmarks
    python benchmarks agents --seeds 1
    python benchmarks agents --help

Python puts this folder on the path of modules, and worker processes inherit it: so every benchmark
can import ``_measure``.
"""

from __future__ import annotations

import ast
import runpy
import sys
from itertools import groupby
from pathlib import Path

from _rooms import BENCHMARKS


def first_line(path: Path) -> str:
    """Return how a module's docstring begins, without importing the module."""
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return docstring.partition("\n")[0]


def show_list() -> None:
    """Print all benchmarks, room by room, and what each tells."""
    print("python benchmarks NAME [options]; --help after a name explains its options")
    width = max(map(len, BENCHMARKS))
    for room, paths in groupby(BENCHMARKS.values(), lambda path: path.parent):
        print(f"\n{room.name}/  {first_line(room / '__init__.py')}")
        for path in paths:
            print(f"  {path.stem:{width}}  {first_line(path)}")


def main() -> None:
    """Run the benchmark that the command names, with the rest of the command as its options."""
    if sys.argv[1:] in ([], ["-h"], ["--help"]):
        show_list()
        return
    name = sys.argv.pop(1)
    if name not in BENCHMARKS:
        sys.exit(f"There is no benchmark {name!r}, but there are: {', '.join(BENCHMARKS)}")
    runpy.run_path(str(BENCHMARKS[name]), run_name="__main__")


if __name__ == "__main__":
    main()
