"""What ratings of the size of MovieLens 1M cost: seconds and memory, from the file to the clicks.

    python benchmarks ratings            (or: make bench)

About a million synthetic ratings, 6,040 users of 3,706 items, are made, written as a file of
MovieLens 1M and read again, split, and become a world with its fingerprint and the seven true
users; then each user's click-through rate on the most popular items is computed, exactly and by 25
simulated repetitions. Memory is that of the process after each step, and the most that it had
until then.
"""

from __future__ import annotations

import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from _measure import Row, new_parser, new_table, save_rows, show

from clickgym import clickmodels, data, policies

SLOTS, REPETITIONS = 10, 25


def write_file(ratings: data.Ratings, path: Path) -> None:
    """Write ratings as MovieLens 1M has them."""
    users, items = ratings.user_ids[ratings.user], ratings.item_ids[ratings.item]
    with path.open("w") as file:
        file.writelines(
            f"{user}::{item}::{rating}::978300760\n"
            for user, item, rating in zip(users, items, ratings.rating, strict=True)
        )


def memory() -> tuple[float, float]:
    """Return the megabytes that the process has, and the most that it had."""
    now = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    return now / 1e6, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("--users", type=int, default=6040)
    parser.add_argument("--items", type=int, default=3706)
    options = parser.parse_args()
    rows: list[Row] = []
    shown = new_table("ratings", "step", "seconds", "MB after it", "most MB so far")

    def step(name: str, work: Callable[[], Any]) -> Any:
        start = time.perf_counter()
        result = work()
        took = time.perf_counter() - start
        now, most = memory()
        rows.extend([Row(name, took, "s"), Row(f"{name}, most memory", most, "MB")])
        shown.add_row(name, f"{took:.2f}", f"{now:,.0f}", f"{most:,.0f}")
        return result

    step("start", lambda: None)
    ratings = step("make", lambda: data.synthetic_ratings(options.users, options.items))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ratings.dat"
        write_file(ratings, path)
        ratings = step("read", lambda: data.load_movielens(folder))
    train, test = step("split", lambda: ratings.split(0.8, seed=0))
    world = step("world", lambda: test.world(train))
    step("its fingerprint", lambda: world.fingerprint)
    names = clickmodels.user_names("ratings")
    users = step("seven users", lambda: [clickmodels.true_user(name, world) for name in names])
    query, rng = np.arange(world.n_queries), np.random.default_rng(0)
    ranking = step(
        "most popular items",
        lambda: policies.recommender("popularity", train, world, SLOTS).greedy(query),
    )
    step("exact rates", lambda: [user.expected_clicks(query, ranking).mean() for user in users])
    step(
        f"{REPETITIONS} repetitions",
        lambda: [user.sample(query, ranking, rng).sum() for user in users * REPETITIONS],
    )
    show(shown)
    save_rows(options.json, rows)


if __name__ == "__main__":
    main()
