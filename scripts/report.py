"""Report on a log of your own: which click model to trust, and what it would have you show."""

from __future__ import annotations

from clickgym.scripts._shared.study_commands import study_command
from clickgym.studies import OwnLogReport

main = study_command(OwnLogReport, "report")

if __name__ == "__main__":
    raise SystemExit(main())
