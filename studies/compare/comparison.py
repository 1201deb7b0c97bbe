"""Agents trained inside learned click models and deployed on true users, side by side."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, NotRequired, Self

from ... import agents, envs, evaluation, policies
from ...agents import Agent
from ...agents.task import TRAINING_REWARDS
from ...clickmodels.fitting import takes_prior
from ...clickmodels.registry import registered_class
from ...clickmodels.uncertainty.exposure import PLAIN, PRIORS
from ...common import checks
from ..constants import FOUR_MODELS, USERS
from ..curse.curse_study import CURSE_VALUES
from ..engine.artefacts import (
    FIT_VERSION,
    FITTED,
    FitCell,
    fit_cell,
    fitted_model,
    read_pessimism,
)
from ..engine.grid import Result
from ..engine.plugins import import_modules, model_source
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
from .comparison_pictures import heat_map, parting, run_picture, training_curves
from .comparison_tables import compare_table, delivered_line, summary_table

VERSION, WARNING_VERSION = "4", "1"
TRUE_USER = "true user"  # instead of a click model: the agent learns from the user itself
_SAMPLES, _EXPENSIVE_SAMPLES = 5_000, 1_000  # rankings of stochastic policies in the report
_TRAINING, _WARNING = "training agents", "looking for warnings"
_WARNED = {"warning": str}


@dataclass(frozen=True)
class CompareCell:
    """One training run: an agent inside a click model, or on the true user itself.

    ``settings`` are all of the agent's, so that changed defaults make another cell, and the reward
    of agents that learn from it (see ``agents.train``). ``documents`` that the agent may show:
    "" for all candidates, or "shown" for those that the training log has shown. ``pessimism`` of
    the model that it learns in, "" for none: see ``ClickModel.pessimistic``.
    """

    agent: str
    fit: FitCell
    pages: int = 50_000
    settings: dict[str, Any] = field(default_factory=dict)
    documents: str = field(default="", metadata={"key": "given"})
    pessimism: str = field(default="", metadata={"key": "given"})


_POINT = {  # of a training run
    "pages": int, "promised": float, "deployed": float, "gap": float, "regret": float | None,
}  # fmt: skip
_RESULT: dict[str, Any] = CURSE_VALUES | {
    "top_down": NotRequired[float], "random": float, "pages": int, "history": [_POINT],
}  # fmt: skip


def compare_cell(cell: CompareCell) -> Result:
    """Train the agent, deploy its policy; return the curse and how it came about."""
    fit = cell.fit
    import_modules(fit.modules)
    world, user = world_of(fit.world), user_of(fit.user, fit.world, fit.slots)
    inside = user if fit.model == TRUE_USER else fitted_model(fit)
    if cell.pessimism:
        inside = inside.pessimistic(read_pessimism(cell.pessimism))
    source = {"user" if fit.model == TRUE_USER else "click_model": inside}
    allowed = world
    if cell.documents == "shown":
        logged = (fit.user, fit.logging, fit.world, fit.slots, fit.impressions, fit.seed)
        allowed = shown_in(logs_of(*logged)[0], world)
    env = envs.RankingVectorEnv(1, world=allowed, slots=fit.slots, **source)
    run = agents.TrainingRun(
        cell.agent, env, cell.pages, fit.seed, deploy=user, **cell.settings
    )
    run.finish()
    logging = logging_of(fit.logging, fit.world, fit.slots)
    samples = _SAMPLES if inside.cheap_scores else _EXPENSIVE_SAMPLES
    report = evaluation.curse(
        run.policy(), inside, user, world, logging, samples, fit.seed
    )
    return {
        **{name: number.value for name, number in report.numbers().items()},
        "random": _random(fit.user, fit.world, fit.slots),
        "pages": run.agent.pages,
        "history": [asdict(point) for point in run.history],
    }


def warning_cell(cell: FitCell) -> Result:
    """Return what a deployment card says of how a fitted model predicts its log's clicks by rank.

    "" where it has nothing to warn of.
    """
    import_modules(cell.modules)
    train, *_ = logs_of(
        cell.user, cell.logging, cell.world, cell.slots, cell.impressions, cell.seed
    )
    return {"warning": evaluation.rank_calibration(fitted_model(cell), train).warning or ""}


@lru_cache(maxsize=8)
def _random(user: str, world: WorldSetting, slots: int) -> float:
    """Return the value of a random ranking."""
    known, true = world_of(world), user_of(user, world, slots)
    return evaluation.value(policies.Uniform(known, slots), true, known).value


def _read_budget(text: str) -> tuple[str, int]:
    name, _, pages = text.partition("=")
    if not name or not pages.isdigit():
        raise ValueError(f"takes an agent of this run as name=pages, not {text!r}")
    return name, int(pages)


@register("compare")
@dataclass(frozen=True)
class Compare(Study):
    """Train every agent inside every model for every user and seed; tables, heat map, curves.

    Models are fitted once per user, model and seed. The model "true user" trains agents on the user
    itself.

    Example:
      clickgym compare --agent PolicyGradient PPO --model PBM NCM --user CoCM --seeds 3
    """

    agents: tuple[str, ...] = setting(agents.names(), flag="agent", open=True)
    models: tuple[str, ...] = setting(
        FOUR_MODELS, 'click model, or "true user" to learn from the user itself', flag="model",
        also=(TRUE_USER,), listed=lambda: (*generative_names(), f'"{TRUE_USER}"'),
    )
    users: tuple[str, ...] = setting(USERS, flag="user")
    seeds: int = setting(3)
    quick: bool = setting(False, "one seed, whatever --seeds says", later=True)
    world: WorldSetting = setting(WorldSetting(n_queries=100, n_docs=30))
    pages: int = setting(
        0, "budget of every agent in result pages, or own for the agent's own", word="own",
        least=0,
    )
    budgets: tuple[tuple[str, int], ...] = setting(
        (), "other budgets for some agents", flag="budget", read=_read_budget,
        metavar="AGENT=PAGES", absent="--pages for all",
    )
    reward: str | None = setting(None, choices=TRAINING_REWARDS, later=True)
    documents: str = setting(
        "all", "what agents may show: all candidates, or documents of the log",
        choices=("all", "shown"), later=True,
    )
    prior: str = setting(PLAIN, choices=PRIORS, later=True)
    pessimism: str = setting(
        "", "of the models that agents learn in: standard deviations, or auto: what the log says",
        metavar="λ", absent="none", later=True,
    )
    logging: str = setting("epsilon-oracle")
    impressions: int = setting(100_000, least=10)
    slots: int = setting(10)
    modules: tuple[str, ...] = setting((), flag="module")

    @classmethod
    def small(cls) -> Self:
        """Return a run that takes a moment."""
        return cls(
            ("CascadeUCB1",), ("PBM", TRUE_USER), ("DBN",), pages=200, slots=3,
            world=SMALL_WORLD, impressions=300, seeds=1,
        )  # fmt: skip

    def check(self) -> None:
        """Raise where the study could not run; the world is loaded for it."""
        import_modules(self.modules)
        super().check()
        for name, pages in self.budgets:
            checks.choice(name, self.agents, "budgets")
            checks.positive_integer(pages, "budgets", 0)
        require_generative([name for name in self.models if name != TRUE_USER])
        read_pessimism(self.pessimism)
        for name in self.models:
            if self.prior != PLAIN and name != TRUE_USER and not takes_prior(name):
                raise ValueError(f"models must have an informed prior for --prior, not {name}")

    def stages(self, folder: Path, results: Results) -> Iterator[Stage]:
        """Give the fits, then the training runs."""
        fits = [
            FitCell(
                user, self.logging, seed, str(folder / "models"), self.world,
                self.impressions, self.slots, model=model, modules=self.modules,
                source=model_source(model), prior="" if self.prior == PLAIN else self.prior,
            )
            for seed in range(1 if self.quick else self.seeds)
            for model in longest_first(self.models)
            for user in dict.fromkeys(self.users)
        ]  # fmt: skip
        learned = [fit for fit in fits if fit.model != TRUE_USER]
        yield Stage(
            "fitting models", fit_cell, learned, FIT_VERSION, FITTED, "fits", required=False
        )
        yield Stage(_WARNING, warning_cell, learned, WARNING_VERSION, _WARNED, folder="warnings")
        spent = dict.fromkeys(self.agents, self.pages) | dict(self.budgets)
        down = {
            name: name != TRUE_USER and registered_class(name).reads_down for name in self.models
        }
        classes = {name: agents.agent_class(name) for name in self.agents}
        documents = "" if self.documents == "all" else self.documents
        cells = [
            CompareCell(
                name, fit, spent[name] or cls.budget_inside(down[fit.model]),
                self._settings(cls), documents,
                self.pessimism if fit.model != TRUE_USER else "",
            )
            for fit in fits
            for name, cls in classes.items()
        ]  # fmt: skip
        yield Stage(_TRAINING, compare_cell, cells, VERSION, _RESULT)

    def _variant(self) -> str:
        """Return what is unusual about what agents learn in, in words; "" for nothing."""
        parts = {
            "logged documents only": self.documents == "shown",
            f"{self.prior} prior": self.prior != PLAIN,
            f"pessimism {self.pessimism}": bool(self.pessimism),
        }
        return ", ".join(name for name, there in parts.items() if there)

    def _settings(self, cls: type[Agent]) -> dict[str, Any]:
        settings = asdict(cls.Settings())
        return settings if cls.learns_from_clicks else settings | {"reward": self.reward}

    def rows(self, results: Results) -> list[Row]:
        """Return a row per agent, model, user and seed, models in the order of the settings.

        ``warning`` is what a deployment card says of how the model predicts clicks by rank, ""
        where it has nothing to warn of, and None where nobody asked: of the true user.
        """
        warned = {fit: result["warning"] for fit, result in results.get(_WARNING, ())}
        rows = [
            {"agent": cell.agent, "model": cell.fit.model, "user": cell.fit.user,
             "seed": cell.fit.seed, "warning": warned.get(cell.fit), **result}
            for cell, result in results[_TRAINING]
        ]  # fmt: skip
        return sorted(rows, key=lambda row: (self.models.index(row["model"]), row["seed"]))

    def files(self, rows: list[Row]) -> dict[str, list[Row]]:
        """Return the rows without their training curves, and the curves' points."""
        names = ("agent", "model", "user", "seed")
        return {
            "rows.parquet": [
                {name: value for name, value in row.items() if name != "history"} for row in rows
            ],
            "history.parquet": [
                {**{name: row[name] for name in names}, **point}
                for row in rows
                for point in row["history"]
            ],
        }

    def report(self, rows: list[Row]) -> Report:
        """Return a summary, a table per user, heat map, training curves and the largest fall."""
        users = list(dict.fromkeys(self.users))
        learned = [row for row in rows if row["model"] != TRUE_USER]
        figures = {
            f"training-{user}.png": (f"Training, {user} user", training_curves(rows, user))
            for user in users
        }
        fallen = max(rows, key=parting)
        where = f"{fallen['agent']} inside {fallen['model']} on {fallen['user']}"
        figures["heat-map.png"] = "Gap and deployed value, agents by models", heat_map(rows)
        figures["parting.png"] = f"The largest fall: {where}", run_picture(fallen)
        fall = "no deployed value fell while its promise rose"
        if parting(fallen) > 0:
            fall = "largest fall of a deployed value while the promise rose: "
            fall += f"{parting(fallen):.3f} ({where})"
        return Report(
            "Agents trained inside click models", "Promised and deployed clicks per page.",
            {
                "Summary": [summary_table(learned, self._variant())] if learned else [],
                "Tables": [compare_table(rows, user) for user in users],
            }, figures,
            lines=[
                *([delivered_line(learned)] if learned else ()),
                fall,
            ],
        )  # fmt: skip
