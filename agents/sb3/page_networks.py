"""Networks that score candidates in the context of the others, whatever their order."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ...common.typing import Booleans, Integers

_KEPT = 16  # times the queries asked for, at most, whose encodings are kept


class CandidateScorer(nn.Module):
    """Scores every candidate of a page in the context of the other candidates.

    Permuting the candidates permutes the scores (equivariance); the value of the page does not
    change (invariance). One network encodes each candidate; masked means of the encodings of the
    free and of the placed candidates are the context. A vector for each query id, 0 at first,
    weighs the encodings, so that an order can be learned for a query alone.

    Shapes: features (n, N, F), query (n,), free, placed and last (n, N) bool, filled (n,): the
    share of the page that is filled.

    Parameters
    ----------
    n_features : int
    n_queries : int
    hidden : int
        Width of the layers; H, of those that depend on the page, is a quarter of it.
    sees_last : bool
        Whether the context tells which document was placed last. Then more vectors of the query
        give each candidate ``traits``, by which it changes what those below are worth. (Policies
        learn worse with either: the more they see of a page, the sooner they stop exploring.)
    """

    traits = 4

    def __init__(
        self, n_features: int, n_queries: int, hidden: int = 64, sees_last: bool = False
    ) -> None:
        super().__init__()
        self.sees_last = sees_last
        self.encoder = nn.Sequential(
            nn.Linear(n_features, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.Tanh()
        )
        self.own = nn.Embedding(n_queries, hidden)
        traits = self.traits if sees_last else 0
        self.own_traits = nn.Embedding(n_queries, traits * hidden) if traits else None
        # What is computed anew for every page, rather than once per query, is a quarter as wide.
        narrow = max(hidden // 4, 1)
        self.pooled = nn.Sequential(nn.Linear(hidden + traits, narrow), nn.Tanh())
        self.of_candidate = nn.Linear(hidden + traits, narrow)
        context = (3 if sees_last else 2) * narrow + 1
        self.of_context = nn.Linear(context, narrow, bias=False)
        self.last = nn.Linear(narrow, 1, bias=False)
        self.value = nn.Sequential(nn.Linear(context, hidden), nn.ReLU(), nn.Linear(hidden, 1))
        self.own_value = nn.Embedding(n_queries, 1)
        nn.init.zeros_(self.own.weight)
        nn.init.zeros_(self.own_value.weight)
        if self.own_traits is not None:
            nn.init.zeros_(self.own_traits.weight)
        nn.init.normal_(self.last.weight, std=0.01)

    def encode(self, features: Tensor, query: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return what does not depend on the page: encodings, hidden (n, N, H), own (n, N)."""
        deep = self.encoder(features)
        own = (deep * self.own(query)[:, None]).sum(dim=2)
        if self.own_traits is not None:
            traits = torch.bmm(deep, self.own_traits(query).reshape(len(query), -1, self.traits))
            deep = torch.cat([deep, traits], dim=2)
        return self.pooled(deep), self.of_candidate(deep), own

    def context(
        self, encodings: Tensor, free: Tensor, placed: Tensor, filled: Tensor, last: Tensor
    ) -> Tensor:
        """Return means over free and over placed candidates, and ``filled``: (n, 2H + 1).

        With ``sees_last`` also the encoding of the document placed last, (n, 3H + 1).
        """
        parts = (free, placed, last) if self.sees_last else (free, placed)
        means = _masked_means(encodings, torch.stack(parts, dim=1))
        return torch.cat([means.flatten(1), filled[:, None]], dim=1)

    def scores(self, hidden: Tensor, own: Tensor, context: Tensor) -> Tensor:
        """Return the scores (n, N)."""
        mixed = torch.relu(hidden + self.of_context(context)[:, None])
        return own + self.last(mixed).squeeze(2)

    def values(self, context: Tensor, query: Tensor) -> Tensor:
        """Return the values of the pages, (n, 1).

        Their gradient stays out of the encodings, which would otherwise follow the noise of the
        rewards more than the order of the candidates.
        """
        return self.value(context.detach()) + self.own_value(query)

    def forward(
        self,
        features: Tensor,
        query: Tensor,
        free: Tensor,
        placed: Tensor,
        filled: Tensor,
        last: Tensor,
    ) -> Tensor:
        """Return the scores (n, N); those of candidates that are not free mean nothing."""
        encodings, hidden, own = self.encode(features, query)
        return self.scores(hidden, own, self.context(encodings, free, placed, filled, last))


