"""A policy that draws documents slot by slot, each choice knowing the page so far."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ...common import checks
from ...common.typing import Booleans, Floats, Integers
from ...data import World
from ...policies import GivenSet, Policy, register
from ...policies.given_set.steps import STEPS_UP_TO, steps_given_set

if TYPE_CHECKING:
    from .page_networks import PageNetwork

_ROWS = 4096  # pages at a time, so that a batch's layers stay small


@register("SlotPolicy")
class SlotPolicy(Policy):
    """Draws the next document by a softmax over free candidates that depends on the page so far.

    What agents that fill a page slot by slot have learned, as arrays: the network's layers that do
    not depend on the page are already applied to all candidates. NumPy alone runs it.

    Parameters
    ----------
    encodings : (Q, N, H)
        Of the candidates; their means over free and over placed candidates are the context.
    hidden : (Q, N, H)
        Each candidate's part of the layer that sees the context.
    own : (Q, N)
        What is added to a candidate's score whatever the page.
    of_context : (H, 2H + 1)
        Weights of the context: free, placed, and the share of the page that is filled.
    last : (H,)
        Weights of the layer's outputs in the score.
    candidates : (Q, N) bool
    slots : int
        K; pages of queries with fewer candidates are shorter.

    Notes
    -----
    A page costs O(K × N × H).
    """

    def __init__(
        self,
        encodings: ArrayLike,
        hidden: ArrayLike,
        own: ArrayLike,
        of_context: ArrayLike,
        last: ArrayLike,
        candidates: ArrayLike,
        slots: int = 10,
    ) -> None:
        self._arrays = {
            "encodings": checks.finite(encodings, "encodings", 3),
            "hidden": checks.finite(hidden, "hidden", 3),
            "own": checks.finite(own, "own", 2),
            "of_context": checks.finite(of_context, "of_context", 2),
            "last": checks.finite(last, "last", 1),
        }
        self.candidates = np.array(candidates, dtype=bool)
        self.slots = checks.positive_integer(slots, "slots")
        n_queries, n_docs, width = self._arrays["encodings"].shape
        self.shape = n_queries, n_docs
        shapes = {
            "hidden": (n_queries, n_docs, width), "own": self.shape,
            "of_context": (width, 2 * width + 1), "last": (width,),
        }  # fmt: skip
        for name, shape in shapes.items():
            checks.same_shape(self._arrays[name], shape, name, "the encodings")
        checks.same_shape(self.candidates, self.shape, "candidates", "the encodings")
        self._length = np.minimum(self.slots, self.candidates.sum(axis=1))

    @classmethod
    def from_network(cls, network: PageNetwork, world: World) -> SlotPolicy:
        """Return the policy of a trained network on the pages of ``world``."""
        import torch

        scorer = network.scorer
        with torch.no_grad():
            query = torch.arange(world.n_queries)
            encodings, hidden, own = scorer.encode(network.features, query)
            policy = cls(
                encodings.numpy(), hidden.numpy(), own.numpy(), scorer.of_context.weight.numpy(),
                scorer.last.weight[0].numpy(), world.candidates, network.slots,
            )  # fmt: skip
        policy.fingerprint = world.fingerprint
        return policy

    def state(self) -> dict[str, Any]:
        """Return the parameters."""
        return {**self._arrays, "candidates": self.candidates, "slots": self.slots}

    def next_log_probs(self, query: Integers, placed: Booleans) -> Floats:
        """Return log P(next document | page so far), (n, N), for placed documents (n, N) bool.

        -inf for what is placed or no candidate.
        """
        arrays = self._arrays
        free = self.candidates[query] & ~placed
        encodings = arrays["encodings"][query]
        means = [_masked_mean(encodings, part) for part in (free, placed)]
        filled = placed.sum(axis=1, keepdims=True) / self.slots
        context = np.concatenate([*means, filled], axis=1) @ arrays["of_context"].T
        mixed = np.maximum(arrays["hidden"][query] + context[:, None], 0.0)
        scores = np.where(free, arrays["own"][query] + mixed @ arrays["last"], -np.inf)
        some = free.any(axis=1, keepdims=True)
        top = np.where(some, scores.max(axis=1, keepdims=True), 0.0)
        total = np.exp(scores - top).sum(axis=1, keepdims=True)
        return scores - top - np.log(np.where(some, total, 1.0))

    def _fill(self, query: Integers, choose: Any) -> tuple[Integers, Floats]:
        """Fill pages by ``choose(slot, rows, log_probs) -> documents`` and add up their logs."""
        ranking = np.full((len(query), self.slots), -1, dtype=np.int64)
        log_prob = np.zeros(len(query))
        for start in range(0, len(query), _ROWS):
            part = slice(start, start + _ROWS)
            placed = np.zeros((len(query[part]), self.shape[1]), dtype=bool)
            for slot in range(min(self.slots, self.shape[1])):
                logs = self.next_log_probs(query[part], placed)
                live = np.flatnonzero(slot < self._length[query[part]])
                rows = start + live
                document = choose(slot, rows, logs[live])
                ranking[rows, slot] = document
                log_prob[rows] += logs[live, document]
                placed[live, document] = True
        return ranking, log_prob

    def draw(self, query: Integers, rng: np.random.Generator) -> tuple[Integers, Floats]:
        """Draw rankings (n, K) and their exact log-probabilities (n,)."""

        def choose(slot: int, rows: Any, logs: Floats) -> Integers:
            return (logs + rng.gumbel(size=logs.shape)).argmax(axis=1)

        return self._fill(query, choose)

    def greedy(self, query: ArrayLike) -> Integers:
        """Return the rankings (n, K) that always take the likeliest next document."""

        def choose(slot: int, rows: Any, logs: Floats) -> Integers:
            return logs.argmax(axis=1)

        return self._fill(self.check_query(query), choose)[0]

    def log_prob(self, query: ArrayLike, ranking: ArrayLike) -> Floats:
        """Return log P(ranking | query), (n,); repeats and non-candidates have -inf."""
        query, ranking = self.check_pages(query, ranking)
        right_length = (ranking >= 0).sum(axis=1) == self._length[query]

        def choose(slot: int, rows: Integers, logs: Any) -> Integers:
            return np.maximum(ranking[rows, slot], 0)

        return np.where(right_length, self._fill(query, choose)[1], -np.inf)

    def given_set(self, query: Integers, shown: Integers, seed: int = 0) -> GivenSet:
        """Return where displayed documents stand given the set; exact up to 12 documents.

        The network sees which documents are placed, not in which order: it is asked once for each
        of the 2^k subsets of a page.
        """
        lengths = (shown >= 0).sum(axis=1)
        if lengths.max(initial=0) > STEPS_UP_TO:
            return super().given_set(query, shown, seed)

        def following(rows: Integers, placed: Booleans) -> Floats:
            page = np.tile(rows, len(placed))  # subsets one after another, all pages of each
            on_page = np.repeat(placed, len(rows), axis=0)
            found = np.empty(on_page.shape)
            for start in range(0, len(page), _ROWS):
                part = slice(start, start + _ROWS)
                documents, asked = shown[page[part]], query[page[part]]
                row, place = np.nonzero(on_page[part])
                taken = np.zeros((len(asked), self.shape[1]), dtype=bool)
                taken[row, documents[row, place]] = True
                logs = self.next_log_probs(asked, taken)
                found[part] = np.exp(np.take_along_axis(logs, np.maximum(documents, 0), axis=1))
            return found.reshape(len(placed), len(rows), -1).transpose(0, 2, 1)

        return steps_given_set(following, lengths == self._length[query], lengths, shown.shape[1])


def _masked_mean(encodings: Floats, mask: Booleans) -> Floats:
    weight = mask.astype(encodings.dtype)
    total = np.matmul(weight[:, None], encodings)[:, 0]
    return total / np.maximum(weight.sum(axis=1, keepdims=True), 1.0)
