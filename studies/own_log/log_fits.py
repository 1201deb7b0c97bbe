"""Click models fitted to a log of one's own, each saved as soon as it is ready."""

from __future__ import annotations

import filecmp
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from ... import evaluation
from ...clickmodels import ClickModel
from ...clickmodels.fitting import parameters_of, takes_prior
from ...clickmodels.uncertainty.exposure import PLAIN
from ...policies import Policy
from ..engine.artefacts import fit_parts, informed_prior, load_model
from ..engine.grid import Result, cell_key
from ..engine.keeping import keep_file, make_folder, read_kept, save_kept
from ..engine.plugins import import_modules
from ..engine.shapes import Unbounded, Undefined
from ..robustness.judging import judge, judge_grades
from .kept_logs import KeptLogs, kept_logs

VERSION = "2"
MODELS = "models"


@dataclass(frozen=True)
class LogFitCell:
    """A click model, fitted to a part of a log and judged on another part.

    Other cells that need the model have this one in them.

    Parameters
    ----------
    logs : the world and the log's parts.
    train, validation, test : names of parts; "" where there is none.
    seed : of a fit that is random.
    ties : seeds that break ties in metrics of grades; the first is that of the fit.
    source : of a model of one's own, so that it is fitted again when its file changes.
    modules : imported first; they may register models of one's own.
    prior : of the fit, "" for the plain one.
    logging, logging_contents : file of the policy that made the log, for the prior "score", and a
        hash of what it holds.
    """

    model: str
    seed: int
    logs: KeptLogs
    parameters: str = "table"
    train: str = "train"
    validation: str = ""
    test: str = "test"
    ties: tuple[int, ...] = field(default=(0,))
    source: str = field(default="", metadata={"key": "given"})
    modules: tuple[str, ...] = field(default=(), metadata={"key": False})
    prior: str = field(default="", metadata={"key": "given"})
    logging: str = field(default="", metadata={"key": False})
    logging_contents: str = field(default="", metadata={"key": "given"})

    @property
    def path(self) -> Path:
        """Where the fitted model is kept."""
        return Path(self.logs.folder) / MODELS / f"{cell_key(self, VERSION)}.safetensors"


def prior_for(name: str, prior: str, parameters: str = "table") -> str:
    """Return the prior that a cell names: "" for the plain one, and for models that have no other.

    Which models have others is asked of their classes.
    """
    informed = prior != PLAIN and takes_prior(name, parameters_of(name, parameters))
    return prior if informed else ""


def say_priors(priors: Mapping[str, str]) -> str:
    """Return with which prior models were fitted, ``priors`` by model as cells have them."""
    groups: dict[str, list[str]] = {}
    for name, prior in priors.items():
        groups.setdefault(prior or PLAIN, []).append(name)
    said = ", ".join(f"{prior} ({', '.join(names)})" for prior, names in groups.items())
    return f"Prior of what was not clicked yet: {said}."


def fitted_to_log(cell: LogFitCell) -> ClickModel:
    """Return the model of a cell: from its file, or fitted now and saved."""
    import_modules(cell.modules)
    world, logs = kept_logs(cell.logs)

    def fit() -> ClickModel:
        validation = logs.get(cell.validation)
        logging = Policy.load(cell.logging) if cell.logging else None
        return fit_parts(
            cell.model, logs[cell.train], validation, world, cell.seed, cell.parameters,
            **informed_prior(cell.prior, logging),
        )  # fmt: skip

    return keep_file(cell.path, fit, ClickModel.save, partial(load_model, name=cell.model))


def publish_model(cell: LogFitCell) -> Path:
    """Give a model the name that people look for, such as ``PBM.safetensors``; return its path."""
    fitted_to_log(cell)
    path = Path(cell.logs.folder) / f"{cell.model}.safetensors"
    publish_file(cell.path, path, ClickModel.load)
    return path


def publish_file(kept: Path, path: Path, load: Callable[[Path], Any]) -> None:
    """Copy a file that is kept under the hash of its cell to where people look for it."""
    found = read_kept(path, load)  # which sets aside what is not whole
    if found is None or not filecmp.cmp(kept, path, shallow=False):
        make_folder(path.parent)
        save_kept(path, partial(shutil.copyfile, kept))


RESULT: dict[str, Any] = {
    "metrics": [dict[str, Unbounded]],
    "per_rank": [Undefined],
    "interval": dict[str, Unbounded],
}


def log_fit_cell(cell: LogFitCell) -> Result:
    """Fit, save and judge a model.

    Return ``metrics`` (one dict for each of ``ties``; only the first has those of clicks), the
    perplexity ``per_rank``, and its ``interval`` over resampled pages; both are empty for models
    that only rank.
    """
    model = fitted_to_log(cell)
    if not cell.seed:
        publish_model(cell)
    world, logs = kept_logs(cell.logs)
    test = logs[cell.test]
    first = judge(model, test, world, cell.ties[0])
    others = [judge_grades(model, world, seed) for seed in cell.ties[1:]]
    result: Result = {"metrics": [first, *others], "per_rank": [], "interval": {}}
    if "conditional" in model.capabilities:
        found = evaluation.perplexity_interval(model, test)
        result["per_rank"] = evaluation.perplexity(model, test).per_rank.tolist()
        result["interval"] = {
            "mean": found.mean, "low": found.low, "high": found.high, "n": found.n
        }  # fmt: skip
    return result
