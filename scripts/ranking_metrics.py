"""Compare ranking metrics on traffic that is not shuffled with shuffled traffic and deployment."""

from __future__ import annotations

from clickgym.scripts._shared.study_commands import study_command
from clickgym.studies import RankingMetrics

main = study_command(RankingMetrics, "ranking-metrics", positional_preset=True)

if __name__ == "__main__":
    raise SystemExit(main())
