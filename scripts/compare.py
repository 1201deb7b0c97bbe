"""Compare agents trained inside click models and deployed on true users."""

from __future__ import annotations

from clickgym.scripts._studies import study_command
from clickgym.studies import Compare

main = study_command(Compare, "compare")

if __name__ == "__main__":
    raise SystemExit(main())
