"""Train an agent inside a learned click model, or on the true user, with TensorBoard curves."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from clickgym import agents, clickmodels, studies
from clickgym.common import checks
from clickgym.common.storage import write_whole
from clickgym.evaluation.reporting.figures import save_figure
from clickgym.scripts._arguments import option, parse
from clickgym.scripts._runs import WorldOptions, environment, user_named
from clickgym.studies.engine.artefacts import FitCell, fit_model
from clickgym.studies.engine.plugins import import_modules
from clickgym.studies.setting import require_generative, user_of, world_of

MODEL = "click_model.safetensors"


@dataclass(frozen=True)
class Train(WorldOptions):
    """Train an agent; started again with the same options, go on from the last checkpoint."""

    agent: str = option("PolicyGradient", "which agent")
    env: str = option("clickgym/CoCM-mismatch-v0", "environment of the true user")
    click_model: str = option(
        "PBM", "train inside this: a model to fit, a saved one's path; empty: on the true user"
    )
    pages: int = option(0, "budget in result pages; 0: the agent's own")
    seed: int = option(0, "seed of log, fit and agent")
    setting: list[str] = option([""], "settings of the agent, as name=value")
    logging: str = option("epsilon-oracle", "ranker whose stochastic variant logs, for the fit")
    impressions: int = option(100_000, "impressions of that log; 80% to fit")
    slots: int = option(10, "documents a page")
    every: int = option(0, "pages from one measurement and checkpoint to the next; 0: a twentieth")
    modules: list[str] = option([""], "modules to import first, with agents of your own")
    log_dir: str = option("runs/train", "folder for curves, checkpoints and the policy")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command."""
    import torch

    settings = parse(Train, "train", arguments)
    torch.set_num_threads(1)  # small networks: several threads would slow each other down
    import_modules([name for name in settings.modules if name])
    out = Path(settings.log_dir)
    pages = settings.pages or agents.agent_class(settings.agent).budget
    options = _options(settings.setting)
    user = user_named(settings.env)
    _check_settings(out, settings, pages)
    where = settings.world_setting()
    world, true = world_of(where), user_of(user, where)
    _check(settings, pages, options, agents.Task.of(environment(world, true, settings.slots)))
    inside = _inside(settings, user, where, out)
    inside.check_world(world)
    inside.require("generative")
    run = agents.TrainingRun(
        settings.agent, environment(world, inside, settings.slots), pages, settings.seed, out,
        true, settings.every or None, out / "checkpoint.safetensors", **options,
    )  # fmt: skip
    with write_whole(out / "settings.json") as temporary:
        temporary.write_text(json.dumps(dataclasses.asdict(settings), indent=2) + "\n")
    if run.checkpoint is None:
        print(f"{settings.agent} has no checkpoints: if it is killed, it starts again")
    if run.agent.pages >= pages:
        print(f"already finished: {run.agent.pages:,} pages; a larger --pages goes on")
    elif run.agent.pages:
        print(f"going on from page {run.agent.pages:,} of {pages:,}")
    run.finish()
    policy = run.agent.policy()
    policy.save(out / "policy.safetensors")
    history = [asdict(point) for point in run.history]
    studies.save_rows(history, out / "history.parquet")
    row = {"agent": settings.agent, "model": settings.click_model or "the true user",
           "user": user, "seed": settings.seed, "history": history}  # fmt: skip
    save_figure(studies.run_picture(row), out / "training.png")
    last = history[-1]
    print(
        f"{settings.agent}, {run.agent.pages:,} pages: promised {last['promised']:.3f}, deployed "
        f"{last['deployed']:.3f}, gap {last['gap']:.3f}, regret {last['regret']:.3f} clicks a page"
    )
    print(f"curves: tensorboard --logdir {out}")
    print(f"deploy: clickgym deploy {_deploy_options(settings, out)}")
    return 0


def _deploy_options(settings: Train, out: Path) -> str:
    """Return the options with which ``clickgym deploy`` takes the policy."""
    model = settings.click_model
    if model in clickmodels.names():
        model = str(out / MODEL)
    given = {
        "policy": str(out / "policy.safetensors"), "env": settings.env, "click-model": model,
        "world": settings.world, "queries": settings.queries, "docs": settings.docs,
        "world-seed": settings.world_seed or "",
    }  # fmt: skip
    return " ".join(f"--{name} {value}" for name, value in given.items() if value != "")


def _check(settings: Train, pages: int, options: dict[str, Any], task: agents.Task) -> None:
    """Raise for what could not be trained, before a model is fitted for it."""
    checks.positive_integer(pages, "pages")
    checks.positive_integer(settings.every, "every", 0)
    checks.positive_integer(settings.seed, "seed", 0)
    if settings.click_model in clickmodels.names():
        require_generative([settings.click_model])
    try:
        agents.agent_class(settings.agent)(task, settings.seed, **options)
    except TypeError as error:
        raise ValueError(str(error)) from error


def _options(given: list[str]) -> dict[str, Any]:
    """Return settings given as name=value; values are JSON where they can be."""
    options: dict[str, Any] = {}
    for item in filter(None, given):
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
    before, now = json.loads(path.read_text()), dataclasses.asdict(settings)
    free = {"pages", "log_dir", "every"}  # a run may be taken further
    changed = [name for name in now if name not in free and before.get(name) != now[name]]
    if changed:
        text = ", ".join(f"{name} was {before.get(name)!r}" for name in changed)
        raise ValueError(f"{out} holds another run ({text}); give another --log-dir")
    spent = before["pages"] or agents.agent_class(settings.agent).budget
    if spent > pages:
        raise ValueError(f"{out} holds a run of {spent:,} pages, more than the budget of {pages:,}")


def _inside(
    settings: Train, user: str, where: studies.WorldSetting, out: Path
) -> clickmodels.ClickModel:
    """Return what the agent learns from: the true user, a saved model or one fitted now."""
    if not settings.click_model:
        return user_of(user, where)
    if settings.click_model not in clickmodels.names():
        if not Path(settings.click_model).is_file():
            known = ", ".join(clickmodels.names())
            raise ValueError(
                f"click_model {settings.click_model!r} is neither a file nor one of {known}"
            )
        return clickmodels.ClickModel.load(settings.click_model)
    path = out / MODEL
    if path.exists():  # of the same options: they were checked
        return clickmodels.ClickModel.load(path)
    model, _ = fit_model(
        FitCell(
            user, settings.logging, settings.click_model, settings.seed, "", where,
            settings.impressions, settings.slots,
        )
    )  # fmt: skip
    model.save(path)
    return model


if __name__ == "__main__":
    raise SystemExit(main())
