"""Results as pandas frames."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pandas import DataFrame


def frame(columns: Mapping[str, Any]) -> DataFrame:
    """Return a pandas frame of these columns."""
    try:
        from pandas import DataFrame
    except ImportError as error:
        raise ImportError("frames need pip install 'clickgym[plots]'") from error
    return DataFrame(columns)
