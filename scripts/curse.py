"""Optimise inside learned click models, deploy on the true user, compare promise and delivery."""

from __future__ import annotations

from clickgym.scripts._shared.study_commands import study_command
from clickgym.studies import Curse

main = study_command(Curse, "curse")

if __name__ == "__main__":
    raise SystemExit(main())
