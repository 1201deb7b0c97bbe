"""What helps against the curse: cures of click models, and policies that need no model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, NotRequired, Self

from ... import clickmodels, evaluation, policies
from ...clickmodels.fitting import takes_prior
from ...evaluation import count_pairs
from ...evaluation.reporting.formats import ledger_markdown
from ...evaluation.reporting.page import ledger_section
from ..claims import ledger_lines
from ..constants import FOUR_MODELS, LOGGINGS, USERS
from ..engine.grid import Result
from ..engine.rows import Row
from ..registry import register
from ..study import Report, Results, Stage, Study, setting
from ..worlds import (
    SMALL_WORLD,
    WorldSetting,
    generative_names,
    logging_of,
    logs_of,
    longest_first,
    require_generative,
    shown_in,
    user_of,
    world_of,
)
from .cure_ledger import RULES, cure_claims
from .cure_pictures import cured_picture, frontier_picture
from .cure_tables import (
    card_line,
    frontier_table,
    losing_table,
    safe_table,
    setting_table,
    summary_table,
)
from .cures import CURES, PLAIN, Cure, can_have, choose_policy

VERSION, CURING_VERSION = "1", "2"
PARTS = "cures", "frontier", "safe"
NO_MODEL = "none"  # instead of a click model, for policies learned from the log itself
_CURING, _FRONTIER, _SAFE = "curing", "growing pessimism", "policies without a click model"
_SAMPLES = 5_000  # rankings of policies that are not deterministic


@dataclass(frozen=True)
class CureCell:
    """One click model, fitted to one log with each prior, and the policies of its ``cures``.

    ``seed`` draws the world as well. ``steps`` are the pessimisms of the frontier, none for cures
    that have a name.
    """

    user: str
    logging: str
    model: str
    seed: int
    world: WorldSetting = field(default_factory=WorldSetting)
    impressions: int = 100_000
    slots: int = 10
    cures: tuple[str, ...] = ()
    steps: tuple[float, ...] = ()


@dataclass(frozen=True)
class SafeCell:
    """Policies learned from one log without a click model."""

    user: str
    logging: str
    seed: int
    world: WorldSetting = field(default_factory=WorldSetting)
    impressions: int = 100_000
    slots: int = 10
    names: tuple[str, ...] = ()


_POLICY = {  # clicks per page, and shares
    "cure": str, "prior": str, "pessimism": NotRequired[float], "promised": NotRequired[float],
    "deployed": float, "never_shown": float, "coverage": float, "gini": float,
    "verdict": NotRequired[str], "low": NotRequired[float], "high": NotRequired[float],
}  # fmt: skip
_VALUES = {"best": float, "logging_value": float, "random": float, "top_down": NotRequired[float]}
_RESULT = {**_VALUES, "policies": [_POLICY]}


def cure_cell(cell: CureCell) -> Result:
    """Fit the model with each prior, choose policies, deploy them; clicks per page.

    A cure that the model cannot have is left out. ``verdict`` with ``low`` and ``high`` is what a
    deployment card says of a cure's policy, before it is deployed.
    """
    cures = {name: CURES[name] for name in cell.cures}
    for prior in ("plain", "exposure") if cell.steps else ():
        cures |= {f"{prior}, {step:g}": Cure(prior, step) for step in cell.steps}
    world, logging = world_of(cell.world), logging_of(cell.logging, cell.world, cell.slots)
    train, validation, _ = logs_of(*_log_of(cell))
    models = clickmodels.fit_priors(
        cell.model, train, world, (cure.prior for cure in cures.values()), cell.seed, validation,
        logging=logging,
    )  # fmt: skip
    allowed = shown_in(train, world)
    found = []
    for name, cure in cures.items():
        if not can_have(models[cure.prior], cure):
            continue
        policy = choose_policy(cure, models, world, allowed, cell.slots, cell.seed)
        assert policy.found is not None
        numbers: dict[str, Any] = {
            "pessimism": policy.found.pessimism, "promised": policy.found.promise,
        }  # fmt: skip
        if cell.cures:
            told = evaluation.forecast(policy, _witnesses(*_log_of(cell)))
            numbers |= {
                "verdict": told.verdict, "low": told.deployed.low, "high": told.deployed.high,
            }  # fmt: skip
        found.append({"cure": name, "prior": cure.prior, **numbers, **_deploy(cell, policy)})
    top_down = {}
    if cell.cures:
        ranker = policies.top_down(models[cures[cell.cures[0]].prior], world, cell.slots)
        top_down["top_down"] = _value(cell, ranker)
    return {**_bounds(cell.user, cell.logging, cell.world, cell.slots), **top_down,
            "policies": found}  # fmt: skip


def safe_cell(cell: SafeCell) -> Result:
    """Learn policies from the log, deploy them; clicks per page."""
    world, logging = world_of(cell.world), logging_of(cell.logging, cell.world, cell.slots)
    train, *_ = logs_of(*_log_of(cell))
    found = []
    for name in cell.names:
        policy = policies.safe_policy(name, train, world, logging, cell.slots, cell.seed)
        found.append({"cure": name, "prior": "", **_deploy(cell, policy)})
    return {**_bounds(cell.user, cell.logging, cell.world, cell.slots), "policies": found}


def _log_of(cell: CureCell | SafeCell) -> tuple[str, str, WorldSetting, int, int, int]:
    return cell.user, cell.logging, cell.world, cell.slots, cell.impressions, cell.seed


@lru_cache(maxsize=1)
def _witnesses(
    user: str, logging: str, setting: WorldSetting, slots: int, impressions: int, seed: int
) -> evaluation.Witnesses:
    """Return the witnesses of the deployment cards of a log's policies."""
    train, *_ = logs_of(user, logging, setting, slots, impressions, seed)
    return evaluation.call_witnesses(train, world_of(setting), logging_of(logging, setting, slots))


