"""What is computed of a log of one's own: its numbers, models, policies and judgements."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypedDict

import numpy as np

from ... import clickmodels, evaluation, policies
from ...clickmodels import NotExact
from ...data import ClickLog, World
from ..engine.artefacts import fit_parts, load_model
from ..engine.keeping import keep_file, make_folder, save_kept
from ..engine.shapes import Unbounded, Undefined
from .source import HALVES, LogSource, kept_log, parts_of, read_source, shown_twice

VERSION = "1"
TRAIN = "train"
TOP_DOWN, MAX_REWARD = OPTIMISERS = ("Top-Down", "Max-Reward")
_TAIL = 200  # points of the curve that shows the long tail
_EXAMPLES, _FIRST = 10, 5  # queries and documents that the page shows
_LOGGED_PAGES = 2_000  # held-out pages that models are asked about


@dataclass(frozen=True)
class ReadCell:
    """The log itself."""

    source: LogSource


class LogNumbers(TypedDict):
    """What there is in the log; lists are by rank."""

    rows: int
    columns: str
    oddities: dict[str, int]
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
    held_out_clicks: Unbounded


def read_cell(cell: ReadCell) -> LogNumbers:
    """Read the log, keep it with its world, and describe it."""
    found = read_source(cell.source)
    kept_log(cell.source)  # other processes load it
    numbers = evaluation.describe_log(found.log)
    ties = evaluation.tied_ranks(found.log)
    steps = np.ceil(np.arange(1, _TAIL + 1) / _TAIL * numbers.queries).astype(int)
    test = parts_of(cell.source).test
    clicks = np.count_nonzero(test.clicks, axis=1)
    return {
        "rows": found.rows, "columns": found.columns, "oddities": found.oddities,
        "propensities": found.log.log_propensity is not None,
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


@dataclass(frozen=True)
class OwnFitCell:
    """A model, and the part of the log that it is fitted to."""

    source: LogSource
    model: str
    part: str = TRAIN

    @property
    def path(self) -> Path:
        """Where the fitted model is."""
        suffix = "" if self.part == TRAIN else f"-{self.part.replace(' ', '-')}"
        return self.source.place("models", f"{self.model}{suffix}.safetensors")


class OwnFitted(TypedDict):
    """Perplexity on held-out pages, and the clicks that the model expects of them per page.

    ``logged`` is None where the model cannot compute expected clicks, and of halves.
    """

    perplexity: Unbounded
    low: Unbounded
    high: Unbounded
    by_rank: list[Undefined]
    logged: float | None


def fit_cell(cell: OwnFitCell) -> OwnFitted:
    """Fit the model, keep it, and judge it on held-out pages."""
    model = fitted_model(cell)
    test = parts_of(cell.source).test
    found = evaluation.perplexity_interval(model, test, seed=cell.source.seed)
    return {
        "perplexity": found.mean, "low": found.low, "high": found.high,
        "by_rank": evaluation.perplexity(model, test).per_rank.tolist(),
        "logged": None if cell.part != TRAIN else _expect_logged(model, test, cell.source.seed),
    }  # fmt: skip


def fitted_model(cell: OwnFitCell) -> clickmodels.ClickModel:
    """Return the model of a cell: from its file, or fitted now."""

    def fit() -> clickmodels.ClickModel:
        parts, seed = parts_of(cell.source), cell.source.seed
        train = parts.part(cell.part, seed)
        return fit_parts(cell.model, train, parts.validation, parts.world, seed, "table")

    load = partial(load_model, name=cell.model)
    return keep_file(cell.path, fit, clickmodels.ClickModel.save, load)


def _expect_logged(model: clickmodels.ClickModel, test: ClickLog, seed: int) -> float | None:
    """Return the mean of expected clicks of held-out pages, or of a sample of many of them."""
    chosen = test
    if len(test) > _LOGGED_PAGES:
        rows = np.random.default_rng(seed).choice(len(test), _LOGGED_PAGES, replace=False)
        chosen = test[np.sort(rows)]
    try:
        expected = model.expected_clicks(chosen.query, chosen.ranking)
    except NotExact:
        return None
    return float(chosen.counts @ expected / chosen.impressions)


@dataclass(frozen=True)
class StabilityCell:
    """A model that was fitted to both halves of the training part."""

    source: LogSource
    model: str


class Stability(TypedDict):
    """How alike the two rank, as ``evaluation.Agreement``."""

    correlation: Unbounded
    same_first: Unbounded
    compared: float


def stability_cell(cell: StabilityCell) -> Stability:
    """Compare how the models of both halves rank documents that both were shown."""
    parts, source = parts_of(cell.source), cell.source
    first, second = (fitted_model(OwnFitCell(source, cell.model, half)) for half in HALVES)
    logs = [parts.part(half, source.seed) for half in HALVES]
    both = shown_twice(logs, parts.world)
    found = evaluation.rank_agreement(
        first.relevance(), second.relevance(), both, parts.world.query_probs
    )
    return {
        "correlation": found.correlation, "same_first": found.same_first,
        "compared": found.compared,
    }  # fmt: skip


@dataclass(frozen=True)
class OwnPolicyCell:
    """A policy that a model suggests."""

    source: LogSource
    model: str
    optimiser: str

    @property
    def name(self) -> str:
        """The policy's name for people."""
        return f"{self.model} {self.optimiser}"

    @property
    def path(self) -> Path:
        """Where the policy is."""
        return self.source.place("policies", f"{self.model}-{self.optimiser}.safetensors")

    @property
    def rankings(self) -> Path:
        """Where its rankings are, in the log's own ids."""
        return self.source.place("rankings", f"{self.model}-{self.optimiser}.csv")


class OwnPolicy(TypedDict):
    """The share of shown documents that the training part hardly ever showed, and examples.

    The examples are the most frequent queries' ids, their shares of the pages, and the ids of the
    first documents that they get.
    """

    hardly_shown: float
    examples: list[tuple[str, float, list[str]]]


def policy_cell(cell: OwnPolicyCell) -> OwnPolicy:
    """Find the policy, keep it, and write its rankings in the log's own ids."""
    policy = found_policy(cell)
    world, _ = kept_log(cell.source)
    make_folder(cell.rankings.parent)
    save_kept(cell.rankings, policy.deployed_rankings(world).save)
    parts = parts_of(cell.source)
    share = evaluation.share_hardly_shown(policy, parts.train, parts.world)
    return {"hardly_shown": share, "examples": _find_examples(policy, parts.world)}


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
        parts, source = parts_of(cell.source), cell.source
        model = fitted_model(OwnFitCell(source, cell.model))
        if cell.optimiser == TOP_DOWN:
            return policies.top_down(model, parts.world, parts.log.slots)
        return policies.max_reward(model, parts.world, parts.log.slots, seed=source.seed)

    return keep_file(cell.path, find, policies.Policy.save, policies.Policy.load)


@dataclass(frozen=True)
class JudgeCell:
    """A policy, and the models that judge it."""

    policy: OwnPolicyCell
    judges: tuple[str, ...]


class Judged(TypedDict):
    """What the judges say that the policy earns, in clicks per page."""

    values: dict[str, float]


def judge_cell(cell: JudgeCell) -> Judged:
    """Ask every model what the policy earns."""
    source = cell.policy.source
    judges = {name: fitted_model(OwnFitCell(source, name)) for name in cell.judges}
    policy = found_policy(cell.policy)
    world = parts_of(source).world
    return {"values": evaluation.judge_policy(policy, judges, world, source.seed)}
