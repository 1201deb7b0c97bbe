"""The deployment card: what a policy will earn, and whether to deploy it, from a log alone."""
