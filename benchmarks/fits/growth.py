"""How fitting grows with the log, and what an ensemble costs.

    python benchmarks growth [--json FILE]

The embedded world (1,000 queries; `--docs` candidates a query), the DBN user, the ε-oracle at
T = 0.1. For each number of impressions, in a process of its own so that its peak memory is its own:
the log is made, compressed (`ClickLog.compress`, best of five), and PBM, UBM and DBN are fitted to
the compressed log (best of three); NCM makes one pass over a tenth of its distinct rows, and the
seconds of a whole pass follow (NCM without early stopping costs as much as its distinct rows).
"growth" is the exponent by which seconds grow with distinct rows, from each line to the next.

`--members`: ten members against ten single fits one after the other, to the same log of 100,000
impressions (uniform policy, ten candidates) and to its ten bootstraps; NCM with 4,000 impressions.
"""

from __future__ import annotations

import multiprocessing
import resource
from dataclasses import replace
from typing import Any

import numpy as np
from _measure import Row, Work, new_parser, new_table, save_rows, show, time_in_turn
from rich.table import Table

from clickgym import clickmodels, data, envs, policies
from clickgym.clickmodels import bootstrap_weights, member_seed

SLOTS, ROUNDS, MEMBERS = 10, 3, 10


def best(function: Work, rounds: int = ROUNDS) -> float:
    """Return the seconds of the fastest of some rounds."""
    return time_in_turn({"": function}, rounds)[""]


def measure_size(impressions: int, docs: int, ncm: bool) -> dict[str, float]:
    """Return the numbers of one line of the table."""
    world = data.embedded_world(docs)
    user = clickmodels.true_user("DBN", world)
    policy = policies.logging_policy("epsilon-oracle", world, SLOTS)
    log = envs.collect(world, user, policy, impressions, seed=0)
    line: dict[str, float] = {"impressions": impressions}
    line["compress"] = best(log.compress, 5)
    folded = log.compress()
    del log
    line["rows"] = len(folded)
    for name in ("PBM", "UBM", "DBN"):
        line[name] = best(lambda name=name: clickmodels.fit(name, folded, world))
    line["memory"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    if ncm:
        part = folded[np.random.default_rng(0).permutation(len(folded))[: len(folded) // 10]]
        few = part[:1000]
        fit = lambda log: clickmodels.fit("NCM", log, world, validation=few, epochs=1)  # noqa: E731
        line["NCM"] = 10 * best(lambda: fit(part), 1)
    return line


def measure_members(name: str, log: data.ClickLog, world: data.World) -> dict[str, Any]:
    """Return what ten members and ten single fits cost, in turn."""
    settings: dict[str, Any] = {"epochs": 2} if name == "NCM" else {}
    bootstraps = [
        replace(log, weight=bootstrap_weights(log, member_seed(0, number)))
        for number in range(MEMBERS)
    ]
    rounds = 1 if name == "NCM" else ROUNDS
    clickmodels.fit(name, log[:1000], world, **settings)
    ensemble = best(lambda: clickmodels.fit(name, log, world, members=MEMBERS, **settings), rounds)
    singles = best(
        lambda: [clickmodels.fit(name, log, world, seed=s, **settings) for s in range(MEMBERS)],
        rounds,
    )
    apart = best(
        lambda: [clickmodels.fit(name, one, world, **settings) for one in bootstraps], rounds
    )
    return {"model": name, "ensemble": ensemble, "singles": singles, "bootstraps": apart}


def growth_table(lines: list[dict[str, float]]) -> Table:
    table = new_table(
        "growth: seconds after compression",
        "impressions", "distinct rows", "M impressions/s compressed", "PBM", "UBM", "DBN",
        "NCM, a pass", "peak GiB", "growth of DBN", "of NCM",
    )  # fmt: skip
    for number, line in enumerate(lines):
        exponents = ["", ""]
        if number:
            before = lines[number - 1]
            rows = np.log(line["rows"] / before["rows"])
            exponents = [
                f"{np.log(line[name] / before[name]) / rows:.2f}" if name in line else ""
                for name in ("DBN", "NCM")
            ]
        table.add_row(
            f"{line['impressions']:,.0f}", f"{line['rows']:,.0f}",
            f"{line['impressions'] / line['compress'] / 1e6:.1f}",
            *(f"{line[name]:.2f}" for name in ("PBM", "UBM", "DBN")),
            f"{line['NCM']:.0f}" if "NCM" in line else "",
            f"{line['memory']:.2f}", *exponents,
        )  # fmt: skip
    return table


def members_table(lines: list[dict[str, Any]]) -> Table:
    table = new_table(
        "ten members against ten fits, seconds",
        "model", "ten members", "ten fits to the log", "ratio", "ten fits to bootstraps", "ratio",
    )  # fmt: skip
    for line in lines:
        table.add_row(
            line["model"], f"{line['ensemble']:.2f}", f"{line['singles']:.2f}",
            f"{line['ensemble'] / line['singles']:.2f}", f"{line['bootstraps']:.2f}",
            f"{line['ensemble'] / line['bootstraps']:.2f}",
        )  # fmt: skip
    return table


def main() -> None:
    """Measure, print tables and write them as JSON."""
    parser = new_parser(__doc__)
    parser.add_argument("--docs", type=int, default=10, help="candidates per query")
    parser.add_argument("--sizes", type=int, nargs="+", default=[100_000, 1_000_000, 10_000_000])
    parser.add_argument("--no-ncm", action="store_true", help="leave NCM out")
    parser.add_argument("--members", action="store_true", help="the ensembles' table alone")
    parser.add_argument(
        "--models", nargs="+", help="of the ensembles' table",
        default=["PBM", "UBM", "DBN", "SDBN", "DCM", "CCM", "ARM", "NCM"],
    )  # fmt: skip
    arguments = parser.parse_args()
    lines: list[dict[str, Any]]
    if arguments.members:
        world = data.embedded_world(10)
        user = clickmodels.true_user("DBN", world)
        log = envs.collect(world, user, policies.Uniform(world), 100_000, seed=0)
        lines = [
            measure_members(name, log[:4000] if name == "NCM" else log, world)
            for name in arguments.models
        ]
        show(members_table(lines), 150)
    else:
        context = multiprocessing.get_context("spawn")
        lines = []
        for size in arguments.sizes:
            with context.Pool(1) as pool:
                lines.append(pool.apply(measure_size, (size, arguments.docs, not arguments.no_ncm)))
        show(growth_table(lines), 150)
    key = "model" if arguments.members else "impressions"
    save_rows(arguments.json, [
        Row(f"{line[key]}: {name}", value, "GiB" if name == "memory" else "s")
        for line in lines for name, value in line.items() if name not in (key, "rows")
    ])  # fmt: skip


if __name__ == "__main__":
    main()
