"""Does a fitted model find the user again? Every structure on its own user's clicks.

    python benchmarks recovery

1,000,000 impressions of uniform rankings of the embedded world with ten documents a query, tables
fitted with the defaults, perplexity on 50,000 other pages. The error of examination is relative,
after dividing by the first rank's, and weighted by how often each cell occurred.
"""

from __future__ import annotations

import time

import numpy as np
from _measure import Row, new_parser, save_rows

from clickgym import clickmodels, data, envs, evaluation, policies

IMPRESSIONS, TEST_PAGES = 1_000_000, 50_000


def examination_error(name: str, model, user, log: data.ClickLog) -> float:
    """Return the weighted mean relative error of the examination table."""
    ranks = np.arange(log.slots)
    cells = np.broadcast_to(ranks, log.clicks.shape)
    if name == "UBM":  # by rank and by the rank of the latest click above, 0 without one
        latest = np.maximum.accumulate(np.where(log.clicks, ranks + 1, 0), axis=1)
        cells = ranks * log.slots + np.pad(latest, ((0, 0), (1, 0)))[:, :-1]
    weight = np.bincount(cells.ravel(), minlength=user.examination.size)
    ours = (model.examination / model.examination.flat[0]).ravel()
    theirs = (user.examination / user.examination.flat[0]).ravel()
    return float(np.average(np.abs(ours / theirs - 1.0), weights=weight))


def main() -> None:
    options = new_parser(__doc__).parse_args()
    rows = []
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
        rows += [Row(f"{name}: perplexity", fitted, ""), Row(f"{name}: fit", seconds, "s")]
    save_rows(options.json, rows)


if __name__ == "__main__":
    main()
