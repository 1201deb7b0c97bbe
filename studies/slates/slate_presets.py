"""The runs of the off-policy studies that have a name."""

from __future__ import annotations

from typing import Any

from ...common import checks
from ..setting import WorldSetting
from .forty_conditions import Ope

OPE_PRESETS = {
    "quick": Ope(
        sizes=(600, 2_000, 6_000), direct=2_000, repetitions=5,
        world=WorldSetting(n_queries=200, n_docs=0),
    ),
    "paper": Ope(),
    "large": Ope(sizes=(600, 2_000, 6_000, 20_000, 60_000, 200_000, 600_000)),
}  # fmt: skip

# Arguments of the other studies; what is left out has their default.
BIAS_PRESETS: dict[str, dict[str, Any]] = {
    "quick": {"world": WorldSetting(n_queries=50, n_docs=0)},
    "paper": {"world": WorldSetting(n_queries=1000, n_docs=0)},
}
LEARNING_PRESETS: dict[str, dict[str, Any]] = {
    "quick": {"world": WorldSetting(n_queries=100, n_docs=0), "samples": 500, "trees": 50},
    "paper": {"world": WorldSetting(n_queries=1000, n_docs=0)},
}
SESSION_PRESETS: dict[str, dict[str, Any]] = {
    "quick": {
        "repetitions": 5, "sizes": (300, 1_000, 3_000), "direct": 1_000, "truth": 5_000,
    },
    "paper": {},
}  # fmt: skip
PROMISE_PRESETS: dict[str, dict[str, Any]] = {
    "quick": {
        "users": ("DBN", "CoCM-mismatch"), "models": ("PBM", "DBN"), "seeds": 1,
        "world": WorldSetting(n_queries=20, n_docs=30), "pages": 5_000, "impressions": 20_000,
    },
    "paper": {},
}  # fmt: skip
PRESET_NAMES = tuple(OPE_PRESETS)


def preset_of(presets: dict[str, dict[str, Any]], name: str) -> dict[str, Any]:
    """Return a preset's arguments."""
    checks.choice(name, tuple(presets), "preset")
    return dict(presets[name])
