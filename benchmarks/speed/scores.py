"""How many rankings a second a search can score: expected clicks of ten-slot pages.

    python benchmarks scores            (or: make bench)

Rankings of 100 queries with 30 candidates, in batches of 8,192 (NCM: 1,024), one thread unless
said; models with random parameters, NCM (embeddings and state of 64) fitted to a short log, so that
its click probabilities are those of a real log. Work is timed in turn, round after round; the best
round of each counts. "error": the largest difference to the exact expected clicks on 200 pages;
"bound": the largest that the method itself guarantees there.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from _measure import Row, find, judge, new_parser, new_table, save_rows, show, time_in_turn

from clickgym import clickmodels, data, envs, policies

BATCH, ROUNDS, SLOTS = 8192, 5, 10
PrefixTree = find("clickmodels", "PrefixTree")
BARS = {
    "PBM": 4e6, "DBN": 4e6, "UBM": 2e6, "CoCM": 1e6, "ARM": 1e6, "CACM-minus": 1e6,
    "NCM, all prefixes, two threads": 2_000, "NCM, without those below 1e-4, two threads": 3_000,
}  # fmt: skip


def models(world: data.World) -> dict[str, clickmodels.ClickModel]:
    rng = np.random.default_rng(0)
    shape = world.relevance.shape
    attractiveness = rng.random(shape)
    return {
        "PBM": clickmodels.PBM(attractiveness, rng.random(SLOTS)),
        "DBN": clickmodels.DBN(attractiveness, rng.random(shape), 0.8),
        "UBM": clickmodels.UBM(attractiveness, rng.random((SLOTS, SLOTS))),
        "CoCM": clickmodels.CoCM(attractiveness),
        "ARM": clickmodels.ARM(attractiveness, rng.normal(size=SLOTS)),
        "CACM-minus": clickmodels.CACMMinus(attractiveness, rng.random(2**SLOTS - 1)),
    }


def main() -> None:
    options = new_parser(__doc__).parse_args()
    world = data.synthetic_world(n_queries=100, n_docs=30)
    rng = np.random.default_rng(1)
    query = rng.integers(0, world.n_queries, BATCH)
    ranking = np.argsort(rng.random((BATCH, world.n_docs)), axis=1)[:, :SLOTS]
    columns = np.ascontiguousarray(ranking.T)
    works: dict[str, tuple[Callable[[], object], int]] = {}
    errors: dict[str, tuple[str, str]] = {}
    few = slice(0, 200)
    for name, model in models(world).items():
        exact = clickmodels.ClickModel.click_probs(model, query[few], ranking[few]).sum(axis=1)
        error = np.abs(model.expected_clicks(query[few], ranking[few]) - exact).max()
        errors[name] = f"{error:.0e}", "0"
        works[name] = partial(model.score_columns, query, columns), BATCH
    user = clickmodels.true_user("CoCM-mismatch", world)
    logging = policies.logging_policy("epsilon-oracle", world)
    log = envs.collect(world, user, logging, 10_000, seed=0)
    ncm = clickmodels.fit("NCM", log, world, epochs=4)
    shown, page = log.query[:1024].astype(np.int64), log.ranking[:1024].astype(np.int64)
    exact = ncm.expected_clicks(shown[few], page[few])
    trees = {
        "NCM, all prefixes, float64 (expected_clicks)": PrefixTree(ncm),
        "NCM, all prefixes": PrefixTree(ncm, np.float32),
        "NCM, all prefixes, two threads": PrefixTree(ncm, np.float32, threads=2),
        "NCM, without those below 1e-4, two threads": PrefixTree(ncm, np.float32, 1e-4, 2),
        "NCM, without those below 1e-3 (in searches)": PrefixTree(ncm, np.float32, 1e-3),
    }
    for name, tree in trees.items():
        probs, bound = tree.click_probs(shown[few], page[few])
        error = np.abs(probs.sum(axis=1) - exact).max()
        errors[name] = f"{error:.0e}", f"{bound.sum(axis=1).max():.0e}"
        works[name] = partial(tree.click_probs, shown, page), len(shown)
    rough = "NCM, rough: one reading with P(click) for clicks"
    works[rough] = partial(ncm.rough_columns, shown, np.ascontiguousarray(page.T)), len(shown)
    seconds = time_in_turn({name: work for name, (work, _) in works.items()}, ROUNDS)
    table = new_table(
        "Rankings scored a second", "model", "rankings/s", "bar", "error", "bound", left=("bar",)
    )
    rows = []
    for name, (_, units) in works.items():
        rate = units / seconds[name]
        rows.append(Row(name, rate, "rankings/s"))
        verdict = judge(rate, BARS.get(name))
        table.add_row(name, f"{rate:,.0f}", verdict, *errors.get(name, ("", "")))
    show(table)
    save_rows(options.json, rows)


if __name__ == "__main__":
    main()
