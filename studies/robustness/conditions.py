"""The conditions under which the robustness protocol measures perplexity: Figure 1's axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...common.typing import Floats
from ..constants import LOGGINGS, TEST_POLICIES, USERS
from ..engine.rows import Row, distinct

_OWN_KIND = {"epsilon-oracle": "oracle"}  # the others test by the ranker that they log by


@dataclass(frozen=True)
class Condition:
    """A user, the logging policy of the training pages, and the policy of the test pages.

    ``test`` is a deterministic ranker or "random"; "" for held-out pages of the training log
    itself: in distribution.
    """

    user: str
    logging: str
    test: str = ""

    @property
    def field(self) -> str:
        """The field of a row that has the perplexity."""
        return f"perplexity_{self.test}" if self.test else "perplexity"

    @property
    def training(self) -> Condition:
        """The in-distribution condition of the same training log."""
        return Condition(self.user, self.logging)


def in_distribution(rows: Sequence[Row]) -> list[Condition]:
    """Return a condition for every user and logging policy: 9 of the paper's grid."""
    conditions = [
        Condition(user, logging)
        for user in distinct(rows, "user", USERS)
        for logging in distinct(rows, "logging", LOGGINGS)
    ]
    return _keep_measured(rows, conditions)


def out_of_distribution(rows: Sequence[Row]) -> list[Condition]:
    """Return Figure 1's axes: 27 of the paper's grid.

    The test policy of the training policy's own kind is left out, so three of four remain.
    """
    conditions = [
        Condition(condition.user, condition.logging, test)
        for condition in in_distribution(rows)
        for test in TEST_POLICIES
        if test != _OWN_KIND.get(condition.logging, condition.logging)
    ]
    return _keep_measured(rows, conditions)


def _keep_measured(rows: Sequence[Row], conditions: Sequence[Condition]) -> list[Condition]:
    """Return the conditions under which some row has a perplexity."""
    found = {
        (row["user"], row["logging"], name)
        for row in rows
        for name, value in row.items()
        if value is not None
    }
    return [one for one in conditions if (one.user, one.logging, one.field) in found]


def read_complete_seeds(
    rows: Sequence[Row], conditions: Sequence[Condition], models: Sequence[str], field: str = ""
) -> tuple[list[int], Floats]:
    """Return the seeds for which no model and condition lacks a value, and all the values.

    Parameters
    ----------
    field : str
        Of the rows; "" for each condition's own perplexity.

    Returns
    -------
    list of int, (seeds, conditions, models) floats
    """
    found = {
        (row["user"], row["logging"], row["model"], row["seed"]): row
        for row in rows
        if row["model"] in models
    }
    places = [
        (one.user, one.logging, model, field or one.field) for one in conditions for model in models
    ]
    columns = {
        seed: [found.get((*place[:3], seed), {}).get(place[3]) for place in places]
        for seed in sorted(distinct(rows, "seed"))
    }
    whole = {seed: column for seed, column in columns.items() if None not in column and column}
    shape = (len(whole), len(conditions), len(models))
    return list(whole), np.array(list(whole.values()), dtype=np.float64).reshape(shape)
