"""Train an agent inside a learned click model, or on the true user, with TensorBoard curves."""

from __future__ import annotations

import dataclasses
import json
import shlex
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from clickgym import agents, clickmodels, data, studies
from clickgym.clickmodels.fitting import takes_prior
from clickgym.clickmodels.uncertainty.exposure import EXPOSURE, PLAIN, SCORE
from clickgym.common.runtime import keep_freed_memory, say
from clickgym.common.storage import write_text
from clickgym.evaluation.reporting.figures import save_figure
from clickgym.scripts._shared.command_inputs import (
    SLOTS,
    USER,
    WORLD,
    WorldOptions,
    chosen_user,
    environment,
    require_same_world,
    saved_settings,
)
from clickgym.scripts._shared.command_options import changes, flags, option, parse, require_known
from clickgym.scripts._shared.log_options import LogOptions, read_own_log
from clickgym.studies.engine.artefacts import FitCell, fit_model, fit_parts
from clickgym.studies.runner import require_writable
from clickgym.studies.worlds import (
    SPLIT,
    generative_names,
    require_generative,
    user_of,
    world_of,
)

MODEL = "click_model.safetensors"
TRUE_USER = "true user"


@dataclass(frozen=True)
class Train(LogOptions):
    """Train an agent; started again with the same options, go on from the last checkpoint.

    Example:
      clickgym train --agent PPO --model NCM --user CoCM-mismatch --out runs/ppo-ncm
      clickgym train --log clicks.csv --model UBM --out runs/own
      clickgym train --world fitted/world.safetensors --model fitted/UBM.safetensors
      tensorboard --logdir runs
    """

    agent: str = option("PolicyGradient", open=True)
    user: str | None = option(
        None, absent=f"{USER}; none for a log of one's own or a world without grades"
    )
    model: str = option(
        "PBM", f'train inside this: a click model to fit, a saved one\'s file, or "{TRUE_USER}"',
        metavar="NAME|FILE", open=True, listed=generative_names,
    )  # fmt: skip
    prior: str | None = option(
        None, absent="exposure for a log of one's own and a model that has it, else plain"
    )
    pages: int | None = option(None, absent="the agent's own")
    seed: int = option(0, "seed of log, fit and agent")
    reward: str | None = option(None)
    setting: list[str] | None = option(
        None, "setting of the agent", metavar="NAME=VALUE", absent="the agent's own settings"
    )
    logging: str = option("epsilon-oracle")
    impressions: int = option(100_000)
    slots: int | None = option(None, absent=f"those of the log, else {SLOTS}")
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
    keep_freed_memory()
    require_known("agent", settings.agent, agents.names())
    out = Path(settings.out)
    pages = settings.pages or agents.agent_class(settings.agent).budget
    options = _options(settings.setting or [])
    require_writable(out)
    found = Setup.of(settings)
    settings = dataclasses.replace(
        settings, user=found.user, slots=found.slots, prior=_choose_prior(settings)
    )
    _check_settings(out, settings, pages, found.contents)
    world, true = found.world, found.true
    _check(settings, options, agents.Task.of(environment(world, found.stand_in, found.slots)))
    inside = _find_model(settings, found, out)
    require_same_world(inside, world, Path(settings.model))
    inside.require("generative")
    env = environment(world, inside, found.slots, learned=settings.model != TRUE_USER)
    run = agents.TrainingRun(
        settings.agent, env, pages, settings.seed, out, true, settings.every,
        out / "checkpoint.safetensors", settings.reward, **options,
    )
    if found.log is not None:
        world.save(out / WORLD)
    record = {**dataclasses.asdict(settings), "log_contents": found.contents}
    write_text(out / "settings.json", json.dumps(record, indent=2) + "\n")
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
    known = ((name, history[-1][name]) for name in ("promised", "deployed", "gap", "regret"))
    values = ", ".join(f"{name} {value:.3f}" for name, value in known if value is not None)
    learned = f"{run.agent.pages:,} pages, learned from {run.agent.task.reward}"
    print(f"{settings.agent}, {learned}: {values} clicks per page")
    print(f"curves: tensorboard --logdir {out}")
    print(f"deploy: clickgym deploy {_deploy_options(settings, out)}")
    return 0


