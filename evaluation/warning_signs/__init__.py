"""What warns, before deployment, that a promise made from a log will not be kept."""
