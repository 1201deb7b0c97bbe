"""What every estimator is given, checked once."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...data import ClickLog, World, checks
from ...policies import Policy
from ..outcomes import weights as impressions

_LOOKED_AT = 1_000  # rows whose propensities are compared to a policy's


class WrongReward(UserWarning):
    """An estimate is of something else than was probably meant."""


class WrongLogging(UserWarning):
    """The log's propensities are not those of the policy that should have made it."""


@dataclass(frozen=True)
class Inputs:
    """A log with its rewards and policies, checked.

    Attributes
    ----------
    log : ClickLog
    rewards, counts : (n,)
        Reward of each row, and how many impressions it stands for.
    queries, rows : (q,), (n,)
        The distinct queries, and which of them each row has.
    logging, target : Policy or None
    world : World or None
    """

    log: ClickLog
    rewards: NDArray[np.float64]
    counts: NDArray[np.float64]
    queries: NDArray[np.int64]
    rows: NDArray[np.int64]
    logging: Policy | None
    target: Policy | None
    world: World | None

    def need_target(self) -> Policy:
        """Return the target policy, or raise where there is none."""
        return _needed(self.target, "target")

    def need_logging(self) -> Policy:
        """Return the logging policy, or raise where there is none."""
        return _needed(self.logging, "logging")

    def need_world(self) -> World:
        """Return the world, or raise where there is none."""
        if self.world is None:
            raise ValueError("world is None, but this estimator needs its features")
        return self.world

    def part(self, rows: NDArray[np.int64]) -> Inputs:
        """Return these rows alone."""
        queries, again = np.unique(self.rows[rows], return_inverse=True)
        return Inputs(
            self.log[rows], self.rewards[rows], self.counts[rows], self.queries[queries], again,
            self.logging, self.target, self.world,
        )  # fmt: skip

    def unfolded(self) -> Inputs:
        """Return a row an impression, so that halves of rows are halves of impressions.

        Equal pages with other rewards would stand in one half each otherwise. Where counts are no
        whole numbers the rows stay as they are. Grows with impressions, not with rows.
        """
        whole = self.counts.astype(np.int64)
        if (whole != self.counts).any() or (whole <= 1).all():
            return self
        some = self.part(np.repeat(np.arange(len(whole)), whole))
        return replace(some, counts=np.ones(len(some.rows)))


def _needed(policy: Policy | None, name: str) -> Policy:
    if policy is None:
        raise ValueError(f"{name} is None, but this estimator needs the {name} policy")
    return policy


def checked_inputs(
    log: ClickLog,
    rewards: ArrayLike,
    logging: Policy | None,
    target: Policy | None,
    world: World | None,
) -> Inputs:
    """Return the estimators' inputs after checking that they belong together."""
    if not isinstance(log, ClickLog):
        raise ValueError(f"log must be a clickgym.data.ClickLog, not {type(log).__name__}")
    if not log.impressions > 0:
        raise ValueError("log has no impressions to estimate from")
    values = checks.finite(rewards, "rewards", 1)
    checks.same_shape(values, (len(log),), "rewards", "the log")
    if world is not None:
        log.check_world(world)
    for name, policy in (("logging", logging), ("target", target)):
        if policy is not None:
            _check_policy(name, policy, log, world)
    if logging is not None:
        _check_propensities(log, logging)
    asked = np.bincount(log.query) > 0
    places = np.cumsum(asked) - 1
    return Inputs(
        log, values, impressions(log), np.flatnonzero(asked), places[log.query], logging, target,
        world,
    )  # fmt: skip


def _check_policy(name: str, policy: Policy, log: ClickLog, world: World | None) -> None:
    if not isinstance(policy, Policy):
        raise ValueError(f"{name} must be a clickgym.policies.Policy, not {type(policy).__name__}")
    if world is not None:
        policy.check_world(world)
    if policy.slots != log.slots:
        raise ValueError(f"{name} shows {policy.slots} slots, the log has {log.slots}")
    highest = int(log.query.max())
    if highest >= policy.shape[0]:
        raise ValueError(f"{name} knows {policy.shape[0]} queries, the log has query {highest}")
    highest = int(log.ranking.max())
    if highest >= policy.shape[1]:
        raise ValueError(
            f"{name} knows {policy.shape[1]} candidates a query, the log shows document {highest}"
        )
    if None not in (policy.fingerprint, log.fingerprint) and policy.fingerprint != log.fingerprint:
        raise ValueError(
            f"{name} and the log belong to different worlds: their fingerprints are "
            f"{policy.fingerprint:.12}… and {log.fingerprint:.12}…"
        )


def _check_propensities(log: ClickLog, logging: Policy) -> None:
    if log.log_propensity is None:
        _check_possible(log, logging)
    row = other_propensity(log, logging)
    if row is not None:
        warnings.warn(
            f"logging is not who made the log: {differing(log, logging, row, 'logging')}",
            WrongLogging,
            stacklevel=4,
        )


def _check_possible(log: ClickLog, logging: Policy) -> None:
    """Raise where one of the first thousand pages has the propensity zero."""
    if not logging.has_log_prob:
        return
    never = np.isneginf(logging.log_prob(log.query[:_LOOKED_AT], log.ranking[:_LOOKED_AT]))
    if never.any():
        row = int(never.argmax())
        raise ValueError(
            f"row {row} shows {log.ranking[row].tolist()} for query {log.query[row]}, which the "
            "logging policy never does: its propensity is zero"
        )


def other_propensity(log: ClickLog, policy: Policy) -> int | None:
    """Return the first row whose propensity is not the policy's; None where there is none.

    The first thousand rows are looked at, where both are known.
    """
    if log.log_propensity is None or not policy.has_log_prob:
        return None
    some = slice(0, _LOOKED_AT)
    own = policy.log_prob(log.query[some], log.ranking[some])
    wrong = ~np.isclose(own, log.log_propensity[some], atol=1e-6)
    return int(wrong.argmax()) if wrong.any() else None


def differing(log: ClickLog, policy: Policy, row: int, name: str) -> str:
    """Return in words how a row's propensity differs from a policy's."""
    assert log.log_propensity is not None
    own = policy.log_prob(log.query[row : row + 1], log.ranking[row : row + 1])[0]
    return f"row {row} has log-propensity {log.log_propensity[row]:.6g}, {name} {own:.6g}"
