"""How reading goes on in models that read from the top, as parameters to be fitted."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit

from ...common.typing import Floats
from ..uncertainty.information import strength_of
from .line_prior import LinePrior
from .prior import BetaPrior, logistic

if TYPE_CHECKING:
    from ..networks.cascade_networks import CascadeNetwork
    from .table_fit import LoadNetwork

_RATE_SD = 6.0  # a weak normal prior on the logits of shared rates, against ranks hardly seen
_START_RATE = 2.0  # logit
_CYCLES = 20  # of learning a prior, where it has to be done in one go

# Logits (P,) and their prior -> (Q, N).
PairTable = Callable[[Floats, BetaPrior | LinePrior], Floats]


class Continuation:
    """P(reading goes on) after a skip and after a click, from parameters θ.

    After a skip it is one number; after a click one for each of C click cells, which are the pairs
    or the ranks. Here θ are logits of rates with a weak prior, which the model takes as its
    ``continuation``.

    Attributes
    ----------
    cells : {"pair", "rank"}
        What P(goes on | click) depends on.
    network : callable or None
        Returns the network of models that read so, whose logits have the names of ``arguments``;
        None where there is none. It is imported late, because torch takes a second.
    """

    cells = "pair"
    network: LoadNetwork | None = None

    def start(self, n_cells: int) -> Floats:
        """Return the first θ."""
        raise NotImplementedError(f"{type(self).__name__} does not define start()")

    def values(self, attractive: Floats, theta: Floats) -> tuple[float, Floats]:
        """Return P(goes on | skip) and P(goes on | click), (C,), given attractiveness (P,)."""
        raise NotImplementedError(f"{type(self).__name__} does not define values()")

    def pull_back(
        self, attractive: Floats, theta: Floats, by_skip: float, by_click: Floats
    ) -> tuple[Floats | float, Floats]:
        """Return the gradients by attractiveness (P,) and by θ, given those by the values."""
        raise NotImplementedError(f"{type(self).__name__} does not define pull_back()")

    def prior(self, theta: Floats) -> tuple[float, Floats]:
        """Return minus the log prior of θ and its gradient."""
        gradient = theta / _RATE_SD**2
        return 0.5 * float(theta @ gradient), gradient

    def curvature(self, attractive: Floats, theta: Floats, skips: float, clicked: Floats) -> Floats:
        """Return an estimate of the Hessian's diagonal by θ.

        ``skips`` are those that reading surely went on after, ``clicked`` (C,) clicks by cell.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define curvature()")

    def learn(self, theta: Floats, clicked: Floats, stops: Floats) -> Continuation:
        """Return this with its priors learned, if there are any.

        ``clicked`` (C,) are clicks, ``stops`` (C,) the sum of 1 / P(tail) over last clicks.
        """
        return self

    def from_counts(self, clicked: Floats, went_on: Floats) -> tuple[Floats, Continuation]:
        """Return θ and this with its priors learned, if every last click ended its page.

        ``clicked`` (C,) are clicks, ``went_on`` (C,) those that a later click followed.
        """
        raise NotImplementedError(f"there is no closed form of {type(self).__name__}")

    def arguments(self, theta: Floats, table: PairTable) -> dict[str, Any]:
        """Return the keyword arguments that θ gives the model."""
        return {"continuation": expit(theta)}

    def stop_strengths(
        self, theta: Floats, went_on: Floats, slopes: Floats, squares: Floats
    ) -> Floats:
        """Return the strengths of the posteriors after a click, (C,); empty where there are none.

        ``went_on`` (C,) are clicks that a later click followed, ``slopes`` and ``squares`` (C,)
        what ``TailSquares`` has by click.
        """
        return np.zeros(0)

    def counted_strengths(self, clicked: Floats) -> Floats:
        """Return the same, if every click (C,) is known to have ended its page or not."""
        return np.zeros(0)

    def strengths(self, stops: Floats, table: PairTable) -> dict[str, Floats]:
        """Return the strengths of tables by pair, by name."""
        return {}


