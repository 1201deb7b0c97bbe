"""Policies that a click model suggests: Top-Down and Max-Reward."""

from __future__ import annotations

import numpy as np

from ...clickmodels import ClickModel
from ...clickmodels.uncertainty.caution import honest_values, read_pessimism
from ...common import checks
from ...data import World
from ..deterministic import Found, Ranker
from .search import Search

METHODS = ("auto", "closed", "exact", "paper", "guided")
EXACT = ("closed", "exact")  # no ranking is better than what these find
PAPER_DOCUMENTS, PAPER_ORDERS = 10, 40_320  # the most relevant, and 8! of their orders


def top_down(model: ClickModel, world: World, slots: int = 10) -> Ranker:
    """Return the policy that ranks candidates by the model's relevance, best first."""
    model.check_world(world)
    model.require("rank")
    return Ranker(model.relevance(), slots, world=world)


def max_reward(
    model: ClickModel,
    world: World,
    slots: int = 10,
    method: str = "auto",
    seed: int = 0,
    restarts: int | None = None,
    orders: int = PAPER_ORDERS,
    pessimism: float | str = 0,
) -> Ranker:
    """Return the policy with the most expected clicks per page under ``model``.

    ``found`` of the result says how it was found.

    Parameters
    ----------
    method : {"auto", "closed", "exact", "paper", "guided"}
        "closed": the most relevant documents in the order that the model declares best
        (``ClickModel.best_rankings``). "exact": all ordered choices. "paper": the model's ten most
        relevant documents (as many as slots, if those are more) in ``orders`` sampled orders.
        "guided": swaps, insertions and exchanges with unused candidates, started from the top-down
        ranking and restarted from shuffled ones. "auto": closed where it exists, exact where it is
        affordable, else guided.
    seed : int
        Seed of the sampled orders and restarts.
    restarts : int, optional
        Number of restarts of the guided search; by default 4, where scoring is expensive 1 for up
        to 20 queries and else none.
    orders : int
        Of "paper"; 8! by default.
    pessimism : float or "auto"
        λ: pages are scored by the model at the quantile Φ(-λ) of what each pair may be
        (``ClickModel.lower``), and that is what is promised. "auto": as pessimistic as the log
        says, 0 to 1, with a promise that is as high as the log supports
        (see ``docs/uncertainty.md``).

    Notes
    -----
    All queries are searched together, so that rankings are scored in large batches. A round of the
    guided search scores K (K - 1) / 2 swaps, K (K - 1) insertions and K (N - K) exchanges for
    every query that still improves; where scoring is expensive, only those that look best by a
    rough score, or a random share. Queries that are never asked are not searched; they get the
    top-down ranking.
    """
    model.check_world(world)
    model.require("generative")
    given, model = model.cautious(), model if pessimism == 0 else model.pessimistic(pessimism)
    slots = checks.positive_integer(slots, "slots")
    checks.choice(method, METHODS, "method")
    if restarts is not None:
        restarts = checks.positive_integer(restarts, "restarts", 0)
    orders = checks.positive_integer(orders, "orders")
    if model.max_slots is not None and slots > model.max_slots:
        raise ValueError(f"slots is {slots}, but the {model.name} knows {model.max_slots} ranks")
    # Any start will do for a model that has no relevance.
    relevance = model.relevance() if "rank" in model.capabilities else np.zeros(model.shape)
    start = Ranker(relevance, slots, world=world)
    search = Search(model, world, start.rankings, seed)
    closed = model.best_rankings(start.rankings) if method in ("auto", "closed") else None
    if method == "closed" and closed is None:
        raise ValueError(f"there is no closed form for {model.name}")
    if method == "auto":
        affordable = "exact" if search.can_enumerate() else "guided"
        method = affordable if closed is None else "closed"
    if closed is not None:
        search.rankings = closed
    elif method == "exact":
        search.enumerate()
    elif method == "paper":
        search.sample_orders(relevance, max(PAPER_DOCUMENTS, slots), orders)
    else:
        search.climb(restarts)
    search.finish()
    values = np.zeros(world.n_queries)
    values[search.queries] = search.values
    if isinstance(pessimism, str):
        values[search.queries] = honest_values(given, search.rankings)[search.queries]
    policy = Ranker.from_rankings(search.rankings, world=world)
    promise = float(world.query_probs @ values)
    amount = read_pessimism(pessimism, given.uncertainty)
    policy.found = Found(method, method in EXACT, search.scored, values, promise, amount)
    return policy
