"""The scoring functions of a team, drawn by a rule that looks at no metric."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...common.typing import Floats
from ...data import World
from .traffic import Production, standardise

WORST, BEST = 0.32, 0.53  # correlation of scores with grades
_DRAWN = 11  # sets these numbers apart from those of the traffic


@dataclass(frozen=True)
class ScoringFunctions:
    """Scoring functions of similar quality, some close to production and some far from it.

    Attributes
    ----------
    scores : (F, Q, N)
    quality : (F,)
        Correlation with the grades that was drawn.
    inherited : (F,)
        The share of the error (of its variance) that is production's, as it was drawn.
    closeness : (F,)
        Mean over queries of the correlation with production's scores, as it turned out.
    """

    scores: Floats
    quality: Floats
    inherited: Floats
    closeness: Floats


def draw_functions(
    world: World, production: Production, number: int, seed: int
) -> ScoringFunctions:
    """Draw ``number`` scoring functions.

    The rule: for each function its quality ρ is uniform in [WORST, BEST], and the share h of its
    error that it has in common with production is uniform in [0, 1]: a new version is often built
    from the old one, on the same features and on clicks that the old one earned. Then

        score = ρ · quality + √(1 - ρ²) · (√h · production's error + √(1 - h) · own error),

    where quality are the grades, standardised within each query, and a function's own error is
    standard normal. Nothing else is looked at, no function is drawn again or left out. The bounds
    of ρ were chosen on other seeds (100 to 104) so that disagreements on shuffled traffic differ
    by some 0.05.
    """
    rng = np.random.default_rng((seed, _DRAWN))
    quality = rng.uniform(WORST, BEST, number)
    inherited = rng.uniform(0.0, 1.0, number)
    own = rng.standard_normal((number, *production.error.shape))
    kept, new = np.sqrt(inherited)[:, None, None], np.sqrt(1.0 - inherited)[:, None, None]
    right = quality[:, None, None]
    error = kept * production.error + new * own
    scores = right * production.quality + np.sqrt(1.0 - right**2) * error
    return ScoringFunctions(
        scores, quality, inherited, _correlate(world, scores, production.scores)
    )


def _correlate(world: World, scores: Floats, other: Floats) -> Floats:
    """Return the mean over queries of the correlation of scores (F, Q, N) with others (Q, N)."""
    count = np.maximum(world.candidates.sum(axis=1), 1)
    wanted = standardise(other, world.candidates)
    return np.array([
        ((standardise(one, world.candidates) * wanted).sum(axis=1) / count).mean()
        for one in scores
    ])  # fmt: skip
