"""The off-policy studies: what a cell computes, and the command from end to end."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from looping import loop_over

from clickgym import data, evaluation, policies, studies
from clickgym.scripts import main
from clickgym.studies.slates import slate_cells as direct_fits
from clickgym.studies.slates import slate_space
from clickgym.studies.slates.errors import condition_of
from clickgym.studies.slates.slate_cells import OpeCell, draw_slates, prefix_means, slate_cell
from clickgym.studies.slates.slate_space import SlateSpace
from clickgym.studies.worlds import scores_of, world_of

PNG = b"\x89PNG\r\n\x1a\n"
SETTING = studies.WorldSetting(n_queries=40, n_docs=0)
SPACES = {
    name: SlateSpace(8, 3, name, alpha, SETTING)
    for name, alpha in (("uniform", 0.0), ("tree", 1.0), ("lasso", 2.0))
}


def original(space, rankings):
    """A space's documents as those of the whole world."""
    return np.take_along_axis(slate_space._order(space), rankings, axis=1)


# Spaces of slates


@loop_over("space", SPACES.values())
def test_candidates_are_the_best_of_the_filter(space):
    queries, documents = slate_space._queries(space), slate_space._order(space)
    scores = scores_of("tree-title", SETTING)[queries]
    chosen = np.take_along_axis(scores, documents, axis=1)
    np.testing.assert_allclose(np.sort(chosen, axis=1), np.sort(scores, axis=1)[:, -8:])
    world = slate_space.slate_world(space)
    grades = world_of(SETTING).relevance[queries[:, None], documents]
    np.testing.assert_array_equal(world.relevance, grades)


@loop_over("name", ["tree", "lasso"])
def test_the_logging_policy_likes_its_rankers_order(name):
    space = SPACES[name]
    scores = scores_of(f"{name}-title", SETTING)[slate_space._queries(space)[:, None],
                                                 slate_space._order(space)]  # fmt: skip
    assert (np.diff(scores, axis=1) <= 0).all()
    weights = slate_space.slate_logging(space).weights
    expected = 2.0 ** (-space.alpha * np.array([0, 1, 1, 2, 2, 2, 2, 3]))
    np.testing.assert_allclose(weights, np.broadcast_to(expected, weights.shape))


@loop_over("target", slate_space.TARGETS)
def test_a_target_is_the_same_whoever_logs(target):
    found = [
        original(space, slate_space.slate_target(space, target).rankings)
        for space in SPACES.values()
    ]
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


def test_queries_with_too_few_candidates_are_left_out():
    space = SlateSpace(100, 10, world=SETTING)
    enough = (world_of(SETTING).n_candidates >= 100).sum()
    assert 0 < slate_space.slate_world(space).n_queries == enough < 40


def test_a_space_that_no_query_fills_is_refused():
    with pytest.raises(ValueError, match="no query has 400 candidates"):
        slate_space.slate_world(SlateSpace(400, 10, world=SETTING))


# One cell


@pytest.fixture(scope="module")
def cell():
    return OpeCell(SPACES["tree"], 3, sizes=(50, 400), direct=400)


@pytest.fixture(scope="module")
def result(cell):
    return slate_cell(cell)


def test_a_cell_has_every_estimate(result):
    names = ("on-policy", "ips", "wips", "pi", "wpi", "dm-tree", "dm-lasso")
    expected = {
        (target, metric, name, n)
        for target in slate_space.TARGETS
        for metric in ("ndcg", "err")
        for name in names
        for n in (50, 400)
    }
    assert {tuple(row[:4]) for row in result["estimates"]} == expected
    assert len(result["estimates"]) == len(expected)


def test_direct_methods_can_be_left_out(cell, result):
    estimates = slate_cell(replace(cell, direct=0))["estimates"]
    assert estimates == [row for row in result["estimates"] if not row[2].startswith("dm-")]


