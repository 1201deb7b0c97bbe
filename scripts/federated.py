"""Metrics for pages with a vertical block: which of them predicts what users do there."""

from __future__ import annotations

from clickgym.scripts._shared.study_commands import study_command
from clickgym.studies import Federated

main = study_command(Federated, "federated")

if __name__ == "__main__":
    raise SystemExit(main())
