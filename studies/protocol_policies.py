"""What the policies of a protocol cell's click model are worth: a cell of its own, made later."""

from __future__ import annotations

import time
from dataclasses import dataclass

from .. import evaluation, policies
from .grid import Result
from .modules import import_modules
from .protocol import MODEL_VERSION, ProtocolCell, protocol_model
from .setting import shown_in, user_of, world_of
from .shared_logs import shared_logs

VERSION = f"{MODEL_VERSION}, policies 1"
POLICY_FIELDS = ("top_down_promised", "top_down_deployed", "max_reward_promised",
                 "max_reward_deployed", "policy_seconds")  # fmt: skip


@dataclass(frozen=True)
class PolicyCell:
    """The Top-Down and Max-Reward policies of the model of ``judged``."""

    judged: ProtocolCell


def policy_cell(cell: PolicyCell) -> Result:
    """Make and deploy the policies that the model's capabilities allow.

    ``top_down_…`` and ``max_reward_…`` are clicks a page that the model promises and the user
    delivers for policies that show documents of the training part.
    """
    judged = cell.judged
    import_modules(judged.modules)
    world, user = world_of(judged.log.world), user_of(judged.log.user, judged.log.world)
    slots, seed = judged.log.slots, judged.log.seed
    logs = shared_logs(judged.log)
    model, _ = protocol_model(judged, logs)
    start = time.perf_counter()
    allowed = shown_in(logs.train, world)
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
    return {**result, "policy_seconds": round(time.perf_counter() - start, 3)}