def _value(cell: CureCell | SafeCell, policy: policies.Policy) -> float:
    user = user_of(cell.user, cell.world, cell.slots)
    return evaluation.value(policy, user, world_of(cell.world), _SAMPLES, cell.seed).value


def _deploy(cell: CureCell | SafeCell, policy: policies.Policy) -> dict[str, float]:
    """Return what a policy earns, and what it shows."""
    world, (train, *_) = world_of(cell.world), logs_of(*_log_of(cell))
    pairs = count_pairs(train, world)
    spread = evaluation.concentration(policy, train, world, seed=cell.seed, pairs=pairs)
    support = evaluation.support(policy, train, world, seed=cell.seed, pairs=pairs)
    return {
        "deployed": _value(cell, policy), "never_shown": support.never,
        "coverage": spread.coverage, "gini": spread.gini,
    }  # fmt: skip


@lru_cache(maxsize=8)
def _bounds(user: str, logging: str, setting: WorldSetting, slots: int) -> dict[str, float]:
    """Return the values of the logging policy, of random order and of the best ranking found."""
    world, true = world_of(setting), user_of(user, setting, slots)
    return {
        "best": evaluation.value(evaluation.best_policy(true, world, slots), true, world).value,
        "logging_value": evaluation.value(
            logging_of(logging, setting, slots), true, world, _SAMPLES
        ).value,
        "random": evaluation.value(policies.Uniform(world, slots), true, world).value,
    }


