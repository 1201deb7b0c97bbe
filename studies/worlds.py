"""Worlds, users and logging policies by name, made once per process."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .. import clickmodels, data, envs, policies
from ..clickmodels.registry import registered, registered_class
from ..policies.rankers.named import show_ranker, show_variant

SPLIT = (0.8, 0.1, 0.1)


_LATER = {"key": "given", "later": True}  # not in files of earlier versions


@dataclass(frozen=True)
class WorldSetting:
    """Which world a study takes.

    ``path`` of a saved world or a LETOR file, or "" for the synthetic world; ``n_queries`` (0: all
    of a file), ``n_docs`` candidates per query (0: full lists), ``seed`` of what is drawn; a saved
    world is taken whole. ``contents`` is what the file holds, whatever its name: ``from_file``
    finds it. ``made`` is a world itself: see ``from_world``. ``sampler`` says how the candidates
    are drawn, "" for the usual way (``data.candidates``). With ``bootstrap`` the seed also draws
    as many queries as a file has among them, with replacement.
    """

    path: str = field(default="", metadata={"key": False})
    n_queries: int = 1000
    n_docs: int = 30
    seed: int = 0
    contents: str = ""
    sampler: str = field(default="", metadata=_LATER)
    bootstrap: bool = field(default=False, metadata=_LATER)
    made: data.World | None = field(
        default=None, compare=False, repr=False, metadata={"key": False}
    )

    @classmethod
    def from_world(cls, world: data.World) -> WorldSetting:
        """Return the setting of a world that was made already."""
        arrays = world.query_probs.tobytes() + world.candidates.tobytes()  # not in the fingerprint
        contents = f"{world.fingerprint[:24]} {hashlib.sha256(arrays).hexdigest()[:24]}"
        return cls("", world.n_queries, world.n_docs, contents=contents, made=world)

    @classmethod
    def from_file(cls, path: str, n_queries: int, n_docs: int, seed: int = 0) -> WorldSetting:
        """Return the setting of a file, "" for the synthetic world."""
        contents = ""
        if path:
            if not Path(path).is_file():
                raise FileNotFoundError(f"{path}: no such file")
            with Path(path).open("rb") as file:
                contents = hashlib.file_digest(file, "sha256").hexdigest()[:24]
            if data.World.is_saved(path):
                return cls(path, 0, 0, 0, contents)
        return cls(path, n_queries, n_docs, seed, contents)

    def drawn(self, number: int) -> WorldSetting:
        """Return the setting of world ``number`` (from 0) of those that this one stands for.

        A synthetic world is made anew, of a LETOR file a bootstrap of its queries is drawn. A
        saved world, or one that was made already, is the same for all numbers.
        """
        if self.made is not None or (self.path and data.World.is_saved(self.path)):
            return self
        return replace(self, seed=self.seed + number, bootstrap=bool(self.path))

    def describe(self) -> str:
        """Return the setting in words."""
        name = Path(self.path).name or ("synthetic" if self.made is None else "given")
        queries = f"{self.n_queries:,} queries" if self.n_queries else "all queries"
        docs = f"{self.n_docs} documents each" if self.n_docs else "full lists of documents"
        drawn = f", {self.sampler} ones" if self.sampler and self.n_docs else ""
        again = ", drawn with replacement" if self.bootstrap else ""
        return f"{name}, {queries}{again}, {docs}{drawn}, seed {self.seed}"


SMALL_WORLD = WorldSetting(n_queries=5, n_docs=6)  # where studies run in a moment


@lru_cache(maxsize=4)
def world_of(setting: WorldSetting) -> data.World:
    """Return the world of a setting."""
    if setting.made is not None:
        return setting.made
    docs, queries = setting.n_docs or None, setting.n_queries or None
    sampler = setting.sampler or "stratified"
    if setting.bootstrap:
        return world_of(replace(setting, bootstrap=False)).with_queries(_drawn_queries(setting))
    if setting.path and data.World.is_saved(setting.path):
        return data.World.load(setting.path)
    if setting.path:
        return data.load_letor(
            setting.path, n_docs=docs, max_queries=queries, seed=setting.seed, sampler=sampler
        )
    return data.synthetic_world(queries or 1000, docs, seed=setting.seed, sampler=sampler)


def _drawn_queries(setting: WorldSetting) -> NDArray[np.int64]:
    """Return the queries (Q,) of the file that a bootstrap draws."""
    count = world_of(replace(setting, bootstrap=False)).n_queries
    return np.random.default_rng([setting.seed, count]).integers(count, size=count)


UserParameters = tuple[tuple[str, float], ...]  # changes to a true user's, by name


@lru_cache(maxsize=8)
def user_of(
    name: str, setting: WorldSetting, slots: int = 10, parameters: UserParameters = ()
) -> clickmodels.ClickModel:
    """Return a true user of the world, who knows pages of up to ``slots``."""
    return clickmodels.true_user(name, world_of(setting), slots=slots, **dict(parameters))


@lru_cache(maxsize=8)
def scores_of(name: str, setting: WorldSetting) -> NDArray[np.float64]:
    """Return the scores (Q, N) of a ranker, the same for all seeds.

    Of a bootstrap they are those of the file's queries: a ranker that learns on other queries must
    not learn on a copy of the one that it ranks.
    """
    if setting.bootstrap:
        return scores_of(name, replace(setting, bootstrap=False))[_drawn_queries(setting)]
    return policies.ranker_scores(name, world_of(setting))


@lru_cache(maxsize=8)
def logging_of(
    name: str, setting: WorldSetting, slots: int, temperature: float | None = None
) -> policies.Policy:
    """Return the stochastic variant of a ranker, at the paper's temperature by default."""
    find_scores = partial(scores_of, setting=setting)
    return show_variant(name, find_scores, world_of(setting), slots, temperature)


