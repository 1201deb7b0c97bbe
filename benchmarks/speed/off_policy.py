"""How fast off-policy estimates are: pseudoinverse weights, their set-up, importance weights.

    python benchmarks off_policy            (or: make bench)

One thread. Work is timed in turn, round after round; the best round of each counts. "plain" are
references of our own, straight from the definitions (a dense pseudoinverse, a loop over rows), on
less work where they would take too long; they are nobody else's code. Our estimates include the
checks of their input.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
from _measure import Row, judge, new_parser, new_table, save_rows, show, time_in_turn

from clickgym import clickmodels, data, envs, evaluation, policies

ROUNDS, PLAIN_ROWS = 5, 200
BARS = {
    "PI, uniform logging, after set-up": ("samples/s", 2_000_000),
    "marginals and pseudoinverse, α = 1": ("seconds", 0.2),
    "IPS, deterministic target": ("seconds", 0.1),
    "weighted IPS, deterministic target": ("seconds", 0.1),
    "IPS, Plackett-Luce target": ("seconds", 0.1),
    "weighted IPS, Plackett-Luce target": ("seconds", 0.1),
    "IPS, propensities worked out again": ("seconds", 0.1),
}


def clear_caches() -> None:
    """Forget what queries share, so that every round does all the work."""
    for name, module in list(sys.modules.items()):
        if name.startswith("clickgym.policies"):
            for value in list(vars(module).values()):
                if hasattr(value, "cache_clear"):
                    value.cache_clear()


def papers_weights(n_docs: int, alpha: float, n_queries: int = 1) -> np.ndarray:
    """2^(-α ⌊log2 rank⌋) in another order for each query."""
    weights = 2.0 ** (-alpha * np.floor(np.log2(np.arange(1, n_docs + 1))))
    return np.random.default_rng(0).permuted(np.tile(weights, (n_queries, 1)), axis=1)


def pseudoinverse_works(n: int) -> tuple[dict[str, Callable[[], object]], dict[str, int]]:
    """Long pages: 10 of 100 documents, nDCG, 100 queries."""
    world = data.synthetic_world(n_queries=100, n_docs=100)
    logging, target = policies.Uniform(world, slots=10), policies.Ranker(world.gain, slots=10)
    rng = np.random.default_rng(0)
    query = rng.integers(0, world.n_queries, n)
    ranking = logging.sample(query, rng)
    log = data.ClickLog(query, ranking, np.zeros(ranking.shape, dtype=bool))
    rewards = evaluation.slate_rewards("ndcg", log, world)
    weights = evaluation.PseudoinverseWeights(logging, target, query)
    softer = policies.PlackettLuce(papers_weights(100, 1.0, 100), slots=10)
    every = np.arange(100)

    def ours() -> object:
        return evaluation.estimate("pi", log, rewards, logging, target, weights=weights)

    def set_up(policy: policies.Policy) -> Callable[[], object]:
        def work() -> object:
            clear_caches()
            return evaluation.PseudoinverseWeights(policy, target, every)

        return work

    inverse = np.linalg.pinv(policies.slate_marginals(logging, 0)[1].reshape(1000, 1000))
    marginals = [policies.slate_marginals(target, int(q))[0].reshape(-1) for q in every]

    def plain() -> object:
        total = 0.0
        for row in range(PLAIN_ROWS):
            shown = np.zeros((10, 100))
            shown[np.arange(10), ranking[row]] = 1.0
            total += rewards[row] * (marginals[query[row]] @ inverse @ shown.reshape(-1))
        return total

    works = {
        "PI, uniform logging, after set-up": ours,
        "plain PI: dense Γ†, row by row, after set-up": plain,
        "set-up for 100 queries, uniform logging": set_up(logging),
        "set-up for 100 queries, α = 1": set_up(softer),
    }
    samples = {
        "PI, uniform logging, after set-up": n,
        "plain PI: dense Γ†, row by row, after set-up": PLAIN_ROWS,
    }
    return works, samples


def marginals_works() -> dict[str, Callable[[], object]]:
    """One query of 100 documents in 10 slots, 7 distinct weights."""
    policy = policies.PlackettLuce(papers_weights(100, 1.0), slots=10)
    target = policies.slate_marginals(policies.Ranker(-policy.weights, slots=10), 0)[0]

    def ours() -> object:
        clear_caches()
        return policies.slate_pseudoinverse(policy, 0).times(target)

    gamma = policies.slate_marginals(policy, 0)[1].reshape(1000, 1000)

    def plain() -> object:
        return np.linalg.pinv(gamma, hermitian=True) @ target.reshape(-1)

    def sampled() -> object:
        pages = policy.sample(np.zeros(20_000, dtype=np.int64), np.random.default_rng(0))
        total = np.zeros((1000, 1000))
        for page in pages:
            places = np.arange(10) * 100 + page
            total[places[:, None], places] += 1.0
        return total / len(pages)

    return {
        "marginals and pseudoinverse, α = 1": ours,
        "plain: dense pseudoinverse of a Γ that is known": plain,
        "plain: Γ from 20,000 drawn pages, row by row": sampled,
    }


def importance_works() -> dict[str, Callable[[], object]]:
    """100,000 logged pages of 5 slots, 10 candidates, 1,000 queries."""
    world = data.synthetic_world(n_queries=1000, n_docs=10)
    user, logging = clickmodels.true_user("DBN", world), policies.Uniform(world, slots=5)
    log = envs.collect(world, user, logging, 100_000, seed=0)
    bare = data.ClickLog(log.query, log.ranking, log.clicks)
    rewards = evaluation.slate_rewards("clicks", log)
    hard = policies.Ranker(world.gain, slots=5, world=world)
    soft = policies.stochastic(world.gain, 0.5, slots=5, world=world)

    def ours(name: str, target: policies.Policy, rows: data.ClickLog) -> Callable[[], object]:
        return lambda: evaluation.estimate(name, rows, rewards, logging, target, world)

    def plain() -> object:
        total = 0.0
        for row in range(PLAIN_ROWS):
            ranking = log.ranking[row : row + 1]
            chance = np.exp(soft.log_prob(log.query[row : row + 1], ranking))[0]
            total += rewards[row] * chance / np.exp(log.log_propensity[row])
        return total / PLAIN_ROWS

    return {
        "IPS, deterministic target": ours("ips", hard, log),
        "weighted IPS, deterministic target": ours("wips", hard, log),
        "IPS, Plackett-Luce target": ours("ips", soft, log),
        "weighted IPS, Plackett-Luce target": ours("wips", soft, log),
        "IPS, propensities worked out again": ours("ips", soft, bare),
        f"plain IPS: row by row, {PLAIN_ROWS} rows": plain,
    }


def main() -> None:
    options = new_parser(__doc__).parse_args()
    works, samples = pseudoinverse_works(1_000_000)
    works |= marginals_works() | importance_works()
    table = new_table(
        "Off-policy estimates", "work", "seconds", "samples/s", "bar", left=("seconds", "samples/s")
    )
    rows = []
    for name, seconds in time_in_turn(works, ROUNDS).items():
        rate = samples[name] / seconds if name in samples else None
        unit, bar = BARS.get(name, ("", 0.0))
        verdict = judge(rate if rate and unit == "samples/s" else seconds, bar, unit)
        table.add_row(name, f"{seconds:.4f}", f"{rate:,.0f}" if rate else "", verdict)
        rows.append(Row(name, seconds, "s"))
    show(table)
    save_rows(options.json, rows)


if __name__ == "__main__":
    main()
