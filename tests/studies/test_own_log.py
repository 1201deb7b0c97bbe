"""``clickgym report``: from a table of clicks to a page, with one command."""

from __future__ import annotations

import csv
import html
import json
import shutil
import subprocess

import numpy as np
import pytest
from forked import run_command
from own_tables import simulate, write_example, write_table

from clickgym import clickmodels, data, envs, evaluation, policies, studies
from clickgym.scripts import main
from clickgym.studies.engine.rows import where
from clickgym.studies.own_log.cells import logged_places
from clickgym.studies.own_log.findings import Findings, summarise

PNG = b"\x89PNG\r\n\x1a\n"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
BROWSER = next(filter(None, map(shutil.which, BROWSERS)), "")


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    _, _, log = simulate(40, 12, 4_000, slots=5)
    return write_table(tmp_path_factory.mktemp("own") / "clicks.csv", log)


@pytest.fixture(scope="module")
def run(table):
    """The folder of a report that nothing was configured for."""
    folder = table.parent / "report"
    assert main(["report", str(table), "--out", str(folder)]) == 0
    return folder


@pytest.fixture(scope="module")
def first_pages(tmp_path_factory):
    """The folder of a report by one model on pages of one slot, where its two rankings agree."""
    _, _, log = simulate(5, 6, 300, slots=1)
    folder = tmp_path_factory.mktemp("first")
    path = write_table(folder / "clicks.csv", log, oddities=False)
    options = ["--model", "UBM", "--no-stability", "--jobs", "1", "--out", str(folder / "out")]
    assert main(["report", str(path), *options]) == 0
    return folder / "out"


def rows_of(folder):
    paths = sorted(folder.glob("about-*.parquet"))
    return [row for path in paths for row in studies.load_rows(path)]


def files_of(folder):
    return {row["quantity"]: folder / row["text"] for row in where(rows_of(folder), part="file")}


def open_in_browser(page, folder):
    """Return what a browser makes of a page."""
    if not BROWSER:
        pytest.skip("there is no Chromium here")
    command = [
        BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
        "--disable-background-networking", "--disable-component-update", "--disable-sync",
        f"--user-data-dir={folder / 'profile'}", "--dump-dom", page.as_uri(),
    ]  # fmt: skip
    return subprocess.run(
        command, capture_output=True, text=True, timeout=300, check=True, encoding="utf-8"
    ).stdout


def test_the_page_has_a_paragraph_tables_and_pictures(run):
    page = (run / "report.html").read_text(encoding="utf-8")
    paragraph = summarise(Findings(rows_of(run)), "clicks.csv")
    assert html.escape(paragraph, quote=False).replace("'", "&#39;") in page
    for heading in ("What the models would have you show", "The click models", "The log", "Files"):
        assert page.count(f"<h2>{heading}</h2>") == 1
    assert page.count("data:image/png") == 3
    for name in ("policies.png", "models.png", "log.png"):
        assert (run / name).read_bytes().startswith(PNG)


def test_a_browser_opens_the_page_and_runs_its_script(run, tmp_path):
    shown = open_in_browser(run / "report.html", tmp_path)
    assert "That is the optimiser's curse." in shown
    assert 'title="sort by this column"' in shown


def test_ids_of_the_log_are_shown_and_escaped(run):
    page = (run / "report.html").read_text(encoding="utf-8")
    assert "lamp &lt;b&gt;LED&lt;/b&gt;" in page
    assert "<b>LED" not in page
    assert "東京 天気" in page


def test_what_is_odd_is_counted(run):
    odd = {row["quantity"]: row["value"] for row in where(rows_of(run), part="oddity")}
    assert odd["documents beyond the last slot (dropped)"] == 4
    assert odd["pages that show a document twice"] == 1
    assert odd["query ids that differ from another only by case or white space"] >= 1


def test_rankings_are_in_the_ids_of_the_log(run, table):
    shown = {}
    with table.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            shown.setdefault(row["query"], set()).add(row["item_id"])
    found = Findings(rows_of(run))
    for name in found.cross.policies:
        pages = {}
        with files_of(run)[name].open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                page = pages.setdefault(row["query"], [])
                page.append(row["document"])
                assert int(row["rank"]) == len(page)
        assert pages.keys() == shown.keys()
        for query, page in pages.items():
            assert len(page) == len(set(page)) <= 5
            assert set(page) <= shown[query]


