"""Stable-Baselines3's agents, and the glue to its environments."""
