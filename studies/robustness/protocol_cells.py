"""Cells of the robustness protocol: a click model fitted to a log and judged, and its policies."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import NotRequired

from ... import evaluation, policies
from ...clickmodels import ClickModel, NotCapable
from ...data import World
from ..constants import GRADED_DEPTHS, ORACLE
from ..engine.artefacts import LOG_VERSION, LogCell, Logs, fit_parts, load_model, shared_logs
from ..engine.grid import Result, cell_key
from ..engine.keeping import read_kept, save_kept
from ..engine.plugins import import_modules
from ..engine.shapes import Unbounded, Undefined
from ..worlds import shown_in, world_of
from .released import max_reward, read_outside

MODEL_VERSION = f"log {LOG_VERSION}, fit 3"
VERSION = f"{MODEL_VERSION}, evaluation 1"


@dataclass(frozen=True)
class ProtocolCell:
    """One click model and the logs that it is fitted to and tested on; the seed is the log's.

    Parameters
    ----------
    model : a registered click model, or "oracle" for the user itself.
    parameters : {"table", "embedding"}, for models with that choice.
    folder : where the fitted model is kept.
    source : hash of the file of a model from outside the package.
    modules : imported first; they may register models of one's own.
    released : switches of the released code: see ``released``.
    training : how networks are built and trained; "" as in the released code.
    """

    model: str
    log: LogCell
    folder: str = field(metadata={"key": False})
    parameters: str = "table"
    source: str = ""
    modules: tuple[str, ...] = field(default=(), metadata={"key": False})
    released: tuple[str, ...] = field(default=(), metadata={"key": "given"})
    training: str = field(default="", metadata={"key": "given"})


JUDGEMENT = {
    "fit_seconds": float | None,
    "evaluation_seconds": float,
    "perplexity": NotRequired[Unbounded],
    **{f"perplexity_{name}": NotRequired[Unbounded] for name in policies.ranker_names()},
    **{f"ndcg_{depth}": NotRequired[Undefined] for depth in GRADED_DEPTHS},
}


def protocol_cell(cell: ProtocolCell) -> Result:
    """Fit the model and judge it; what its capabilities do not allow is left out.

    ``perplexity`` is that of the log's test part, ``perplexity_…`` of a test policy's log;
    ``ndcg_…`` over the documents that the training part showed; ``fit_seconds`` is None for a
    model that was fitted before.
    """
    import_modules(cell.modules)
    world, seed = world_of(cell.log.world), cell.log.seed
    logs = shared_logs(cell.log)
    model, fit_seconds = protocol_model(cell, logs)
    start = time.perf_counter()
    found = _predictions(model, _outside_model(cell, model), logs)
    found |= _grades(model, world.restricted_to(logs.train), seed)
    seconds = round(time.perf_counter() - start, 3)
    return {"fit_seconds": fit_seconds, **found, "evaluation_seconds": seconds}


def protocol_model(cell: ProtocolCell, logs: Logs) -> tuple[ClickModel, float | None]:
    """Return the model of a cell, from its file or fitted now, and the seconds of fitting.

    A model from outside the package that does not define ``state()`` has no file.
    """
    world = world_of(cell.log.world)
    if cell.model == ORACLE:
        return cell.log.true_user(), 0.0
    path = Path(cell.folder) / f"{cell_key(replace(cell, released=()), MODEL_VERSION)}.safetensors"
    kept = read_kept(path, partial(load_model, name=cell.model))
    if kept is not None:
        return kept, None
    start = time.perf_counter()
    model = fit_parts(
        cell.model, logs.train, logs.validation, world, cell.log.seed, cell.parameters,
        cell.training,
    )  # fmt: skip
    seconds = round(time.perf_counter() - start, 3)
    with suppress(NotCapable):
        save_kept(path, model.save)
    return model, seconds


def _outside_model(cell: ProtocolCell, model: ClickModel) -> ClickModel:
    """Return what predicts the pages of test policies; of the oracle, the user of the tests."""
    if cell.model == ORACLE:
        return cell.log.true_user(testing=True)
    return read_outside(model, cell.released, cell.log.slots)


def _predictions(model: ClickModel, outside: ClickModel, logs: Logs) -> dict[str, float]:
    if "conditional" not in model.capabilities:
        return {}
    found = {"perplexity": evaluation.perplexity(model, logs.test).mean}
    for name, log in logs.outside.items():
        found[f"perplexity_{name}"] = evaluation.perplexity(outside, log).mean
    return found


def _grades(model: ClickModel, shown: World, seed: int) -> dict[str, float]:
    if "rank" not in model.capabilities:
        return {}
    scores = model.relevance()
    return {
        f"ndcg_{depth}": evaluation.ndcg(scores, shown, depth, seed) for depth in GRADED_DEPTHS
    }


POLICY_VERSION = f"{MODEL_VERSION}, policies 1"
POLICY_FIELDS = ("top_down_promised", "top_down_deployed", "max_reward_promised",
                 "max_reward_deployed", "policy_seconds")  # fmt: skip


@dataclass(frozen=True)
class PolicyCell:
    """The Top-Down and Max-Reward policies of the model of ``judged``."""

    judged: ProtocolCell


POLICY_VALUES = {
    **dict.fromkeys(POLICY_FIELDS[:-1], float | None), POLICY_FIELDS[-1]: float,
}  # fmt: skip


def policy_cell(cell: PolicyCell) -> Result:
    """Make and deploy the policies that the model's capabilities allow.

    ``top_down_…`` and ``max_reward_…`` are clicks per page that the model promises and the user
    delivers for policies that show documents of the training part; None where the model has no
    such policy, or promises nothing.
    """
    judged = cell.judged
    import_modules(judged.modules)
    slots, seed = judged.log.slots, judged.log.seed
    world, user = world_of(judged.log.world), judged.log.true_user()
    logs = shared_logs(judged.log)
    model, _ = protocol_model(judged, logs)
    start = time.perf_counter()
    allowed = shown_in(logs.train, world)
    generative = "generative" in model.capabilities
    result: dict[str, float | None] = dict.fromkeys(POLICY_FIELDS[:-1])
    if "rank" in model.capabilities:
        relevance = policies.top_down(model, allowed, slots)
        if generative:
            result["top_down_promised"] = evaluation.value(relevance, model, world).value
        result["top_down_deployed"] = evaluation.value(relevance, user, world).value
    if generative:
        optimised = max_reward(model, allowed, slots, seed, judged.released)
        result["max_reward_promised"] = (
            evaluation.value(optimised, model, world).value
            if optimised.found is None
            else float(world.query_probs @ optimised.found.values)
        )
        result["max_reward_deployed"] = evaluation.value(optimised, user, world).value
    return {**result, "policy_seconds": round(time.perf_counter() - start, 3)}
