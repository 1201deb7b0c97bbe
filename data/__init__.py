"""Worlds and click logs."""

from .embedded import embedded_world
from .letor import load_letor
from .log import ClickLog
from .pyclick import read_pyclick
from .sessions import read_sessions
from .synthetic import synthetic_world
from .world import World

__all__ = [
    "ClickLog", "World", "embedded_world", "load_letor", "read_pyclick", "read_sessions",
    "synthetic_world",
]  # fmt: skip
