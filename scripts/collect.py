"""Collect a click log: a policy shows pages of a world to a true user."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from clickgym import clickmodels, envs, policies
from clickgym.scripts._shared.command_inputs import WorldOptions
from clickgym.scripts._shared.command_options import option, parse
from clickgym.studies.runner import require_writable
from clickgym.studies.worlds import world_of


@dataclass(frozen=True)
class Collect(WorldOptions):
    """Collect a click log with exact propensities and save it as Parquet.

    Example:
      clickgym collect --user DBN --logging BM25 --docs 10 --impressions 20000 --out log.parquet
    """

    user: str = option("CoCM")
    logging: str = option(
        "epsilon-oracle", "ranker that makes the log", was=("policy",)
    )
    temperature: float | None = option(
        None, "how random the ranker is, where 0 is not at all", least=0, metavar="T",
        absent="the robustness paper's temperature for this ranker",
    )  # fmt: skip
    impressions: int = option(100_000, "pages to show", was=("pages",))
    slots: int = option(10)
    queries: int | None = option(None)
    seed: int = option(0, "seed of rankings and clicks")
    out: str = option("log.parquet", "file to write", metavar="FILE")
    save_world: str | None = option(
        None, "file for the world too, which other commands take as --world", metavar="FILE",
        absent="other commands take the world by the same options", group="the run",
    )  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Collect, save and summarise."""
    settings = parse(Collect, "collect", arguments)
    require_writable(Path(settings.out).parent)
    if settings.save_world:
        require_writable(Path(settings.save_world).parent)
    world = world_of(settings.world_setting())
    world.require_grades(f"--user {settings.user} needs")
    user = clickmodels.true_user(settings.user, world, slots=settings.slots)
    ranker = (settings.logging, world, settings.slots, settings.world_seed)
    if settings.temperature == 0:
        policy: policies.Policy = policies.named_ranker(*ranker)
    else:
        policy = policies.logging_policy(*ranker, settings.temperature)
    log = envs.collect(world, user, policy, settings.impressions, settings.seed)
    log.save(settings.out)
    if settings.save_world:
        world.save(settings.save_world)
    rate = log.clicks.sum() / max((log.ranking >= 0).sum(), 1)
    print(f"{settings.out}: {len(log):,} pages of {world}")
    print(f"click-through rate {rate:.4f}, {(~log.clicks.any(axis=1)).mean():.1%} without a click")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
