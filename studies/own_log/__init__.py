"""Studies of a log of one's own: kept in the run's folder, fitted to and judged."""
