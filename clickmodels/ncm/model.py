"""The neural click model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from ...common import checks
from ...common.typing import Booleans, Floats, Integers
from ..base import ClickModel, NotCapable
from ..ensemble import Ensemble
from ..pages import PREFIX_SLOTS, NotExact, check_pages, zero_after_impossible
from ..registry import register
from ..uncertainty.posterior import BetaTable, Posterior, check_level
from .rough_score import SoftClicks
from .tree import PrefixTree

if TYPE_CHECKING:
    from .ncm_network import NCMNetwork

Chances = NDArray[np.floating[Any]]

_CHUNK = 4096  # pages at a time
_DROP = 1e-3  # searches leave out less likely prefixes of pages with more than so many slots:
_WHOLE_SLOTS = 8


def load_network() -> type[NCMNetwork]:
    """Return the network of this model, imported late because torch takes a second."""
    from .ncm_network import NCMNetwork

    return NCMNetwork


@register("NCM")
class NCM(ClickModel):
    """Neural click model (Borisov et al. 2016; equations 12 and 13 of the robustness paper).

    Assumptions: none but that the page is read from the top. A GRU reads, rank by rank, the
    embeddings of query and document and whether the rank before was clicked; its state gives
    P(click). Relevance is the probability of a click in the first slot. Deviations, as in the
    paper: a GRU for the LSTM, learned embeddings for the counts.

    Parameters
    ----------
    query_embedding : (Q, E)
    document_embedding : (Q, N, F), or (D, F) where queries share documents
    input_weights : (3 H, E + F + 1), hidden_weights : (3 H, H)
        Of the reset, update and candidate gates.
    input_bias, hidden_bias : (3 H,)
    output_weights : (H,), output_bias : float
    document_rows : (Q, N) or (1, N), optional
        Where queries share documents: the row of each in ``document_embedding``. One row stands
        for all queries.
    scale : (Q, N), optional
        Up to 1, the network's P(click) on a document is multiplied by it; above 1, the odds are, so
        that no click becomes certain (see ``scale_to``). Without it nothing is.
    """

    reads_down = True
    network = staticmethod(load_network)
    informed_by = "UBM"

    def __init__(
        self,
        query_embedding: ArrayLike,
        document_embedding: ArrayLike,
        input_weights: ArrayLike,
        hidden_weights: ArrayLike,
        input_bias: ArrayLike,
        hidden_bias: ArrayLike,
        output_weights: ArrayLike,
        output_bias: float,
        document_rows: ArrayLike | None = None,
        scale: ArrayLike | None = None,
    ) -> None:
        # Embeddings are the bulk and stay narrow; everything is computed in double precision, so
        # that a prefix has the same probability however it is reached.
        self.query_embedding = _copy(query_embedding, "query_embedding", 2, np.float32)
        own = 3 if document_rows is None else 2
        self.document_embedding = _copy(document_embedding, "document_embedding", own, np.float32)
        self.input_weights = _copy(input_weights, "input_weights", 2)
        self.hidden_weights = _copy(hidden_weights, "hidden_weights", 2)
        self.input_bias = _copy(input_bias, "input_bias", 1)
        self.hidden_bias = _copy(hidden_bias, "hidden_bias", 1)
        self.output_weights = _copy(output_weights, "output_weights", 1)
        self.output_bias = float(checks.finite(output_bias, "output_bias", 0))
        hidden = len(self.output_weights)
        widths = self.query_embedding.shape[1], self.document_embedding.shape[-1]
        self.document_rows = None if document_rows is None else self._check_rows(document_rows)
        wanted = {
            "query_embedding": (self.shape[0], widths[0]),
            "input_weights": (3 * hidden, sum(widths) + 1),
            "hidden_weights": (3 * hidden, hidden),
            "input_bias": (3 * hidden,),
            "hidden_bias": (3 * hidden,),
        }
        for name, shape in wanted.items():
            checks.same_shape(getattr(self, name), shape, name, "this network")
        self.scale = None if scale is None else self._check_scale(scale)
        self._hidden = hidden
        self._relevance: Floats | None = None
        self._scores: tuple[PrefixTree, PrefixTree] | None = None
        self._soft: SoftClicks | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Number of queries and candidate places."""
        if self.document_rows is None:
            return self.document_embedding.shape[0], self.document_embedding.shape[1]
        return len(self.query_embedding), self.document_rows.shape[1]

    def _check_rows(self, rows: ArrayLike) -> Integers:
        array = checks.integers(rows, "document_rows", 2)
        if len(array) not in (1, len(self.query_embedding)):
            raise ValueError(
                f"document_rows has {len(array)} rows, but query_embedding needs 1 or "
                f"{len(self.query_embedding)}"
            )
        size = len(self.document_embedding)
        if array.size and not 0 <= array.min() <= array.max() < size:
            raise ValueError(f"document_rows must be rows of document_embedding, 0 to {size - 1}")
        array = array.astype(np.int32)
        array.flags.writeable = False
        return array

    def _check_scale(self, scale: ArrayLike) -> Floats:
        array = _copy(scale, "scale", 2)
        checks.same_shape(array, self.shape, "scale", "this network's queries and documents")
        if array.size and array.min() < 0:
            raise ValueError(f"scale must be at least 0, not {array.min()}")
        return array

    def state(self) -> dict[str, Any]:
        """Return the weights."""
        names = (
            "query_embedding", "document_embedding", "input_weights", "hidden_weights",
            "input_bias", "hidden_bias", "output_weights", "output_bias",
        )  # fmt: skip
        state = {name: getattr(self, name) for name in names}
        if self.document_rows is not None:
            state["document_rows"] = self.document_rows
        if self.scale is not None:
            state["scale"] = self.scale
        return state

    def relevance(self) -> Floats:
        """Return P(click) in the first slot, (Q, N)."""
        if self._relevance is None:
            n_queries, n_docs = self.shape
            pairs = np.arange(n_queries * n_docs)
            parts = np.array_split(pairs, max(len(pairs) // (16 * _CHUNK), 1))
            pages = [(part // n_docs, (part % n_docs)[:, None]) for part in parts]
            probs = [
                self._conditionals(query, ranking, np.zeros(ranking.shape, dtype=bool))
                for query, ranking in pages
            ]
            self._relevance = np.concatenate(probs).reshape(n_queries, n_docs)
            self._relevance.flags.writeable = False
        return self._relevance

    def inputs(self, query: Integers, document: Integers) -> Floats:
        """Return what query and document add to the gates, (n, 3 H)."""
        if self.document_rows is None:
            documents = self.document_embedding[query, document]
        else:
            of_query = query if len(self.document_rows) > 1 else 0
            documents = self.document_embedding[self.document_rows[of_query, document]]
        both = np.concatenate([self.query_embedding[query], documents], axis=1).astype(np.float64)
        result: Floats = both @ self.input_weights[:, :-1].T + self.input_bias
        return result

    def _next(self, state: Floats, inputs: Floats, clicked: Booleans) -> Floats:
        """Return the states (n, H) after a rank, given the click on the rank before (n,)."""
        hidden = self._hidden
        ahead = inputs + clicked[:, None] * self.input_weights[:, -1]
        back = state @ self.hidden_weights.T + self.hidden_bias
        reset = expit(ahead[:, :hidden] + back[:, :hidden])
        update = expit(ahead[:, hidden : 2 * hidden] + back[:, hidden : 2 * hidden])
        candidate = np.tanh(ahead[:, 2 * hidden :] + reset * back[:, 2 * hidden :])
        result: Floats = candidate + update * (state - candidate)
        return result

    def _probs(self, state: Floats, query: Integers, document: Integers) -> Floats:
        own = expit(state @ self.output_weights + self.output_bias)
        return self.scaled(own, query, document).astype(np.float64, copy=False)

    def scaled(self, chance: Chances, query: Integers, document: Integers) -> Chances:
        """Return the network's chances of a click (n,), scaled by the documents' ``scale``."""
        if self.scale is None:
            return chance
        scale = self.scale[query, document].astype(chance.dtype)
        result: Chances = scale * chance / (1 + np.maximum(scale - 1, 0) * chance)
        return result

    def with_relevance(self, relevance: Floats) -> NCM:
        """Return the network with the ``scale`` that gives it this relevance, (Q, N), below 1."""
        own = {name: value for name, value in self.state().items() if name != "scale"}
        network = NCM(**own)
        return NCM(**own, scale=scale_to(relevance, network.relevance()))

    def posterior(self) -> Posterior:
        """Return the posterior of relevance, called "attractiveness" as in other models.

        Its spread, relative to its mean, is that of the table which informed the fit. A network
        that was fitted with ``prior="plain"`` has none.
        """
        if self.uncertainty is None:
            raise NotCapable(
                f"this {self.name} has no posterior: only networks that clickmodels.fit fitted "
                "with prior='exposure' or prior='score' have one"
            )
        strength = self.uncertainty.strengths["attractiveness"].astype(np.float64)
        table = {"attractiveness": BetaTable(self.relevance(), strength)}
        return Posterior(table, self.seen, self.uncertainty.numbers)

    def cautious(self) -> ClickModel:
        """Return the ensemble of this network and the table that informed it, where there is one.

        On pages as its log has them the network is right, and so its log finds nothing to distrust;
        a search finds pages that are unlike any of these, of which it believes too much. The table
        does not, and ``Ensemble.lower`` takes off what they disagree about.
        """
        return self if self.second is None else Ensemble([self, self.second])

    def lower(self, level: float) -> NCM:
        """Return this model with every document's relevance at a quantile of its posterior.

        That is P(click) in the first slot; the documents' ``scale`` brings it there.
        """
        model = self.with_relevance(self.posterior().quantile(check_level(level)))
        model.fingerprint, model.label, model.seen = self.fingerprint, self.label, self.seen
        return model

    def conditional_click_probs(
        self, query: ArrayLike, ranking: ArrayLike, clicks: ArrayLike
    ) -> Floats:
        """Return P(C_k = 1 | c_<k), (n, K)."""
        query, ranking, clicks = self.checked_clicks(query, ranking, clicks)
        probs = np.empty(ranking.shape)
        for start in range(0, len(query), _CHUNK):
            part = slice(start, start + _CHUNK)
            probs[part] = self._conditionals(query[part], ranking[part], clicks[part])
        return zero_after_impossible(probs, clicks)

    def _conditionals(self, query: Integers, ranking: Integers, clicks: Booleans) -> Floats:
        state = np.zeros((len(query), self._hidden))
        before = np.zeros(len(query), dtype=bool)
        probs = np.empty(ranking.shape)
        for slot in range(ranking.shape[1]):
            documents = ranking[:, slot]
            state = self._next(state, self.inputs(query, documents), before)
            probs[:, slot] = self._probs(state, query, documents)
            before = clicks[:, slot]
        return np.where(ranking >= 0, probs, 0.0)

    def click_probs(self, query: ArrayLike, ranking: ArrayLike) -> Floats:
        """Return P(C_k = 1), (n, K), by the tree of click prefixes: 2^K - 1 GRU steps per page."""
        query, ranking = check_pages(self, query, ranking)
        slots = ranking.shape[1]
        if slots > PREFIX_SLOTS:
            raise NotExact(f"NCM enumerates click prefixes up to {PREFIX_SLOTS} slots, not {slots}")
        return PrefixTree(self).click_probs(query, ranking)[0]

    def expected_clicks(self, query: ArrayLike, ranking: ArrayLike) -> Floats:
        """Return the expected number of clicks of each page, (n,), in double precision."""
        return self.click_probs(query, ranking).sum(axis=1)

    def score_columns(self, query: Integers, columns: Integers) -> Floats:
        """Return nearly the expected clicks of pages laid out slot by slot, (K, n), unchecked.

        For searches: with more than eight slots it works in single precision and leaves out
        prefixes less likely than 1e-3, which is off by less than 0.01 clicks on the worlds tried
        (``PrefixTree`` bounds the error of each page). ``expected_clicks`` is exact.
        """
        if len(columns) > PREFIX_SLOTS:
            raise NotExact(f"NCM enumerates click prefixes up to {PREFIX_SLOTS} slots")
        if self._scores is None:
            self._scores = PrefixTree(self), PrefixTree(self, np.float32, _DROP)
        tree = self._scores[len(columns) > _WHOLE_SLOTS]
        return tree.click_probs(query, columns.T)[0].sum(axis=1)

    @property
    def cheap_scores(self) -> bool:
        """False: a score is 2^K - 1 steps of the network."""
        return False

    def rough_columns(self, query: Integers, columns: Integers) -> Floats:
        """Return approximate scores of pages (K, n), by K steps of the network each."""
        if self._soft is None:
            self._soft = SoftClicks(self)
        return self._soft.scores(query, columns)

    def sample_columns(
        self, query: Integers, columns: Integers, rng: np.random.Generator
    ) -> Booleans:
        """Draw clicks, (K, n): one GRU step per slot."""
        state = np.zeros((len(query), self._hidden))
        clicks = np.zeros(columns.shape, dtype=bool)
        before = np.zeros(len(query), dtype=bool)
        for slot, documents in enumerate(columns):
            state = self._next(state, self.inputs(query, documents), before)
            probs = self._probs(state, query, documents)
            clicks[slot] = (rng.random(len(query)) < probs) & (documents >= 0)
            before = clicks[slot]
        return clicks


def scale_to(wanted: Floats, chance: Floats) -> Floats:
    """Return the scale that makes ``wanted`` of the network's chances, both within (0, 1)."""
    ratio = wanted / np.maximum(chance, 1e-300)
    return np.where(ratio > 1.0, ratio * (1.0 - chance) / np.maximum(1.0 - wanted, 1e-12), ratio)


def _copy(value: ArrayLike, name: str, ndim: int, dtype: Any = np.float64) -> NDArray[Any]:
    """Return a read-only copy of a finite array."""
    array = checks.finite(value, name, ndim, dtype).copy()
    array.flags.writeable = False
    return array
