"""Small worlds and models that the tests share."""

from __future__ import annotations

import numpy as np
import pytest

from clickgym import clickmodels, data

SLOTS = 5


def small_world(n_queries: int = 6, n_docs: int = 7, short: bool = False) -> data.World:
    """A world of random grades; with ``short`` the first two queries have 2 and 3 candidates."""
    rng = np.random.default_rng(7)
    relevance = rng.integers(0, 5, size=(n_queries, n_docs))
    relevance[:, :2] = (0, 4)
    if short:
        relevance[0, 2:] = -1
        relevance[1, 3:] = -1
    features = rng.normal(size=(n_queries, n_docs, 4)).astype(np.float32)
    probs = rng.dirichlet(np.ones(n_queries))
    return data.World(relevance, features, probs, name="small")


def small_ratings_world(n_queries: int = 6, n_docs: int = 7, short: bool = False) -> data.World:
    """A world of random ratings, some missing; with ``short`` lists as in ``small_world``."""
    grades = small_world(n_queries, n_docs, short)
    relevance = np.array([-1, 2, 3, 4, 5])[grades.relevance]  # a candidate of grade 0 is unrated
    relevance[~grades.candidates] = -1
    relevance[0, 0] = 1
    return data.World(
        relevance, grades.features, grades.query_probs, grades.candidates, max_grade=5,
        name="small ratings",
    )  # fmt: skip


def small_vertical_world(n_queries: int = 6, n_docs: int = 7, short: bool = False) -> data.World:
    """``small_world`` with a block of each of four types, and queries without one."""
    types = np.arange(n_queries) % 6
    return small_world(n_queries, n_docs, short).with_vertical(np.where(types < 4, types, -1))


def random_models(seed: int = 0, n_queries: int = 6, n_docs: int = 7) -> dict:
    """A model of each structure with random parameters for pages of ``SLOTS`` slots."""
    rng = np.random.default_rng(seed)
    attractiveness = rng.random((n_queries, n_docs))
    satisfaction = rng.random((n_queries, n_docs))
    modes = rng.dirichlet(np.ones(3))
    continuation = np.random.default_rng(seed + 1).random(SLOTS)
    models = {
        "PBM": clickmodels.PBM(attractiveness, rng.random(SLOTS)),
        "UBM": clickmodels.UBM(attractiveness, rng.random((SLOTS, SLOTS))),
        "DBN": clickmodels.DBN(attractiveness, satisfaction, 0.8),
        "SDBN": clickmodels.SDBN(attractiveness, satisfaction),
        "CM": clickmodels.CM(attractiveness),
        "DCM": clickmodels.DCM(attractiveness, continuation),
        "CCM": clickmodels.CCM(attractiveness, continuation[:3]),
        "CoCM": clickmodels.CoCM(attractiveness, 0.6, 0.85, modes, rng.random(SLOTS)),
    }
    own = np.random.default_rng(seed + 2)  # the numbers above stay as they are
    by_block = own.random((2, 2, SLOTS + 1))
    tables = own.random((2, SLOTS, SLOTS))
    models["FCM"] = clickmodels.FCM(attractiveness, tables[0], by_block[0], own.random(2 * SLOTS))
    models["VCM"] = clickmodels.VCM(attractiveness, *tables[::-1], *by_block)
    mixed = [models["PBM"], models["UBM"], models["DBN"]]
    return models | {"Ensemble": clickmodels.Ensemble(mixed)}


@pytest.fixture
def world() -> data.World:
    return small_world()


@pytest.fixture
def short_world() -> data.World:
    return small_world(short=True)
