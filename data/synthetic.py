"""The embedded world: made from a seed, and shaped like MSLR-WEB10K."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from ..common import checks
from ..common.typing import Booleans, Integers
from .candidates import check_sampler, draw_candidates, power_law
from .world import World

Floats = NDArray[np.floating]
Generator = np.random.Generator

SHORTEST, MEDIAN, LONGEST = 20, 100, 300
GRADE_SHARES = (0.5615, 0.292, 0.1235, 0.0165, 0.0065)

# What relevance is made of: weights of independent standard normals. They were tuned together.
# "luck", which no feature shows, bounds what a ranker can learn (LambdaMART's nDCG@10 near 0.45);
# "topic", which the text features show, sets BM25's (near 0.33); "abundance", which is the same
# for all documents of a query, sets how uneven queries are (random order's, near 0.17).
TOPIC, QUALITY, POPULARITY, LUCK, ABUNDANCE = 0.43, 0.45, 0.45, 0.75, 0.25


def synthetic_world(
    n_queries: int = 1000,
    n_docs: int | None = None,
    n_features: int = 136,
    seed: int = 0,
    sampler: str = "stratified",
) -> World:
    """Make a world with the shape of MSLR-WEB10K, but none of its data.

    Lists have 20 to 300 candidates, with a median of 100. Grades 0..4 have shares of about
    56, 29, 12.5, 1.6 and 0.6 %, and no query has one grade only. Ranked by feature 110 (BM25;
    ``features[:, :, 109]``) whole lists have an nDCG@10 near 0.33, in random order near 0.17, and
    by a LambdaMART that learned on other queries near 0.45.

    Parameters
    ----------
    n_queries : int
        Q, at least 1.
    n_docs : int, optional
        Candidates per query, 2 to 300, drawn by ``sampler`` from lists that are made at
        least ``n_docs`` long. None: whole lists, padded to the longest.
    n_features : int
        F, 1 to 136: the first F of MSLR's features. The first ten are the query terms covered by
        each field, which say something about relevance; BM25 is there from 110 on, and what is
        known about a page apart from its text (links, clicks) from 126 on.
    seed : int
        Equal arguments and seeds make equal worlds.
    sampler : {"stratified", "relevant"}
        How the ``n_docs`` are drawn: so that all grades are there, or as in section 6.1 of the
        robustness paper, hardly any of grade 0 (see ``data.candidates``).

    Returns
    -------
    World
        Named "synthetic", with features (Q, N, F) and power-law query frequencies. Its
        fingerprint is that of the arguments, because the last bit of a feature may depend on the
        processor.

    Notes
    -----
    1. A document has a topic, a quality, a popularity and luck, a query has an abundance of
       relevant documents: independent standard normals. Their weighted sum (``TOPIC`` …
       ``ABUNDANCE``) is cut into grades at the normal quantiles that give ``GRADE_SHARES``. Where
       all grades of a query would be 0, its best document gets a 1; where all would be the same
       but higher, its worst gets one less.
    2. Each of the fields body, anchor, title and URL matches the query as the topic does, with
       noise of its own (``FIELDS``); the match of the whole document is their weighted sum. A
       field that matches badly contains no query term: this is where most zeros come from.
    3. Features 1 to 125 are 25 statistics (``_statistics``) of these five fields: feature
       5 * i + j + 1 is statistic i of field j. There are counts, shares, heavy-tailed sums and
       variances; many are copies of others but for scale and noise, and inverse document
       frequencies are the same for all documents of a query.
    4. Features 126 to 136 (``PAGES``) show quality or popularity with noise, or noise alone.
    """
    n_queries = checks.positive_integer(n_queries, "n_queries")
    n_features = checks.positive_integer(n_features, "n_features")
    if n_features > N_FEATURES:
        raise ValueError(f"n_features must be at most {N_FEATURES}, not {n_features}")
    if n_docs is not None and checks.positive_integer(n_docs, "n_docs", 2) > LONGEST:
        raise ValueError(f"n_docs must be at most {LONGEST}, not {n_docs}")
    seed = checks.positive_integer(seed, "seed", 0)
    check_sampler(sampler)
    world_rng, draw_rng, feature_rng = np.random.default_rng(seed).spawn(3)

    query_probs = power_law(n_queries, world_rng)
    candidates = _draw_lists(n_queries, n_docs, world_rng)
    factors = world_rng.standard_normal((4, candidates.sum()), dtype=np.float32)
    relevance = _make_grades(factors, candidates, world_rng)
    if n_docs is not None:
        drawn = draw_candidates(sampler, relevance, candidates, n_docs, draw_rng)
        document = np.cumsum(candidates).reshape(candidates.shape) - 1
        factors = factors[:, np.take_along_axis(document, drawn, axis=1).ravel()]
        relevance = np.take_along_axis(relevance, drawn, axis=1)
        candidates = np.ones(relevance.shape, dtype=bool)

    features = np.zeros((*relevance.shape, n_features), dtype=np.float32)
    lengths = candidates.sum(axis=1)
    features[candidates] = _make_features(factors, lengths, feature_rng)[:n_features].T
    features.flags.writeable = False  # a world shares such an array instead of copying it
    world = World(relevance, features, query_probs, candidates, name="synthetic")
    recipe = f"clickgym synthetic 1: {n_queries} {n_docs} {n_features} {seed}"
    if n_docs is not None and sampler != "stratified":
        recipe += f" {sampler}"
    return world.with_fingerprint(hashlib.sha256(recipe.encode()).hexdigest())


def _draw_lists(n_queries: int, n_docs: int | None, rng: Generator) -> Booleans:
    """Return which places of the padded lists hold a document, (Q, N)."""
    lengths = np.rint(MEDIAN * np.exp(0.6 * rng.standard_normal(n_queries)))
    lengths = np.clip(lengths, max(SHORTEST, n_docs or 0), LONGEST)
    return np.arange(int(lengths.max())) < lengths[:, None]


def _make_grades(factors: Floats, candidates: Booleans, rng: Generator) -> NDArray[np.int8]:
    """Return grades (Q, N) of documents with these factors (4, n); -1 where there is none."""
    weights = np.array([TOPIC, QUALITY, POPULARITY, LUCK], dtype=np.float32)
    score = np.full(candidates.shape, np.nan)
    score[candidates] = _weighted_sum(weights, factors)
    score += ABUNDANCE * rng.standard_normal((len(candidates), 1))
    cuts = ndtri(np.cumsum(GRADE_SHARES[:-1])) * np.hypot(ABUNDANCE, np.linalg.norm(weights))
    grades = np.where(candidates, np.searchsorted(cuts, score), -1).astype(np.int8)

    highest = grades.max(axis=1)
    lowest = np.where(candidates, grades, highest[:, None]).min(axis=1)
    alike = np.flatnonzero(highest == lowest)
    best, worst = np.nanargmax(score, axis=1)[alike], np.nanargmin(score, axis=1)[alike]
    raise_best = highest[alike] == 0
    grades[alike, np.where(raise_best, best, worst)] += np.where(raise_best, 1, -1).astype(np.int8)
    return grades


class _Kind(NamedTuple):
    """What all fields of a kind have in common."""

    empty: float  # share of fields without any query term
    length: float  # median length in words
    spread: float  # standard deviation of the length's logarithm
    repeats: float  # further occurrences of a query term that is in the field
    topic: float = 0.0  # correlation of match and topic
    weight: float = 0.0  # of the match in the whole document's


FIELDS = (
    _Kind(empty=0.11, length=440, spread=1.0, repeats=3.0, topic=0.45, weight=0.6),  # body
    _Kind(empty=0.86, length=2, spread=1.0, repeats=0.4, topic=0.50, weight=0.4),  # anchor
    _Kind(empty=0.28, length=7, spread=0.5, repeats=0.2, topic=0.55, weight=0.6),  # title
    _Kind(empty=0.66, length=7, spread=0.4, repeats=0.1, topic=0.45, weight=0.3),  # URL
)
WHOLE = _Kind(empty=0.09, length=460, spread=1.0, repeats=4.0)  # matches as the others together


class _Field(NamedTuple):
    """One field of all documents, and their queries: arrays (n,)."""

    terms: Floats  # words of the query
    rarity: Floats  # mean inverse document frequency of the query's words in such fields
    length: Floats  # words of the field
    strength: Floats  # of the match, from 0 (no query term in the field) to 1
    covered: Floats  # query terms that are in the field
    occurrences: Floats  # of query terms in the field


def _statistics(field: _Field, rng: Generator) -> Iterator[Floats]:
    """Yield the 25 statistics of a field in MSLR's order, each (n,)."""
    terms, rarity, length, strength, covered, count = field
    noise = rng.standard_normal((5, len(terms)), dtype=np.float32)
    mean = count / terms
    complete = covered == terms
    smallest = complete * np.ceil(mean * np.exp(-np.abs(noise[0])))
    largest = np.ceil(np.minimum(mean * np.exp(np.abs(noise[0])), count))
    variance = (terms > 1) * mean**2 * np.exp(1.5 * noise[0])
    yield covered
    yield covered / terms
    yield length
    yield rarity * terms
    for unit in (np.ones_like(length), 1 / length, rarity):  # plain, per word, weighted by rarity
        yield count * unit
        yield smallest * unit
        yield largest * unit
        yield mean * unit
        yield variance * unit**2
    yield complete.astype(np.float32)
    yield (strength > 0) * ndtr(2 * strength + 0.3 * noise[1])  # vector space model
    yield rarity * terms * strength  # BM25
    for k in range(3):  # language models with three kinds of smoothing
        yield -rarity * terms * (1.2 - strength + 0.05 * (k + 1) * np.abs(noise[2 + k]))


