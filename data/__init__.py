"""Worlds and click logs."""

from .log import ClickLog
from .readers.letor import load_letor
from .readers.pyclick import read_pyclick
from .readers.sessions import read_sessions
from .synthetic import embedded_world, synthetic_world
from .world import World

__all__ = [
    "ClickLog", "World", "embedded_world", "load_letor", "read_pyclick", "read_sessions",
    "synthetic_world",
]  # fmt: skip
