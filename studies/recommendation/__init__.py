"""Recommenders trained on ratings, and the clicks that simulated users give them."""
