"""Search for the best rankings of many queries at once."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np

from ...clickmodels import ClickModel
from ...common.progress import progress
from ...common.typing import Floats, Integers
from ...data import World

_CHUNK = 8192  # rankings scored at a time
_BUDGET = 50_000  # rankings per query that an enumeration may score, where scoring is cheap
_EXPENSIVE_BUDGET = 2_000
_TOTAL = 500  # budgets that all queries together may use
_EXPENSIVE_MOVES = 48  # moves per query and round, where scoring is expensive
_SCREENED_MOVES = 8  # the same where a rough score chooses them
_OTHER_MOVES = 24  # and random others, where that score is the default one
_MOST_ROUNDS = 200
_RESTARTS = 4  # where scoring is cheap; where it is not one, for few queries
_FEW_QUERIES = 20


class Search:
    """The best rankings found so far for all queries that are asked.

    ``rankings`` (Q, K) are whole; ``values`` (q,) are the scores of ``queries`` (q,).
    """

    def __init__(self, model: ClickModel, world: World, start: Integers, seed: int) -> None:
        self.model, self.world = model, world
        self.rng = np.random.default_rng(seed)
        self.slots = start.shape[1]
        asked = (world.query_probs > 0) & world.candidates.any(axis=1)
        self.queries: Integers = np.flatnonzero(asked)
        self.longest = int(world.n_candidates[self.queries].max(initial=0))
        self.expensive = not model.cheap_scores
        self.budget = _EXPENSIVE_BUDGET if self.expensive else _BUDGET
        self.scored = 0
        self._start = start
        self.rankings = start.copy()
        self.values = self.score(self.queries, self.rankings[self.queries])

    def can_enumerate(self) -> bool:
        """Whether scoring every ordered choice of every query is affordable."""
        orders = math.perm(self.longest, min(self.longest, self.slots))
        return orders <= self.budget and orders * len(self.queries) <= _TOTAL * self.budget

    def score(self, query: Integers, ranking: Integers, exact: bool = False) -> Floats:
        """Return the expected clicks of pages (n, K), in chunks; expensive ones may be rounded."""
        self.scored += len(query)
        if exact and self.expensive:
            return self.model.expected_clicks(query, ranking)
        if not len(query):
            return np.zeros(0)
        pages = _chunks(query, ranking)
        return np.concatenate([self.model.score_columns(*page) for page in pages])

    def finish(self) -> None:
        """Make ``values`` exact, and keep the start where rounded scores misled the search."""
        self.values = self.model.expected_clicks(self.queries, self.rankings[self.queries])
        if self.expensive:
            before = self.model.expected_clicks(self.queries, self._start[self.queries])
            misled = before > self.values
            self.rankings[self.queries[misled]] = self._start[self.queries[misled]]
            self.values = np.maximum(self.values, before)

    def _keep_best(self, place: Integers, ranking: Integers, value: Floats) -> Integers:
        """Keep the best ranking offered to each query; return the places that improved.

        ``place`` (n,) indexes ``queries``; several rows may offer to the same one.
        """
        order = np.lexsort((-value, place))
        first = order[np.flatnonzero(np.diff(place[order], prepend=-1))]
        better = first[value[first] > self.values[place[first]] + 1e-12]
        self.rankings[self.queries[place[better]]] = ranking[better]
        self.values[place[better]] = value[better]
        return place[better]

    def _offer(self, place: int, pages: Integers, exact: bool = False) -> None:
        """Score pages (n, K) of one query and keep the best."""
        values = self.score(np.full(len(pages), self.queries[place]), pages, exact)
        self._keep_best(np.full(len(pages), place), pages, values)

    def enumerate(self) -> None:
        """Score every ordered choice of every query."""
        self.values = np.full(len(self.queries), -np.inf)  # the start's score may be rounded
        with progress(len(self.queries), "scoring all rankings") as advance:
            for place, query in enumerate(self.queries):
                documents = np.flatnonzero(self.world.candidates[query])
                size = min(self.slots, len(documents))
                orders = itertools.permutations(range(len(documents)), size)
                while chosen := list(itertools.islice(orders, 16 * _CHUNK)):
                    pages = np.full((len(chosen), self.slots), -1)
                    pages[:, :size] = documents[np.array(chosen)]
                    self._offer(place, pages, exact=True)
                advance(1)

    def sample_orders(self, relevance: Floats, documents: int, orders: int) -> None:
        """Score random orders of each query's most relevant documents (the paper's search)."""
        with progress(len(self.queries), "scoring sampled orders") as advance:
            for place, query in enumerate(self.queries):
                known = np.where(self.world.candidates[query], relevance[query], -np.inf)
                best = np.argsort(-known, kind="stable")[:documents]
                best = best[known[best] > -np.inf]
                size = min(self.slots, len(best))
                keys = self.rng.random((orders, len(best)))
                pages = np.full((orders, self.slots), -1)
                pages[:, :size] = best[np.argsort(keys, axis=1)[:, :size]]
                self._offer(place, pages)
                advance(1)

    def climb(self, restarts: int | None) -> None:
        """Improve by swaps, insertions and exchanges until nothing helps; shuffle and repeat."""
        usual = _RESTARTS if not self.expensive else int(len(self.queries) <= _FEW_QUERIES)
        number = usual if restarts is None else restarts
        self._climb_once()
        for _ in range(number):
            best_rankings, best_values = self.rankings.copy(), self.values.copy()
            self._shuffle()
            self._climb_once()
            worse = self.values < best_values
            self.rankings[self.queries[worse]] = best_rankings[self.queries[worse]]
            self.values[worse] = best_values[worse]

    def _shuffle(self) -> None:
        """Put the documents of every page into a random order."""
        pages = self.rankings[self.queries]
        keys = np.where(pages >= 0, self.rng.random(pages.shape), 2.0)
        pages = np.take_along_axis(pages, np.argsort(keys, axis=1), axis=1)
        self.rankings[self.queries] = pages
        self.values = self.score(self.queries, pages)

    def _climb_once(self) -> None:
        """Take the best move of each query that still improves, until none does."""
        active = np.arange(len(self.queries))
        for _ in range(_MOST_ROUNDS):
            if not len(active):
                return
            group = max(_CHUNK * 64 // self._moves_per_query(), 1)
            parts = np.split(active, range(group, len(active), group))
            active = np.concatenate([self._round(part) for part in parts])

    def _moves_per_query(self) -> int:
        unused = max(self.world.n_docs - self.slots, 0)
        return max(self.slots * (3 * (self.slots - 1) // 2 + unused), 1)

    def _round(self, places: Integers) -> Integers:
        pages = self.rankings[self.queries[places]]
        offers = [*_reorderings(pages), *self._exchanges(places, pages)]
        place = np.concatenate([places[rows] for rows, _ in offers])
        ranking = np.concatenate([moved for _, moved in offers])
        if self.expensive:
            keep = self._worth_scoring(place, ranking)
            place, ranking = place[keep], ranking[keep]
        values = self.score(self.queries[place], ranking)
        return self._keep_best(place, ranking, values)

    def _worth_scoring(self, place: Integers, ranking: Integers) -> Integers:
        """Return the few rows of each place with the best rough scores, and some others."""
        rough = [self.model.rough_columns(*page) for page in _chunks(self.queries[place], ranking)]
        known = [part for part in rough if part is not None]
        if not known:
            return _first(place, self.rng.random(len(place)), _EXPENSIVE_MOVES)
        best = _first(place, -np.concatenate(known), _SCREENED_MOVES)
        if type(self.model).rough_columns is not ClickModel.rough_columns:
            return best
        others = _first(place, self.rng.random(len(place)), _OTHER_MOVES)
        return np.union1d(best, others)

    def _exchanges(self, places: Integers, pages: Integers) -> list[tuple[Integers, Integers]]:
        """Offer every unused candidate for every slot."""
        queries = self.queries[places]
        unused = self.world.candidates[queries].copy()
        rows, slots = np.nonzero(pages >= 0)
        unused[rows, pages[rows, slots]] = False
        row, document = np.nonzero(unused)
        offers = []
        for slot in range(pages.shape[1]):
            filled = pages[row, slot] >= 0
            moved = pages[row[filled]]
            moved[:, slot] = document[filled]
            offers.append((row[filled], moved))
        return offers


def _first(place: Integers, key: Floats, most: int) -> Integers:
    """Return the rows of each place with the lowest keys, ``most`` of them."""
    order = np.lexsort((key, place))
    starts = np.flatnonzero(np.diff(place[order], prepend=-1))
    rank = np.arange(len(place)) - np.repeat(starts, np.diff(starts, append=len(place)))
    return order[rank < most]


def _chunks(query: Integers, ranking: Integers) -> Iterator[tuple[Integers, Integers]]:
    """Give pages (n, K) in parts, laid out slot by slot."""
    for start in range(0, len(query), _CHUNK):
        part = slice(start, start + _CHUNK)
        yield query[part], np.ascontiguousarray(ranking[part].T)


def _reorderings(pages: Integers) -> list[tuple[Integers, Integers]]:
    """Offer every swap of two slots and every move of a document to another slot."""
    slots = pages.shape[1]
    everyone = np.arange(len(pages))
    offers = []
    for source, target in itertools.permutations(range(slots), 2):
        order = list(range(slots))
        order.insert(target, order.pop(source))
        orders = [order]
        if source < target - 1:  # neighbours swap by moving
            swap = list(range(slots))
            swap[source], swap[target] = swap[target], swap[source]
            orders.append(swap)
        for places in orders:
            filled = (pages[:, max(source, target)] >= 0).nonzero()[0]
            offers.append((everyone[filled], pages[filled][:, places]))
    return offers
