"""Deploy a saved policy: its value on a true user, the curse report, the rankings to show."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from clickgym import agents, clickmodels, data, evaluation, policies, studies
from clickgym.common.runtime import import_extra, say
from clickgym.scripts._shared.command_inputs import (
    SLOTS,
    USER,
    WORLD,
    WorldOptions,
    chosen_user,
    environment,
    require_files,
    require_same_world,
    run_settings,
)
from clickgym.scripts._shared.command_options import changes, option, parse
from clickgym.scripts._shared.log_options import LogOptions, read_own_log
from clickgym.studies.worlds import logging_of, user_of, world_of

NO_USER = "there is no true user to deploy on: nobody knows how the log's own users would click"


@dataclass(frozen=True)
class Deploy(LogOptions):
    """Print a policy's value on a true user and, with a click model, the curse report.

    The world, user and logging policy are those of the run that made the policy, unless options
    say otherwise: clickgym train saves them as settings.json beside it, and the world of a log of
    one's own as world.safetensors. A world without grades has no true user: there it is the
    rankings that get deployed.

    Example:
      clickgym deploy --policy runs/train/policy.safetensors --user DBN
      clickgym deploy --policy runs/own/policy.safetensors --rankings rankings.csv
    """

    policy: str = option(
        "runs/train/policy.safetensors", "saved policy, or Stable-Baselines3 zip"
    )
    user: str | None = option(
        None, absent=f"{USER}; none for a log of one's own or a world without grades"
    )
    rankings: str | None = option(
        None, "file for what the policy shows, in the ids of the world: CSV, or .parquet",
        metavar="FILE", absent="none is written",
    )  # fmt: skip
    model: str | None = option(
        None, "saved click model that the policy was made inside", metavar="FILE",
        open=True, known=tuple,
        absent="the value on the user alone, no report",
    )  # fmt: skip
    logging: str = option("epsilon-oracle")
    slots: int | None = option(
        None, "documents per page, for a Stable-Baselines3 zip",
        absent=f"those of the log, else {SLOTS}",
    )  # fmt: skip
    samples: int = option(
        20_000, "rankings to draw from a stochastic policy", least=1, metavar="N"
    )
    seed: int = option(0, "seed of the rankings that are drawn")
    trust: bool = option(False, "load a Stable-Baselines3 zip, which may run any code in it")
    algorithm: str = option(
        "PPO", "algorithm of Stable-Baselines3 or sb3-contrib that wrote the zip", metavar="NAME"
    )
    plot: str | None = option(
        None, "file for the report's picture", metavar="FILE", absent="no picture"
    )
    module: list[str] | None = option(None)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command."""
    settings = _read_options(arguments)
    if settings.plot and not settings.model:
        raise ValueError("--plot draws the report, which needs --model")
    if settings.log:
        world, log, _ = read_own_log(settings)
        where, slots = studies.WorldSetting.from_world(world), log.slots
    else:
        where, slots = settings.world_setting(), SLOTS
        world = world_of(where)
    slots = settings.slots or slots
    user = chosen_user(settings.user, world, bool(settings.log))
    if user is None and not settings.model and not settings.rankings:
        raise ValueError(
            f"{NO_USER}: give --rankings for a file of what to show, or --model for what a click "
            "model promises"
        )
    if user is None and settings.plot:
        raise ValueError(f"--plot draws the report on a true user; {NO_USER}")
    require_files(settings, ("policy", "model"))
    policy = _policy(settings, world, slots)
    require_same_world(policy, world, Path(settings.policy))
    model = clickmodels.ClickModel.load(settings.model) if settings.model else None
    if model is not None:
        require_same_world(model, world, Path(settings.model or ""))
    if settings.rankings:
        policy.deployed_rankings(world).save(settings.rankings)
    if user is None:
        say(f"{NO_USER}.")
        if model is not None:
            _tell_value(settings, policy, model, world, f"promised by {model.name}")
    elif model is None:
        true = user_of(user, where, max(SLOTS, policy.slots))
        _tell_value(settings, policy, true, world, f"on {user}")
    else:
        report = evaluation.curse(
            policy, model, user_of(user, where, max(SLOTS, policy.slots)), world,
            logging_of(settings.logging, where, policy.slots), settings.samples, settings.seed,
        )  # fmt: skip
        if settings.plot:
            report.plot(settings.plot)
        say(report)
        if settings.plot:
            say(f"picture: {settings.plot}")
    if settings.rankings:
        say(f"rankings: {settings.rankings}")
    return 0


def _tell_value(
    settings: Deploy, policy: policies.Policy, user: clickmodels.ClickModel, world: data.World,
    whose: str,
) -> None:  # fmt: skip
    value = evaluation.value(policy, user, world, settings.samples, settings.seed)
    unsure = f", standard error {value.stderr:.4f}" if value.stderr else ""
    say(f"{value.value:.4f} clicks per page {whose} ({value.method}{unsure})")


def _read_options(arguments: Sequence[str] | None) -> Deploy:
    """Return the options, from the run that made the policy where they are not given."""
    settings = parse(Deploy, "deploy", arguments)
    saved = run_settings(Path(settings.policy), Deploy)
    own = bool(settings.log or settings.world or saved.get("log"))  # a world named or saved
    world_options = () if own else tuple(field.name for field in fields(WorldOptions))
    users = ("user", "logging") if saved.get("user") else ()  # a log of one's own has no ranker
    names = (*users, "slots", *world_options)
    run = {name: saved[name] for name in names if saved.get(name) not in (None, "")}
    beside = Path(settings.policy).with_name(WORLD)
    if saved.get("log") and not settings.log and not settings.world and beside.is_file():
        run["world"] = str(beside)
    settings = parse(Deploy, "deploy", arguments, run)
    free = tuple(field.name for field in fields(Deploy) if field.name not in run)
    if differing := changes(run, settings, free):
        print(f"other options than when the policy was made: {differing}", file=sys.stderr)
    return settings


def _policy(settings: Deploy, world: data.World, slots: int) -> policies.Policy:
    path = Path(settings.policy)
    if path.suffix != ".zip":
        return policies.Policy.load(path)
    if not settings.trust:
        raise ValueError(
            f"{path} is a Stable-Baselines3 zip: loading it can run any code in it; give --trust "
            "if you know where it comes from"
        )
    algorithm = _algorithm(settings.algorithm)
    any_model = clickmodels.PBM(np.full(world.relevance.shape, 0.5), np.ones(slots))
    task = agents.Task.of(environment(world, any_model, slots))
    try:
        return agents.deployed_policy(algorithm.load(path), task)
    except (AttributeError, TypeError, KeyError, RuntimeError) as error:
        raise ValueError(
            f"{path} does not load as {settings.algorithm} ({error}); give the --algorithm that "
            "wrote it"
        ) from error


def _algorithm(name: str) -> Any:
    """Return the algorithm of Stable-Baselines3 or sb3-contrib with this name."""
    modules = [
        import_extra(module, "agents", "a zip needs")
        for module in ("stable_baselines3", "sb3_contrib")
    ]
    found = {key: kind for module in modules for key, kind in vars(module).items()}
    known = [key for key, kind in found.items() if hasattr(kind, "load") and hasattr(kind, "learn")]
    if name not in known:
        raise ValueError(f"--algorithm must be one of {', '.join(known)}, not {name!r}")
    return found[name]


if __name__ == "__main__":
    raise SystemExit(main())
