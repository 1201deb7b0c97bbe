"""Fitting any registered click model to a log."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import pdtr

from ..common import checks
from ..common.typing import Floats
from ..data import ClickLog, World
from .base import GENERATIVE, ClickModel
from .by_grade import Grades
from .ensemble import Ensemble
from .network_fitting import Trained, fit_network, fit_tables, has_own_fit, informing_class
from .pages import NotExact
from .registry import registered, registered_class
from .tablefit.counting import check_log
from .uncertainty.caution import assess
from .uncertainty.exposure import PLAIN, PRIORS, SCORE, read_covariate

TABLE, EMBEDDING, GRADE = "table", "embedding", "grade"
PARAMETERS = (TABLE, EMBEDDING, GRADE)
_POISSON = pdtr(np.arange(20), 1.0)  # beyond, a double has no room


def names() -> tuple[str, ...]:
    """Return everything that ``fit`` takes, in alphabetical order: models that can be fitted."""
    known = sorted(registered(), key=str.casefold)
    return tuple(name for name in known if _can_be_fitted(registered_class(name)))


def _can_be_fitted(cls: type[ClickModel]) -> bool:
    return has_own_fit(cls) or cls.table_fit is not None or cls.network is not None


def takes_grades(name: str) -> bool:
    """Return whether the model can be fitted with ``parameters="grade"``."""
    return bool(registered_class(name).pair_tables)


def takes_parameters(name: str) -> bool:
    """Return whether the model has the choice between tables and embeddings."""
    cls = registered_class(name)
    if has_own_fit(cls):
        return "parameters" in inspect.signature(cls.fit).parameters
    return cls.table_fit is not None and cls.table_fit.network is not None


def parameters_of(name: str, parameters: str) -> str:
    """Return ``parameters``, or tables where embeddings are asked for and the model has none."""
    return TABLE if parameters == EMBEDDING and not takes_parameters(name) else parameters


def takes_prior(name: str, parameters: str = TABLE) -> bool:
    """Return whether ``fit`` gives the model an informed prior, and with it a posterior."""
    return parameters != GRADE and informing_class(registered_class(name)) is not None


def is_random(name: str, parameters: str = "table") -> bool:
    """Return whether fitting the model uses its seed."""
    cls = registered_class(name)
    parameters = TABLE if parameters == GRADE else parameters
    if has_own_fit(cls) or cls.table_fit is None:
        return parameters not in cls.deterministic
    return parameters != "table" or cls.table_fit.uses_network


def fit(
    name: str,
    log: ClickLog,
    world: World,
    seed: int = 0,
    validation: ClickLog | None = None,
    parameters: str = "table",
    members: int | None = None,
    bootstrap: bool = True,
    prior: str = PLAIN,
    logging: Any = None,
    **settings: Any,
) -> ClickModel:
    """Return the click model ``name`` fitted to ``log``.

    Parameters
    ----------
    log : ClickLog
        Of ``world``; its weights are honoured.
    seed : int
        Of everything random in the fit; closed forms and full-batch fits do not use it.
    validation : ClickLog, optional
        For models trained by mini-batches: when to stop. Without it, a tenth of ``log``.
    parameters : {"table", "embedding", "grade"}
        For models with a choice: a logit for every pair with a learned prior, the robustness
        paper's embeddings, or tables by the documents' grades, with unjudged documents as a class
        of their own; the model then has ``by_grade``.
    members : int, optional
        Fit so many models and return their ``Ensemble``. Each has a seed of its own and is fitted
        to its own bootstrap of the log: every impression counts as often as a Poisson draw of
        mean one says (see ``bootstrap_weights``). Table fits share the folding of the log, and
        begin where the fit to the whole log ends, so ten cost far less than ten fits.
    bootstrap : bool
        False: members differ by their seed alone; those of a deterministic fit are then equal.
    prior : {"plain", "exposure", "score"}
        What is believed of a document before its clicks. "plain": the same of all tables' pairs;
        networks have their first weights. "exposure": the mean follows the share of its query's
        pages that showed the document, by a line that is learned from the log; so it also says
        something of documents that were never shown. "score": it follows the score that the policy
        ``logging`` gave the document.
        Networks (embeddings, NCM) are trained as with "plain"; then documents that the log hardly
        showed get what the table says (see ``docs/uncertainty_networks.md``).
    logging : Policy or (Q, N), optional
        For ``prior="score"``: the policy that made the log, with Plackett-Luce weights, or their
        logarithms.
    settings
        The model's own (see its ``fit``); an unknown one is a ``TypeError``.

    Returns
    -------
    ClickModel
        With ``seen`` (Q, N), the documents that the log showed, and the world's fingerprint;
        members of an ensemble have what their bootstrap showed.
    """
    checks.choice(prior, PRIORS, "prior")
    if logging is not None and prior != SCORE:
        raise ValueError(f"logging is for prior='score', not prior={prior!r}")
    return _fit_all(
        name, log, world, (prior,), seed, validation, parameters, members, bootstrap, logging,
        settings,
    )[prior]  # fmt: skip


def fit_priors(
    name: str,
    log: ClickLog,
    world: World,
    priors: Iterable[str],
    seed: int = 0,
    validation: ClickLog | None = None,
    parameters: str = "table",
    members: int | None = None,
    bootstrap: bool = True,
    logging: Any = None,
    **settings: Any,
) -> dict[str, ClickModel]:
    """Return what ``fit`` gives with each of ``priors``, by prior.

    A network that mini-batches train (NCM, embeddings) is trained once for all of them, because
    priors come in after its training. All else is as in ``fit``; ``logging`` is for "score" alone.

    Parameters
    ----------
    priors : names of priors, at least one
    """
    priors = [priors] if isinstance(priors, str) else list(dict.fromkeys(priors))
    if not priors:
        raise ValueError("priors must name one prior at least")
    return _fit_all(
        name, log, world, priors, seed, validation, parameters, members, bootstrap, logging,
        settings,
    )  # fmt: skip


def _fit_all(
    name: str,
    log: ClickLog,
    world: World,
    priors: Sequence[str],
    seed: int,
    validation: ClickLog | None,
    parameters: str,
    members: int | None,
    bootstrap: bool,
    logging: Any,
    settings: dict[str, Any],
) -> dict[str, ClickModel]:
    """Check what ``fit`` was given, and return the model of each prior."""
    if name not in names():
        what = "cannot be fitted" if name in registered() else "is not a click model"
        raise ValueError(f"{name!r} {what}; known: {', '.join(names())}")
    check_log(log, world)
    if log.weight is not None and not log.weight.all():  # a row without weight shows nothing
        log = log[log.weight > 0]
    if validation is not None:
        validation.check_world(world)
        if validation.slots != log.slots:
            raise ValueError(f"validation has {validation.slots} slots, log {log.slots}")
        if not validation.impressions > 0:
            raise ValueError("validation has no impressions")
        settings = {**settings, "validation": validation}
    check_parameters(name, parameters)
    if members is not None:
        members = checks.positive_integer(members, "members")
    choices: dict[str, dict[str, Any]] = {}
    for prior in priors:
        covariate = read_covariate(prior, log, world, logging if prior == SCORE else None)
        choices[prior] = {} if covariate is None else {"covariate": covariate}
        if covariate is not None and not takes_prior(name, parameters):
            raise ValueError(
                f"prior={prior!r} is for tables by pair that table_fit fits, and for networks, not "
                f"for {name} with parameters={parameters!r}"
            )
    trained: Trained | None = {} if len(choices) > 1 else None
    how = name, log, world, seed, parameters, members, bootstrap, trained
    return {prior: _fit_prior(*how, {**settings, **more}) for prior, more in choices.items()}


def _fit_prior(
    name: str,
    log: ClickLog,
    world: World,
    seed: int,
    parameters: str,
    members: int | None,
    bootstrap: bool,
    trained: Trained | None,
    settings: dict[str, Any],
) -> ClickModel:
    """Return the model or ensemble of one prior; networks of other priors are in ``trained``."""
    cls = registered_class(name)
    if parameters == GRADE:
        return _fit_by_grade(name, log, world, seed, members, bootstrap, **settings)
    if members is None:
        model = _fit_one(cls, log, world, seed, parameters, trained, **settings)
        return _note_caution(_note_log(model, log, world), log)
    seeds = [member_seed(seed, number) for number in range(members)]
    if not bootstrap:
        used = seeds if is_random(name, parameters) else [seed]
        models = [_fit_one(cls, log, world, one, parameters, trained, **settings) for one in used]
        models = [_note_log(model, log, world) for model in models]
        whole = Ensemble(models * (members // len(models)))
        return _note_caution(_note_log(whole, log, world), log)
    weights = np.stack([bootstrap_weights(log, one) for one in seeds], axis=1)
    models = _fit_bootstraps(cls, log, world, weights, seeds, parameters, trained, **settings)
    for model, weight in zip(models, weights.T, strict=True):
        _note_log(model, log, world, weight)
    return _note_caution(_note_log(Ensemble(models), log, world), log)


def check_parameters(name: str, parameters: str) -> None:
    """Raise unless ``fit`` takes the model with these ``parameters``."""
    checks.choice(parameters, PARAMETERS, "parameters")
    takes = {TABLE: True, EMBEDDING: takes_parameters(name), GRADE: takes_grades(name)}
    if not takes[parameters]:
        raise ValueError(f"{name} has no parameters={parameters!r}")


def _fit_by_grade(
    name: str,
    log: ClickLog,
    world: World,
    seed: int,
    members: int | None,
    bootstrap: bool,
    **settings: Any,
) -> ClickModel:
    """Fit the model to the log of grades, and give documents the parameters of theirs."""
    grades = Grades(world)
    if "validation" in settings:
        settings["validation"] = grades.log(settings["validation"])
    fitted = fit(
        name, grades.log(log), grades.world, seed, members=members, bootstrap=bootstrap, **settings
    )
    model = fitted.for_documents(grades.classes)
    model.by_grade, fitted.fingerprint = fitted, None  # it belongs to no world
    if fitted.uncertainty is not None:
        model.uncertainty = fitted.uncertainty.for_documents(grades.classes)
        _note_caution(model, log)
    if isinstance(fitted, Ensemble) and isinstance(model, Ensemble):
        for number, (one, own) in enumerate(zip(model.members, fitted.members, strict=True)):
            one.by_grade, own.fingerprint = own, None
            weight = bootstrap_weights(log, member_seed(seed, number)) if bootstrap else None
            _note_log(one, log, world, weight)
    return _note_log(model, log, world)


def _fit_one(
    cls: type[ClickModel],
    log: ClickLog,
    world: World,
    seed: int,
    parameters: str,
    trained: Trained | None,
    **settings: Any,
) -> ClickModel:
    """Ask a class with a ``fit`` of its own; else fit its tables, or train its network."""
    if has_own_fit(cls):
        accepted = inspect.signature(cls.fit).parameters
        if "validation" not in accepted:  # closed forms have no use for it
            settings.pop("validation", None)
        if "parameters" in accepted:
            settings["parameters"] = parameters
        return cls.fit(log, world, seed=seed, **settings)
    if cls.table_fit is not None and parameters == "table":
        return fit_tables(cls, log, world, [seed], **settings)[0]
    return fit_network(cls, log, world, seed, trained, **settings)


def _fit_bootstraps(
    cls: type[ClickModel],
    log: ClickLog,
    world: World,
    weights: Floats,
    seeds: Sequence[int],
    parameters: str,
    trained: Trained | None,
    **settings: Any,
) -> list[ClickModel]:
    """Return a model fitted to ``log`` with each of M ``weights`` (n, M) for its rows.

    Tables share their work; others are fitted one after the other.
    """
    if cls.table_fit is not None and parameters == "table" and not has_own_fit(cls):
        return fit_tables(cls, log, world, seeds, weights=weights, **settings)
    models = []
    for weight, seed in zip(weights.T, seeds, strict=True):
        drawn = weight > 0
        sample = replace(log[drawn], weight=weight[drawn])
        models.append(_fit_one(cls, sample, world, seed, parameters, trained, **settings))
    return models


def member_seed(seed: int, number: int) -> int:
    """Return the seed of an ensemble's member: of its bootstrap and of its fit."""
    checks.positive_integer(seed, "seed", 0)
    return int(np.random.SeedSequence([seed, number]).generate_state(1)[0])


