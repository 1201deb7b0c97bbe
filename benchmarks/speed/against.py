"""Compare the speed of two trees: a benchmark on each in turn, and the median ratio of each row.

    python benchmarks against OLD_TREE NEW_TREE environments
    python benchmarks against OLD_TREE NEW_TREE growth --rounds 5 -- --no-ncm --sizes 100000

Runs this tree's own benchmark files, so that both trees do the same work, with each tree's own
``.venv`` where it has one. What follows ``--`` goes to the benchmark. Ratios are speeds, the new
tree's by the old one's: above 1 is faster. Exits with 1 if a row is below ``--least``; measure such
a row again alone.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from _measure import Row, load_rows, new_parser, new_table, save_rows, show
from _rooms import BENCHMARKS, HERE


def measure(tree: Path, benchmark: str, arguments: list[str]) -> list[Row]:
    """Return the rows of a benchmark on the package in ``tree``."""
    own = tree / ".venv" / "bin" / "python"
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "clickgym").symlink_to(tree)
        command = [own if own.exists() else sys.executable, HERE, benchmark]
        subprocess.run(
            [*command, "--json", Path(folder) / "rows.json", *arguments],
            env={"OMP_NUM_THREADS": "1", **os.environ, "PYTHONPATH": folder}, cwd=folder,
            stdout=subprocess.DEVNULL, check=True,
        )  # fmt: skip
        return load_rows(Path(folder) / "rows.json")


def compare(old: list[list[Row]], new: list[list[Row]]) -> list[tuple[Row, Row, float]]:
    """Return each row's median on both trees, and the median over rounds of the ratio of speeds."""
    compared = []
    for place, first in enumerate(old[0]):
        pairs = [(one[place], two[place]) for one, two in zip(old, new, strict=True)]
        for one, two in pairs:
            if (one.name, one.unit, two.name, two.unit) != (first.name, first.unit) * 2:
                raise ValueError(f"the trees' rows differ: {one.name} beside {two.name}")
        faster = first.unit.endswith("/s")
        ratios = [two.value / one.value if faster else one.value / two.value for one, two in pairs]
        sides = zip(*pairs, strict=True)
        medians = [first._replace(value=median(row.value for row in side)) for side in sides]
        compared.append((medians[0], medians[1], median(ratios)))
    return compared


def main() -> int:
    parser = new_parser(__doc__)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("benchmark", choices=[name for name in BENCHMARKS if name != "against"])
    parser.add_argument("--rounds", type=int, default=5, help="alternating runs of each tree")
    parser.add_argument("--least", type=float, default=0.9, help="the lowest ratio that is well")
    given, own = list(sys.argv[1:]), []
    if "--" in given:
        place = given.index("--")
        given, own = given[:place], given[place + 1 :]
    options = parser.parse_args(given)
    sides: tuple[list[list[Row]], list[list[Row]]] = ([], [])
    for number in range(1, options.rounds + 1):
        for tree, side in zip((options.old, options.new), sides, strict=True):
            side.append(measure(tree.resolve(), options.benchmark, own))
        print(f"round {number} of {options.rounds}", file=sys.stderr, flush=True)
    rows = compare(*sides)
    title = f"{options.benchmark}: median of {options.rounds} alternating runs"
    table = new_table(title, "row", "unit", "old", "new", "speed, new by old", "", left=("unit",))
    for old, new, ratio in rows:
        note = "" if ratio >= options.least else f"below {options.least:g}"
        table.add_row(old.name, old.unit, f"{old.value:,.5g}", f"{new.value:,.5g}",
                      f"{ratio:.2f}", note)  # fmt: skip
    show(table, 130)
    save_rows(options.json, [Row(old.name, ratio, "new by old") for old, _, ratio in rows])
    return int(any(ratio < options.least for *_, ratio in rows))


if __name__ == "__main__":
    sys.exit(main())
