"""From the evidence about a policy to the few numbers that its interval is computed from."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...common.typing import Floats
from .witnesses import EXPOSURE, KINDS, SCORE

PROMISE = "promise"  # what the middle of the interval is, but for corrections
CENTRE = (PROMISE, "unsupported")  # what the middle follows
SPREAD = (  # what the width follows
    "noise", "scarcity", "disagreement", "unsupported", "moved", "caution", "change",
)  # fmt: skip
_TOLERATED = 0.01  # nats per page by which a witness may be worse and still count


def find_traits(numbers: Mapping[str, float]) -> dict[str, float]:
    """Return the traits of a policy from ``Evidence.numbers``.

    Witnesses count by how well they predict the log: exp(-u / 0.01), where u is by how many nats
    per page they are worse than the best of them. Means over them are ``promise``, by what share
    the policy's pages are better than the logged ones; ``unsupported``, the share of its clicks on
    documents that the log hardly showed; and ``caution``, promise minus cautious promise.
    ``disagreement`` is the standard deviation of all promises, ``change`` the size of the promise.
    ``hardly``, ``moved``, ``noise`` and ``scarcity`` are as they were.
    """
    priors = (EXPOSURE, SCORE) if f"promise {KINDS[0]} {SCORE}" in numbers else (EXPOSURE,)
    names = [f"{kind} {prior}" for prior in priors for kind in KINDS]

    def of(what: str) -> Floats:
        return np.array([numbers[f"{what} {name}"] for name in names])

    weight = np.exp(-of("unlikely") / _TOLERATED)
    weight /= weight.sum()
    promises = of("promise")
    promise = float(weight @ promises)
    return {
        PROMISE: promise,
        "unsupported": float(weight @ of("unsupported")),
        "caution": max(promise - float(weight @ of("cautious")), 0.0),
        "disagreement": float(promises.std()),
        "change": abs(promise),
        **{name: numbers[name] for name in ("hardly", "moved", "noise", "scarcity")},
    }
