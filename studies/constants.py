"""The lists of the robustness paper: users, logging policies, click models, tests, depths."""

from __future__ import annotations

USERS = ("DBN", "CoCM", "CoCM-mismatch")
LOGGINGS = ("epsilon-oracle", "LambdaMART", "BM25")  # rankers whose stochastic variants log
TEST_POLICIES = ("oracle", "LambdaMART", "BM25", "random")
CLICK_MODELS = ("PBM", "UBM", "DBN", "ARM", "CACM-minus", "NCM")  # of figures 1 and 2
FOUR_MODELS = ("PBM", "UBM", "DBN", "NCM")  # those that studies take unless told otherwise
REFERENCE = "ARM-NC"  # reads the click that it predicts, so its perplexity is not compared
NAIVE = ("CTR", "rCTR", "dCTR", "drCTR", "TopPop", "TopPopObs", "RankTopObs")
SHIFT_MODELS = ("dCTR", "PBM", "UBM", "DBN", "NCM", "CACM-minus", "ARM", REFERENCE)  # section 6.1
ORACLE = "oracle"  # instead of a click model: the user itself, the bound of all of them
PERPLEXITY_RANKS = (1, 2, 5, 10)
GRADED_DEPTHS = (1, 3, 5, 10)  # of nDCG and recall
