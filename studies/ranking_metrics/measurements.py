"""The rows of the study, looked up by what they are about, and what follows from them by seed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...common.typing import Floats
from ...evaluation.statistics import rank_correlation
from ..engine.rows import Row, distinct

LABELS = {
    "reference": "pairwise, long shuffled log",
    "shuffled": "pairwise, shuffled share",
    "pairwise": "pairwise",
    "counterfactual": "counterfactual",
    "uniform": "counterfactual, shuffled share",
    "estimated": "counterfactual, estimated policy",
    "sharper": "counterfactual, policy too sharp",
    "flatter": "counterfactual, policy too flat",
    "pages": "whole pages resampled",
    "page-ndcg": "whole pages, DCG",
    "ips": "IPS",
    "wips": "weighted IPS",
    "pi": "PI",
    "wpi": "weighted PI",
    "dr-ips": "doubly robust IPS",
    "dr-pi": "doubly robust PI",
    "dm-pbm": "direct method, PBM",
    "dm-dctr": "direct method, dCTR",
}
METRIC, ESTIMATE, FUNCTION = "metric", "estimate", "function"
PRODUCTION, BEST = BOUNDS = ("production itself", "best possible")  # beside trained rankers
# Rankers that were trained, by what they do when they are deployed.
ORDERING, CHOOSING = "ordering", "choosing"
DEPLOYMENTS = {
    ORDERING: "ordering the products of production's page",
    CHOOSING: "choosing from all candidates",
}


class Series(NamedTuple):
    """Numbers of one seed in the order of ``at``: values, standard errors, the accepted share."""

    values: Floats
    errors: Floats
    accepted: float


class Measurements:
    """The rows of the study by banner, temperature, seed, name and length of the log.

    Parameters
    ----------
    rows : sequence of dict
        Of the study.
    temperature : float
        The usual one, where no other is asked for.
    """

    def __init__(self, rows: Sequence[Row], temperature: float) -> None:
        self.temperature = temperature
        self.banners: list[str] = distinct(rows, "banner")
        self.seeds: list[int] = sorted(distinct(rows, "seed"))
        self.temperatures: list[float] = sorted(distinct(rows, "temperature"))
        self.slots = {row["banner"]: row["slots"] for row in rows}
        self._groups: dict[tuple[object, ...], list[Row]] = {}
        self._lengths: dict[str, set[int]] = {}
        for row in rows:
            key = (row["part"], row["name"], row["banner"], row["temperature"], row["seed"],
                   row["impressions"])  # fmt: skip
            self._groups.setdefault(key, []).append(row)
            if row["impressions"] is not None and row["temperature"] == temperature:
                self._lengths.setdefault(row["name"], set()).add(row["impressions"])

    def names(self, part: str) -> list[str]:
        """Return the names that ``part`` has: with labels in their order, ``BOUNDS`` last."""
        found = dict.fromkeys(str(key[1]) for key in self._groups if key[0] == part)
        known = [name for name in LABELS if name in found]
        rest = [name for name in found if name not in LABELS]
        return [*known, *sorted(rest, key=lambda name: name in BOUNDS)]

    def sizes(self, name: str = "counterfactual") -> list[int]:
        """Return the lengths of the logs of a metric or estimator, ascending."""
        return sorted(self._lengths.get(name, ()))

    def series(
        self,
        part: str,
        name: str,
        banner: str,
        seed: int,
        temperature: float | None = None,
        impressions: int | None = None,
    ) -> Series | None:
        """Return the numbers; None where there are none.

        Metrics and estimates have the length of a log: by default the longest.
        """
        wanted = self.temperature if temperature is None else temperature
        if impressions is None and part in (METRIC, ESTIMATE):
            impressions = max(self.sizes(name), default=None)
        rows = self._groups.get((part, name, banner, wanted, seed, impressions))
        if rows is None:
            return None
        ordered = sorted(rows, key=lambda row: row["at"])
        values, errors = (
            np.array([np.nan if row[key] is None else row[key] for row in ordered])
            for key in ("value", "stderr")
        )
        accepted = ordered[0]["accepted"]
        return Series(values, errors, np.nan if accepted is None else accepted)

    def goodness(
        self,
        name: str,
        banner: str,
        seed: int,
        temperature: float | None = None,
        impressions: int | None = None,
    ) -> Floats | None:
        """Return how good a metric, an estimator or "deployed" says each function is.

        More is better: disagreements change their sign.
        """
        for part, sign in ((METRIC, -1.0), (ESTIMATE, 1.0), (FUNCTION, 1.0)):
            found = self.series(part, name, banner, seed, temperature, impressions)
            if found is not None:
                return sign * found.values
        return None

    def correlations(
        self,
        name: str,
        banner: str,
        other: str,
        temperature: float | None = None,
        impressions: int | None = None,
        defined: bool = False,
    ) -> Floats:
        """Return Spearman's correlation over functions with ``other``, one for each seed.

        Seeds that lack one of the two are left out. Where one side is the same for all functions
        there is no correlation: it counts as 0, or with ``defined`` is left out as well.
        """
        found = []
        for seed in self.seeds:
            own = self.goodness(name, banner, seed, temperature, impressions)
            wanted = self.goodness(other, banner, seed, temperature)
            if own is None or wanted is None:
                continue
            if not defined or (np.ptp(own) > 0 and np.ptp(wanted) > 0):
                found.append(rank_correlation(own, wanted))
        return np.array(found)

    def regrets(self, name: str, banner: str, impressions: int | None = None) -> Floats:
        """Return what is lost by deploying what a metric likes best, in % of the best, by seed.

        Functions that it likes equally well are equally likely to be deployed.
        """
        found = []
        for seed in self.seeds:
            own = self.goodness(name, banner, seed, impressions=impressions)
            value = self.goodness("deployed", banner, seed)
            if own is not None and value is not None:
                picked = value[own == own.max()].mean()
                found.append(100.0 * (1.0 - picked / value.max()))
        return np.array(found)

    def offsets(self, name: str, banner: str) -> tuple[Floats, Floats]:
        """Return the mean difference of a metric from the reference, and its spread, by seed.

        Both are over functions; the spread is the standard deviation.
        """
        means, spreads = [], []
        for seed in self.seeds:
            own = self.series(METRIC, name, banner, seed)
            wanted = self.series(METRIC, "reference", banner, seed)
            if own is not None and wanted is not None:
                difference = own.values - wanted.values
                means.append(difference.mean())
                spreads.append(difference.std())
        return np.array(means), np.array(spreads)

    def variance_ratios(
        self, name: str, other: str, banner: str, temperature: float | None = None,
        drawn: bool = False,
    ) -> Floats:  # fmt: skip
        """Return by seed how many times the variance of ``other`` that of ``name`` is.

        The mean over functions. Both come from the same number of impressions, so it is also how
        many times as many impressions ``name`` needs for the same standard error. ``drawn``: of
        the paper's algorithms, which draw one product for each click, v (1 - v) / accepted share,
        and not of their expectations.
        """
        found = []
        for seed in self.seeds:
            sides = [self.series(METRIC, one, banner, seed, temperature) for one in (name, other)]
            if None not in sides:
                first, second = (
                    one.values * (1.0 - one.values) / one.accepted if drawn else one.errors**2
                    for one in sides if one is not None
                )  # fmt: skip
                found.append(float(np.mean(first / second)))
        return np.array(found)

    def accepted(self, name: str, banner: str, temperature: float | None = None) -> Floats:
        """Return the share of samples that a metric accepts, by seed."""
        found = (self.series(METRIC, name, banner, seed, temperature) for seed in self.seeds)
        return np.array([one.accepted for one in found if one is not None])

    def trained(self, part: str, name: str, banner: str) -> Floats:
        """Return the deployed value of a trained ranker by seed, in clicks per page."""
        found = (self.series(part, name, banner, seed) for seed in self.seeds)
        return np.array([one.values[0] for one in found if one is not None])

    def by_query(self, name: str, banner: str, seed: int) -> Floats | None:
        """Return "clicks", "accepted" or "sure" of each query; None without them."""
        found = self.series("query", name, banner, seed)
        return None if found is None else found.values
