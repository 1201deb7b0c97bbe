"""How well ratings predict the clicks that recommenders get."""