# Pages: which factor a feature shows (1 quality, 2 popularity), the correlation with it, and what
# makes the feature from a standard normal.
PAGES: tuple[tuple[int, float, Callable[[Floats], Floats]], ...] = (
    (1, 0.0, lambda x: np.ceil(np.exp(1.0 + 0.4 * x))),  # slashes in the URL
    (1, 0.0, lambda x: np.ceil(np.exp(3.7 + 0.5 * x))),  # length of the URL
    (2, 0.3, lambda x: np.floor(np.exp(1.6 + 3.0 * x))),  # links to the page
    (2, 0.0, lambda x: np.floor(np.exp(0.3 + 1.5 * x))),  # links on the page
    (2, 0.4, lambda x: np.floor(65535 * ndtr(1.5 * x - 1.0))),  # PageRank
    (1, 0.4, lambda x: np.floor(65535 * ndtr(1.5 * x))),  # SiteRank
    (1, -0.6, lambda x: np.ceil(250 * ndtr(x - 1.7))),  # QualityScore: low is good
    (1, -0.5, lambda x: np.ceil(250 * ndtr(1.5 * x - 2.5))),  # QualityScore2: low is good
    (2, 0.6, lambda x: np.floor(np.exp(4.0 * x - 7.0))),  # clicks for this query
    (2, 0.6, lambda x: np.floor(np.exp(3.0 * x - 2.0))),  # clicks for any query
    (1, 0.4, lambda x: np.maximum(60.0 * x - 40.0, 0.0)),  # dwell time
)
N_FEATURES = 25 * (len(FIELDS) + 1) + len(PAGES)


