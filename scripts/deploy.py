"""Deploy a saved policy into any environment: its value, and the curse of where it came from."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clickgym import agents, clickmodels, evaluation, policies
from clickgym.scripts._arguments import option, parse
from clickgym.scripts._runs import WorldOptions, environment, user_named
from clickgym.studies.setting import logging_of, user_of, world_of

ALGORITHMS = ("PPO", "A2C", "SAC", "TD3", "DDPG", "DQN", "MaskablePPO")


@dataclass(frozen=True)
class Deploy(WorldOptions):
    """Print a policy's value on a true user and, with a click model, the curse report."""

    policy: str = option("runs/train/policy.safetensors", "saved policy, or Stable-Baselines3 zip")
    env: str = option("clickgym/CoCM-mismatch-v0", "environment of the true user")
    click_model: str = option("", "saved model that the policy was made inside: adds the report")
    logging: str = option("epsilon-oracle", "ranker whose stochastic variant logged")
    slots: int = option(10, "documents a page, for a Stable-Baselines3 zip")
    samples: int = option(20_000, "rankings to draw of a stochastic policy")
    seed: int = option(0, "seed of what is drawn")
    trust: bool = option(False, "load a Stable-Baselines3 zip, which may run any code in it")
    algorithm: str = option("PPO", "what wrote the zip", choices=ALGORITHMS)
    plot: str = option("", "file for the report's picture")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command."""
    settings = parse(Deploy, "deploy", arguments)
    user = user_named(settings.env)
    where = settings.world_setting()
    world, true = world_of(where), user_of(user, where)
    if settings.plot and not settings.click_model:
        raise ValueError("--plot draws the report, which needs --click-model")
    policy = _policy(settings, world, true)
    try:
        policy.check_world(world)
    except ValueError as error:
        raise ValueError(f"{error}{_hint(settings)}") from error
    if not settings.click_model:
        value = evaluation.value(policy, true, world, settings.samples, settings.seed)
        unsure = f", standard error {value.stderr:.4f}" if value.stderr else ""
        print(f"{value.value:.4f} clicks a page on {user} ({value.method}{unsure})")
        return 0
    model = clickmodels.ClickModel.load(settings.click_model)
    logging = logging_of(settings.logging, where, policy.slots)
    report = evaluation.curse(
        policy, model, true, world, logging, settings.samples, settings.seed
    )
    print(report)
    if settings.plot:
        report.plot(settings.plot)
        print(f"picture: {settings.plot}")
    return 0


def _policy(settings: Deploy, world: Any, user: clickmodels.ClickModel) -> policies.Policy:
    path = Path(settings.policy)
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such file")
    if path.suffix != ".zip":
        return policies.Policy.load(path)
    if not settings.trust:
        raise ValueError(
            f"{path} is a Stable-Baselines3 zip: loading it can run any code in it; give --trust "
            "if you know where it comes from"
        )
    try:
        import sb3_contrib
        import stable_baselines3
    except ImportError as error:
        raise ImportError("a zip needs pip install 'clickgym[agents]'") from error
    algorithm = getattr(stable_baselines3, settings.algorithm, None)
    algorithm = algorithm or getattr(sb3_contrib, settings.algorithm)
    task = agents.Task.of(environment(world, user, settings.slots))
    try:
        return agents.deployed_policy(algorithm.load(path), task)
    except (AttributeError, TypeError, KeyError, RuntimeError) as error:
        raise ValueError(
            f"{path} does not load as {settings.algorithm} ({error}); give the --algorithm that "
            "wrote it"
        ) from error


def _hint(settings: Deploy) -> str:
    """Return the world options of the run that the policy lies in."""
    path = Path(settings.policy).with_name("settings.json")
    if not path.is_file():
        return "; give the world options that it was made with"
    run = json.loads(path.read_text())
    names = [name for name in ("world", "queries", "docs", "world_seed") if name in run]
    options = " ".join(f"--{name.replace('_', '-')} {run[name]}" for name in names if run[name])
    return f"; it was trained with {options}"


if __name__ == "__main__":
    raise SystemExit(main())
