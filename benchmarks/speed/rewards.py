"""How many pages a second agents can learn from, by what they learn from: a batch of 256 pages.

    python benchmarks rewards            (or: make bench)

100 queries of 30 candidates, ten slots, an environment around a learned model, ids as
observations: "clicks" are sampled, "expected_clicks" their exact expectation, "conditional_clicks"
the sum of P(click) given the sampled clicks above, "by slot" the reward that is used inside the
model (``agents.train(reward=None)``) and what each slot has earned of it. Models with random
parameters, NCM with a state and embeddings of 64. Work is timed in turn, round after round, and the
best round of each counts.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import cycle

import numpy as np
from _measure import Row, judge, new_parser, new_table, save_rows, show, time_in_turn

from clickgym import clickmodels, data, envs
from clickgym.envs.rewards import noiseless

BATCH, SLOTS, WIDTH = 256, 10, 64
ROUNDS, SECONDS = 7, 0.2
REWARDS = ("clicks", "expected_clicks", "conditional_clicks")
HELD = ("PBM", "UBM", "DBN")  # to at least half as many exact pages as sampled ones


def make_models(world: data.World) -> dict[str, clickmodels.ClickModel]:
    """Return models of random parameters."""
    rng = np.random.default_rng(0)
    shape = world.relevance.shape
    attractiveness = rng.random(shape)
    state, inputs = (3 * WIDTH, WIDTH), (3 * WIDTH, 2 * WIDTH + 1)
    ncm = clickmodels.NCM(
        rng.normal(size=(shape[0], WIDTH)), rng.normal(size=(*shape, WIDTH)),
        0.1 * rng.normal(size=inputs), 0.1 * rng.normal(size=state), np.zeros(3 * WIDTH),
        np.zeros(3 * WIDTH), rng.normal(size=WIDTH), -1.0,
    )  # fmt: skip
    return {
        "PBM": clickmodels.PBM(attractiveness, rng.random(SLOTS)),
        "UBM": clickmodels.UBM(attractiveness, rng.random((SLOTS, SLOTS))),
        "DBN": clickmodels.DBN(attractiveness, rng.random(shape), 0.8),
        "CoCM": clickmodels.CoCM(attractiveness),
        "NCM": ncm,
    }


def stepper(env: envs.RankingVectorEnv) -> Callable[[], object]:
    """Return a function that shows a page in every environment, with ever different rankings."""
    rng = np.random.default_rng(1)
    order = np.argsort(rng.random((8, BATCH, env.world.n_docs)), axis=2)
    actions = cycle(order[:, :, :SLOTS])
    env.reset(seed=0)
    return lambda: env.step(next(actions))


def main() -> None:
    options = new_parser(__doc__).parse_args()
    world = data.synthetic_world(n_queries=100, n_docs=30)
    models = make_models(world)
    works: dict[str, Callable[[], object]] = {}
    for name, model in models.items():
        asked = {reward: (reward, False) for reward in REWARDS}
        for label, (reward, by_slot) in (asked | {"by slot": (noiseless(model), True)}).items():
            env = envs.RankingVectorEnv(
                BATCH, click_model=model, world=world, slots=SLOTS, action="ranking",
                observation="ids", reward=reward, slot_rewards=by_slot,
            )  # fmt: skip
            works[f"{name}, {label}"] = stepper(env)
    seconds = time_in_turn(works, ROUNDS, SECONDS)
    heads = (*REWARDS, "by slot")
    table = new_table(f"pages a second, batch of {BATCH}", "model", *heads, "exact, of sampled")
    rows = []
    for name, model in models.items():
        rates = {label: BATCH / seconds[f"{name}, {label}"] for label in heads}
        rows += [Row(f"{name}, {label}", rate, "pages/s") for label, rate in rates.items()]
        share = rates["expected_clicks"] / rates["clicks"]
        verdict = judge(share, 0.5 if name in HELD else None)
        used = f" ({noiseless(model)} is used)" if noiseless(model) != "expected_clicks" else ""
        cells = [f"{rate:,.0f}" for rate in rates.values()]
        table.add_row(name, *cells, f"{share:.2f} {verdict}{used}")
    show(table, 130)
    save_rows(options.json, rows)


if __name__ == "__main__":
    main()