@register("cure")
@dataclass(frozen=True)
class CureStudy(Study):
    """Policies that keep their promises: cures of click models, deployed on true users.

    Each model is fitted to each log as usual and with informed priors, and its best rankings are
    searched for with and without pessimism, with all candidates allowed. A seed draws world and
    log. Beside them stand policies that are learned from the log without a click model.

    Example:
      clickgym cure --user CoCM-mismatch --model UBM --seeds 3 --cure none "exposure, careful"
    """

    users: tuple[str, ...] = setting(USERS, flag="user")
    loggings: tuple[str, ...] = setting(LOGGINGS, flag="logging")
    models: tuple[str, ...] = setting(FOUR_MODELS, flag="model", listed=generative_names)
    cures: tuple[str, ...] = setting(
        tuple(CURES), "cures; none is the usual fit and the ranking that it likes best",
        flag="cure", choices=tuple(CURES),
    )  # fmt: skip
    safe: tuple[str, ...] = setting(
        policies.safe_policy_names(), "policies learned from the log without a click model",
        choices=policies.safe_policy_names(),
    )
    frontier: tuple[str, ...] = setting(
        ("UBM",), "models whose pessimism grows step by step", choices=FOUR_MODELS
    )
    steps: tuple[float, ...] = setting(
        (0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0), "the steps, in standard deviations"
    )
    parts: tuple[str, ...] = setting(
        PARTS,
        "what to compute: cures, frontier (pessimism that grows step by step), safe (policies "
        "without a click model)",
        flag="part", choices=PARTS, later=True,
    )  # fmt: skip
    seeds: int = setting(5)
    world: WorldSetting = setting(WorldSetting(n_queries=100, n_docs=30))
    impressions: int = setting(100_000, least=10)
    slots: int = setting(10)

    @classmethod
    def small(cls) -> Self:
        """Return a run that takes a moment."""
        return cls(
            ("DBN",), ("random",), ("PBM",), safe=("prpo",), frontier=("PBM",), steps=(0.0, 1.0),
            slots=3, world=SMALL_WORLD, impressions=300, seeds=1,
        )  # fmt: skip

    def check(self) -> None:
        """Raise where the study could not run; the world is loaded for it."""
        super().check()
        require_generative(self.models)
        if PARTS[0] not in self.parts:
            raise ValueError(f"parts must contain {PARTS[0]!r}, which the others are compared with")
        if PLAIN not in self.cures:
            raise ValueError(f"cures must contain {PLAIN!r}, which the others are compared with")
        informed = any(CURES[name].prior != "plain" for name in self.cures)
        for name in self.models:
            if informed and not takes_prior(name):
                raise ValueError(f"models must have an informed prior for these cures, not {name}")
        if any(not 0 <= step < 10 for step in self.steps):
            raise ValueError(f"steps must be from 0 to 10, not {self.steps}")

    def stages(self, folder: Path, results: Results) -> Iterator[Stage]:
        """Give the cures, the frontier and the policies without a click model."""
        places = [
            (user, logging, seed, self.world.drawn(seed), self.impressions, self.slots)
            for seed in range(self.seeds)
            for user in dict.fromkeys(self.users)
            for logging in dict.fromkeys(self.loggings)
        ]

        def cells(models: tuple[str, ...], **more: Any) -> list[CureCell]:
            return [  # the models of a log in turn, because they share its witnesses
                CureCell(user, logging, model, seed, world, impressions, slots, **more)
                for user, logging, seed, world, impressions, slots in places
                for model in longest_first(models)
            ]

        yield Stage(
            _CURING, cure_cell, cells(self.models, cures=self.cures), CURING_VERSION, _RESULT
        )
        growing = self.steps and "frontier" in self.parts
        steps = cells(self.frontier, steps=self.steps) if growing else []
        yield Stage(_FRONTIER, cure_cell, steps, VERSION, _RESULT, folder="frontier")
        names = self.safe if "safe" in self.parts else ()
        safe = [SafeCell(*place, names=names) for place in places] if names else []
        yield Stage(_SAFE, safe_cell, safe, VERSION, _RESULT, folder="safe")

    def rows(self, results: Results) -> list[Row]:
        """Return a row per policy; ``part`` says to which stage it belongs."""
        rows = []
        for part, pairs in results.items():
            for cell, result in pairs:
                rows += [_row(part, cell, result, one) for one in result["policies"]]
        order = (*self.models, *self.frontier, NO_MODEL)
        return sorted(rows, key=lambda row: order.index(row["model"]))

    def report(self, rows: list[Row]) -> Report:
        """Return the summary, a table per user and log, the frontier, pictures and ledger."""
        cured = [row for row in rows if row["part"] == _CURING]
        steps = [row for row in rows if row["part"] == _FRONTIER]
        safe = [row for row in rows if row["part"] == _SAFE]
        summary, losing = summary_table(cured), losing_table(cured)
        tables: dict[str, list[Any]] = {"Cures": [summary], "Settings": [
            setting_table(cured, user, logging)
            for user in dict.fromkeys(self.users)
            for logging in dict.fromkeys(self.loggings)
        ]}  # fmt: skip
        if losing.rows:
            tables["Cures"].append(losing)
        figures = {"cured.png": ("Cures: promised and deployed values", cured_picture(cured))}
        if steps:
            tables["Frontier"] = [frontier_table(steps)]
            figures["frontier.png"] = ("Frontier: gap against lift", frontier_picture(steps))
        if safe:
            tables["Without a click model"] = [safe_table(safe, cured)]
        lines = ledger_lines(cure_claims(cured))
        return Report(
            "Cures of the optimiser's curse",
            "What click models promise and users deliver, with and without cures.",
            tables, figures, {"Ledger of claims": ledger_section(lines, RULES)},
            {"ledger.md": ledger_markdown(lines, RULES)}, printed=[summary],
            lines=[card_line(cured)],
        )  # fmt: skip


def _row(part: str, cell: Any, result: Result, found: Row) -> Row:
    promised = found.get("promised")
    own = {name: found.get(name) for name in ("promised", "pessimism", "verdict", "low", "high")}
    gap = None if promised is None else promised - found["deployed"]
    return {
        "part": part, "user": cell.user, "logging": cell.logging,
        "model": getattr(cell, "model", NO_MODEL), "seed": cell.seed, "slots": cell.slots,
        **{name: result[name] for name in ("best", "logging_value", "random")},
        **found, **own, "gap": gap, "lift": found["deployed"] - result["logging_value"],
    }  # fmt: skip
