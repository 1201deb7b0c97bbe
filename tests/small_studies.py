"""Every study in a size that runs in a moment."""

from __future__ import annotations

from own_study import Powers

from clickgym import studies
from clickgym.studies import WorldSetting

WORLD = WorldSetting(n_queries=5, n_docs=6)
FULL = WorldSetting(n_queries=10, n_docs=0)
FEW = {"world": WORLD, "impressions": 300, "seeds": 1}
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
    "promises": studies.Promises(
        ("DBN",), ("PBM", "UBM"), ("Top-Down",), ("random",), pages=100, slots=3, **FEW
    ),
    "powers": Powers(),
}  # fmt: skip
