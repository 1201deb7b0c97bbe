"""What options name: worlds, users, environments, logs, and the folders of runs."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clickgym import clickmodels, data, envs, policies, studies
from clickgym.envs.registration import NAMESPACE
from clickgym.scripts._shared.command_options import ALL, flags, former_names, option

_ALL_SYNTHETIC = 1_000  # queries of the embedded world, if no number is given

USER = "CoCM-mismatch"  # the true user of commands that need one, unless told otherwise
SLOTS = 10  # documents per page, unless a log says otherwise
WORLD = "world.safetensors"  # the world of a log of one's own, beside what was made from it


@dataclass(frozen=True)
class WorldOptions:
    """The options that name a world; 0 queries or documents are all of them."""

    world: str | None = option(None)
    queries: int | None = option(100)
    docs: int = option(30)
    world_seed: int = option(0)

    def world_setting(self) -> studies.WorldSetting:
        """Return the world's setting; an error if there is no such file."""
        refuse_sizes(self.world, self)
        return studies.WorldSetting.from_file(
            self.world or "", self.queries or 0, self.docs, self.world_seed
        )


def refuse_sizes(path: str | None, options: Any) -> None:
    """Raise where options that draw from a world are given beside one that is taken whole."""
    if not path or not Path(path).is_file() or not data.World.is_saved(path):
        return
    for field in dataclasses.fields(options):
        drawn = field.name in ("queries", "docs", "world_seed")
        if drawn and getattr(options, field.name) != field.default:
            raise ValueError(
                f"--{field.name.replace('_', '-')} is for LETOR files and the embedded world, but "
                f"{path} is a saved world, which is taken whole"
            )


def chosen_user(name: str | None, world: data.World, own_log: bool) -> str | None:
    """Return the true user that an option names, by default ``USER`` where there can be one.

    A log of one's own has its own users, and in a world without grades nobody knows what is true.
    """
    if name is not None:
        world.require_grades(f"--user {name} needs")
        return name
    return USER if world.has_grades and not own_log else None


def environment(
    world: data.World, model: clickmodels.ClickModel, slots: int, learned: bool = True
) -> envs.RankingVectorEnv:
    """Return the environment of a learned model or a true user; without features it shows ids."""
    seen = "ids" if world.features is None else "features"
    source = {"click_model" if learned else "user": model}
    return envs.RankingVectorEnv(1, world=world, slots=slots, observation=seen, **source)


def real_logs(
    pyclick: str | None, sessions: list[str], labels: str | None
) -> tuple[data.World, list[data.ClickLog]]:
    """Return the world and the logs in files of a real log, one log per file."""
    if pyclick:
        world, log = data.read_pyclick(pyclick)
        return world, [log]
    world, logs = data.read_sessions({path: path for path in sessions}, labels=labels)
    return world, list(logs.values())


def require_files(settings: Any, names: Sequence[str]) -> None:
    """Raise an error that names the option if one of these options names a file that is not."""
    for name in names:
        value = getattr(settings, name)
        for path in value if isinstance(value, list) else [value] if value else []:
            if not Path(path).is_file():
                raise FileNotFoundError(f"--{name} {path}: no such file")


def require_same_world(
    found: clickmodels.ClickModel | policies.Policy, world: data.World, path: Path
) -> None:
    """Raise if what ``path`` holds is of another world, with the options of its run if known."""
    try:
        found.check_world(world)
    except ValueError as error:
        raise ValueError(f"{path}: {error}{_world_hint(path)}") from error


def _world_hint(path: Path) -> str:
    """Return the world options of the run that left a file."""
    saved = run_settings(path, WorldOptions)
    if saved.get("log"):
        return f"; it was made from {saved['log']}: give that --log, or --world with its world file"
    if not saved or saved.get("pyclick") or saved.get("sessions"):  # real logs have their own world
        return "; give the world options that it was made with"
    names = [field.name for field in dataclasses.fields(WorldOptions)]
    known = {name: saved[name] for name in names if saved.get(name) is not None}
    known.setdefault("queries", ALL if known.get("world") else _ALL_SYNTHETIC)
    run = WorldOptions(**{**known, "world": known.get("world") or None})
    return f"; it was made with {flags(run, names)}"


def run_settings(path: Path, settings: Any) -> dict[str, Any]:
    """Return what the run that left a file has saved of ``settings``; {} if it has not."""
    beside = path.with_name("settings.json")
    try:
        found = saved_settings(beside, settings) if beside.is_file() else {}
    except ValueError:
        return {}
    return found if {"queries", "docs"} <= found.keys() else {}


def saved_settings(path: Path, settings: Any) -> dict[str, Any]:
    """Return what a run has saved of ``settings``, under the names that they have now."""
    try:
        found = json.loads(path.read_text())
    except ValueError as error:
        raise ValueError(f"{path} is not a run's settings: {error}") from error
    if not isinstance(found, dict):
        raise ValueError(f"{path} is not a run's settings: it holds no names and values")
    if isinstance(found.get("env"), str):
        found["env"] = found["env"].removeprefix(f"{NAMESPACE}/").removesuffix("-v0")
    now: dict[Any, str] = {name: name for name in found} | former_names(settings)
    return {now[name]: value for name, value in found.items()}
