"""What policies learned from a log are worth to its user, with and without a click model.

    OMP_NUM_THREADS=1 python benchmarks safe_policies [--seeds 1] [--no-pi-opt]

100 queries of 30 candidates of the embedded world, ten slots, 100,000 impressions. The values are
expected clicks a page, of up to 20,000 pages drawn per policy where they cannot be counted.
"Max-Reward" ranks inside a PBM fitted to the same log; PI-OPT learns from the pages' clicks and the
documents' features. "inverted" learns from the same log in which every click is none and every
other document is clicked. Seconds are CPU time of learning, evidence included.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable

import numpy as np
from _measure import Row, new_parser, new_table, save_rows, show

from clickgym import clickmodels, data, envs, evaluation, policies

SLOTS, IMPRESSIONS = 10, 100_000
USERS, LOGS = ("DBN", "CoCM"), ("epsilon-oracle", "BM25")
SAFE = {
    "exposure-risk": ("exposure-risk", {}),
    "exposure-risk, bound of the mean": ("exposure-risk", {"bound": "mean"}),
    "prpo": ("prpo", {}),
    "prpo, 0.1 to 10": ("prpo", {"low": 0.1, "high": 10.0}),
    "prpo, 0.8 to 1.25": ("prpo", {"low": 0.8, "high": 1.25}),
    "ips": ("ips", {}),
}
LOGGING, PLAIN, PI_OPT = "logging", "Max-Reward, PBM", "PI-OPT"
Learner = Callable[[data.ClickLog], policies.Policy]


def make_learners(
    world: data.World, logging: policies.Policy, examination: np.ndarray, pi_opt: bool
) -> dict[str, Learner]:
    """Return how each policy is learned from a log."""

    def learn_safe(name: str, choices: dict[str, float | str]) -> Learner:
        return lambda log: policies.safe_policy(
            name, log, world, logging, SLOTS, examination=examination, **choices
        )

    def maximise(log: data.ClickLog) -> policies.Policy:
        return policies.max_reward(clickmodels.fit("PBM", log, world), world, SLOTS)

    def learn_slates(log: data.ClickLog) -> policies.Policy:
        rewards = log.clicks.sum(axis=1).astype(float)
        return policies.fit_pi_opt(log, rewards, logging, world).policy(world)

    learners = {PLAIN: maximise} | {label: learn_safe(*setting) for label, setting in SAFE.items()}
    return learners | ({PI_OPT: learn_slates} if pi_opt else {})


def measure(user_name: str, log_name: str, seed: int, pi_opt: bool) -> dict[str, np.ndarray]:
    """Return the value, the value after inverted clicks and the seconds of every policy."""
    world = data.synthetic_world(100, 30, seed=seed)
    user = clickmodels.true_user(user_name, world)
    logging = policies.logging_policy(log_name, world, SLOTS, seed=seed)
    log = envs.collect(world, user, logging, IMPRESSIONS, seed)
    inverted = dataclasses.replace(log, clicks=~log.clicks)
    model = clickmodels.fit("PBM", log, world)
    assert isinstance(model, clickmodels.PBM)

    def value(policy: policies.Policy) -> float:
        return evaluation.value(policy, user, world, seed=seed).value

    found = {LOGGING: np.array([value(logging), np.nan, np.nan])}
    for label, learn in make_learners(world, logging, model.examination, pi_opt).items():
        start = time.process_time()
        learned = learn(log)
        seconds = time.process_time() - start
        misled = np.nan if label == PI_OPT else value(learn(inverted))  # it takes long
        found[label] = np.array([value(learned), misled, seconds])
    return found


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("--seeds", type=int, default=1, help="worlds and logs")
    parser.add_argument("--no-pi-opt", action="store_true", help="leave PI-OPT out")
    options = parser.parse_args()
    rows = []
    for user in USERS:
        for log in LOGS:
            runs = [measure(user, log, s, not options.no_pi_opt) for s in range(options.seeds)]
            columns = ["policy", "deployed", "inverted", "seconds"]
            table = new_table(f"{user}, {log}", *columns)
            for label in runs[0]:
                numbers = np.mean([run[label] for run in runs], axis=0)
                texts = [f"{number:.3f}" for number in numbers[:2]] + [f"{numbers[2]:.1f}"]
                table.add_row(label, *(text.replace("nan", "") for text in texts))
                rows.append(Row(f"{user}, {log}: {label}", float(numbers[0]), "clicks a page"))
            show(table)
    save_rows(options.json, rows)


if __name__ == "__main__":
    main()
