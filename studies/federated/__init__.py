"""Result pages with a vertical block: which metrics predict what users do there."""
