"""Worlds and click logs."""

from .joining import join_log
from .log import ClickLog
from .ratings import Ratings
from .readers.letor import load_letor
from .readers.movielens import load_movielens
from .readers.pyclick import read_pyclick
from .readers.score_tables import read_scores
from .readers.sessions import read_sessions
from .readers.tables.reading import read_log
from .readers.tables.report import LogReport
from .readers.tables.sources import BadLog
from .synthetic import embedded_vertical_world, embedded_world, synthetic_world
from .synthetic_ratings import embedded_ratings, embedded_ratings_world, synthetic_ratings
from .world import World

__all__ = [
    "BadLog", "ClickLog", "LogReport", "Ratings", "World", "embedded_ratings",
    "embedded_ratings_world", "embedded_vertical_world", "embedded_world", "join_log",
    "load_letor", "load_movielens", "read_log", "read_pyclick", "read_scores",
    "read_sessions", "synthetic_ratings", "synthetic_world",
]  # fmt: skip
