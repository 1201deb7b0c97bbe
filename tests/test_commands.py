"""The ``clickgym`` command: what it lists, and what its commands write."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import clickgym
from clickgym import clickmodels, data, evaluation, studies
from clickgym.data import ClickLog
from clickgym.evaluation import Metric, ResultTable
from clickgym.scripts import command_names, main
from clickgym.studies.engine.grid import cell_key

ROOT = Path(__file__).resolve().parent.parent
PNG = b"\x89PNG\r\n\x1a\n"
WORLD = ["--queries", "20", "--docs", "10"]


def world():
    """What the options ``WORLD`` name."""
    return data.synthetic_world(n_queries=20, n_docs=10)


def ran(*command, cwd=None):
    """Run ``command`` in a process of its own."""
    return subprocess.run(command, cwd=cwd, text=True, capture_output=True, timeout=120)


# The command itself


def test_the_installed_command_says_its_version():
    command = Path(sys.executable).with_name("clickgym")
    assert ran(command, "--version").stdout == f"clickgym {clickgym.__version__}\n"


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"]], ids=str)
def test_every_command_is_listed_with_what_it_does(arguments, capsys):
    assert main(arguments) == 0
    listed = [line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines()[2:]]
    assert {name: bool(text) for name, text in listed} == dict.fromkeys(command_names(), True)


def test_the_commands_of_the_design():
    assert set(command_names()) >= {"collect", "demo", "fit", "strong-shift", "world"}


def test_an_unknown_command_is_status_2():
    assert main(["fitt"]) == 2


def test_an_unknown_command_is_named_with_the_known_ones(capsys):
    main(["fitt"])
    error = capsys.readouterr().err
    assert "'fitt'" in error
    assert "strong-shift" in error


@pytest.mark.parametrize("name", command_names())
def test_a_command_explains_its_options(name, capsys):
    with pytest.raises(SystemExit) as stopped:
        main([name, "--help"])
    assert stopped.value.code == 0
    assert f"usage: clickgym {name}" in capsys.readouterr().out


@pytest.mark.parametrize("name", command_names())
def test_an_unknown_option_is_status_2(name, capsys):
    with pytest.raises(SystemExit) as stopped:
        main([name, "--patience=3"])  # one word, as some commands take a word of their own
    assert stopped.value.code == 2
    assert "--patience" in capsys.readouterr().err


def test_a_script_runs_in_a_checkout():
    found = ran(sys.executable, "scripts/collect.py", "--help", cwd=ROOT)
    assert (found.returncode, found.stdout[:6]) == (0, "usage:")


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


@pytest.mark.parametrize(("policy", "best_first"), [("oracle", True), ("reversed", False)])
def test_a_deterministic_policy_shows_documents_in_the_order_of_grades(
    tmp_path, policy, best_first
):
    collect(tmp_path / "log.parquet", "--logging", policy, "--temperature", "0")
    log = ClickLog.load(tmp_path / "log.parquet")
    grades = world().relevance[log.query[:, None], log.ranking].astype(int)
    steps = np.diff(grades, axis=1)
    assert (steps <= 0).all() if best_first else (steps >= 0).all()


def test_longer_pages_than_ten_can_be_shown_to_users_with_examination_by_rank(tmp_path):
    path = tmp_path / "log.parquet"
    options = ["--docs", "14", "--queries", "5", "--slots", "12", "--impressions", "10"]
    main(["collect", "--out", str(path), "--user", "UBM", "--logging", "random", *options])
    assert ClickLog.load(path).slots == 12


def test_an_unknown_user_ends_with_a_message(tmp_path, capsys):
    assert main(["collect", "--user", "XYZ", "--out", str(tmp_path / "log.parquet")]) == 1
    assert "--user must be one of DBN" in capsys.readouterr().err


# Fit

FITTED = ["dCTR", "PBM", "TopPop"]


def fit(log_file, out, *options):
    return main(["fit", "--log", str(log_file), *WORLD, "--out", str(out), *options])


@pytest.fixture(scope="module")
def fitted(log_file, tmp_path_factory):
    """The folder of a run of ``clickgym fit`` with its default split."""
    folder = tmp_path_factory.mktemp("fitted")
    fit(log_file, folder, "--model", *FITTED)
    return folder


@pytest.mark.parametrize("model", ["dCTR", "PBM"])
def test_a_saved_model_gives_the_perplexity_in_the_saved_table(log_file, fitted, model):
    loaded = clickmodels.ClickModel.load(fitted / f"{model}.safetensors")
    test = ClickLog.load(log_file).split((0.8, 0.1, 0.1), 0)[2]
    table = ResultTable.load(fitted / "clicks.parquet", [Metric("PPL", True)])
    assert table.values(model, "PPL").tolist() == [evaluation.perplexity(loaded, test).mean]


@pytest.mark.parametrize("model", FITTED)
def test_a_saved_model_ranks_as_the_saved_table_says(log_file, fitted, model):
    loaded = clickmodels.ClickModel.load(fitted / f"{model}.safetensors")
    train = ClickLog.load(log_file).split((0.8, 0.1, 0.1), 0)[0]
    table = ResultTable.load(fitted / "grades.parquet", [Metric("nDCG@3", False)])
    expected = evaluation.ndcg(loaded, world().restricted_to(train), 3)
    assert table.values(model, "nDCG@3").tolist() == [expected]


def test_saved_models_belong_to_the_world(fitted):
    loaded = clickmodels.ClickModel.load(fitted / "PBM.safetensors")
    assert loaded.fingerprint == world().fingerprint


@pytest.mark.parametrize("name", ["clicks.md", "grades.md"])
def test_tables_are_written_for_people_too(fitted, name):
    lines = (fitted / name).read_text().splitlines()
    assert [line.split("|")[1].strip() for line in lines if line.startswith("|")][2:] == FITTED


def test_the_picture_of_a_fit_is_a_png(fitted):
    assert (fitted / "perplexity.png").read_bytes()[:8] == PNG


def test_the_settings_of_a_fit_are_saved(log_file, fitted):
    settings = json.loads((fitted / "settings.json").read_text())
    assert (settings["log"], settings["model"]) == (str(log_file), FITTED)


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
    arguments = ["fit", "--pyclick", str(tmp_path / "real.txt"), "--out", str(tmp_path)]
    main([*arguments, "--model", "rCTR"])
    assert clickmodels.ClickModel.load(tmp_path / "rCTR.safetensors").click_rate[2] == 0


def session_files(folder):
    """Files to fit, validate and judge on, of 4, 2 and 2 pages; only the first page is clicked."""
    for name, pages in (("train", 4), ("valid", 2), ("test", 2)):
        lines = [f"1\tq\t[a,b]\t[1,1]\t[{int(page == 0)},0]" for page in range(pages)]
        (folder / name).write_text("\n".join(lines))
    return [str(folder / name) for name in ("train", "valid", "test")]


@pytest.mark.parametrize(("option", "rate"), [([], 1 / 8), (["--clicked-only"], 1 / 2)], ids=str)
def test_sessions_are_fitted_to_their_first_file(tmp_path, option, rate):
    files = ["--sessions", *session_files(tmp_path)]
    main(["fit", *files, "--out", str(tmp_path), "--model", "CTR", *option])
    assert clickmodels.ClickModel.load(tmp_path / "CTR.safetensors").click_rate == rate


WRONG_FITS = {
    "other world": (["--world-seed", "1"], r"log\.parquet.*another world"),
    "fewer documents": (["--docs", "9"], r"log\.parquet.*another world"),
    "no such log": (["--log", "missing.parquet"], r"missing\.parquet: no such file"),
    "no such test log": (["--test", "missing.parquet"], r"missing\.parquet: no such file"),
    "two logs": (["--pyclick", "real.txt"], "give one of --log, --pyclick and --sessions"),
    "unknown model": (["--model", "PBM", "PBMM"], r"--model must be one of .*PBM, .*not 'PBMM'"),
    "model without fit": (["--model", "CoCM"], r"not 'CoCM'"),
    "one share": (["--split", "1.0"], "--split takes two or three shares"),
    "shares": (["--split", "0.5", "0.6"], "fractions must sum to 1"),
}


@pytest.mark.parametrize("wrong", WRONG_FITS)
def test_a_wrong_fit_ends_with_a_message(log_file, tmp_path, wrong, capsys):
    options, message = WRONG_FITS[wrong]
    assert fit(log_file, tmp_path / "out", *options) == 1
    assert re.search(rf"clickgym fit: .*{message}", capsys.readouterr().err)


@pytest.mark.parametrize("wrong", WRONG_FITS)
def test_a_wrong_fit_writes_nothing(log_file, tmp_path, wrong):
    assert fit(log_file, tmp_path / "out", *WRONG_FITS[wrong][0]) == 1
    assert not (tmp_path / "out").exists()


# Strong shift


@pytest.fixture(scope="module")
def shifted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shifted")
    sizes = ["--seeds", "2", "--impressions", "1000"]
    main(["strong-shift", "--user", "PBM", "--model", "dCTR", "PBM", *sizes, "--out", str(folder)])
    return folder


def test_a_strong_shift_saves_a_value_for_every_model_metric_and_seed(shifted):
    metrics = [Metric("ind PPL", True), Metric("nDCG@3", False), Metric("ood PPL", True)]
    table = ResultTable.load(shifted / "PBM.parquet", metrics)
    counts = {(m, k.name): len(table.values(m, k.name)) for m in table.models for k in metrics}
    names = ["PBM oracle", "dCTR", "PBM"]
    assert counts == {(name, metric.name): 2 for name in names for metric in metrics}


def test_a_strong_shift_is_written_for_people_too(shifted):
    assert "| PBM oracle |" in (shifted / "PBM.md").read_text()


def test_the_settings_of_a_strong_shift_are_saved(shifted):
    assert json.loads((shifted / "settings.json").read_text())["impressions"] == 1000


@pytest.mark.parametrize(("option", "kind"), [("--user", "user"), ("--model", "model")])
def test_an_unknown_name_in_a_strong_shift_ends_with_a_message(tmp_path, option, kind, capsys):
    assert main(["strong-shift", option, "XYZ", "--out", str(tmp_path)]) == 1
    assert re.search(f"--{kind} must be one of .*PBM.*'XYZ'", capsys.readouterr().err)


# World and demo


def test_a_world_is_described(capsys):
    main(["world", "--docs", "10"])
    assert "candidates per query: 10 to 10, median 10" in capsys.readouterr().out


def test_a_letor_file_is_described(tmp_path, capsys):
    path = tmp_path / "letor.txt"
    path.write_text("".join(f"{i % 3} qid:{i // 3} 1:{i / 9}\n" for i in range(9)))
    main(["world", "--world", str(path), "--feature", "1"])
    assert "nDCG@10 by feature 1:" in capsys.readouterr().out


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    small = ["--impressions", "600", "--queries", "8", "--jobs", "1"]
    assert main(["demo", *small, "--out", str(folder)]) == 0
    return folder


def test_the_demo_draws_and_writes_its_table(demo):
    assert (demo / "curse.png").read_bytes()[:8] == PNG
    table = (demo / "tables.md").read_text()
    assert all(name in table for name in ("PBM", "UBM", "DBN", "NCM", "NCM Max-Reward"))
    assert all(name in table for name in ("best", "logging policy", "random"))


def test_the_demo_has_a_cell_for_every_model(demo):
    assert len(list((demo / "cells").glob("*.json"))) == 4
    rows = studies.load_rows(demo / "rows.parquet")
    assert [row["model"] for row in rows] == ["PBM", "UBM", "DBN", "NCM"]


# Curse


CURSE = ["--model", "PBM", "UBM", "--queries", "15", "--docs", "12", "--impressions", "800"]


@pytest.fixture(scope="module")
def cursed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("curse")
    users = ["--user", "DBN", "CoCM", "--logging", "epsilon-oracle", "BM25", "--seeds", "2"]
    assert main(["curse", *CURSE, *users, "--rate", "--out", str(folder)]) == 0
    return folder


def test_curse_has_a_row_for_every_user_logging_policy_model_and_seed(cursed):
    rows = studies.load_rows(cursed / "rows.parquet")
    cells = {(r["user"], r["logging"], r["model"], r["seed"]) for r in rows}
    assert len(rows) == len(cells) == 16
    for row in rows:
        gap = row["max_reward_promised"] - row["max_reward_deployed"]
        assert row["max_reward_gap"] == pytest.approx(gap)
        assert row["max_reward_promised"] >= row["top_down_promised"] - 1e-9
        assert row["max_reward_deployed"] <= row["max_reward_best"] + 1e-9
    assert len({row["max_reward_deployed"] for row in rows}) > 8


def test_curse_draws_a_panel_for_every_user_and_logging_policy(cursed):
    assert (cursed / "curse.png").read_bytes()[:8] == PNG
    assert (cursed / "tables.md").read_text().count("clicks a page") == 4


def test_curse_goes_on_from_what_is_finished(cursed, capsys):
    before = {path: path.stat().st_mtime_ns for path in (cursed / "cells").glob("*.json")}
    first, *_ = before
    first.unlink()
    users = ["--user", "DBN", "CoCM", "--logging", "epsilon-oracle", "BM25", "--seeds", "2"]
    rows = (cursed / "tables.md").read_text()
    assert main(["curse", *CURSE, *users, "--out", str(cursed)]) == 0
    after = {path: path.stat().st_mtime_ns for path in (cursed / "cells").glob("*.json")}
    assert after.keys() == before.keys()
    assert [path for path in after if after[path] != before[path]] == [first]
    assert (cursed / "tables.md").read_text() == rows


def test_replacing_the_results_of_other_options_is_said(tmp_path, capsys):
    options = ["--model", "PBM", "--seeds", "1", "--out", str(tmp_path)]
    assert main(["curse", *CURSE, *options]) == 0
    assert "other options" not in capsys.readouterr().err
    assert main(["curse", *CURSE, *options, "--user", "DBN"]) == 0
    assert "user was ['CoCM-mismatch']" in capsys.readouterr().err


@pytest.mark.parametrize("flag", ["--user", "--logging", "--model"])
def test_curse_refuses_unknown_names_before_it_writes(flag, tmp_path, capsys):
    assert main(["curse", flag, "XYZ", "--out", str(tmp_path / "new")]) == 1
    assert "'XYZ'" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--world", "missing.txt"], "missing.txt: no such file"),
        (["--slots", "0"], "slots must be"),
        (["--model", "TopPop"], "TopPop is not generative"),
        (["--impressions", "0"], "impressions must be"),
    ],
)
def test_curse_checks_numbers_before_it_writes(options, message, tmp_path, capsys):
    assert main(["curse", *CURSE, *options, "--out", str(tmp_path / "new")]) == 1
    assert message in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


def test_a_name_given_twice_is_one(tmp_path, capsys):
    options = ["--model", "PBM", "PBM", "--user", "DBN", "DBN", "--seeds", "1"]
    assert main(["curse", *CURSE, *options, "--out", str(tmp_path)]) == 0
    assert capsys.readouterr().out.count("PBM Max-Reward") == 1


def test_results_follow_the_contents_of_a_file_and_not_its_name(tmp_path):
    text = "".join(f"{i % 3} qid:{i // 6} 1:{i / 9}\n" for i in range(24))
    (tmp_path / "one.txt").write_text(text)
    (tmp_path / "two.txt").write_text(text)
    one, two = (studies.WorldSetting.of(str(tmp_path / f"{n}.txt"), 0, 0) for n in ("one", "two"))
    cells = [studies.CurseCell("DBN", "random", "PBM", 0, world) for world in (one, two)]
    assert cell_key(cells[0], "1") == cell_key(cells[1], "1")
    (tmp_path / "two.txt").write_text(text.replace("2 qid:0", "1 qid:0"))
    changed = studies.WorldSetting.of(str(tmp_path / "two.txt"), 0, 0)
    cell = studies.CurseCell("DBN", "random", "PBM", 0, changed)
    assert cell_key(cell, "1") != cell_key(cells[0], "1")


def test_an_interrupt_is_no_traceback(monkeypatch, capsys):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(studies, "curse_study", interrupted)
    assert main(["curse", *CURSE]) == 130
    assert "stopped" in capsys.readouterr().err