class PlaceScores(nn.Module):
    """Scores of where a query's block stands: those of its type and the query's own, 0 at first.

    Parameters
    ----------
    types : (Q,)
        -1 = no block.
    allowed : (Q, K + 2) bool
        Which places there are: not shown, then 0 to K.
    """

    types: Tensor
    allowed: Tensor

    def __init__(self, types: Integers, allowed: Booleans) -> None:
        super().__init__()
        self.register_buffer("types", tensor_of(types + 1), persistent=False)
        self.register_buffer("allowed", tensor_of(allowed), persistent=False)
        self.of_type = nn.Embedding(int(types.max()) + 2, allowed.shape[1])
        self.own = nn.Embedding(*allowed.shape)
        nn.init.zeros_(self.of_type.weight)
        nn.init.zeros_(self.own.weight)

    def forward(self, query: Tensor) -> Tensor:
        """Return the scores, (n, K + 2); 0, whatever is learned, where there is no such place."""
        scores = self.of_type(self.types.index_select(0, query)) + self.own(query)
        return torch.where(self.allowed.index_select(0, query), scores, 0.0)


class PageNetwork(nn.Module):
    """A scorer of a world's pages, from observations by id.

    An observation (n, 1 + N) is the query's id and each candidate's slot from 1 (0: not placed),
    or (n, 1), the id alone. The world's features are looked up here rather than carried through
    rollouts and replay buffers, and each query of a batch is encoded once.

    Parameters
    ----------
    features : (Q, N, F) float32
    candidates : (Q, N) bool
    slots : int
    hidden : int
    places : PlaceScores, optional
        Where pages have blocks.
    sees_last : bool
        See :class:`CandidateScorer`.
    """

    features: Tensor
    candidates: Tensor

    def __init__(
        self,
        features: NDArray[np.float32],
        candidates: Booleans,
        slots: int,
        hidden: int = 64,
        places: PlaceScores | None = None,
        sees_last: bool = False,
    ) -> None:
        super().__init__()
        self.slots, self.places = slots, places
        self._kept: tuple[Tensor, ...] = ()
        self._kept_version: tuple[int, ...] | None = None
        # Not persistent: they are the world's, and would be copied into every checkpoint.
        self.register_buffer("features", tensor_of(features), persistent=False)
        self.register_buffer("candidates", tensor_of(candidates), persistent=False)
        self.scorer = CandidateScorer(features.shape[2], len(features), hidden, sees_last)

    def read(self, observation: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        """Return query (n,), free and placed (n, N), filled (n,) and last (n, N)."""
        query = observation[:, 0].long()
        candidates = self.candidates.index_select(0, query)
        if observation.shape[1] == 1:
            placed = last = torch.zeros_like(candidates)
        else:
            number = observation[:, 1:]  # 1 for the document placed first, and so on
            placed = number > 0
            last = placed & (number == placed.sum(dim=1, keepdim=True))
        filled = placed.sum(dim=1) / self.slots
        return query, candidates & ~placed, placed, filled, last

    def forward(self, observation: Tensor) -> tuple[Tensor, Tensor]:
        """Return scores (n, N) and values (n, 1).

        Where pages have blocks, the scores of their places follow, (n, N + K + 2).
        """
        scores, values = self._judge(observation)
        return self._add_places(scores, observation), values

    def _add_places(self, scores: Tensor, observation: Tensor) -> Tensor:
        if self.places is None:
            return scores
        return torch.cat([scores, self.places(observation[:, 0].long())], dim=1)

    def _judge(self, observation: Tensor) -> tuple[Tensor, Tensor]:
        """Return the scores of candidates (n, N), and values (n, 1)."""
        if observation.shape[1] == 1:  # the page is empty: all rows of a query are the same
            queries, row = torch.unique(observation[:, 0].long(), return_inverse=True)
            encodings, hidden, own = self._encode(queries)
            context = self.scorer.context(encodings, *self.read(queries[:, None])[1:])
            scores, values = (
                self.scorer.scores(hidden, own, context), self.scorer.values(context, queries)
            )  # fmt: skip
            return scores.index_select(0, row), values.index_select(0, row)
        query, context, row, hidden, own = self._read_context(observation)
        # index_select, because the gradient of indexing by a tensor is far slower on a CPU.
        hidden, own = hidden.index_select(0, row), own.index_select(0, row)
        return self.scorer.scores(hidden, own, context), self.scorer.values(context, query)

    def judge_choices(self, observation: Tensor, document: Tensor) -> Tensor:
        """Return score plus value of one document of each page, (n,).

        It costs far less than ``forward``, which scores all of them.
        """
        query, context, row, hidden, own = self._read_context(observation)
        place = row * own.shape[1] + document
        hidden = hidden.flatten(0, 1).index_select(0, place)
        own = own.flatten().index_select(0, place)
        scores = self.scorer.scores(hidden[:, None], own[:, None], context)
        return (scores + self.scorer.values(context, query)).squeeze(1)

    def _read_context(self, observation: Tensor) -> tuple[Tensor, ...]:
        """Return queries (n,), contexts, and which rows of hidden and own are each page's."""
        query, *page = self.read(observation)
        queries, row = torch.unique(query, return_inverse=True)
        encodings, hidden, own = self._encode(queries)
        context = self.scorer.context(encodings.index_select(0, row), *page)
        return query, context, row, hidden, own

    def _encode(self, queries: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the encodings of queries (q,), which are distinct.

        Without gradients, as while pages are shown, those of all queries are kept until something
        is learned, unless there are far more queries than are asked for.
        """
        if torch.is_grad_enabled() or len(self.features) > _KEPT * len(queries):
            return self.scorer.encode(self.features.index_select(0, queries), queries)
        version = tuple(parameter._version for parameter in self.scorer.parameters())
        if version != self._kept_version:
            every = torch.arange(len(self.features))
            self._kept = self.scorer.encode(self.features, every)
            self._kept_version = version
        encodings, hidden, own = (part.index_select(0, queries) for part in self._kept)
        return encodings, hidden, own

    def forward_actor(self, observation: Tensor) -> Tensor:
        """Return the scores as ``forward``; 0, whatever is learned, where there is no candidate."""
        candidates = self.candidates.index_select(0, observation[:, 0].long())
        scores = torch.where(candidates, self._judge(observation)[0], 0.0)
        return self._add_places(scores, observation)

    def forward_critic(self, observation: Tensor) -> Tensor:
        """Return the values (n, 1)."""
        return self(observation)[1]


class ScoresCritic(nn.Module):
    """The value of scoring a query's candidates so: the same whatever the candidates' order.

    Only the order of the scores matters to a page, so each candidate's score is first made its
    soft rank. A candidate then adds what its features and its query make of that rank: a polynomial
    over the slots of the page, which fades to nothing where the page ends. The polynomials cost
    next to nothing per page, because their coefficients are the same for all pages of a query.

    Parameters
    ----------
    features : (Q, N, F) float32
    candidates : (Q, N) bool
    slots : int
        K, where the page ends.
    hidden : int
    sharpness : float
        Of the soft rank; the higher, the closer to the rank, and the less a gradient reaches.
    """

    features: Tensor
    candidates: Tensor
    degree = 3

    def __init__(
        self,
        features: NDArray[np.float32],
        candidates: Booleans,
        slots: int,
        hidden: int = 64,
        sharpness: float = 10.0,
    ) -> None:
        super().__init__()
        self.slots, self.sharpness = slots, sharpness
        self.register_buffer("features", tensor_of(features), persistent=False)
        self.register_buffer("candidates", tensor_of(candidates), persistent=False)
        self.encoder = nn.Sequential(
            nn.Linear(features.shape[2], hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.Tanh()
        )
        terms = self.degree + 1
        self.last = nn.Linear(hidden, terms)
        self.own = nn.Embedding(len(features), terms * hidden)
        self.own_value = nn.Embedding(len(features), 1)
        for weight in (self.last.weight, self.own.weight, self.own_value.weight):
            nn.init.zeros_(weight)

    def coefficients(self, query: Tensor) -> Tensor:
        """Return the polynomials (n, N, degree + 1) of the candidates of queries (n,)."""
        encodings = self.encoder(self.features.index_select(0, query))
        own = self.own(query).reshape(len(query), -1, self.degree + 1)
        return self.last(encodings) + torch.bmm(encodings, own)

    def forward(self, query: Tensor, scores: Tensor) -> Tensor:
        """Return the values (n, 1) of ``scores`` (n, N) for queries (n,)."""
        queries, row = torch.unique(query, return_inverse=True)
        coefficients = self.coefficients(queries).index_select(0, row)
        candidates = self.candidates.index_select(0, query)
        rank = soft_rank(scores, candidates, self.sharpness)
        shown = torch.sigmoid((self.slots - 0.5 - rank) / 0.5) * candidates
        depth = 2.0 * rank / self.slots - 1.0
        worth = coefficients[..., self.degree]
        for power in reversed(range(self.degree)):
            worth = worth * depth + coefficients[..., power]
        return (shown * worth).sum(dim=1, keepdim=True) + self.own_value(query)


def soft_rank(scores: Tensor, candidates: Tensor, sharpness: float) -> Tensor:
    """Return how many other candidates score more, (n, N), from 0 on.

    It compares all pairs: O(n N²) time and memory.
    """
    more = torch.sigmoid(sharpness * (scores[:, None, :] - scores[:, :, None]))
    return torch.bmm(more, candidates.to(more.dtype)[:, :, None]).squeeze(2) - 0.5


def tensor_of(array: NDArray[np.generic]) -> Tensor:
    """Return a tensor of an array, which may be read-only: nothing writes to it."""
    return torch.from_numpy(array if array.flags.writeable else array.copy())


def _masked_means(encodings: Tensor, masks: Tensor) -> Tensor:
    """Return the means (n, M, H) of encodings (n, N, H) over each of the masks (n, M, N)."""
    weight = masks.to(encodings.dtype)
    return torch.bmm(weight, encodings) / weight.sum(dim=2, keepdim=True).clamp(min=1.0)
