"""Judging models on a log: tables 1, 2 and 5 to 8."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from conftest import small_world
from judging import random_log
from looping import loop_over

from clickgym import clickmodels, data, evaluation, studies
from clickgym.studies.engine import artefacts as fitted
from clickgym.studies.engine.workers import run
from clickgym.studies.robustness import judging
from clickgym.studies.robustness.graded_log import ndcg_by_query

SEEDS = 3
MODELS = ("rCTR", "dCTR", "TopPop", "PBM", "NCM", "ARM-NC")
CLICKS = ["PPL", "PPL@1", "PPL@2", "PPL@5", "uPPL", "LL", "AUROC", "AUROC@1", "AUROC@2",
          "AUROC@5"]  # fmt: skip; pages have five slots
GRADES = [f"{kind}@{depth}" for kind in ("nDCG", "Recall") for depth in (1, 3, 5, 10)]


def simulated(world, n, seed):
    return random_log(world, clickmodels.true_user("DBN", world), n, seed)


@pytest.fixture(scope="module")
def study():
    """World, training and test log, and what the study says about them."""
    world = small_world()
    train, test = simulated(world, 150, 1), simulated(world, 200, 2)
    return world, train, test, studies.judge_log(train, test, world, MODELS, SEEDS)


# Judging models on a log


def test_tables_have_a_row_for_every_model(study):
    judged = study[3]
    assert judged.clicks.models == judged.grades.models == list(MODELS)


def test_the_table_of_clicks_has_these_columns(study):
    assert list(study[3].clicks.metrics) == CLICKS


def test_the_table_of_grades_has_these_columns(study):
    assert list(study[3].grades.metrics) == GRADES


def test_the_papers_layout_has_every_column_once(study):
    judged = study[3]
    first, second, rest, pages = studies.paper_tables(judged)
    assert [*first.metrics] == ["PPL", "PPL@1", "PPL@2", "PPL@5", *GRADES[:4]]
    assert [*second.metrics] == ["AUROC", "AUROC@1", "AUROC@2", "AUROC@5", *GRADES[4:]]
    assert [*rest.metrics] == ["uPPL", "LL"]
    assert pages is judged.pages


def test_the_papers_layout_keeps_values_and_marks(study):
    judged = study[3]
    table = studies.paper_tables(judged)[0]
    assert table.models == list(MODELS)
    for source, metric in ((judged.clicks, "PPL"), (judged.grades, "nDCG@3")):
        assert table.marks(metric) == source.marks(metric)
        for model in MODELS:
            np.testing.assert_array_equal(table.values(model, metric), source.values(model, metric))


def test_a_log_without_grades_has_the_papers_tables_without_them(study):
    tables = studies.paper_tables(replace(study[3], grades=None))
    assert not any("nDCG" in name or "Recall" in name for one in tables for name in one.metrics)


def test_the_first_seeds_models_are_kept(study):
    world, train, _, judged = study
    again = clickmodels.fit("NCM", train, world, seed=0)
    np.testing.assert_array_equal(judged.models["NCM"].relevance(), again.relevance())


@loop_over(("model", "n"), [("PBM", 1), ("dCTR", 1), ("NCM", SEEDS)])
def test_click_metrics_have_a_value_a_fit(study, model, n):
    """A deterministic model is fitted once, so it has one value and no interval."""
    assert len(study[3].clicks.values(model, "PPL")) == n


def test_fits_of_a_random_model_differ(study):
    assert len(set(study[3].clicks.values("NCM", "PPL"))) == SEEDS


@loop_over("model", MODELS)
def test_graded_metrics_have_a_value_a_seed(study, model):
    assert len(study[3].grades.values(model, "nDCG@3")) == SEEDS


def test_ties_of_a_deterministic_model_are_broken_by_every_seed(study):
    """All documents tie under rCTR."""
    world, _, _, judged = study
    expected = [evaluation.ndcg(judged.models["rCTR"], world, 3, seed) for seed in range(SEEDS)]
    assert judged.grades.values("rCTR", "nDCG@3").tolist() == expected
    assert len(set(expected)) == SEEDS


def test_perplexities_are_those_of_the_models_on_the_test_log(study):
    _, _, test, judged = study
    expected = evaluation.perplexity(judged.models["PBM"], test)
    found = [judged.clicks.values("PBM", name)[0] for name in ("PPL", "PPL@2")]
    assert found == [expected.mean, expected.per_rank[1]]


def test_unconditional_perplexity_and_likelihood_are_those_of_the_models(study):
    _, _, test, judged = study
    model = judged.models["PBM"]
    found = [judged.clicks.values("PBM", name)[0] for name in ("uPPL", "LL")]
    unconditional = evaluation.perplexity(model, test, conditional=False).mean
    assert found == [unconditional, evaluation.log_likelihood(model, test)]


@loop_over("metric", CLICKS)
def test_a_model_that_only_ranks_has_no_click_metrics(study, metric):
    assert len(study[3].clicks.values("TopPop", metric)) == 0


@loop_over("metric", ["uPPL", "LL"])
def test_a_model_that_is_not_generative_has_no_likelihood(study, metric):
    assert len(study[3].clicks.values("ARM-NC", metric)) == 0


def test_the_non_causal_models_perplexity_is_in_brackets_and_has_no_mark(study):
    shown = study[3].clicks.cells()["ARM-NC"][0]
    assert (shown.text[0], shown.text[-1], shown.mark) == ("(", ")", "")


def test_the_best_perplexity_is_bold(study):
    table = study[3].clicks
    compared = ("rCTR", "dCTR", "PBM", "NCM")
    means = {name: table.interval(name, "PPL").mean for name in compared}
    assert table.marks("PPL")[min(means, key=means.get)] == "bold"


def test_daggers_compare_with_the_non_causal_model(study):
    assert study[3].grades.metrics["nDCG@1"].reference == "ARM-NC"


def test_naive_models_get_no_dagger(study):
    assert study[3].grades.metrics["nDCG@1"].daggers == ("PBM", "NCM")


def test_without_the_non_causal_model_there_is_no_reference(study):
    world, train, test, _ = study
    judged = studies.judge_log(train, test, world, ["dCTR"], 1)
    assert judged.grades.metrics["nDCG@1"].reference is None


def test_intervals_over_pages_are_those_of_the_bootstrap(study):
    _, _, test, judged = study
    expected = evaluation.perplexity_interval(judged.models["PBM"], test)
    assert judged.pages.interval("PBM", "PPL") == expected


def test_the_table_over_pages_has_every_model_that_predicts(study):
    assert study[3].pages.models == [name for name in MODELS if name != "TopPop"]


def test_a_log_without_grades_has_no_table_of_grades():
    world = small_world()
    blind = data.World(np.full((6, 7), -1), candidates=np.ones((6, 7), bool))
    log = simulated(world, 50, 1)
    assert studies.judge_log(log, log, blind, ["PBM"], 1).grades is None


def test_only_documents_that_the_log_showed_are_graded():
    """Query 2 showed its two worst documents alone: their order is all that counts."""
    world = data.World([[0, 0, 0], [0, 0, 0], [0, 1, 4]])
    train = data.ClickLog([2] * 4, [[0, 1]] * 4, [[0, 1]] * 4)
    judged = studies.judge_log(train, train, world, ["dCTR"], 1)
    assert judged.grades.values("dCTR", "nDCG@1").tolist() == [1.0]


def test_models_that_only_rank_can_be_judged_alone(study):
    world, train, test, _ = study
    judged = studies.judge_log(train, test, world, ["TopPop"], 1)
    assert len(judged.grades.values("TopPop", "nDCG@3")) == 1


def test_a_name_given_twice_is_judged_once(study):
    world, train, test, _ = study
    judged = studies.judge_log(train, test, world, ["dCTR", "dCTR"], 1)
    assert len(judged.clicks.values("dCTR", "PPL")) == 1


def test_a_study_without_seeds_is_refused(study):
    world, train, test, _ = study
    with pytest.raises(ValueError, match="seeds must be at least 1"):
        studies.judge_log(train, test, world, ["NCM"], 0)


def test_the_threshold_says_what_recall_counts(study):
    world, train, test, _ = study
    found = [
        studies.judge_log(train, test, world, ["dCTR"], 1, threshold=threshold).grades
        for threshold in (1, 4)
    ]
    low, high = (table.values("dCTR", "Recall@3")[0] for table in found)
    assert low < high


def test_parameters_are_handed_on(study):
    world, train, test, _ = study
    embedded = studies.judge_log(train[:60], test, world, ["PBM"], 1, parameters="embedding")
    expected = clickmodels.fit("PBM", train[:60], world, parameters="embedding")
    found = embedded.models["PBM"].attractiveness
    np.testing.assert_array_equal(found, expected.attractiveness)


def test_validation_is_handed_on(study, monkeypatch):
    world, train, test, _ = study
    given = []
    monkeypatch.setattr(
        fitted.clickmodels, "fit",
        lambda name, log, world, **options: given.append(options["validation"])
        or clickmodels.CTR.fit(log, world),
    )  # fmt: skip
    judging._cell("CTR", 0, train, test, world, test, "table", 1, clickmodels.CTR)
    assert given == [test]


def test_processes_give_the_same_numbers_as_one(study):
    world, train, test, judged = study
    again = studies.judge_log(train, test, world, ["dCTR", "PBM"], 1, jobs=2)
    for model in ("dCTR", "PBM"):
        expected = judged.clicks.values(model, "PPL")
        np.testing.assert_array_equal(again.clicks.values(model, "PPL"), expected)


def test_results_come_in_the_order_of_the_cells():
    assert run(divmod, [(7, 2), (9, 4), (5, 3)]) == [(3, 1), (2, 1), (1, 2)]


# TREC sessions, from files to both tables


@pytest.fixture(scope="module")
def trec():
    folder = os.environ.get("CLICKGYM_DATA")
    if not folder:
        pytest.skip("CLICKGYM_DATA does not name the folder with the real samples")
    folder = Path(folder) / "trec_session"
    files = {name: next(folder.glob(f"{name}*")) for name in ("train", "valid", "test")}
    with pytest.warns(UserWarning, match="disagree about the grades"):
        world, logs = data.read_sessions(files, labels=folder / "labels.txt")
    models = ("rCTR", "dCTR", "TopPop", "PBM")
    return studies.judge_log(
        logs["train"], logs["test"], world, models, 2, validation=logs["valid"]
    )


@loop_over("model", ["rCTR", "dCTR", "PBM"])
def test_trec_clicks_are_predicted_better_than_by_a_coin(trec, model):
    assert 1.0 < trec.clicks.values(model, "PPL")[0] < 2.0


def test_trec_clicks_are_predicted_better_by_pbm_than_by_rank_alone(trec):
    assert trec.clicks.values("PBM", "AUROC")[0] > trec.clicks.values("rCTR", "AUROC")[0]


@loop_over("model", ["dCTR", "TopPop", "PBM"])
def test_trec_clicks_say_something_about_grades(trec, model):
    found, chance = (trec.grades.interval(name, "nDCG@3").mean for name in (model, "rCTR"))
    assert chance < found < 1.0


# nDCG by query


def test_ndcg_by_query_has_the_mean_that_is_judged(study):
    model, world = study[3].models["dCTR"], study[0]
    queries, values = ndcg_by_query(model, world, [3])
    assert len(queries) == len(values)
    np.testing.assert_allclose(values.mean(), judging.judge_grades(model, world, 3)["nDCG@3"])


def test_rows_by_query_are_means_over_fits(study):
    model, world = study[3].models["dCTR"], study[0]
    rows = studies.graded_rows("log", world, {"dCTR": [(model, [0]), (model, [1])]})
    once = [ndcg_by_query(model, world, [seed])[1] for seed in (0, 1)]
    np.testing.assert_allclose([row["ndcg_3"] for row in rows], np.mean(once, axis=0))
