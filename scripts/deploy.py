"""Deploy a saved policy on a true user: its value and, given its click model, the curse report."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from clickgym import agents, clickmodels, evaluation, policies
from clickgym.common.runtime import import_extra
from clickgym.scripts._inputs import (
    WorldOptions,
    environment,
    require_files,
    require_same_world,
    run_settings,
)
from clickgym.scripts._options import changes, option, parse
from clickgym.studies.worlds import logging_of, user_of, world_of


@dataclass(frozen=True)
class Deploy(WorldOptions):
    """Print a policy's value on a true user and, with a click model, the curse report.

    The world, user and logging policy are those of the run that made the policy, unless options
    say otherwise: clickgym train saves them as settings.json beside it.

    Example:
      clickgym deploy --policy runs/train/policy.safetensors --user DBN
    """

    policy: str = option(
        "runs/train/policy.safetensors", "saved policy, or Stable-Baselines3 zip", metavar="FILE"
    )
    user: str = option("CoCM-mismatch")
    model: str | None = option(
        None, "saved click model that the policy was made inside", metavar="FILE",
        open=True, known=tuple,
        absent="the value on the user alone, no report",
    )  # fmt: skip
    logging: str = option("epsilon-oracle")
    slots: int = option(10, "documents per page, for a Stable-Baselines3 zip")
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
    where = settings.world_setting()
    if settings.plot and not settings.model:
        raise ValueError("--plot draws the report, which needs --model")
    world, true = world_of(where), user_of(settings.user, where)
    policy = _policy(settings, world, true)
    require_same_world(policy, world, Path(settings.policy))
    if not settings.model:
        value = evaluation.value(policy, true, world, settings.samples, settings.seed)
        unsure = f", standard error {value.stderr:.4f}" if value.stderr else ""
        print(f"{value.value:.4f} clicks per page on {settings.user} ({value.method}{unsure})")
        return 0
    model = clickmodels.ClickModel.load(settings.model)
    require_same_world(model, world, Path(settings.model))
    logging = logging_of(settings.logging, where, policy.slots)
    report = evaluation.curse(
        policy, model, true, world, logging, settings.samples, settings.seed
    )
    print(report)
    if settings.plot:
        report.plot(settings.plot)
        print(f"picture: {settings.plot}")
    return 0


def _read_options(arguments: Sequence[str] | None) -> Deploy:
    """Return the options, from the run that made the policy where they are not given."""
    settings = parse(Deploy, "deploy", arguments)
    require_files(settings, ("policy", "model"))
    saved = run_settings(Path(settings.policy), Deploy)
    names = ("user", "logging", "slots", *(field.name for field in fields(WorldOptions)))
    run = {name: saved[name] for name in names if saved.get(name) not in (None, "")}
    settings = parse(Deploy, "deploy", arguments, run)
    free = tuple(field.name for field in fields(Deploy) if field.name not in run)
    if differing := changes(run, settings, free):
        print(f"other options than when the policy was made: {differing}", file=sys.stderr)
    return settings


def _policy(settings: Deploy, world: Any, user: clickmodels.ClickModel) -> policies.Policy:
    path = Path(settings.policy)
    if path.suffix != ".zip":
        return policies.Policy.load(path)
    if not settings.trust:
        raise ValueError(
            f"{path} is a Stable-Baselines3 zip: loading it can run any code in it; give --trust "
            "if you know where it comes from"
        )
    algorithm = _algorithm(settings.algorithm)
    task = agents.Task.of(environment(world, user, settings.slots))
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
