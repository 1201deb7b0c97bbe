"""Ranking metrics from clicks that compare products fairly although traffic is not shuffled."""
