"""What the pseudoinverse estimator expects of slates, by enumeration."""

from __future__ import annotations

import numpy as np
import pytest
from looping import loop_over

from clickgym import evaluation, studies
from clickgym.scripts import main
from clickgym.studies.slates.pi_bias import BiasCell, all_slates, bias_cell
from clickgym.studies.slates.slate_cells import draw_slates
from clickgym.studies.slates.slate_space import SlateSpace, slate_logging, slate_target, slate_world

SETTING = studies.WorldSetting(n_queries=12, n_docs=0)
SPACE = SlateSpace(6, 3, "tree", 1.0, SETTING)


@pytest.fixture(scope="module")
def result():
    return bias_cell(BiasCell(SPACE))


def test_all_slates_are_there_once():
    slates = all_slates(5, 3)
    assert slates.shape == (60, 3)
    assert len(np.unique(slates, axis=0)) == 60


@loop_over("target", ["tree-body", "lasso-body", "oracle"])
def test_pi_has_no_bias_for_a_sum_over_slots(result, target):
    expected, truth = (np.array(result[key][target]["ndcg"]) for key in ("expected", "truth"))
    np.testing.assert_allclose(expected, truth, atol=1e-9)
    assert truth.max() > 0.3


def test_pi_has_a_bias_for_err(result):
    off = np.subtract(result["expected"]["tree-body"]["err"], result["truth"]["tree-body"]["err"])
    assert np.abs(off).max() > 0.001


def test_pi_promises_too_much_err_for_the_best_slates(result):
    off = np.subtract(result["expected"]["oracle"]["err"], result["truth"]["oracle"]["err"])
    assert off.min() > -1e-12
    assert off.mean() > 0.003


def test_estimates_from_long_logs_come_to_what_is_expected(result):
    world, logging = slate_world(SPACE), slate_logging(SPACE)
    log = draw_slates(world, logging, 400_000, 0)
    rewards = evaluation.slate_rewards("err", log, world)
    target = slate_target(SPACE, "lasso-body")
    got = evaluation.estimate("pi", log, rewards, logging, target, world)
    expected = np.array(result["expected"]["lasso-body"]["err"])[log.query].mean()
    assert abs(got - expected) < 3.5 * got.stderr


def test_a_policy_whose_cell_failed_is_left_out(result):
    rows = [
        {"candidates": 6, "slots": 3, "logging": "tree", "alpha": 1.0, "target": target,
         "metric": metric, "query": 0, "expected": 0.5, "truth": 0.25}
        for target in ("tree-body", "oracle") for metric in ("ndcg", "err")
    ]  # fmt: skip
    assert list(studies.bias_table(rows).rows) == [
        "tree-title, α = 1 → tree-body", "tree-title, α = 1 → oracle"
    ]  # fmt: skip


def run(folder, *options):
    return main(["ope", "bias", *options, "--queries", "8", "--jobs", "1", "--out", str(folder)])


def test_the_command_writes_table_and_picture(tmp_path):
    assert run(tmp_path, "--space", "5,2") == 0
    assert "m = 5, l = 2" in (tmp_path / "tables.md").read_text()
    assert (tmp_path / "bias.png").read_bytes().startswith(b"\x89PNG")
    rows = studies.load_rows(tmp_path / "rows.parquet")
    assert len(rows) == 5 * 3 * 2 * len({row["query"] for row in rows})


@loop_over(
    ("space", "message"),
    [
        ("5;2", "--space takes m,l"),
        ("100,10", "more than the 200,000"),
        ("3,5", "--space: slates of 5 of 3 documents"),
    ],
)
def test_spaces_that_cannot_be_enumerated_are_refused(tmp_path, capsys, space, message):
    assert run(tmp_path / "out", "--space", space) == 1
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
