"""Tables 3 and 4 beside the paper's released code: what each of its switches does; resumable."""

from __future__ import annotations

from clickgym.scripts._shared.study_commands import study_command
from clickgym.studies import Released

main = study_command(Released, "released")

if __name__ == "__main__":
    raise SystemExit(main())