def bootstrap_weights(log: ClickLog, seed: int) -> Floats:
    """Return how often each row counts in a bootstrap of the log, (n,): Poisson draws.

    A row that stands for w impressions has mean w, as if each impression was drawn.
    """
    rng = np.random.default_rng([seed, 1])
    for _ in range(1000):  # a log of a few rows may have no impression left
        if log.weight is None:  # by inversion, which is faster for one mean
            weights = np.searchsorted(_POISSON, rng.random(len(log)), "right").astype(np.float64)
        else:
            weights = rng.poisson(log.weight).astype(np.float64)
        if (log.ranking[weights > 0, 0] >= 0).any():
            return weights
    raise ValueError("the log's weights are so small that a bootstrap has no impressions")


def _note_caution(model: ClickModel, log: ClickLog) -> ClickModel:
    """Note on a model with a posterior what its log says about it, and return it.

    Nothing where the expected clicks of its pages cannot be computed, as those of NCM on long ones.
    """
    if model.uncertainty is not None and GENERATIVE in model.capabilities:
        models = len(model.members) if isinstance(model, Ensemble) else 1
        try:
            numbers, level = assess(model, log, models)
        except NotExact:
            return model
        model.uncertainty = replace(model.uncertainty, numbers=numbers, level=level)
        if model.second is not None:
            _note_caution(model.second, log)
    return model


def _note_log(
    model: ClickModel, log: ClickLog, world: World, weight: Floats | None = None
) -> ClickModel:
    """Note on the model what it was fitted to, the log's rows with weight, and return it."""
    model.fingerprint = world.fingerprint
    if model.second is not None:
        _note_log(model.second, log, world, weight)
    if model.seen is not None:  # the counts told it
        return model
    query, ranking = log.query, log.ranking
    if weight is not None:
        query, ranking = query[weight > 0], ranking[weight > 0]
    # Empty slots mark the place before a query's first document, which is cut off.
    seen = np.zeros((world.n_queries, world.n_docs + 1), dtype=bool)
    pairs = ranking + (query.astype(np.int64) * (world.n_docs + 1) + 1)[:, None]
    seen.reshape(-1)[pairs] = True
    model.seen = np.ascontiguousarray(seen[:, 1:])
    return model
