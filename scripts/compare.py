"""Compare agents trained inside click models and deployed on true users."""

from __future__ import annotations

from clickgym.scripts._shared.study_commands import study_command
from clickgym.studies import Compare

main = study_command(Compare, "compare")

if __name__ == "__main__":
    raise SystemExit(main())
