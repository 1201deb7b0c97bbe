"""Rankings that a click model likes best."""
