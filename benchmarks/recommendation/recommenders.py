"""How long recommenders take to learn and to fill ten places for every user, and their memory.

    python benchmarks recommenders            (or: make bench)

The embedded ratings in the shape of ml-1m: 6,040 users, 3,706 items, about a million ratings, 80%
of them to learn from. Each recommender runs in a process of its own, one thread; its time is all of
``policies.recommender``, compiling by numba included, and its memory is the most that the process
took, ratings and world included. "processor" are the seconds that it would take on a machine
that has nothing else to do. The bars are those of the project, for a quiet machine with two cores.
"""

from __future__ import annotations

import resource
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from _measure import Row, judge, new_parser, new_table, save_rows, show

from clickgym import data, policies

USERS, ITEMS = 6040, 3706
SECONDS = {"popularity": 1.0, "item-based": 60.0, "user-based": 60.0, "mf": 60.0}
GIGABYTES = 1.5


def measure(name: str, users: int, items: int) -> tuple[float, float, float]:
    """Return a recommender's seconds, its processor's seconds, and the gigabytes at its most."""
    train, test = data.synthetic_ratings(users, items, seed=0).split(0.8, seed=0)
    world = test.world(train)
    start, begin = time.perf_counter(), time.process_time()
    policies.recommender(name, train, world)
    seconds, processor = time.perf_counter() - start, time.process_time() - begin
    return seconds, processor, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("--users", type=int, default=USERS)
    parser.add_argument("--items", type=int, default=ITEMS)
    options = parser.parse_args()
    shown = new_table(
        f"policies.recommender, {options.users:,} users and {options.items:,} items",
        "recommender", "seconds", "processor", "bar", "gigabytes", "bar of memory",
    )  # fmt: skip
    rows = []
    for name in policies.recommender_names():
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            found = pool.submit(measure, name, options.users, options.items).result()
        seconds, processor, memory = found
        rows += [Row(name, seconds, "s"), Row(f"{name}, memory", memory, "GB")]
        shown.add_row(
            name, f"{seconds:.2f}", f"{processor:.2f}",
            judge(seconds, SECONDS.get(name), "seconds"), f"{memory:.2f}",
            f"{GIGABYTES} {'met' if memory <= GIGABYTES else 'MISSED'}",
        )  # fmt: skip
    show(shown)
    save_rows(options.json, rows)


if __name__ == "__main__":
    main()
