"""Recommenders that learn from clicks, and click models of one recommender's log."""

from __future__ import annotations

import dataclasses

import pytest

from clickgym import studies
from clickgym.studies.engine.rows import where
from clickgym.studies.recommendation.click_training_pictures import cost_table, labels_tables


@pytest.fixture(scope="module")
def clicks(tmp_path_factory):
    study = dataclasses.replace(studies.ClickTraining.small(), pages=2000)
    return studies.compute_study(study, tmp_path_factory.mktemp("clicks")).rows


@pytest.fixture(scope="module")
def curse(tmp_path_factory):
    study = studies.RecommendationCurse.small()
    return studies.compute_study(study, tmp_path_factory.mktemp("curse")).rows


def test_clicks_of_the_user_without_bias_are_the_reference(clicks):
    for system in ("random", "popularity"):
        own = where(clicks, user="no-bias", system=system)
        rates = {row["labels"]: row["rate"] for row in own}
        assert rates["own clicks"] == rates["no-bias clicks"]


def test_what_learns_nothing_earns_the_same_by_all_labels(clicks):
    for user in ("no-bias", "examination-log"):
        assert len({row["rate"] for row in where(clicks, user=user, system="random")}) == 1


def test_what_learns_nothing_has_one_row_and_what_learns_one_for_each_label(clicks):
    of_random, of_popularity = labels_tables(clicks)
    assert of_random.models == ["nothing"]
    assert of_popularity.models == [
        "ratings", "no-bias clicks", "own clicks", "IPW true", "IPW fitted", "PBM",
    ]  # fmt: skip
    expected = where(clicks, system="random", user="no-bias")[0]["rate"]
    assert of_random.values("nothing", "no-bias") == pytest.approx([100.0 * expected])


def test_what_learns_earns_more_than_what_does_not(clicks):
    for user in ("no-bias", "examination-log"):
        for labels in ("ratings", "own clicks", "IPW true", "IPW fitted", "PBM"):
            pair = [where(clicks, user=user, labels=labels, system=system)[0]["rate"]
                    for system in ("popularity", "random")]  # fmt: skip
            assert pair[0] > pair[1]


def test_corrected_labels_teach_neighbours_and_factors_more_than_clicks_of_a_steep_bias(tmp_path):
    pytest.importorskip("numba", reason="the recsys extra is not installed")
    study = studies.ClickTraining(
        users=("examination-quad",), systems=("user-based", "mf"), models=("PBM",), seeds=1,
        n_users=100, n_items=60, docs=60, pages=10_000,
    )  # fmt: skip
    rows = studies.compute_study(study, tmp_path).rows
    for system in study.systems:
        rates = {row["labels"]: row["rate"] for row in where(rows, system=system)}
        for labels in ("IPW true", "IPW fitted", "PBM", "no-bias clicks"):
            assert rates[labels] > 1.05 * rates["own clicks"], (system, labels)


def made_up(costs):
    rates = {"ratings": 0.1, "no-bias clicks": 0.1, "own clicks": 0.1, "IPW true": 0.1}
    return [
        {"user": "u", "seed": seed, "labels": labels, "system": "mf",
         "rate": rate - cost * {"own clicks": 1.0, "IPW true": 0.25}.get(labels, 0.0)}
        for seed, cost in enumerate(costs) for labels, rate in rates.items()
    ]  # fmt: skip


def test_what_comes_back_is_a_share_of_a_cost_above_chance():
    texts = [shown.text for shown in cost_table(made_up((0.02, 0.021, 0.019))).rows["u"]]
    assert texts[3].startswith("2.00 ±")
    assert texts[4].startswith("1.50 ±")
    assert texts[4].endswith("(75%)")


def test_a_cost_within_chance_has_no_share():
    texts = [shown.text for shown in cost_table(made_up((0.02, -0.02, 0.001))).rows["u"]]
    assert "(" not in texts[4]


def test_the_oracle_promises_what_it_delivers(curse):
    (row,) = where(curse, model="oracle")
    for name in ("random", "popularity", "max_reward", "agent"):
        assert row[f"{name}_promised"] == pytest.approx(row[f"{name}_deployed"], rel=1e-12)
    assert row["max_reward_regret"] == pytest.approx(0.0, abs=1e-12)


def test_recommenders_earn_the_same_whatever_model_was_asked(curse):
    for name in ("random_deployed", "popularity_deployed"):
        assert len({row[name] for row in curse}) == 1
    assert len({row["popularity_promised"] for row in curse}) == len(curse)


def test_the_parts_of_a_gap_add_up_to_it(curse):
    for row in curse:
        parts = row["max_reward_model_error_on_logging"] + row["max_reward_added_by_optimising"]
        gap = row["max_reward_promised"] - row["max_reward_deployed"]
        assert parts == pytest.approx(gap, abs=1e-9)


def test_models_with_a_choice_are_fitted_both_ways():
    study = dataclasses.replace(
        studies.RecommendationCurse.small(), models=("PBM", "NCM"),
        parameters=("table", "embedding"),
    )  # fmt: skip
    (stage,) = study.stages(None, studies.Results())
    fitted = {(cell.model, cell.parameters) for cell in stage.cells}
    assert fitted == {
        ("PBM", "table"), ("PBM", "embedding"), ("NCM", "table"), ("oracle", "table"),
    }  # fmt: skip


THREE = (studies.Recommend, studies.RecommendationCurse, studies.ClickTraining)


def test_ratings_of_a_file_have_their_own_size():
    for study in THREE:
        made = study.from_options("quick", {"ratings": "ml-100k"})[1]
        assert made.describe()["ratings"] == "ml-100k"
        assert not {"users", "items", "ratings seed"} & made.describe().keys()
        for name, flag in (
            ("n_users", "users"), ("n_items", "items"), ("ratings_seed", "ratings-seed")
        ):
            with pytest.raises(ValueError, match=f"--{flag}: for embedded ratings, not for --rat"):
                study.from_options("quick", {"ratings": "ml-100k", name: 5})


def test_a_file_changes_the_ratings_of_a_preset_and_nothing_else():
    for study in THREE:
        usual, made = study.from_options("", {"ratings": "ml-100k"})
        assert usual == "quick"
        assert made == dataclasses.replace(study.presets()["quick"], ratings="ml-100k")
        largest = list(study.presets())[-1]
        assert study.from_options(largest, {"ratings": "x"})[1].ratings == "x"
        assert study.from_options("", {})[0] == "quick"


def test_the_settings_of_a_file_are_kept_with_its_number_of_users_and_items(tmp_path):
    (tmp_path / "ratings.csv").write_text("u,a,5\nu,b,1\nv,a,3\nv,c,4\n")
    for study in THREE:
        kept = dataclasses.replace(study.small(), ratings=str(tmp_path), ratings_seed=3).resolved()
        assert (kept.n_users, kept.n_items, kept.ratings_seed) == (2, 3, 0)
        assert study.small().resolved() == study.small()


def test_a_file_of_ratings_that_is_not_there_is_told_before_anything_is_written(tmp_path):
    for study in THREE:
        with pytest.raises(FileNotFoundError, match="nowhere"):
            dataclasses.replace(study.small(), ratings=str(tmp_path / "nowhere")).check()
