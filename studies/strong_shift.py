"""Tables 3 and 4 of the robustness paper: a strong shift from training to test policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .. import clickmodels, data, envs, evaluation, policies
from ..data import checks
from ..evaluation import Metric, ResultTable
from .fitted import fit_parts
from .parallel import run
from .setting import SPLIT

SHIFT_MODELS = ("dCTR", "PBM", "UBM", "DBN", "NCM", "CACM-minus", "ARM", "ARM-NC")
TEMPERATURE = 0.5
TEST_PAGES = 10_000


@dataclass(frozen=True)
class StrongShift:
    """What a strong-shift study does: everything that its results depend on."""

    user: str = "DBN"
    models: tuple[str, ...] = SHIFT_MODELS
    seeds: int = 10
    impressions: int = 100_000
    parameters: str = "table"
    jobs: int = 1


def strong_shift(
    user: str = "DBN",
    models: Sequence[str] = SHIFT_MODELS,
    seeds: int = 10,
    world: data.World | None = None,
    impressions: int = 100_000,
    parameters: str = "table",
    jobs: int = 1,
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
    """
    seeds = checks.positive_integer(seeds, "seeds")
    models = tuple(dict.fromkeys(models))  # a name given twice is one row
    settings = StrongShift(user, models, seeds, impressions, parameters, jobs)
    world = data.synthetic_world(n_docs=10) if world is None else world
    unknown = set(models) - set(clickmodels.names())
    if unknown:
        raise ValueError(f"models has unknown names: {', '.join(sorted(unknown))}")
    cells = [(settings, world, model, seed) for model in ("", *models) for seed in range(seeds)]
    rows = run(_cell, cells, jobs, f"strong shift, {user}")
    names = ("", *models)
    return _table(user, {
        model: rows[number * seeds : (number + 1) * seeds] for number, model in enumerate(names)
    })  # fmt: skip


def shift_table(rows: Sequence[Mapping[str, Any]], user: str) -> ResultTable:
    """Return the same table of rows that the protocol's preset "strong-shift" computed."""
    fields = {"ind PPL": "perplexity", "nDCG@3": "ndcg_3", "ood PPL": "perplexity_reversed"}
    found: dict[str, list[Mapping[str, float | None]]] = {}
    for row in sorted(rows, key=lambda row: row["model"] != "oracle"):
        if row["user"] == user:
            model = "" if row["model"] == "oracle" else row["model"]
            numbers = {name: row[field] for name, field in fields.items()}
            found.setdefault(model, []).append(numbers)
    return _table(user, found)


def _table(
    user: str, rows: Mapping[str, Sequence[Mapping[str, float | None]]]
) -> ResultTable:
    """Return the table of rows by model, the oracle's under an empty name."""
    oracle = f"{user} oracle"
    metrics = [
        Metric("ind PPL", True, exclude=(oracle,), brackets=("ARM-NC",)),
        Metric("nDCG@3", False, exclude=(oracle,)),
        Metric("ood PPL", True, exclude=(oracle,)),
    ]
    table = ResultTable(metrics, f"Strong policy shift, {user} user")
    for model, part in rows.items():
        values = {
            metric.name: [value for row in part if (value := row[metric.name]) is not None]
            for metric in metrics
        }
        table.add(model or oracle, {name: one for name, one in values.items() if one})
    return table


def _cell(settings: StrongShift, world: data.World, model: str, seed: int) -> dict[str, float]:
    """Return the metrics of one model (the user itself for an empty name) and seed."""
    user = clickmodels.true_user(settings.user, world)
    logging = policies.stochastic(world.gain, TEMPERATURE, world=world)
    log = envs.collect(world, user, logging, settings.impressions, seed)
    train, validation, test = log.split(SPLIT, seed)
    shown = world.restricted_to(train)
    reverse = policies.Ranker(-shown.gain, world=shown)
    outside = envs.collect(shown, user, reverse, TEST_PAGES, seed + 1_000_000)
    fitted = user
    if model:
        fitted = fit_parts(model, train, validation, world, seed, settings.parameters)
    return {
        "ind PPL": evaluation.perplexity(fitted, test).mean,
        "nDCG@3": evaluation.ndcg(fitted, shown, 3, seed=seed),
        "ood PPL": evaluation.perplexity(fitted, outside).mean,
    }