def test_every_model_judges_every_ranking_as_the_library_would(run):
    files, found = files_of(run), Findings(rows_of(run))
    world, log = data.World.load(files["the world"]), data.ClickLog.load(files["the log"])
    train = log.split((0.8, 0.1, 0.1), 0)[0]
    allowed = world.restricted_to(train).candidates
    allowed = np.where(allowed.any(axis=1, keepdims=True), allowed, world.candidates)
    known = world.with_candidates(allowed, world.query_probs)
    model, judge = (clickmodels.ClickModel.load(files[name]) for name in ("PBM", "DBN"))
    policy = policies.max_reward(model, known, 5, pessimism="auto")
    place = found.cross.policies.index("PBM Max-Reward")
    values = dict(zip(found.cross.judges, found.cross.values[place], strict=True))
    assert values["PBM"] == pytest.approx(evaluation.value(policy, model, known))
    assert values["DBN"] == pytest.approx(evaluation.value(policy, judge, known))
    (rare,) = where(found.rows, policy="PBM Max-Reward", quantity="hardly shown")
    assert rare["value"] == evaluation.share_hardly_shown(policy, train, known)
    (promise,) = where(found.rows, policy="PBM Max-Reward", quantity="promise")
    assert promise["value"] == pytest.approx(policy.found.promise)


def test_models_have_the_prior_that_follows_exposure_and_the_table_says_so(run):
    files = files_of(run)
    world, log = data.World.load(files["the world"]), data.ClickLog.load(files["the log"])
    train = log.split((0.8, 0.1, 0.1), 0)[0]
    expected = clickmodels.fit("UBM", train, world, prior="exposure").relevance()
    loaded = clickmodels.ClickModel.load(files["UBM"])
    np.testing.assert_allclose(loaded.relevance(), expected)
    assert Findings(rows_of(run)).trust["UBM"] == loaded.posterior().numbers["trust"]
    page = (run / "report.html").read_text(encoding="utf-8")
    assert "Prior of what was not clicked yet: exposure (PBM, UBM, DBN, NCM)." in page


def test_the_paragraph_has_the_promise_that_can_be_kept_and_why_it_is_another(run):
    found = Findings(rows_of(run))
    name = found.cross.policies[found.recommended]
    promise, judge = found.promise(name), name.split()[0]
    said = summarise(found, "x")
    assert f"a promise that can be kept is {promise:.3f}, because of many rankings" in said
    assert f"for what {judge} likes, also where it errs" in said
    assert f"what it sees between pages: about {found.trust[judge]:.0%}." in said
    assert "can be promised" in (run / "judgements.csv").read_text(encoding="utf-8")


def test_nothing_can_be_promised_that_the_other_models_do_not_believe(run):
    found = Findings(rows_of(run))
    name = found.cross.policies[found.recommended]
    others = found.cross.others[found.recommended]
    for value, kept in ((1.09 * others, True), (1.11 * others, False)):
        changed = {"value": value}
        rows = [
            row | (changed if (row["policy"], row["quantity"]) == (name, "promise") else {})
            for row in found.rows
        ]
        assert (Findings(rows).promise(name) is not None) == kept
        assert ("promise that can be kept" in summarise(Findings(rows), "x")) == kept


def test_what_warns_of_the_suggested_ranking_is_told(run):
    files, found = files_of(run), Findings(rows_of(run))
    world, log = data.World.load(files["the world"]), data.ClickLog.load(files["the log"])
    train = log.split((0.8, 0.1, 0.1), 0)[0]
    train = train[[len({*page}) == len(page) for page in train.ranking.tolist()]]
    name = found.cross.policies[found.recommended]
    policy = policies.Policy.load(files[name].with_suffix(".safetensors"))
    models = {name: clickmodels.ClickModel.load(files[name]) for name in found.models}
    known = {row["quantity"]: row for row in found.warnings}
    shown = world.with_candidates(world.restricted_to(train).candidates, world.query_probs)
    signs = evaluation.warn(policy, train, shown, models)
    assert list(known) == [sign.name for sign in signs]
    for sign in signs:
        assert known[sign.name]["policy"] == name
        assert known[sign.name]["text"] == (sign.warning or sign.not_run)
    assert 0 < len(signs.speaking) < len(signs)
    page = (run / "report.html").read_text(encoding="utf-8")
    assert page.count("<h2>What warns</h2>") == 1
    for sign in signs.speaking:
        assert html.escape(sign.warning, quote=False).replace("'", "&#39;") in page
        assert sign.name in summarise(found, "x")


