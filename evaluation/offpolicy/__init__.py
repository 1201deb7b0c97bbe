"""Off-policy evaluation: a target policy's value from another policy's log."""
