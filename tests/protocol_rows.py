"""Rows of a protocol that never ran, with the shape and the size of real numbers."""

from __future__ import annotations

import numpy as np

USERS = ("DBN", "CoCM", "CoCM-mismatch")
LOGGINGS = ("epsilon-oracle", "LambdaMART", "BM25")
TESTS = ("oracle", "LambdaMART", "BM25", "random")
MODELS = ("PBM", "UBM", "DBN", "ARM", "CACM-minus", "NCM")
NAIVE = ("dCTR", "drCTR", "TopPop")
# A model's perplexity above the oracle's: in distribution, and what a shift adds to it.
_INSIDE = {"PBM": 0.030, "UBM": 0.022, "DBN": 0.020, "ARM": 0.026, "CACM-minus": 0.018,
           "NCM": 0.017, "dCTR": 0.045, "drCTR": 0.034, "ARM-NC": -0.06}  # fmt: skip
_SHIFT = {"PBM": 0.004, "UBM": 0.006, "DBN": 0.030, "ARM": 0.022, "CACM-minus": 0.009,
          "NCM": 0.035, "dCTR": 0.12, "drCTR": 0.06, "ARM-NC": 0.3}  # fmt: skip
_NDCG = {"dCTR": 0.86, "drCTR": 0.84, "TopPop": 0.85, "ARM-NC": 0.87, "oracle": 1.0}
_GAIN = {"PBM": 0.05, "UBM": 0.06, "DBN": 0.03, "ARM": -0.01, "CACM-minus": 0.02, "NCM": -0.03}


def protocol_rows(models=(*MODELS, *NAIVE, "ARM-NC", "oracle"), seeds=3, users=USERS, noise=1.0):
    """Return a row for every user, logging policy, model and seed."""
    rng = np.random.default_rng(5)
    return [
        _row(user, logging, model, seed, noise * rng.normal(size=8))
        for seed in range(seeds)
        for model in models
        for user in users
        for logging in LOGGINGS
    ]


def _row(user, logging, model, seed, noise):
    row = {
        "user": user, "logging": logging, "model": model, "seed": seed, "parameters": "table",
        "impressions": 100_000, "slots": 10, "logging_value": 1.0, "random_value": 0.4,
        "best": 1.2, "best_is": "lower bound", "fit_seconds": 3.0,
    }  # fmt: skip
    strength = {"epsilon-oracle": 1.0, "LambdaMART": 0.5, "BM25": 0.25}[logging]
    match = 0.1 if (model, user) == ("DBN", "DBN") else 1.0
    base = 1.25 + 0.02 * USERS.index(user)
    inside = match * _INSIDE.get(model, 0.025) + 0.0008 * noise[0] if model != "oracle" else 0.0
    row["perplexity"] = None if model == "TopPop" else base + inside
    for number, test in enumerate(TESTS):
        shift = match * _SHIFT.get(model, 0.02) * strength * (0.5 + 0.25 * number)
        outside = inside + shift + 0.001 * noise[1 + number] if model != "oracle" else 0.0
        row[f"perplexity_{test}"] = None if model == "TopPop" else base + 0.01 + outside
    for depth in (1, 3, 5, 10):
        quality = _NDCG.get(model, 0.75 + 0.3 * (0.03 - _INSIDE.get(model, 0.025)))
        spread = 0.0 if model == "oracle" else 0.005 * noise[5]
        row[f"ndcg_{depth}"] = quality + spread
    policies = model in _GAIN or model not in (*_NDCG, *_INSIDE)
    top_down = 1.02 + 0.01 * noise[6]
    gain = _GAIN.get(model, 0.01) + (0.03 if user == "CoCM-mismatch" else 0.0)
    values = {
        "top_down_deployed": top_down, "top_down_promised": top_down + 0.05,
        "max_reward_deployed": top_down + gain + 0.004 * noise[7],
        "max_reward_promised": top_down + 0.1 + 4.0 * _SHIFT.get(model, 0.02),
    }  # fmt: skip
    return row | {name: value if policies else None for name, value in values.items()}


# Of the strong shift: in distribution, nDCG@3, out of distribution. DBN is behind UBM in
# distribution and ahead of it outside; NCM is the other way round, and so by nDCG.
_STRONG = {"PBM": (1.33, 0.75, 1.36), "UBM": (1.32, 0.76, 1.35), "DBN": (1.34, 0.70, 1.33),
           "NCM": (1.31, 0.80, 1.37), "CACM-minus": (1.325, 0.74, 1.34),
           "dCTR": (1.36, 0.92, 1.47), "ARM-NC": (1.2, 0.93, 1.6),
           "oracle": (1.28, 1.0, 1.30)}  # fmt: skip


def shift_rows(seeds=3, numbers=(), users=("DBN", "CoCM"), noise=1.0):
    """Return rows of the strong shift; ``numbers`` replaces a model's three."""
    rng = np.random.default_rng(6)
    rows = []
    for seed in range(seeds):
        for model, values in {**_STRONG, **dict(numbers)}.items():
            for user in users:
                inside, quality, outside = np.array(values) + 1e-4 * noise * rng.normal(size=3)
                rows.append({
                    "user": user, "logging": "oracle", "model": model, "seed": seed, "slots": 10,
                    "perplexity": inside, "ndcg_3": quality, "perplexity_reversed": outside,
                })  # fmt: skip
    return rows