def ranker_of(
    name: str, setting: WorldSetting, slots: int, world: data.World
) -> policies.Policy:
    """Return a ranker itself, showing candidates of ``world``: the setting's, or fewer of them."""
    return show_ranker(name, partial(scores_of, setting=setting), world, slots)


def logs_of(
    user: str, logging: str, setting: WorldSetting, slots: int, impressions: int, seed: int
) -> tuple[data.ClickLog, data.ClickLog, data.ClickLog]:
    """Return the training, validation and test parts of a log."""
    log = envs.collect(
        world_of(setting), user_of(user, setting, slots), logging_of(logging, setting, slots),
        impressions, seed,
    )  # fmt: skip
    train, validation, test = log.split(SPLIT, seed)
    return train, validation, test


def shown_in(log: data.ClickLog, world: data.World) -> data.World:
    """Return ``world`` with the documents that ``log`` showed as candidates.

    Query frequencies stay, and a query that the log never asked keeps all its candidates.
    """
    shown = world.restricted_to(log).candidates
    allowed = np.where(shown.any(axis=1, keepdims=True), shown, world.candidates)
    return world.with_candidates(allowed, world.query_probs)


def generative_names() -> tuple[str, ...]:
    """Return the click models that can promise something: they rank and have probabilities."""
    return tuple(name for name in clickmodels.names() if not _find_lacking(name))


def require_generative(models: Sequence[str], setting: str = "models") -> None:
    """Raise where a model cannot promise anything: values need click probabilities."""
    for name in models:
        if lacking := _find_lacking(name):
            raise ValueError(
                f"{setting} must be one of {', '.join(generative_names())}: {name} is not "
                f"{' and '.join(lacking)}, so it promises nothing"
            )


def _find_lacking(model: str) -> list[str]:
    return sorted({"rank", "generative"} - set(registered_class(model).capabilities))


def longest_first(models: Sequence[str]) -> list[str]:
    """Return the models, each once, with those first that take longest: networks are trained."""
    trained = {name for name in registered() if registered_class(name).network}
    return sorted(dict.fromkeys(models), key=lambda name: name not in trained)
