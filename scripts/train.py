"""Train an agent inside a learned click model, or on the true user, with TensorBoard curves."""

from __future__ import annotations

import dataclasses
import json
import shlex
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from clickgym import agents, clickmodels, studies
from clickgym.common.storage import write_text
from clickgym.evaluation.reporting.figures import save_figure
from clickgym.scripts._inputs import (
    WorldOptions,
    environment,
    require_same_world,
    saved_settings,
)
from clickgym.scripts._options import changes, flags, option, parse, require_known
from clickgym.studies.engine.artefacts import FitCell, fit_model
from clickgym.studies.runner import require_writable
from clickgym.studies.worlds import generative_names, require_generative, user_of, world_of

MODEL = "click_model.safetensors"
TRUE_USER = "true user"


@dataclass(frozen=True)
class Train(WorldOptions):
    """Train an agent; started again with the same options, go on from the last checkpoint.

    Example:
      clickgym train --agent PPO --model NCM --user CoCM-mismatch --out runs/ppo-ncm
      tensorboard --logdir runs
    """

    agent: str = option("PolicyGradient", open=True)
    user: str = option("CoCM-mismatch")
    model: str = option(
        "PBM", f'train inside this: a click model to fit, a saved one\'s file, or "{TRUE_USER}"',
        metavar="NAME|FILE", open=True, listed=generative_names,
    )  # fmt: skip
    pages: int | None = option(None, absent="the agent's own")
    seed: int = option(0, "seed of log, fit and agent")
    setting: list[str] | None = option(
        None, "setting of the agent", metavar="NAME=VALUE", absent="the agent's own settings"
    )
    logging: str = option("epsilon-oracle")
    impressions: int = option(100_000)
    slots: int = option(10)
    every: int | None = option(
        None, "pages from one measurement and checkpoint to the next", least=1, metavar="N",
        absent="a twentieth of the budget",
    )  # fmt: skip
    module: list[str] | None = option(None)
    out: str = option("runs/train", "folder for curves, checkpoints and the policy")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command."""
    import torch

    settings = parse(Train, "train", arguments)
    torch.set_num_threads(1)  # small networks: several threads would slow each other down
    require_known("agent", settings.agent, agents.names())
    out = Path(settings.out)
    pages = settings.pages or agents.agent_class(settings.agent).budget
    options = _options(settings.setting or [])
    require_writable(out)
    _check_settings(out, settings, pages)
    where = settings.world_setting()
    world, true = world_of(where), user_of(settings.user, where, settings.slots)
    _check(settings, options, agents.Task.of(environment(world, true, settings.slots)))
    inside = _find_model(settings, where, out)
    require_same_world(inside, world, Path(settings.model))
    inside.require("generative")
    run = agents.TrainingRun(
        settings.agent, environment(world, inside, settings.slots), pages, settings.seed, out,
        true, settings.every, out / "checkpoint.safetensors", **options,
    )  # fmt: skip
    write_text(out / "settings.json", json.dumps(dataclasses.asdict(settings), indent=2) + "\n")
    if run.checkpoint is None:
        print(f"{settings.agent} has no checkpoints: if it is killed, it starts again")
    if run.agent.pages >= pages:
        print(f"already finished: {run.agent.pages:,} pages; a larger --pages goes on")
    elif run.agent.pages:
        print(f"going on from page {run.agent.pages:,} of {pages:,}")
    run.finish()
    policy = run.policy()
    policy.save(out / "policy.safetensors")
    history = [asdict(point) for point in run.history]
    studies.save_rows(history, out / "history.parquet")
    row = {"agent": settings.agent, "model": settings.model,
           "user": settings.user, "seed": settings.seed, "history": history}  # fmt: skip
    save_figure(studies.run_picture(row), out / "training.png")
    last = history[-1]
    print(
        f"{settings.agent}, {run.agent.pages:,} pages: promised {last['promised']:.3f}, deployed "
        f"{last['deployed']:.3f}, gap {last['gap']:.3f}, regret {last['regret']:.3f} clicks per "
        "page"
    )
    print(f"curves: tensorboard --logdir {out}")
    print(f"deploy: clickgym deploy {_deploy_options(settings, out)}")
    return 0


def _deploy_options(settings: Train, out: Path) -> str:
    """Return the options with which ``clickgym deploy`` takes the policy."""
    model = str(out / MODEL) if settings.model in clickmodels.names() else settings.model
    inside = "" if model == TRUE_USER else f" --model {shlex.quote(model)}"
    world = (field.name for field in dataclasses.fields(WorldOptions))
    names = ["user", "logging", "module", *world]
    policy = shlex.quote(str(out / "policy.safetensors"))
    return f"--policy {policy}{inside} {flags(settings, names)}"


def _check(settings: Train, options: dict[str, Any], task: agents.Task) -> None:
    """Raise for what could not be trained, before a model is fitted for it."""
    if settings.model in clickmodels.names():
        require_generative([settings.model], "--model")
    try:
        agents.agent_class(settings.agent)(task, settings.seed, **options)
    except (TypeError, ValueError) as error:
        option = f"--setting {' '.join(settings.setting)}: " if settings.setting else ""
        raise ValueError(f"{option}{error}") from error


def _options(given: list[str]) -> dict[str, Any]:
    """Return settings given as name=value; values are JSON where they can be."""
    options: dict[str, Any] = {}
    for item in given:
        name, equals, text = item.partition("=")
        if not equals:
            raise ValueError(f"--setting takes name=value, not {item!r}")
        try:
            options[name] = json.loads(text)
        except json.JSONDecodeError:
            options[name] = text
    return options


def _check_settings(out: Path, settings: Train, pages: int) -> None:
    """Raise where the folder holds a run with other options, or with a larger budget."""
    path = out / "settings.json"
    if not path.exists():
        return
    before = saved_settings(path, settings)
    before["model"] = before.get("model") or TRUE_USER
    changed = changes(before, settings, ("pages", "out", "every"))  # a run may be taken further
    if changed:
        raise ValueError(f"{out} holds another run ({changed}); give another --out")
    spent = before.get("pages") or agents.agent_class(settings.agent).budget
    if spent > pages:
        raise ValueError(f"{out} holds a run of {spent:,} pages, more than the budget of {pages:,}")


def _find_model(
    settings: Train, where: studies.WorldSetting, out: Path
) -> clickmodels.ClickModel:
    """Return what the agent learns from: the true user, a saved model or one fitted now."""
    if settings.model == TRUE_USER:
        return user_of(settings.user, where, settings.slots)
    if settings.model not in clickmodels.names():
        if not Path(settings.model).is_file():
            known = ", ".join((f'"{TRUE_USER}"', *generative_names()))
            raise ValueError(f"--model {settings.model!r} is neither a file nor one of {known}")
        return clickmodels.ClickModel.load(settings.model)
    path = out / MODEL
    if path.exists():  # of the same options: they were checked
        return clickmodels.ClickModel.load(path)
    model, _ = fit_model(
        FitCell(
            settings.user, settings.logging, settings.seed, "", where, settings.impressions,
            settings.slots, model=settings.model,
        )
    )  # fmt: skip
    model.save(path)
    return model


if __name__ == "__main__":
    raise SystemExit(main())
