"""The whole story on the embedded world: a log, four click models, their promises, the truth."""

from __future__ import annotations

from clickgym.scripts._studies import study_command
from clickgym.studies import Curse

main = study_command(Curse, "demo", Curse(impressions=50_000, seeds=1))

if __name__ == "__main__":
    raise SystemExit(main())
