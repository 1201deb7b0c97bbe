"""The log, rewards and policies that every estimator is given, checked once."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from ...common import checks
from ...common.typing import Floats, Integers
from ...data import ClickLog, World
from ...policies import Policy
from ...policies.placing.pages import without_blocks
from ...policies.propensities import check_logging


class WrongReward(UserWarning):
    """The rewards given are probably not those that were meant to be estimated."""


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
    rewards: Floats
    counts: Floats
    queries: Integers
    rows: Integers
    logging: Policy | None
    target: Policy | None
    world: World | None

    def need_policy(self, name: str) -> Policy:
        """Return the ``"logging"`` or ``"target"`` policy, or raise where there is none."""
        policy: Policy | None = getattr(self, name)
        if policy is None:
            raise ValueError(f"{name} is None, but this estimator needs the {name} policy")
        return policy

    def need_world(self) -> World:
        """Return the world, or raise where there is none."""
        if self.world is None:
            raise ValueError("world is None, but this estimator needs its features")
        return self.world

    def take(self, rows: Integers) -> Inputs:
        """Return these rows alone."""
        queries, again = np.unique(self.rows[rows], return_inverse=True)
        return Inputs(
            self.log[rows], self.rewards[rows], self.counts[rows], self.queries[queries], again,
            self.logging, self.target, self.world,
        )  # fmt: skip

    def unfold(self) -> Inputs:
        """Return one row per impression, so that halves of rows are halves of impressions.

        Otherwise all impressions of a row would fall into the same half. Rows stay as they are
        where counts are not whole numbers. Memory grows with impressions, not with rows.
        """
        whole = self.counts.astype(np.int64)
        if (whole != self.counts).any() or (whole <= 1).all():
            return self
        some = self.take(np.repeat(np.arange(len(whole)), whole))
        return replace(some, counts=np.ones(len(some.rows)))


def check_inputs(
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
    if rewards is None or isinstance(rewards, str):
        raise ValueError(
            f"rewards must be one number a row, not {rewards!r}; slate_rewards('clicks', log), "
            "for example, makes them"
        )
    values = checks.finite(rewards, "rewards", 1)
    checks.same_shape(values, (len(log),), "rewards", "the log")
    if world is not None:
        log.check_world(world)
    for name, policy in (("logging", logging), ("target", target)):
        if policy is not None:
            check_policy(name, policy, log, world)
    log = decided_blocks(log, logging, target, world)
    if logging is not None:
        check_logging(log, logging, world)
    asked = np.bincount(log.query) > 0
    places = np.cumsum(asked) - 1
    return Inputs(
        log, values, log.counts, np.flatnonzero(asked), places[log.query], logging, target,
        world,
    )  # fmt: skip


def decided_blocks(
    log: ClickLog, logging: Policy | None, target: Policy | None, world: World | None = None
) -> ClickLog:
    """Return the log without its blocks where the policies do not decide about them.

    That is, where neither policy places any and in worlds without blocks: then pages are rankings.
    A logging policy that is not given may have placed them.
    """
    silent = [policy is not None and not policy.places_blocks for policy in (logging, target)]
    unknown = world is not None and world.vertical is None
    return without_blocks(log) if unknown or all(silent) else log


def check_policy(name: str, policy: Policy, log: ClickLog, world: World | None = None) -> None:
    """Raise unless ``policy``, which errors call ``name``, can show pages such as the log's."""
    if not isinstance(policy, Policy):
        raise ValueError(f"{name} must be a clickgym.policies.Policy, not {type(policy).__name__}")
    if world is not None:
        try:
            policy.check_world(world)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from error
    if policy.slots != log.slots:
        raise ValueError(f"{name} shows {policy.slots} slots, the log has {log.slots}")
    highest = int(log.query.max())
    if highest >= policy.shape[0]:
        raise ValueError(f"{name} knows {policy.shape[0]} queries, the log has query {highest}")
    highest, limit = int(log.ranking.max()), policy.document_limit()
    if highest >= limit:
        raise ValueError(
            f"{name} knows {limit} candidates a query, the log shows document {highest}"
        )
    if None not in (policy.fingerprint, log.fingerprint) and policy.fingerprint != log.fingerprint:
        raise ValueError(
            f"{name} and the log belong to different worlds: their fingerprints are "
            f"{policy.fingerprint:.12}… and {log.fingerprint:.12}…"
        )