@loop_over("name", ["ips", "wips", "pi", "wpi", "dm-tree", "dm-lasso"])
@loop_over("n", [50, 400])
def test_estimates_of_beginnings_are_those_of_the_estimators(cell, result, name, n):
    world, logging = slate_space.slate_world(cell.space), slate_space.slate_logging(cell.space)
    target = slate_space.slate_target(cell.space, "lasso-body")
    log = draw_slates(world, logging, 400, 3)[:n]
    rewards = evaluation.slate_rewards("err", log, world)
    expected = evaluation.estimate(name, log, rewards, logging, target, world)
    (found,) = [r[4] for r in result["estimates"] if r[:4] == ["lasso-body", "err", name, n]]
    # Regressions of several rewards at once add up in another order.
    assert found == pytest.approx(float(expected), abs=1e-6 if "dm" in name else 1e-9)


def test_the_truth_is_what_the_target_earns(cell, result):
    target = slate_space.slate_target(cell.space, "tree-body")
    world = slate_space.slate_world(cell.space)
    query = np.arange(world.n_queries)
    expected = evaluation.metric_rewards("ndcg", query, target.rankings, world).mean()
    assert result["truth"]["tree-body"]["ndcg"] == pytest.approx(expected)


def test_on_policy_is_the_targets_reward_for_the_same_queries(cell, result):
    world, logging = slate_space.slate_world(cell.space), slate_space.slate_logging(cell.space)
    query = draw_slates(world, logging, 400, 3).query[:50]
    shown = slate_space.slate_target(cell.space, "lasso-body").greedy(query)
    expected = evaluation.metric_rewards("err", query, shown, world).mean()
    wanted = ["lasso-body", "err", "on-policy", 50]
    (found,) = [r[4] for r in result["estimates"] if r[:4] == wanted]
    assert found == pytest.approx(expected)


def test_a_log_that_says_nothing_gives_zero():
    plain, ratio = prefix_means(np.array([0.0, 0.0, 2.0]), np.array([1.0, 1.0, 0.5]), (2, 3))
    assert plain == [0.0, pytest.approx(1 / 3)]
    assert ratio == [0.0, 0.5]


# Direct methods


@loop_over("method", ["dm-tree", "dm-lasso"])
def test_direct_methods_find_a_reward_of_features(method):
    world = data.synthetic_world(n_queries=30, n_docs=6, n_features=5)
    logging = policies.Uniform(world, 2)
    log = draw_slates(world, logging, 4_000, 0)
    values = world.standardised_features[:, :, 1]
    rewards = values[log.query[:, None], log.ranking].sum(axis=1)[:, None]
    slates = policies.Ranker(values, 2).rankings
    truth = np.take_along_axis(values, slates, axis=1).sum(axis=1)[log.query[2_000:]].mean()
    found = direct_fits.direct_values([method], log, rewards, [slates], world, [4_000])
    assert found[0][:2] == (method, 4_000)
    assert found[0][2][0, 0] == pytest.approx(truth, abs=0.25)


# Errors

ERRORS = [
    {"candidates": 10, "slots": 5, "metric": metric, "logging": "uniform", "alpha": 0.0,
     "target": "tree-body", "estimator": name, "n": 100, "estimate": 0.5 + error, "truth": 0.5}
    for metric in ("ndcg", "err")
    for name, errors in (("wpi", (0.1, -0.1)), ("wips", (0.3, 0.3)), ("on-policy", (0.0, 0.0)),
                         ("dm-tree", (0.0, 0.1) if metric == "err" else (0.2, 0.2)))
    for error in errors
]  # fmt: skip


@pytest.fixture(scope="module")
def errors():
    return studies.root_mean_squares(ERRORS, (*studies.CONDITION, "estimator", "n"))


def test_root_mean_squares(errors):
    (row,) = [r for r in errors if r["estimator"] == "wpi" and r["metric"] == "ndcg"]
    found = [row[key] for key in ("rmse", "median", "bias", "spread", "repetitions")]
    assert found == [pytest.approx(0.1)] * 2 + [pytest.approx(0.0), pytest.approx(0.1), 2]


