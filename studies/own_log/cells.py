"""What is computed of a log of one's own: its numbers, models, policies and judgements."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

import numpy as np

from ... import clickmodels, evaluation, policies
from ...clickmodels import NotExact
from ...clickmodels.uncertainty.caution import AUTO, honest_values
from ...common.typing import Floats, Integers
from ...data import ClickLog, World
from ..engine.grid import cell_key
from ..engine.keeping import keep_file, make_folder, save_kept
from ..engine.shapes import Unbounded, Undefined
from .kept_logs import KeptLogs, kept_logs
from .log_fits import LogFitCell, fitted_to_log, publish_file, publish_model
from .source import TRAIN, WHOLE, shown_twice, shown_world

VERSION = "6"
TOP_DOWN, MAX_REWARD = OPTIMISERS = ("Top-Down", "Max-Reward")
_TAIL = 200  # points of the curve that shows the long tail
_EXAMPLES, _FIRST = 10, 5  # queries and documents that the page shows
_LOGGED_PAGES = 2_000  # held-out pages that models are asked about


@dataclass(frozen=True)
class DescribeCell:
    """The log itself."""

    logs: KeptLogs
    test: str = "test"


class LogNumbers(TypedDict):
    """What there is in the log; lists are by rank."""

    propensities: bool
    impressions: float
    queries: int
    documents: int
    clicks_per_page: float
    clicked_pages: float
    effective_queries: float
    head: float
    rare_documents: float
    same_page: Undefined
    shown: list[float]
    click_rate: list[Undefined]
    same_document: list[Undefined]
    tail: list[float]
    ties: list[list[int]]
    groups: list[list[int]]
    weakest: int
    held_out: float
    held_out_clicks: float


def describe_cell(cell: DescribeCell) -> LogNumbers:
    """Describe the log."""
    _, parts = kept_logs(cell.logs)
    log, test = parts[WHOLE], parts[cell.test]
    numbers = evaluation.describe_log(log)
    ties = evaluation.tied_ranks(log)
    steps = np.ceil(np.arange(1, _TAIL + 1) / _TAIL * numbers.queries).astype(int)
    clicks = np.count_nonzero(test.clicks, axis=1)
    return {
        "propensities": log.log_propensity is not None,
        "impressions": numbers.impressions, "queries": numbers.queries,
        "documents": numbers.documents, "clicks_per_page": numbers.clicks_per_page,
        "clicked_pages": numbers.clicked_pages, "effective_queries": numbers.effective_queries,
        "head": numbers.share_of_head(0.1), "rare_documents": numbers.rare_documents,
        "same_page": numbers.same_page, "shown": numbers.shown.tolist(),
        "click_rate": numbers.click_rate.tolist(),
        "same_document": numbers.same_document.tolist(),
        "tail": np.cumsum(numbers.query_shares)[steps - 1].tolist(),
        "ties": ties.documents.tolist(), "groups": [list(group) for group in ties.groups],
        "weakest": ties.weakest, "held_out": test.impressions,
        "held_out_clicks": float(test.counts @ clicks / max(test.impressions, 1e-300)),
    }  # fmt: skip


class OwnFitted(TypedDict):
    """Perplexity on held-out pages, and the clicks that the model expects of them per page.

    ``logged`` is None where the model cannot compute expected clicks, and of halves. ``trust`` is
    how far its log bears it out, None of models without a posterior.
    """

    perplexity: Unbounded
    low: Unbounded
    high: Unbounded
    by_rank: list[Undefined]
    logged: float | None
    trust: float | None


def fit_cell(cell: LogFitCell) -> OwnFitted:
    """Fit the model, keep it, and judge it on held-out pages."""
    model = fitted_to_log(cell)
    if cell.train == TRAIN:
        publish_model(cell)
    test = kept_logs(cell.logs)[1][cell.test]
    found = evaluation.perplexity_interval(model, test, seed=cell.seed)
    numbers = model.uncertainty.numbers if model.uncertainty is not None else {}
    return {
        "perplexity": found.mean, "low": found.low, "high": found.high,
        "by_rank": evaluation.perplexity(model, test).per_rank.tolist(),
        "logged": None if cell.train != TRAIN else _expect_logged(model, test, cell.seed),
        "trust": numbers.get("trust"),
    }  # fmt: skip


def _expect_logged(model: clickmodels.ClickModel, test: ClickLog, seed: int) -> float | None:
    """Return the mean of expected clicks of held-out pages, or of a sample of many of them."""
    chosen = test
    if len(test) > _LOGGED_PAGES:
        rows = np.random.default_rng(seed).choice(len(test), _LOGGED_PAGES, replace=False)
        chosen = test[np.sort(rows)]
    try:
        blocks = model.vertical_arguments(*chosen.blocks(slice(None)))
        expected = model.expected_clicks(chosen.query, chosen.ranking, **blocks)
    except NotExact:
        return None
    return float(chosen.counts @ expected / chosen.impressions)


@dataclass(frozen=True)
class ComparisonCell:
    """Models that are compared with the one of the lowest perplexity, on held-out pages."""

    best: LogFitCell
    others: tuple[LogFitCell, ...]


class Compared(TypedDict):
    """How far each model's perplexity is above the best one's, with the bounds of its interval."""

    above: dict[str, list[Unbounded]]


def comparison_cell(cell: ComparisonCell) -> Compared:
    """Compare models with the best one, page by page."""
    best, test = fitted_to_log(cell.best), kept_logs(cell.best.logs)[1][cell.best.test]
    above = {}
    for fit in cell.others:
        found = evaluation.perplexity_difference(
            fitted_to_log(fit), best, test, seed=cell.best.seed
        )
        above[fit.model] = [found.mean, found.low, found.high]
    return {"above": above}


@dataclass(frozen=True)
class StabilityCell:
    """A model that was fitted to both halves of the training part."""

    first: LogFitCell
    second: LogFitCell

    @property
    def model(self) -> str:
        """The model's name."""
        return self.first.model


