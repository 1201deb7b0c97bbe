"""The strong shift of tables 3 and 4."""

from __future__ import annotations

import tempfile

import numpy as np
import pytest
from looping import loop_over

from clickgym import clickmodels, data, envs, studies

SHIFT = {"models": ("dCTR", "PBM", "DBN", "ARM-NC"), "seeds": 2, "impressions": 5000,
         "parameters": "table"}  # fmt: skip


def compute(user, world, **settings):
    """Compute a shift of one user; return its table."""
    place = studies.WorldSetting.from_world(world)
    study = studies.StrongShift((user,), world=place, **settings)
    with tempfile.TemporaryDirectory() as folder:
        return studies.shift_table(studies.compute_study(study, folder).rows, user)


@pytest.fixture(scope="module")
def shift_world():
    return data.synthetic_world(n_queries=100, n_docs=10, n_features=1)


@pytest.fixture(scope="module")
def shift(shift_world):
    return compute("DBN", shift_world, **SHIFT)


COLUMNS = ["ind PPL", "nDCG@3", "ood PPL"]
every_column = loop_over("metric", COLUMNS)


def test_the_oracle_and_every_model_have_a_row(shift):
    assert shift.models == ["DBN oracle", *SHIFT["models"]]


def test_the_columns_are_those_of_tables_3_and_4(shift):
    assert list(shift.metrics) == COLUMNS


@every_column
def test_every_cell_has_a_value_a_seed(shift, metric):
    assert {len(shift.values(model, metric)) for model in shift.models} == {2}


@pytest.fixture(scope="module")
def shown(shift_world):
    """What a study of two seeds shows: for each a log to fit to, and one out of distribution."""
    logs = []
    collect = envs.collect

    def spied(*arguments):
        logs.append(collect(*arguments))
        return logs[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(envs, "collect", spied)
        compute("DBN", shift_world, models=(), seeds=2, impressions=5000)
    return logs


def test_a_shift_collects_the_impressions_that_were_asked_for(shown):
    assert [len(log) for log in shown] == [5000, 10_000] * 2


@loop_over("which", [0, 1])
def test_a_seed_draws_another_log(shown, which):
    first, second = shown[which], shown[which + 2]
    assert not np.array_equal(first.query, second.query)


def test_training_pages_tend_to_show_the_best_first(shown, shift_world):
    gain = shift_world.gain[shown[0].query[:, None], shown[0].ranking].mean(axis=0)
    assert gain[0] > 2 * gain[-1]


def test_training_pages_come_in_many_orders(shown):
    """Without chance there would be one order a query."""
    assert len({page.tobytes() for page in shown[0].ranking}) > 1000


def test_pages_out_of_distribution_show_the_worst_first(shown, shift_world):
    grades = shift_world.relevance[shown[1].query[:, None], shown[1].ranking].astype(int)
    assert (np.diff(grades, axis=1)[shown[1].ranking[:, 1:] >= 0] >= 0).all()


@loop_over("metric", ["ind PPL", "ood PPL"])
@loop_over("model", ["dCTR", "PBM", "DBN"])
def test_the_oracle_predicts_best_on_every_log(shift, metric, model):
    assert (shift.values("DBN oracle", metric) < shift.values(model, metric)).all()


def test_the_oracle_ranks_perfectly(shift):
    np.testing.assert_allclose(shift.values("DBN oracle", "nDCG@3"), 1.0)


def test_the_users_structure_suffers_least_from_the_shift(shift):
    means = {name: shift.interval(name, "ood PPL").mean for name in SHIFT["models"]}
    assert min(means, key=means.get) == "DBN"


@every_column
def test_the_oracle_has_no_mark(shift, metric):
    assert shift.marks(metric)["DBN oracle"] == ""


def test_the_non_causal_model_is_in_brackets_in_distribution_only(shift):
    texts = [shown.text for shown in shift.cells()["ARM-NC"]]
    assert [text.startswith("(") for text in texts] == [True, False, False]


def test_the_same_study_gives_the_same_numbers(shift, shift_world):
    again = compute("DBN", shift_world, **SHIFT | {"models": ("PBM",)})
    for metric in COLUMNS:
        np.testing.assert_array_equal(again.values("PBM", metric), shift.values("PBM", metric))


def test_what_cannot_run_is_named(shift_world):
    for user, settings, message in (
        ("DBN", {"models": ("PBM", "PBMM", "CoCM")}, r"models must be one of .* not 'PBMM'"),
        ("XYZ", {}, "'XYZ'"),
        ("DBN", {"seeds": 0}, "seeds must be at least 1"),
    ):
        with pytest.raises(ValueError, match=message):
            compute(user, shift_world, impressions=100, **settings)


def test_the_shift_takes_every_model_of_the_papers_tables():
    assert set(studies.SHIFT_MODELS) <= set(clickmodels.names())


