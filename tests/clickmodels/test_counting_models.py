"""The counting models: their formulas by hand, and what they make of little data."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from conftest import SLOTS, random_models, small_world
from looping import loop_over

from clickgym import clickmodels, data
from clickgym.clickmodels.cells import all_clicks
from clickgym.clickmodels.tablefit import counting
from clickgym.common.random import Uniforms
from clickgym.data import ClickLog, World

PREDICTING = ("CTR", "rCTR", "dCTR", "drCTR")
RANKING = ("TopPop", "TopPopObs", "RankTopObs")
ALL = PREDICTING + RANKING

# Two queries, four documents, three slots; document 3 is never shown, and the last slot is empty
# on two pages. Clicks by rank: 2 of 5, 1 of 5, 1 of 3; 4 of 13 in all.
TINY = ClickLog(
    query=[0, 0, 0, 1, 1],
    ranking=[[0, 1, 2], [1, 0, -1], [0, 2, 1], [2, 0, -1], [2, 1, 0]],
    clicks=[[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0], [0, 0, 0]],
)
PRIOR = 4 / 13
RANK_RATES = [2 / 5, 1 / 5, 1 / 3]
CLICKS = [[2, 1, 0, 0], [0, 0, 1, 0]]
IMPRESSIONS = [[3, 3, 2, 0], [2, 1, 2, 0]]


def tiny_world() -> World:
    return World(np.zeros((2, 4), dtype=np.int8))


def fit(name: str, log: ClickLog = TINY, world: World | None = None, **settings):
    fitted = clickmodels.registry.registered_class(name).fit(
        log, tiny_world() if world is None else world, **settings
    )
    assert np.isfinite(fitted.relevance()).all()
    return fitted


def smoothed(clicks: float, impressions: float, prior: float, smoothing: float = 1.0) -> float:
    return (clicks + smoothing) / (impressions + smoothing / prior)


def probs_at(model, query: int, document: int, rank: int) -> float:
    """P(C = 1) of a document at a rank (0-based), below document 3."""
    ranking = np.array([[3] * rank + [document]])
    return float(model.click_probs([query], ranking)[0, rank])


def simulated(n: int = 400, seed: int = 0) -> tuple[World, ClickLog]:
    """A log of short and long pages of the small world, with clicks of a PBM."""
    world, rng = small_world(), np.random.default_rng(seed)
    query = rng.integers(0, world.n_queries, n)
    ranking = rng.permuted(np.tile(np.arange(world.n_docs), (n, 1)), axis=1)[:, :SLOTS]
    ranking[np.arange(SLOTS) >= rng.integers(1, SLOTS + 1, n)[:, None]] = -1
    clicks = random_models()["PBM"].sample(query, ranking, rng)
    return world, ClickLog(query, ranking, clicks, fingerprint=world.fingerprint)


# Counting


def test_counts_by_rank():
    clicks, impressions = counting.count_by_rank(TINY)
    assert clicks.tolist() == [2, 1, 1]
    assert impressions.tolist() == [5, 5, 3]


def test_counts_by_pair():
    clicks, impressions = counting.count_by_pair(TINY, tiny_world())
    assert clicks.tolist() == CLICKS
    assert impressions.tolist() == IMPRESSIONS


def test_counts_by_pair_with_ranks_that_count_differently():
    _, impressions = counting.count_by_pair(TINY, tiny_world(), rank_weight=[1, 10, 100])
    assert impressions.tolist() == [[12, 111, 110, 0], [110, 10, 2, 0]]


def test_counts_by_pair_and_rank_have_a_row_for_each_shown_pair():
    counts = counting.count_by_pair_and_rank(TINY, tiny_world())
    assert counts.pairs.tolist() == [0, 1, 2, 4, 5, 6]
    assert counts.impressions.tolist() == [
        [2, 1, 0], [1, 1, 1], [0, 1, 1], [0, 1, 1], [0, 1, 0], [2, 0, 0],
    ]  # fmt: skip
    assert counts.clicks.tolist() == [
        [1, 1, 0], [0, 0, 1], [0, 0, 0], [0, 0, 0], [0, 0, 0], [1, 0, 0],
    ]  # fmt: skip


def test_counts_by_pair_and_rank_agree_with_a_loop():
    world, log = simulated()
    clicks = np.zeros((world.n_queries * world.n_docs, SLOTS))
    impressions = np.zeros_like(clicks)
    for row in range(len(log)):
        for rank, document in enumerate(log.ranking[row]):
            if document >= 0:
                pair = log.query[row] * world.n_docs + document
                impressions[pair, rank] += 1
                clicks[pair, rank] += log.clicks[row, rank]
    counts = counting.count_by_pair_and_rank(log, world)
    np.testing.assert_array_equal(counts.impressions, impressions[counts.pairs])
    np.testing.assert_array_equal(counts.clicks, clicks[counts.pairs])
    assert impressions.sum() == counts.impressions.sum()


def test_pairs_of_weight_zero_are_not_shown():
    log = ClickLog([0, 0], [[0], [1]], [[1], [1]], weight=[2.0, 0.0])
    assert counting.count_by_pair_and_rank(log, tiny_world()).pairs.tolist() == [0]


# Formulas, by hand


def test_ctr_is_the_global_rate():
    assert fit("CTR").click_rate == pytest.approx(PRIOR)


def test_ctr_predicts_it_everywhere_but_in_empty_slots():
    probs = fit("CTR").click_probs([0, 1], [[3, 0, 1], [2, -1, -1]])
    np.testing.assert_allclose(probs, PRIOR * np.array([[1, 1, 1], [1, 0, 0]]))


def test_rctr_is_the_rate_of_each_rank():
    assert fit("rCTR").click_rate.tolist() == pytest.approx(RANK_RATES)


def test_rctr_predicts_by_rank():
    probs = fit("rCTR").click_probs([0, 1], [[3, 0, 1], [2, -1, -1]])
    np.testing.assert_allclose(probs, np.array(RANK_RATES) * [[1, 1, 1], [1, 0, 0]])


def test_dctr_is_smoothed_towards_the_global_rate():
    expected = [
        [smoothed(c, n, PRIOR) for c, n in zip(clicks, impressions, strict=True)]
        for clicks, impressions in zip(CLICKS, IMPRESSIONS, strict=True)
    ]
    np.testing.assert_allclose(fit("dCTR").click_rate, expected)


def test_dctr_of_an_unseen_pair_is_exactly_the_prior():
    model = fit("dCTR")
    assert (model.click_rate[:, 3] == model.prior).all()


def test_dctr_without_smoothing_is_equation_2():
    rates = fit("dCTR", smoothing=0).click_rate
    np.testing.assert_allclose(rates[0], [2 / 3, 1 / 3, 0, PRIOR])


def test_dctr_does_not_depend_on_rank():
    model = fit("dCTR")
    assert len({probs_at(model, 0, 1, rank) for rank in range(3)}) == 1


def test_dctr_relevance_is_its_rate():
    model = fit("dCTR")
    np.testing.assert_array_equal(model.relevance(), model.click_rate)


@loop_over(
    ("query", "document", "rank", "clicks", "impressions"),
    [(0, 0, 0, 1, 2), (0, 0, 1, 1, 1), (0, 1, 2, 1, 1), (1, 2, 0, 1, 2), (1, 0, 2, 0, 1)],
)
def test_drctr_is_smoothed_towards_the_ranks_rate(query, document, rank, clicks, impressions):
    expected = smoothed(clicks, impressions, RANK_RATES[rank])
    assert probs_at(fit("drCTR"), query, document, rank) == pytest.approx(expected)


@loop_over(("document", "rank"), [(0, 2), (3, 0), (3, 1)])
def test_drctr_of_an_unseen_cell_is_exactly_the_prior(document, rank):
    model = fit("drCTR")
    assert probs_at(model, 0, document, rank) == model.prior[rank]
    assert model.prior.tolist() == pytest.approx(RANK_RATES)


def test_drctr_of_an_empty_slot_is_zero():
    probs = fit("drCTR").click_probs([0, 1], [[0, -1, -1], [1, -1, -1]])
    assert (probs[:, 1:] == 0).all()


def test_drctr_relevance_is_equation_3():
    rank1, rank2, rank3 = RANK_RATES
    expected = [
        [(1 / 2) / rank1 + 1 / rank2, 1 / rank3, 0, 0],
        [0, 0, (1 / 2) / rank1, 0],
    ]
    np.testing.assert_allclose(fit("drCTR").relevance(), expected)


def test_drctr_relevance_smoothed_as_in_the_released_code():
    rank1, rank2, _ = RANK_RATES
    relevance = fit("drCTR", smooth_relevance=True).relevance()
    expected = smoothed(1, 2, rank1) / rank1 + smoothed(1, 1, rank2) / rank2 + 1
    assert relevance[0, 0] == pytest.approx(expected)
    assert relevance[0, 3] == pytest.approx(3)


def test_toppop_is_equation_4():
    assert fit("TopPop").relevance().tolist() == CLICKS


def test_toppopobs_is_equation_5():
    assert fit("TopPopObs").relevance().tolist() == [[6, 3, 0, 0], [0, 0, 2, 0]]


def test_ranktopobs_is_equation_6():
    rank1, rank2, rank3 = RANK_RATES
    expected = [
        [2 * rank1 + rank2, rank1 + rank2 + rank3, rank2 + rank3, 0],
        [rank2 + rank3, rank2, 2 * rank1, 0],
    ]
    np.testing.assert_allclose(fit("RankTopObs").relevance(), expected)


@loop_over("name", ["CTR", "rCTR"])
def test_models_without_documents_tie_them_all(name):
    assert (fit(name).relevance() == 0).all()


@loop_over("name", ["dCTR", "drCTR", "TopPop", "TopPopObs", "RankTopObs"])
def test_a_document_shown_and_clicked_like_another_but_more_ranks_higher(name):
    # Both are always at the top; document 0 is clicked three times out of four, 1 once, 2 never.
    log = ClickLog([0] * 7, [[0]] * 4 + [[1]] * 2 + [[2]], [[1], [1], [1], [0], [1], [0], [0]])
    relevance = fit(name, log).relevance()[0]
    assert relevance[0] > relevance[1] > relevance[2]


# Little data


@loop_over("name", ALL)
def test_no_clicks_at_all(name):
    log = ClickLog(TINY.query, TINY.ranking, np.zeros_like(TINY.clicks))
    model = fit(name, log)
    assert (model.relevance() == 0).all()


@loop_over(
    ("name", "settings"),
    [(name, {}) for name in PREDICTING] + [(name, {"smoothing": 0}) for name in ("dCTR", "drCTR")],
)
def test_no_clicks_at_all_predicts_none(name, settings):
    model = fit(name, ClickLog(TINY.query, TINY.ranking, np.zeros_like(TINY.clicks)), **settings)
    assert (model.click_probs(TINY.query, TINY.ranking) == 0).all()


@loop_over("name", PREDICTING)
def test_always_clicked_predicts_ones(name):
    model = fit(name, ClickLog(TINY.query, TINY.ranking, TINY.ranking >= 0))
    np.testing.assert_array_equal(model.click_probs([1], [[0, 3, -1]]), [[1, 1, 0]])


@loop_over("name", ALL)
@loop_over("clicked", [False, True])
def test_one_impression(name, clicked):
    model = fit(name, ClickLog([1], [[2]], [[clicked]]))
    if name in PREDICTING:
        assert model.click_probs([1, 0], [[2], [0]]).tolist() == [[clicked], [clicked]]
    else:
        assert (model.relevance()[1, 2] > 0) == clicked


@loop_over("name", ["rCTR", "drCTR"])
def test_a_rank_without_impressions_has_the_global_rate(name):
    log = ClickLog([0, 0], [[0, 1, -1], [1, -1, -1]], [[1, 0, 0], [0, 0, 0]])
    assert fit(name, log).click_probs([1], [[2, 1, 0]])[0, 2] == pytest.approx(1 / 3)


@loop_over("name", ["rCTR", "drCTR"])
def test_a_page_longer_than_the_logs_is_refused(name):
    with pytest.raises(ValueError, match="ranking has 4 slots"):
        fit(name).click_probs([0], [[0, 1, 2, 3]])


@loop_over("name", ["CTR", "dCTR"])
def test_models_without_ranks_take_pages_of_any_length(name):
    assert fit(name).click_probs([0], [[0, 1, 2, 3]]).shape == (1, 4)


@loop_over("name", ALL)
@loop_over(
    "log",
    [
        ClickLog(np.zeros(0, int), np.zeros((0, 3), int), np.zeros((0, 3), bool)),
        ClickLog([0], [[0, 1]], [[1, 0]], weight=[0.0]),
        ClickLog([0], [[-1, -1]], [[0, 0]]),
    ]
)
def test_a_log_without_impressions_is_refused(name, log):
    with pytest.raises(ValueError, match="no impressions to fit to"):
        fit(name, log)


@loop_over("name", ALL)
def test_a_log_of_another_world_is_refused(name):
    log = ClickLog(TINY.query, TINY.ranking, TINY.clicks, fingerprint="0" * 64)
    with pytest.raises(ValueError, match="another world"):
        fit(name, log)


@loop_over("name", ALL)
def test_an_unknown_setting_is_an_error(name):
    with pytest.raises(TypeError, match="smoothness"):
        fit(name, smoothness=2.0)


@loop_over("name", ["dCTR", "drCTR"])
@loop_over("smoothing", [-1.0, np.nan])
def test_smoothing_out_of_range(name, smoothing):
    with pytest.raises(ValueError, match="smoothing"):
        fit(name, smoothing=smoothing)


# Weights


def same(one, other) -> None:
    """Assert that two models have equal states."""
    assert one.state().keys() == other.state().keys()
    for key, value in one.state().items():
        np.testing.assert_array_equal(value, other.state()[key], err_msg=key)


@loop_over("name", ALL)
def test_a_weighted_row_is_a_repeated_row(name):
    world, log = simulated()
    times = np.random.default_rng(1).integers(0, 4, len(log))
    weighted = ClickLog(log.query, log.ranking, log.clicks, weight=times.astype(float))
    same(fit(name, weighted, world), fit(name, log[np.repeat(np.arange(len(log)), times)], world))


@loop_over("name", ALL)
def test_a_compressed_log_gives_the_same_model(name):
    world, log = simulated()
    doubled = log[np.tile(np.arange(len(log)), 2)]
    same(fit(name, doubled.compress(), world), fit(name, doubled, world))


# Distributions, saving, capabilities


@loop_over("name", PREDICTING)
def test_joint_sums_to_one(name):
    world, log = simulated()
    model = fit(name, log, world)
    vectors = all_clicks(SLOTS)
    for row in range(3):
        allowed = vectors[~(vectors & (log.ranking[row] < 0)).any(axis=1)]
        pages = np.tile(log.ranking[row], (len(allowed), 1))
        likelihood = model.log_likelihood([log.query[row]] * len(allowed), pages, allowed)
        assert np.exp(likelihood).sum() == pytest.approx(1)


@loop_over("name", PREDICTING)
def test_samples_have_the_models_rates(name):
    world, log = simulated()
    model = fit(name, log, world)
    query, ranking = np.full(20_000, 2), np.tile([3, 0, 5, 1, -1], (20_000, 1))
    clicks = model.sample(query, ranking, np.random.default_rng(0))
    np.testing.assert_allclose(
        clicks.mean(axis=0), model.click_probs([2], ranking[:1])[0], atol=4 * 0.5 / 20_000**0.5
    )


@loop_over("name", PREDICTING)
def test_pages_one_by_one_have_the_models_rates(name):
    world, log = simulated()
    model = fit(name, log, world)
    uniforms = Uniforms(np.random.default_rng(0))
    clicks = [model.sample_page(2, [3, 0, 5, 1, -1], uniforms) for _ in range(5_000)]
    np.testing.assert_allclose(
        np.mean(clicks, axis=0),
        model.click_probs([2], [[3, 0, 5, 1, -1]])[0],
        atol=4 * 0.5 / 5_000**0.5,
    )


@loop_over("name", PREDICTING)
def test_click_probs_agree_with_all_prefixes(name):
    world, log = simulated()
    model = fit(name, log, world)
    pages = log.query[:20], log.ranking[:20]
    np.testing.assert_allclose(
        model.click_probs(*pages), clickmodels.ClickModel.click_probs(model, *pages)
    )


@loop_over("name", ALL)
def test_save_and_load_give_the_same_model(name, tmp_path):
    world, log = simulated()
    model = fit(name, log, world)
    model.fingerprint = world.fingerprint
    model.save(tmp_path / "model")
    loaded = clickmodels.ClickModel.load(tmp_path / "model")
    assert type(loaded) is type(model)
    same(loaded, model)
    np.testing.assert_array_equal(loaded.relevance(), model.relevance())
    loaded.check_world(world)
    if name in PREDICTING:
        np.testing.assert_array_equal(
            loaded.click_probs(log.query, log.ranking), model.click_probs(log.query, log.ranking)
        )


@loop_over("name", PREDICTING)
def test_capabilities_of_models_that_predict(name):
    assert fit(name).capabilities == {"rank", "conditional", "generative"}


@loop_over("name", RANKING)
@loop_over(
    "ask",
    [
        lambda model: model.conditional_click_probs([0], [[0]], [[0]]),
        lambda model: model.log_likelihood([0], [[0]], [[0]]),
        lambda model: model.sample([0], [[0]], np.random.default_rng(0)),
        lambda model: model.click_probs([0], [[0]]),
        lambda model: model.estimate_click_probs([0], [[0]], 2, np.random.default_rng(0)),
    ]
)
def test_models_that_only_rank_refuse_the_rest(name, ask):
    model = fit(name)
    assert model.capabilities == {"rank"}
    with pytest.raises(clickmodels.NotCapable):
        ask(model)


@loop_over("name", ALL)
def test_models_are_of_the_worlds_shape(name):
    assert fit(name).shape == (2, 4)


# What a constructor refuses


def test_more_clicks_than_impressions():
    with pytest.raises(ValueError, match="clicks must be at most impressions"):
        clickmodels.DCTR([[2.0]], [[1.0]])


@loop_over("pairs", [[1, 0], [0, 0], [-1, 0], [0, 8]])
def test_pairs_that_do_not_rise_within_the_world(pairs):
    with pytest.raises(ValueError, match="pairs must rise"):
        clickmodels.DRCTR(pairs, np.zeros((2, 3)), np.ones((2, 3)), 2, 4)


# An outside reference: PyClick's perplexities on the real log (its README's split)


@pytest.fixture(scope="module")
def yandex():
    folder = os.environ.get("CLICKGYM_DATA")
    if not folder:
        pytest.skip("CLICKGYM_DATA does not name the folder with the real samples")
    with pytest.warns(UserWarning, match="dropped 417 clicks"):
        world, log = data.read_pyclick(Path(folder) / "yandex" / "sample.txt")
    order = np.random.default_rng(0).permutation(len(log))
    train, test = np.split(order, [int(0.8 * len(log))])
    return world, log[train], log[test]


def perplexity(probs: np.ndarray, clicks: np.ndarray) -> float:
    return float(np.mean(2 ** -np.log2(np.where(clicks, probs, 1 - probs)).mean(axis=0)))


def test_rank_rates_have_pyclicks_perplexity(yandex):
    world, train, test = yandex
    probs = fit("rCTR", train, world).click_probs(test.query, test.ranking)
    assert perplexity(probs, test.clicks) == pytest.approx(1.42707, abs=1e-5)


def test_document_counts_have_pyclicks_perplexity_with_its_smoothing(yandex):
    world, train, test = yandex
    clicks, impressions = counting.count_by_pair(train, world)
    rates = (clicks + 1) / (impressions + 2)
    probs = rates[test.query[:, None], test.ranking]
    assert perplexity(probs, test.clicks) == pytest.approx(1.39353, abs=1e-5)


def test_dctr_is_at_least_as_good_as_pyclicks(yandex):
    world, train, test = yandex
    probs = fit("dCTR", train, world).click_probs(test.query, test.ranking)
    assert perplexity(probs, test.clicks) <= 1.39353
