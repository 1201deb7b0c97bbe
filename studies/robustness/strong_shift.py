"""Tables 3 and 4 of the robustness paper: a strong shift from training to test policy."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ...data import World
from ...evaluation import Metric, ResultTable
from ..engine.rows import Row, distinct, where
from ..setting import WorldSetting
from .judging import REFERENCE, click_models
from .presets import PRESETS, SHIFT_MODELS
from .protocol import Protocol, protocol
from .protocol_cells import ORACLE
from .protocol_tables import filled

TABLES = {"DBN": "Table 3", "CoCM": "Table 4"}
_PRESET = PRESETS["strong-shift"]
_TEST = "perplexity_reversed"
_FIELDS = {"ind PPL": "perplexity", "nDCG@3": "ndcg_3", "ood PPL": _TEST}


def strong_shift(
    user: str = "DBN",
    models: Sequence[str] = SHIFT_MODELS,
    seeds: int = _PRESET.seeds,
    world: World | None = None,
    impressions: int = _PRESET.impressions,
    parameters: str = _PRESET.parameters,
    jobs: int = 1,
    folder: str | Path | None = None,
) -> ResultTable:
    """Return the table of in- and out-of-distribution perplexity and nDCG@3 (section 6.1).

    Ten documents a query, drawn by relevance. Training pages come from a Plackett-Luce policy on
    the true gain (T = 0.5), 80% to fit, 10% to validate, 10% for in-distribution perplexity;
    out-of-distribution pages show the same documents in the reverse order. The oracle is the user
    itself. A seed draws the log as well as the initialisation, so that deterministic fits have an
    interval too (the paper varied the initialisation alone).

    Parameters
    ----------
    user : a name of ``clickmodels.user_names()``; "DBN" is table 3, "CoCM" table 4.
    world : default the embedded world with ten documents a query.
    parameters : {"table", "embedding"}, for models that have the choice.
    jobs : processes.
    folder : where logs, models and finished cells are kept; the same call goes on from them.
        Default a temporary one.
    """
    study = replace(
        _PRESET, users=(user,), models=(ORACLE, *dict.fromkeys(models)), seeds=seeds,
        world=_PRESET.world if world is None else WorldSetting.given(world),
        impressions=impressions, parameters=parameters,
    )  # fmt: skip
    study.check(jobs)
    with tempfile.TemporaryDirectory() as temporary:
        rows = protocol(folder or temporary, study, jobs)
    return shift_table(rows, user)


def shift_of(study: Protocol) -> Protocol | None:
    """Return the strong shift in the sizes of another study, for those of its models it compares.

    Fitted as the preset "strong-shift" does, with tables. None where the study has none of the
    users of section 6.1.
    """
    users = tuple(user for user in study.users if user in _PRESET.users)
    if not users:
        return None
    return replace(
        study, users=users, loggings=_PRESET.loggings, temperature=_PRESET.temperature,
        models=tuple(name for name in _PRESET.models if name in (*study.models, ORACLE)),
        world=replace(study.world, n_docs=_PRESET.world.n_docs), tests=_PRESET.tests,
        parameters=_PRESET.parameters, optimise=False,
    )  # fmt: skip


def is_shifted(row: Row) -> bool:
    """Return whether a row is one of the strong shift."""
    return _TEST in row


def shift_table(rows: Sequence[Row], user: str) -> ResultTable:
    """Return a user's table from rows of the protocol's preset "strong-shift".

    ARM-NC reads the click that it predicts, so its perplexity is not compared; as in the paper it
    stands in brackets in distribution only.
    """
    oracle = f"{user} oracle"
    chosen = [
        row | {"model": oracle} if row["model"] == ORACLE else row
        for row in where(rows, user=user)
    ]
    names = distinct(chosen, "model", (oracle, *SHIFT_MODELS))
    reference = REFERENCE if REFERENCE in names else None
    metrics = [
        Metric("ind PPL", True, exclude=(oracle,), brackets=(REFERENCE,)),
        Metric(
            "nDCG@3", False, reference=reference, daggers=click_models(names), exclude=(oracle,)
        ),
        Metric("ood PPL", True, exclude=(oracle, REFERENCE)),
    ]
    number = f"{TABLES[user]}: " if user in TABLES else ""
    table = ResultTable(metrics, f"{number}strong policy shift, {user} user")
    ordered = [row for name in names for row in where(chosen, model=name)]
    return filled(table, ordered, _FIELDS)
