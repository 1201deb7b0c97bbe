"""Tables 3 and 4 of the robustness paper: what a strong policy shift does to click models."""

from __future__ import annotations

from clickgym.scripts._shared.study_commands import study_command
from clickgym.studies import StrongShift

main = study_command(StrongShift, "strong-shift")

if __name__ == "__main__":
    raise SystemExit(main())
