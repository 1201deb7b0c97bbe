"""Every study in a size that runs in a moment."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from own_study import Powers

from clickgym import data, studies
from clickgym.studies import WorldSetting

WORLD = WorldSetting(n_queries=5, n_docs=6)
FULL = WorldSetting(n_queries=10, n_docs=0)
FEW = {"world": WORLD, "impressions": 300, "seeds": 1}


def own_log():
    """Return a log without grades, as one reads it from a table."""
    rng = np.random.default_rng(0)
    world = data.World(np.full((3, 4), -1), candidates=np.ones((3, 4), dtype=bool))
    ranking = np.argsort(rng.random((200, 4)), axis=1)[:, :3]
    log = data.ClickLog(rng.integers(0, 3, 200), ranking, rng.random((200, 3)) < 0.3)
    train, test = log.split((0.8, 0.2), 0)
    return studies.LogSetting.from_logs(world, {"train": train, "test": test})


OWN_LOG = own_log()
CLICKS = Path(__file__).parent / "own_clicks.csv"  # a table as ``own_tables`` writes it
SMALL = {
    "curse": studies.Curse(("DBN",), ("random",), ("PBM", "UBM"), slots=3, **FEW),
    "compare": studies.Compare(
        ("CascadeUCB1",), ("PBM", "true user"), ("DBN",), pages=200, slots=3, **FEW
    ),
    "protocol": studies.Protocol(
        ("DBN",), ("random", "oracle"), ("PBM", "dCTR", "oracle"), slots=3, test_pages=50,
        tests=("random",), **FEW,
    ),
    "strong-shift": studies.StrongShift(("DBN",), ("PBM", "dCTR"), **FEW),
    "conditions": studies.Conditions(((4, 2),), (20, 40), 20, 1, FULL),
    "bias": studies.Bias((4, 2), FULL),
    "learning": studies.Learning(FULL, 2, 20, 2),
    "sessions": studies.SessionStudy(2, (20, 40), 20, 20),
    "fit": studies.FitLog("log", OWN_LOG, ("PBM", "dCTR"), seeds=2),
    "promises": studies.Promises(
        ("DBN",), ("PBM", "UBM"), ("Top-Down",), ("random",), pages=100, slots=3, **FEW
    ),
    "report": studies.OwnLogReport(str(CLICKS), models=("UBM", "ARM")),
    "powers": Powers(),
}  # fmt: skip
