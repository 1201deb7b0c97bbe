"""Click models fitted once a setting and kept as files."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .. import clickmodels, data, evaluation
from ..clickmodels.fitting import takes_parameters
from .grid import Result, cell_key
from .modules import import_modules
from .setting import WorldSetting, logs_of, world_of

VERSION = "3"


@dataclass(frozen=True)
class FitCell:
    """A click model and the log that it is fitted to; it is written to ``folder``.

    ``modules`` are imported first: they may register models and agents of one's own.
    """

    user: str
    logging: str
    model: str
    seed: int
    folder: str = field(metadata={"key": False})
    world: WorldSetting = field(default_factory=WorldSetting)
    impressions: int = 100_000
    slots: int = 10
    parameters: str = "table"
    modules: tuple[str, ...] = field(default=(), metadata={"key": False})

    @property
    def path(self) -> Path:
        """Where the fitted model is."""
        return Path(self.folder) / f"{cell_key(self, VERSION)}.safetensors"


def fit_cell(cell: FitCell) -> Result:
    """Fit the model and save it; return its perplexity on the log's test part."""
    model, perplexity = fit_model(cell)
    model.save(cell.path)
    return {"perplexity": perplexity}


def fit_model(cell: FitCell) -> tuple[clickmodels.ClickModel, float]:
    """Return the fitted model and its perplexity on the log's test part."""
    import_modules(cell.modules)
    setting = (cell.user, cell.logging, cell.world, cell.slots, cell.impressions, cell.seed)
    train, validation, test = logs_of(*setting)
    world = world_of(cell.world)
    model = fit_parts(cell.model, train, validation, world, cell.seed, cell.parameters)
    return model, evaluation.perplexity(model, test).mean


def fit_parts(
    name: str,
    train: data.ClickLog,
    validation: data.ClickLog | None,
    world: data.World,
    seed: int,
    parameters: str,
) -> clickmodels.ClickModel:
    """Return a model fitted to a log's parts; ``parameters`` are for models with that choice."""
    options: dict[str, Any] = {"parameters": parameters} if takes_parameters(name) else {}
    return clickmodels.fit(name, train, world, seed=seed, validation=validation, **options)


def fitted_model(cell: FitCell) -> clickmodels.ClickModel:
    """Return the model of a cell: from its file, or fitted now."""
    if not cell.path.exists():
        fit_cell(cell)
    return clickmodels.ClickModel.load(cell.path)
