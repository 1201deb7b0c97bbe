"""Users of pages with a vertical block, and logs of them: those of the benchmark of fits."""

from fits.vertical_fits import ATTRACTIVENESS, PUBLISHED, make_log, make_user, plain_world

__all__ = ["ATTRACTIVENESS", "PUBLISHED", "make_log", "make_user", "plain_world"]
