"""Collecting a click log: a policy shows pages to a user."""

from __future__ import annotations

import numpy as np

from ..clickmodels import ClickModel
from ..common import checks
from ..common.progress import progress
from ..common.random import AliasTable
from ..common.typing import Integers
from ..data import ClickLog, World
from ..policies import Policy

CHUNK = 4096  # rows at a time: what a core's cache holds


def collect(world: World, user: ClickModel, policy: Policy, n: int, seed: int) -> ClickLog:
    """Show ``n`` pages of ``policy`` to ``user`` and return the log, with exact propensities.

    Queries are drawn from ``world.query_probs``. The same seed gives the same log. Costs
    O(n N log N) time for Plackett-Luce policies and O(n K) memory.
    """
    n = checks.positive_integer(n, "n")
    if not isinstance(user, ClickModel):
        raise ValueError(f"user must be a ClickModel, not {type(user).__name__}")
    if not isinstance(policy, Policy):
        raise ValueError(f"policy must be a Policy, not {type(policy).__name__}")
    user.require("generative")
    user.check_world(world)
    policy.check_world(world)
    if user.max_slots is not None and policy.slots > user.max_slots:
        raise ValueError(f"the policy shows {policy.slots} slots, the user knows {user.max_slots}")
    rng = np.random.default_rng(seed)
    queries = AliasTable(world.query_probs)
    every = bool(world.candidates.all())
    query = np.empty(n, dtype=np.int32)
    ranking = np.empty((n, policy.slots), dtype=np.int16 if world.n_docs < 2**15 else np.int32)
    clicks = np.empty((n, policy.slots), dtype=bool)
    log_propensity = np.empty(n) if policy.has_log_prob else None
    with progress(n, "collecting pages") as advance:
        for start in range(0, n, CHUNK):
            rows = slice(start, min(start + CHUNK, n))
            asked = queries.draw(rows.stop - rows.start, rng)
            page, log_prob = policy.draw(asked, rng)
            query[rows], ranking[rows] = asked, page
            if not every:
                _check_candidates(world, asked, page)
            columns = np.ascontiguousarray(page.T)
            clicks[rows] = user.sample_columns(asked, columns, rng).T
            if log_propensity is not None:
                log_propensity[rows] = log_prob
            advance(rows.stop - rows.start)
    return ClickLog(query, ranking, clicks, log_propensity, fingerprint=world.fingerprint)


def _check_candidates(world: World, query: Integers, page: Integers) -> None:
    wrong = (page >= 0) & ~world.candidates[query[:, None], page]
    if wrong.any():
        row, slot = np.argwhere(wrong)[0]
        raise ValueError(
            f"the policy shows document {page[row, slot]} of query {query[row]}, which is not a "
            "candidate of this world; make the policy from this world's candidates"
        )
