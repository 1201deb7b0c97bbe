"""Commands on a log of one's own: a table with string ids, no grades and no propensities."""

from __future__ import annotations

import csv
import importlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from looping import loop_over

from clickgym import clickmodels, data, evaluation, policies, studies
from clickgym.clickmodels import ClickModel
from clickgym.clickmodels import registry as model_registry
from clickgym.data import ClickLog, World
from clickgym.scripts import main
from clickgym.studies.own_log.kept_logs import KeptLogs
from clickgym.studies.own_log.log_fits import LogFitCell
from clickgym.studies.own_log.tables import column_roles

COMMAND = [sys.executable, "-m", "clickgym.scripts.fit"]
ALONE = ["--jobs", "1"]
QUERIES = ("söder mälarstrand", "tea & biscuits", '"quoted", twice')


HEADER = ("serp", "term", "url", "pos", "clicked")


def write_table(path, pages=300, slots=4, header=HEADER, seed=0, name="example.org"):
    """Write pages of up to six documents for each query; the lower its number, the more clicks."""
    rng = np.random.default_rng(seed)
    with Path(path).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        for page in range(pages):
            query = QUERIES[page % len(QUERIES)]
            for rank, document in enumerate(rng.permutation(slots + 2)[:slots]):
                clicked = rng.random() < 0.8 / (1 + rank) / (1 + document)
                url = f"https://{name}/{query[:4]}/{document}"
                writer.writerow([f"page {page}", query, url, rank + 1, int(clicked)])
    return str(path)


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    return write_table(tmp_path_factory.mktemp("own") / "clicks.csv")


@pytest.fixture(scope="module")
def fitted(table, tmp_path_factory):
    folder = tmp_path_factory.mktemp("fitted")
    assert main(["fit", table, "--model", "PBM", "UBM", "--out", str(folder), *ALONE]) == 0
    return folder


@pytest.fixture(scope="module")
def trained(fitted, tmp_path_factory):
    out = tmp_path_factory.mktemp("trained")
    inside = ["--world", f"{fitted}/world.safetensors", "--model", f"{fitted}/PBM.safetensors"]
    budget = ["--agent", "CascadeUCB1", "--pages", "200"]
    assert main(["train", *inside, *budget, "--out", str(out)]) == 0
    return out


# Fit


def test_a_table_is_fitted_with_nothing_configured(table, fitted):
    world, log = data.read_log(table)
    assert World.load(fitted / "world.safetensors").fingerprint == world.fingerprint
    np.testing.assert_array_equal(ClickLog.load(fitted / "log.parquet").clicks, log.clicks)
    train, _, _ = log.split((0.8, 0.1, 0.1), 0)
    expected = clickmodels.fit("PBM", train, world, prior="exposure").relevance()
    found = ClickModel.load(fitted / "PBM.safetensors").relevance()
    np.testing.assert_allclose(found, expected)
    assert "Prior of what was not clicked yet: exposure (PBM, UBM)." in (
        fitted / "report.html"
    ).read_text()
    assert (fitted / "perplexity.png").stat().st_size > 1000
    assert "no nDCG" in (fitted / "report.html").read_text()


def test_what_was_guessed_and_what_is_odd_is_printed_with_the_table_of_models(tmp_path, capsys):
    path = write_table(tmp_path / "odd.csv", 30)
    with Path(path).open("a", encoding="utf-8") as file:
        file.write("page 30,tea,a,1,0\npage 30,tea,a,2,0\n")
    arguments = ["fit", path, "--model", "CTR", "--out", str(tmp_path / "out"), *ALONE]
    assert main(arguments) == 0
    text = capsys.readouterr().out
    assert "query=term (guessed)" in text
    assert re.search(r"show a document twice +1\n", text)
    assert text.index("read from") < text.index("Click prediction") < text.index("CTR")
    assert main([*arguments, "--strict"]) == 1
    assert "1 pages that show a document twice" in capsys.readouterr().err


def test_columns_are_given_by_one_option(table, tmp_path):
    header = ("a", "b", "c", "d", "e")
    other = write_table(tmp_path / "nameless.csv", header=header)
    roles = ["page=a", "query=b", "document=c", "rank=d", "click=e"]
    out = tmp_path / "out"
    options = ["--column", *roles, "--model", "CTR", "--out", str(out), *ALONE]
    assert main(["fit", other, *options]) == 0
    expected = data.read_log(table)[1]
    np.testing.assert_array_equal(ClickLog.load(out / "log.parquet").ranking, expected.ranking)
    assert column_roles(["query=a=b", "rank="]) == {"query": "a=b", "rank": ""}


