"""How much of what can be earned agents learn."""