def test_normalised_errors_run_from_best_to_worst(errors):
    rows = studies.scale_errors(errors, 100)
    assert "on-policy" not in {row["estimator"] for row in rows}
    for condition in {condition_of(row) for row in rows}:
        values = [row["normalised"] for row in rows if condition_of(row) == condition]
        assert (min(values), max(values)) == (pytest.approx(0.001), pytest.approx(1.0))


def test_wins_are_counted_by_condition(errors):
    assert studies.wins(errors, "wpi", "wips", 100) == (2, 2)
    assert studies.wins(errors, "wpi", "dm-tree", 100) == (1, 2)


def test_wins_are_in_the_table(errors):
    text = studies.wins_table(errors).to_markdown()
    assert "| all | 2 of 2 | 1 of 2 |" in text


def test_one_bad_log_does_not_lose_by_the_median():
    bad = [{**ERRORS[0], "estimate": 0.5 + error} for error in (0.1, 0.1, 9.0)]
    steady = [{**row, "estimator": "wips", "estimate": 0.7} for row in bad]
    found = studies.root_mean_squares(bad + steady, (*studies.CONDITION, "estimator", "n"))
    assert studies.wins(found, "wpi", "wips", 100) == (0, 1)
    assert studies.wins(found, "wpi", "wips", 100, "median") == (1, 1)
    assert r"| all, median \|error\| | 1 of 1 |" in studies.wins_table(found).to_markdown()


# The command

TINY = ["--queries", "30"]
CONDITIONS = ["--repetitions", "1", "--size", "40", "100", "--direct", "40", "--space", "6,3"]


def run(folder, study, *options):
    return main(["ope", study, *options, "--jobs", "1", "--out", str(folder)])


@pytest.fixture(scope="module")
def conditions(tmp_path_factory):
    folder = tmp_path_factory.mktemp("conditions")
    assert run(folder, "conditions", *TINY, *CONDITIONS) == 0
    return folder


def test_conditions_are_20_a_space(conditions):
    rows = studies.load_rows(conditions / "rows.parquet")
    assert len({condition_of(row) for row in rows}) == 20
    assert {row["n"] for row in rows} == {40, 100}


@loop_over("name", ["figure2.png", "conditions.png"])
def test_conditions_are_drawn(conditions, name):
    assert (conditions / name).read_bytes().startswith(PNG)


def test_conditions_have_their_tables(conditions):
    text = (conditions / "tables.md").read_text()
    assert "lower RMSE than" in text
    assert "Median RMSE" in text


def test_the_settings_are_kept(conditions):
    settings = json.loads((conditions / "settings.json").read_text())
    assert settings["study"] == "conditions"
    assert settings["spaces"] == [[6, 3]]
    assert settings["world"]["n_queries"] == 30
    assert settings["repetitions"] == 1


@pytest.mark.slow
def test_the_same_command_computes_nothing_again(conditions, capsys):
    cells = sorted((conditions / "cells").glob("*.json"))
    before = [path.stat().st_mtime_ns for path in cells]
    assert run(conditions, "conditions", *TINY, *CONDITIONS) == 0
    assert [path.stat().st_mtime_ns for path in cells] == before
    assert "replaced" not in capsys.readouterr().err


@pytest.mark.slow
def test_learning_has_table_1(tmp_path):
    pytest.importorskip("lightgbm", reason="the rankers extra is not installed")
    assert run(tmp_path, "learning", *TINY, "--slates", "100", "--trees", "5") == 0
    rows = studies.load_rows(tmp_path / "rows.parquet")
    assert {(r["learner"], r["metric"]) for r in rows} == {
        (learner, metric)
        for learner in ("LambdaMART", "random", "SUP", "PI-OPT")
        for metric in ("ndcg", "err")
    }
    assert "| PI-OPT |" in (tmp_path / "tables.md").read_text()


