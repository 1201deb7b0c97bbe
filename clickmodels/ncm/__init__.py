"""The neural click model."""
