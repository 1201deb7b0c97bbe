"""What all fitted models with an attractiveness per (query, document) share."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from ...common import checks
from ...common.runtime import cores
from ...data import ClickLog, World
from ..base import ClickModel
from ..reading.attractiveness import AttractivenessModel
from .prior import BetaPrior

if TYPE_CHECKING:
    from ..networks.network import Network

PARAMETERS = ("table", "embedding")

Floats = NDArray[np.float64]


class StructuralModel(AttractivenessModel):
    """A model that is fitted with its attractiveness as a table or from embeddings.

    ``parameters="table"``: a logit for every query-document pair, with a Beta prior whose strength
    is learned from the log (full-batch, deterministic; the settings are ``table_settings``).
    ``"embedding"``: the robustness paper's embeddings of query and document into a network, by
    mini-batches (``TrainingSettings`` lists what can be set).

    A table is fitted in three steps: ``_fold`` finds the places of a log's rows in its sufficient
    statistics, which are then counted; ``_search`` finds the most likely parameters, ``_made``
    makes the model. Bootstraps of one log share the first, are counted together, and begin the
    second at the log's own fit.
    """

    deterministic: ClassVar[frozenset[str]] = frozenset({"table"})
    table_settings: ClassVar[frozenset[str]] = frozenset()

    @classmethod
    def fit(
        cls,
        log: ClickLog,
        world: World,
        seed: int = 0,
        validation: ClickLog | None = None,
        parameters: str = "table",
        **settings: Any,
    ) -> ClickModel:
        """Return the model fitted to ``log``."""
        if checks.choice(parameters, PARAMETERS, "parameters") == "table":
            return cls._fit_tables(log, world, None, [seed], **settings)[0]
        from ..networks.schedule import TrainingSettings, seeded, train

        training = TrainingSettings(**settings)
        with seeded(seed):
            network = cls._network(world, log.slots, training.embedding, training.hidden)
        train(network, log, seed, validation, training)
        return network.frozen()

    @classmethod
    def fit_members(
        cls,
        log: ClickLog,
        world: World,
        weights: Floats,
        seeds: Sequence[int],
        parameters: str = "table",
        **settings: Any,
    ) -> list[ClickModel]:
        """Return a model for each of M ``weights`` (n, M) of the log's rows."""
        if parameters != "table":
            return super().fit_members(
                log, world, weights, seeds, parameters=parameters, **settings
            )
        settings.pop("validation", None)  # full-batch fits have no use for it
        return cls._fit_tables(log, world, weights, seeds, **settings)

    @classmethod
    def _fit_tables(
        cls,
        log: ClickLog,
        world: World,
        weights: Floats | None,
        seeds: Sequence[int],
        **settings: Any,
    ) -> list[ClickModel]:
        """Return a model with a table of attractiveness for each of M ``weights`` (n, M).

        None are the log's own weights.
        """
        unknown = set(settings) - cls.table_settings
        if unknown:
            has = ", ".join(sorted(cls.table_settings)) or "no settings"
            raise TypeError(
                f"{cls.name} with parameters='table' has {has}, not {', '.join(sorted(unknown))}"
            )
        fold, start = cls._fold(log, world), None

        def member(counts: Any, seed: int) -> ClickModel:
            model = cls._made(fold, cls._search(fold, counts, seed, start, **settings), world)
            model.seen = cls._seen(fold, counts, world)
            return model

        if weights is None:
            return [member(fold.whole, seeds[0])]
        if "table" in cls.deterministic:
            start = cls._search(fold, fold.whole, seeds[0], None, **settings)
        # Threads, because nearly all of a search is inside NumPy; but torch's seed is everyone's.
        threads = cores() if "table" in cls.deterministic else 1
        with ThreadPoolExecutor(min(len(seeds), threads)) as pool:
            return list(pool.map(member, fold.counts(weights), seeds))

    @classmethod
    def _fold(cls, log: ClickLog, world: World) -> Any:
        """Return the places of the log's rows in the sufficient statistics."""
        raise NotImplementedError(f"{cls.__name__} does not define _fold()")

    @classmethod
    def _search(cls, fold: Any, counts: Any, seed: int, start: Any, **settings: Any) -> Any:
        """Return the most likely parameters, given the counts, beginning at ``start``."""
        raise NotImplementedError(f"{cls.__name__} does not define _search()")

    @classmethod
    def _seen(cls, fold: Any, counts: Any, world: World) -> NDArray[np.bool_] | None:
        """Return the documents that have a count, (Q, N); None where counts leave some out."""
        seen = np.zeros(world.n_queries * world.n_docs, dtype=bool)
        seen[fold.pairs] = counts.shown(len(fold.pairs))
        return seen.reshape(world.n_queries, world.n_docs)

    @classmethod
    def _made(cls, fold: Any, fitted: Any, world: World) -> ClickModel:
        """Return the model of the parameters that ``_search`` found."""
        raise NotImplementedError(f"{cls.__name__} does not define _made()")

    @classmethod
    def _network(cls, world: World, slots: int, embedding: int, hidden: int) -> Network:
        """Return the untrained network whose ``frozen()`` is a model of this class."""
        raise NotImplementedError


def pair_table(pairs: NDArray[np.int64], logits: Floats, prior: BetaPrior, world: World) -> Floats:
    """Return probabilities (Q, N): those of the ``pairs`` (P,), the prior's mean elsewhere."""
    table = np.full(world.n_queries * world.n_docs, prior.mean)
    table[pairs] = expit(logits)
    return table.reshape(world.n_queries, world.n_docs)
