"""How many pages should a step of training take? NCM on logs of three lengths.

    python benchmarks network_steps

The embedded world with 30 candidates a query, a CoCM-mismatch user, pages of the ε-oracle. Each log
is split as everywhere (80% to fit, 10% to validate, 10% to test), and NCM is trained by 32, 64 and
128 pages a step, each at the rate that goes with it. Perplexity on the log's test part ("ind") and
on 10,000 pages in random order of documents that the log showed ("ood"), nDCG@3, and seconds of
processor time; means over the seeds, each of which draws a log and an initialisation. A star: what
fits choose.
"""

from __future__ import annotations

import time

import numpy as np
from _measure import Row, new_parser, save_rows

from clickgym import clickmodels, data, envs, evaluation, policies
from clickgym.clickmodels.networks.schedule import TrainingSettings

IMPRESSIONS = (12_500, 50_000, 100_000)
BATCHES = (32, 64, 128)
TEST_PAGES, OTHER_SEED = 10_000, 1_000
NUMBERS = ("ind PPL", "ood PPL", "nDCG@3", "seconds")


def measure(world: data.World, impressions: int, batch: int, seed: int) -> list[float]:
    """Return the numbers of one fit."""
    user = clickmodels.true_user("CoCM-mismatch", world)
    logging = policies.logging_policy("epsilon-oracle", world)
    log = envs.collect(world, user, logging, impressions, seed)
    train, validation, test = log.split((0.8, 0.1, 0.1), seed)
    shown = world.restricted_to(train)
    other = envs.collect(shown, user, policies.Uniform(shown), TEST_PAGES, OTHER_SEED + seed)
    start = time.process_time()
    model = clickmodels.fit(
        "NCM", train, world, seed=seed, validation=validation, batch_size=batch
    )
    seconds = time.process_time() - start
    return [
        evaluation.perplexity(model, test).mean, evaluation.perplexity(model, other).mean,
        evaluation.ndcg(model, shown, 3, seed), seconds,
    ]  # fmt: skip


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("--seeds", type=int, default=2, help="logs and initialisations")
    options = parser.parse_args()
    world = data.synthetic_world(n_docs=30)
    rows = []
    print("| pages to fit | pages a step | rate |" + "".join(f" {one} |" for one in NUMBERS))
    print("|---:|---:|---:|" + "---:|" * len(NUMBERS))
    for impressions in IMPRESSIONS:
        pages = int(0.8 * impressions)
        for batch in BATCHES:
            found = [measure(world, impressions, batch, seed) for seed in range(options.seeds)]
            means = np.mean(found, axis=0)
            star = "*" if TrainingSettings().fitting(pages).batch_size == batch else ""
            rate = TrainingSettings(batch_size=batch).fitting(pages).learning_rate
            texts = [f"{value:.4f}" for value in means[:-1]] + [f"{means[-1]:.1f}"]
            print(f"| {pages:,} | {batch}{star} | {rate:.4f} | {' | '.join(texts)} |", flush=True)
            label = f"{pages:,} pages, {batch} a step"
            rows += [
                Row(f"{label}: {one}", value, "") for one, value in zip(NUMBERS, means, strict=True)
            ]
    save_rows(options.json, rows)


if __name__ == "__main__":
    main()
