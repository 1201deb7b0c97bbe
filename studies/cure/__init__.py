"""Cures of the curse: informed priors, pessimism, and policies without a click model."""
