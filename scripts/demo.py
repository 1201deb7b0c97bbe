"""The whole story on the embedded world: a log, four click models, their promises, the truth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from clickgym.scripts._arguments import option, parse
from clickgym.scripts.curse import Curse, run


@dataclass(frozen=True)
class Demo:
    """Log clicks, fit PBM, UBM, DBN and NCM, optimise inside them, deploy on the true user."""

    user: str = option("CoCM-mismatch", "the true user")
    impressions: int = option(50_000, "impressions of the log; 80% to fit")
    queries: int = option(1000, "queries of the world")
    seeds: int = option(1, "seeds; each draws a log and an initialisation")
    jobs: int = option(2, "processes")
    retry_failed: bool = option(False, "try again what failed before")
    out: str = option("demo", "folder for results; finished cells there are not computed again")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demo."""
    settings = parse(Demo, "demo", arguments)
    whole = run(
        Curse(
            user=[settings.user], seeds=settings.seeds, queries=settings.queries,
            impressions=settings.impressions, jobs=settings.jobs,
            retry_failed=settings.retry_failed, out=settings.out,
        ),
        "demo",
    )  # fmt: skip
    return 0 if whole else 1


if __name__ == "__main__":
    raise SystemExit(main())
