"""Checkpoints of agents: data, not pickles."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from ..clickmodels import ClickModel, NotCapable
from ..common.storage import load_arrays, save_arrays
from .base import Agent
from .task import Task
from .watch import Measurement

_KIND = "agent"


def save_checkpoint(
    agent: Agent, path: str | os.PathLike[str], history: Sequence[Measurement] = ()
) -> None:
    """Write all that an agent's learning goes on from, and what was measured, atomically."""
    arrays: dict[str, np.ndarray] = {}
    header = {
        **_setup(agent),
        "pages": agent.pages,
        "fingerprint": agent.task.world.fingerprint,
        "history": [asdict(point) for point in history],
        "state": _without_arrays(agent.state(), arrays),
    }
    save_arrays(path, _KIND, header, arrays)


def load_checkpoint(agent: Agent, path: str | os.PathLike[str]) -> list[Measurement]:
    """Give ``agent`` what ``save_checkpoint`` wrote, and return what was measured.

    A checkpoint of another agent, seed, settings, page, click model or world is an error.
    """
    header, arrays = load_arrays(path, _KIND)
    for name, own in _setup(agent).items():
        if header[name] != own:
            raise ValueError(f"{path}: is a checkpoint with {name} {header[name]}, not {own}")
    agent.task.world.check_fingerprint(header["fingerprint"], f"{path}")
    agent.restore(_with_arrays(header["state"], arrays))
    agent.pages = int(header["pages"])
    return [Measurement(**point) for point in header["history"]]


def _setup(agent: Agent) -> dict[str, Any]:
    """Return what must be the same for learning to go on."""
    return {
        "name": agent.name,
        "seed": agent.seed,
        "settings": asdict(agent.settings),
        "slots": agent.task.slots,
        "reward": _reward(agent.task),
        "click model": _digest(agent.task.model),
    }


def _reward(task: Task) -> str:
    return task.reward if task.pessimism is None else f"{task.reward} {task.pessimism}"


def _digest(model: ClickModel) -> str:
    """Return a short hash of a model's name and parameters."""
    try:
        state = model.state()
    except NotCapable:  # one's own, without a state: its name is all there is
        state = {}
    digest = hashlib.sha256(model.name.encode())
    for name in sorted(state):
        value = state[name]
        digest.update(name.encode())
        is_array = isinstance(value, np.ndarray)
        digest.update(value.tobytes() if is_array else repr(value).encode())
    return digest.hexdigest()[:16]


def _without_arrays(value: Any, arrays: dict[str, np.ndarray]) -> Any:
    """Return JSON values, with the arrays in ``value`` moved to ``arrays``."""
    if isinstance(value, np.ndarray):
        key = f"array{len(arrays)}"
        arrays[key] = value
        return {"__array__": key}
    if isinstance(value, dict):
        return {
            "__items__": [[key, _without_arrays(item, arrays)] for key, item in value.items()]
        }  # JSON would turn number keys into strings
    if isinstance(value, (list, tuple)):
        return [_without_arrays(item, arrays) for item in value]
    return value


def _with_arrays(value: Any, arrays: dict[str, np.ndarray]) -> Any:
    if isinstance(value, dict):
        if "__array__" in value:
            return arrays[value["__array__"]]
        return {key: _with_arrays(item, arrays) for key, item in value["__items__"]}
    if isinstance(value, list):
        return [_with_arrays(item, arrays) for item in value]
    return value
