"""Click models fitted once a setting and kept as files."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .. import clickmodels, evaluation
from ..clickmodels.fitting import takes_parameters
from .grid import Result, cell_key
from .setting import WorldSetting, logs_of, world_of

VERSION = "1"


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
    options: dict[str, Any] = {"validation": validation}
    if takes_parameters(cell.model):
        options["parameters"] = cell.parameters
    model = clickmodels.fit(cell.model, train, world_of(cell.world), seed=cell.seed, **options)
    return model, evaluation.perplexity(model, test).mean


def import_modules(names: Sequence[str]) -> None:
    """Import modules, of the working directory too."""
    if names and "" not in sys.path:
        sys.path.insert(0, "")
    for name in names:
        importlib.import_module(name)


def fitted_model(cell: FitCell) -> clickmodels.ClickModel:
    """Return the model of a cell: from its file, or fitted now."""
    if not cell.path.exists():
        fit_cell(cell)
    return clickmodels.ClickModel.load(cell.path)
