"""Agents that rank whole pages and learn from counts of clicks."""
