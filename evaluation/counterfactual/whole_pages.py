"""Whether a function of whole pages scores a clicked page above another page of the policy."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ...common import checks
from ...common.grouping import fold_rows
from ...common.progress import progress
from ...common.typing import Booleans, Floats, Integers
from ...data import ClickLog
from ...policies import Policy
from ..metrics.graded import discount
from .disagreement import Disagreement, estimate_disagreement, warn_few_accepted
from .resampling import check_stochastic, clicked_rows
from .scoring import Scores, find_scores

PageFunction = Callable[[Integers, Integers], Floats]

SAMPLES = 20
_MOST_PAGES = 5040  # of a query that is enumerated
_CHUNK = 1 << 14  # pages drawn at a time
_EQUAL = 1e-9  # relative difference of scores that is still a tie: they come from sums


def page_disagreement(
    log: ClickLog,
    scores: Scores | PageFunction,
    policy: Policy,
    samples: int = SAMPLES,
    seed: int = 0,
) -> Disagreement:
    """Return how often another page of the logging policy scores higher than a clicked one.

    Section 5.2 of "Ranking metrics on non-shuffled traffic": for each page with a click, the
    logging policy draws another page for the same query. Equal pages are rejected; of the others,
    the share that scores higher is returned, ties a half.

    Parameters
    ----------
    log : ClickLog
        Weights count. A page with several clicks is one sample.
    scores : function, (Q, N) floats, or anything with ``relevance()``
        A function of queries (n,) and rankings (n, K) returns the score of each page, (n,): a
        click model's ``expected_clicks``, for example. Scores of documents s make the score
        Σ s / log2(rank + 1), nDCG's form.
    policy : Policy
        Who made the log; a deterministic one is an error.
    samples : int
        Pages drawn against each clicked page.
    seed : int

    Notes
    -----
    All pages of a query are enumerated, and nothing is drawn, where there are at most 5,040 of
    them and the policy has log-probabilities. The standard error includes the draws. For several
    functions ``PagePairs(log, policy).disagreements`` draws pages once.
    """
    return PagePairs(log, policy, samples, seed).disagreement(scores)


class PagePairs:
    """The clicked pages of a log, each beside other pages of the policy, for several functions.

    Parameters
    ----------
    log, policy, samples, seed
        As for ``page_disagreement``.
    """

    def __init__(
        self, log: ClickLog, policy: Policy, samples: int = SAMPLES, seed: int = 0
    ) -> None:
        check_stochastic(policy, log)
        self.samples = checks.positive_integer(samples, "samples", 2)
        self.log, self.policy, self.seed = log, policy, seed
        rows = clicked_rows(log)
        kept, counts = fold_rows([log.query[rows, None], log.ranking[rows]], log.counts[rows])
        order = np.argsort(log.query[rows[kept]], kind="stable")
        rows, counts = rows[kept[order]], counts[order]
        self._every = _every_order(policy, np.unique(log.query[rows]).astype(np.int64))
        if self._every is None:  # each impression has draws of its own
            pieces = np.ceil(counts).astype(np.int64)
            rows, counts = np.repeat(rows, pieces), np.repeat(counts / pieces, pieces)
        self._rows, self.counts = rows, counts

    def disagreement(self, scores: Scores | PageFunction) -> Disagreement:
        """Return how often another page scores higher than the clicked one."""
        return self.disagreements([scores])[0]

    def disagreements(self, scores: Sequence[Scores | PageFunction]) -> list[Disagreement]:
        """Return the disagreement of each of several functions, all with the same draws."""
        functions = [_page_function(one, self.log, self.policy) for one in scores]
        wrong, accepted = np.zeros((len(functions), len(self._rows))), np.zeros(len(self._rows))
        with progress(len(self._rows), "pages") as advance:
            for part, others in self._others():
                rows = self._rows[part]
                query, shown = self.log.query[rows].astype(np.int64), self.log.ranking[rows]
                accepted[part] = others.accept(shown)
                for number, function in enumerate(functions):
                    wrong[number, part] = others.compare(query, shown, function)
                advance(len(rows))
        if not self.counts @ accepted > 0:
            raise ValueError(
                "every sample is rejected: each other page is the clicked one (is the logging "
                "policy deterministic?)"
            )
        warn_few_accepted(float(self.counts @ accepted), float(self.counts.sum()))
        how = f"{self.samples} drawn for each" if self._every is None else "enumerated"
        return [
            estimate_disagreement(
                one, accepted, self.counts, samples=float(self.counts.sum()),
                impressions=self.log.impressions, method=f"counterfactual pages, {how}",
                estimated=self.policy.estimated,
            )
            for one in wrong
        ]  # fmt: skip

    def _others(self) -> Iterator[tuple[slice, _EveryPage | _DrawnPages]]:
        """Give pages of the log together with what else the policy shows for them."""
        query = self.log.query[self._rows].astype(np.int64)
        if self._every is not None:
            for part in _slices(np.flatnonzero(np.diff(query, prepend=-1)), len(query)):
                same = np.full(len(self._every), query[part.start])
                chance = np.exp(self.policy.log_prob(same, self._every))
                some = chance > 0
                yield part, _EveryPage(same[some], self._every[some], chance[some])
            return
        starts = np.arange(0, len(query), max(_CHUNK // self.samples, 1))
        for number, part in enumerate(_slices(starts, len(query))):
            rng = np.random.default_rng((self.seed, number))
            repeated = np.repeat(query[part], self.samples)
            yield part, _DrawnPages(repeated, self.policy.sample(repeated, rng))


class _EveryPage(NamedTuple):
    """All pages of one query, with their probabilities."""

    query: Integers
    ranking: Integers
    chance: Floats

    def accept(self, shown: Integers) -> Floats:
        """Return the probability of a page that differs from each of ``shown`` (c, K), (c,)."""
        return 1.0 - self._same(shown)

    def _same(self, shown: Integers) -> Floats:
        """Return the probability of each of ``shown`` itself, (c,)."""
        base = int(max(self.ranking.max(), shown.max())) + 2  # -1 is a digit as well
        digits = base ** np.arange(shown.shape[1])
        keys = (self.ranking + 1) @ digits
        order = np.argsort(keys)
        wanted = (shown + 1) @ digits
        place = np.minimum(np.searchsorted(keys[order], wanted), len(keys) - 1)
        found: Floats = np.where(keys[order[place]] == wanted, self.chance[order[place]], 0.0)
        return found

    def compare(self, query: Integers, shown: Integers, function: PageFunction) -> Floats:
        """Return the probability of another page that scores higher, ties a half, (c,)."""
        own, values = function(query, shown), function(self.query, self.ranking)
        margin = _EQUAL * np.maximum(np.abs(own), 1.0)
        order = np.argsort(values)
        below = np.append(0.0, np.cumsum(self.chance[order]))
        low = below[np.searchsorted(values[order], own - margin, "left")]
        high = below[np.searchsorted(values[order], own + margin, "right")]
        ties = np.maximum(high - low - self._same(shown), 0.0)
        result: Floats = below[-1] - high + 0.5 * ties
        return result


class _DrawnPages(NamedTuple):
    """Drawn pages, as many for each page that they are compared with."""

    query: Integers
    ranking: Integers

    def accept(self, shown: Integers) -> Floats:
        """Return the share of pages that differ from each of ``shown`` (c, K), (c,)."""
        return self._differ(shown).mean(axis=1)

    def _differ(self, shown: Integers) -> Booleans:
        pages = self.ranking.reshape(len(shown), -1, shown.shape[1])
        differ: Booleans = (pages != shown[:, None]).any(axis=2)
        return differ

    def compare(self, query: Integers, shown: Integers, function: PageFunction) -> Floats:
        """Return the share of pages that score higher, ties a half, (c,)."""
        own = function(query, shown)[:, None]
        values = function(self.query, self.ranking).reshape(len(own), -1)
        margin = _EQUAL * np.maximum(np.abs(own), 1.0)
        higher = (values > own + margin) + 0.5 * (np.abs(values - own) <= margin)
        result: Floats = (higher * self._differ(shown)).mean(axis=1)
        return result


def _slices(starts: Integers, end: int) -> Iterator[slice]:
    for start, stop in zip(starts, np.append(starts[1:], end), strict=True):
        yield slice(int(start), int(stop))


def _every_order(policy: Policy, queries: Integers) -> Integers | None:
    """Return all full pages, or None where they are too many or not all that the policy shows."""
    n_docs, slots = policy.shape[1], policy.slots
    if not policy.has_log_prob or not 0 < math.perm(n_docs, slots) <= _MOST_PAGES:
        return None
    every = np.array(list(itertools.permutations(range(n_docs), slots)), dtype=np.int64)
    for query in queries:
        chance = np.exp(policy.log_prob(np.full(len(every), query), every))
        if abs(chance.sum() - 1.0) > 1e-9:
            return None
    return every


def _page_function(scores: Scores | PageFunction, log: ClickLog, policy: Policy) -> PageFunction:
    """Return a function from queries (n,) and rankings (n, K) to finite scores (n,)."""
    if callable(scores):
        given = scores

        def score(query: Integers, ranking: Integers) -> Floats:
            found = checks.finite(given(query, ranking), "what scores returned", 1)
            checks.same_shape(found, (len(query),), "what scores returned", "one score a page")
            return found

        return score
    table = find_scores(scores, log, policy)
    gains = discount(log.slots)

    def discounted(query: Integers, ranking: Integers) -> Floats:
        shown = np.where(ranking >= 0, table[query[:, None], ranking], 0.0)
        if np.isinf(shown).any():
            row, slot = np.argwhere(np.isinf(shown))[0]
            raise ValueError(
                f"scores has -inf for document {ranking[row, slot]} of query {query[row]}, which "
                "is shown: a sum over the page needs finite scores"
            )
        result: Floats = shown @ gains
        return result

    return discounted
