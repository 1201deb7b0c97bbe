"""The comparison of agents trained inside click models."""
