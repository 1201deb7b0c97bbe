"""Policies learned from a log alone, without a click model, that stay safe where it says little."""
