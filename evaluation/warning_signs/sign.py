"""What all reports of warning signs have in common: a warning in words, and their numbers."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar, Protocol

import numpy as np

from ...common.runtime import import_extra


class Report(Protocol):
    """What ``warn`` expects of a report."""

    sign: ClassVar[str]

    @property
    def warning(self) -> str | None:
        """What is wrong and what to do about it; None where nothing is."""

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers as JSON values."""


class SignReport:
    """A report that is a frozen dataclass of numbers and arrays.

    Attributes
    ----------
    sign : str
        What it is called.
    """

    sign: ClassVar[str] = ""

    @property
    def warning(self) -> str | None:
        """What is wrong and what to do about it, in a sentence or two; None where nothing is."""
        raise NotImplementedError(f"{type(self).__name__} does not define warning")

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON values, with its name and warning; NaN becomes None.

        Tables with a number for every query stay out (those that printing leaves out).
        """
        fields = [field.name for field in dataclasses.fields(self) if field.repr]  # type: ignore[arg-type]
        values = {name: to_json(getattr(self, name)) for name in fields}
        return {"sign": self.sign, "warning": self.warning, **values}

    def to_frame(self) -> Any:
        """Return ``to_dict`` as a pandas frame of two columns; needs ``clickgym[plots]``."""
        pandas = import_extra("pandas", "plots", "frames need")
        return pandas.DataFrame(self.to_dict().items(), columns=["what", "value"])


def to_json(value: Any) -> Any:
    """Return numbers, arrays and tuples as JSON values; NaN and infinity become None."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [to_json(part) for part in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value


def percent(share: float) -> str:
    """Return a share in words: "12%", "0.4%"."""
    return f"{100.0 * share:.2g}%" if share < 0.1 else f"{100.0 * share:.0f}%"
