"""A cell of the robustness protocol: a click model fitted to a log and judged in every way."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from .. import evaluation, policies
from ..clickmodels import ClickModel
from ..data import World
from .fitted import fit_parts
from .grid import Result
from .modules import import_modules
from .setting import shown_in, user_of, world_of
from .shared_logs import VERSION as LOG_VERSION
from .shared_logs import LogCell, Logs, shared_logs

FIT_VERSION, EVALUATION_VERSION = "1", "1"
VERSION = f"log {LOG_VERSION}, fit {FIT_VERSION}, evaluation {EVALUATION_VERSION}"
ORACLE = "oracle"  # instead of a click model: the user itself, the bound of all of them
NDCG_DEPTHS = (1, 3, 5, 10)


@dataclass(frozen=True)
class ProtocolCell:
    """One click model and the logs that it is fitted to and tested on; the seed is the log's.

    Parameters
    ----------
    model : a registered click model, or "oracle" for the user itself.
    parameters : {"table", "embedding"}, for models with that choice.
    optimise : whether the model's Top-Down and Max-Reward policies are made and deployed.
    source : hash of the file of a model from outside the package.
    modules : imported first; they may register models of one's own.
    """

    model: str
    log: LogCell
    parameters: str = "table"
    optimise: bool = True
    source: str = ""
    modules: tuple[str, ...] = field(default=(), metadata={"key": False})


def protocol_cell(cell: ProtocolCell) -> Result:
    """Fit the model and judge it; what its capabilities do not allow is left out.

    ``perplexity`` is that of the log's test part, ``perplexity_…`` of a test policy's log;
    ``ndcg_…`` over the documents that the training part showed; ``top_down_…`` and
    ``max_reward_…`` are clicks a page that the model promises and the user delivers for policies
    that show those documents.
    """
    import_modules(cell.modules)
    world, seed = world_of(cell.log.world), cell.log.seed
    logs = shared_logs(cell.log)
    start = time.perf_counter()
    if cell.model == ORACLE:
        model = user_of(cell.log.user, cell.log.world)
    else:
        model = fit_parts(
            cell.model, logs.train, logs.validation, world, seed, cell.parameters
        )
    fitted = time.perf_counter()
    result = {"fit_seconds": round(fitted - start, 3)}
    result |= _predictions(model, logs) | _grades(model, world.restricted_to(logs.train), seed)
    if cell.optimise:
        result |= _values(cell, model, shown_in(logs.train, world), world)
    return {**result, "evaluation_seconds": round(time.perf_counter() - fitted, 3)}


def _predictions(model: ClickModel, logs: Logs) -> dict[str, float]:
    if "conditional" not in model.capabilities:
        return {}
    others = {f"perplexity_{name}": log for name, log in logs.outside.items()}
    return {
        name: evaluation.perplexity(model, log).mean
        for name, log in {"perplexity": logs.test, **others}.items()
    }


def _grades(model: ClickModel, shown: World, seed: int) -> dict[str, float]:
    if "rank" not in model.capabilities:
        return {}
    scores = model.relevance()
    return {
        f"ndcg_{depth}": evaluation.ndcg(scores, shown, depth, seed) for depth in NDCG_DEPTHS
    }


def _values(
    cell: ProtocolCell, model: ClickModel, allowed: World, world: World
) -> dict[str, float]:
    """Return what the model's policies are worth inside it and on the user."""
    slots, seed = cell.log.slots, cell.log.seed
    user = user_of(cell.log.user, cell.log.world)
    generative = "generative" in model.capabilities
    result = {}
    if "rank" in model.capabilities:
        relevance = policies.top_down(model, allowed, slots)
        if generative:
            result["top_down_promised"] = evaluation.value(relevance, model, world).value
        result["top_down_deployed"] = evaluation.value(relevance, user, world).value
    if generative:
        optimised = policies.max_reward(model, allowed, slots, seed=seed)
        assert optimised.found is not None
        result["max_reward_promised"] = float(world.query_probs @ optimised.found.values)
        result["max_reward_deployed"] = evaluation.value(optimised, user, world).value
    return result