def test_models_are_judged_on_pages_that_they_were_not_fitted_to(run):
    files, found = files_of(run), Findings(rows_of(run))
    test = data.ClickLog.load(files["the log"]).split((0.8, 0.1, 0.1), 0)[2]
    for name in ("PBM", "UBM", "DBN", "NCM"):
        model = clickmodels.ClickModel.load(files[name])
        known = evaluation.perplexity_interval(model, test)
        row = found.perplexities[name]
        assert (row["value"], row["low"], row["high"]) == pytest.approx(known[:3])
    (held_out,) = where(found.rows, part="log", quantity="held_out")
    assert held_out["value"] == len(test)


def test_models_are_compared_on_the_same_held_out_pages(run):
    files, found = files_of(run), Findings(rows_of(run))
    test = data.ClickLog.load(files["the log"]).split((0.8, 0.1, 0.1), 0)[2]
    models = {name: clickmodels.ClickModel.load(files[name]) for name in found.models}
    best = models[found.best_model]
    assert set(found.above_best) == set(models) - {found.best_model}
    for name, row in found.above_best.items():
        known = evaluation.perplexity_difference(models[name], best, test)
        assert (row["value"], row["low"], row["high"]) == pytest.approx(known[:3])
        assert (name in found.as_good) == (known.low <= 0)


def with_comparison(rows, bounds):
    """Return the rows of a report where other models have these bounds above PBM."""
    kept = [row for row in rows if row["part"] not in ("comparison", "model", "stability")]
    values = {"PBM": 1.2} | dict.fromkeys(bounds, 1.21)
    for name, value in values.items():
        row = dict.fromkeys(rows[0]) | {"model": name}
        kept.append(
            row
            | {"part": "model", "quantity": "perplexity"}
            | {"value": value, "low": 1.1, "high": 1.3}
        )
        if name in bounds:
            kept.append(row | {"part": "comparison", "value": 0.01, "low": bounds[name]})
    return kept


def test_the_paragraph_says_which_models_are_clearly_worse(run):
    rows = rows_of(run)
    found = Findings(with_comparison(rows, {"UBM": -0.001, "DBN": 0.001, "NCM": 0.002}))
    said = "compared on the same pages, UBM is not clearly worse and DBN and NCM are clearly worse."
    assert said in summarise(found, "x")
    found = Findings(with_comparison(rows, {"UBM": 0.001}))
    assert "compared on the same pages, UBM is clearly worse." in summarise(found, "x")


def alike_by_file(folder):
    """Return for each ranking of a report the others whose files are the same."""
    files = files_of(folder)
    texts = {row["policy"]: files[row["policy"]].read_bytes()
             for row in where(rows_of(folder), part="policy")}  # fmt: skip
    return {
        name: {other for other in texts if other != name and texts[other] == texts[name]}
        for name in texts
    }


@pytest.mark.parametrize("some", [False, True])
def test_rankings_that_are_the_same_are_told(some, run, first_pages):
    folder = first_pages if some else run
    alike, found = alike_by_file(folder), Findings(rows_of(folder))
    assert any(alike.values()) == some
    assert {name: set(found.same_as(name)) for name in alike} == alike
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert ("UBM Top-Down and UBM Max-Reward are the same ranking" in page) == some


def test_a_single_models_ranking_is_named(first_pages):
    said = summarise(Findings(rows_of(first_pages)), "x")
    assert "for UBM Max-Reward (UBM Top-Down is the same ranking)." in said
    assert "The log cannot confirm UBM Max-Reward: estimates" in said


def test_the_promise_that_others_doubt_most_is_pointed_out(run):
    found = Findings(rows_of(run))
    name = found.cross.policies[int(np.argmax(found.cross.excess))]
    (model,) = {row["model"] for row in found.rows if row["policy"] == name and row["judge"]}
    own = {"part": "judgement", "policy": name, "judge": model}
    rows = [
        {**row, "value": 3.0 * row["value"]} if own.items() <= row.items() else row
        for row in found.rows
    ]
    found = Findings(rows)
    assert found.only_own_judge
    assert f"Do not trust {name}:" in summarise(found, "x")


