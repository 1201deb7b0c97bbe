"""Recommenders trained on ratings or clicks, and click models of their logs: three studies."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from clickgym.scripts._shared.study_commands import study_command
from clickgym.studies import ClickTraining, Recommend, RecommendationCurse, Study

BELOW: dict[str, type[Study]] = {"curse": RecommendationCurse, "clicks": ClickTraining}

TEXT = """Train recommenders on ratings, show their lists to simulated users, compare the metrics.

    Two more studies have a word of their own: "clickgym recommend curse" fits click models to one
    recommender's log, "clickgym recommend clicks" trains recommenders on logged clicks.

    Example:
      clickgym recommend --preset paper --ratings ml-latest-small --jobs 2
      clickgym recommend curse --preset quick
    """


def main(arguments: Sequence[str] | None = None) -> int:
    """Run ``clickgym recommend``, ``clickgym recommend curse`` or ``clickgym recommend clicks``."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given and given[0] in BELOW:
        return study_command(BELOW[given[0]], f"recommend {given[0]}")(given[1:])
    return study_command(Recommend, "recommend", text=TEXT)(given)


if __name__ == "__main__":
    raise SystemExit(main())
