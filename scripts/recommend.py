"""Train recommenders on ratings, and find the metric that predicts their clicks."""

from __future__ import annotations

from clickgym.scripts._shared.study_commands import study_command
from clickgym.studies import Recommend

main = study_command(Recommend, "recommend")

if __name__ == "__main__":
    raise SystemExit(main())
