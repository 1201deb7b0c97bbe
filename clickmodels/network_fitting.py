"""Fitting one click model of a class: its tables to counts, or its network by mini-batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..common.typing import Floats
from ..data import ClickLog, World
from .base import ClickModel
from .registry import registered_class
from .uncertainty.exposure import count_shown

if TYPE_CHECKING:
    from .networks.embeddings import Embedding, Hidden
    from .networks.network import Network

Trained = dict[int, Any]  # networks by the seed of their training, on one log or its bootstraps


def has_own_fit(cls: type[ClickModel]) -> bool:
    """Return whether the class has a ``fit`` of its own."""
    return cls.fit.__func__ is not ClickModel.fit.__func__  # type: ignore[attr-defined]


def fit_tables(
    cls: type[ClickModel], log: ClickLog, world: World, seeds: Sequence[int], **settings: Any
) -> list[ClickModel]:
    """Return the models of the class's tables, one for each seed."""
    assert cls.table_fit is not None
    settings.pop("validation", None)  # full-batch fits have no use for it
    return cls.table_fit.fit(cls, log, world, seeds, **settings)


def fit_network(
    cls: type[ClickModel],
    log: ClickLog,
    world: World,
    seed: int,
    trained: Trained | None,
    validation: ClickLog | None = None,
    training: str = "released",
    covariate: Floats | None = None,
    **changes: Any,
) -> ClickModel:
    """Return the model of the class's network, trained by mini-batches.

    ``trained`` keeps networks for the fits of other priors, and has those that were trained for
    them; None keeps none. With a ``covariate`` (Q * N,) the table that goes with it says what the
    log hardly showed.
    """
    from .networks.network import seeded
    from .networks.schedule import TrainingSettings, train
    from .networks.support import Support

    network = None if trained is None else trained.get(seed)
    if network is None:
        settings = TrainingSettings.named(training, **changes)
        with seeded(seed):
            network = make_network(
                cls.name, world, log.slots, settings.embedding, settings.hidden
            )
        network.drop(settings.dropout, seed)
        train(network, log, seed, validation, settings)
        if trained is not None:
            trained[seed] = network
    if covariate is None:
        return network.frozen()
    table = informing_class(cls)
    assert table is not None
    fitted = fit_tables(table, log, world, [seed], covariate=covariate)[0]
    return network.informed(Support.of(fitted, count_shown(log, world)))


def informing_class(cls: type[ClickModel]) -> type[ClickModel] | None:
    """Return the class whose tables have the informed prior of ``cls``; None where there is none.

    It is the class itself, or what a network without tables names.
    """
    if has_own_fit(cls):
        return None
    if cls.informed_by is not None:
        return registered_class(cls.informed_by)
    return None if cls.table_fit is None else cls


def make_network(
    name: str, world: World, slots: int, embedding: Embedding, hidden: Hidden
) -> Network:
    """Return the untrained network that a model's class or its table fit declares."""
    cls = registered_class(name)
    load = cls.network if cls.table_fit is None else cls.table_fit.network
    if load is None:
        raise ValueError(f"{name} has no network for parameters='embedding'")
    network = load()(world, slots, embedding, hidden)
    if network.most_slots is not None and slots > network.most_slots:
        raise ValueError(
            f"{name} takes pages of up to {network.most_slots} slots, the log has {slots}"
        )
    network.model = cls
    return network
