"""The study of pages with a block: what is drawn, what is counted, and what is compared."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from clickgym import evaluation, studies
from clickgym.studies.federated.abandonment_cells import (
    ABANDONED,
    BAD,
    DIFFERENCE,
    GOOD,
    OTHERS,
    SHOWN,
    SUPPRESSED,
    AbandonmentCell,
    abandonment_cell,
    share_of_sessions,
)
from clickgym.studies.federated.correlation_cells import (
    BAD_ONLY,
    CLICKED,
    COLUMNS,
    EVERY,
    METRICS,
    PAPER,
    REFITTED,
    UTILITY,
    CorrelationCell,
    correlation_cell,
)
from clickgym.studies.federated.drawn_pages import (
    INFORMATIONAL,
    INTENTS,
    NAVIGATIONAL,
    draw_pages,
    draw_world,
    intents,
)
from clickgym.studies.federated.federated_setting import ALL, PageSetting, draw_seed, scene_of
from clickgym.studies.federated.user_sessions import (
    CONFIGURATION,
    any_click,
    draw_sessions,
    split_users,
)

SMALL = PageSetting("FCM", "location", 3, queries=20, configurations=3, sessions=2000, slots=4)


@pytest.fixture(scope="module")
def cell():
    return correlation_cell(CorrelationCell(SMALL, 30))


def sessions_of(setting=SMALL, **more):
    scene, seed = scene_of(setting), draw_seed(setting, "sessions")
    shown = scene.world, scene.pages, scene.user
    return scene, draw_sessions(*shown, setting.sessions, seed, **more)


def test_navigational_queries_have_one_good_document():
    world = draw_world(50, 1, 0)
    navigational, informational = (world.relevance[intents(world) == place] for place in range(2))
    good = navigational >= 3
    assert (good.sum(axis=1) == 1).all()
    assert set(navigational[~good]) == {0, 1}
    assert set(informational.ravel()) == {0, 1, 2, 3, 4}
    assert (world.vertical == 1).all()
    assert world.query_probs[intents(world) == 0].sum() == pytest.approx(0.5)


def test_places_and_orders_vary_between_the_pages_of_a_query():
    world = draw_world(30, 0, 0)
    pages = draw_pages(world, 5, 10, 4.0, 1)
    assert len(pages) == 300
    np.testing.assert_array_equal(np.bincount(pages.query), 5)
    assert set(pages.position) == set(range(11))
    assert all(len(set(row)) == 10 for row in pages.ranking)
    by_query = pages.position.reshape(60, 5)
    assert (by_query.min(axis=1) < by_query.max(axis=1)).mean() > 0.9
    assert len(np.unique(pages.ranking.reshape(60, 5, 10)[0], axis=0)) == 5
    assert pages.share.sum() == pytest.approx(1.0)


def test_a_production_ranker_without_noise_ranks_by_grade():
    world = draw_world(30, 0, 0)
    for noise, right in ((0.0, True), (4.0, False)):
        pages = draw_pages(world, 2, 10, noise, 1)
        grades = pages.grades(world)
        assert bool((np.diff(grades, axis=1) <= 0).all()) is right


def test_seeds_draw_worlds_pages_and_sessions():
    first, again = (scene_of.__wrapped__(SMALL) for _ in range(2))
    other = scene_of(replace(SMALL, seed=4))
    np.testing.assert_array_equal(first.world.relevance, again.world.relevance)
    np.testing.assert_array_equal(first.pages.ranking, again.pages.ranking)
    assert (first.world.relevance != other.world.relevance).any()
    assert (first.pages.position != other.pages.position).any()
    clicks = [sessions_of(one)[1].log.clicks for one in (SMALL, SMALL, replace(SMALL, seed=4))]
    np.testing.assert_array_equal(clicks[0], clicks[1])
    assert (clicks[0] != clicks[2]).any()


def test_users_and_types_share_pages_but_not_sessions():
    other = replace(SMALL, user="VCM", vertical="images")
    np.testing.assert_array_equal(scene_of(SMALL).pages.ranking, scene_of(other).pages.ranking)
    assert draw_seed(SMALL, "sessions") != draw_seed(other, "sessions")
    assert draw_seed(SMALL, "sessions") != draw_seed(SMALL, "experiment")


def test_sessions_are_split_by_user():
    _, sessions = sessions_of()
    train, test = split_users(sessions, 0)
    assert len(train) + len(test) == SMALL.sessions
    assert abs(len(test) / SMALL.sessions - 0.5) < 0.1
    assert not set(train.user) & set(test.user)
    other, _ = split_users(sessions, 1)
    assert set(other.user) != set(train.user)


def test_a_user_sees_all_blocks_or_none():
    _, sessions = sessions_of(suppressed=0.3)
    for user in np.unique(sessions.user):
        assert len(set(sessions.suppressed[sessions.user == user])) == 1
    assert abs(sessions.suppressed.mean() - 0.3) < 0.1
    assert not sessions.good[sessions.suppressed].any()
    assert not (sessions.good & ~sessions.abandoned).any()


def test_abandonment_is_as_frequent_as_the_users_probabilities_say():
    setting = replace(SMALL, sessions=40_000)
    scene, sessions = sessions_of(setting)
    page = sessions.log.extra[CONFIGURATION]
    pages = scene.pages.query, scene.pages.ranking
    clicked = any_click(scene.user, scene.pages, scene.block)
    good = scene.user.satisfied_probs(*pages, **scene.block) - clicked
    for happened, probs in ((sessions.abandoned, 1.0 - clicked), (sessions.good, good)):
        expected = probs[page]
        spread = np.sqrt((expected * (1.0 - expected)).sum())
        assert abs(happened.sum() - expected.sum()) < 4.0 * spread


def test_shares_have_errors_over_users():
    rng = np.random.default_rng(0)
    happened = rng.random(400) < 0.3
    share, error = share_of_sessions(happened, np.arange(400))
    assert share == happened.mean()
    assert error == pytest.approx(happened.std(ddof=1) / 20.0)
    twice = share_of_sessions(np.repeat(happened, 2), np.repeat(np.arange(400), 2))
    assert twice == pytest.approx((share, error))  # the same answer twice is no more users
    with pytest.raises(ValueError, match="an arm of the experiment has 1 users"):
        share_of_sessions(happened, np.zeros(400, dtype=int))


def test_the_experiment_splits_abandonment():
    result = abandonment_cell(AbandonmentCell(SMALL, 0.4))
    rate = {(intent, arm, kind): value for intent, arm, kind, value, *_ in result["rates"]}
    assert sum(result["sessions"].values()) == SMALL.sessions
    for intent in (*INTENTS, ALL):
        for arm in (SHOWN, SUPPRESSED):
            whole = rate[intent, arm, ABANDONED]
            good, bad = rate[intent, arm, GOOD], rate[intent, arm, BAD]
            assert good + bad == pytest.approx(whole)
            assert rate[intent, arm, OTHERS] == pytest.approx(bad / (1.0 - good))
        assert rate[intent, SUPPRESSED, GOOD] == 0.0 < rate[intent, SHOWN, GOOD]
        assert rate[intent, DIFFERENCE, BAD] == pytest.approx(
            rate[intent, SHOWN, BAD] - rate[intent, SUPPRESSED, BAD]
        )


def test_correlations_are_weighted_by_the_test_sessions_of_configurations(cell):
    scene, sessions = sessions_of()
    _, test = split_users(sessions, draw_seed(SMALL, "split"))
    chosen = test[intents(scene.world)[test.log.query] == 0]
    page = chosen.log.extra[CONFIGURATION]
    weight = np.bincount(page, minlength=len(scene.pages))
    some = weight > 0
    uctr = np.bincount(page, ~chosen.abandoned, len(scene.pages))[some] / weight[some]
    grades = evaluation.page_grades(scene.world, scene.pages.query, scene.pages.ranking)
    dcg = evaluation.metric("DCG", grades)[some]
    expected = np.cov(dcg, uctr, aweights=weight[some])
    expected = expected[0, 1] / np.sqrt(expected[0, 0] * expected[1, 1])
    (found,) = [
        one for one in cell["correlations"]
        if one[:5] == (NAVIGATIONAL, EVERY, "DCG", "", "UCTR")
    ]  # fmt: skip
    assert found[5] == pytest.approx(expected)
    assert found[6] < expected < found[7]


def test_differences_are_those_of_the_correlations(cell):
    value = {tuple(one[:5]): one[5] for one in cell["correlations"]}
    differences = {tuple(one[:5]): one[5] for one in cell["differences"]}
    assert len(value) == 3 * 3 * len(METRICS) * len(COLUMNS)
    for intent in (*INTENTS, ALL):
        for kind in (EVERY, BAD_ONLY, REFITTED):
            for first, second in (("DCG", "uFCM"), ("uUBM", "uFCM"), ("uFCM", "uVCM")):
                own, other = (value[intent, kind, name, "", "MinRR"] for name in (first, second))
                found = differences[intent, kind, first, second, "MinRR"]
                assert found == pytest.approx(own - other)
    pairs = {key[2:4] for key in differences if key[2] in PAPER and key[3] in PAPER}
    assert len(pairs) == len(PAPER) * (len(PAPER) - 1) // 2


def test_without_good_abandonment_more_sessions_have_a_click(cell):
    mean = {tuple(one[:3]): one[3] for one in cell["online"]}
    _, sessions = sessions_of()
    _, test = split_users(sessions, draw_seed(SMALL, "split"))
    clicked = (~test.abandoned).sum()
    assert mean[ALL, EVERY, "UCTR"] == pytest.approx(clicked / len(test))
    assert mean[ALL, BAD_ONLY, "UCTR"] == pytest.approx(clicked / (~test.good).sum())


def test_fits_without_good_abandonment_say_something_else(cell):
    value = {tuple(one[:5]): one[5] for one in cell["correlations"]}
    for name, same in (("DCG", True), (UTILITY, True), ("uFCM", False), ("uUBM", False)):
        bad, refitted = (value[ALL, kind, name, "", "UCTR"] for kind in (BAD_ONLY, REFITTED))
        assert (bad == pytest.approx(refitted)) is same


def test_the_true_user_predicts_unsatisfied_sessions_best():
    setting = replace(SMALL, queries=60, sessions=40_000)
    found = correlation_cell(CorrelationCell(setting, 2))["correlations"]
    value = {tuple(one[:5]): one[5] for one in found}
    own = value[ALL, BAD_ONLY, CLICKED, "", "UCTR"]
    assert own > 0.9
    assert own == max(value[ALL, BAD_ONLY, name, "", "UCTR"] for name in METRICS)


def test_table_1_counts_sessions_configurations_and_users(cell):
    count = {tuple(one[:3]): one[3] for one in cell["sessions"]}
    assert sum(count[ALL, part, "sessions"] for part in ("training", "test")) == SMALL.sessions
    for part in ("training", "test"):
        for name in ("sessions", "configurations"):
            both = sum(count[intent, part, name] for intent in INTENTS)
            assert both == count[ALL, part, name]
        assert count[INFORMATIONAL, part, "configurations"] <= 20 * 3
        assert count[ALL, part, "users"] <= SMALL.sessions // 4


def test_same_seed_same_numbers_and_other_seeds_differ(cell):
    again = correlation_cell(CorrelationCell(SMALL, 30))
    other = correlation_cell(CorrelationCell(replace(SMALL, seed=4), 30))
    assert again == cell
    assert other["correlations"] != cell["correlations"]


def test_a_user_without_satisfaction_has_one_kind_of_sessions():
    found = correlation_cell(CorrelationCell(replace(SMALL, vertical="images", user="VCM"), 5))
    assert {one[1] for one in found["correlations"]} == {EVERY}
    assert len(found["attention"]["VCM"]) == 5


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"suppressed": 1.0}, "^suppressed must be between 0 and 1, not 1.0$"),
        ({"noise": -1.0}, "^noise must be at least 0, not -1.0$"),
        ({"slots": 21}, "^slots must be at most 20, not 21$"),
        ({"impressions": 99}, "^impressions must be at least 100"),
    ],
)
def test_settings_that_cannot_run(changes, message):
    with pytest.raises(ValueError, match=message):
        replace(studies.Federated.small(), **changes).check()


@pytest.mark.slow
def test_the_bars_hold_on_pages_that_nothing_was_chosen_on():
    """uFCM is the best in UCTR where the block is attractive, and no better where it is not."""
    for vertical in ("images", "video", "news"):
        found = correlation_cell(CorrelationCell(PageSetting("FCM", vertical, 200)))
        value = {tuple(one[:5]): one[5] for one in found["correlations"]}
        own = {name: value[NAVIGATIONAL, EVERY, name, "", "UCTR"] for name in PAPER}
        if vertical == "news":
            near = [own[name] for name in ("uUBM", "uFCM", "uVCM")]
            assert max(near) - min(near) < 0.02
            continue
        assert max(own, key=own.get) == "uFCM"
        (pair,) = [
            one for one in found["differences"]
            if one[:5] == (NAVIGATIONAL, EVERY, "uUBM", "uFCM", "UCTR")
        ]  # fmt: skip
        assert pair[7] < 0.0  # the whole interval of uUBM − uFCM