@dataclass(frozen=True)
class Setup:
    """The world that an agent learns in, its log if it is one's own, and its true user if any."""

    world: data.World
    where: studies.WorldSetting
    slots: int
    user: str | None
    log: data.ClickLog | None = None

    @classmethod
    def of(cls, settings: Train) -> Setup:
        """Read what the options name, before anything is written."""
        fitted = settings.model in clickmodels.names()
        if settings.log:
            world, log, report = read_own_log(settings)
            if report is not None:
                say(report)
            where = studies.WorldSetting.from_world(world)
        else:
            where, log = settings.world_setting(), None
            world = world_of(where)
        user = chosen_user(settings.user, world, log is not None)
        if user is None and settings.model == TRUE_USER:
            world.require_grades(f'--model "{TRUE_USER}" needs')
            raise ValueError(f'--model "{TRUE_USER}" needs --user, for a log has none of its own')
        if user is None and log is None and fitted:
            raise ValueError(
                f"--model {settings.model} must be fitted to a log, which only true users make: "
                "give --log, or the file of a saved model"
            )
        if log is not None and fitted and not all(map(len, log.split(SPLIT, settings.seed)[:2])):
            raise ValueError(
                f"--log {settings.log}: a log of {len(log)} page{'s' * (len(log) != 1)} is too "
                f"small to fit --model {settings.model} to a part and validate it on another"
            )
        slots = SLOTS if log is None else log.slots
        if settings.slots is None and log is None and not fitted and settings.model != TRUE_USER:
            slots = min(slots, saved_model(settings.model).max_slots or slots)
        return cls(world, where, settings.slots or slots, user, log)

    @property
    def contents(self) -> str:
        """What the log of one's own holds; "" without one."""
        if self.log is None:
            return ""
        return studies.LogSetting.from_logs(self.world, {"log": self.log}).contents

    @property
    def true(self) -> clickmodels.ClickModel | None:
        """The true user."""
        return None if self.user is None else user_of(self.user, self.where, self.slots)

    @property
    def stand_in(self) -> clickmodels.ClickModel:
        """A model of this world, to try options with before one is fitted."""
        shape = self.world.relevance.shape
        return self.true or clickmodels.PBM(np.full(shape, 0.5), np.ones(self.slots))


def _choose_prior(settings: Train) -> str | None:
    """Return the prior of the fit; None where nothing is fitted.

    By default that of a log of one's own follows exposure, and that of a simulated one is plain.
    """
    if settings.model not in clickmodels.names():
        if settings.prior is not None:
            raise ValueError(
                f"--prior {settings.prior} is for a model that is fitted, not for --model "
                f"{settings.model!r}"
            )
        return None
    takes = takes_prior(settings.model)
    if settings.prior is None:
        return EXPOSURE if settings.log and takes else PLAIN
    if settings.prior != PLAIN and not takes:
        raise ValueError(f"--prior {settings.prior}: {settings.model} is fitted with plain only")
    if settings.prior == SCORE and settings.log:
        raise ValueError(
            "--prior score needs the policy that made the log: clickgym fit takes it (--policy), "
            "and its model can be given as --model FILE"
        )
    return settings.prior


def _deploy_options(settings: Train, out: Path) -> str:
    """Return the options with which ``clickgym deploy`` takes the policy."""
    model = str(out / MODEL) if settings.model in clickmodels.names() else settings.model
    inside = "" if model == TRUE_USER else f" --model {shlex.quote(model)}"
    names = ["module"] if settings.user is None else ["user", "logging", "module"]
    if settings.world and data.World.is_saved(settings.world):
        names.append("world")
    elif not settings.log:  # whose world lies beside the policy
        names += [field.name for field in dataclasses.fields(WorldOptions)]
    words = [f"--policy {shlex.quote(str(out / 'policy.safetensors'))}{inside}"]
    words.append(flags(settings, names))
    if settings.user is None:
        words.append(f"--rankings {shlex.quote(str(out / 'rankings.csv'))}")
    return " ".join(filter(None, words))


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


def _check_settings(out: Path, settings: Train, pages: int, contents: str) -> None:
    """Raise where the folder holds a run with other options, or with a larger budget."""
    path = out / "settings.json"
    if not path.exists():
        return
    before = saved_settings(path, settings)
    before["model"] = before.get("model") or TRUE_USER
    if settings.prior is not None:  # earlier versions had no other than the plain one
        before.setdefault("prior", PLAIN)
    changed = changes(before, settings, ("pages", "out", "every"))  # a run may be taken further
    if changed:
        raise ValueError(f"{out} holds another run ({changed}); give another --out")
    if before.get("log_contents", "") != contents:
        raise ValueError(
            f"{out} holds a run on another log: {settings.log} has changed; give another --out"
        )
    spent = before.get("pages") or agents.agent_class(settings.agent).budget
    if spent > pages:
        raise ValueError(f"{out} holds a run of {spent:,} pages, more than the budget of {pages:,}")


def _find_model(settings: Train, found: Setup, out: Path) -> clickmodels.ClickModel:
    """Return what the agent learns from: the true user, a saved model or one fitted now."""
    if settings.model == TRUE_USER:
        assert found.true is not None
        return found.true
    if settings.model not in clickmodels.names():
        return saved_model(settings.model)
    path = out / MODEL
    if path.exists():  # of the same options: they were checked
        return clickmodels.ClickModel.load(path)
    if found.log is not None:
        train, validation, _ = found.log.split(SPLIT, settings.seed)
        model = fit_parts(
            settings.model, train, validation, found.world, settings.seed, "table",
            prior=settings.prior,
        )  # fmt: skip
    else:
        assert settings.user is not None
        model, _ = fit_model(
            FitCell(
                settings.user, settings.logging, settings.seed, "", found.where,
                settings.impressions, found.slots, model=settings.model,
                prior="" if settings.prior == PLAIN else settings.prior or "",
            )
        )  # fmt: skip
    model.save(path)
    return model


def saved_model(path: str) -> clickmodels.ClickModel:
    """Return the click model of a file."""
    if not Path(path).is_file():
        known = ", ".join((f'"{TRUE_USER}"', *generative_names()))
        raise ValueError(f"--model {path!r} is neither a file nor one of {known}")
    return clickmodels.ClickModel.load(path)


if __name__ == "__main__":
    raise SystemExit(main())
