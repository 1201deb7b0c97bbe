"""The one interface of all click models, true users and learned models alike."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from ..common import checks
from ..common.random import Uniforms
from ..common.typing import Booleans, Floats, Integers
from ..data import ClickLog, World
from .pages import (
    check_clicks,
    check_conditionals,
    check_pages,
    log_of_outcomes,
    sum_over_prefixes,
)
from .registry import registered
from .saving import Shared, load_model, save_model
from .uncertainty.caution import level_of, read_pessimism
from .uncertainty.posterior import BetaTable, Posterior, Uncertainty, check_level

if TYPE_CHECKING:
    from .tablefit.table_fit import LoadNetwork, TableFit

RANK, CONDITIONAL, GENERATIVE = "rank", "conditional", "generative"


class NotCapable(TypeError):
    """A model was asked for something that its ``capabilities`` do not list."""


class ClickModel(Shared):
    """A distribution over click vectors, given a query and a ranking.

    A model of one's own needs ``conditional_click_probs``, ``relevance``, ``state``, and a ``fit``
    or a declaration of how its tables are fitted (``table_fit``);
    everything else is derived from them here, and overridden where there is a faster way.
    Documents are candidate indices ``0 .. N-1`` within their query, -1 an empty slot, which is
    never clicked. Shapes: ``query`` (n,), ``ranking`` (n, K), ``clicks`` (n, K).

    Attributes
    ----------
    capabilities : frozenset of str
        Subset of ``{"rank", "conditional", "generative"}``; asking for more raises ``NotCapable``.
    deterministic : frozenset of str
        The values of ``parameters`` with which a ``fit`` of one's own does not use its seed.
    table_fit : TableFit or None
        How ``clickmodels.fit`` fits the model's tables, where the model has no ``fit`` of its own.
    network : callable or None
        Returns the network of a model without tables, which is then fitted by training it.
    informed_by : str or None
        Of a model without tables: the name of that whose table, fitted to the same log, says what
        an informed prior (``prior="exposure"``) knows of documents that the log hardly ever showed.
    pair_tables : frozenset of str
        The constructor's arguments that are tables by query and document, (Q, N); with
        ``parameters="grade"`` documents of one grade share their entries.
    discouraging : frozenset of str
        Those of them that lower clicks where they are high, such as satisfaction.
    knows_verticals : bool
        Whether the model's methods take ``vertical`` and ``vertical_position``; others see pages
        without their blocks (see ``vertical_arguments``).
    reads_down : bool
        Whether what stands below a document never changes P(click) on it.
    fingerprint : str or None
        The world's that this model belongs to; None fits any world of its shape.
    label : str or None
        What reports call it, where that is more than its class: a true user's name.
    seen : (Q, N) bool or None
        Which documents the log showed that a fitted model was fitted to.
    by_grade : ClickModel or None
        Of a model fitted with ``parameters="grade"``: the model of one query whose candidates are
        the grades 0 .. max_grade and, last, documents without one.
    uncertainty : Uncertainty or None
        What a fitted model keeps for ``posterior``, saved with it.
    second : ClickModel or None
        A model of another kind that was fitted to the same log and is saved with this one, a second
        opinion where this one is not to be believed alone: see ``cautious``.
    """

    name: ClassVar[str] = ""
    capabilities: ClassVar[frozenset[str]] = frozenset({RANK, CONDITIONAL, GENERATIVE})
    deterministic: ClassVar[frozenset[str]] = frozenset()
    table_fit: ClassVar[TableFit | None] = None
    network: ClassVar[LoadNetwork | None] = None
    informed_by: ClassVar[str | None] = None
    pair_tables: ClassVar[frozenset[str]] = frozenset()
    discouraging: ClassVar[frozenset[str]] = frozenset()
    knows_verticals: ClassVar[bool] = False
    reads_down: ClassVar[bool] = False
    fingerprint: str | None = None
    label: str | None = None
    seen: Booleans | None = None
    by_grade: ClickModel | None = None
    uncertainty: Uncertainty | None = None
    second: ClickModel | None = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Call a class by its own name until it is registered."""
        super().__init_subclass__(**kwargs)
        if cls.name not in registered():
            cls.name = cls.__name__

    # What a model of one's own writes

    def relevance(self) -> Floats:
        """Return de-contextualised relevance scores, (Q, N)."""
        raise NotCapable(f"{type(self).__name__} does not define relevance()")

    def conditional_click_probs(
        self, query: ArrayLike, ranking: ArrayLike, clicks: ArrayLike
    ) -> Floats:
        """Return P(C_k = 1 | c_1 .. c_{k-1}), (n, K); 0 after a prefix of probability zero."""
        raise NotCapable(
            f"{type(self).__name__} does not define conditional_click_probs(); a model that only "
            'ranks says so: capabilities = frozenset({"rank"})'
        )

    @classmethod
    def fit(cls, log: ClickLog, world: World, *args: Any, **settings: Any) -> ClickModel:
        """Return the model fitted to ``log``: ``fit(log, world, seed=0, ...)``."""
        raise NotCapable(f"{cls.__name__} does not define fit(); clickmodels.fit() may fit it")

    def state(self) -> dict[str, Any]:
        """Return the keyword arguments that make this model again: arrays and JSON values."""
        raise NotCapable(f"{type(self).__name__} does not define state()")

    @classmethod
    def from_state(cls, **state: Any) -> ClickModel:
        """Return the model of a ``state``: here by the class itself."""
        return cls(**state)

    def for_documents(self, classes: Integers) -> ClickModel:
        """Return the model of documents that have the parameters of their class.

        Parameters
        ----------
        classes : (Q, N)
            The candidate of this model's only query that each document is like.
        """
        if not self.pair_tables:
            raise NotCapable(f"{self.name} has no tables by query and document")
        state = self.state()
        tables = {name: np.asarray(state[name])[0][classes] for name in self.pair_tables}
        try:
            return type(self).from_state(**{**state, **tables})
        except ValueError as error:
            named = ", ".join(sorted(self.pair_tables))
            raise ValueError(
                f"{self.name} is not made from parameters by grade ({error}): pair_tables must "
                f"name all its tables by query and document, and has {named}"
            ) from error

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

    def log_likelihood(self, query: ArrayLike, ranking: ArrayLike, clicks: ArrayLike) -> Floats:
        """Return log P(clicks | query, ranking), (n,); -inf where it is impossible."""
        self.require(GENERATIVE)
        probs = self.conditional_click_probs(query, ranking, clicks)
        outcomes = np.asarray(clicks, dtype=bool)
        probs = check_conditionals(self, probs, outcomes.shape)
        return log_of_outcomes(probs, outcomes).sum(axis=1)

    def sample(
        self,
        query: ArrayLike,
        ranking: ArrayLike,
        rng: Generator,
        *,
        vertical: ArrayLike | None = None,
        vertical_position: ArrayLike | None = None,
    ) -> Booleans:
        """Draw clicks, (n, K) bool; a model that knows no verticals ignores the pages' blocks."""
        self.require(GENERATIVE)
        query, ranking = check_pages(self, query, ranking)
        columns = np.ascontiguousarray(ranking.T)
        blocks = self.vertical_arguments(vertical, vertical_position)
        return np.ascontiguousarray(self.sample_columns(query, columns, rng, **blocks).T)

    def sample_columns(self, query: Integers, columns: Integers, rng: Generator) -> Booleans:
        """Draw clicks for pages laid out slot by slot, (K, n), without checking them.

        It is what ``sample`` and the environments call; each rank is one contiguous row. Here it
        costs K calls of ``conditional_click_probs``.
        """
        clicks = np.zeros(columns.shape, dtype=bool)
        for slot in range(len(columns)):
            probs = self.conditional_click_probs(query, columns.T, clicks.T)
            probs = check_conditionals(self, probs, clicks.T.shape)[:, slot]
            clicks[slot] = rng.random(len(query)) < probs
        return clicks

    def sample_page(self, query: int, ranking: list[int], uniforms: Uniforms) -> list[bool]:
        """Draw the clicks of one page, as plain lists: what a single environment calls."""
        columns = np.array(ranking, dtype=np.int64)[:, None]
        clicks = self.sample_columns(np.array([query]), columns, uniforms.generator)
        return clicks[:, 0].tolist()

    def read_columns(
        self,
        query: Integers,
        columns: Integers,
        rng: Generator,
        *,
        vertical: ArrayLike | None = None,
        vertical_position: ArrayLike | None = None,
    ) -> tuple[Booleans, Booleans]:
        """Draw clicks, (K, n), and whether the block satisfied without a click, (n,).

        As ``sample_columns``, for any model: one that knows no verticals ignores the blocks, and
        nobody is satisfied without a click.
        """
        blocks = self.vertical_arguments(vertical, vertical_position)
        clicks = self.sample_columns(query, columns, rng, **blocks)
        return clicks, np.zeros(len(query), dtype=bool)

    def read_page(
        self,
        query: int,
        ranking: list[int],
        uniforms: Uniforms,
        *,
        vertical: int = -1,
        vertical_position: int = -1,
    ) -> tuple[list[bool], bool]:
        """Draw the clicks of one page, and whether its block satisfied without a click."""
        block = self.vertical_arguments(vertical, vertical_position)
        return self.sample_page(query, ranking, uniforms, **block), False

    def satisfying_clicks(self, query: ArrayLike, ranking: ArrayLike) -> Floats:
        """Return P(click at rank k, and the user is satisfied by it), (n, K)."""
        raise NotCapable(f"{self.name} does not say when a user is satisfied")

    def click_probs(self, query: ArrayLike, ranking: ArrayLike) -> Floats:
        """Return P(C_k = 1) with clicks unseen, (n, K): exact, or ``NotExact``.

        Here by all 2^(K-1) click prefixes, in chunks of pages.
        """
        self.require(GENERATIVE)
        query, ranking = check_pages(self, query, ranking)
        return sum_over_prefixes(self, query, ranking)

    def estimate_click_probs(
        self,
        query: ArrayLike,
        ranking: ArrayLike,
        samples: int,
        rng: Generator,
        *,
        vertical: ArrayLike | None = None,
        vertical_position: ArrayLike | None = None,
    ) -> tuple[Floats, Floats]:
        """Estimate ``click_probs`` from ``samples`` draws per page.

        Returns
        -------
        probs, stderr : (n, K)
        """
        samples = checks.positive_integer(samples, "samples", 2)
        query, ranking = check_pages(self, query, ranking)
        blocks = self.vertical_arguments(vertical, vertical_position)
        total = np.zeros(ranking.shape)
        for _ in range(samples):
            total += self.sample(query, ranking, rng, **blocks)
        probs = total / samples
        return probs, np.sqrt(probs * (1.0 - probs) / (samples - 1))

    def expected_clicks(self, query: ArrayLike, ranking: ArrayLike) -> Floats:
        """Return the expected number of clicks of each page, (n,)."""
        self.require(GENERATIVE)
        query, ranking = check_pages(self, query, ranking)
        return self.score_columns(query, np.ascontiguousarray(ranking.T))

    def satisfied_probs(self, query: ArrayLike, ranking: ArrayLike) -> Floats:
        """Return P(the page satisfies), (n,): a click on it, or satisfaction without one.

        Only models of verticals know the latter; here it is the probability of any click.
        """
        query, ranking = check_pages(self, query, ranking)
        return -np.expm1(self.log_likelihood(query, ranking, np.zeros(ranking.shape, dtype=bool)))

    def score_columns(self, query: Integers, columns: Integers) -> Floats:
        """Return the expected clicks of pages laid out slot by slot, (K, n), without checks.

        It is what ``expected_clicks`` calls; a few thousand pages at a time stay in the cache.
        """
        return self.click_probs(query, columns.T).sum(axis=1)

    @property
    def cheap_scores(self) -> bool:
        """Whether ``score_columns`` costs far less than enumerating click prefixes."""
        return type(self).score_columns is not ClickModel.score_columns

    @property
    def cheap_expectations(self) -> bool:
        """Whether ``expected_clicks`` costs far less than enumerating click prefixes."""
        return self.cheap_scores

    def rough_columns(self, query: Integers, columns: Integers) -> Floats | None:
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

    # What it does not know

    def posterior(self) -> Posterior:
        """Return the posterior of the tables of a model that was fitted to a log.

        Of tables that ``clickmodels.fit`` fitted, of networks that it fitted with an informed
        prior, and of ensembles of these: a true user, other networks and a model that was saved
        without its posterior have none, and raise ``NotCapable``.
        """
        if self.uncertainty is None:
            raise NotCapable(
                f"this {self.name} has no posterior: only tables that clickmodels.fit fitted have "
                "one, networks that it fitted with prior='exposure' or 'score' (not true users or "
                "models made by hand), and files of them that were saved with it"
            )
        state = self.state()
        tables = {
            name: BetaTable(np.asarray(state[name]), strength.astype(np.float64))
            for name, strength in self.uncertainty.strengths.items()
        }
        return Posterior(tables, self.seen, self.uncertainty.numbers)

    def lower(self, level: float) -> ClickModel:
        """Return this model with the tables of every pair at a quantile of their posterior.

        Attractiveness is at the quantile ``level`` (0.16: about one standard deviation below the
        mean), what is high where clicks are few, such as satisfaction, at ``1 - level``. What all
        pairs share stays. A ``level`` above 1/2 gives an optimistic model.
        """
        level = check_level(level)
        tables = {
            name: table.quantile(1.0 - level if name in self.discouraging else level)
            for name, table in self.posterior().items()
        }
        model = type(self).from_state(**{**self.state(), **tables})
        model.fingerprint, model.label, model.seen = self.fingerprint, self.label, self.seen
        return model

    def cautious(self) -> ClickModel:
        """Return what a careful choice of policy asks: here this model itself."""
        return self

    def pessimistic(self, pessimism: float | str) -> ClickModel:
        """Return ``cautious().lower(Φ(-λ))``, and ``cautious()`` itself for λ = 0.

        Parameters
        ----------
        pessimism : float or "auto"
            λ: by how many standard deviations pairs are taken to be worse than their mean.
            "auto": 0 to 1, as the log says (see ``posterior().numbers``).
        """
        model = self.cautious()
        amount = read_pessimism(pessimism, model.uncertainty)
        return model if amount == 0 else model.lower(level_of(amount))

    # Checks, saving and sharing

    def require(self, capability: str) -> None:
        """Raise ``NotCapable`` unless the model declares ``capability``."""
        if capability not in self.capabilities:
            can = ", ".join(sorted(self.capabilities))
            raise NotCapable(f"{self.name} is not {capability}: only {can}")

    def require_verticals(self) -> None:
        """Raise ``NotCapable`` unless the model knows vertical blocks."""
        if not self.knows_verticals:
            raise NotCapable(f"{self.name} knows no verticals: a block does not change its clicks")

    def vertical_arguments(
        self, vertical: ArrayLike | None = None, vertical_position: ArrayLike | None = None
    ) -> dict[str, Any]:
        """Return the blocks of pages as keyword arguments of this model's methods.

        They are empty where there are no blocks, and for a model that knows no verticals, which
        thus ignores them: ``model.click_probs(query, ranking, **model.vertical_arguments(…))``.
        """
        if not self.knows_verticals or (vertical is None and vertical_position is None):
            return {}
        return {"vertical": vertical, "vertical_position": vertical_position}

    def check_world(self, world: World) -> None:
        """Raise unless this model belongs to ``world``."""
        world.check_fingerprint(self.fingerprint, f"the click model {self.name}")
        if self.shape != (world.n_queries, world.n_docs):
            raise ValueError(
                f"the click model {self.name} is for {self.shape[0]} queries of {self.shape[1]} "
                f"candidates, this world has {world.n_queries} of {world.n_docs}"
            )

    def checked_clicks(
        self, query: ArrayLike, ranking: ArrayLike, clicks: ArrayLike
    ) -> tuple[Integers, Integers, Booleans]:
        """Return pages and their clicks after checking them."""
        query, ranking = check_pages(self, query, ranking)
        return query, ranking, check_clicks(ranking, clicks)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model as one safetensors file with a JSON header, atomically."""
        save_model(self, path)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> ClickModel:
        """Read a model written by ``save``; only registered names are made, and no code is run."""
        return load_model(path)

    def __repr__(self) -> str:
        try:
            n_queries, n_docs = self.shape
        except Exception:  # a model that is being written: it can be printed all the same
            return f"{type(self).__name__}(its shape is not known: relevance() does not work yet)"
        fitted = "" if self.seen is None else ", fitted"
        return f"{type(self).__name__}({n_queries} queries of {n_docs} candidates{fitted})"
