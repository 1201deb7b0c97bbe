"""The posterior of a fitted model's tables: how far each entry may be from the truth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from ...common import checks
from ...common.typing import Booleans, Floats, Integers


def check_level(level: float) -> float:
    """Return the level of a quantile, strictly between 0 and 1."""
    level = float(checks.probabilities(level, "level", 0))
    if not 0.0 < level < 1.0:
        raise ValueError(f"level must be between 0 and 1, not {level}")
    return level


@dataclass(frozen=True, eq=False)
class BetaTable:
    """A Beta posterior of every probability of a table.

    Attributes
    ----------
    mean : (Q, N)
        The fitted table itself.
    strength : (Q, N)
        As how many clean trials the posterior counts, the prior's among them.
    """

    mean: Floats
    strength: Floats

    @property
    def sd(self) -> Floats:
        """Standard deviations, (Q, N)."""
        return np.sqrt(self.mean * (1.0 - self.mean) / (self.strength + 1.0))

    def quantile(self, level: float) -> Floats:
        """Return the probabilities that the truth is below with probability ``level``, (Q, N)."""
        level = float(checks.probabilities(level, "level", 0))
        result = betaincinv(
            np.maximum(self.strength * self.mean, 1e-12),
            np.maximum(self.strength * (1.0 - self.mean), 1e-12),
            level,
        )
        return np.asarray(result)

    def interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Return the ends of the central intervals that hold the truth with this probability."""
        level = float(checks.probabilities(level, "level", 0))
        return self.quantile(0.5 - 0.5 * level), self.quantile(0.5 + 0.5 * level)


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """What a model keeps of its fit beside its parameters; saved with it.

    Attributes
    ----------
    strengths : dict of (Q, N) float32
        By the name of the model's table.
    numbers : dict of float
        What the log says about the model: see ``caution.assess``.
    level : (Q,) float32 or None
        The expected clicks of each query's logged pages.
    """

    strengths: Mapping[str, NDArray[np.float32]]
    numbers: Mapping[str, float] = field(default_factory=dict)
    level: NDArray[np.float32] | None = None

    def for_documents(self, classes: Integers) -> Uncertainty:
        """Return that of documents (Q, N) which are like their class, of a fit by grade."""
        tables = {name: table[0][classes] for name, table in self.strengths.items()}
        return Uncertainty(tables, self.numbers)


class Posterior(Mapping[str, BetaTable]):
    """The posterior of a model's tables by name: ``posterior["satisfaction"].sd``.

    What it has itself is that of attractiveness.

    Parameters
    ----------
    tables : mapping of BetaTable
    shown : (Q, N) bool or None
        The documents that the log showed. The others have the prior's mean and spread.
    numbers : mapping of float
        What the log says about the model; of those that can predict clicks:
        ``slope``, ``slope_stderr``, ``trust``, ``misplaced`` and ``pessimism``.
    """

    def __init__(
        self,
        tables: Mapping[str, BetaTable],
        shown: Booleans | None,
        numbers: Mapping[str, float],
    ) -> None:
        self._tables, self.shown, self.numbers = dict(tables), shown, dict(numbers)

    def __getitem__(self, name: str) -> BetaTable:
        """Return the posterior of a table, such as "attractiveness" or "satisfaction"."""
        if name not in self._tables:
            raise KeyError(f"no posterior of {name!r}; there is: {', '.join(self._tables)}")
        return self._tables[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)

    @property
    def mean(self) -> Floats:
        """Means of attractiveness, (Q, N)."""
        return self["attractiveness"].mean

    @property
    def sd(self) -> Floats:
        """Standard deviations of attractiveness, (Q, N)."""
        return self["attractiveness"].sd

    def quantile(self, level: float) -> Floats:
        """Return quantiles of attractiveness, (Q, N)."""
        return self["attractiveness"].quantile(level)

    def interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Return the ends of central intervals of attractiveness, (Q, N) each."""
        return self["attractiveness"].interval(level)
