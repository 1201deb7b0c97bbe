"""Describe a world: list lengths, grades, and how good simple rankings of it are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from clickgym import evaluation
from clickgym.scripts._shared.command_inputs import WorldOptions
from clickgym.scripts._shared.command_options import ALL, option, parse
from clickgym.studies.worlds import world_of


@dataclass(frozen=True)
class Describe(WorldOptions):
    """Describe the embedded world, a saved one, or one that is read from a LETOR file.

    Example:
      clickgym world --world train.txt --docs 30
      clickgym world --world fitted/world.safetensors
    """

    feature: int | None = option(
        None, "number of a feature, from 1, to rank by", least=1, metavar="N", was=("bm25",),
        absent="110, which is BM25 in MSLR, where there are as many",
    )  # fmt: skip
    queries: int | None = option(None)
    docs: int = option(ALL)
    world_seed: int = option(0, "seed of everything that is drawn", was=("seed",))


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the description."""
    settings = parse(Describe, "world", arguments)
    world = world_of(settings.world_setting())
    lengths = world.n_candidates
    noise = np.random.default_rng(settings.world_seed).random(world.relevance.shape)
    n_features = 0 if world.features is None else world.features.shape[2]
    feature = settings.feature or (110 if n_features >= 110 else None)
    if settings.feature and settings.feature > n_features:
        raise ValueError(f"--feature is {settings.feature}, but the world has {n_features}")
    print(world)
    print(
        f"candidates per query: {lengths.min()} to {lengths.max()}, median {np.median(lengths):g}"
    )
    share = np.sort(world.query_probs)[::-1][: max(world.n_queries // 10, 1)].sum()
    print(f"the most frequent tenth of the queries is asked {share:.0%} of the time")
    if not world.has_grades:
        print("no grades: a true user, nDCG and rankers that learn from grades are not available")
        return 0
    judged = world.relevance[world.candidates & (world.relevance >= 0)]
    grades = np.bincount(judged, minlength=world.max_grade + 1)
    shares = " / ".join(f"{share:.1f}" for share in 100 * grades / len(judged))
    missing = 1.0 - len(judged) / world.candidates.sum()
    unjudged = f"; {missing:.1%} of the candidates have none" if missing else ""
    print(f"grades 0 to {world.max_grade}: {shares} %{unjudged}")
    print(f"nDCG@10 at random: {evaluation.ndcg(noise, world, 10):.3f}")
    if world.features is not None and feature is not None:
        score = evaluation.ndcg(world.features[:, :, feature - 1], world, 10)
        print(f"nDCG@10 by feature {feature}: {score:.3f}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
