"""Which products are drawn against a click: uniformly, or as the logging policy fills its rank."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...common import checks
from ...common.grouping import fold_rows, group_rows
from ...common.progress import progress
from ...common.typing import Booleans, Integers
from ...data import ClickLog
from ...policies import Policy, marginals_given_set
from ...policies.propensities import check_logging
from ..offpolicy.inputs import check_policy
from .disagreement import Disagreement
from .drawn_pairs import DrawnPairs
from .scoring import Scores

CLICKED_PAIRS = ("reject", "keep")
RESAMPLE = ("order", "page")
_LAST = np.iinfo(np.int32).max  # sorts empty slots behind all documents


def pairwise_disagreement(
    log: ClickLog, scores: Scores, clicked_pairs: str = "reject"
) -> Disagreement:
    """Return how often another product of the page scores higher than the clicked one.

    The usual ranking metric (section 2.2 of "Ranking metrics on non-shuffled traffic"): for each
    click a product is drawn uniformly from the rest of its page, and rejected if it was clicked
    too; of the samples that are not rejected, the share in which it scores higher, ties a half.
    It has position bias: where good places go to some products more often, those win.

    Parameters
    ----------
    log : ClickLog
        Weights count. Several clicks on a page are samples of their own.
    scores : (Q, N) floats, anything with ``relevance()``, or Policy
        The scoring function. Of a policy, its weights (Plackett-Luce) or the places of its greedy
        rankings; documents that those do not show are equal, and ``tied`` says how much that is.
    clicked_pairs : str
        "reject" leaves pairs of two clicked products out, "keep" compares them as well: a product
        that was clicked together with a better scored one then counts as a disagreement.

    Notes
    -----
    For many scoring functions make ``naive_pairs(log)`` once, and ask for their
    ``disagreements``.
    """
    return naive_pairs(log, clicked_pairs).disagreement(scores)


def counterfactual_disagreement(
    log: ClickLog,
    scores: Scores,
    policy: Policy,
    clicked_pairs: str = "reject",
    resample: str = "order",
    seed: int = 0,
) -> Disagreement:
    """Return how often what could have stood at the clicked rank scores higher than what did.

    Section 3.1 of "Ranking metrics on non-shuffled traffic": for each click the logging policy
    orders the same products once more, and the product that then stands at the clicked rank is
    compared with the clicked one. A sample is rejected where both are the same, or where the
    other was clicked too. Products meet at the same rank, so there is no position bias; under
    uniform shuffling the expectation is that of ``pairwise_disagreement``.

    Parameters
    ----------
    log : ClickLog
        Weights count. Several clicks on a page are samples of their own.
    scores : (Q, N) floats, anything with ``relevance()``, or Policy
        The scoring function. Of a policy, its weights (Plackett-Luce) or the places of its greedy
        rankings; documents that those do not show are equal, and ``tied`` says how much that is.
    policy : Policy
        Who made the log; a deterministic one is an error, because every sample would be rejected.
    clicked_pairs : str
        "reject" leaves pairs of two clicked products out, as the paper does for at most one click
        on a page. "keep" compares them as well; only then do products of equal quality get 1/2
        where pages have several clicks.
    resample : str
        "order": the same products in another order. "page": another page, set and order together
        (section 5.1), so that the other product is anything that the policy shows at this rank.
    seed : int
        For policies whose marginals must be sampled; the standard error includes the sampling.

    Notes
    -----
    The expectation over the second order is exact where ``policies.marginals_given_set`` is, so
    there is no noise of resampling. For many scoring functions make
    ``counterfactual_pairs(log, policy)`` once: the marginals, one for each distinct pair of query
    and set of products that has a click, are what costs.
    """
    pairs = counterfactual_pairs(log, policy, clicked_pairs, resample, seed)
    return pairs.disagreement(scores)


@dataclass(frozen=True)
class _ClickedSets:
    """The distinct clicked pages of a log, told apart by query, shown set and clicks.

    Attributes
    ----------
    counts : (P,)
        How many impressions each stands for.
    query : (U,)
        Of each distinct set.
    shown : (U, k)
        Its documents, ascending; -1 behind the last of a short page.
    page, place : (C,)
        Of each click: its page, ascending, and the clicked document's place in ``shown``.
    rank : (C,)
        The rank of the click; 0 where pages are folded without regard to ranks.
    group : (C,)
        The set of each click.
    clicked : (P, k) bool
        Which documents of its set each page has a click on.
    """

    counts: np.ndarray
    query: Integers
    shown: Integers
    page: Integers
    place: Integers
    rank: Integers
    group: Integers
    clicked: Booleans

    def accept(self, clicked_pairs: str) -> Booleans:
        """Return which documents of its set can be compared with each click, (C, k)."""
        accepted = self.shown[self.group] >= 0
        if clicked_pairs == "reject":
            accepted &= ~self.clicked[self.page]
        accepted[np.arange(len(self.place)), self.place] = False
        return accepted


def clicked_rows(log: ClickLog) -> Integers:
    """Return the rows that have a click and a weight; raise where they show a document twice."""
    rows = np.flatnonzero(log.clicks.any(axis=1) & (log.counts > 0))
    if not len(rows):
        raise ValueError("the log has no clicks, so there is nothing to compare")
    repeated = checks.find_repeats(log.ranking[rows])
    if repeated.any():
        row = int(rows[repeated.argmax()])
        raise ValueError(
            f"row {row} of the log shows a document twice: {log.ranking[row].tolist()}"
        )
    return rows


def _fold_sets(log: ClickLog, ranks: bool) -> _ClickedSets:
    """Fold pages that show the same set and have the same clicks; with ``ranks``, at the same.

    Costs a sort of each clicked page's documents, and two of one word per page.
    """
    rows = clicked_rows(log)
    ranking, clicks = log.ranking[rows], log.clicks[rows]
    order = np.argsort(np.where(ranking < 0, _LAST, ranking), axis=1, kind="stable")
    shown = np.take_along_axis(ranking, order, axis=1)
    marks = clicks * (np.arange(1, log.slots + 1) if ranks else 1)
    marks = np.take_along_axis(marks, order, axis=1)
    first, group = group_rows([log.query[rows, None], shown])
    kept, counts = fold_rows([group[:, None], marks], log.counts[rows])
    group, marks = group[kept], marks[kept]
    page, place = np.nonzero(marks)
    return _ClickedSets(
        counts, log.query[rows[first]].astype(np.int64), shown[first].astype(np.int64), page,
        place, marks[page, place] - 1, group[page], marks > 0,
    )  # fmt: skip


def naive_pairs(log: ClickLog, clicked_pairs: str = "reject") -> DrawnPairs:
    """Return the samples of ``pairwise_disagreement``, for any number of scoring functions."""
    checks.choice(clicked_pairs, CLICKED_PAIRS, "clicked_pairs")
    sets = _fold_sets(log, ranks=False)
    length = (sets.shown >= 0).sum(axis=1)
    lengths = np.arange(log.slots + 1)[:, None]
    chances = (np.arange(log.slots) < lengths) / np.maximum(lengths - 1, 1)
    return DrawnPairs(
        log, None, "pairwise", sets.counts, sets.page, sets.query[sets.group],
        sets.shown[sets.group, sets.place], sets.shown, sets.group, chances,
        length[sets.group], sets.accept(clicked_pairs),
    )  # fmt: skip


def counterfactual_pairs(
    log: ClickLog,
    policy: Policy,
    clicked_pairs: str = "reject",
    resample: str = "order",
    seed: int = 0,
) -> DrawnPairs:
    """Return the samples of ``counterfactual_disagreement``, for any number of functions."""
    checks.choice(clicked_pairs, CLICKED_PAIRS, "clicked_pairs")
    checks.choice(resample, RESAMPLE, "resample")
    check_stochastic(policy, log)
    if resample == "page":
        return _page_pairs(log, policy, clicked_pairs, seed)
    sets = _fold_sets(log, ranks=True)
    given = marginals_given_set(policy, sets.query, sets.shown, seed=seed)
    by_rank = [
        None if array is None else array.transpose(0, 2, 1).reshape(-1, log.slots)
        for array in (given.probabilities, given.standard_error)
    ]
    assert by_rank[0] is not None
    return DrawnPairs(
        log, policy, "counterfactual", sets.counts, sets.page, sets.query[sets.group],
        sets.shown[sets.group, sets.place], sets.shown, sets.group, by_rank[0],
        sets.group * log.slots + sets.rank, sets.accept(clicked_pairs), by_rank[1],
    )  # fmt: skip


def _page_pairs(log: ClickLog, policy: Policy, clicked_pairs: str, seed: int) -> DrawnPairs:
    """Return the clicks beside all that the policy shows at their ranks, over all sets.

    Pages fold by query and clicked documents with their ranks; costs the placements of each
    query, and memory for each of the distinct clicks times N.
    """
    rows = clicked_rows(log)
    clicked = np.where(log.clicks[rows], log.ranking[rows], -1)
    kept, counts = fold_rows([log.query[rows, None], clicked], log.counts[rows])
    query, clicked = log.query[rows[kept]].astype(np.int64), clicked[kept]
    asked, number = np.unique(query, return_inverse=True)
    places = []
    with progress(len(asked), "placements") as advance:
        for one in asked.tolist():
            places.append(policy.placements(one, seed=seed))
            advance(1)
    errors = None
    if any(one.standard_error is not None for one in places):
        none = np.zeros_like(places[0].probabilities)
        known = [none if one.standard_error is None else one.standard_error for one in places]
        errors = np.concatenate(known)
    page, rank = np.nonzero(clicked >= 0)
    document = clicked[page, rank]
    n_docs = policy.shape[1]
    accepted = np.ones((len(page), n_docs), dtype=bool)
    accepted[np.arange(len(page)), document] = False
    if clicked_pairs == "reject":
        for documents in clicked[page].T:
            some = np.flatnonzero(documents >= 0)
            accepted[some, documents[some]] = False
    return DrawnPairs(
        log, policy, "counterfactual, whole pages", counts, page, query[page],
        document.astype(np.int64), np.arange(n_docs)[None], np.zeros_like(page),
        np.concatenate([one.probabilities for one in places]),
        number[page] * log.slots + rank, accepted, errors,
    )  # fmt: skip


def check_stochastic(policy: Policy, log: ClickLog) -> None:
    """Raise unless ``policy`` can have made the log, and shows more than one page of a query."""
    if not len(log):
        raise ValueError("the log has no impressions")
    check_policy("policy", policy, log)
    if policy.deterministic:
        raise ValueError(
            f"policy ({policy!r}) is deterministic: a second page would always be the first, so "
            "every sample would be rejected"
        )
    check_logging(log, policy)
