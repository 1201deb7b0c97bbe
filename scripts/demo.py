"""The whole story in small: log clicks, fit four click models, optimise inside them, deploy."""

from __future__ import annotations

from clickgym.scripts._shared.study_commands import study_command
from clickgym.studies import Curse

TEXT = """Log clicks, fit PBM, UBM, DBN and NCM, optimise inside them, deploy on the true user.

    Example:
      clickgym demo --user DBN --queries 100 --impressions 10000
    """

main = study_command(
    Curse, "demo", Curse(impressions=50_000, seeds=1), text=TEXT,
    only=("user", "impressions", "queries", "seeds"),
)  # fmt: skip

if __name__ == "__main__":
    raise SystemExit(main())
