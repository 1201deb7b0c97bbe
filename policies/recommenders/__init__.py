"""Recommenders: rankings of items for users, learned from ratings."""
