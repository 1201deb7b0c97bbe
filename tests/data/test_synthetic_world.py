"""The embedded world is shaped like MSLR-WEB10K and can be learned from."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from looping import loop_over

from clickgym.data import World, synthetic, synthetic_world
from clickgym.evaluation import ndcg

BM25 = 109


@pytest.fixture(scope="module")
def full() -> World:
    return synthetic_world()


def feature(world: World, column: int) -> np.ndarray:
    assert world.features is not None
    return world.features[:, :, column]


def test_list_lengths(full):
    lengths = full.candidates.sum(axis=1)
    assert lengths.min() >= 20
    assert lengths.max() <= 300
    assert np.median(lengths) == pytest.approx(100, abs=8)


def test_lists_are_padded_to_the_longest(full):
    assert full.n_docs == full.candidates.sum(axis=1).max()


def test_grade_shares(full):
    shares = np.bincount(full.relevance[full.candidates], minlength=5) / full.candidates.sum()
    assert shares == pytest.approx([0.56, 0.29, 0.125, 0.016, 0.006], rel=0.2)


@loop_over("n_docs", [None, 2, 10, 30])
@loop_over("seed", range(3))
def test_no_query_has_one_grade_only(n_docs, seed):
    world = synthetic_world(400, n_docs, n_features=1, seed=seed)
    lowest = np.where(world.candidates, world.relevance, 9).min(axis=1)
    assert (lowest < world.relevance.max(axis=1)).all()


@loop_over("n_docs", [None, 10])
def test_queries_with_one_grade_are_mended(monkeypatch, n_docs):
    """With such an abundance nearly every query would have only grade 0 or only grade 4."""
    monkeypatch.setattr(synthetic, "ABUNDANCE", 50.0)
    world = synthetic_world(100, n_docs, n_features=1)
    lowest = np.where(world.candidates, world.relevance, 9).min(axis=1)
    assert (lowest < world.relevance.max(axis=1)).all()


def test_bm25_is_near_mslrs(full):
    assert ndcg(feature(full, BM25), full, 10) == pytest.approx(0.33, abs=0.02)


def test_random_order_is_near_mslrs(full):
    scores = np.random.default_rng(1).random(full.relevance.shape)
    assert ndcg(scores, full, 10) == pytest.approx(0.17, abs=0.02)


def test_lambdamart_learns_more_than_bm25_knows(full):
    lightgbm = pytest.importorskip("lightgbm", reason="the rankers extra is not installed")
    train = np.arange(full.n_queries) < 500
    learned = full.candidates & train[:, None]
    ranker = lightgbm.LGBMRanker(n_estimators=100, num_threads=1, verbose=-1, random_state=0)
    ranker.fit(full.features[learned], full.relevance[learned], group=learned.sum(axis=1)[:500])
    test = World(full.relevance[500:], full.features[500:])
    scores = np.zeros(test.relevance.shape)
    scores[test.candidates] = ranker.predict(test.features[test.candidates])
    assert ndcg(scores, test, 10) == pytest.approx(0.45, abs=0.03)


def test_features_have_different_scales(full):
    spread = full.features[full.candidates].std(axis=0)
    assert spread.max() / spread.min() > 1e6


def test_no_feature_is_constant(full):
    assert (full.features[full.candidates].std(axis=0) > 0).all()


def test_inverse_document_frequency_belongs_to_the_query(full):
    for column in range(15, 20):
        values = np.where(full.candidates, feature(full, column), np.nan)
        assert (np.nanmax(values, axis=1) == np.nanmin(values, axis=1)).all()


def test_padding_has_no_features(full):
    assert not full.features[~full.candidates].any()


def test_query_frequencies_follow_a_power_law(full):
    probs = np.sort(full.query_probs)[::-1]
    assert probs[99] / probs[0] == pytest.approx(100**-1.12)


@loop_over("n_docs", [2, 10, 20, 30, 300])
def test_n_docs_fills_every_list(n_docs):
    world = synthetic_world(50, n_docs, n_features=1)
    assert world.n_docs == n_docs
    assert (world.relevance >= 0).all()


@loop_over("n_docs", [None, 10])
@loop_over("n_queries", [1, 2, 20])
def test_few_queries(n_queries, n_docs):
    world = synthetic_world(n_queries, n_docs)
    assert world.n_queries == n_queries
    assert np.isfinite(world.features).all()


def test_drawn_documents_bring_their_features_along():
    """BM25 ranks drawn documents well, so features and grades belong together."""
    world = synthetic_world(n_docs=10)
    random_order = np.random.default_rng(0).random(world.relevance.shape)
    assert ndcg(feature(world, BM25), world, 10) > ndcg(random_order, world, 10) + 0.05


def test_fewer_features_are_the_first_ones():
    whole, few = synthetic_world(20, 10), synthetic_world(20, 10, n_features=12)
    assert np.array_equal(few.features, whole.features[:, :, :12])


def test_the_first_ten_features_say_something_about_relevance():
    world = synthetic_world(400, n_features=10)
    random_order = np.random.default_rng(0).random(world.relevance.shape)
    assert ndcg(world.features.sum(axis=2), world, 10) > ndcg(random_order, world, 10) + 0.03


def test_same_seed_same_world():
    first, second = synthetic_world(20, 10, seed=5), synthetic_world(20, 10, seed=5)
    assert first.fingerprint == second.fingerprint
    assert np.array_equal(first.query_probs, second.query_probs)


@loop_over("attribute", ["relevance", "features", "query_probs"])
def test_another_seed_another_world(attribute):
    first, second = synthetic_world(20, 10, seed=5), synthetic_world(20, 10, seed=6)
    assert not np.array_equal(getattr(first, attribute), getattr(second, attribute))


def test_name():
    assert synthetic_world(1, 2).name == "synthetic"


@loop_over(
    ("argument", "value"),
    [
        ("n_queries", 0),
        ("n_queries", 2.5),
        ("n_docs", 1),
        ("n_docs", 301),
        ("n_features", 0),
        ("n_features", 137),
        ("seed", -1),
    ],
)
def test_bad_arguments_are_named(argument, value):
    with pytest.raises(ValueError, match=argument):
        synthetic_world(**{"n_queries": 5, argument: value})


def test_the_world_does_not_depend_on_the_number_of_threads():
    code = (
        "from clickgym.data import synthetic_world as w; import hashlib;"
        "print(hashlib.sha256(w(n_queries=300).features.tobytes()).hexdigest())"
    )
    found = set()
    for threads in ("1", "2"):
        env = {**os.environ, "OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads}
        run = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, check=True)
        found.add(run.stdout)
    assert len(found) == 1