@loop_over(
    ("options", "message"),
    [
        (["--column", "query=word"], "no column 'word' for query"),
        (["--column", "term"], "--column: 'term' does not say what a column means"),
        (["--column", "word=term"], "--column: 'word=term' does not say .*; it may mean query, "),
        (["--column", "query=term", "query=url"], "--column: the query is given twice"),
        (["--column", "click=url"], "click"),
        (["--format", "excel"], "--format must be one of .*yandex-2011"),
        (["--split-by", "time"], "--split-by time: the log's columns of that kind: page"),
        (["--column", "page=", "rank="], "give --column page=…, --column rank=… or --column ses"),
        (["--split", "1", "0"], "--split leaves no page to test"),
        (["--world", "missing"], "missing: no such file"),
        (["--parameters", "grade"], "parameters='grade' needs grades, and this world has none"),
        (["--prior", "score"], r"--prior score needs the policy that made the log \(--policy FI"),
        (["--policy", "none"], "--policy none: no such file"),
        (
            ["--prior", "exposure", "--model", "CTR", "dCTR"],
            "--prior exposure: .* CTR, dCTR can only be fitted with --prior plain",
        ),
    ],
)
def test_a_wrong_option_is_named_and_nothing_is_written(table, tmp_path, capsys, options, message):
    assert main(["fit", table, "--out", str(tmp_path / "out"), *ALONE, *options]) == 1
    assert re.search(f"^clickgym fit: .*{message}", capsys.readouterr().err)
    assert not (tmp_path / "out").exists()


def test_a_column_that_cannot_be_guessed_is_asked_for_by_its_option(tmp_path, capsys):
    path = write_table(tmp_path / "x.csv", 5, header=("serp", "x", "url", "pos", "clicked"))
    assert main(["fit", path]) == 1
    assert "(--column query=…)" in capsys.readouterr().err


def test_a_model_that_fails_loses_no_other_and_is_named_at_the_end(tmp_path, capsys):
    path = write_table(tmp_path / "long.csv", 60, slots=20)
    out = tmp_path / "out"
    names = ["ARM", "PBM", "NCM"]
    arguments = ["fit", path, "--model", *names, "--out", str(out), *ALONE]
    for _ in range(2):
        assert main(arguments) == 1
        last = capsys.readouterr().err.splitlines()[-1]
        assert last == "failed: ARM: ValueError: ARM takes pages of up to 14 slots, the log has 20"
        rows = studies.load_rows(out / "rows.parquet")
        assert [row["model"] for row in rows] == ["PBM", "NCM"]
        model = ClickModel.load(out / "NCM.safetensors")
        assert model.name == "NCM"
        assert model.posterior().numbers == {}  # its expected clicks cannot be computed


def run_fit(table, out, *options, **settings):
    return subprocess.Popen(
        [*COMMAND, table, "--out", str(out), *ALONE, *options], text=True, **settings
    )


def wait_for(path, process):
    deadline = time.monotonic() + 120
    while not path.exists() and time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.01)


def test_a_killed_fit_has_saved_what_was_ready_and_goes_on(table, tmp_path, capsys):
    out = tmp_path / "out"
    names = ["--model", "NCM", "PBM", "--seeds", "8"]  # NCM is fitted first
    process = run_fit(table, out, *names, stdout=subprocess.DEVNULL, start_new_session=True)
    wait_for(out / "NCM.safetensors", process)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert not (out / "settings.json").exists()
    done = {path: path.stat().st_mtime_ns for path in out.glob("models/*.safetensors")}
    assert 1 <= len(done) < 9
    assert main(["fit", table, "--out", str(out), *ALONE, *names]) == 0
    kept = re.search(r"(\d+|none) taken from an earlier run", capsys.readouterr().out)[1]
    kept = 0 if kept == "none" else int(kept)
    assert kept in (len(done), len(done) - 1)  # the last model may have been saved, not judged
    assert all(path.stat().st_mtime_ns == moment for path, moment in done.items())
    assert main(["fit", table, "--out", str(out), *ALONE, *names]) == 0
    assert "0 settings computed, 9 taken from an earlier run" in capsys.readouterr().out


