"""Off-policy evaluation: a policy's value from a log, and the papers' studies of slates."""

from __future__ import annotations

import argparse
import math
import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from clickgym import clickmodels, data, evaluation, policies, studies
from clickgym.common import checks
from clickgym.common.runtime import say
from clickgym.evaluation.offpolicy.slate_estimates import ENOUGH
from clickgym.evaluation.reporting.formats import PlainTable
from clickgym.scripts._shared.command_options import option, parse
from clickgym.scripts._shared.log_options import (
    LogOptions,
    check_world,
    read_own_log,
    with_world_beside,
)
from clickgym.scripts._shared.study_commands import study_command
from clickgym.studies.runner import require_writable

WITHOUT_MODEL = ("ips", "wips", "pi", "wpi")
WITH_MODEL = ("dm-model", "dr-ips", "dr-pi")
OWN = "the log's own policy"


def find_studies() -> dict[str, type[studies.Study]]:
    """Return the studies of this command by name."""
    every = {name: studies.study_class(name) for name in sorted(studies.study_names())}
    return {name: study for name, study in every.items() if study.command == "ope"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run ``clickgym ope NAME ...``; without a name, list them."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    classes = find_studies()
    texts = {"estimate": Estimate.__doc__} | {name: cls.__doc__ for name, cls in classes.items()}
    parser = argparse.ArgumentParser(
        prog="clickgym ope",
        usage="clickgym ope NAME [options]   (clickgym ope NAME --help for its options)",
        description="\n".join(
            f"  {name:<11} {(text or '').splitlines()[0]}" for name, text in texts.items()
        ),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    if given and given[0] == "estimate":
        return estimate(given[1:])
    if given and given[0] in classes:
        return study_command(classes[given[0]], f"ope {given[0]}")(given[1:])
    if not given or given[0] in ("-h", "--help"):
        parser.parse_args(["--help"])
    parser.error(f"there is no {given[0]!r}; there are: {', '.join(texts)}")


@dataclass(frozen=True)
class Estimate(LogOptions):
    """Estimate what a saved policy earns, in clicks per page, from a log that another one made.

    Propensities that the log lacks are estimated from the pages that it shows, or from those of
    --logging-log. Take pages that the policy was not made from, such as the part that clickgym fit
    holds out to judge on. The world is the one that lies beside the policy, or --world. An estimate
    that rests on fewer than 100 effective pages means little, whatever its interval.

    Example:
      clickgym ope estimate clicks.csv --policy runs/own/policy.safetensors
      clickgym ope estimate fitted/parts/test.parquet --logging-log fitted/parts/train.parquet
    """

    log: str | None = option(None, either=True)
    policy: str = option("runs/train/policy.safetensors")
    model: str | None = option(
        None, "saved click model, for doubly robust estimates and its own promise", metavar="FILE",
        known=tuple, open=True, absent="estimates from the log alone",
    )  # fmt: skip
    estimator: list[str] | None = option(
        None, "estimator", metavar="NAME", known=lambda: (*WITHOUT_MODEL, *WITH_MODEL),
        absent="all that there can be",
    )  # fmt: skip
    clip: float | None = option(
        None, "largest weight of a page", least=0, metavar="W", absent="weights are not clipped"
    )
    logging_log: str | None = option(
        None, "other log of whoever chose the pages, to estimate propensities from",
        metavar="FILE", absent="estimated from the log itself",
    )  # fmt: skip
    seed: int = option(0, "seed of pages that are drawn")
    module: list[str] | None = option(None)
    out: str | None = option(
        None, "file for the estimates, as Parquet", metavar="FILE", absent="they are printed"
    )


def estimate(arguments: Sequence[str] | None = None) -> int:
    """Run ``clickgym ope estimate``."""
    from rich.console import Console

    settings = parse(Estimate, "ope estimate", arguments)
    if not settings.log:
        raise ValueError("give the --log to estimate from")
    if not Path(settings.policy).is_file():
        raise FileNotFoundError(f"--policy {settings.policy}: no such file")
    names = settings.estimator or [*WITHOUT_MODEL, *(WITH_MODEL if settings.model else ())]
    for name in names:
        if name in WITH_MODEL and not settings.model:
            raise ValueError(f"--estimator {name} needs a click model: give --model")
    if settings.out:
        require_writable(Path(settings.out).parent)
    settings = with_world_beside(settings, settings.policy)
    world, log, report = read_own_log(settings)
    source = _read_logging_log(settings, world)
    policy = policies.Policy.load(settings.policy)
    model = clickmodels.ClickModel.load(settings.model) if settings.model else None
    for option_name, thing in (("policy", policy), ("model", model)):
        if thing is not None:
            check_world(f"--{option_name} {getattr(settings, option_name)}", thing, world)
    if report is not None:
        say(report)
    twice = checks.find_repeats(log.ranking)
    if twice.any():  # no policy shows such a page, so nothing can be said of its probability
        say(f"{int(twice.sum()):,} pages that show a document twice are left out.")
        log = log[~twice]
    clicks = log.clicks.sum(axis=1).astype(np.float64)
    found = {OWN: evaluation.estimate("on-policy", log, clicks, None, None)}
    logging, note = _find_logging(log, source, world, settings.seed)
    doubts: dict[str, list[str]] = {}  # what is warned of, and by which estimators
    for name in names:
        options = _options(name, settings, model)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            found[name] = evaluation.estimate(
                name, log, clicks, logging, policy, world, **options
            )
        for text in dict.fromkeys(str(one.message) for one in caught):
            doubts.setdefault(text, []).append(name)
    rows = [_row(name, one, log.slots) for name, one in found.items()]
    if settings.out:
        studies.save_rows(rows, settings.out)
    console = Console(width=None if Console().is_terminal else 120)
    note = " ".join([note, *_explain(rows, log.slots)])
    console.print(_table(rows, f"Clicks per page of {Path(settings.policy).name}", note))
    for text, whose in doubts.items():
        print(f"{', '.join(whose)}: {text}", file=sys.stderr)
    return 0


def _read_logging_log(settings: Estimate, world: data.World) -> data.ClickLog | None:
    """Return the log that shows how pages were chosen, where it is another one."""
    if not settings.logging_log:
        return None
    log: data.ClickLog = read_own_log(
        settings, settings.logging_log, find_world=lambda: world
    ).log
    return log[~checks.find_repeats(log.ranking)]


def _find_logging(
    log: data.ClickLog, source: data.ClickLog | None, world: data.World, seed: int
) -> tuple[policies.Policy, str]:
    """Return who made the log and a sentence about its propensities.

    They are estimated from ``source``, or from the log itself without one.
    """
    with warnings.catch_warnings():  # the table says it
        warnings.simplefilter("ignore", policies.UncertainPropensities)
        logging = policies.estimate_logging(log if source is None else source, world, seed=seed)
    if log.log_propensity is not None:
        text = "IPS by the log's own propensities; PI by estimated ones"
    else:
        text = "The log has no propensities: they are estimated"
    if source is not None:
        text += f" from the {len(source):,} pages of another log"
    doubts = "".join(f" They cannot be trusted: {doubt}." for doubt in logging.doubts)
    return logging, f"{text} ({logging.kind}).{doubts}"


def _options(
    name: str, settings: Estimate, model: clickmodels.ClickModel | None
) -> dict[str, Any]:
    options: dict[str, Any] = {}
    if name in WITH_MODEL:
        options["model" if name == "dm-model" else "direct"] = model
    if settings.clip is not None and name != "dm-model":
        options["clip"] = settings.clip
    if name not in ("ips", "wips"):
        options["seed"] = settings.seed
    return options


def _row(name: str, found: evaluation.SlateEstimate, slots: int) -> dict[str, Any]:
    """Return an estimate as a row; its interval is cut to what clicks on ``slots`` can be.

    So is ``within``, the value that is shown: chance may take ``value`` below 0 or above that.
    """
    low, high = found.interval_within(0, slots)
    return {
        "estimator": name, "value": found.value, "within": found.value_within(0, slots),
        "stderr": found.stderr, "low": low, "high": high, "method": found.method,
        "effective_sample_size": found.effective_sample_size,
        "largest_weight": found.largest_weight,
    }  # fmt: skip


def _explain(rows: Sequence[dict[str, Any]], slots: int) -> list[str]:
    """Return what the table does not say by itself."""
    texts = [f"Intervals are cut to what a page can have, 0 to {slots} clicks."]
    if any(row["value"] != row["within"] for row in rows):
        texts.append("(cut): so is the value, which is outside by chance, as large weights do.")
    if any(row["effective_sample_size"] < ENOUGH for row in rows):
        texts.append(
            "Effective pages: how many pages of the policy itself would say as much. (few): below "
            f"{ENOUGH} a row means little, whatever its interval, and near 1 nothing; of dr- rows "
            "only the model's word is left then."
        )
    return texts


def _table(rows: Sequence[dict[str, Any]], title: str, note: str) -> PlainTable:
    headings = ("clicks a page", "95% interval", "effective pages", "largest weight", "method")
    table = PlainTable(title, "estimator", headings, note)
    for row in rows:
        known = math.isfinite(row["low"]) and math.isfinite(row["high"])
        table.add(
            row["estimator"],
            [
                _say_value(row) if known or row["value"] else "unknown",
                f"{row['low']:.4f} to {row['high']:.4f}" if known else "unknown",
                _say_pages(row["effective_sample_size"]), f"{row['largest_weight']:,.1f}",
                row["method"],
            ],
        )  # fmt: skip
    return table


def _say_value(row: dict[str, Any]) -> str:
    return f"{row['within']:.4f}" + (" (cut)" if row["value"] != row["within"] else "")


def _say_pages(number: float) -> str:
    return f"{number:,.1f}" if number >= ENOUGH else f"(few) {number:,.1f}"


if __name__ == "__main__":
    raise SystemExit(main())
