"""Worlds, logs and policies named on the command line."""

from __future__ import annotations

from pathlib import Path

from clickgym import data, policies


def world_from(path: str, n_docs: int, n_queries: int, seed: int) -> data.World:
    """Return the LETOR file's world, or the synthetic one for an empty path; 0 docs = all."""
    docs = n_docs or None
    if path:
        return data.load_letor(path, n_docs=docs, max_queries=n_queries or None, seed=seed)
    return data.synthetic_world(n_queries=n_queries or 1000, n_docs=docs, seed=seed)


def policy_from(
    name: str, world: data.World, temperature: float, slots: int, seed: int
) -> policies.Policy:
    """Return ranker ``name``: stochastic at ``temperature`` (below 0: the paper's), 0 = not."""
    if temperature == 0:
        return policies.named_ranker(name, world, slots, seed)
    degree = temperature if temperature > 0 else None
    return policies.logging_policy(name, world, slots, seed, degree)


def real_logs(
    pyclick: str, sessions: list[str], labels: str
) -> tuple[data.World, list[data.ClickLog]]:
    """Return world and logs of a real log's files, a log a file."""
    if pyclick:
        world, log = data.read_pyclick(pyclick)
        return world, [log]
    named = {path: path for path in sessions}
    world, logs = data.read_sessions(named, labels=labels or None)
    return world, list(logs.values())


def saved_log(path: str, world: data.World) -> data.ClickLog:
    """Return a saved log after checking that it belongs to ``world``."""
    log = data.ClickLog.load(path)
    try:
        log.check_world(world)
    except ValueError as error:
        raise ValueError(
            f"{Path(path)}: {error}; give the world options that the log was collected with"
        ) from error
    return log