@loop_over("unbuffered", ["", "1"])
def test_a_broken_pipe_loses_nothing(table, tmp_path, unbuffered):
    out = tmp_path / f"out{unbuffered}"
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    code = "import sys; from clickgym.scripts import main; sys.exit(main())"
    words = ["fit", table, "--out", str(out), *ALONE, "--model", "PBM", "CTR"]
    process = subprocess.Popen(
        [sys.executable, "-c", code, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env=environment, text=True,
    )  # fmt: skip
    process.stdout.close()  # as head does, only sooner
    error = process.stderr.read()
    process.wait()
    assert error == ""
    for name in ("PBM.safetensors", "CTR.safetensors", "clicks.parquet", "report.html"):
        assert (out / name).is_file(), name
    assert json.loads((out / "settings.json").read_text())["model"] == ["PBM", "CTR"]


def test_a_run_is_taken_up_again_from_another_folder(table, fitted, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(Path(table).parent)
    assert main(["fit", "clicks.csv", "--model", "PBM", "--out", str(tmp_path), *ALONE]) == 0
    monkeypatch.chdir(tmp_path)
    capsys.readouterr()
    assert main(["fit", table, "--model", "PBM", "--out", ".", *ALONE]) == 0
    assert "0 settings computed, 1 taken from an earlier run" in capsys.readouterr().out


def test_another_log_does_not_replace_a_run_unless_asked(fitted, tmp_path, capsys):
    other = write_table(tmp_path / "other.csv", 90)
    arguments = ["fit", other, "--model", "PBM", "UBM", "--out", str(fitted), *ALONE]
    before = (fitted / "PBM.safetensors").read_bytes()
    assert main(arguments) == 1
    assert "--overwrite" in capsys.readouterr().err
    assert (fitted / "PBM.safetensors").read_bytes() == before


def test_models_of_an_overwritten_run_come_back_with_it(table, tmp_path):
    out = ["--out", str(tmp_path), "--overwrite", "--model", "PBM", *ALONE]
    models = []
    for split in (["0.8", "0.2"], ["0.5", "0.5"], ["0.8", "0.2"]):
        assert main(["fit", table, *out, "--split", *split]) == 0
        models.append(ClickModel.load(tmp_path / "PBM.safetensors").relevance().tolist())
    assert models[0] == models[2] != models[1]


def test_models_that_were_deleted_are_fitted_again(table, tmp_path):
    words = ["fit", table, "--model", "PBM", "--out", str(tmp_path), *ALONE]
    assert main(words) == 0
    before = ClickModel.load(tmp_path / "PBM.safetensors").relevance()
    for path in [*tmp_path.rglob("*.safetensors"), *tmp_path.rglob("*.sha256")]:
        path.unlink()
    assert main(words) == 0
    again = ClickModel.load(tmp_path / "PBM.safetensors").relevance()
    np.testing.assert_array_equal(again, before)
    assert World.load(tmp_path / "world.safetensors").n_queries == len(QUERIES)


def test_a_saved_log_is_fitted_with_its_saved_world(fitted, tmp_path):
    where = ["--log", f"{fitted}/log.parquet", "--world", f"{fitted}/world.safetensors"]
    assert main(["fit", *where, "--model", "PBM", "--out", str(tmp_path), *ALONE]) == 0
    again = ClickModel.load(tmp_path / "PBM.safetensors")
    np.testing.assert_array_equal(
        again.relevance(), ClickModel.load(fitted / "PBM.safetensors").relevance()
    )


def test_a_list_that_does_not_fit_its_click_is_told_with_what_helps(tmp_path, capsys):
    path = tmp_path / "clicks.csv"
    path.write_text("query,docs,click\na,u|v|w,1\nb,x|y|z,0\n")
    assert main(["fit", str(path), "--out", str(tmp_path / "out")]) == 1
    assert re.search(
        r"column 'docs' seems to hold the documents of a page .* in Python, data\.read_log",
        capsys.readouterr().err,
    )


@loop_over("command", ["fit", "report"])
def test_a_wrong_column_to_split_by_gets_those_that_there_are(tmp_path, capsys, command):
    path = tmp_path / "clicks.csv"
    header = "query,doc,rank,click,visitor,shown_at,country\n"
    path.write_text(header + "a,u,1,0,me,2024-05-01,nl\n" * 20)
    given = [str(path), "--split-by", "time", "--out", str(tmp_path / "out")]
    assert main([command, *given]) == 1
    assert re.search(
        r"of that kind: user \(visitor\); .*: shown_at, country \(--column time=NAME gives one\)",
        capsys.readouterr().err,
    )


def test_pages_are_split_by_a_column(tmp_path):
    rows = [f"{'ab'[i % 2]},x{i % 3},1,{i % 2},{'uvw'[i // 20]}" for i in range(60)]
    path = tmp_path / "users.csv"
    path.write_text("\n".join(["query,doc,rank,click,session", *rows]))
    options = ["--split-by", "session", "--split", "0.34", "0.33", "0.33", "--model", "CTR"]
    assert main(["fit", str(path), *options, "--out", str(tmp_path / "out"), *ALONE]) == 0
    parts = (tmp_path / "out" / "parts").glob("*.parquet")
    assert sorted(tuple(set(ClickLog.load(part).extra["session"])) for part in parts) == [
        ("u",), ("v",), ("w",)
    ]  # fmt: skip


# Priors


def test_the_plain_prior_can_be_asked_for_and_does_not_replace_another(
    table, fitted, tmp_path, capsys
):
    words = ["fit", table, "--model", "PBM", "dCTR", "--prior", "plain", *ALONE]
    assert main([*words, "--out", str(tmp_path)]) == 0
    world, log = data.read_log(table)
    expected = clickmodels.fit("PBM", log.split((0.8, 0.1, 0.1), 0)[0], world).relevance()
    found = ClickModel.load(tmp_path / "PBM.safetensors").relevance()
    np.testing.assert_allclose(found, expected)
    assert {row["prior"] for row in studies.load_rows(tmp_path / "rows.parquet")} == {"plain"}
    capsys.readouterr()
    assert main(["fit", table, "--model", "PBM", "dCTR", "--out", str(tmp_path), *ALONE]) == 1
    assert "--prior was plain" in capsys.readouterr().err


def test_models_without_another_prior_are_fitted_with_the_plain_one(table, tmp_path, capsys):
    assert main(["fit", table, "--model", "PBM", "dCTR", "--out", str(tmp_path), *ALONE]) == 0
    assert "exposure (PBM), plain (dCTR)." in capsys.readouterr().out
    rows = studies.load_rows(tmp_path / "rows.parquet")
    assert {row["model"]: row["prior"] for row in rows} == {"PBM": "exposure", "dCTR": "plain"}


def test_the_policy_that_made_the_log_gives_the_prior_its_scores(table, tmp_path, capsys):
    world, log = data.read_log(table)
    weights = np.random.default_rng(0).random((world.n_queries, world.n_docs)) + 0.1
    logging = policies.PlackettLuce(weights, slots=log.slots)
    logging.save(tmp_path / "logging.safetensors")
    words = ["fit", table, "--model", "PBM", "--prior", "score", "--out", str(tmp_path), *ALONE]
    assert main([*words, "--policy", str(tmp_path / "logging.safetensors")]) == 0
    train = log.split((0.8, 0.1, 0.1), 0)[0]
    expected = clickmodels.fit("PBM", train, world, prior="score", logging=logging).relevance()
    found = ClickModel.load(tmp_path / "PBM.safetensors").relevance()
    np.testing.assert_allclose(found, expected)
    policies.Ranker(weights, log.slots).save(tmp_path / "ranker.safetensors")
    capsys.readouterr()
    assert main([*words, "--policy", str(tmp_path / "ranker.safetensors")]) == 1
    assert "ranker.safetensors: prior='score' needs a logging policy with scores" in (
        capsys.readouterr().err
    )


def test_fits_with_the_plain_prior_keep_the_name_that_their_files_have():
    kept = KeptLogs("here", "abc", ("train", "test"))
    cells = [LogFitCell("PBM", 0, kept, prior=prior) for prior in ("", "exposure")]
    assert cells[0].path.stem == "db982749571ee0f6b1e09e51"
    assert cells[1].path != cells[0].path
    cell = LogFitCell("PBM", 0, kept, prior="score", logging="a", logging_contents="x")
    assert cell.path == replace(cell, logging="b").path != replace(cell, logging_contents="y").path


# Train, deploy


@loop_over(
    ("options", "message"),
    [
        (["--model", "dCTR", "--prior", "exposure"], "--prior exposure: dCTR is fitted with plain"),
        (["--model", "PBM", "--prior", "score"], "--prior score needs the policy that made the"),
        (["--model", "saved", "--prior", "plain"], "--prior plain is for a model that is fitted"),
    ],
)
def test_a_prior_that_training_cannot_take_is_named(
    table, fitted, tmp_path, capsys, options, message
):
    out = tmp_path / "out"
    options = [str(fitted / "PBM.safetensors") if one == "saved" else one for one in options]
    where = ["--log", table, "--agent", "CascadeUCB1", "--pages", "50", "--out", str(out)]
    assert main(["train", *where, *options]) == 1
    assert re.search(f"clickgym train: {message}", capsys.readouterr().err)
    assert not out.exists()


def test_an_agent_is_trained_inside_a_model_of_the_log(fitted, trained):
    world = World.load(fitted / "world.safetensors")
    policies.Policy.load(trained / "policy.safetensors").check_world(world)
    last = studies.load_rows(trained / "history.parquet")[-1]
    assert last["promised"] > 0
    assert (last["deployed"], last["gap"], last["regret"]) == (None, None, None)


def test_training_fits_a_model_to_the_log_where_it_is_given(table, tmp_path, capsys):
    out = tmp_path / "run"
    options = ["--model", "UBM", "--agent", "CascadeUCB1", "--pages", "100", "--out", str(out)]
    assert main(["train", "--log", table, *options]) == 0
    world, log = data.read_log(table)
    train, _, _ = log.split((0.8, 0.1, 0.1), 0)
    expected = clickmodels.fit("UBM", train, world, prior="exposure").relevance()
    found = ClickModel.load(out / "click_model.safetensors").relevance()
    np.testing.assert_allclose(found, expected)
    assert World.load(out / "world.safetensors").fingerprint == world.fingerprint
    assert policies.Policy.load(out / "policy.safetensors").slots == log.slots
    last = capsys.readouterr().out.splitlines()[-1]
    assert "--logging" not in last
    assert main(last.removeprefix("deploy: clickgym ").split()) == 0
    assert capsys.readouterr().err == ""
    assert main(["train", "--log", table, *options]) == 0
    assert "already finished" in capsys.readouterr().out


def test_a_policy_is_deployed_in_the_world_beside_it_when_its_log_is_gone(tmp_path, capsys):
    path = write_table(tmp_path / "clicks.csv", 60)
    run = tmp_path / "run"
    words = ["train", "--log", path, "--agent", "CascadeUCB1", "--pages", "50"]
    assert main([*words, "--out", str(run)]) == 0
    policy = ["--policy", str(run / "policy.safetensors")]
    rankings = [tmp_path / "beside.csv", tmp_path / "of-log.csv"]
    assert main(["deploy", *policy, "--log", path, "--rankings", str(rankings[1])]) == 0
    Path(path).unlink()
    capsys.readouterr()
    ranker = ["--logging", "oracle"]  # another than in settings.json, where it means nothing
    assert main(["deploy", *policy, *ranker, "--rankings", str(rankings[0])]) == 0
    assert capsys.readouterr().err == ""
    assert rankings[0].read_bytes() == rankings[1].read_bytes()
    (run / "world.safetensors").unlink()
    assert main(["deploy", *policy, "--rankings", str(rankings[0])]) == 1
    assert f"it was made from {path}: give that --log, or --world" in capsys.readouterr().err


def test_a_run_does_not_go_on_with_a_log_that_has_changed(tmp_path, capsys):
    path = write_table(tmp_path / "clicks.csv", 60)
    words = ["train", "--log", path, "--agent", "CascadeUCB1", "--pages", "50"]
    assert main([*words, "--out", str(tmp_path / "run")]) == 0
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    changed = [lines[0], *(line[:-1] + str(1 - int(line[-1])) for line in lines[1:])]
    Path(path).write_text("\n".join(changed), encoding="utf-8")
    assert main([*words, "--out", str(tmp_path / "run")]) == 1
    assert "holds a run on another log" in capsys.readouterr().err


def test_rankings_are_deployed_in_the_ids_of_the_log(table, fitted, trained, tmp_path, capsys):
    policy = ["--policy", str(trained / "policy.safetensors")]
    out = tmp_path / "rankings.csv"
    world = ["--world", str(fitted / "world.safetensors")]
    assert main(["deploy", *policy, *world, "--rankings", str(out)]) == 0
    assert "there is no true user to deploy on" in capsys.readouterr().out
    with out.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {row["query"] for row in rows} == set(QUERIES)
    shown = policies.Policy.load(trained / "policy.safetensors").greedy([1])[0]
    known = World.load(fitted / "world.safetensors")
    expected = [str(known.doc_ids[1, document]) for document in shown]
    assert [row["document"] for row in rows if row["query"] == known.query_ids[1]] == expected
    again = tmp_path / "again.csv"
    assert main(["deploy", *policy, "--log", table, "--rankings", str(again)]) == 0
    assert again.read_bytes() == out.read_bytes()


def test_a_model_of_the_log_says_what_it_promises(fitted, trained, capsys):
    world = ["--world", str(fitted / "world.safetensors")]
    options = ["--policy", f"{trained}/policy.safetensors", "--model", f"{fitted}/PBM.safetensors"]
    assert main(["deploy", *options, *world]) == 0
    last = studies.load_rows(trained / "history.parquet")[-1]
    assert f"{last['promised']:.4f} clicks per page promised by PBM" in capsys.readouterr().out


# Off-policy estimates


def test_a_policy_is_estimated_from_a_log_without_propensities(
    table, fitted, trained, tmp_path, capsys
):
    out = tmp_path / "estimates.parquet"
    policy, model = trained / "policy.safetensors", fitted / "PBM.safetensors"
    files = ["--policy", str(policy), "--model", str(model), "--out", str(out)]
    assert main(["ope", "estimate", table, *files]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "The log has no propensities: they are estimated (uniform)." in text
    world, log = data.read_log(table)
    logging, target = policies.estimate_logging(log, world), policies.Policy.load(policy)
    rows = {row["estimator"]: row for row in studies.load_rows(out)}
    clicks = log.clicks.sum(axis=1).astype(float)
    assert rows["the log's own policy"]["value"] == pytest.approx(clicks.mean())
    assert [*rows][1:] == ["ips", "wips", "pi", "wpi", "dm-model", "dr-ips", "dr-pi"]
    loaded = ClickModel.load(model)
    for name, options in (
        ("wips", {}), ("wpi", {"seed": 0}), ("dr-pi", {"direct": loaded, "seed": 0}),
    ):  # fmt: skip
        expected = evaluation.estimate(name, log, clicks, logging, target, world, **options)
        assert rows[name]["value"] == pytest.approx(expected.value)
        assert rows[name]["effective_sample_size"] == pytest.approx(expected.effective_sample_size)


def test_estimates_say_when_they_mean_little_and_stay_in_their_range(
    fitted, trained, tmp_path, capsys
):
    few, out = write_table(tmp_path / "few.csv", 60), tmp_path / "estimates.parquet"
    policy, where = trained / "policy.safetensors", fitted / "world.safetensors"
    words = ["--policy", str(policy), "--world", str(where), "--out", str(out)]
    assert main(["ope", "estimate", few, *words, "--estimator", "pi"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "below 100 a row means little" in text
    assert "Intervals are cut to what a page can have, 0 to 4 clicks." in text
    assert text.count("(few) ") == 2  # the log itself has 60 pages
    world = World.load(where)
    log = data.join_log(*reversed(data.read_log(few)), world)[0]
    logging, target = policies.estimate_logging(log, world), policies.Policy.load(policy)
    raw = evaluation.estimate("pi", log, log.clicks.sum(axis=1), logging, target, world, seed=0)
    row = studies.load_rows(out)[1]
    assert raw.low < 0
    assert (row["low"], row["high"]) == (0, pytest.approx(raw.high))
    assert row["value"] == pytest.approx(raw.value)


def test_doubts_name_the_estimators_that_have_them(fitted, trained, tmp_path, capsys):
    world = World.load(fitted / "world.safetensors")
    ranking = np.tile(np.arange(4)[::-1], (30, 1))
    fixed = ClickLog(np.arange(30) % 3, ranking, ranking == 0, fingerprint=world.fingerprint)
    fixed.save(tmp_path / "fixed.parquet")
    options = ["--world", str(fitted / "world.safetensors"), "--estimator", "ips", "wips", "pi"]
    policy = ["--policy", str(trained / "policy.safetensors")]
    assert main(["ope", "estimate", str(tmp_path / "fixed.parquet"), *policy, *options]) == 0
    said = capsys.readouterr().err.splitlines()
    assert any(re.match("ips, wips: the weights by estimated propensities", s) for s in said)
    assert any(re.match("pi: ", line) for line in said)
    assert all(re.match(r"(ips|wips|pi)(, \w+)*: ", line) for line in said)


def test_pages_that_show_a_document_twice_are_left_out_of_estimates(
    table, fitted, trained, tmp_path, capsys
):
    log = data.read_log(table)[1]
    ranking = log.ranking.copy()
    ranking[:3, 1] = ranking[:3, 0]
    odd = ClickLog(log.query, ranking, log.clicks, fingerprint=log.fingerprint)
    odd.save(tmp_path / "odd.parquet")
    log[3:].save(tmp_path / "rest.parquet")
    world, found = f"{fitted}/world.safetensors", {}
    for name in ("odd", "rest"):
        arguments = ["--world", world, "--policy", str(trained / "policy.safetensors")]
        out = tmp_path / f"{name}-estimates.parquet"
        path = str(tmp_path / f"{name}.parquet")
        assert main(["ope", "estimate", path, *arguments, "--out", str(out)]) == 0
        said = "3 pages that show a document twice are left out" in capsys.readouterr().out
        assert said == (name == "odd")
        found[name] = studies.load_rows(out)
    assert found["odd"] == found["rest"]


def test_propensities_of_the_log_are_used(table, trained, tmp_path):
    log = data.read_log(table)[1]
    with Path(table).open(encoding="utf-8") as file:
        header, *lines = file.read().splitlines()
    rng = np.random.default_rng(1)
    shares = rng.uniform(0.001, 0.01, len(log))
    path = tmp_path / "with.csv"
    rows = [f"{line},{shares[i // 4]:.17g}" for i, line in enumerate(lines)]
    path.write_text("\n".join([f"{header},propensity", *rows]), encoding="utf-8")
    out = tmp_path / "estimates.parquet"
    policy = ["--policy", str(trained / "policy.safetensors")]
    words = ["ope", "estimate", str(path), *policy, "--estimator", "ips", "--out", str(out)]
    assert main(words) == 0
    shown = policies.Policy.load(trained / "policy.safetensors").greedy(log.query)
    same = (shown == log.ranking).all(axis=1)
    expected = (same / shares * log.clicks.sum(axis=1)).mean()
    assert expected > 0
    assert studies.load_rows(out)[1]["value"] == pytest.approx(expected)


@loop_over(
    ("options", "message"),
    [
        (["--estimator", "dr-pi"], "--estimator dr-pi needs a click model: give --model"),
        (["--estimator", "xyz"], "--estimator must be one of ips, "),
        (["--policy", "missing"], "--policy missing: no such file"),
        (["--model", "missing"], "missing: no such file"),
    ],
)
def test_an_estimate_that_cannot_be_is_refused(table, trained, capsys, options, message):
    policy = ["--policy", str(trained / "policy.safetensors")]
    assert main(["ope", "estimate", table, *policy, *options]) == 1
    assert message in capsys.readouterr().err


def test_an_estimate_takes_a_model_of_ones_own(fitted, trained, tmp_path, monkeypatch, capsys):
    known = dict(model_registry._CLASSES)
    monkeypatch.setattr(model_registry, "_CLASSES", dict(known))
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "even_model", raising=False)
    lines = "from clickgym import clickmodels\n\n@clickmodels.register('Even')\n"
    Path("even_model.py").write_text(lines + "class Even(clickmodels.PBM):\n    pass\n")
    world = World.load(fitted / "world.safetensors")
    even = importlib.import_module("even_model").Even
    model = even(np.full(world.relevance.shape, 0.5), np.ones(4))
    model.save("even.safetensors")
    model_registry._CLASSES.clear()
    model_registry._CLASSES.update(known)  # as another process knows them
    sys.modules.pop("even_model")
    files = ["--policy", str(trained / "policy.safetensors"), "--model", "even.safetensors"]
    where = ["--world", str(fitted / "world.safetensors"), "--estimator", "dm-model"]
    words = ["ope", "estimate", str(fitted / "log.parquet"), *files, *where, "--out", "out.parquet"]
    assert main(words) == 1
    assert "unknown click model 'Even'" in capsys.readouterr().err
    assert main([*words, "--module", "even_model"]) == 0
    rows = {row["estimator"]: row["value"] for row in studies.load_rows("out.parquet")}
    assert rows["dm-model"] == pytest.approx(2.0)  # of four slots


def test_a_policy_of_another_log_is_refused_where_no_world_lies_beside_it(
    fitted, trained, tmp_path, capsys
):
    other = write_table(tmp_path / "other.csv", 6)
    alone = tmp_path / "runs" / "alone" / "policy.safetensors"
    alone.parent.mkdir(parents=True)
    alone.write_bytes((trained / "policy.safetensors").read_bytes())
    words = ["ope", "estimate", other, "--policy", str(alone), "--estimator", "wips"]
    assert main(words) == 1
    assert re.search(r"--policy .*belongs to another world.*as --world", capsys.readouterr().err)
    world = (fitted / "world.safetensors").read_bytes()
    for folder in (alone.parent, alone.parent.parent):  # as train and report keep it
        (folder / "world.safetensors").write_bytes(world)
        assert main(words) == 0
        (folder / "world.safetensors").unlink()


def test_propensities_come_from_another_log_where_one_is_given(fitted, trained, tmp_path, capsys):
    world = World.load(fitted / "world.safetensors")
    parts = {name: fitted / "parts" / f"{name}.parquet" for name in ("train", "test")}
    train, test = (ClickLog.load(path) for path in parts.values())
    out, policy = tmp_path / "estimates.parquet", trained / "policy.safetensors"
    words = ["--policy", str(policy), "--logging-log", str(parts["train"]), "--out", str(out)]
    words += ["--world", str(fitted / "world.safetensors")]
    assert main(["ope", "estimate", str(parts["test"]), *words, "--estimator", "wpi"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert f"estimated from the {len(train):,} pages of another log" in said
    expected = evaluation.estimate(
        "wpi", test, test.clicks.sum(axis=1), policies.estimate_logging(train, world),
        policies.Policy.load(policy), world, seed=0,
    )  # fmt: skip
    assert studies.load_rows(out)[1]["value"] == pytest.approx(expected.value)
    assert main(["ope", "estimate"]) == 1
    assert "give the --log to estimate from" in capsys.readouterr().err


def test_a_later_log_is_read_in_the_world_of_the_policy(fitted, trained, tmp_path, capsys):
    later = write_table(tmp_path / "later.csv", 31, seed=5)
    with Path(later).open("a", encoding="utf-8") as file:
        file.write("page 31,tea & biscuits,https://example.org/new,1,1\n")
    out = tmp_path / "estimates.parquet"
    files = ["--policy", str(trained / "policy.safetensors"), "--out", str(out)]
    where = ["--world", str(fitted / "world.safetensors"), "--estimator", "wpi"]
    assert main(["ope", "estimate", later, *files, *where]) == 0
    assert "1 page is left out" in capsys.readouterr().out
    clicks = data.read_log(later)[1].clicks[:-1].sum(axis=1)
    assert studies.load_rows(out)[0]["value"] == pytest.approx(clicks.mean())


def test_models_are_judged_on_another_table(table, tmp_path):
    later = write_table(tmp_path / "later.csv", 60, seed=5)
    out = tmp_path / "out"
    words = ["--test", later, "--model", "dCTR", "--out", str(out), *ALONE]
    assert main(["fit", table, *words]) == 0
    world, log = data.read_log(table)
    test, left_out = data.join_log(*reversed(data.read_log(later)), world)
    assert left_out == 0
    expected = evaluation.perplexity(clickmodels.fit("dCTR", log, world), test).mean
    assert studies.load_rows(out / "rows.parquet")[0]["PPL"] == pytest.approx(expected)
    words[1] = write_table(tmp_path / "unknown.csv", 3, name="elsewhere")
    assert main(["fit", table, *words, "--overwrite"]) == 1


# What needs grades

NEEDS_GRADES = {
    "a user": ("train --user DBN --model PBM", "--user DBN needs grades"),
    "the true user": ("train --model=true-user", "neither a file nor one of"),
    "a log of a user": ("train --model PBM", "--model PBM must be fitted to a log"),
    "deployment": ("deploy", "there is no true user to deploy on: .* give --rankings"),
    "deployment on a user": ("deploy --user DBN", "--user DBN needs grades"),
    "collecting": ("collect", "--user CoCM needs grades"),
    "the curse": ("curse", "--world: a study with a true user needs grades"),
    "the demo": ("compare", "--world: a study with a true user needs grades"),
    "the protocol": ("protocol", "--world: a study with a true user needs grades"),
    "a study of slates": ("ope bias", "--world: nDCG and ERR need grades"),
    "promises": ("ope promises", "--world: a study with a true user needs grades"),
}


@loop_over("case", NEEDS_GRADES)
def test_what_needs_grades_is_refused_in_one_sentence(fitted, tmp_path, monkeypatch, capsys, case):
    monkeypatch.chdir(tmp_path)
    words, message = NEEDS_GRADES[case]
    assert main([*words.split(), "--world", str(fitted / "world.safetensors")]) == 1
    error = capsys.readouterr().err
    assert re.search(message, error), error
    assert len(error.splitlines()) == 1
    assert not list(tmp_path.iterdir())


def test_a_saved_world_is_taken_whole(fitted, capsys):
    where = ["--world", str(fitted / "world.safetensors")]
    for words in (["train"], ["curse"], ["world"]):
        assert main([*words, *where, "--docs", "7"]) == 1
        assert "--docs is for LETOR files and the embedded world" in capsys.readouterr().err


# World, collect


def test_a_world_without_grades_is_described(fitted, capsys):
    assert main(["world", "--world", str(fitted / "world.safetensors")]) == 0
    text = capsys.readouterr().out
    assert "clicks.csv: 3 queries" in text
    assert "candidates per query: 6 to 6, median 6" in text
    assert "no grades: a true user, nDCG" in text


def test_a_collected_log_can_be_read_with_its_saved_world(tmp_path):
    world, log = tmp_path / "world.safetensors", tmp_path / "log.parquet"
    small = ["--queries", "5", "--docs", "6", "--impressions", "200", "--slots", "4"]
    files = ["--out", str(log), "--save-world", str(world)]
    assert main(["collect", *small, *files]) == 0
    assert World.load(world).fingerprint == data.synthetic_world(5, 6).fingerprint
    out = ["--out", str(tmp_path / "out"), "--model", "dCTR", *ALONE]
    assert main(["fit", str(log), "--world", str(world), *out]) == 0
    assert (tmp_path / "out" / "grades.parquet").is_file()
