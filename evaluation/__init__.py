"""Metrics."""

from .ndcg import ndcg

__all__ = ["ndcg"]
