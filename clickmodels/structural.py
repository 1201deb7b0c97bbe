"""What all fitted models with an attractiveness per (query, document) share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from ..data import ClickLog, World, checks
from .attractiveness import AttractivenessModel
from .base import ClickModel

if TYPE_CHECKING:
    from .networks import Network

PARAMETERS = ("table", "embedding")


class StructuralModel(AttractivenessModel):
    """A model that is fitted with its attractiveness as a table or from embeddings.

    ``parameters="table"``: a logit for every query-document pair, with a Beta prior whose strength
    is learned from the log (full-batch, deterministic, no settings). ``"embedding"``: the
    robustness paper's embeddings of query and document into a network, by mini-batches
    (``TrainingSettings`` lists what can be set).
    """

    deterministic: ClassVar[frozenset[str]] = frozenset({"table"})

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
            if settings:
                names = ", ".join(sorted(settings))
                raise TypeError(f"{cls.name} with parameters='table' has no settings, not {names}")
            return cls._fit_table(log, world, seed)
        from .training import TrainingSettings, seeded, train

        training = TrainingSettings(**settings)
        with seeded(seed):
            network = cls._network(world, log.slots, training.embedding, training.hidden)
        train(network, log, seed, validation, training)
        return network.frozen()

    @classmethod
    def _fit_table(cls, log: ClickLog, world: World, seed: int) -> ClickModel:
        """Return the model with a table of attractiveness."""
        raise NotImplementedError

    @classmethod
    def _network(cls, world: World, slots: int, embedding: int, hidden: int) -> Network:
        """Return the untrained network whose ``frozen()`` is a model of this class."""
        raise NotImplementedError
