"""Collect a click log: a policy shows pages of a world to a true user."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from clickgym import clickmodels, envs, policies
from clickgym.scripts._arguments import option, parse
from clickgym.scripts._inputs import policy_from, world_from


@dataclass(frozen=True)
class Collect:
    """Collect a click log with exact propensities and save it as Parquet."""

    out: str = option("log.parquet", "file to write")
    user: str = option("CoCM", "true user", choices=clickmodels.user_names())
    policy: str = option("epsilon-oracle", "logging policy", choices=policies.ranker_names())
    temperature: float = option(-1.0, "of the policy; 0 = deterministic, below 0 = the paper's")
    pages: int = option(100_000, "pages to show")
    slots: int = option(10, "documents a page")
    world: str = option("", "a LETOR file; empty = the embedded synthetic world")
    n_docs: int = option(30, "candidates a query; 0 = full lists")
    n_queries: int = option(0, "queries; 0 = 1,000, or all of a file's")
    world_seed: int = option(0, "seed of the world")
    seed: int = option(0, "seed of policy and clicks")


def main(arguments: Sequence[str] | None = None) -> int:
    """Collect, save and summarise."""
    settings = parse(Collect, "collect", arguments)
    if settings.pages < 1:
        raise ValueError(f"--pages must be at least 1, not {settings.pages}")
    world = world_from(settings.world, settings.n_docs, settings.n_queries, settings.world_seed)
    user = clickmodels.true_user(settings.user, world, slots=settings.slots)
    policy = policy_from(
        settings.policy, world, settings.temperature, settings.slots, settings.world_seed
    )
    log = envs.collect(world, user, policy, settings.pages, settings.seed)
    log.save(settings.out)
    rate = log.clicks.sum() / max((log.ranking >= 0).sum(), 1)
    print(f"{settings.out}: {len(log):,} pages of {world}")
    print(f"click-through rate {rate:.4f}, {(~log.clicks.any(axis=1)).mean():.1%} without a click")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