class Stability(TypedDict):
    """How alike the two rank, as ``evaluation.Agreement``."""

    correlation: Undefined
    same_first: Undefined
    compared: float


def stability_cell(cell: StabilityCell) -> Stability:
    """Compare how the models of both halves rank documents that both were shown."""
    world, parts = shown_world(cell.first.logs), kept_logs(cell.first.logs)[1]
    first, second = (fitted_to_log(half) for half in (cell.first, cell.second))
    both = shown_twice([parts[half.train] for half in (cell.first, cell.second)], world)
    found = evaluation.rank_agreement(
        first.relevance(), second.relevance(), both, world.query_probs
    )
    return {
        "correlation": found.correlation, "same_first": found.same_first,
        "compared": found.compared,
    }  # fmt: skip


@dataclass(frozen=True)
class OwnPolicyCell:
    """A policy that a fitted model suggests."""

    fit: LogFitCell
    optimiser: str

    @property
    def model(self) -> str:
        """The model's name."""
        return self.fit.model

    @property
    def name(self) -> str:
        """The policy's name for people."""
        return f"{self.model} {self.optimiser}"

    @property
    def path(self) -> Path:
        """Where the policy is kept."""
        key = cell_key(self, VERSION)
        return Path(self.fit.logs.folder) / "policies" / f"{key}.safetensors"

    @property
    def rankings(self) -> Path:
        """Where its rankings are for people, in the log's own ids; the policy lies beside them."""
        name = f"{self.model}-{self.optimiser}.csv"
        return Path(self.fit.logs.folder) / "rankings" / name


class OwnPolicy(TypedDict):
    """The share of shown documents that the training part hardly ever showed, and examples.

    ``promise`` is what can be promised for it, in clicks per page; None where its model was fitted
    with the plain prior. ``pages`` is a hash of what is shown: rankings with the same one are the
    same.

    The examples are the most frequent queries' ids, their shares of the pages, and the ids of the
    first documents that they get.
    """

    hardly_shown: float
    promise: float | None
    pages: str
    examples: list[tuple[str, float, list[str]]]


def policy_cell(cell: OwnPolicyCell) -> OwnPolicy:
    """Find the policy and keep it."""
    policy, world = found_policy(cell), shown_world(cell.fit.logs)
    train = kept_logs(cell.fit.logs)[1][cell.fit.train]
    share = evaluation.share_hardly_shown(policy, train, world)
    shown = np.ascontiguousarray(policy.greedy(np.arange(world.n_queries)), dtype=np.int64)
    return {
        "hardly_shown": share, "promise": _find_promise(cell, shown, world),
        "pages": hashlib.sha256(shown.tobytes()).hexdigest(),
        "examples": _find_examples(policy, world),
    }  # fmt: skip


