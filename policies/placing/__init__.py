"""Where the vertical block of a page stands."""
