"""Say what a saved policy will earn when deployed, as far as its log tells, and a verdict."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from clickgym import clickmodels, data, evaluation, policies, studies
from clickgym.common import checks
from clickgym.common.runtime import say
from clickgym.scripts._shared.command_inputs import require_files
from clickgym.scripts._shared.command_options import option, parse, require_known
from clickgym.scripts._shared.log_options import (
    LogOptions,
    check_world,
    read_own_log,
    with_world_beside,
)
from clickgym.scripts._shared.study_commands import study_command
from clickgym.studies.runner import require_writable
from clickgym.studies.worlds import logging_of

_STUDIES: dict[str, type[studies.Study]] = {
    "calibrate": studies.CardCalibration, "test": studies.CardTest,
}  # fmt: skip


@dataclass(frozen=True)
class Card(LogOptions):
    """Write the deployment card of a saved policy that was learned from a log.

    The card has a predicted interval for the clicks per page, a verdict, what click models promise,
    estimates by weights, and warning signs. It is written as text, JSON and one HTML page. The
    world is the one that lies beside the policy, or --world.

    The studies behind it: clickgym card calibrate, clickgym card test (--help for their options).

    Example:
      clickgym card fitted/parts/train.parquet --policy runs/own/policy.safetensors
      clickgym card --log log.parquet --docs 10 --policy p.safetensors --logging BM25
    """

    log: str | None = option(None, either=True)
    policy: str = option("runs/train/policy.safetensors")
    model: list[str] | None = option(
        None, "saved click models, whose promises and warnings are shown beside", metavar="FILE",
        known=tuple, open=True, absent="the card's own",
    )  # fmt: skip
    logging: str | None = option(
        None, "who made the log: a ranker with some randomness, or the file of a saved policy",
        metavar="NAME", open=True, absent="nobody knows",
    )  # fmt: skip
    temperature: float | None = option(
        None, "of the ranker that made the log", absent="the paper's"
    )
    seed: int = option(0, "seed of pages that are drawn")
    module: list[str] | None = option(None)
    out: str = option("card", "folder for card.txt, card.json and card.html")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run ``clickgym card ...``, or one of its studies."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given and given[0] in _STUDIES:
        return study_command(_STUDIES[given[0]], f"card {given[0]}")(given[1:])
    settings = parse(Card, "card", given)
    if not settings.log:
        raise ValueError("give the --log that the policy was learned from")
    require_files(settings, ("log", "policy", "model"))
    out = Path(settings.out)
    require_writable(out)
    settings = with_world_beside(settings, settings.policy)
    world, log, report = read_own_log(settings)
    policy = policies.Policy.load(settings.policy)
    check_world(f"--policy {settings.policy}", policy, world)
    models = {}
    for path in settings.model or []:
        model = clickmodels.ClickModel.load(path)
        check_world(f"--model {path}", model, world)
        models[Path(path).stem] = model
    if report is not None:
        say(report)
    twice = checks.find_repeats(log.ranking)
    if twice.any():  # no policy shows such a page
        say(f"{int(twice.sum()):,} pages that show a document twice are left out.")
        log = log[~twice]
    logging = _find_logging(settings, world, log.slots)
    with warnings.catch_warnings():  # the card says what it doubts
        warnings.simplefilter("ignore", UserWarning)
        card = evaluation.deployment_card(
            policy, log, world, models or None, logging, settings.seed,
            name=Path(settings.policy).stem,
        )  # fmt: skip
    out.mkdir(parents=True, exist_ok=True)
    for ending in ("txt", "json", "html"):
        card.save(out / f"card.{ending}")
    say(card)
    say(f"the card: {out / 'card.html'}")
    return 0


def _find_logging(settings: Card, world: data.World, slots: int) -> policies.Policy | None:
    """Return who made the log, as far as it is known."""
    if settings.logging is None:
        if settings.temperature is not None:
            raise ValueError("--temperature is of the ranker that --logging names")
        return None
    if Path(settings.logging).is_file():
        policy = policies.Policy.load(settings.logging)
        check_world(f"--logging {settings.logging}", policy, world)
        return policy
    require_known("logging", settings.logging, policies.ranker_names())
    where = studies.WorldSetting.from_world(world)
    return logging_of(settings.logging, where, slots, settings.temperature)


if __name__ == "__main__":
    raise SystemExit(main())
