"""The whole story in small: the curse, and then the cure, on the same logs."""

from __future__ import annotations

from clickgym.scripts._shared.study_commands import study_command
from clickgym.studies import Demo

main = study_command(Demo, "demo", only=("user", "impressions", "queries", "seeds"))

if __name__ == "__main__":
    raise SystemExit(main())