def test_where_every_document_was_clicked_nothing_is_recommended_or_doubted(run):
    rows = [
        {**row, "value": 1.0} if row["quantity"] == "click_rate" else row for row in rows_of(run)
    ]
    found = Findings(rows)
    said = summarise(found, "x")
    assert "Every document that was shown was clicked, so" in said
    assert "Do not trust" not in said
    assert "ranking to try" not in said
    assert not found.only_own_judge


def test_rankings_that_nothing_tells_apart_are_not_recommended(run):
    rows = [{**row, "value": 1.0} if row["part"] == "judgement" else row for row in rows_of(run)]
    found = Findings(rows)
    assert found.recommended is None
    said = summarise(found, "x")
    assert "Nothing tells the rankings apart" in said
    assert "ranking to try" not in said


def test_a_saved_log_with_its_world_says_the_same_as_the_table(run, tmp_path):
    files = files_of(run)
    given = [str(files["the log"]), "--world", str(files["the world"])]
    options = ["--model", "PBM", "DBN", "--no-stability", "--jobs", "1"]
    assert main(["report", *given, *options, "--out", str(tmp_path / "saved")]) == 0
    both = [Findings(rows_of(folder)).cross for folder in (run, tmp_path / "saved")]
    values = [
        [one.values[one.policies.index("PBM Max-Reward"), one.judges.index(judge)]
         for judge in ("PBM", "DBN")]
        for one in both
    ]  # fmt: skip
    assert values[0] == pytest.approx(values[1])


def test_models_are_asked_about_pages_with_their_blocks(tmp_path):
    world = data.synthetic_world(5, 6).with_vertical([1, 0, 3, 1, -1])
    user = clickmodels.true_user("FCM", world, slots=3)
    logging = policies.Placed(policies.Uniform(world, 3), [0.1, 0.5, 0.2, 0.2, 0.0], world)
    log = envs.collect(world, user, logging, 2_000, seed=0)
    log.save(tmp_path / "log.parquet")
    world.save(tmp_path / "world.safetensors")
    given = [str(tmp_path / "log.parquet"), "--world", str(tmp_path / "world.safetensors")]
    options = ["--model", "FCM", "UBM", "--no-stability", "--jobs", "1"]
    assert main(["report", *given, *options, "--out", str(tmp_path / "out")]) == 0
    found, files = Findings(rows_of(tmp_path / "out")), files_of(tmp_path / "out")
    model = clickmodels.ClickModel.load(files["FCM"])
    test = log.split((0.8, 0.1, 0.1), 0)[2]
    blocks = {"vertical": test.vertical, "vertical_position": test.vertical_position}
    expected = model.expected_clicks(test.query, test.ranking, **blocks).mean()
    assert found.logged["FCM"] == pytest.approx(expected)
    here = [(log.vertical_position[log.query == 0] == place).mean() for place in range(-1, 4)]
    np.testing.assert_allclose(logged_places(log, world)[0], here)
    own = policies.max_reward(model, world, 3)
    placed = policies.Placed(own, logged_places(log, world), world)
    (value,) = found.cross.values[found.cross.policies.index("FCM Max-Reward"), :1]
    asked = world.with_candidates(world.candidates, np.bincount(log.query) / len(log))
    assert value == pytest.approx(evaluation.value(placed, model, asked))


def test_columns_can_be_named(table, tmp_path):
    named = tmp_path / "named.csv"
    rows = table.read_text(encoding="utf-8").partition("\n")[2]
    named.write_text("a,b,c,d,e\n" + rows, encoding="utf-8")
    assert main(["report", str(named), "--out", str(tmp_path / "none")]) == 1
    columns = ["page=a", "query=b", "rank=c", "document=d", "click=e"]
    options = ["--model", "PBM", "--no-stability", "--jobs", "1", "--out", str(tmp_path / "out")]
    assert main(["report", str(named), "--column", *columns, *options]) == 0
    assert "no second opinion" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")


SMALL = ("--model", "PBM", "--no-stability", "--jobs", "1")


