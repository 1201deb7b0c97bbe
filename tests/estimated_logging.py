"""Off-policy estimates by propensities that were estimated, beside those by the true ones.

    python tests/estimated_logging.py 10 20

prints the table of docs/off_policy.md for the seeds 10 to 19: per logging policy, number of
candidates, estimator and target, in how many seeds both estimates are within two standard errors,
the largest difference, in how many seeds ``UncertainPropensities`` warned, and in how many any
warning came.
"""

from __future__ import annotations

import dataclasses
import sys
import warnings
from collections.abc import Iterator, Sequence

import numpy as np

from clickgym import clickmodels, data, envs, evaluation, policies

SLOTS, QUERIES, IMPRESSIONS = 10, 100, 100_000
FAR = ("half uniform", "Max-Reward of PBM")  # a log that prefers some documents hardly shows these


@dataclasses.dataclass(frozen=True)
class Compared:
    """Two estimates of one target from one log, and what the second was warned of.

    ``uncertain``: of its propensities; ``warned``: of anything, missing overlap included.
    """

    logging: str
    candidates: int
    seed: int
    estimator: str
    target: str
    known: evaluation.Estimate
    estimated: evaluation.Estimate
    uncertain: bool
    warned: bool

    @property
    def errors(self) -> float:
        """How many standard errors of the first they are apart."""
        apart = self.estimated.value - self.known.value
        return abs(apart) / self.known.stderr if apart else 0.0


def compare(
    logging: str, candidates: int, seed: int, estimators: Sequence[str], queries: int = QUERIES
) -> Iterator[Compared]:
    """Yield the comparisons on one log of the embedded world, which the DBN user clicks."""
    world = data.synthetic_world(queries, candidates, seed=seed)
    policy = policies.logging_policy(logging, world, SLOTS, seed=seed)
    user = clickmodels.true_user("DBN", world)
    log = envs.collect(world, user, policy, IMPRESSIONS, seed)
    bare = dataclasses.replace(log, log_propensity=None)
    rewards = evaluation.slate_rewards("clicks", log)
    with warnings.catch_warnings(record=True) as early:
        warnings.simplefilter("always")
        estimate = policies.estimate_logging(bare, world)
    for target, asked in targets(policy, log, world):
        for name in estimators:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                known = evaluation.estimate(name, log, rewards, policy, asked, world)
            with warnings.catch_warnings(record=True) as late:
                warnings.simplefilter("always")
                found = evaluation.estimate(name, bare, rewards, estimate, asked, world)
            kinds = {one.category for one in (*early, *late)}
            uncertain, warned = policies.UncertainPropensities in kinds, bool(kinds)
            yield Compared(
                logging, candidates, seed, name, target, known, found, uncertain, warned
            )


def targets(
    policy: policies.PlackettLuce, log: data.ClickLog, world: data.World
) -> Iterator[tuple[str, policies.Policy]]:
    """Yield policies with their names: near the logging policy, and ``FAR`` from it.

    Near a policy that prefers some documents: the same at other temperatures, and its most
    probable pages. Near a uniform one: all.
    """
    model = clickmodels.fit("PBM", log, world)
    yield "Max-Reward of PBM", policies.max_reward(model, world.restricted_to(log), SLOTS)
    if isinstance(policy, policies.Uniform):
        yield "mild preference", policies.stochastic(world.gain, 2.0, SLOTS, world=world)
        return
    yield "half uniform", policies.epsilon_uniform(policy, world, 0.5)
    for name, factor in (("softer", 1.5), ("sharper", 0.8)):
        yield name, policies.PlackettLuce(policy.weights, policy.temperature * factor, SLOTS)
    scores = np.where(world.candidates, policy.weights, -np.inf)
    yield "most probable pages", policies.Ranker(scores, SLOTS, world=world)


def main(first: int, last: int) -> None:
    """Print the table."""
    print("| logging | candidates | estimator | target | within two standard errors "
        "| largest difference | uncertain | any warning | off, not uncertain |")
    print("|---|---|---|---|---|---|---|---|---|")
    for logging, candidates, estimators in (
        ("random", 10, ("ips", "pi")), ("random", 30, ("ips", "pi")),
        ("epsilon-oracle", 10, ("ips", "pi")), ("epsilon-oracle", 30, ("ips",)),
    ):  # fmt: skip
        found: dict[tuple[str, str], list[Compared]] = {}
        for seed in range(first, last):
            for row in compare(logging, candidates, seed, estimators):
                found.setdefault((row.estimator, row.target), []).append(row)
        for (estimator, target), rows in sorted(found.items()):
            near = sum(row.errors <= 2 for row in rows)
            largest, number = max(row.errors for row in rows), len(rows)
            silent = sum(row.errors > 2 and not row.uncertain for row in rows)
            uncertain, warned = (
                sum(getattr(row, name) for row in rows) for name in ("uncertain", "warned")
            )
            print(
                f"| {logging} | {candidates} | {estimator} | {target} | {near} of {number} "
                f"| {largest:.1f} | {uncertain} | {warned} | {silent} |",
                flush=True,
            )


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
