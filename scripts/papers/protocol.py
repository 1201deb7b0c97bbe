"""The robustness protocol: click models under every user, logging policy and seed; resumable."""

from __future__ import annotations

from clickgym.scripts._shared.study_commands import study_command
from clickgym.studies import Protocol

main = study_command(Protocol, "protocol", positional_preset=True)

if __name__ == "__main__":
    raise SystemExit(main())
