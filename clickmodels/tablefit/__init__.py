"""Fits of tables: full-batch, on counts of a log."""
