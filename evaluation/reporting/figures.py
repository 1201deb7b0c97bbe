"""What all pictures share: a quiet backend, an error that names the extra, atomic saving."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...common.storage import write_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TOP_DOWN, MAX_REWARD = "#7fa8d1", "#0c4c8a"
PROMISED, LOGGING, BEST, RANDOM = "#d1495b", "#3f7d20", "#222222", "#8c8c8c"


def new_figure(width: float, height: float, **settings: Any) -> Figure:
    """Return an empty matplotlib figure that belongs to no window."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("pictures need pip install 'clickgym[plots]'") from error
    return Figure(figsize=(width, height), layout="constrained", **settings)


def save_figure(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a picture, in the format that the name ends with, atomically."""
    kind = Path(path).suffix.lstrip(".") or "png"
    with write_whole(path) as temporary:
        figure.savefig(temporary, dpi=130, format=kind)
