"""What informed priors and pessimism make of Max-Reward.

    python benchmarks cure --seeds 0 1 --prior exposure
    python benchmarks cure --seeds 0 --models NCM

PBM, UBM and DBN tables (or the ``--models`` given) fitted to 100,000 impressions of
{DBN, CoCM, CoCM-mismatch} users under {epsilon-oracle, LambdaMART, BM25}, 100 queries of
30 candidates, all of which may be shown.
Values are exact, in clicks per page: what was promised, and what was delivered. The rules of the
cure were made on the worlds of seeds 101 to 104.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from _measure import Row, new_parser, save_rows

from clickgym import clickmodels, data, envs, evaluation, policies

USERS = ("DBN", "CoCM", "CoCM-mismatch")
LOGGING = ("epsilon-oracle", "LambdaMART", "BM25")
MODELS = ("PBM", "UBM", "DBN")


def compare_on(world: data.World, seed: int, prior: str, pages: int, models: Sequence[str]):
    """Yield setting, the log's value, and (promised, delivered) of plain and cured Max-Reward."""
    for name, ranker in itertools.product(USERS, LOGGING):
        user = clickmodels.true_user(name, world)
        logging = policies.logging_policy(ranker, world, seed=seed)
        log = envs.collect(world, user, logging, pages, seed=seed)
        before = evaluation.value(logging, user, world, samples=3000).value
        for model in models:
            source = logging if prior == "score" else None
            plain = clickmodels.fit(model, log, world)
            informed = clickmodels.fit(model, log, world, prior=prior, logging=source)
            pair = (
                policies.max_reward(plain, world, restarts=0),
                policies.max_reward(informed, world, restarts=0, pessimism="auto"),
            )
            values = [(one.found.promise, evaluation.value(one, user, world).value) for one in pair]
            yield (name, ranker, model), before, *values


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1])
    parser.add_argument("--prior", choices=("exposure", "score"), default="exposure")
    parser.add_argument("--models", nargs="+", default=MODELS)
    parser.add_argument("--pages", type=int, default=100_000)
    options = parser.parse_args()
    found: dict[tuple[str, str, str], list] = {}
    for seed in options.seeds:
        world = data.synthetic_world(n_queries=100, n_docs=30, seed=seed)
        choices = options.prior, options.pages, options.models
        for setting, *values in compare_on(world, seed, *choices):
            found.setdefault(setting, []).append([values[0], *values[1], *values[2]])
    print("| user | logging | model | log | plain | cured | against the log | against plain |")
    print("|---|---|---|---|---|---|---|---|")
    for setting, runs in found.items():
        before, promised, plain, honest, cured = np.mean(runs, axis=0)
        print(
            f"| {' | '.join(setting)} | {before:.3f} | {promised:.3f} → {plain:.3f} | "
            f"{honest:.3f} → {cured:.3f} | {cured / before - 1:+.1%} | {cured / plain - 1:+.1%} |"
        )
    runs = np.array(list(found.values()))  # (settings, seeds, 5)
    before, promised, plain, honest, cured = runs.mean(axis=1).T
    gaps = [float(np.abs(runs[:, :, at] - runs[:, :, at + 1]).mean()) for at in (1, 3)]
    print(f"\nat least the log's value: {(cured >= before).sum()} of {len(runs)} settings")
    print(f"at least plain's: {(cured >= plain).sum()}, worst {(cured / plain - 1).min():+.1%}")
    means = [f"{one.mean():.3f}" for one in (before, plain, cured)]
    print("mean delivered: log {}, plain {}, cured {}".format(*means))
    print(f"mean |gap| of the promise: plain {gaps[0]:.3f}, cured {gaps[1]:.3f}")
    save_rows(options.json, [Row("cured gap / plain gap", gaps[1] / gaps[0], "")])


if __name__ == "__main__":
    main()
