"""The optimiser's curse: what a learned model promised, what the true user delivers, and why."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from ..clickmodels import ClickModel, NotExact
from ..common import checks
from ..data import World
from ..policies import Policy, Ranker, max_reward, top_down
from .estimates import Estimate
from .values import SAMPLES, ShownPages, pages_and_scores

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

_BEST: WeakKeyDictionary[ClickModel, dict[tuple[int, int], tuple[World, Ranker]]]
_BEST = WeakKeyDictionary()
LOWER_BOUND = "lower bound"
_QUANTITIES = (
    "promised", "deployed", "gap", "logging_value", "model_error_on_logging",
    "added_by_optimising", "best", "regret", "lift", "top_down",
)  # fmt: skip


@dataclass(frozen=True)
class CurseReport:
    """What became of a policy that was chosen inside a learned model; all in clicks a page.

    Attributes
    ----------
    promised : Estimate
        The policy's value under the model.
    deployed : Estimate
        Its value on the true user.
    gap : Estimate
        promised - deployed, on the same rankings, so that its error is that of the difference.
    logging_value : Estimate
        The logging policy's value on the true user.
    model_error_on_logging : Estimate
        The logging policy's value under the model minus that on the user: what the model gets
        wrong where it has data.
    added_by_optimising : Estimate
        gap - model_error_on_logging: what choosing a policy inside the model added.
    best : Estimate or None
        The best value that any ranking has on the user; its method says whether it is exact or a
        lower bound, found by a search. None for a user whose expected clicks cannot be computed.
    regret : Estimate or None
        best - deployed.
    lift : Estimate
        deployed - logging_value.
    top_down : Estimate or None
        The value on the user of ranking by the model's relevance; None if it has none.
    per_query : (Q,) float
        The gap of each query; NaN for queries never asked.
    promised_per_query, deployed_per_query : (Q,) float
    query_probs : (Q,) float
    model, user : str
        Names.
    """

    promised: Estimate
    deployed: Estimate
    gap: Estimate
    logging_value: Estimate
    model_error_on_logging: Estimate
    added_by_optimising: Estimate
    best: Estimate | None
    regret: Estimate | None
    lift: Estimate
    top_down: Estimate | None
    per_query: NDArray[np.float64] = field(repr=False)
    promised_per_query: NDArray[np.float64] = field(repr=False)
    deployed_per_query: NDArray[np.float64] = field(repr=False)
    query_probs: NDArray[np.float64] = field(repr=False)
    model: str = ""
    user: str = ""

    def numbers(self) -> dict[str, Estimate]:
        """Return all quantities by name, in the order in which they are read."""
        values = {name: getattr(self, name) for name in _QUANTITIES}
        return {name: number for name, number in values.items() if number is not None}

    def to_frame(self, per_query: bool = False) -> DataFrame:
        """Return a pandas frame: a row a quantity, or a row a query."""
        from .reporting.records import frame

        if per_query:
            return frame({
                "query": np.arange(len(self.per_query)),
                "query_prob": self.query_probs,
                "promised": self.promised_per_query,
                "deployed": self.deployed_per_query,
                "gap": self.per_query,
            })  # fmt: skip
        numbers = self.numbers()
        columns: dict[str, Any] = {"quantity": list(numbers)}
        for name in ("value", "stderr", "low", "high", "method", "n"):
            columns[name] = [getattr(number, name) for number in numbers.values()]
        return frame(columns).set_index("quantity")

    def plot(self, path: str | None = None) -> Figure:
        """Draw promise against delivery, the split of the gap and the gap of every query.

        With ``path`` the picture is saved there too.
        """
        from .reporting.curse_plot import plot_report

        return plot_report(self, path)

    def __str__(self) -> str:
        rows = [f"{self.model or 'model'} promised, {self.user or 'user'} delivered, clicks a page"]
        for name, number in self.numbers().items():
            error = f", standard error {number.stderr:.4f}" if number.stderr else ""
            rows.append(f"  {name:<24}{number.value:>9.4f}  ({number.method}{error})")
        return "\n".join(rows)


def curse(
    policy: Policy,
    model: ClickModel,
    user: ClickModel,
    world: World,
    logging: Policy,
    samples: int = SAMPLES,
    seed: int = 0,
    best: Policy | None = None,
) -> CurseReport:
    """Return how much of what ``model`` promises for ``policy`` the true ``user`` delivers.

    Parameters
    ----------
    policy : Policy
        Chosen inside ``model``: a Max-Reward policy, a trained agent, ...
    model : ClickModel
        The learned model of ``world``.
    user : ClickModel
        The true user of the same world.
    logging : Policy
        The policy that made the log which the model was fitted to.
    samples, seed
        For policies with too many pages to count them all; see ``value``.
    best : Policy, optional
        The best policy known for the user, a lower bound, instead of searching for it. What was
        found is kept while the user lives, so a second report on the same user and world costs no
        search.
    """
    for name, given, kind in (
        ("policy", policy, Policy), ("logging", logging, Policy), ("model", model, ClickModel),
        ("user", user, ClickModel),
    ):  # fmt: skip
        if not isinstance(given, kind):
            raise ValueError(f"{name} must be a {kind.__name__}, not {type(given).__name__}")
    samples = checks.positive_integer(samples, "samples", 2)
    pages, (scores, exact) = pages_and_scores(policy, (model, user), world, samples, seed)
    promised, deployed = (
        pages.estimate(values, sure) for values, sure in zip(scores, exact, strict=True)
    )
    error, both = scores[0] - scores[1], all(exact)
    gap = pages.estimate(error, both)
    before = pages_and_scores(logging, (model, user), world, samples, seed)
    shown, (logged, sure) = before
    logged_error = logged[0] - logged[1]
    error_on_logging = shown.estimate(logged_error, all(sure))
    logging_value = shown.estimate(logged[1], sure[1])
    deployed_per_query = pages.by_query(scores[1])
    sure_of_each = exact[1] and (pages.whole or pages.deterministic)
    known = deployed_per_query if sure_of_each else None
    highest = _best(best, user, world, policy.slots, samples, seed, known)
    relevance = _top_down(model, user, world, policy.slots, samples, seed)
    return CurseReport(
        promised=promised,
        deployed=deployed,
        gap=gap,
        logging_value=logging_value,
        model_error_on_logging=error_on_logging,
        added_by_optimising=_difference(
            gap, error_on_logging, (pages, error, both), (shown, logged_error, all(sure))
        ),
        best=highest,
        regret=None if highest is None else _difference(highest, deployed),
        lift=_difference(
            deployed, logging_value, (pages, scores[1], exact[1]), (shown, logged[1], sure[1])
        ),
        top_down=relevance,
        per_query=pages.by_query(error),
        promised_per_query=pages.by_query(scores[0]),
        deployed_per_query=deployed_per_query,
        query_probs=world.query_probs,
        model=model.label or model.name,
        user=user.label or user.name,
    )


def best_policy(user: ClickModel, world: World, slots: int = 10) -> Ranker:
    """Return ``max_reward`` of the user; a second call with the same objects costs nothing."""
    found = _BEST.setdefault(user, {})
    key = (id(world), slots)
    if key not in found:
        found[key] = world, max_reward(user, world, slots)  # the world is kept, so its id is too
    return found[key][1]


def _best(
    given: Policy | None,
    user: ClickModel,
    world: World,
    slots: int,
    samples: int,
    seed: int,
    known: NDArray[np.float64] | None,
) -> Estimate | None:
    """Return the best value; a lower bound is raised to what is ``known`` of each query, (Q,)."""
    try:
        policy = best_policy(user, world, slots) if given is None else given
    except NotExact:
        return None
    pages, (scores, exact) = pages_and_scores(policy, (user,), world, samples, seed)
    number = pages.estimate(scores[0], exact[0])
    if given is None and _found_exactly(policy):
        return number
    if known is not None and number.method == "exact":
        higher = np.nan_to_num(np.fmax(pages.by_query(scores[0]), known))
        return Estimate(float(world.query_probs @ higher), method=LOWER_BOUND, n=number.n)
    return Estimate(number.value, number.stderr, method=LOWER_BOUND, n=number.n)


def _found_exactly(policy: Policy) -> bool:
    found = getattr(policy, "found", None)
    return found is not None and found.exact


def _top_down(
    model: ClickModel, user: ClickModel, world: World, slots: int, samples: int, seed: int
) -> Estimate | None:
    if "rank" not in model.capabilities:
        return None
    pages, (scores, exact) = pages_and_scores(
        top_down(model, world, slots), (user,), world, samples, seed
    )
    return pages.estimate(scores[0], exact[0])


Sampled = tuple[ShownPages, NDArray[np.float64], bool]


def _difference(
    first: Estimate,
    second: Estimate,
    one: Sampled | None = None,
    other: Sampled | None = None,
) -> Estimate:
    """Return first - second; page by page where both were drawn with the same seed."""
    number = first.value - second.value
    methods = dict.fromkeys(n.method for n in (first, second) if n.method != "exact")
    method = ", ".join(methods) or "exact"
    n = max(first.n, second.n)
    if one is not None and other is not None and _drawn_alike(one[0], other[0]):
        stderr = one[0].estimate(one[1] - other[1], one[2] and other[2]).stderr
    else:
        stderr = math.hypot(first.stderr, second.stderr)
    return Estimate(number, stderr, method=method, n=n)


def _drawn_alike(one: ShownPages, other: ShownPages) -> bool:
    """Whether both are samples with the same queries in the same places."""
    sampled = not (one.whole or other.whole)
    return sampled and np.array_equal(one.query, other.query)
