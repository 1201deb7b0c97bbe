"""``clickgym collect``, ``fit`` and ``world``: what they print and write."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from looping import loop_over

from clickgym import clickmodels, data, evaluation
from clickgym.data import ClickLog
from clickgym.evaluation import Metric, ResultTable
from clickgym.scripts import main
from clickgym.scripts._shared.command_options import parse
from clickgym.scripts.fit import Fit, choose_models

PNG = b"\x89PNG\r\n\x1a\n"
WORLD = ["--queries", "20", "--docs", "10"]


def world():
    """What the options ``WORLD`` name."""
    return data.synthetic_world(n_queries=20, n_docs=10)


# Collect


def collect(path, *options):
    arguments = ["collect", *WORLD, "--out", str(path), "--impressions", "400", "--slots", "5"]
    return main([*arguments, "--user", "DBN", "--logging", "random", *options])


@pytest.fixture(scope="module")
def log_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("collected") / "log.parquet"
    collect(path)
    return path


def test_a_collected_log_has_the_pages_and_slots_that_were_asked_for(log_file):
    assert ClickLog.load(log_file).ranking.shape == (400, 5)


def test_a_collected_log_belongs_to_the_world_of_the_options(log_file):
    assert ClickLog.load(log_file).fingerprint == world().fingerprint


def test_a_collected_log_has_propensities(log_file):
    expected = -np.log([10 * 9 * 8 * 7 * 6])
    np.testing.assert_allclose(ClickLog.load(log_file).log_propensity, np.tile(expected, 400))


def test_collecting_says_what_was_collected(tmp_path, capsys):
    collect(tmp_path / "log.parquet")
    assert "400 pages" in capsys.readouterr().out


def test_a_seed_gives_the_same_log_again(log_file, tmp_path):
    collect(tmp_path / "again.parquet")
    again = ClickLog.load(tmp_path / "again.parquet")
    np.testing.assert_array_equal(again.clicks, ClickLog.load(log_file).clicks)


def test_another_seed_gives_another_log(log_file, tmp_path):
    collect(tmp_path / "other.parquet", "--seed", "1")
    other = ClickLog.load(tmp_path / "other.parquet")
    assert not np.array_equal(other.ranking, ClickLog.load(log_file).ranking)


@loop_over(("policy", "best_first"), [("oracle", True), ("reversed", False)])
def test_a_deterministic_policy_shows_documents_in_the_order_of_grades(
    tmp_path, policy, best_first
):
    collect(tmp_path / "log.parquet", "--logging", policy, "--temperature", "0")
    log = ClickLog.load(tmp_path / "log.parquet")
    grades = world().relevance[log.query[:, None], log.ranking].astype(int)
    steps = np.diff(grades, axis=1)
    assert (steps <= 0).all() if best_first else (steps >= 0).all()


@loop_over("user", clickmodels.user_names())
def test_pages_longer_than_ten_can_be_shown_to_every_user(tmp_path, user):
    path = tmp_path / "log.parquet"
    options = ["--docs", "14", "--queries", "5", "--slots", "12", "--impressions", "10"]
    main(["collect", "--out", str(path), "--user", user, "--logging", "random", *options])
    assert ClickLog.load(path).slots == 12


@loop_over(
    ("options", "message"),
    [
        (["--user", "XYZ"], "--user must be one of DBN, .*, not 'XYZ'"),
        (["--logging", "XYZ"], "--logging must be one of .*, not 'XYZ'"),
        (["--impressions", "0"], "--impressions must be at least 1, not 0"),
        (["--slots", "-2"], "--slots must be at least 1, not -2"),
        (["--temperature", "-1"], "--temperature must be at least 0, not -1.0"),
        (["--seed", "-1"], "--seed must be at least 0, not -1"),
        (["--world", "missing.txt"], r"missing\.txt: no such file"),
    ],
)
def test_a_wrong_option_ends_with_a_message_and_no_file(tmp_path, capsys, options, message):
    assert collect(tmp_path / "log.parquet", *options) == 1
    assert re.search(f"clickgym collect: {message}\n", capsys.readouterr().err)
    assert not (tmp_path / "log.parquet").exists()


# Fit

FITTED = ["dCTR", "PBM", "TopPop"]
ALONE = ["--jobs", "1"]


def fit(log_file, out, *options):
    return main(["fit", "--log", str(log_file), *WORLD, "--out", str(out), *ALONE, *options])


@pytest.fixture(scope="module")
def fitted(log_file, tmp_path_factory):
    """The folder of a run of ``clickgym fit`` with its default split."""
    folder = tmp_path_factory.mktemp("fitted")
    fit(log_file, folder, "--model", *FITTED)
    return folder


@loop_over("model", ["dCTR", "PBM"])
def test_a_saved_model_gives_the_perplexity_in_the_saved_table(log_file, fitted, model):
    loaded = clickmodels.ClickModel.load(fitted / f"{model}.safetensors")
    test = ClickLog.load(log_file).split((0.8, 0.1, 0.1), 0)[2]
    table = ResultTable.load(fitted / "clicks.parquet", [Metric("PPL", True)])
    assert table.values(model, "PPL").tolist() == [evaluation.perplexity(loaded, test).mean]


@loop_over("model", FITTED)
def test_a_saved_model_ranks_as_the_saved_table_says(log_file, fitted, model):
    loaded = clickmodels.ClickModel.load(fitted / f"{model}.safetensors")
    train = ClickLog.load(log_file).split((0.8, 0.1, 0.1), 0)[0]
    table = ResultTable.load(fitted / "grades.parquet", [Metric("nDCG@3", False)])
    expected = evaluation.ndcg(loaded, world().restricted_to(train), 3)
    assert table.values(model, "nDCG@3").tolist() == [expected]


def test_saved_models_belong_to_the_world(fitted):
    loaded = clickmodels.ClickModel.load(fitted / "PBM.safetensors")
    assert loaded.fingerprint == world().fingerprint


@loop_over("name", ["clicks.md", "grades.md"])
def test_tables_are_written_for_people_too(fitted, name):
    lines = (fitted / name).read_text().splitlines()
    assert [line.split("|")[1].strip() for line in lines if line.startswith("|")][2:] == FITTED


def test_the_picture_of_a_fit_is_a_png(fitted):
    assert (fitted / "perplexity.png").read_bytes()[:8] == PNG


def test_the_settings_of_a_fit_are_saved(log_file, fitted):
    settings = json.loads((fitted / "settings.json").read_text())
    assert (settings["log"], settings["model"]) == (str(log_file), FITTED)


def test_models_are_fitted_by_grade(log_file, tmp_path):
    fit(log_file, tmp_path, "--model", "UBM", "--parameters", "grade")
    train, validation, _ = ClickLog.load(log_file).split((0.8, 0.1, 0.1), 0)
    expected = clickmodels.fit("UBM", train, world(), 0, validation, parameters="grade")
    found = clickmodels.ClickModel.load(tmp_path / "UBM.safetensors")
    np.testing.assert_array_equal(
        found.by_grade.attractiveness, expected.by_grade.attractiveness
    )
    assert not (tmp_path / "grades.md").exists()  # they would be judged by what they know
    assert "models by grade know the grades" in (tmp_path / "report.html").read_text()


def test_all_models_by_grade_are_those_that_have_grades():
    by_grade = parse(Fit, "fit", ["--model", "all", "--parameters", "grade"])
    assert {"UBM", "dCTR"} <= set(choose_models(by_grade)) < set(clickmodels.names())
    assert choose_models(parse(Fit, "fit", ["--model", "all"])) == clickmodels.names()


def test_a_fit_can_be_judged_on_another_log(log_file, tmp_path):
    other = tmp_path / "other.parquet"
    collect(other, "--seed", "1")
    fit(log_file, tmp_path, "--model", "dCTR", "--test", str(other))
    model = clickmodels.fit("dCTR", ClickLog.load(log_file), world())
    table = ResultTable.load(tmp_path / "clicks.parquet", [Metric("PPL", True)])
    expected = evaluation.perplexity(model, ClickLog.load(other)).mean
    assert table.values("dCTR", "PPL").tolist() == [expected]


def test_seeds_of_a_random_fit_have_a_value_each(tmp_path):
    small = tmp_path / "small.parquet"
    collect(small, "--impressions", "60")
    fit(small, tmp_path, "--model", "NCM", "--seeds", "2")
    table = ResultTable.load(tmp_path / "clicks.parquet", [Metric("PPL", True)])
    assert len(set(table.values("NCM", "PPL"))) == 2


@pytest.mark.filterwarnings("error")
def test_models_that_only_rank_are_fitted_alone(log_file, tmp_path):
    fit(log_file, tmp_path, "--model", "TopPop")
    table = ResultTable.load(tmp_path / "grades.parquet", [Metric("nDCG@3", False)])
    assert table.models == ["TopPop"]


def test_a_real_log_is_fitted_from_its_file(tmp_path):
    pages = "\n".join(f"q{i % 3}\ta,b,c : {'abc'[i % 2]}" for i in range(60))
    (tmp_path / "real.txt").write_text(pages)
    arguments = ["fit", "--pyclick", str(tmp_path / "real.txt"), "--out", str(tmp_path), *ALONE]
    main([*arguments, "--model", "rCTR"])
    assert clickmodels.ClickModel.load(tmp_path / "rCTR.safetensors").click_rate[2] == 0


def session_files(folder):
    """Files to fit, validate and judge on, of 4, 2 and 2 pages; only the first page is clicked."""
    for name, pages in (("train", 4), ("valid", 2), ("test", 2)):
        lines = [f"1\tq\t[a,b]\t[1,1]\t[{int(page == 0)},0]" for page in range(pages)]
        (folder / name).write_text("\n".join(lines))
    return [str(folder / name) for name in ("train", "valid", "test")]


@loop_over(("option", "rate"), [([], 1 / 8), (["--clicked-only"], 1 / 2)])
def test_sessions_are_fitted_to_their_first_file(tmp_path, option, rate):
    files = ["--sessions", *session_files(tmp_path)]
    out = ["--out", str(tmp_path / "out"), "--overwrite", *ALONE]
    main(["fit", *files, *out, "--model", "CTR", *option])
    assert clickmodels.ClickModel.load(tmp_path / "out" / "CTR.safetensors").click_rate == rate


def graded_sessions(folder):
    """Options of sessions with three queries, whose documents have different grades."""
    lines = [f"1\tq{i % 3}\t[a,b]\t[1,1]\t[{i % 2},0]" for i in range(12)]
    for name in ("train", "valid", "test"):
        (folder / name).write_text("\n".join(lines))
    (folder / "labels").write_text("\n".join(f"{line}\t[2,0]" for line in lines))
    names = [str(folder / name) for name in ("train", "valid", "test")]
    return ["--sessions", *names, "--labels", str(folder / "labels")]


@loop_over(("models", "said"), [(["PBM", "dCTR"], True), (["PBM"], False)])
def test_a_log_with_grades_gets_a_verdict_where_both_sides_were_fitted(tmp_path, models, said):
    out = tmp_path / "_".join(models)
    main(["fit", *graded_sessions(tmp_path), "--model", *models, "--out", str(out), *ALONE])
    assert (out / "ndcg-by-query.parquet").exists()
    assert (out / "ledger.md").exists() == said


def test_a_log_without_grades_has_no_ndcg_by_query(tmp_path):
    out = tmp_path / "out"
    files = ["--sessions", *session_files(tmp_path)]
    main(["fit", *files, "--model", "PBM", "dCTR", "--out", str(out), *ALONE])
    assert not (out / "ndcg-by-query.parquet").exists()


WRONG_FITS = {
    "other world": (["--world-seed", "1"], r"log\.parquet.*another world"),
    "fewer documents": (["--docs", "9"], r"log\.parquet.*another world"),
    "no such log": (["--log", "missing.parquet"], r"missing\.parquet: no such file"),
    "no such test log": (["--test", "missing.parquet"], r"missing\.parquet: no such file"),
    "two logs": (["--pyclick", "real.txt"], "give one of --log, --pyclick and --sessions"),
    "unknown model": (["--model", "PBM", "PBMM"], r"--model must be one of .*PBM, .*not 'PBMM'"),
    "model without fit": (["--model", "CoCM"], r"not 'CoCM'"),
    "no model by grade": (["--model", "PBM", "NCM", "--parameters", "grade"], "NCM has no param"),
    "one share": (["--split", "1.0"], "--split takes two or three shares"),
    "shares": (["--split", "0.5", "0.6"], "--split must be shares that sum to 1, not 0.5 0.6"),
}


@loop_over("wrong", WRONG_FITS)
def test_a_wrong_fit_ends_with_a_message_and_writes_nothing(log_file, tmp_path, wrong, capsys):
    options, message = WRONG_FITS[wrong]
    assert fit(log_file, tmp_path / "out", *options) == 1
    assert re.search(rf"clickgym fit: .*{message}", capsys.readouterr().err)
    assert not (tmp_path / "out").exists()


def test_a_folder_with_another_run_is_kept(log_file, fitted, capsys):
    before = (fitted / "settings.json").read_text()
    assert fit(log_file, fitted, "--model", "CTR") == 1
    assert "--overwrite" in capsys.readouterr().err
    assert (fitted / "settings.json").read_text() == before


# World


def test_a_world_is_described(capsys):
    main(["world", "--docs", "10"])
    assert "candidates per query: 10 to 10, median 10" in capsys.readouterr().out


def test_a_letor_file_is_described(tmp_path, capsys):
    path = tmp_path / "letor.txt"
    path.write_text("".join(f"{i % 3} qid:{i // 3} 1:{i / 9}\n" for i in range(9)))
    main(["world", "--world", str(path), "--feature", "1"])
    assert "nDCG@10 by feature 1:" in capsys.readouterr().out
    main(["world", "--world", str(path)])  # it has no feature 110
    assert "by feature" not in capsys.readouterr().out
    assert main(["world", "--world", str(path), "--feature", "2"]) == 1
    assert "--feature is 2, but the world has 1" in capsys.readouterr().err
