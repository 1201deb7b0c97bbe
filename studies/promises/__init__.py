"""Promises of click models, off-policy estimates and deployment."""
