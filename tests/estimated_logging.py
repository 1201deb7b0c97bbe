"""Off-policy estimates by propensities that were estimated, beside those by the true ones.

    python tests/estimated_logging.py 20 30

prints the table of docs/off_policy.md for the seeds 20 to 29: per logging policy, number of
candidates, estimator and target, in how many seeds both estimates are within two standard errors,
the largest difference, in how many seeds ``UncertainPropensities`` warned, in how many any
warning came, and in how many the estimates are further apart without the former. With a third
argument, of 30 candidates, PI is compared for one seed and the two targets "softer" and "sharper",
which takes some minutes.
"""

from __future__ import annotations

import dataclasses
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from clickgym import clickmodels, data, envs, evaluation, policies

SLOTS, QUERIES, IMPRESSIONS = 10, 100, 100_000
FAR = ("half uniform", "Max-Reward of PBM")  # a log that prefers some documents hardly shows these
LONG = ("softer", "sharper")  # of which PI with 30 candidates is compared: it draws marginals


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
        """How many standard errors of the first, by true propensities, they are apart.

        That is how far off an estimate is anyway. The standard error of the second is no yardstick:
        wrong propensities make it larger, and the claim easier. Nor is that of the difference,
        which is smaller than both where propensities are well estimated.
        """
        apart = self.estimated.value - self.known.value
        return abs(apart) / self.known.stderr if apart else 0.0


def compare(
    logging: str,
    candidates: int,
    seed: int,
    estimators: Sequence[str],
    queries: int = QUERIES,
    only: Sequence[str] | None = None,
) -> Iterator[Compared]:
    """Yield the comparisons on one log of the embedded world, which the DBN user clicks.

    Of all targets, or ``only`` those of these names.
    """
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
        for name in estimators if only is None or target in only else ():
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


def main(first: int, last: int, long: bool = False) -> None:
    """Print the table."""
    print("| logging | candidates | estimator | target | within two standard errors "
        "| largest difference | uncertain | any warning | off, not uncertain |")
    print("|---|---|---|---|---|---|---|---|---|")
    seeds = range(first, last)
    if long:
        print_rows(compare("epsilon-oracle", 30, first, ("pi",), only=LONG))
        return
    for logging, candidates, estimators in (
        ("random", 10, ("ips", "pi")), ("random", 30, ("ips", "pi")),
        ("epsilon-oracle", 10, ("ips", "pi")), ("epsilon-oracle", 30, ("ips",)),
    ):  # fmt: skip
        print_rows(
            row for seed in seeds for row in compare(logging, candidates, seed, estimators)
        )


def print_rows(compared: Iterable[Compared]) -> None:
    """Print what was found in all seeds, per estimator and target."""
    found: dict[tuple[str, str], list[Compared]] = {}
    for row in compared:
        found.setdefault((row.estimator, row.target), []).append(row)
    for (estimator, target), rows in sorted(found.items()):
        near = sum(row.errors <= 2 for row in rows)
        largest, number = max(row.errors for row in rows), len(rows)
        silent = sum(row.errors > 2 and not row.uncertain for row in rows)
        uncertain, warned = (
            sum(getattr(row, name) for row in rows) for name in ("uncertain", "warned")
        )
        print(
            f"| {rows[0].logging} | {rows[0].candidates} | {estimator} | {target} "
            f"| {near} of {number} | {largest:.1f} | {uncertain} | {warned} | {silent} |",
            flush=True,
        )


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), len(sys.argv) > 3)
