"""What click models promise for a policy: as they are, and as far as their log supports them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from ...clickmodels import ClickModel
from ...clickmodels.uncertainty.caution import honest_model, honest_values, level_of
from ...common.typing import Booleans
from ..logs.description import RARE
from ..logs.pairs import LoggedPairs
from ..values import ShownPages
from ..warning_signs.members import click_probs

CAUTION = 1.0  # λ of the cautious promise


@dataclass(frozen=True)
class Promise:
    """What one click model expects of a policy, in clicks per page.

    Attributes
    ----------
    model : str
    promised : float
        As the model is.
    pessimistic : float or None
        What the log supports of it: the promise of ``max_reward(…, pessimism="auto")``. None
        without a posterior, as is the next.
    cautious : float or None
        With every pair one standard deviation (λ = 1) below its mean.
    hardly : float
        The share of the promised clicks that fall on documents which the log hardly showed.
    """

    model: str
    promised: float
    pessimistic: float | None
    cautious: float | None
    hardly: float

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return asdict(self)


@dataclass(frozen=True, eq=False)
class Promiser:
    """A click model with its lower variants, which are made once for many policies."""

    name: str
    model: ClickModel
    honest: ClickModel | None
    cautious: ClickModel | None

    @classmethod
    def of(cls, name: str, model: ClickModel) -> Promiser:
        """Make the variants, of a model that has a posterior."""
        known = model.uncertainty
        if known is None:
            return cls(name, model, None, None)
        honest = None if known.level is None else honest_model(model)
        return cls(name, model, honest, model.lower(level_of(CAUTION)))

    def promise(self, pages: ShownPages, rare: Booleans) -> Promise:
        """Return what the model expects of a policy's ``pages``.

        ``rare`` (n, K) are the documents on them that the log hardly showed.
        """
        probs = click_probs(self.model, pages)
        clicks = float(pages.weight @ probs.sum(axis=1))
        unsupported = float(pages.weight @ (probs * rare).sum(axis=1))
        pessimistic = cautious = None
        if self.honest is not None:
            values = honest_values(self.model, pages.ranking, pages.query, self.honest)
            pessimistic = float(pages.weight @ values)
        if self.cautious is not None:
            cautious = float(pages.weight @ self.cautious.expected_clicks(
                pages.query, pages.ranking
            ))  # fmt: skip
        share = unsupported / clicks if clicks > 0 else 0.0
        return Promise(self.name, clicks, pessimistic, cautious, share)


def hardly_shown(pages: ShownPages, pairs: LoggedPairs, least: int = RARE) -> Booleans:
    """Return which documents on pages the log showed fewer than ``least`` times, (n, K)."""
    there = pages.ranking >= 0
    return there & (pairs.count(pages.query[:, None], pages.ranking) < least)
