"""Fit click models to a log and judge them: table, picture, saved models."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from clickgym import clickmodels, data, studies
from clickgym.clickmodels.fitting import GRADE, PARAMETERS, takes_grades
from clickgym.clickmodels.uncertainty.exposure import EXPOSURE, PLAIN, SCORE
from clickgym.common.runtime import say
from clickgym.scripts._shared.command_inputs import real_logs, require_files
from clickgym.scripts._shared.command_options import option, parse
from clickgym.scripts._shared.log_options import LogOptions, read_own_log
from clickgym.studies.own_log.kept_logs import LOG, LoggingFile
from clickgym.studies.own_log.log_fits import prior_for
from clickgym.studies.own_log.tables import explain_columns, saved_log
from clickgym.studies.runner import compare_settings, require_writable


@dataclass(frozen=True)
class Fit(LogOptions):
    """Fit models to a log and judge them on another part of it, or on another log.

    Models are saved as soon as they are fitted; the same command goes on from what is finished.

    Example:
      clickgym fit clicks.csv --column query=term document=url --model PBM UBM DBN NCM
      clickgym collect --docs 10 --out log.parquet
      clickgym fit --log log.parquet --docs 10 --model PBM UBM DBN --out fitted
    """

    log: str | None = option(None, either=True)
    pyclick: str | None = option(None, "real log in PyClick's format", metavar="FILE")
    sessions: list[str] | None = option(
        None, "real log in the session format: one file, or one each to fit, validate and judge",
        metavar="FILE",
    )  # fmt: skip
    labels: str | None = option(None, "human grades for --sessions", metavar="FILE", absent="none")
    clicked_only: bool = option(False, "leave out pages without a click, as the paper does")
    test: str | None = option(
        None, "saved log to judge on, or a table in the ids of the log", metavar="FILE",
        absent="a part of the log",
    )  # fmt: skip
    split: list[float] = option(
        [0.8, 0.1, 0.1], "shares of the log to fit to, validate on (may be left out) and judge on",
        metavar="SHARE",
    )  # fmt: skip
    split_by: str | None = option(None)
    model: list[str] = option(
        ["PBM", "UBM", "DBN"], "click model, or all for every one", also=("all",)
    )
    parameters: str = option(
        "table", "kind of parameters; grade: documents of one grade share them",
        choices=PARAMETERS,
    )  # fmt: skip
    prior: str | None = option(
        None, absent="exposure for --log, plain for --pyclick and --sessions"
    )
    policy: str | None = option(None, "saved policy that made the log, for --prior score")
    seeds: int = option(1, "number of seeds of those fits that are random")
    seed: int = option(0, "seed of the split")
    queries: int | None = option(None)
    module: list[str] | None = option(None)
    jobs: int = option(2)
    scheduler: str | None = option(None)
    retry_failed: bool = option(False)
    out: str = option("fitted", "folder for models, tables and pictures")
    overwrite: bool = option(False)


class Parts(NamedTuple):
    """A world, its whole log where it is one, and the parts to fit to and to judge on."""

    world: data.World
    whole: data.ClickLog | None
    parts: dict[str, data.ClickLog]
    report: data.LogReport | None = None


def check_inputs(settings: Fit) -> None:
    """Raise where the options name no log, or files that are not there."""
    sessions = settings.sessions or []
    if bool(settings.log) + bool(settings.pyclick) + bool(sessions) != 1:
        raise ValueError("give one of --log, --pyclick and --sessions")
    if not math.isclose(sum(settings.split), 1) or min(settings.split) < 0:
        shares = " ".join(map(str, settings.split))
        raise ValueError(f"--split must be shares that sum to 1, not {shares}")
    if len(settings.split) not in (2, 3):
        raise ValueError("--split takes two or three shares")
    if len(sessions) not in (0, 1, 3):
        raise ValueError("--sessions takes one file, or one each to fit, validate and judge")
    require_files(settings, ("log", "pyclick", "sessions", "labels", "test", "policy"))
    if settings.prior == SCORE and not settings.policy:
        raise ValueError(
            "--prior score needs the policy that made the log (--policy FILE); --prior exposure "
            "needs none"
        )
    if settings.policy and settings.prior != SCORE:
        raise ValueError("--policy is for --prior score")


def read_parts(settings: Fit) -> Parts:
    """Return the world and the logs to fit to, to validate on and to judge on."""
    sessions, report = settings.sessions or [], None
    if settings.log:
        world, log, report = read_own_log(settings)
        found = [log]
    else:
        world, found = real_logs(settings.pyclick, sessions, settings.labels)
    whole = found[0] if len(found) == 1 else None
    if settings.test:
        found.append(_read_test(settings.test, settings, world))
    if settings.clicked_only:
        found = [log[log.clicks.any(axis=1)] for log in found]
        if not all(map(len, found)):
            raise ValueError("--clicked-only leaves no page: none has a click")
    parts = found if len(found) > 1 else _split(found[0], settings, report)
    names = ("train", "test") if len(parts) == 2 else ("train", "validation", "test")
    named = dict(zip(names, parts, strict=True))
    if not len(named.get("validation", ())):
        named.pop("validation", None)
    for name in ("train", "test"):
        if not len(named[name]):
            raise ValueError(f"--split leaves no page to {name}: the log has {len(found[0])}")
    return Parts(world, whole, named, report)


def _read_test(path: str, settings: Fit, world: data.World) -> data.ClickLog:
    if not Path(path).exists() or data.ClickLog.is_saved(path):
        return saved_log(path, world)
    return read_own_log(settings, path, find_world=lambda: world).log


def _split(
    log: data.ClickLog, settings: Fit, report: data.LogReport | None
) -> list[data.ClickLog]:
    if settings.split_by is None:
        return list(log.split(settings.split, settings.seed))
    if settings.split_by not in log.extra:
        known = explain_columns(log, settings.split_by, report)
        raise ValueError(f"--split-by {settings.split_by}: {known}")
    return list(log.split_by(settings.split_by, settings.split, settings.seed))


def choose_models(settings: Fit) -> tuple[str, ...]:
    """Return the models to fit; "all" are those that have the parameters by grade, if asked for."""
    if "all" not in settings.model:
        return tuple(dict.fromkeys(settings.model))
    anyone = settings.parameters != GRADE
    return tuple(name for name in clickmodels.names() if anyone or takes_grades(name))


def choose_prior(settings: Fit, models: Sequence[str]) -> str:
    """Return the prior of the fits: of one's own log the informed one, of others the papers'.

    One that was asked for must be one that some of the models take.
    """
    if settings.prior is None:
        return EXPOSURE if settings.log else PLAIN
    if settings.prior != PLAIN and not any(
        prior_for(name, settings.prior, settings.parameters) for name in models
    ):
        raise ValueError(
            f"--prior {settings.prior}: with --parameters {settings.parameters}, "
            f"{', '.join(models)} can only be fitted with --prior plain"
        )
    return settings.prior


def main(arguments: Sequence[str] | None = None) -> int:
    """Fit, judge, print and save."""
    settings = parse(Fit, "fit", arguments)
    check_inputs(settings)
    out = Path(settings.out)
    require_writable(out)
    found = read_parts(settings)
    models = choose_models(settings)
    study = studies.FitLog(
        settings.log or settings.pyclick or " ".join(settings.sessions or []),
        studies.LogSetting.from_logs(found.world, found.parts),
        models, settings.seeds, settings.parameters, tuple(settings.module or ()),
        choose_prior(settings, models),
        LoggingFile.of(settings.policy) if settings.policy else LoggingFile(),
    )  # fmt: skip
    study.check()
    compare_settings(out, study, settings.overwrite)
    if found.report is not None:
        say(found.report)
    if found.whole is not None:
        found.whole.save(out / LOG)
    return studies.run_study(
        study, out, settings.jobs, settings.retry_failed, settings.scheduler or "",
        overwrite=settings.overwrite,
    )  # fmt: skip


if __name__ == "__main__":
    raise SystemExit(main())
