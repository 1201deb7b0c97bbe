"""The value of a policy: expected clicks of the pages that it shows, all of them or a sample."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..clickmodels import ClickModel, NotExact
from ..common import checks
from ..data import World
from ..policies import Policy
from .estimates import Estimate

MOST_PAGES = 400_000  # a policy that shows more different pages than this is sampled
_CHUNK = 8192  # pages scored at a time


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
    """

    query: NDArray[np.int64]
    ranking: NDArray[np.int64]
    weight: NDArray[np.float64]
    whole: bool
    deterministic: bool
    query_probs: NDArray[np.float64]

    def scores(
        self, model: ClickModel, rng: np.random.Generator
    ) -> tuple[NDArray[np.float64], bool]:
        """Return the expected clicks of every page, (n,), and True; or drawn clicks and False."""
        model.require("generative")
        query, ranking, again = self._distinct(model)
        try:
            model.expected_clicks(query[:1], ranking[:1])
        except NotExact:
            return model.sample(self.query, self.ranking, rng).sum(axis=1).astype(np.float64), False
        parts = [slice(start, start + _CHUNK) for start in range(0, len(query), _CHUNK)]
        values = [model.expected_clicks(query[part], ranking[part]) for part in parts]
        return np.concatenate(values)[again], True

    def _distinct(
        self, model: ClickModel
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Return different pages and where each page is among them, where scoring is expensive."""
        if self.whole or (model.cheap_scores and not self.deterministic):
            return self.query, self.ranking, np.arange(len(self.query))
        rows = np.column_stack([self.query, self.ranking])
        different, again = np.unique(rows, axis=0, return_inverse=True)
        return different[:, 0], different[:, 1:], again.reshape(-1)

    def by_query(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the mean of ``values`` (n,) for each query, (Q,); NaN for one never asked."""
        n_queries = len(self.query_probs)
        total = np.bincount(self.query, self.weight * values, n_queries)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(self.query_probs > 0, total / self.query_probs, np.nan)

    def estimate(self, values: NDArray[np.float64], exact: bool) -> Estimate:
        """Return the mean of ``values`` (n,), one a page: ``exact`` or drawn at random.

        The standard error is that of a mean stratified by query.
        """
        mean = float(self.weight @ values)
        if exact and (self.whole or self.deterministic):
            return Estimate(mean, method="exact", n=len(values))
        counts = np.bincount(self.query, minlength=len(self.query_probs))
        centre = self.by_query(values)[self.query]
        squares = np.bincount(self.query, (values - centre) ** 2, len(self.query_probs))
        variance = squares / np.maximum(counts - 1, 1)
        stderr = math.sqrt(float((self.query_probs**2 * variance / np.maximum(counts, 1)).sum()))
        drawn = [] if self.deterministic else ["rankings"]
        drawn += [] if exact else ["clicks"]
        return Estimate(mean, stderr, method=f"sampled {' and '.join(drawn)}", n=len(values))


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
    """
    policy.check_world(world)
    asked = np.flatnonzero(world.query_probs > 0)
    probs = world.query_probs
    if policy.deterministic and not repeat:
        pages = ShownPages(asked, policy.greedy(asked), probs[asked], True, True, probs)
        return _checked(pages, world)
    sizes = world.n_candidates[asked]
    number = sum(math.perm(size, min(size, policy.slots)) for size in sizes.tolist())
    limit = MOST_PAGES if most is None else min(most, MOST_PAGES)
    if policy.has_log_prob and number <= limit and not repeat:
        every = _every_page(policy, world, asked)
        if every is not None:
            return every
    counts = np.maximum(np.ceil(samples * probs[asked]).astype(np.int64), 2)
    query = np.repeat(asked, counts)
    ranking = policy.sample(query, np.random.default_rng(seed))
    weight = np.repeat(probs[asked] / counts, counts)
    pages = ShownPages(query, ranking, weight, False, policy.deterministic, probs)
    return _checked(pages, world)


def _every_page(
    policy: Policy, world: World, asked: NDArray[np.int64]
) -> ShownPages | None:
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


def _checked(pages: ShownPages, world: World) -> ShownPages:
    """Return ``pages`` after checking that they show candidates only."""
    wrong = (pages.ranking >= 0) & ~world.candidates[pages.query[:, None], pages.ranking]
    if wrong.any():
        row, slot = (int(place) for place in np.argwhere(wrong)[0])
        raise ValueError(
            f"the policy shows document {pages.ranking[row, slot]} of query {pages.query[row]}, "
            "which is not a candidate"
        )
    return pages


SAMPLES = 20_000


def value(
    policy: Policy,
    user: ClickModel,
    world: World,
    samples: int = SAMPLES,
    seed: int = 0,
) -> Estimate:
    """Return the expected clicks a page of ``policy`` shown to ``user``.

    Exact (and so it says) where the user's click probabilities are and the policy is deterministic
    or has few different pages. Otherwise at least ``samples`` rankings are drawn, stratified by
    query, with their exact expected clicks; only for a user that cannot give those (a model that
    enumerates click prefixes, with very long pages) are clicks drawn as well.

    Costs one ``expected_clicks`` a page: one page a query for deterministic policies.
    """
    samples = checks.positive_integer(samples, "samples", 2)
    pages, (scores, exact) = pages_and_scores(policy, (user,), world, samples, seed)
    return pages.estimate(scores[0], exact[0])


def pages_and_scores(
    policy: Policy,
    models: tuple[ClickModel, ...],
    world: World,
    samples: int,
    seed: int,
) -> tuple[ShownPages, tuple[list[np.ndarray], list[bool]]]:
    """Return the pages of ``policy``, and for each model their scores and whether they are exact.

    All models see the same pages.
    """
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
    results = [pages.scores(model, rng) for model in models]
    if pages.whole and not all(exact for _, exact in results):  # clicks drawn once say too little
        pages = shown_pages(policy, world, samples, seed, repeat=True)
        results = [pages.scores(model, rng) for model in models]
    return pages, ([scores for scores, _ in results], [exact for _, exact in results])
