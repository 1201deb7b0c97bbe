"""Numbers that know how sure they are."""

from __future__ import annotations

from typing import Any, Self

Z95 = 1.959963984540054  # quantile of the normal distribution for 95% intervals


class Estimate(float):
    """A number with its standard error: computes and prints as a float.

    Attributes
    ----------
    value : float
    stderr : float
        0 where nothing was sampled.
    low, high : float
        Bounds of the 95% interval, value ± 1.96 stderr unless given.
    method : str
        How it was found: "exact", "sampled rankings", ...
    n : int
        How many pages it comes from.
    """

    stderr: float
    low: float
    high: float
    method: str
    n: int

    def __new__(
        cls,
        value: float,
        stderr: float = 0.0,
        low: float | None = None,
        high: float | None = None,
        method: str | None = None,
        n: int = 0,
    ) -> Self:
        """Make an estimate; the interval follows from the standard error unless it is given."""
        estimate = super().__new__(cls, value)
        estimate.stderr = float(stderr)
        estimate.low = float(value) - Z95 * estimate.stderr if low is None else float(low)
        estimate.high = float(value) + Z95 * estimate.stderr if high is None else float(high)
        estimate.method = method or ("sampled" if stderr else "exact")
        estimate.n = int(n)
        return estimate

    @property
    def value(self) -> float:
        """The number alone."""
        return float(self)

    def __getnewargs__(self) -> tuple[Any, ...]:
        return self.value, self.stderr, self.low, self.high, self.method, self.n

    def __str__(self) -> str:
        return str(self.value)

    def __repr__(self) -> str:
        error = f" ± {self.stderr:.2g}" if self.stderr else ""
        return f"Estimate({self.value:.6g}{error}, {self.method})"
