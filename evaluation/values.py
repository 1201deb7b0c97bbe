"""The value of a policy: expected clicks of the pages that it shows, all of them or a sample."""

from __future__ import annotations

import contextlib
import itertools
import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..clickmodels import ClickModel, NotExact
from ..common import checks
from ..common.typing import Floats, Integers
from ..data import World
from ..policies import Policy
from ..policies.placing.pages import block_types, draw_positions, may_place, place_log_probs
from .statistics import Estimate

MOST_PAGES = 400_000  # a policy that shows more different pages than this is sampled
_CHUNK = 8192  # pages scored at a time
SAMPLES = 20_000  # pages drawn of a policy that is not enumerated


@dataclass(frozen=True)
class ShownPages:
    """Pages and how much each counts.

    Attributes
    ----------
    query : (n,), ranking : (n, K)
        Sorted by query.
    weight : (n,)
        Their sum is 1: the query's frequency times the page's probability, or its share of the
        query's sample.
    whole : bool
        Whether these are all pages that the policy shows, once; otherwise they are a sample,
        stratified by query.
    deterministic : bool
        Whether a query has one page, however often it is here.
    query_probs : (Q,)
    block : (n, 2) or None
        The type of each page's vertical block and its position, -1 = none; None without blocks.
    """

    query: Integers
    ranking: Integers
    weight: Floats
    whole: bool
    deterministic: bool
    query_probs: Floats
    block: Integers | None = None

    def score(
        self, model: ClickModel, rng: np.random.Generator, reward: str = "clicks"
    ) -> ScoredPages:
        """Return these pages with their expected rewards, or drawn clicks if those are unknown."""
        model.require("generative")
        rows, again = self._distinct(model)
        ask = model.expected_clicks if reward == "clicks" else model.satisfied_probs
        try:
            ask(self.query[:1], self.ranking[:1])
        except NotExact:
            blocks = self._blocks(model, np.arange(len(self.query)))
            clicks = model.sample(self.query, self.ranking, rng, **blocks).sum(axis=1)
            return ScoredPages(self, clicks.astype(np.float64), exact=False)
        parts = [rows[start : start + _CHUNK] for start in range(0, len(rows), _CHUNK)]
        values = [
            ask(self.query[part], self.ranking[part], **self._blocks(model, part))
            for part in parts
        ]
        return ScoredPages(self, np.concatenate(values)[again], exact=True)

    def _blocks(self, model: ClickModel, rows: Integers) -> dict[str, Any]:
        """Return the blocks of some pages as arguments of the model's methods."""
        if self.block is None:
            return {}
        return model.vertical_arguments(self.block[rows, 0], self.block[rows, 1])

    def _distinct(self, model: ClickModel) -> tuple[Integers, Integers]:
        """Return rows with all different pages, and for each page where it is among them.

        All pages as they are where that is cheaper.
        """
        if self.whole or (model.cheap_scores and not self.deterministic):
            every = np.arange(len(self.query))
            return every, every
        columns = [self.query, self.ranking] + ([] if self.block is None else [self.block])
        pages = np.column_stack(columns)
        _, first, again = np.unique(pages, axis=0, return_index=True, return_inverse=True)
        return first, again.reshape(-1)

    def with_places(self, policy: Policy, world: World) -> ShownPages:
        """Return all pages with all places where ``policy`` puts their blocks: K + 2 at most."""
        table = np.exp(place_log_probs(policy, self.query, self.ranking, world))
        row, column = np.nonzero(table)
        query, position = self.query[row], column - 1
        block = np.column_stack([block_types(world, query, position), position])
        return replace(
            self, query=query, ranking=self.ranking[row], block=block,
            weight=self.weight[row] * table[row, column],
            deterministic=self.deterministic and len(row) == len(self.query),
        )  # fmt: skip


@dataclass(frozen=True)
class ScoredPages:
    """Pages with their clicks.

    Attributes
    ----------
    pages : ShownPages
    scores : (n,)
        Expected clicks of each page, or drawn ones.
    exact : bool
        Whether they are expected clicks.
    """

    pages: ShownPages
    scores: Floats
    exact: bool

    @property
    def sure(self) -> bool:
        """Whether the mean of the scores is the policy's value, without any chance in it."""
        return self.exact and (self.pages.whole or self.pages.deterministic)

    def __sub__(self, other: ScoredPages) -> ScoredPages:
        """Return the difference of scores, page by page."""
        return ScoredPages(self.pages, self.scores - other.scores, self.exact and other.exact)

    def by_query(self) -> Floats:
        """Return the mean score of each query, (Q,); NaN for a query that is never asked."""
        probs = self.pages.query_probs
        total = np.bincount(self.pages.query, self.pages.weight * self.scores, len(probs))
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(probs > 0, total / probs, np.nan)

    def estimate(self) -> Estimate:
        """Return the mean score with the standard error of a mean stratified by query."""
        pages, n = self.pages, len(self.scores)
        mean = float(pages.weight @ self.scores)
        if self.sure:
            return Estimate(mean, method="exact", n=n)
        probs = pages.query_probs
        counts = np.bincount(pages.query, minlength=len(probs))
        centre = self.by_query()[pages.query]
        squares = np.bincount(pages.query, (self.scores - centre) ** 2, len(probs))
        variance = squares / np.maximum(counts - 1, 1)
        stderr = math.sqrt(float((probs**2 * variance / np.maximum(counts, 1)).sum()))
        drawn = [] if pages.deterministic else ["rankings" if pages.block is None else "pages"]
        drawn += [] if self.exact else ["clicks"]
        return Estimate(mean, stderr, method=f"sampled {' and '.join(drawn)}", n=n)


