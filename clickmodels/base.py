"""The one interface of all click models, true users and learned models alike."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..common import checks
from ..common.random import Uniforms
from ..common.storage import load_arrays, save_arrays
from ..common.typing import Integers
from ..data import ClickLog, World
from . import registry

RANK, CONDITIONAL, GENERATIVE = "rank", "conditional", "generative"
PREFIX_SLOTS = 14  # 2**13 prefixes a page are the most that the default click_probs enumerates
_PREFIX_ROWS = 1 << 14  # rows of (page, prefix) held at once: they stay in the cache

Pages = tuple[NDArray[np.int64], NDArray[np.int64]]


class NotExact(ValueError):
    """An exact answer was asked of a model that cannot give one at this size."""


class NotCapable(TypeError):
    """A model was asked for something that its ``capabilities`` do not list."""


class ClickModel:
    """A distribution over click vectors, given a query and a ranking.

    A model of one's own needs ``conditional_click_probs``, ``relevance``, ``fit`` and ``state``;
    everything else is derived from them here, and overridden where there is a faster way.
    Documents are candidate indices ``0 .. N-1`` within their query, -1 an empty slot, which is
    never clicked. Shapes: ``query`` (n,), ``ranking`` (n, K), ``clicks`` (n, K).

    Attributes
    ----------
    capabilities : frozenset of str
        Subset of ``{"rank", "conditional", "generative"}``; asking for more raises ``NotCapable``.
    deterministic : frozenset of str
        The values of ``parameters`` with which ``fit`` does not use its seed.
    fingerprint : str or None
        The world's that this model belongs to; None fits any world of its shape.
    label : str or None
        What reports call it, where that is more than its class: a true user's name.
    seen : (Q, N) bool or None
        Which documents the log showed that a fitted model was fitted to.
    """

    name: ClassVar[str] = ""
    capabilities: ClassVar[frozenset[str]] = frozenset({RANK, CONDITIONAL, GENERATIVE})
    deterministic: ClassVar[frozenset[str]] = frozenset()
    fingerprint: str | None = None
    label: str | None = None
    seen: NDArray[np.bool_] | None = None

    # What a model of one's own writes

    def relevance(self) -> NDArray[np.float64]:
        """Return de-contextualised relevance scores, (Q, N)."""
        raise NotCapable(f"{type(self).__name__} does not define relevance()")

    def conditional_click_probs(
        self, query: ArrayLike, ranking: ArrayLike, clicks: ArrayLike
    ) -> NDArray[np.float64]:
        """Return P(C_k = 1 | c_1 .. c_{k-1}), (n, K); 0 after a prefix of probability zero."""
        raise NotCapable(
            f"{type(self).__name__} does not define conditional_click_probs(); a model that only "
            'ranks says so: capabilities = frozenset({"rank"})'
        )

    @classmethod
    def fit(cls, log: ClickLog, world: World, *args: Any, **settings: Any) -> ClickModel:
        """Return the model fitted to ``log``: ``fit(log, world, seed=0, ...)``."""
        raise NotCapable(f"{cls.__name__} does not define fit()")

    @classmethod
    def fit_members(
        cls,
        log: ClickLog,
        world: World,
        weights: NDArray[np.float64],
        seeds: Sequence[int],
        **settings: Any,
    ) -> list[ClickModel]:
        """Return a model fitted to ``log`` with each of M ``weights`` (n, M) for its rows.

        Here one after the other; overridden where they can share work.
        """
        models = []
        for weight, seed in zip(weights.T, seeds, strict=True):
            kept = weight > 0
            bootstrap = replace(log[kept], weight=weight[kept])
            models.append(cls.fit(bootstrap, world, seed=seed, **settings))
        return models

    def state(self) -> dict[str, Any]:
        """Return the keyword arguments that make this model again: arrays and JSON values."""
        raise NotCapable(f"{type(self).__name__} does not define state()")

    @classmethod
    def from_state(cls, **state: Any) -> ClickModel:
        """Return the model of a ``state``: here by the class itself."""
        return cls(**state)

    # What follows from it

    @property
    def shape(self) -> tuple[int, int]:
        """Number of queries Q and of candidate places N."""
        n_queries, n_docs = self.relevance().shape
        return n_queries, n_docs

    @property
    def max_slots(self) -> int | None:
        """The longest page that this model knows; None = any."""
        return None

    def log_likelihood(
        self, query: ArrayLike, ranking: ArrayLike, clicks: ArrayLike
    ) -> NDArray[np.float64]:
        """Return log P(clicks | query, ranking), (n,); -inf where it is impossible."""
        self.require(GENERATIVE)
        probs = self.conditional_click_probs(query, ranking, clicks)
        return log_of_outcomes(probs, np.asarray(clicks, dtype=bool)).sum(axis=1)

    def sample(
        self, query: ArrayLike, ranking: ArrayLike, rng: np.random.Generator
    ) -> NDArray[np.bool_]:
        """Draw clicks, (n, K) bool."""
        self.require(GENERATIVE)
        query, ranking = self.checked_pages(query, ranking)
        columns = np.ascontiguousarray(ranking.T)
        return np.ascontiguousarray(self.sample_columns(query, columns, rng).T)

    def sample_columns(
        self, query: NDArray[np.int64], columns: NDArray[np.int64], rng: np.random.Generator
    ) -> NDArray[np.bool_]:
        """Draw clicks for pages laid out slot by slot, (K, n), without checking them.

        It is what ``sample`` and the environments call; each rank is one contiguous row. Here it
        costs K calls of ``conditional_click_probs``.
        """
        clicks = np.zeros(columns.shape, dtype=bool)
        for slot in range(len(columns)):
            probs = self.conditional_click_probs(query, columns.T, clicks.T)[:, slot]
            clicks[slot] = rng.random(len(query)) < probs
        return clicks

    def sample_page(self, query: int, ranking: list[int], uniforms: Uniforms) -> list[bool]:
        """Draw the clicks of one page, as plain lists: what a single environment calls."""
        columns = np.array(ranking, dtype=np.int64)[:, None]
        clicks = self.sample_columns(np.array([query]), columns, uniforms.generator)
        return clicks[:, 0].tolist()

    def click_probs(self, query: ArrayLike, ranking: ArrayLike) -> NDArray[np.float64]:
        """Return P(C_k = 1) with clicks unseen, (n, K): exact, or ``NotExact``.

        Here by all 2^(K-1) click prefixes, in chunks of pages.
        """
        self.require(GENERATIVE)
        query, ranking = self.checked_pages(query, ranking)
        slots = ranking.shape[1]
        if slots > PREFIX_SLOTS:
            raise NotExact(
                f"{type(self).__name__} enumerates click prefixes up to {PREFIX_SLOTS} slots, not "
                f"{slots}; estimate_click_probs samples instead"
            )
        prefixes = all_clicks(slots - 1)
        prefixes = np.column_stack([prefixes, np.zeros(len(prefixes), dtype=bool)])
        result = np.empty(ranking.shape)
        pages = max(_PREFIX_ROWS // len(prefixes), 1)
        for start in range(0, len(query), pages):
            part = slice(start, start + pages)
            result[part] = self._sum_over(prefixes, query[part], ranking[part])
        return result

    def _sum_over(
        self, prefixes: NDArray[np.bool_], query: NDArray[np.int64], ranking: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        n, slots = ranking.shape
        pages = np.repeat(ranking, len(prefixes), axis=0)
        clicks = np.tile(prefixes, (n, 1)) & (pages >= 0)
        probs = self.conditional_click_probs(np.repeat(query, len(prefixes)), pages, clicks)
        probs = probs.reshape(n, len(prefixes), slots)
        weight = np.ones((n, len(prefixes)))
        for slot in range(slots - 1):
            weight *= np.abs(probs[:, :, slot] - ~prefixes[:, slot])  # P(what the prefix says)
        return np.einsum("np,npk->nk", weight, probs)

    def estimate_click_probs(
        self, query: ArrayLike, ranking: ArrayLike, samples: int, rng: np.random.Generator
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Estimate ``click_probs`` from ``samples`` draws a page.

        Returns
        -------
        probs, stderr : (n, K)
        """
        samples = checks.positive_integer(samples, "samples", 2)
        query, ranking = self.checked_pages(query, ranking)
        total = np.zeros(ranking.shape)
        for _ in range(samples):
            total += self.sample(query, ranking, rng)
        probs = total / samples
        return probs, np.sqrt(probs * (1.0 - probs) / (samples - 1))

    def expected_clicks(self, query: ArrayLike, ranking: ArrayLike) -> NDArray[np.float64]:
        """Return the expected number of clicks of each page, (n,)."""
        self.require(GENERATIVE)
        query, ranking = self.checked_pages(query, ranking)
        return self.score_columns(query, np.ascontiguousarray(ranking.T))

    def score_columns(
        self, query: NDArray[np.int64], columns: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return the expected clicks of pages laid out slot by slot, (K, n), without checks.

        It is what ``expected_clicks`` calls; a few thousand pages at a time stay in the cache.
        """
        return self.click_probs(query, columns.T).sum(axis=1)

    @property
    def cheap_scores(self) -> bool:
        """Whether ``score_columns`` costs far less than enumerating click prefixes."""
        return type(self).score_columns is not ClickModel.score_columns

    def rough_columns(
        self, query: NDArray[np.int64], columns: NDArray[np.int64]
    ) -> NDArray[np.float64] | None:
        """Return a cheap approximation of ``score_columns``, or None where there is none.

        Where scores are expensive, a search scores only the rankings that look best by it, and
        some others. Here the clicks of a page as long as there is none: one call of
        ``conditional_click_probs``, which knows documents and ranks, but not what a click changes.
        """
        nothing = np.zeros(columns.T.shape, dtype=bool)
        return self.conditional_click_probs(query, columns.T, nothing).sum(axis=1)

    def best_rankings(self, rankings: Integers) -> Integers | None:
        """Return the pages that earn the most clicks, by a closed form; None where there is none.

        ``rankings`` (n, K) are top-down: the most relevant documents, in falling order.
        """
        return None

    # Checks, saving and sharing

    def require(self, capability: str) -> None:
        """Raise ``NotCapable`` unless the model declares ``capability``."""
        if capability not in self.capabilities:
            can = ", ".join(sorted(self.capabilities))
            raise NotCapable(f"{self.name or type(self).__name__} is not {capability}: only {can}")

    def require_registered(self) -> None:
        """Raise unless the class is registered: what cannot be loaded is not written."""
        # A subclass has its parent's name until it is registered.
        if not registry.same_class(registry.registered_class(self.name), type(self)):
            raise ValueError(f"{type(self).__name__} is not registered, so it cannot be saved")

    def check_world(self, world: World) -> None:
        """Raise unless this model belongs to ``world``."""
        world.check_fingerprint(self.fingerprint, f"the click model {self.name}")
        if self.shape != (world.n_queries, world.n_docs):
            raise ValueError(
                f"the click model {self.name} is for {self.shape[0]} queries of {self.shape[1]} "
                f"candidates, this world has {world.n_queries} of {world.n_docs}"
            )

    def checked_pages(self, query: ArrayLike, ranking: ArrayLike) -> Pages:
        """Return ``query`` and ``ranking`` as int64 after checking every index."""
        query_array = checks.integers(query, "query", 1).astype(np.int64, copy=False)
        ranking_array = checks.integers(ranking, "ranking", 2).astype(np.int64, copy=False)
        if len(ranking_array) != len(query_array):
            raise ValueError(
                f"ranking has {len(ranking_array)} rows, but query has {len(query_array)}"
            )
        checks.rankings(ranking_array, query_array, *self.shape)
        slots = ranking_array.shape[1]
        if slots == 0:
            raise ValueError("ranking must have at least one slot")
        if self.max_slots is not None and slots > self.max_slots:
            raise ValueError(
                f"ranking has {slots} slots, but this {self.name} knows {self.max_slots}"
            )
        return query_array, ranking_array

    def checked_clicks(
        self, query: ArrayLike, ranking: ArrayLike, clicks: ArrayLike
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
        """Return pages and their clicks after checking them."""
        query_array, ranking_array = self.checked_pages(query, ranking)
        click_array = checks.booleans(clicks, "clicks", 2)
        checks.same_shape(click_array, ranking_array.shape, "clicks", "ranking")
        return query_array, ranking_array, click_array

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model as one safetensors file with a JSON header, atomically."""
        self.require_registered()
        state = self.state()
        arrays = {key: value for key, value in state.items() if isinstance(value, np.ndarray)}
        header = {
            "name": self.name,
            "settings": {key: value for key, value in state.items() if key not in arrays},
            "fingerprint": self.fingerprint,
        }
        if self.seen is not None:
            arrays["__seen__"] = self.seen
        save_arrays(path, "click model", header, arrays)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> ClickModel:
        """Read a model written by ``save``; only registered names are made, and no code is run."""
        header, arrays = load_arrays(path, "click model")
        try:
            cls = registry.registered_class(header["name"])
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error
        seen = arrays.pop("__seen__", None)
        try:
            model = cls.from_state(**arrays, **header["settings"])
        except (TypeError, ValueError) as error:
            raise ValueError(f"{path}: does not make a {header['name']}: {error}") from error
        model.fingerprint = header["fingerprint"]
        model.seen = seen
        return model

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Make arrays read-only again, which pickling forgets: models are shared."""
        for value in state.values():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
        self.__dict__.update(state)

    def __repr__(self) -> str:
        n_queries, n_docs = self.shape
        fitted = "" if self.seen is None else ", fitted"
        return f"{type(self).__name__}({n_queries} queries of {n_docs} candidates{fitted})"

    def __copy__(self) -> ClickModel:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> ClickModel:
        return self


def log_of_outcomes(probs: NDArray[np.float64], clicks: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return log P(what happened) slot by slot; -inf where it could not happen."""
    with np.errstate(divide="ignore"):
        return np.where(clicks, np.log(probs), np.log1p(-probs))


def zero_after_impossible(
    probs: NDArray[np.float64], clicks: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Set conditionals (n, K) to 0 in every slot after an outcome that could not happen."""
    impossible = np.where(clicks, probs <= 0.0, probs >= 1.0)
    if impossible.any():
        after = np.logical_or.accumulate(impossible, axis=1)
        probs[:, 1:][after[:, :-1]] = 0.0
    return probs


def all_clicks(slots: int) -> NDArray[np.bool_]:
    """Return all 2^slots click vectors, (2^slots, slots) bool; the last slot varies fastest."""
    codes = np.arange(1 << slots)[:, None]
    return (codes >> np.arange(slots)[::-1]) & 1 == 1