def test_sessions_have_figure_1(tmp_path):
    options = ["--repetitions", "2", "--size", "60", "200", "--direct", "60"]
    assert run(tmp_path, "sessions", *options) == 0
    rows = studies.load_rows(tmp_path / "rows.parquet")
    assert {(row["metric"], row["seed"]) for row in rows} == {
        (metric, seed) for metric in ("tts", "utility") for seed in (0, 1)
    }
    assert (tmp_path / "figure1.png").read_bytes().startswith(PNG)


@pytest.fixture(scope="module")
def promises(tmp_path_factory):
    folder = tmp_path_factory.mktemp("promises")
    options = ["--user", "DBN", "--model", "PBM", "--logging", "random", "--impressions", "2000",
               "--pages", "200", "--queries", "6", "--docs", "12"]  # fmt: skip
    assert run(folder, "promises", *options) == 0
    return folder


def test_promises_have_every_estimate(promises):
    rows = studies.load_rows(promises / "rows.parquet")
    assert {(row["optimiser"], row["estimator"]) for row in rows} == {
        (optimiser, name)
        for optimiser in ("Top-Down", "Max-Reward", "PolicyGradient")
        for name in ("promise", "ips", "wips", "pi", "wpi", "dr-ips", "dr-pi")
    }


def test_promises_are_drawn(promises):
    assert (promises / "promises-random.png").read_bytes().startswith(PNG)
    assert "the model's promise" in (promises / "tables.md").read_text()


def test_another_studys_folder_is_refused(promises, capsys):
    assert run(promises, "sessions") == 1
    assert "has results of promises, not of sessions" in capsys.readouterr().err
    assert not (promises / "figure1.png").exists()


def test_equal_estimates_have_no_rank_correlation():
    rows = [
        {"user": user, "estimator": name, "estimate": estimate, "truth": truth, "covered": 0.25}
        for user in ("DBN", "CoCM")
        for truth in (1.0, 2.0)
        for name, estimate in (("promise", 3.0 - truth), ("ips", 0.0))
    ]
    text = studies.promise_table(rows, "random").to_markdown()
    lines = {line.split("|")[1].strip(): line for line in text.splitlines() if "|" in line}
    assert lines["the model's promise"].endswith(" -1.00 |")
    assert lines["IPS"].endswith(" – |")
    assert "for 25% of the queries" in text


@loop_over(
    ("options", "message"),
    [
        (["--size", "100", "40"], "--size must ascend"),
        (["--space", "10"], "--space takes m,l"),
        (["--space", "3,10"], "slates of 10 of 3 documents"),
        (["--space", "400,10"], "no query has 400 candidates"),
        (["--world", "nowhere.txt"], "nowhere.txt: no such file"),
    ],
)
def test_bad_conditions_are_named_before_anything_is_written(tmp_path, capsys, options, message):
    assert run(tmp_path / "out", "conditions", *TINY, *options) == 1
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@loop_over(
    ("options", "message"),
    [
        (["--model", "PBMM"], "--model must be one of"),
        (["--optimiser", "Bottom-Up"], "--optimiser must be one of"),
        (["--model", "TopPop"], "promises nothing"),
    ],
)
def test_bad_promises_are_named(tmp_path, capsys, options, message):
    assert run(tmp_path / "out", "promises", *TINY, *options) == 1
    assert message in capsys.readouterr().err


@loop_over(
    ("options", "message"),
    [
        (["--size", "100", "40"], "--size must ascend"),
        (["--jobs", "0"], "--jobs must be at least 1"),
    ],
)
def test_bad_sessions_are_named_before_anything_is_written(tmp_path, capsys, options, message):
    assert main(["ope", "sessions", *options, "--out", str(tmp_path / "out")]) == 1
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@loop_over(
    ("study", "option"),
    [
        ("sessions", "--world-seed"), ("sessions", "--queries"), ("learning", "--repetitions"),
        ("conditions", "--trees"), ("promises", "--size"),
    ],
)  # fmt: skip
def test_an_option_of_another_study_is_an_error(tmp_path, capsys, study, option):
    with pytest.raises(SystemExit) as stopped:
        run(tmp_path / "out", study, option, "3")
    assert stopped.value.code == 2
    assert f"unrecognized arguments: {option}" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