@pytest.fixture
def small(tmp_path):
    """A small table, and the folder of a report on it by one model."""
    _, _, log = simulate(5, 6, 300, slots=3)
    path = write_table(tmp_path / "clicks.csv", log, oddities=False)
    assert main(["report", str(path), *SMALL, "--out", str(tmp_path / "out")]) == 0
    return path, tmp_path / "out"


def test_a_report_with_the_plain_prior_takes_models_at_their_word(small, tmp_path):
    path, out = small
    assert Findings(rows_of(out)).trust.keys() == {"PBM"}
    plain = tmp_path / "plain"
    assert main(["report", str(path), *SMALL, "--prior", "plain", "--out", str(plain)]) == 0
    files, found = files_of(plain), Findings(rows_of(plain))
    assert found.trust == {}
    assert found.promise("PBM Max-Reward") is None
    assert "promise that can be kept" not in summarise(found, "x")
    world, log = data.World.load(files["the world"]), data.ClickLog.load(files["the log"])
    train = log.split((0.8, 0.1, 0.1), 0)[0]
    expected = clickmodels.fit("PBM", train, world).relevance()
    np.testing.assert_allclose(clickmodels.ClickModel.load(files["PBM"]).relevance(), expected)
    assert main(["report", str(path), *SMALL, "--prior", "plain", "--out", str(out)]) == 1


def test_an_odd_table_is_refused_where_that_is_asked_for(table, tmp_path, capsys):
    out = tmp_path / "out"
    assert main(["report", str(table), *SMALL, "--strict", "--out", str(out)]) == 1
    assert "1 pages that show a document twice" in capsys.readouterr().err
    assert not out.exists()


def test_a_report_of_other_options_is_replaced_only_when_asked(small, capsys):
    path, out = small
    before = {name: (out / name).read_bytes() for name in ("report.html", "settings.json")}
    again = ["report", str(path), "--out", str(out)]
    capsys.readouterr()
    assert main([*again, *SMALL, "--seed", "1"]) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "holds another run (--seed was 0, the log was another)" in error  # its parts are
    assert "--overwrite" in error
    for name, contents in before.items():
        assert (out / name).read_bytes() == contents
    assert main([*again, *SMALL, "--seed", "1", "--overwrite"]) == 0
    assert json.loads((out / "settings.json").read_text())["seed"] == 1


def test_the_same_options_go_on_wherever_the_log_lies_and_not_when_it_has_changed(small, capsys):
    path, out = small
    moved = path.rename(path.with_name("moved.csv"))
    again = ["report", str(moved), *SMALL, "--out", str(out)]
    assert main(again) == 0
    assert "0 settings computed" in capsys.readouterr().out
    text = moved.read_text(encoding="utf-8")
    moved.write_text("\n".join(text.splitlines()[:-3]), encoding="utf-8")
    assert main(again) == 1
    assert "holds another run (the log was another)" in capsys.readouterr().err


def test_rankings_of_an_overwritten_report_come_back_with_it(small):
    path, out = small
    found = []
    for seed in ("0", "1", "0"):
        words = ["report", str(path), *SMALL, "--seed", seed, "--out", str(out), "--overwrite"]
        assert main(words) == 0
        names = ("PBM.safetensors", "rankings/PBM-Max-Reward.safetensors", "parts/test.parquet")
        found.append([(out / name).read_bytes() for name in names])
    assert found[0] == found[2]
    assert found[0][0] != found[1][0]
    assert found[0][2] != found[1][2]


OWN_MODEL = """
import numpy as np
from clickgym import clickmodels

@clickmodels.register("Even")
class Even(clickmodels.PBM):
    @classmethod
    def fit(cls, log, world, seed=0):
        return cls(np.full(world.relevance.shape, RATE), np.ones(log.slots))
"""


def test_a_model_of_ones_own_is_reported_on_and_fitted_again_when_its_file_changes(small, tmp_path):
    path, _ = small

    def report(rate, jobs):
        (tmp_path / "even_clicks.py").write_text(OWN_MODEL.replace("RATE", rate))
        options = ["--model", "PBM", "Even", "--jobs", jobs, "--out", "own"]
        ran = run_command(["report", str(path), "--module", "even_clicks", *options], tmp_path)
        assert ran.returncode == 0, ran.stderr
        cross = Findings(rows_of(tmp_path / "own")).cross
        place = cross.policies.index("Even Max-Reward")
        return cross.values[place, cross.judges.index("Even")], ran.stdout

    value, _ = report("0.5", "2")
    assert value == pytest.approx(1.5)  # of three slots
    value, said = report("0.25", "1")
    assert value == pytest.approx(0.75)
    # the log, three fits and the halves of PBM are kept; its policies have another judge
    assert "7 taken from an earlier run" in said


