"""Files of every kind that a commit saved, for the commits after it to load.

    python tests/saved_files.py tests/saved/COMMIT

writes the files of the present tree: models, policies, a click log, an agent's checkpoint, the
names of grid cells' files, and ``expected.npz`` with the arrays that they give. ``check`` loads a
folder and compares; ``test_saved_files.py`` does so for every folder of ``tests/saved``. Run it on
a tree whose formats change, before the change; a folder is never written again.
"""

from __future__ import annotations

import dataclasses
import importlib
import json
import pkgutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

import clickgym
from clickgym import agents, clickmodels, data, envs, policies
from clickgym.agents.training import TrainingRun

SLOTS = 3
SMALL = {"embedding": 4, "hidden": 4, "epochs": 1}  # of models that are trained by mini-batches
AGENT, PAGES = "CascadeKL-UCB", 100
Arrays = dict[str, np.ndarray]


def make(folder: Path) -> None:
    """Write a file of every kind, and what it gives, into ``folder``."""
    folder.mkdir(parents=True)
    expected = {"relevance": np.random.default_rng(0).integers(0, 5, (4, 5))}
    expected["features"] = np.random.default_rng(1).normal(size=(4, 5, 3)).astype(np.float32)
    world = make_world(expected)
    log = make_log(world)
    log.save(folder / "log.parquet")
    for name, model in make_models(log, world):
        model.save(folder / f"model-{name}.safetensors")
    for name, policy in make_policies(world):
        policy.save(folder / f"policy-{name}.safetensors")
    checkpoint = folder / "checkpoint.safetensors"
    TrainingRun(AGENT, make_env(world), PAGES, every=PAGES, checkpoint=checkpoint).finish()
    (folder / "cells.json").write_text(json.dumps(make_cells(), indent=1) + "\n")
    expected |= dict(read(folder, world))
    np.savez_compressed(folder / "expected.npz", **expected)


def check(folder: Path) -> int:
    """Load every file of ``folder``, compare what it gives; return how many arrays were equal."""
    with np.load(folder / "expected.npz") as arrays:
        expected = dict(arrays)
    compared = 0
    for name, got in read(folder, make_world(expected)):
        np.testing.assert_allclose(got, expected[name], 1e-9, 1e-12, err_msg=name)
        compared += 1
    assert compared == len(expected) - 2, "files or arrays are missing"
    for setting in json.loads((folder / "cells.json").read_text()):
        key = cell_key(make_cell(setting), setting["version"])
        assert key == setting["key"], f"a file of {setting['class']} would not be found"
    return compared


def read(folder: Path, world: data.World) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the name and value of every array that the files of ``folder`` give."""
    log = data.ClickLog.load(folder / "log.parquet")
    log.check_world(world)
    for name in ("query", "ranking", "clicks", "log_propensity", "weight"):
        yield f"log {name}", getattr(log, name)
    for path in sorted(folder.glob("model-*")):
        model = clickmodels.ClickModel.load(path)
        yield from ((f"{path.stem} {key}", value) for key, value in model_arrays(model, log))
    for path in sorted(folder.glob("policy-*")):
        policy = policies.Policy.load(path)
        query = np.arange(world.n_queries).repeat(4)
        ranking = policy.sample(query, np.random.default_rng(0))
        yield f"{path.stem} greedy", policy.greedy(query)
        yield f"{path.stem} sample", ranking
        if policy.has_log_prob:
            yield f"{path.stem} log_prob", policy.log_prob(query, ranking)
    yield from checkpoint_arrays(folder, world)


def model_arrays(model: clickmodels.ClickModel, log: data.ClickLog) -> Iterator[tuple[str, Any]]:
    """Yield what a click model gives for the pages of ``log``."""
    able, pages = model.capabilities, (log.query, log.ranking)
    if model.seen is not None:
        yield "seen", model.seen
    if "rank" in able:
        yield "relevance", model.relevance()
    if "conditional" in able:
        yield "conditional", model.conditional_click_probs(*pages, log.clicks)
    if "generative" in able:
        yield "log_likelihood", model.log_likelihood(*pages, log.clicks)
        yield "sample", model.sample(*pages, np.random.default_rng(0))


def checkpoint_arrays(folder: Path, world: data.World) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the pages of the checkpoint's agent, and its ranking after learning on from there."""
    path = folder / "checkpoint.safetensors"
    run = TrainingRun(AGENT, make_env(world), PAGES, every=PAGES, checkpoint=path)
    for moment in ("saved", "later"):
        yield f"agent {moment} pages", np.array(run.agent.pages)
        yield f"agent {moment} greedy", run.agent.policy().greedy(np.arange(world.n_queries))
        run.agent.learn(run.agent.pages + PAGES)


def make_world(arrays: Arrays) -> data.World:
    """Return the world that all files belong to."""
    return data.World(arrays["relevance"], arrays["features"], name="saved")


def make_env(world: data.World) -> Callable[[], gym.Env]:
    """Return a function that makes the environment of the agent's checkpoint."""
    return lambda: gym.make("clickgym/DBN-v0", world=world, slots=SLOTS)


def make_log(world: data.World) -> data.ClickLog:
    """Return a small log with propensities and weights."""
    user = clickmodels.true_user("DBN", world)
    log = envs.collect(world, user, policies.Uniform(world, SLOTS), 60, seed=0)
    weight = np.random.default_rng(2).integers(1, 4, len(log)).astype(float)
    return dataclasses.replace(log, weight=weight)


