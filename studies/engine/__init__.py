"""What runs studies: grids of cells, workers, shared logs and fits."""