def test_rankings_and_policies_of_the_folder_are_deployed(run, tmp_path):
    policy = run / "rankings" / "DBN-Max-Reward.safetensors"
    world = ["--world", str(run / "world.safetensors")]
    out = tmp_path / "rankings.csv"
    assert main(["deploy", "--policy", str(policy), *world, "--rankings", str(out)]) == 0
    assert out.read_bytes() == policy.with_suffix(".csv").read_bytes()


def test_a_table_that_cannot_be_read_is_named_before_anything_is_written(tmp_path, capsys):
    path = tmp_path / "clicks.csv"
    path.write_text("query,document,click\n")
    out = tmp_path / "out"
    for arguments, error in (
        ([str(path)], "clicks.csv"),
        ([str(tmp_path / "none.csv")], "none.csv: no such file"),
        ([], "give a table of clicks"),
        ([str(path), "--world", str(path)], "clicks.csv"),
        ([str(path), "--column", "colour=red"], "'colour=red' does not say what a column means"),
    ):
        assert main(["report", *arguments, "--out", str(out)]) == 1
        assert error in capsys.readouterr().err
        assert not out.exists()


def test_a_model_that_fails_is_named_and_loses_no_other(tmp_path, monkeypatch, capsys):
    _, _, log = simulate(5, 6, 300, slots=3)
    path = write_table(tmp_path / "clicks.csv", log)
    fit = clickmodels.fit

    def fail(name, *given, **settings):
        if name == "UBM":
            raise ValueError("this model has had enough of <pages>")
        return fit(name, *given, **settings)

    monkeypatch.setattr(clickmodels, "fit", fail)
    options = ["--model", "PBM", "UBM", "DBN", "--jobs", "1", "--out", str(tmp_path / "out")]
    assert main(["report", str(path), *options]) == 1
    assert "3 of 9 settings failed" in capsys.readouterr().err
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "<h2>What failed</h2>" in page
    assert "had enough of &lt;pages&gt;" in page
    found = Findings(rows_of(tmp_path / "out"))
    assert found.models == ["PBM", "DBN"]
    assert list(found.cross.judges) == ["PBM", "DBN"]
    assert "missing below: UBM" in summarise(found, "x")


def test_a_log_without_randomness_is_told(tmp_path):
    _, _, log = simulate(5, 6, 300, slots=3)
    fixed = data.ClickLog(log.query, np.tile([0, 1, 2], (len(log), 1)), log.clicks)
    path = write_table(tmp_path / "clicks.csv", fixed, oddities=False)
    study = studies.OwnLogReport(str(path), models=("PBM", "DBN"))
    found = Findings(studies.compute_study(study, tmp_path / "out").rows)
    said = summarise(found, "x")
    assert found.groups == [[1], [2], [3]]
    assert "Ranks 1 and 2 and 3 share no documents" in said
    assert "two pages of the same query are equal in 100% of cases" in said


def test_a_log_in_which_every_query_comes_once_becomes_a_report(tmp_path):
    _, _, log = simulate(60, 6, 60, slots=3)
    once = data.ClickLog(np.arange(60), log.ranking[:60], log.clicks[:60])
    path = write_table(tmp_path / "clicks.csv", once, oddities=False)
    study = studies.OwnLogReport(str(path), models=("PBM",))
    found = Findings(studies.compute_study(study, tmp_path / "out").rows)
    assert found.of_log("same_page") is None
    assert found.models == ["PBM"]


@pytest.mark.slow
def test_two_hundred_thousand_rows_become_a_page_that_a_browser_opens(tmp_path):
    path = write_example(tmp_path / "clicks.csv")
    assert sum(1 for _ in path.open("rb")) > 200_000
    assert main(["report", str(path), "--out", str(tmp_path / "out")]) == 0
    shown = open_in_browser(tmp_path / "out" / "report.html", tmp_path)
    assert "Do not trust NCM Max-Reward" in shown
    assert 'title="sort by this column"' in shown
