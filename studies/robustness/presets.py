"""The runs of the protocol that have a name."""

from __future__ import annotations

from ..setting import WorldSetting
from .judging import NAIVE, REFERENCE
from .protocol import Protocol
from .protocol_cells import ORACLE

CLICK_MODELS = ("PBM", "UBM", "DBN", "ARM", "CACM-minus", "NCM")  # of figures 1 and 2
SHIFT_MODELS = ("dCTR", "PBM", "UBM", "DBN", "NCM", "CACM-minus", "ARM", "ARM-NC")  # section 6.1
USERS = ("DBN", "CoCM", "CoCM-mismatch")
LOGGINGS = ("epsilon-oracle", "LambdaMART", "BM25")
_ALL = (*CLICK_MODELS, *NAIVE, REFERENCE, ORACLE)

PRESETS = {
    "quick": Protocol(
        USERS, LOGGINGS, _ALL, 2, WorldSetting(n_queries=100, n_docs=20), 10_000,
        test_pages=2_000,
    ),
    "paper": Protocol(
        USERS, LOGGINGS, _ALL, 10, WorldSetting(n_queries=1000, n_docs=0), 100_000,
        parameters="embedding",
    ),
    "strong-shift": Protocol(
        ("DBN", "CoCM"), ("oracle",), (*SHIFT_MODELS, ORACLE), 10,
        WorldSetting(n_queries=1000, n_docs=10), 100_000, temperature=0.5,
        tests=("reversed",), optimise=False,
    ),
}  # fmt: skip
