"""How much several models of one log disagree about a policy, and about which documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from ...clickmodels import ClickModel, Ensemble
from ...common import checks
from ...common.typing import Floats
from ...data import ClickLog, World
from ...policies import Policy
from ..logs.description import RARE
from ..logs.pairs import LoggedPairs, count_pairs
from ..values import ShownPages, shown_pages
from .sign import SignReport, percent
from .support import MOST_UNSUPPORTED

MOST_SPREAD = 0.05  # of the mean promise
SAMPLES = 2_000  # pages of a stochastic policy: each costs click probabilities of every model
_CHUNK = 8192  # pages scored at a time

Models = ClickModel | Sequence[ClickModel] | Mapping[str, ClickModel]


@dataclass(frozen=True)
class MembersDisagreement(SignReport):
    """What several models promise for one policy, and where they differ.

    Attributes
    ----------
    models : tuple of str
    values : (M,)
        Expected clicks per page that each model promises.
    spread : float
        Their standard deviation.
    query_spread : float
        The mean over queries of the standard deviation of what models promise for the query:
        errors of single queries cancel in ``spread``, and not here.
    supported_spread, unsupported_spread : float
        The mean over shown documents of the standard deviation of their click probability, of
        documents that the log showed ``at_least`` times and of others; NaN where there are none.
    unsupported : float
        The share of what the policy shows that is not supported.
    at_least : int
    per_query : (Q,)
        The standard deviation of each query; NaN for one that is not asked.

    Notes
    -----
    Members of a bootstrap ensemble of tables all have the same prior for a document that the log
    never showed. They agree about it because none of them knows anything: there, a small spread
    says nothing.
    """

    sign: ClassVar[str] = "members' disagreement"
    models: tuple[str, ...]
    values: Floats
    spread: float
    query_spread: float
    supported_spread: float
    unsupported_spread: float
    unsupported: float
    at_least: int
    per_query: Floats = field(repr=False)

    @property
    def mean(self) -> float:
        """The mean promise."""
        return float(self.values.mean())

    @property
    def silent(self) -> bool:
        """Whether models agree better about documents that the log hardly showed than about others.

        They cannot know more about these: they share what they do not know.
        """
        return bool(
            self.unsupported > MOST_UNSUPPORTED
            and self.unsupported_spread <= self.supported_spread
        )

    @property
    def warning(self) -> str | None:
        """Speaks where promises differ by more than 5%, and where agreement is no evidence."""
        differ = self.spread > MOST_SPREAD * abs(self.mean)
        if differ:
            low, high = self.values.argmin(), self.values.argmax()
            return (
                f"The models promise between {self.values[low]:.3g} ({self.models[low]}) and "
                f"{self.values[high]:.3g} ({self.models[high]}) clicks per page for this policy: "
                "at least one of them is wrong by as much. Take the lowest promise, or find out "
                "which model fits the log." + (f" {self._silence()}" if self.silent else "")
            )
        return self._silence() if self.silent else None

    def _silence(self) -> str:
        return (
            f"On the {percent(self.unsupported)} of shown documents that the log hardly showed, "
            "the models agree more than on the others, because they share a prior and not because "
            "they know: their agreement there is no evidence. Look at the support instead."
        )


def members_disagreement(
    models: Models,
    policy: Policy,
    log: ClickLog,
    world: World,
    hardly: int = RARE,
    samples: int = SAMPLES,
    seed: int = 0,
    *,
    pairs: LoggedPairs | None = None,
) -> MembersDisagreement:
    """Return how much models disagree about ``policy``.

    Parameters
    ----------
    models : Ensemble, sequence or mapping of ClickModel
        Two or more, all of them generative; an ensemble stands for its members.
    log : ClickLog
        Which documents are supported: those that it showed ``hardly`` times or more.
    samples, seed : int
        At least so many pages are drawn of a policy that has more different ones; all models see
        the same pages.
    pairs : LoggedPairs, optional
        ``count_pairs(log, world)``, where it is known.
    """
    named = name_models(models)
    if len(named) < 2:
        raise ValueError(f"models must be two or more, to disagree: there is only {list(named)}")
    least = checks.positive_integer(hardly, "hardly")
    samples = checks.positive_integer(samples, "samples", 2)
    log.check_world(world)
    for model in named.values():
        model.check_world(world)
        model.require("generative")
    pages = shown_pages(policy, world, samples, seed, most=samples)
    there = pages.ranking >= 0
    if not there.any():
        raise ValueError("the policy shows nothing: all its pages are empty")
    pairs = count_pairs(log, world) if pairs is None else pairs
    probs = np.stack([click_probs(model, pages) for model in named.values()])  # (M, n, K)
    clicks = probs.sum(axis=2)
    asked = pages.query_probs > 0
    by_query = np.stack([
        np.bincount(pages.query, pages.weight * one, len(asked)) for one in clicks
    ]).std(axis=0, ddof=1)  # fmt: skip
    per_query = np.divide(
        by_query, pages.query_probs, out=np.full(len(asked), np.nan), where=asked
    )
    values = clicks @ pages.weight
    slot_spread = probs.std(axis=0, ddof=1)
    mass = pages.weight[:, None] * there
    known = pairs.count(pages.query[:, None], pages.ranking) >= least

    def mean_spread(of: Floats) -> float:
        total = float(of.sum())
        return float((of * slot_spread).sum()) / total if total > 0 else float("nan")

    return MembersDisagreement(
        tuple(named), values, float(values.std(ddof=1)), float(by_query[asked].sum()),
        mean_spread(mass * known), mean_spread(mass * ~known),
        float((mass * ~known).sum() / mass.sum()), least, per_query,
    )  # fmt: skip


def name_models(models: Models) -> dict[str, ClickModel]:
    """Return models by name: keys, or labels, with numbers where labels are not distinct.

    A single ensemble stands for its members.
    """
    if isinstance(models, Mapping):
        named = {str(name): model for name, model in models.items()}
    else:
        if isinstance(models, Ensemble):
            models = models.members
        listed = [models] if isinstance(models, ClickModel) else list(models)
        labels = [str(getattr(one, "label", None) or getattr(one, "name", one)) for one in listed]
        named = {}
        for number, (label, model) in enumerate(zip(labels, listed, strict=True)):
            name = f"{label} {number + 1}" if labels.count(label) > 1 else label
            named[name] = model
    for name, model in named.items():
        if not isinstance(model, ClickModel):
            raise ValueError(f"models has {name}, which is no click model: {model!r}")
    return named


def click_probs(model: ClickModel, pages: ShownPages) -> Floats:
    """Return P(C_k = 1) on the pages of a policy, (n, K)."""
    parts = []
    for start in range(0, len(pages.query), _CHUNK):
        rows = slice(start, start + _CHUNK)
        types, places = (None, None) if pages.block is None else pages.block[rows].T
        blocks = model.vertical_arguments(types, places)
        parts.append(model.click_probs(pages.query[rows], pages.ranking[rows], **blocks))
    return np.concatenate(parts)
