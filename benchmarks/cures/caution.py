"""What caution costs: posteriors beside bare fits, careful searches beside plain ones.

    python benchmarks caution
    python benchmarks caution --models NCM

Each model is fitted to 100,000 impressions of a CoCM user under an epsilon-oracle, 100 queries of
30 candidates. Fits of tables: the search for the parameters alone, the whole fit with its
posterior, the same with an informed prior, and the model at a lower quantile. Searches: Max-Reward
inside the plain fit, inside the informed one, and the careful one inside the latter, promise
included. Processor time, the best of ``--rounds`` taken in turn.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable

from _measure import Row, new_parser, new_table, save_rows, show, time_in_turn

from clickgym import clickmodels, data, envs, policies
from clickgym.clickmodels.registry import registered_class

MODELS = ("PBM", "UBM", "DBN", "NCM")
FIT_BAR, SEARCH_BAR = 2.0, 1.5  # times the work without caution, at most
SETTINGS = {"epochs": 3}  # of networks: the searches are what is timed


def hold_to(ratio: float, bar: float) -> str:
    """Return the ratio and whether it meets its bar."""
    return f"{ratio:.2f} ({bar:g} {'met' if ratio <= bar else 'MISSED'})"


def time_fits(name: str, log: data.ClickLog, world: data.World, rounds: int) -> dict[str, float]:
    """Return the seconds of what is added to the search for the parameters of a table fit."""
    fit = registered_class(name).table_fit

    def search() -> None:
        fold = fit.fold(log, world)
        fit.arguments(fold, fit.search(fold, fold.whole, 0, None), world)

    fitted = clickmodels.fit(name, log, world)
    works: dict[str, Callable[[], object]] = {
        "parameters alone": search,
        "with posterior": lambda: clickmodels.fit(name, log, world),
        "informed prior": lambda: clickmodels.fit(name, log, world, prior="exposure"),
        "lower(0.16)": lambda: fitted.lower(0.16),
    }
    return time_in_turn(works, rounds, clock=time.process_time)


def time_searches(
    name: str, log: data.ClickLog, world: data.World, rounds: int
) -> dict[str, float]:
    """Return the seconds of searches for the best rankings, without caution and with it."""
    settings = SETTINGS if registered_class(name).table_fit is None else {}
    models = clickmodels.fit_priors(name, log, world, ("plain", "exposure"), **settings)

    def search(prior: str, pessimism: float | str) -> Callable[[], object]:
        def work() -> object:  # in a copy, which has worked nothing out yet
            return policies.max_reward(copy.deepcopy(models[prior]), world, pessimism=pessimism)

        return work

    works = {
        "plain": search("plain", 0), "informed": search("exposure", 0),
        "careful": search("exposure", "auto"),
    }  # fmt: skip
    return time_in_turn(works, rounds, clock=time.process_time)


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("--models", nargs="+", default=MODELS)
    parser.add_argument("--pages", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    world = data.synthetic_world(n_queries=100, n_docs=30, seed=0)
    user = clickmodels.true_user("CoCM", world)
    logging = policies.logging_policy("epsilon-oracle", world)
    log = envs.collect(world, user, logging, options.pages, seed=0)
    rows = []
    heads: tuple[str, ...] = ("parameters alone", "with posterior", "informed prior", "lower(0.16)")
    table = new_table("Fits, seconds", "model", *heads, "posterior and lower / alone")
    for name in options.models:
        if registered_class(name).table_fit is None:
            continue
        seconds = time_fits(name, log, world, options.rounds)
        ratio = (seconds["with posterior"] + seconds["lower(0.16)"]) / seconds["parameters alone"]
        rows.append(Row(f"{name}: fit with posterior and lower", ratio, "× parameters alone"))
        texts = [f"{value:.3f}" for value in seconds.values()]
        table.add_row(name, *texts, hold_to(ratio, FIT_BAR))
    show(table)
    heads = "plain", "informed", "careful", "careful / plain"
    table = new_table("Max-Reward, seconds", "model", *heads)
    for name in options.models:
        seconds = time_searches(name, log, world, options.rounds)
        ratio = seconds["careful"] / seconds["plain"]
        rows.append(Row(f"{name}: careful search", ratio, "× plain search"))
        texts = [f"{value:.3f}" for value in seconds.values()]
        table.add_row(name, *texts, hold_to(ratio, SEARCH_BAR))
    show(table)
    save_rows(options.json, rows)


if __name__ == "__main__":
    main()
