"""What every room uses: checks, storage, registry, progress, random numbers, ordering, grouping."""
