"""Does a fitted model find the user again? Every structure on its own user's clicks.

    python benchmarks/recovery.py

1,000,000 impressions of uniform rankings of the embedded world with ten documents a query, tables
fitted with the defaults, perplexity on 50,000 other pages. The error of examination is relative,
after dividing by the first rank's, and weighted by how often each cell occurred.
"""

from __future__ import annotations

import time

import numpy as np

from clickgym import clickmodels, data, envs, evaluation, policies
from clickgym.clickmodels.tablefit.cells import cell_numbers, latest_cells, rank_cells

IMPRESSIONS, TEST_PAGES = 1_000_000, 50_000


def examination_error(name: str, model, user, log: data.ClickLog) -> float:
    """Return the weighted mean relative error of the examination table."""
    cells = rank_cells if name == "PBM" else latest_cells
    weight = np.bincount(cell_numbers(cells, log.clicks).ravel(), minlength=user.examination.size)
    ours = (model.examination / model.examination.flat[0]).ravel()
    theirs = (user.examination / user.examination.flat[0]).ravel()
    return float(np.average(np.abs(ours / theirs - 1.0), weights=weight))


def main() -> None:
    world = data.synthetic_world(n_docs=10)
    policy = policies.Uniform(world)
    print("| model | oracle's perplexity | fitted | excess | parameter error | seconds |")
    print("|---|---|---|---|---|---|")
    for name in ("PBM", "UBM", "DBN"):
        user = clickmodels.true_user(name, world)
        log = envs.collect(world, user, policy, IMPRESSIONS, seed=0)
        test = envs.collect(world, user, policy, TEST_PAGES, seed=1)
        start = time.perf_counter()
        model = clickmodels.fit(name, log, world)
        seconds = time.perf_counter() - start
        oracle = evaluation.perplexity(user, test).mean
        fitted = evaluation.perplexity(model, test).mean
        if name == "DBN":
            error = f"continuation {abs(model.continuation / user.continuation - 1):.2%}"
        else:
            error = f"examination {examination_error(name, model, user, log):.2%}"
        print(
            f"| {name} | {oracle:.4f} | {fitted:.4f} | {fitted / oracle - 1:.3%} | {error} "
            f"| {seconds:.1f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
