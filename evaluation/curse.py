"""The optimiser's curse: what a learned model promised, what the true user delivers, and why."""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from ..clickmodels import ClickModel, NotExact
from ..common import checks
from ..common.typing import Floats
from ..data import World
from ..policies import Placed, Policy, Ranker, best_pages, max_reward, top_down
from .reporting.figures import plot_curse
from .reporting.records import frame
from .statistics import Estimate
from .values import SAMPLES, ScoredPages, score_pages

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

LOWER_BOUND = "lower bound"


@dataclass(frozen=True)
class CurseReport:
    """What became of a policy that was chosen inside a learned model; all in clicks per page.

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
        The best value that any page has on the user, wherever its block stands; its method says
        whether it is exact or a lower bound, found by a search. None for a user whose expected
        clicks cannot be computed.
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
    query_ids : (Q,) or None
        The world's own ids of the queries.
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
    per_query: Floats = field(repr=False)
    promised_per_query: Floats = field(repr=False)
    deployed_per_query: Floats = field(repr=False)
    query_probs: Floats = field(repr=False)
    model: str = ""
    user: str = ""
    query_ids: NDArray[np.str_] | None = field(default=None, repr=False)

    def numbers(self) -> dict[str, Estimate]:
        """Return all quantities by name, in the order of the fields."""
        return {name: value for name, value in vars(self).items() if isinstance(value, Estimate)}

    def to_frame(self, per_query: bool = False) -> DataFrame:
        """Return a pandas frame with a row per quantity, or per query (with the world's ids)."""
        if per_query:
            named = {} if self.query_ids is None else {"query_id": self.query_ids}
            return frame({
                "query": np.arange(len(self.per_query)),
                **named,
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
        return plot_curse(self, path)

    def __str__(self) -> str:
        sides = f"{self.model or 'model'} promised, {self.user or 'user'} delivered"
        rows = [f"{sides}, clicks per page"]
        for name, number in self.numbers().items():
            error = f", standard error {number.stderr:.4f}" if number.stderr else ""
            rows.append(f"  {name:<24}{number.value:>9.4f}  ({number.method}{error})")
        return "\n".join(rows)


@dataclass(frozen=True)
class Deployment:
    """A policy inside a model and on the true user, on the same rankings; in clicks per page.

    Attributes
    ----------
    promised, deployed : Estimate
        The policy's value under the model, and on the user.
    gap : Estimate
        promised - deployed, with the standard error of the paired difference.
    best, regret : Estimate or None
        The best value known for the user, and best - deployed; None for a user whose expected
        clicks cannot be computed.
    under_model, on_user : ScoredPages
        The pages that were shown, with their clicks on either side.
    """

    promised: Estimate
    deployed: Estimate
    gap: Estimate
    best: Estimate | None
    regret: Estimate | None
    under_model: ScoredPages = field(repr=False)
    on_user: ScoredPages = field(repr=False)


def deploy(
    policy: Policy,
    model: ClickModel,
    user: ClickModel,
    world: World,
    samples: int = SAMPLES,
    seed: int = 0,
    best: Policy | None = None,
) -> Deployment:
    """Return what ``model`` promises for ``policy``, what ``user`` delivers, and what is missed.

    The parameters are those of ``curse``, which adds what the logging policy says about the gap.
    """
    _require_user(user, world, "deploy")
    _require(policy, Policy, "policy")
    _require(model, ClickModel, "model")
    _require(user, ClickModel, "user")
    if best is not None:
        _require(best, Policy, "best")
    samples = checks.positive_integer(samples, "samples", 2)
    under_model, on_user = score_pages(policy, (model, user), world, samples, seed)
    deployed, highest = on_user.estimate(), None
    if best is not None:
        (scored,) = score_pages(best, (user,), world, samples, seed)
        highest = _best_value(scored, False, on_user)
    else:
        with contextlib.suppress(NotExact):
            _, best_found, scored = _find_best(user, world, policy.slots)
            exact = best_found.found is not None and best_found.found.exact
            highest = _best_value(scored, exact, on_user)
    return Deployment(
        promised=under_model.estimate(),
        deployed=deployed,
        gap=(under_model - on_user).estimate(),
        best=highest,
        regret=None if highest is None else _subtract(highest, deployed),
        under_model=under_model,
        on_user=on_user,
    )


def _require(given: Any, kind: type[Any], name: str) -> None:
    if not isinstance(given, kind):
        raise ValueError(f"{name} must be a {kind.__name__}, not {type(given).__name__}")


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
        The true user of the same world; where the world has no grades, another model of it that
        stands in for one.
    logging : Policy
        The policy that made the log which the model was fitted to.
    samples, seed
        For policies with too many pages to count them all; see ``value``.
    best : Policy, optional
        The best policy known for the user, a lower bound, instead of searching for it. What was
        found is kept while the user lives, so a second report on the same user and world costs no
        search.
    """
    _require_user(user, world, "curse")
    _require(logging, Policy, "logging")
    found = deploy(policy, model, user, world, samples, seed, best)
    logged_model, logged_user = score_pages(logging, (model, user), world, samples, seed)
    error, logged_error = found.under_model - found.on_user, logged_model - logged_user
    relevance = None
    if "rank" in model.capabilities:
        ranker = top_down(model, world, policy.slots)
        relevance = score_pages(ranker, (user,), world, samples, seed)[0].estimate()
    return CurseReport(
        promised=found.promised,
        deployed=found.deployed,
        gap=found.gap,
        logging_value=logged_user.estimate(),
        model_error_on_logging=logged_error.estimate(),
        added_by_optimising=_subtract_pages(error, logged_error),
        best=found.best,
        regret=found.regret,
        lift=_subtract_pages(found.on_user, logged_user),
        top_down=relevance,
        per_query=error.by_query(),
        promised_per_query=found.under_model.by_query(),
        deployed_per_query=found.on_user.by_query(),
        query_probs=world.query_probs,
        model=model.label or model.name,
        user=user.label or user.name,
        query_ids=world.query_ids,
    )


def _require_user(user: ClickModel | None, world: World, function: str) -> None:
    """Raise where there is no user and the world has no grades to make a true one from."""
    if user is None:
        world.require_grades(f"{function} compares with a true user, which needs")


Best = Ranker | Placed
_BEST: WeakKeyDictionary[ClickModel, dict[tuple[int, int], tuple[World, Best, ScoredPages]]]
_BEST = WeakKeyDictionary()


def best_policy(user: ClickModel, world: World, slots: int = 10) -> Best:
    """Return ``max_reward`` of the user; a second call with the same objects costs nothing.

    Where the world has blocks and the user knows them, it is ``best_pages``: over places as well.
    """
    return _find_best(user, world, slots)[1]


def _find_best(user: ClickModel, world: World, slots: int) -> tuple[World, Best, ScoredPages]:
    """Return the best policy found, with its clicks; and the world, so that its id is kept."""
    known = _BEST.setdefault(user, {})
    key = (id(world), slots)
    if key not in known:
        placing = user.knows_verticals and world.vertical is not None
        found = (best_pages if placing else max_reward)(user, world, slots)
        known[key] = world, found, score_pages(found, (user,), world, SAMPLES, 0)[0]
    return known[key]


def _best_value(best: ScoredPages, exact: bool, other: ScoredPages) -> Estimate:
    """Return the best value on the user: ``exact``, or a lower bound.

    That is raised to the value of the ``other`` pages for each query where these are better, if
    both are known without chance.
    """
    number = best.estimate()
    if exact:
        return number
    if other.sure and number.method == "exact":
        higher = np.nan_to_num(np.fmax(best.by_query(), other.by_query()))
        value = float(best.pages.query_probs @ higher)
        return Estimate(value, method=LOWER_BOUND, n=number.n)
    return Estimate(number.value, number.stderr, method=LOWER_BOUND, n=number.n)


def _subtract(first: Estimate, second: Estimate, stderr: float | None = None) -> Estimate:
    """Return first - second; of independent estimates unless ``stderr`` is given."""
    methods = dict.fromkeys(n.method for n in (first, second) if n.method != "exact")
    if stderr is None:
        stderr = math.hypot(first.stderr, second.stderr)
    method = ", ".join(methods) or "exact"
    return Estimate(first.value - second.value, stderr, method=method, n=max(first.n, second.n))


def _subtract_pages(first: ScoredPages, second: ScoredPages) -> Estimate:
    """Return the difference of two policies' means, paired where both were drawn alike.

    Samples drawn with the same seed have the same queries in the same places.
    """
    sampled = not (first.pages.whole or second.pages.whole)
    paired = sampled and np.array_equal(first.pages.query, second.pages.query)
    stderr = (first - second).estimate().stderr if paired else None
    return _subtract(first.estimate(), second.estimate(), stderr)
