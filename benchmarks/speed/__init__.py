"""How fast the parts of the package are, and how fast one tree is beside another."""