def _find_promise(cell: OwnPolicyCell, shown: Integers, world: World) -> float | None:
    """Return what can be promised for rankings (Q, K), as a careful search promises."""
    model = fitted_to_log(cell.fit)
    if not _is_careful(cell.fit, model):
        return None
    return float(world.query_probs @ honest_values(model, shown))


def _is_careful(fit: LogFitCell, model: clickmodels.ClickModel) -> bool:
    """Return whether the model was fitted with an informed prior and knows what its log says."""
    known = model.uncertainty
    return bool(fit.prior) and known is not None and known.level is not None


def publish_rankings(cell: OwnPolicyCell) -> None:
    """Write a policy and its rankings, in the log's own ids, to where people look for them."""
    policy = found_policy(cell)
    world, _ = kept_logs(cell.fit.logs)
    make_folder(cell.rankings.parent)
    save_kept(cell.rankings, policy.deployed_rankings(world).save)
    publish_file(cell.path, cell.rankings.with_suffix(".safetensors"), policies.Policy.load)


def _find_examples(
    policy: policies.Policy, world: World
) -> list[tuple[str, float, list[str]]]:
    examples = []
    for query in np.argsort(-world.query_probs, kind="stable")[:_EXAMPLES].tolist():
        page = policy.greedy([query])[0, :_FIRST]
        page = page[page >= 0]
        name = str(query if world.query_ids is None else world.query_ids[query])
        documents = page if world.doc_ids is None else world.doc_ids[query, page]
        examples.append((name, float(world.query_probs[query]), [str(one) for one in documents]))
    return examples


def found_policy(cell: OwnPolicyCell) -> policies.Policy:
    """Return the policy of a cell: from its file, or found now."""

    def find() -> policies.Policy:
        world, slots = shown_world(cell.fit.logs), kept_logs(cell.fit.logs)[1][WHOLE].slots
        model = fitted_to_log(cell.fit)
        if cell.optimiser == TOP_DOWN:
            return policies.top_down(model, world, slots)
        pessimism = AUTO if _is_careful(cell.fit, model) else 0.0
        return policies.max_reward(
            model, world, slots, seed=cell.fit.seed, pessimism=pessimism
        )

    return keep_file(cell.path, find, policies.Policy.save, policies.Policy.load)


@dataclass(frozen=True)
class JudgeCell:
    """A policy, and the models that judge it."""

    policy: OwnPolicyCell
    judges: tuple[LogFitCell, ...]


class Judged(TypedDict):
    """What the judges say that the policy earns, in clicks per page."""

    values: dict[str, float]


def judge_cell(cell: JudgeCell) -> Judged:
    """Ask every model what the policy earns, with vertical blocks where the log has them."""
    judges = {fit.model: fitted_to_log(fit) for fit in cell.judges}
    world = shown_world(cell.policy.fit.logs)
    policy = deployed_policy(cell.policy)
    return {"values": evaluation.judge_policy(policy, judges, world, cell.policy.fit.seed)}


def deployed_policy(cell: OwnPolicyCell) -> policies.Policy:
    """Return the policy of a cell, with vertical blocks where the log has them."""
    policy, world = found_policy(cell), shown_world(cell.fit.logs)
    log = kept_logs(cell.fit.logs)[1][WHOLE]
    if world.vertical is None or log.vertical_position is None:
        return policy
    return policies.Placed(policy, logged_places(log, world), world)


def logged_places(log: ClickLog, world: World) -> Floats:
    """Return how often a log places each query's block, (Q, K + 2): not shown, then 0 to K.

    A query that the log does not have shows none.
    """
    assert log.vertical_position is not None
    counts = np.zeros((world.n_queries, log.slots + 2))
    np.add.at(counts, (log.query, log.vertical_position + 1), log.counts)
    counts[counts.sum(axis=1) == 0, 0] = 1.0
    return counts / counts.sum(axis=1, keepdims=True)
