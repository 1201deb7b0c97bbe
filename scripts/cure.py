"""Choose policies inside cured click models, deploy them, and see which promises are kept."""

from __future__ import annotations

from clickgym.scripts._shared.study_commands import study_command
from clickgym.studies import CureStudy

main = study_command(CureStudy, "cure")

if __name__ == "__main__":
    raise SystemExit(main())
