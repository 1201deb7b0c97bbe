"""What the cures of the optimiser's curse are worth to the user of the log."""