class Satisfying(Continuation):
    """DBN: a click satisfies by pair, or else reading goes on as after a skip.

    ``patient`` is the simplified DBN: reading always goes on unless satisfied.
    """

    def __init__(self, patient: bool, satisfied: BetaPrior | None = None) -> None:
        self.patient = patient
        self.satisfied = BetaPrior(1.0, 1.0) if satisfied is None else satisfied

    def network(self) -> type[CascadeNetwork]:
        """Return the network with embeddings of satisfaction."""
        from ..networks.cascade_networks import DBNNetwork, SDBNNetwork

        return SDBNNetwork if self.patient else DBNNetwork

    def split(self, theta: Floats) -> tuple[Floats, float]:
        """Return the logits of satisfaction (P,) and the continuation probability."""
        return (theta, 1.0) if self.patient else (theta[:-1], float(expit(theta[-1])))

    def start(self, n_cells: int) -> Floats:
        """Return θ: satisfaction at the prior's mean."""
        logits = np.full(n_cells, self.satisfied.logit)
        return logits if self.patient else np.append(logits, _START_RATE)

    def values(self, attractive: Floats, theta: Floats) -> tuple[float, Floats]:
        """Return γ and γ (1 - s)."""
        logits, goes_on = self.split(theta)
        return goes_on, goes_on * expit(-logits)

    def pull_back(
        self, attractive: Floats, theta: Floats, by_skip: float, by_click: Floats
    ) -> tuple[Floats | float, Floats]:
        """Return the gradient by θ; attractiveness has no part in it."""
        logits, goes_on = self.split(theta)
        satisfied = expit(logits)
        by_logits = by_click * (-goes_on * satisfied * (1.0 - satisfied))
        if self.patient:
            return 0.0, by_logits
        by_rate = by_skip + float(by_click @ (1.0 - satisfied))
        return 0.0, np.append(by_logits, by_rate * goes_on * (1.0 - goes_on))

    def prior(self, theta: Floats) -> tuple[float, Floats]:
        """Return the Beta prior of satisfaction and the rate's."""
        logits, _ = self.split(theta)
        values = logistic(logits)
        value, gradient = self.satisfied.loss(values), self.satisfied.gradient(values.p)
        if self.patient:
            return value, gradient
        rate_value, rate_gradient = super().prior(theta[-1:])
        return value + rate_value, np.append(gradient, rate_gradient)

    def curvature(self, attractive: Floats, theta: Floats, skips: float, clicked: Floats) -> Floats:
        """Return the binomial information of the clicks, and of all transitions."""
        logits, goes_on = self.split(theta)
        satisfied = expit(logits)
        by_logits = clicked * satisfied * (1 - satisfied) + self.satisfied.curvature(satisfied)
        if self.patient:
            return by_logits
        return np.append(by_logits, (skips + clicked.sum() + 1.0) * (1.0 - goes_on))

    def learn(self, theta: Floats, clicked: Floats, stops: Floats) -> Satisfying:
        """Return this with the satisfaction prior learned from expected satisfactions."""
        logits, _ = self.split(theta)
        # P(tail) = s + (1 - s) P(no more clicks), so s / P(tail) = P(satisfied | tail).
        satisfied = np.clip(expit(logits) * stops, 0.0, clicked)
        return Satisfying(self.patient, self.satisfied.learn(satisfied, clicked))

    def from_counts(self, clicked: Floats, went_on: Floats) -> tuple[Floats, Continuation]:
        """Return satisfaction by pair if every last click satisfied, with its prior learned."""
        stopped = clicked - went_on
        prior = BetaPrior(1.0, 1.0).learn(stopped, clicked, _CYCLES)
        return prior.posterior(stopped, went_on), Satisfying(True, prior)

    def stop_strengths(
        self, theta: Floats, went_on: Floats, slopes: Floats, squares: Floats
    ) -> Floats:
        """Return the strengths of the posteriors of satisfaction, (P,)."""
        logits, goes_on = self.split(theta)
        s = expit(logits)
        # By satisfaction the slope of log P(tail) is γ times minus the one by g₁ = γ (1 - s).
        information = (
            went_on * s * (1 - s)
            - goes_on * slopes * s * (1 - s) * (1 - 2 * s)
            + goes_on**2 * squares * (s * (1 - s)) ** 2
        )
        return strength_of(np.maximum(information, 0.0) + self.satisfied.curvature(s), s, 0.0)

    def counted_strengths(self, clicked: Floats) -> Floats:
        """Return the prior's strength and that of the clicks."""
        return self.satisfied.strength + clicked

    def strengths(self, stops: Floats, table: PairTable) -> dict[str, Floats]:
        """Return that of satisfaction."""
        return {"satisfaction": table(stops, self.satisfied)}

    def arguments(self, theta: Floats, table: PairTable) -> dict[str, Any]:
        """Return satisfaction, and the continuation unless it is one."""
        logits, goes_on = self.split(theta)
        satisfaction = {"satisfaction": table(logits, self.satisfied)}
        return satisfaction if self.patient else {**satisfaction, "continuation": goes_on}


