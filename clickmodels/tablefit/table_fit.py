"""What a click model declares about the fit of its tables, and the steps that all fits share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit

from ...common.runtime import cores
from ...common.typing import Booleans, Floats, Integers
from ...data import ClickLog, World
from ..uncertainty.posterior import Uncertainty
from .line_prior import LinePrior
from .prior import BetaPrior

if TYPE_CHECKING:
    from ..base import ClickModel
    from ..networks.embeddings import Embedding, Hidden
    from ..networks.network import Network

# Imports torch late, and returns what makes a network of (world, slots, embedding, hidden).
LoadNetwork = Callable[[], "Callable[[World, int, Embedding, Hidden], Network]"]


class TableFit:
    """Fits a logit for every query-document pair, and what else a model has, to counts of a log.

    The prior of the pairs' probabilities is learned from the log. A fit takes three steps:
    ``fold`` finds the places of a log's rows in its sufficient statistics, which are then counted;
    ``search`` finds the most likely parameters, ``arguments`` names them as the model does.
    Bootstraps of one log share the first step, are counted together, and begin the second where
    the fit to the log itself ended.

    Attributes
    ----------
    settings : frozenset of str
        What ``clickmodels.fit`` may set.
    uses_network : bool
        Whether a part of the fit of tables is a network: its first weights are drawn, so that
        the seed counts.
    network : callable or None
        Returns what makes the network that is trained with ``parameters="embedding"``; None where
        there is none, so that the model has tables alone.
    informed : bool
        Whether ``search`` takes ``covariate`` (Q * N,), which the prior's mean then follows.
    """

    settings: frozenset[str] = frozenset()
    uses_network: bool = False
    network: LoadNetwork | None = None
    informed: bool = False

    def fold(self, log: ClickLog, world: World) -> Any:
        """Return the places of the log's rows in the sufficient statistics."""
        raise NotImplementedError(f"{type(self).__name__} does not define fold()")

    def search(self, fold: Any, counts: Any, seed: int, start: Any, **settings: Any) -> Any:
        """Return the most likely parameters given the counts, beginning at ``start``."""
        raise NotImplementedError(f"{type(self).__name__} does not define search()")

    def arguments(self, fold: Any, fitted: Any, world: World) -> dict[str, Any]:
        """Return the keyword arguments that make the model of the parameters found."""
        raise NotImplementedError(f"{type(self).__name__} does not define arguments()")

    def strengths(self, fold: Any, counts: Any, fitted: Any, world: World) -> dict[str, Floats]:
        """Return as how many trials the posterior of each table's entries counts, (Q, N) each.

        Here nothing is known: the model then has no posterior.
        """
        return {}

    def seen(self, fold: Any, counts: Any, world: World) -> Booleans | None:
        """Return the documents that have a count, (Q, N); None where counts leave some out."""
        seen = np.zeros(world.n_queries * world.n_docs, dtype=bool)
        seen[fold.pairs] = counts.shown(len(fold.pairs))
        return seen.reshape(world.n_queries, world.n_docs)

    def fit(
        self,
        model: type[ClickModel],
        log: ClickLog,
        world: World,
        seeds: Sequence[int],
        weights: Floats | None = None,
        covariate: Floats | None = None,
        **settings: Any,
    ) -> list[ClickModel]:
        """Return a ``model`` for each of M ``weights`` (n, M) of the log's rows, with its seed.

        Without ``weights`` there is one, for the log's own. Each has its ``uncertainty``. With a
        ``covariate`` (Q * N,) the mean of the pairs' prior follows it.
        """
        unknown = set(settings) - self.settings
        if unknown:
            has = ", ".join(sorted(self.settings)) or "no settings"
            raise TypeError(
                f"{model.name} with parameters='table' has {has}, not {', '.join(sorted(unknown))}"
            )
        if covariate is not None:
            if not self.informed:
                raise ValueError(f"{model.name} has no informed prior: its prior is 'plain'")
            settings["covariate"] = covariate
        self.check_slots(model.name, log.slots)
        fold, start = self.fold(log, world), None

        def make_member(counts: Any, seed: int) -> ClickModel:
            fitted = self.search(fold, counts, seed, start, **settings)
            member = model(**self.arguments(fold, fitted, world))
            member.seen = self.seen(fold, counts, world)
            known = self.strengths(fold, counts, fitted, world)
            if known:
                kept = {name: table.astype(np.float32) for name, table in known.items()}
                member.uncertainty = Uncertainty(kept)
            return member

        if weights is None:
            return [make_member(fold.whole, seeds[0])]
        if not self.uses_network:
            start = self.search(fold, fold.whole, seeds[0], None, **settings)
        # Threads, because nearly all of a search is inside NumPy; but torch's seed is everyone's.
        threads = 1 if self.uses_network else cores()
        with ThreadPoolExecutor(min(len(seeds), threads)) as pool:
            return list(pool.map(make_member, fold.counts(weights), seeds))

    def check_slots(self, name: str, slots: int) -> None:
        """Raise where pages are too long for the model ``name``."""


def strength_table(
    pairs: Integers, strengths: Floats, prior: BetaPrior | LinePrior, world: World
) -> Floats:
    """Return strengths (Q, N): those of the ``pairs`` (P,), the prior's elsewhere."""
    table = np.full(world.n_queries * world.n_docs, prior.strength)
    table[pairs] = strengths
    return table.reshape(world.n_queries, world.n_docs)


def pair_table(
    pairs: Integers, logits: Floats, prior: BetaPrior | LinePrior, world: World
) -> Floats:
    """Return probabilities (Q, N): those of the ``pairs`` (P,), the prior's mean elsewhere."""
    table = np.full(world.n_queries * world.n_docs, prior.mean)
    table[pairs] = expit(logits)
    return table.reshape(world.n_queries, world.n_docs)