def _make_features(factors: Floats, lengths: Integers, rng: Generator) -> Floats:
    """Return all features (136, n) of documents with these factors (4, n) in lists (Q,) so long."""
    table = np.empty((N_FEATURES, factors.shape[1]), dtype=np.float32)
    for j, field in enumerate(_make_fields(factors[0], lengths, rng)):
        for i, statistic in enumerate(_statistics(field, rng)):
            table[5 * i + j] = statistic
    for row, (factor, correlation, shape) in zip(table[-len(PAGES) :], PAGES, strict=True):
        row[:] = shape(_correlate(factors[factor], correlation, rng))
    return table


def _make_fields(topic: Floats, lengths: Integers, rng: Generator) -> Iterator[_Field]:
    """Yield body, anchor, title, URL and whole document of documents with the given topic (n,)."""
    terms = np.repeat(1 + rng.binomial(9, 0.17, len(lengths)).astype(np.float32), lengths)
    matches = [_correlate(topic, kind.topic, rng) for kind in FIELDS]
    weights, topics = np.array([(kind.weight, kind.topic) for kind in FIELDS], dtype=np.float32).T
    spread = np.sqrt((weights @ topics) ** 2 + weights**2 @ (1 - topics**2))
    matches.append(_weighted_sum(weights, np.stack(matches)) / spread)
    for kind, match in zip((*FIELDS, WHOLE), matches, strict=True):
        rarity = np.repeat(rng.gamma(9, 0.5, len(lengths)).astype(np.float32), lengths)
        strength = np.maximum(ndtr(match) - kind.empty, 0) / (1 - kind.empty)
        covered = np.ceil(terms * np.sqrt(strength))
        count = covered + np.floor(covered * kind.repeats * np.exp(_correlate(topic, 0.0, rng)))
        length = np.ceil(kind.length * np.exp(kind.spread * _correlate(topic, 0.0, rng)))
        yield _Field(terms, rarity, np.maximum(length, count), strength, covered, count)


def _weighted_sum(weights: Floats, rows: Floats) -> Floats:
    """Return ``weights @ rows``, summed in order: the same bits with any number of threads."""
    total = weights[0] * rows[0]
    for weight, row in zip(weights[1:], rows[1:], strict=True):
        total += weight * row
    return total


def _correlate(factor: Floats, correlation: float, rng: Generator) -> Floats:
    """Return standard normals (n,) with the given correlation to a factor (n,)."""
    noise = rng.standard_normal(factor.shape, dtype=np.float32)
    return np.float32(correlation) * factor + np.float32(np.sqrt(1 - correlation**2)) * noise


@lru_cache(maxsize=2)
def embedded_world(n_docs: int | None = 30) -> World:
    """Return the synthetic world of seed 0 with ``n_docs`` candidates per query, made once."""
    return synthetic_world(n_docs=n_docs, seed=0)


@lru_cache(maxsize=2)
def embedded_vertical_world(seed: int = 0) -> World:
    """Return the embedded world with a block for four of five queries, on average, made once.

    Types are 0 news, 1 images, 2 video and 3 location, each as often as none (-1); ``seed`` draws
    them.
    """
    world = embedded_world()
    types = np.random.default_rng(seed).integers(-1, 4, world.n_queries)
    return world.with_vertical(types)
