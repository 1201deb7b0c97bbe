"""How long the warning signs take on a log of 1,000,000 impressions: seconds for each.

    python benchmarks warning_signs            (or: make bench)
"""

from __future__ import annotations

import time

from _measure import Row, new_parser, save_rows

from clickgym import clickmodels, data, envs, evaluation, policies


def main() -> None:
    options = new_parser(__doc__).parse_args()
    world = data.synthetic_world(n_queries=100, n_docs=30)
    user = clickmodels.true_user("DBN", world)
    logging = policies.logging_policy("epsilon-oracle", world)
    log = envs.collect(world, user, logging, 1_000_000, seed=0)
    ensemble = clickmodels.fit("UBM", log, world, members=5)
    ranker = policies.max_reward(ensemble.members[0], world)
    drawn = policies.stochastic(ensemble.relevance(), 0.1, world=world)
    signs = {
        "support": lambda policy: evaluation.support(policy, log, world),
        "concentration": lambda policy: evaluation.concentration(policy, log, world),
        "identifiability": lambda policy: evaluation.identifiability(log),
        "sample_sizes": lambda policy: evaluation.sample_sizes(policy, log, world, logging),
        "members_disagreement": lambda policy: evaluation.members_disagreement(
            ensemble, policy, log, world
        ),
        "rank_calibration": lambda policy: evaluation.rank_calibration(ensemble, log),
        "cmip": lambda policy: evaluation.cmip(ensemble, logging, world),
        "warn": lambda policy: evaluation.warn(policy, log, world, ensemble, logging),
    }
    print(f"{'seconds':22}{'a ranker':>10}{'Plackett-Luce':>15}")
    rows = []
    for name, run in signs.items():
        taken = []
        for policy in (ranker, drawn):
            start = time.perf_counter()
            run(policy)
            taken.append(time.perf_counter() - start)
        print(f"{name:22}{taken[0]:10.2f}{taken[1]:15.2f}", flush=True)
        rows += [Row(f"{name}, ranker", taken[0], "s"), Row(f"{name}, drawn", taken[1], "s")]
    save_rows(options.json, rows)


if __name__ == "__main__":
    main()
