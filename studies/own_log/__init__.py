"""Studies of a log of one's own: fitted to, judged, and reported on."""
