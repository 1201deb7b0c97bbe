"""What ratings and recommenders cost, and why recommenders differ."""
