"""Compare scoring functions on traffic that is not shuffled: the paper's study, or a log's."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from clickgym import clickmodels, data, evaluation, policies
from clickgym.common import checks
from clickgym.common.runtime import say
from clickgym.evaluation.counterfactual.resampling import CLICKED_PAIRS, RESAMPLE
from clickgym.evaluation.counterfactual.scoring import Scores
from clickgym.evaluation.reporting.formats import PlainTable
from clickgym.scripts._shared.command_inputs import require_same_world
from clickgym.scripts._shared.command_options import option, parse
from clickgym.scripts._shared.log_options import LogOptions, read_own_log
from clickgym.scripts._shared.study_commands import study_command
from clickgym.studies import RankingMetrics

run_study = study_command(RankingMetrics, "ranking-metrics", positional_preset=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the study, or ``clickgym ranking-metrics own ...`` on a log of one's own."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    return own(given[1:]) if given[:1] == ["own"] else run_study(given)


@dataclass(frozen=True)
class Own(LogOptions):
    """Compare scoring functions by their disagreement with the clicks of a log.

    Counterfactual disagreement needs the policy that made the log; without --logging-policy it is
    estimated from the pages that the log shows. A click model stands for its relevance, a
    Plackett-Luce policy for its weights, any other policy for the places of its greedy rankings:
    products that it does not show tie, and a tie counts a half. Compare it with full scores only
    where the column "tied" is small, or give its scores as a table. Lower is better.

    Example:
      clickgym ranking-metrics own clicks.csv --scorer old.safetensors new.safetensors
    """

    log: str | None = option(None, either=True)
    scorer: list[str] | None = option(
        None, "saved policies and click models to compare", metavar="FILE", absent="none"
    )
    scores: list[str] | None = option(
        None, "tables to compare, with query, document and score in the log's own ids",
        metavar="FILE", absent="none",
    )  # fmt: skip
    logging_policy: str | None = option(
        None, "saved policy that made the log", metavar="FILE", absent="estimated from the log"
    )
    clicked_pairs: str = option(
        "reject", "what to do with pairs of two clicked products: reject or keep",
        choices=CLICKED_PAIRS,
    )  # fmt: skip
    resample: str = option(
        "order", "what is drawn again: the order of the page, or the whole page", choices=RESAMPLE
    )


def own(arguments: Sequence[str]) -> int:
    """Run ``clickgym ranking-metrics own``."""
    from rich.console import Console

    settings = parse(Own, "ranking-metrics own", arguments)
    if not settings.log or not (settings.scorer or settings.scores):
        raise ValueError("give the --log to compare on, and what to compare: --scorer, --scores")
    for name in ("scorer", "scores", "logging_policy"):
        value = getattr(settings, name)
        for path in value if isinstance(value, list) else [value] if value else []:
            if not Path(path).is_file():
                raise FileNotFoundError(f"--{name.replace('_', '-')} {path}: no such file")
    world, log, report = read_own_log(settings)
    scorers: dict[str, Scores] = {path: _load(path, world) for path in settings.scorer or ()}
    scorers |= {path: data.read_scores(path, world) for path in settings.scores or ()}
    if report is not None:
        say(report)
    twice = checks.find_repeats(log.ranking)
    if twice.any():  # no policy shows such a page
        say(f"{int(twice.sum()):,} pages that show a document twice are left out.")
        log = log[~twice]
    policy, note = _find_policy(settings.logging_policy, log, world)
    keep = settings.clicked_pairs
    usual = evaluation.naive_pairs(log, keep).disagreements(list(scorers.values()))
    pairs = evaluation.counterfactual_pairs(log, policy, keep, settings.resample)
    fair = pairs.disagreements(list(scorers.values()))
    table = PlainTable(
        "Disagreement with the clicks of the log", "scorer",
        ["counterfactual", "95% interval", "tied", "pairwise", "95% interval "],
        f"{note} {fair[0].rejected:.0%} of the counterfactual samples were rejected. Pairwise "
        "disagreement favours what resembles whoever made the log. Tied: accepted samples in "
        "which both products have the same score; each counts a half.",
    )  # fmt: skip
    for path, one, other in zip(scorers, fair, usual, strict=True):
        table.add(path, [
            f"{one:.4f}", f"{one.low:.4f} to {one.high:.4f}", f"{one.tied:.0%}",
            f"{other:.4f}", f"{other.low:.4f} to {other.high:.4f}",
        ])  # fmt: skip
    Console(width=None if Console().is_terminal else 140).print(table)
    return 0


def _load(path: str, world: data.World) -> policies.Policy | clickmodels.ClickModel:
    """Return the policy or the click model that a file holds, of this world."""
    found: policies.Policy | clickmodels.ClickModel
    try:
        found = policies.Policy.load(path)
    except ValueError:
        found = clickmodels.ClickModel.load(path)
    require_same_world(found, world, Path(path))
    return found


def _find_policy(
    path: str | None, log: data.ClickLog, world: data.World
) -> tuple[policies.Policy, str]:
    """Return who made the log, and a sentence about it."""
    if path:
        policy = policies.Policy.load(path)
        require_same_world(policy, world, Path(path))
        return policy, f"The log was made by {path}."
    with warnings.catch_warnings():  # the table says it
        warnings.simplefilter("ignore", policies.UncertainPropensities)
        found = policies.estimate_logging(log, world)
    doubts = "".join(f" It cannot be trusted: {doubt}." for doubt in found.doubts)
    return found, f"Who made the log is estimated ({found.kind}).{doubts}"


if __name__ == "__main__":
    raise SystemExit(main())
