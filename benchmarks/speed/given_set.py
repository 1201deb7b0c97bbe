"""How fast rank marginals given the displayed set are, and orders drawn given it.

    python benchmarks given_set            (or: make bench)

One thread, Plackett-Luce pages as they are drawn, out of three times as many candidates; nearly
all sets are distinct, and equal ones are not folded. Work is timed in turn, round after round; the
best round of each counts. "plain" is a reference of our own: the paper's lemmas as they are
written, page by page with a cache of subsets; nobody else's code. The error is the largest
difference of a row's or column's sum from one, before any normalising.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
from _measure import Row, judge, new_parser, new_table, save_rows, show, time_in_turn

from clickgym import policies

ROUNDS = 5
MARGINALS = {5: 20_000, 10: 5_000, 12: 1_000, 16: 100, 20: 50, 50: 10, 100: 2}  # pages by length
BARS = {"marginals, 10 documents": 10_000, "marginals, 16 documents": 50,
        "marginals, 50 documents": 2, "orders, 10 documents": 50_000}  # fmt: skip


def make_pages(k: int, n: int) -> tuple[policies.PlackettLuce, np.ndarray, np.ndarray]:
    """Return a policy, queries (n,) and the documents (n, k) that it showed, as drawn."""
    rng = np.random.default_rng(k)
    policy = policies.PlackettLuce(np.exp(rng.normal(size=(min(n, 1000), 3 * k))), slots=k)
    query = rng.integers(0, len(policy.weights), n)
    return policy, query, policy.sample(query, rng)


def plain_marginals(weights: np.ndarray, shown: np.ndarray) -> np.ndarray:
    """Lemmas 1 and 2 for one page, as the paper's appendix has them."""
    mine, rest = weights[shown], np.delete(weights, shown).sum()
    k = len(shown)

    def left(subset: frozenset[int]) -> float:
        return rest + sum(mine[j] for j in range(k) if j not in subset)

    @cache
    def first(subset: frozenset[int]) -> float:
        if not subset:
            return 1.0
        before = ((i, subset - {i}) for i in subset)
        return sum(first(smaller) * mine[i] / left(smaller) for i, smaller in before)

    @cache
    def at_rank(subset: frozenset[int], i: int, rank: int) -> float:
        if len(subset) == rank:
            smaller = subset - {i}
            return first(smaller) * mine[i] / left(smaller)
        before = ((j, subset - {j}) for j in subset if j != i)
        return sum(at_rank(smaller, i, rank) * mine[j] / left(smaller) for j, smaller in before)

    whole = frozenset(range(k))
    found = [[at_rank(whole, i, rank + 1) for rank in range(k)] for i in range(k)]
    return np.array(found) / first(whole)


def find_error(marginals: np.ndarray) -> float:
    """Return how far rows and columns are from summing to one."""
    return max(float(np.abs(marginals.sum(axis=axis) - 1.0).max()) for axis in (1, 2))


def make_works() -> tuple[dict[str, Callable[[], object]], dict[str, int], dict[str, float]]:
    """Return the works, how many pages each has, and the errors of marginals."""
    works: dict[str, Callable[[], object]] = {}
    pages: dict[str, int] = {}
    errors: dict[str, float] = {}

    def add(name: str, n: int, work: Callable[[], object]) -> None:
        works[name], pages[name] = work, n

    def marginals_of(k: int, n: int) -> Callable[[], np.ndarray]:
        policy, query, shown = make_pages(k, n)
        return lambda: policies.marginals_given_set(policy, query, shown).probabilities

    def orders_of(k: int, n: int) -> Callable[[], object]:
        policy, query, shown = make_pages(k, n)
        return lambda: policy.sample_given_set(query, shown, np.random.default_rng(0))

    for k, n in MARGINALS.items():
        work = marginals_of(k, n)
        name = f"marginals, {k} documents"
        errors[name] = find_error(work())
        add(name, n, work)
    policy, query, shown = make_pages(8, 1)
    plain = plain_marginals(policy.weights[query[0]], shown[0])
    name = "plain: the lemmas page by page, 8 documents"
    errors[name] = find_error(plain[None])
    add(name, 1, lambda: plain_marginals(policy.weights[query[0]], shown[0]))
    add("marginals, 8 documents", 5_000, marginals_of(8, 5_000))
    for k, n in {10: 50_000, 16: 20_000, 60: 5_000}.items():
        add(f"orders, {k} documents", n, orders_of(k, n))
    return works, pages, errors


def main() -> None:
    options = new_parser(__doc__).parse_args()
    works, pages, errors = make_works()
    table = new_table("Given the displayed set", "work", "pages/s", "bar", "error", left=("bar",))
    rows = []
    for name, seconds in time_in_turn(works, ROUNDS).items():
        rate = pages[name] / seconds
        error = f"{errors[name]:.0e}" if name in errors else ""
        shown = f"{rate:,.0f}" if rate >= 10 else f"{rate:.1f}"
        table.add_row(name, shown, judge(rate, BARS.get(name)), error)
        rows.append(Row(name, rate, "pages/s"))
    show(table)
    save_rows(options.json, rows)


if __name__ == "__main__":
    main()