class ByRank(Continuation):
    """DCM: after a click reading goes on with a probability of its rank; after a skip always."""

    cells = "rank"

    def network(self) -> type[CascadeNetwork]:
        """Return the network with one rate for each rank."""
        from ..networks.cascade_networks import DCMNetwork

        return DCMNetwork

    def start(self, n_cells: int) -> Floats:
        """Return θ."""
        return np.full(n_cells, _START_RATE)

    def values(self, attractive: Floats, theta: Floats) -> tuple[float, Floats]:
        """Return 1 and λ, (K,)."""
        return 1.0, expit(theta)

    def pull_back(
        self, attractive: Floats, theta: Floats, by_skip: float, by_click: Floats
    ) -> tuple[Floats | float, Floats]:
        """Return the gradient by θ."""
        return 0.0, by_click * expit(theta) * expit(-theta)

    def curvature(self, attractive: Floats, theta: Floats, skips: float, clicked: Floats) -> Floats:
        """Return the binomial information of the clicks."""
        return clicked * expit(theta) * expit(-theta) + _RATE_SD**-2

    def from_counts(self, clicked: Floats, went_on: Floats) -> tuple[Floats, Continuation]:
        """Return the rates of the clicks that were not their page's last, by rank."""
        return BetaPrior(0.5, 0.5).posterior(went_on, clicked - went_on), self


class ByRelevance(Continuation):
    """CCM: τ₁ after a skip, τ₂ (1 - a) + τ₃ a after a click on a document of attractiveness a."""

    def network(self) -> type[CascadeNetwork]:
        """Return the network with τ₁, τ₂, τ₃."""
        from ..networks.cascade_networks import CCMNetwork

        return CCMNetwork

    def start(self, n_cells: int) -> Floats:
        """Return the logits of τ₁, τ₂, τ₃."""
        return np.full(3, _START_RATE)

    def values(self, attractive: Floats, theta: Floats) -> tuple[float, Floats]:
        """Return τ₁ and the probability by pair."""
        skip, irrelevant, relevant = expit(theta)
        return float(skip), irrelevant + (relevant - irrelevant) * attractive

    def pull_back(
        self, attractive: Floats, theta: Floats, by_skip: float, by_click: Floats
    ) -> tuple[Floats | float, Floats]:
        """Return the gradients by attractiveness and by θ."""
        rates = expit(theta)
        relevant = float(by_click @ attractive)
        by_rates = np.array([by_skip, float(by_click.sum()) - relevant, relevant])
        return by_click * (rates[2] - rates[1]), by_rates * rates * (1.0 - rates)

    def curvature(self, attractive: Floats, theta: Floats, skips: float, clicked: Floats) -> Floats:
        """Return the binomial information of skips and clicks."""
        relevant = float(clicked @ attractive)
        trials = np.array([skips, float(clicked.sum()) - relevant, relevant])
        return trials * expit(theta) * expit(-theta) + _RATE_SD**-2


class Leaving(Continuation):
    """CM: nothing is read after a click, and everything until then; there is no θ."""

    def network(self) -> type[CascadeNetwork]:
        """Return the network of each page down to its first click."""
        from ..networks.cascade_networks import CMNetwork

        return CMNetwork

    def from_counts(self, clicked: Floats, went_on: Floats) -> tuple[Floats, Continuation]:
        """Return no θ."""
        return np.zeros(0), self

    def arguments(self, theta: Floats, table: PairTable) -> dict[str, Any]:
        """Return nothing: the model has attractiveness alone."""
        return {}
