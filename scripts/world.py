"""Describe a world: list lengths, grades, and how good simple rankings of it are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from clickgym import data, evaluation
from clickgym.scripts._arguments import option, parse


@dataclass(frozen=True)
class Describe:
    """Describe the embedded world, or one read from a LETOR file."""

    path: str = option("", "a LETOR file; empty = the embedded synthetic world")
    n_docs: int = option(0, "draw this many candidates a query; 0 = full lists")
    bm25: int = option(110, "the feature (from 1) to rank by; 0 = none")
    seed: int = option(0, "seed of everything random")


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the description."""
    settings = parse(Describe, "world", arguments)
    n_docs = settings.n_docs or None
    if settings.path:
        world = data.load_letor(settings.path, n_docs=n_docs, seed=settings.seed)
    else:
        world = data.synthetic_world(n_docs=n_docs, seed=settings.seed)
    lengths = world.n_candidates
    grades = np.bincount(world.relevance[world.candidates], minlength=world.max_grade + 1)
    shares = " / ".join(f"{share:.1f}" for share in 100 * grades / grades.sum())
    noise = np.random.default_rng(settings.seed).random(world.relevance.shape)
    print(world)
    print(f"candidates a query: {lengths.min()} to {lengths.max()}, median {np.median(lengths):g}")
    print(f"grades 0 to {world.max_grade}: {shares} %")
    print(f"nDCG@10 at random: {evaluation.ndcg(noise, world, 10):.3f}")
    if world.features is not None and settings.bm25:
        if not 1 <= settings.bm25 <= world.features.shape[2]:
            raise ValueError(f"--bm25 is {settings.bm25}, outside 1..{world.features.shape[2]}")
        score = evaluation.ndcg(world.features[:, :, settings.bm25 - 1], world, 10)
        print(f"nDCG@10 by feature {settings.bm25}: {score:.3f}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
