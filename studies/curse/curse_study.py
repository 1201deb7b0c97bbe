"""Figure 2 of the robustness paper: policies optimised inside click models, deployed on users."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NotRequired, Self

from ... import evaluation, policies
from ...clickmodels import ClickModel
from ...clickmodels.uncertainty.caution import AUTO, honest_values
from ...clickmodels.uncertainty.exposure import PLAIN, PRIORS
from ...data import World
from ..constants import FOUR_MODELS
from ..engine.artefacts import fit_parts, informed_prior, read_pessimism
from ..engine.grid import Result
from ..engine.plugins import import_modules, model_source
from ..engine.rows import Row
from ..engine.shapes import Unbounded
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
from .curse_pictures import curse_picture, curse_table

VERSION = "4"
_UNSHOWN = ("world", "source", "modules")  # fields of a cell that its row has not
_SAMPLES = 5_000  # rankings of the logging policy; the optimised policies are exact


@dataclass(frozen=True)
class CurseCell:
    """One click model, fitted to one log, and its two policies.

    ``documents`` that the policies may show: those that the training log "shown" (as in the
    paper), or "all" candidates. ``source`` and ``modules`` are those of a model of one's own: a
    hash of its file, and what is imported first. ``prior`` of the fit, "" for the plain one, and
    ``pessimism`` with which policies are chosen and promises made, "" for none.
    """

    user: str
    logging: str
    model: str
    seed: int
    world: WorldSetting = field(default_factory=WorldSetting)
    impressions: int = 100_000
    slots: int = 10
    parameters: str = "table"
    documents: str = "shown"
    source: str = field(default="", metadata={"key": "given"})
    modules: tuple[str, ...] = field(default=(), metadata={"key": False})
    prior: str = field(default="", metadata={"key": "given"})
    pessimism: str = field(default="", metadata={"key": "given"})


# The numbers of a ``CurseReport``; the best and the regret may be unknown.
CURSE_VALUES: dict[str, Any] = {
    "promised": float, "deployed": float, "gap": float, "logging_value": float,
    "model_error_on_logging": float, "added_by_optimising": float, "best": NotRequired[float],
    "regret": NotRequired[float], "lift": float,
}  # fmt: skip
_RESULT = {
    "perplexity": Unbounded, "top_down": CURSE_VALUES, "max_reward": CURSE_VALUES, "best_is": str,
    "method": str, "scored": int, "random": float,
}  # fmt: skip


def curse_cell(cell: CurseCell) -> Result:
    """Fit the model, optimise inside it, deploy; return all values in clicks per page."""
    import_modules(cell.modules)
    world, user = world_of(cell.world), user_of(cell.user, cell.world, cell.slots)
    logging = logging_of(cell.logging, cell.world, cell.slots)
    logged = (cell.user, cell.logging, cell.world, cell.slots, cell.impressions, cell.seed)
    train, validation, test = logs_of(*logged)
    own = cell.seed, cell.parameters
    informed = informed_prior(cell.prior, logging)
    model = fit_parts(cell.model, train, validation, world, *own, **informed)
    allowed = shown_in(train, world) if cell.documents == "shown" else world
    careful = read_pessimism(cell.pessimism)
    inside = model.pessimistic(careful)
    relevance = policies.top_down(inside, allowed, cell.slots)
    optimised = policies.max_reward(
        model, allowed, cell.slots, seed=cell.seed, pessimism=careful
    )
    top_down, max_reward = (
        evaluation.curse(policy, inside, user, world, logging, samples=_SAMPLES, seed=cell.seed)
        for policy in (relevance, optimised)
    )
    assert optimised.found is not None
    random = evaluation.value(policies.Uniform(world, cell.slots), user, world)
    return {
        "perplexity": evaluation.perplexity(model, test).mean,
        "top_down": _values(top_down, _promise(model, relevance, careful, world)),
        "max_reward": _values(max_reward, _promise(model, optimised, careful, world)),
        "best_is": "unknown" if max_reward.best is None else max_reward.best.method,
        "method": optimised.found.method,
        "scored": optimised.found.scored,
        "random": random.value,
    }


@register("curse")
@dataclass(frozen=True)
class Curse(Study):
    """Collect logs, fit click models, deploy their Top-Down and Max-Reward policies.

    A row has the settings of its cell, and the numbers of ``curse_cell`` under flat names such as
    ``max_reward_gap``, for every user, logging policy, model and seed.

    Example:
      clickgym curse --user CoCM-mismatch --logging epsilon-oracle BM25 --model PBM UBM --jobs 2
    """

    users: tuple[str, ...] = setting(("CoCM-mismatch",), flag="user")
    loggings: tuple[str, ...] = setting(("epsilon-oracle",), flag="logging")
    models: tuple[str, ...] = setting(FOUR_MODELS, flag="model", listed=generative_names)
    seeds: int = setting(3)
    world: WorldSetting = setting(WorldSetting)
    impressions: int = setting(100_000, least=10)
    slots: int = setting(10)
    parameters: str = setting("table", choices=("table", "embedding"))
    documents: str = setting(
        "shown", "what policies may show: documents of the log, or all", choices=("shown", "all")
    )
    rate: bool = setting(
        False, "draw click-through rates instead of clicks per page", look=True
    )
    modules: tuple[str, ...] = setting((), flag="module", later=True)
    prior: str = setting(PLAIN, choices=PRIORS, later=True)
    pessimism: str = setting(
        "", "how carefully to choose and promise: standard deviations, or auto: what the log says",
        metavar="λ", absent="none", later=True,
    )

    @classmethod
    def small(cls) -> Self:
        """Return a run that takes a moment."""
        return cls(
            ("DBN",), ("random",), ("PBM", "UBM"), slots=3,
            world=SMALL_WORLD, impressions=300, seeds=1,
        )  # fmt: skip

    def check(self) -> None:
        """Raise where the study could not run; the world is loaded for it."""
        import_modules(self.modules)
        super().check()
        require_generative(self.models)
        read_pessimism(self.pessimism)

    def stages(self, folder: Path, results: Results) -> Iterator[Stage]:
        """Give the one stage: a cell for every user, logging policy, model and seed."""
        cells = [
            CurseCell(
                user, logging, model, seed, self.world, self.impressions, self.slots,
                self.parameters, self.documents, model_source(model), self.modules,
                "" if self.prior == PLAIN else self.prior, self.pessimism,
            )
            for seed in range(self.seeds)
            for model in longest_first(self.models)
            for user in dict.fromkeys(self.users)
            for logging in dict.fromkeys(self.loggings)
        ]  # fmt: skip
        yield Stage("fitting, optimising, deploying", curse_cell, cells, VERSION, _RESULT)

    def rows(self, results: Results) -> list[Row]:
        """Return a row per cell, models in the order of the settings."""
        (pairs,) = results.values()
        rows = [curse_row(cell, result) for cell, result in pairs]
        return sorted(rows, key=lambda row: self.models.index(row["model"]))

    def report(self, rows: list[Row]) -> Report:
        """Return a table for every user and logging policy, and Figure 2."""
        tables = [
            curse_table(rows, user, logging)
            for user in dict.fromkeys(self.users)
            for logging in dict.fromkeys(self.loggings)
        ]
        return Report(
            "The optimiser's curse", "What click models promise, and what users deliver.",
            {"Tables": tables},
            {"curse.png": ("Deployed and promised values", curse_picture(rows, self.rate))},
        )  # fmt: skip


def _promise(
    model: ClickModel, policy: policies.Ranker, pessimism: float | str, world: World
) -> float | None:
    """Return what "auto" promises for a ranking; None where the pessimistic model says it."""
    if pessimism != AUTO:
        return None
    return float(world.query_probs @ honest_values(model, policy.rankings))


def _values(report: evaluation.CurseReport, promise: float | None) -> dict[str, float]:
    """Return the numbers of a report, with the ``promise`` that is made instead of the model's.

    Its own Top-Down ranks all candidates, so it is left out.
    """
    values = {name: n.value for name, n in report.numbers().items() if name != "top_down"}
    if promise is not None:
        changed = promise - values["promised"]
        values |= {
            name: values[name] + changed for name in ("promised", "gap", "added_by_optimising")
        }
    return values


def curse_row(cell: CurseCell, result: Result) -> Row:
    """Return the row of a cell, with the numbers of its policies under flat names."""
    row = {name: value for name, value in asdict(cell).items() if name not in _UNSHOWN}
    for name, value in result.items():
        if isinstance(value, dict):
            row |= {f"{name}_{inner}": number for inner, number in value.items()}
        else:
            row[name] = value
    return row
