"""The policy of one model judged by the others: the optimiser's curse without a true user."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..clickmodels import ClickModel
from ..common.typing import Floats, Integers
from ..data import ClickLog, World
from ..policies import Policy
from .logs.description import RARE
from .logs.pairs import count_pairs
from .values import value


@dataclass(frozen=True)
class CrossTable:
    """What judges say that policies earn, each of which was found inside one of the judges.

    A policy that was optimised inside a model uses whatever that model gets wrong; the others
    were not asked in the search, so their errors are others. A promise that only its own model
    believes is therefore the first suspect.

    Parameters
    ----------
    policies, judges : sequences of P and J names
    values : (P, J)
        Expected clicks per page.
    own : (P,) integers
        Which judge each policy was found inside.
    """

    policies: Sequence[str]
    judges: Sequence[str]
    values: Floats
    own: Sequence[int]

    @property
    def promised(self) -> Floats:
        """What each policy's own model says, (P,)."""
        return np.asarray(self.values[np.arange(len(self.policies)), list(self.own)])

    @property
    def others(self) -> Floats:
        """The median of what the other models say, (P,); NaN where there are none."""
        if len(self.judges) < 2:
            return np.full(len(self.policies), np.nan)
        rest = np.array(self.values, dtype=np.float64)
        rest[np.arange(len(self.policies)), list(self.own)] = np.nan
        return np.asarray(np.nanmedian(rest, axis=1))

    @property
    def excess(self) -> Floats:
        """How much more its own model promises than the others' median, (P,)."""
        return np.asarray(self.promised - self.others)

    @property
    def leads(self) -> Floats:
        """By how much each policy is better than each other one, by impartial judges, (P, P).

        Two policies are compared by the judges that neither of them was found inside: the median
        over these of the difference that each of them sees. Both are thus judged by the same
        panel, a judge that is generous to all counts no more than a strict one, and no model has a
        say on its own policy. NaN where no judge is left, as for the policies of two models that
        are the only judges.
        """
        places = np.arange(len(self.judges))
        own = np.asarray(self.own)
        apart = (places != own[:, None, None]) & (places != own[None, :, None])  # (P, P, J)
        leads = np.full(apart.shape[:2], np.nan)
        some = apart.any(axis=2)
        seen = np.where(apart, self.values[:, None, :] - self.values[None, :, :], np.nan)
        leads[some] = np.nanmedian(seen[some], axis=1)
        return leads

    @property
    def ahead(self) -> Integers:
        """How many other policies each one is ahead of by ``leads``, (P,)."""
        return np.count_nonzero(self.leads > 0, axis=1)

    @property
    def suspect(self) -> int | None:
        """The policy with the largest excess: its index; None where there are no other judges."""
        return int(np.argmax(self.excess)) if len(self.judges) > 1 and len(self.policies) else None


def judge_policy(
    policy: Policy, judges: Mapping[str, ClickModel], world: World, seed: int = 0
) -> dict[str, float]:
    """Return the expected clicks per page of a policy, by the name of the judge."""
    return {name: value(policy, judge, world, seed=seed).value for name, judge in judges.items()}


def share_hardly_shown(policy: Policy, log: ClickLog, world: World, fewest: int = RARE) -> float:
    """Return the share of the documents that a policy shows which ``log`` hardly ever showed.

    Fewer than ``fewest`` times for their query, at any rank. Queries count by their frequency in
    ``world``, and every document of a page alike. For policies that show a query one ranking.
    """
    if not policy.deterministic:
        raise ValueError(f"the policy {policy.name} is not deterministic")
    policy.check_world(world)
    log.check_world(world)
    asked = np.flatnonzero(world.query_probs > 0)
    pages = policy.greedy(asked)
    rare = count_pairs(log, world).count(asked[:, None], pages) < fewest
    there = pages >= 0
    share = (rare & there).sum(axis=1) / np.maximum(there.sum(axis=1), 1)
    return float(world.query_probs[asked] @ share)