def shown_pages(
    policy: Policy,
    world: World,
    samples: int,
    seed: int,
    repeat: bool = False,
    most: int | None = None,
) -> ShownPages:
    """Return the pages that ``policy`` shows in ``world``.

    All of them for deterministic policies and for those with at most ``most`` pages (default
    ``MOST_PAGES``); otherwise at least ``samples``, for each query in proportion to its frequency
    and at least two. ``repeat`` samples all policies: for clicks that are drawn and not expected.
    Where the policy places blocks, a page counts once for each place.
    """
    policy.check_world(world)
    asked = np.flatnonzero(world.query_probs > 0)
    placing, places = may_place(policy, world), policy.slots + 2
    if not repeat:
        limit = MOST_PAGES if most is None else min(most, MOST_PAGES)
        every = _whole(policy, world, asked, limit // places if placing else limit)
        if every is not None:
            with contextlib.suppress(NotImplementedError):  # places that can only be drawn
                return every.with_places(policy, world) if placing else every
    probs = world.query_probs
    counts = np.maximum(np.ceil(samples * probs[asked]).astype(np.int64), 2)
    query = np.repeat(asked, counts)
    rng = np.random.default_rng(seed)
    ranking = policy.sample(query, rng)
    weight = np.repeat(probs[asked] / counts, counts)
    pages = ShownPages(query, ranking, weight, False, policy.deterministic, probs)
    _check_candidates(pages, world)
    if not placing:
        return pages
    position = draw_positions(policy, world, query, ranking, rng)
    block = np.column_stack([block_types(world, query, position), position])
    return replace(pages, deterministic=False, block=block)


def _whole(policy: Policy, world: World, asked: Integers, most: int) -> ShownPages | None:
    """Return all pages of ``policy``, without blocks; None where there are too many."""
    if policy.deterministic:
        probs = world.query_probs
        pages = ShownPages(asked, policy.greedy(asked), probs[asked], True, True, probs)
        _check_candidates(pages, world)
        return pages
    sizes = world.n_candidates[asked]
    number = sum(math.perm(size, min(size, policy.slots)) for size in sizes.tolist())
    return _every_page(policy, world, asked) if policy.has_log_prob and number <= most else None


def _every_page(policy: Policy, world: World, asked: Integers) -> ShownPages | None:
    """Return all full pages by enumeration, or None for a policy that shows other ones too."""
    parts = []
    for query in asked.tolist():
        documents = np.flatnonzero(world.candidates[query])
        size = min(len(documents), policy.slots)
        orders = np.array(list(itertools.permutations(documents.tolist(), size)), dtype=np.int64)
        ranking = np.full((len(orders), policy.slots), -1)
        ranking[:, :size] = orders
        chance = np.exp(policy.log_prob(np.full(len(orders), query), ranking))
        if abs(chance.sum() - 1.0) > 1e-6:
            return None
        kept = chance > 0
        weight = chance[kept] / chance.sum() * world.query_probs[query]
        parts.append((np.full(len(weight), query), ranking[kept], weight))
    query, ranking, weight = (np.concatenate(column) for column in zip(*parts, strict=True))
    return ShownPages(query, ranking, weight, True, False, world.query_probs)


def _check_candidates(pages: ShownPages, world: World) -> None:
    """Raise where ``pages`` show a document that is not a candidate."""
    wrong = (pages.ranking >= 0) & ~world.candidates[pages.query[:, None], pages.ranking]
    if wrong.any():
        row, slot = (int(place) for place in np.argwhere(wrong)[0])
        raise ValueError(
            f"the policy shows document {pages.ranking[row, slot]} of query {pages.query[row]}, "
            "which is not a candidate"
        )


def value(
    policy: Policy,
    user: ClickModel,
    world: World,
    samples: int = SAMPLES,
    seed: int = 0,
    reward: str = "clicks",
) -> Estimate:
    """Return the expected clicks per page of ``policy`` shown to ``user``.

    With ``reward="satisfied"`` it is the share of pages that satisfy: those with a click, and those
    whose block does without one (``ClickModel.satisfied_probs``). Blocks stand where the policy
    places them; a user who knows no verticals ignores them.

    Exact (and so it says) where the user's click probabilities are and the policy is deterministic
    or has few different pages. Otherwise at least ``samples`` rankings are drawn, stratified by
    query, with their exact expected clicks; only for a user that cannot give those (a model that
    enumerates click prefixes, with very long pages) are clicks drawn as well.

    Costs one ``expected_clicks`` per page: one page per query for deterministic policies.
    """
    samples = checks.positive_integer(samples, "samples", 2)
    checks.choice(reward, ("clicks", "satisfied"), "reward")
    (scored,) = score_pages(policy, (user,), world, samples, seed, reward)
    return scored.estimate()


def score_pages(
    policy: Policy,
    models: tuple[ClickModel, ...],
    world: World,
    samples: int,
    seed: int,
    reward: str = "clicks",
) -> list[ScoredPages]:
    """Return the pages of ``policy`` with their clicks under each model; all see the same pages."""
    for model in models:
        model.check_world(world)
        if model.max_slots is not None and policy.slots > model.max_slots:
            raise ValueError(
                f"the policy shows {policy.slots} slots, the {model.name} knows {model.max_slots}"
            )
    rng = np.random.default_rng((seed, 1))
    # Where a page is expensive, only as many are enumerated as would be drawn.
    most = None if all(model.cheap_scores for model in models) else samples
    pages = shown_pages(policy, world, samples, seed, most=most)
    scored = [pages.score(model, rng, reward) for model in models]
    if pages.whole and not all(one.exact for one in scored):  # clicks drawn once say too little
        pages = shown_pages(policy, world, samples, seed, repeat=True)
        scored = [pages.score(model, rng, reward) for model in models]
    return scored
