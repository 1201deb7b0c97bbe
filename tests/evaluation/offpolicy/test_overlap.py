"""Off-policy estimates where the logging policy never, or hardly ever, shows what is asked for."""

from __future__ import annotations

import numpy as np
import pytest
from looping import loop_over
from slates import (
    CLICKS,
    FEWER,
    LOG,
    NARROW,
    RANKER,
    SOFT,
    UNIFORM,
    USER,
    WEIGHTS,
    WORLD,
    K,
    N,
    Q,
    indicators,
    narrow_log,
    pages_of,
)

from clickgym import evaluation
from clickgym.data import ClickLog
from clickgym.evaluation import NoOverlap, estimate
from clickgym.policies import PlackettLuce, Product, Ranker


@loop_over("name", ["ips", "wips", "pi", "wpi", "dr-ips", "dr-pi"])
@loop_over("target", [RANKER, SOFT])
def test_a_target_that_shows_what_logging_does_not_is_warned_about(name, target):
    log = narrow_log()
    options = {"direct": USER} if name.startswith("dr") else {}
    with pytest.warns(NoOverlap, match="logging policy"):
        got = estimate(name, log, np.zeros(len(log)), NARROW, target, WORLD, **options)
    assert np.isfinite(got.value)
    assert got.bound is None  # Theorem 1 needs overlap


@loop_over("name", ["ips", "pi", "dr-pi"])
def test_the_warning_points_at_the_caller(name):
    log = narrow_log()
    with pytest.warns(NoOverlap) as caught:
        estimate(name, log, np.ones(len(log)), NARROW, RANKER, WORLD)
    assert {warning.filename for warning in caught} == {__file__}


def test_a_single_query_without_overlap_is_found():
    """Of the three queries' pages, logging never shows the target's for the last."""
    weights = np.where(np.arange(Q)[:, None] == 2, FEWER, WEIGHTS)
    logging = PlackettLuce(weights, slots=K)
    query = np.repeat(np.arange(Q), 20)
    pages, log_prob = logging.draw(query, np.random.default_rng(0))
    log = ClickLog(query, pages, np.zeros(pages.shape, dtype=bool), log_prob)
    with pytest.warns(NoOverlap, match=r"1 of 3 pages .*query 2 is the first"):
        estimate("ips", log, np.ones(len(log)), logging, RANKER)


def test_documents_that_logging_does_not_know_are_no_overlap():
    wider = Ranker.from_rankings([[4, 0, N]] * Q, N + 1)
    with pytest.warns(NoOverlap, match="for 1 of 1 queries .*probability 1"):
        weights = evaluation.PseudoinverseWeights(UNIFORM, wider, [0])
    assert not weights.covers.any()


@loop_over("name", ["ips", "pi", "dr-ips", "dr-pi"])
@pytest.mark.filterwarnings("error::UserWarning")
def test_overlap_is_not_warned_about(name):
    assert np.isfinite(estimate(name, LOG, CLICKS, UNIFORM, SOFT, WORLD).value)


def test_what_is_too_rare_to_be_inverted_is_warned_about():
    """At this temperature the rarest pages have probability 1e-20."""
    with pytest.warns(NoOverlap):
        evaluation.PseudoinverseWeights(PlackettLuce(WEIGHTS, 0.07, slots=K), UNIFORM, [0])


def steep(kind):
    """A policy that shows document 4 with a probability of 1e-60 at most."""
    weights = np.array([1.0, 0.9, 0.7, 0.4, 1e-3])
    if kind == "Plackett-Luce":
        return PlackettLuce([weights], 0.05, slots=K)
    return Product(np.broadcast_to(weights**20 / (weights**20).sum(), (1, K, N)))


@loop_over("kind", ["Plackett-Luce", "product"])
def test_what_is_hardly_ever_shown_does_not_drown_the_weights_of_common_pages(kind):
    """Γ† has entries of 1e60 there, which cancel for the pages that are shown."""
    logging, target = steep(kind), Ranker.from_rankings([[4, 0, 1]], N)
    with pytest.warns(NoOverlap, match="not, or hardly ever"):
        weights = evaluation.PseudoinverseWeights(logging, target, [0])
    pages, chance = pages_of(logging, 0)
    found = weights.of(np.zeros(len(pages), dtype=np.int64), pages)
    assert np.abs(found[chance > 1e-3]).max() < 1000
    assert 0 < weights.sigma_squared[0] < np.inf


@loop_over("kind", ["Plackett-Luce", "product"])
def test_what_is_hardly_ever_shown_does_not_matter_to_a_target_without_it(kind):
    logging, target = steep(kind), Ranker.from_rankings([[1, 0, 2]], N)
    weights = evaluation.PseudoinverseWeights(logging, target, [0])
    pages, chance = pages_of(logging, 0)
    found = chance * weights.of(np.zeros(len(pages), dtype=np.int64), pages)
    shown = np.einsum("p,pka->ka", found, indicators(pages))
    np.testing.assert_allclose(shown, indicators(target.rankings)[0], atol=1e-4)
