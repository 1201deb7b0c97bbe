"""How fast ranking metrics on non-shuffled traffic are: pairs of a log, and scoring functions.

    python benchmarks counterfactual            (or: make bench)

One thread. A million impressions of ten products out of thirty, 1,000 queries, 200,000 distinct
sets of products, 5% of the products clicked. The marginals of the logging policy are computed once
for each distinct pair of query and set that has a click.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from _measure import Row, judge, new_parser, new_table, save_rows, show, time_in_turn

from clickgym import data, evaluation, policies

IMPRESSIONS, SETS, QUERIES, DOCUMENTS, SLOTS, FUNCTIONS = 1_000_000, 200_000, 1_000, 30, 10, 40
BOTH, MANY = "both metrics of one function", f"both metrics of {FUNCTIONS} functions"
BARS = {BOTH: 30.0}


def make_log() -> tuple[data.ClickLog, policies.Policy]:
    """A log whose pages show one of 200,000 sets each, in any order, and its policy."""
    rng = np.random.default_rng(0)
    policy = policies.PlackettLuce(rng.gamma(1.0, size=(QUERIES, DOCUMENTS)) + 0.05, slots=SLOTS)
    query = rng.integers(0, QUERIES, SETS)
    pages = policy.sample(query, rng)
    row = rng.integers(0, SETS, IMPRESSIONS)
    ranking = rng.permuted(pages[row], axis=1)
    return data.ClickLog(query[row], ranking, rng.random(ranking.shape) < 0.05), policy


def metric_works(log: data.ClickLog, policy: policies.Policy) -> dict[str, Callable[[], object]]:
    """Both metrics from the log on, and of many functions."""
    functions = list(np.random.default_rng(1).normal(size=(FUNCTIONS, QUERIES, DOCUMENTS)))

    def both(number: int) -> Callable[[], object]:
        def work() -> object:
            pairs = evaluation.naive_pairs(log), evaluation.counterfactual_pairs(log, policy)
            return [one.disagreements(functions[:number]) for one in pairs]

        return work

    pairs = evaluation.counterfactual_pairs(log, policy)
    return {
        BOTH: both(1),
        MANY: both(FUNCTIONS),
        "naive pairs of the log": lambda: evaluation.naive_pairs(log),
        "counterfactual pairs of the log": lambda: evaluation.counterfactual_pairs(log, policy),
        "one more function on counterfactual pairs": lambda: pairs.disagreement(functions[0]),
        "pairs to learn from": pairs.preferences,
    }


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("--rounds", type=int, default=2, help="best of so many rounds")
    options = parser.parse_args()
    log, policy = make_log()
    table = new_table(
        f"Ranking metrics, {IMPRESSIONS:,} impressions", "work", "seconds", "bar", left=("seconds",)
    )
    rows = []
    for name, seconds in time_in_turn(metric_works(log, policy), options.rounds).items():
        table.add_row(name, f"{seconds:.2f}", judge(seconds, BARS.get(name), "seconds"))
        rows.append(Row(name, seconds, "s"))
    show(table)
    save_rows(options.json, rows)


if __name__ == "__main__":
    main()
