"""The value of a policy: expected clicks a page."""

from __future__ import annotations

import numpy as np

from ..clickmodels import ClickModel
from ..data import World, checks
from ..policies import Policy
from .estimates import Estimate
from .pages import ShownPages, shown_pages

SAMPLES = 20_000


def value(
    policy: Policy,
    user: ClickModel,
    world: World,
    samples: int = SAMPLES,
    seed: int = 0,
) -> Estimate:
    """Return the expected clicks a page of ``policy`` shown to ``user``.

    Exact (and so it says) where the user's click probabilities are and the policy is deterministic
    or has few different pages. Otherwise at least ``samples`` rankings are drawn, stratified by
    query, with their exact expected clicks; only for a user that cannot give those (a model that
    enumerates click prefixes, with very long pages) are clicks drawn as well.

    Costs one ``expected_clicks`` a page: one page a query for deterministic policies.
    """
    samples = checks.positive_integer(samples, "samples", 2)
    pages, (scores, exact) = pages_and_scores(policy, (user,), world, samples, seed)
    return pages.estimate(scores[0], exact[0])


def pages_and_scores(
    policy: Policy,
    models: tuple[ClickModel, ...],
    world: World,
    samples: int,
    seed: int,
) -> tuple[ShownPages, tuple[list[np.ndarray], list[bool]]]:
    """Return the pages of ``policy``, and for each model their scores and whether they are exact.

    All models see the same pages.
    """
    for model in models:
        model.check_world(world)
        if model.max_slots is not None and policy.slots > model.max_slots:
            raise ValueError(
                f"the policy shows {policy.slots} slots, the {model.name} knows {model.max_slots}"
            )
    rng = np.random.default_rng((seed, 1))
    # Where a page is expensive, only as many are enumerated as would be drawn.
    most = None if all(model.cheap_scores for model in models) else samples
    pages = shown_pages(policy, world, samples, seed, most=most)
    results = [pages.scores(model, rng) for model in models]
    if pages.whole and not all(exact for _, exact in results):  # clicks drawn once say too little
        pages = shown_pages(policy, world, samples, seed, repeat=True)
        results = [pages.scores(model, rng) for model in models]
    return pages, ([scores for scores, _ in results], [exact for _, exact in results])
