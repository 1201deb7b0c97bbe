"""The whole story on the embedded world: a log, four click models, their promises, the truth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from clickgym.scripts._options import option, parse
from clickgym.scripts.curse import Curse, run


@dataclass(frozen=True)
class Demo:
    """Log clicks, fit PBM, UBM, DBN and NCM, optimise inside them, deploy on the true user.

    Example:
      clickgym demo --user DBN --queries 100 --impressions 10000
    """

    user: str = option("CoCM-mismatch")
    impressions: int = option(50_000)
    queries: int = option(1000)
    seeds: int = option(1)
    jobs: int = option(2)
    retry_failed: bool = option(False)
    out: str = option("demo")


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
