"""The papers' experiments."""

from .judging import Judged, judge, judge_log
from .strong_shift import SHIFT_MODELS, StrongShift, strong_shift

__all__ = ["SHIFT_MODELS", "Judged", "StrongShift", "judge", "judge_log", "strong_shift"]
