"""Tables 3 and 4 as the robustness paper prints them, and as its released code gives them.

The second are those of one outside run: the authors' code on logs of 100,000 pages that their own
simulator made from the lists of the embedded world, one log per user and one seed, the first
document of a list masked as they do. They cannot be computed here, because that simulator needs
versions of Python and torch that clickgym does not run on. The same run fitted clickgym's tables to
the same logs, which tells differences between models from differences between logs.
"""

from __future__ import annotations

from ..constants import ORACLE, REFERENCE

METRICS = {"ind PPL": "perplexity", "nDCG@3": "ndcg_3", "ood PPL": "perplexity_reversed"}
SMOOTHED, OWN_CLICK = "dCTR, smoothed", "ARM-NC, reads its click"
# The rows that are another row's model, tested without a switch of the released code.
WITHOUT_SWITCH = {SMOOTHED: "dCTR", OWN_CLICK: REFERENCE}

Numbers = dict[str, tuple[float | None, float | None, float | None]]  # by model, one per metric
PAPER: dict[str, Numbers] = {
    "DBN": {
        ORACLE: (1.2856, 1.0, 1.3002), "dCTR": (1.3428, 0.9219, 1.4683),
        "PBM": (1.3336, 0.8482, 1.3561), "UBM": (1.3271, 0.8580, 1.3413),
        "DBN": (1.3230, 0.7784, 1.3355), "NCM": (1.3248, 0.7851, 1.3501),
        "CACM-minus": (1.3270, 0.8119, 1.3414), REFERENCE: (1.2429, 0.9315, 1.6100),
    },
    "CoCM": {
        ORACLE: (1.2670, 1.0, 1.2611), "dCTR": (1.3025, 0.8476, 1.3485),
        "PBM": (1.3036, 0.7475, 1.3030), "UBM": (1.2945, 0.7677, 1.2949),
        "DBN": (1.2973, 0.6674, 1.3040), "NCM": (1.2948, 0.6723, 1.3067),
        "CACM-minus": (1.2928, 0.7019, 1.2934), REFERENCE: (1.1891, 0.8765, 1.7012),
    },
}  # fmt: skip
RELEASED_CODE: dict[str, Numbers] = {
    "DBN": {
        ORACLE: (1.303, None, 1.316), "dCTR": (1.328, 0.948, 1.511),
        SMOOTHED: (None, None, 1.402), "PBM": (1.321, 0.899, 1.342), "UBM": (1.316, 0.893, 1.336),
        "DBN": (1.313, 0.791, 1.336), "NCM": (1.315, 0.817, 1.345),
        "CACM-minus": (1.316, 0.848, 1.339), "ARM": (1.328, 0.909, 1.451),
        REFERENCE: (1.232, 0.955, 1.865), OWN_CLICK: (None, None, 1.413),
    },
    "CoCM": {
        ORACLE: (1.261, None, 1.244), "dCTR": (1.299, 0.873, 1.353),
        SMOOTHED: (None, None, 1.306), "PBM": (1.301, 0.813, 1.300), "UBM": (1.292, 0.788, 1.294),
        "DBN": (1.295, 0.683, 1.302), "NCM": (1.296, 0.606, 1.312),
        "CACM-minus": (1.291, 0.743, 1.292), REFERENCE: (1.185, 0.897, 1.994),
        OWN_CLICK: (None, None, 1.454),
    },
}  # fmt: skip
# clickgym's tables on the very logs of the released code.
SAME_LOGS: dict[str, Numbers] = {
    "DBN": {
        "dCTR": (1.328, 0.948, 1.511), SMOOTHED: (None, None, 1.402), "PBM": (1.318, 0.898, 1.340),
        "UBM": (1.313, 0.897, 1.333), "DBN": (1.310, 0.883, 1.328),
        "CACM-minus": (1.313, 0.900, 1.332), "ARM": (1.322, 0.956, 1.432),
        REFERENCE: (1.232, 0.970, 1.741), OWN_CLICK: (None, None, 1.313),
    },
    "CoCM": {
        "dCTR": (1.299, 0.877, 1.353), SMOOTHED: (None, None, 1.306), "PBM": (1.299, 0.826, 1.299),
        "UBM": (1.290, 0.817, 1.291), "DBN": (1.292, 0.822, 1.294),
        "CACM-minus": (1.289, 0.818, 1.290), REFERENCE: (1.184, 0.934, 1.691),
        OWN_CLICK: (None, None, 1.291),
    },
}  # fmt: skip
NOTHING = (None, None, None)
USERS = tuple(PAPER)