def make_models(
    log: data.ClickLog, world: data.World
) -> Iterator[tuple[str, clickmodels.ClickModel]]:
    """Yield a model of every registered name, two with embeddings, an ensemble and a true user."""
    for name in clickmodels.names():
        settings = SMALL if name == "NCM" else {}
        yield name, clickmodels.fit(name, log, world, **settings)
    for name in ("CACM-minus", "PBM", "UBM"):
        embedded = clickmodels.fit(name, log, world, parameters="embedding", **SMALL)
        yield f"{name}-embedding", embedded
    yield "Ensemble", clickmodels.fit("DBN", log, world, members=2)
    yield "CoCM", clickmodels.true_user("CoCM", world)


def make_policies(world: data.World) -> Iterator[tuple[str, policies.Policy]]:
    """Yield a policy of every class that can be saved."""
    rng = np.random.default_rng(3)
    shape = world.relevance.shape
    uniform = policies.Uniform(world, SLOTS)
    drawing = policies.PlackettLuce(rng.random(shape) + 0.1, 0.7, SLOTS)
    made = {
        "Uniform": uniform,
        "PlackettLuce": drawing,
        "Ranker": policies.Ranker(rng.normal(size=shape), SLOTS),
        "Mixture": find("policies", "Mixture")([uniform, drawing], [0.25, 0.75]),
        "ByQuery": find("policies", "ByQuery")([uniform, drawing], [0, 1, 1, 0]),
        "Product": find("policies", "Product")(rng.dirichlet(np.ones(shape[1]), (4, SLOTS))),
        "Remembering": find("policies", "Remembering")(drawing, samples=500),
        "SlotPolicy": find("agents", "SlotPolicy")(
            *(rng.normal(size=size) for size in ((*shape, 2), (*shape, 2), shape, (2, 5), (2,))),
            world.candidates, SLOTS,
        ),
    }  # fmt: skip
    lengths = rng.dirichlet(np.ones(SLOTS + 1), shape[0])
    made["ShortPages"] = find("policies", "ShortPages")(drawing, lengths)
    pages = ([0, 0, 2], [[0, 1, 2], [4, 1, -1], [3, 0, 2]], [5.0, 2.0, 1.0])
    counted = find("policies", "PageCounts")(made["ShortPages"], *pages, 1.5)
    made["PageCounts"] = counted
    made["EstimatedLogging"] = find("policies", "EstimatedLogging")(
        counted, "page counts", {"page counts": -2.5}, ["too short"]
    )
    places = rng.dirichlet(np.ones(SLOTS + 2), shape[0])
    made["Placed"] = policies.Placed(drawing, places, world.with_vertical([0, 1, -1, 0]))
    yield from made.items()


def make_cells() -> list[dict[str, Any]]:
    """Return settings of a cell of every class, with the name of its file."""
    world = {"class": "WorldSetting", "n_queries": 20, "n_docs": 6, "contents": "abc"}
    log = {
        "class": "LogCell", "user": "DBN", "logging": "LambdaMART", "seed": 1, "folder": "logs",
        "world": world, "impressions": 500,
    }  # fmt: skip
    fitted = {
        "class": "FitCell", "user": "DBN", "logging": "LambdaMART", "model": "PBM", "seed": 1,
        "folder": "fits", "world": world,
    }  # fmt: skip
    judged = {"class": "ProtocolCell", "model": "UBM", "log": log, "folder": "models"}
    space = {"class": "SlateSpace", "candidates": 10, "slots": 5, "world": world}
    cells: list[dict[str, Any]] = [
        log, fitted, judged,
        {"class": "CurseCell", "user": "DBN", "logging": "uniform", "model": "PBM", "seed": 0,
         "world": world, "documents": "all"},
        {"class": "CompareCell", "agent": "PPO", "fit": fitted, "settings": {"rate": 0.1}},
        {"class": "PromiseCell", "optimiser": "Max-Reward", "fit": fitted},
        {"class": "PolicyCell", "judged": judged},
        {"class": "UserCell", "user": "CoCM", "world": world},
        {"class": "OpeCell", "space": space, "seed": 2, "sizes": [600, 2000]},
        {"class": "BiasCell", "space": {**space, "logging": "tree", "alpha": 0.5}},
        {"class": "LearnCell", "learner": "pi-opt", "metric": "ndcg", "fold": 1, "world": world},
        {"class": "SessionCell", "seed": 3},
    ]  # fmt: skip
    rows = []
    for setting in cells:
        module = sys.modules[find("studies", setting["class"]).__module__]
        version = getattr(module, "VERSION", "1")
        key = cell_key(make_cell(setting), version)
        rows.append({**setting, "version": version, "key": key})
    return rows


def make_cell(setting: dict[str, Any]) -> Any:
    """Return the cell, or the part of one, with these settings."""
    fields = {}
    for name, value in setting.items():
        if isinstance(value, dict) and "class" in value:
            fields[name] = make_cell(value)
        elif name not in ("class", "version", "key"):
            fields[name] = tuple(value) if isinstance(value, list) else value
    return find("studies", setting["class"])(**fields)


def cell_key(cell: Any, version: str) -> str:
    """Return the name of a cell's file."""
    key: str = find("studies", "cell_key")(cell, version)
    return key


def find(package: str, name: str) -> Any:
    """Return what is called ``name`` in one of the modules below ``clickgym.package``."""
    root = importlib.import_module(f"clickgym.{package}")
    if hasattr(root, name):
        return getattr(root, name)
    for module in pkgutil.walk_packages(root.__path__, f"{root.__name__}."):
        found = getattr(importlib.import_module(module.name), name, None)
        if found is not None:
            return sys.modules[found.__module__].__dict__[name]
    raise LookupError(f"clickgym.{package} has no {name}")


if __name__ == "__main__":
    print(f"clickgym {clickgym.__version__} has agents {', '.join(agents.names())}")
    make(Path(sys.argv[1]))
    print(check(Path(sys.argv[1])), "arrays are as written")
