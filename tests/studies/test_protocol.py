"""The robustness protocol: cells, rows, and running it until it is done."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from looping import loop_over

from clickgym import studies
from clickgym.clickmodels import registry
from clickgym.scripts import main
from clickgym.studies.engine.grid import cell_key
from clickgym.studies.robustness import protocol
from clickgym.studies.robustness.protocol import shipped_rows
from clickgym.studies.robustness.protocol_cells import VERSION
from clickgym.studies.robustness.protocol_report import figure_2

WORLD = studies.WorldSetting(n_queries=20, n_docs=12)
SMALL = studies.Protocol(
    ("DBN", "CoCM"), ("epsilon-oracle", "BM25"), ("PBM", "dCTR", "TopPop", "ARM-NC", "oracle"), 2,
    WORLD, 2000, 5, test_pages=500,
)  # fmt: skip
OPTIONS = [
    "protocol", "quick", "--queries", "20", "--docs", "12", "--impressions", "2000", "--slots",
    "5", "--test-pages", "500", "--no-shift", "--user", "DBN", "CoCM", "--logging",
    "epsilon-oracle", "BM25", "--seeds", "2", "--model", "PBM", "dCTR", "TopPop", "ARM-NC",
    "oracle",
]  # fmt: skip
TIMES = ("fit_seconds", "evaluation_seconds", "policy_seconds")


def without_times(rows):
    return [{name: value for name, value in row.items() if name not in TIMES} for row in rows]


def saved(folder):
    return without_times(studies.load_rows(folder / "rows.parquet"))


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed")
    assert main([*OPTIONS, "--jobs", "1", "--out", str(folder)]) == 0
    return folder


def test_policies_can_be_added_later(undisturbed, tmp_path):
    options = [*OPTIONS, "--jobs", "1", "--out", str(tmp_path)]
    assert main([*options, "--no-policies"]) == 0
    first, models = records(tmp_path), set((tmp_path / "models").iterdir())
    for row, whole in zip(saved(tmp_path), saved(undisturbed), strict=True):
        assert row["max_reward_deployed"] is row["best"] is None
        assert row["perplexity_random"] == whole["perplexity_random"]
    assert main(options) == 0
    assert first.items() <= records(tmp_path).items()  # nothing was computed again
    assert set((tmp_path / "models").iterdir()) == models
    assert saved(tmp_path) == saved(undisturbed)


def row_of(folder, model):
    return next(row for row in saved(folder) if row["model"] == model)


def test_there_is_a_row_for_every_combination(undisturbed):
    rows = saved(undisturbed)
    keys = {(row["user"], row["logging"], row["model"], row["seed"]) for row in rows}
    assert len(keys) == len(rows) == 2 * 2 * 5 * 2


def test_logs_are_made_once_for_all_models(undisturbed):
    logs = list((undisturbed / "logs").glob("*.parquet"))
    assert len(logs) == 2 * 2 * 2 * (1 + 4)


def test_models_leave_out_what_they_cannot_do(undisturbed):
    ranks = row_of(undisturbed, "TopPop")
    assert ranks["perplexity"] is None
    assert ranks["top_down_promised"] is None
    assert ranks["top_down_deployed"] > 0
    conditional = row_of(undisturbed, "ARM-NC")
    assert conditional["perplexity_random"] >= 1
    assert conditional["max_reward_promised"] is None
    assert row_of(undisturbed, "PBM")["max_reward_promised"] > 0


def test_the_oracle_keeps_its_promises(undisturbed):
    for row in saved(undisturbed):
        if row["model"] == "oracle":
            assert row["max_reward_promised"] == pytest.approx(row["max_reward_deployed"])
            assert row["max_reward_deployed"] <= row["best"] + 1e-9
            assert row["ndcg_10"] == pytest.approx(1.0)
            assert row["random_value"] < row["logging_value"] < row["best"]


def keys_of(study):
    return [cell_key(cell, VERSION) for cell in study.cells(study.log_cells("a"), "b")]


def test_fewer_seeds_are_a_prefix():
    more = keys_of(replace(SMALL, seeds=3))
    assert keys_of(SMALL) == more[: len(keys_of(SMALL))]


@loop_over(
    "change",
    [
        {"parameters": "embedding"}, {"impressions": 3000}, {"slots": 4}, {"test_pages": 600},
        {"world": replace(WORLD, seed=1)}, {"temperature": 0.5}, {"tests": ("random",)},
    ],
)  # fmt: skip
def test_every_setting_is_in_the_key(change):
    assert not set(keys_of(SMALL)) & set(keys_of(replace(SMALL, **change)))


def test_where_logs_and_models_are_is_not_in_the_key():
    cells = SMALL.cells(SMALL.log_cells("elsewhere"), "there")
    assert keys_of(SMALL) == [cell_key(cell, VERSION) for cell in cells]


@loop_over(
    ("options", "message"),
    [
        (["--model", "XYZ"], "XYZ"),
        (["--user", "XYZ"], "XYZ"),
        (["--candidate", "XYZ"], "module:Class"),
        (["--candidate", "nowhere:XYZ"], "no module nowhere"),
        (["--candidate", "json:JSONDecoder"], "has no click model"),
        (["--jobs", "0"], "jobs must be"),
        (["--seeds", "-1"], "seeds must be"),
        (["--seeds", "0"], "seeds must be"),
        (["--world", "nowhere.txt"], "no such file"),
    ],
)
def test_bad_options_end_with_a_message_before_anything_is_written(
    options, message, tmp_path, capsys
):
    folder = tmp_path / "new"
    assert main([*OPTIONS, *options, "--out", str(folder)]) == 1
    assert message in capsys.readouterr().err
    assert not folder.exists()


def command(folder, *more):
    run = [sys.executable, "-m", "clickgym.scripts.papers.protocol", *OPTIONS[1:]]
    return [*run, "--out", str(folder), "--jobs", "2", *more]


def records(folder):
    """When and as what every recorded cell was written."""
    paths = (folder / "cells").glob("*.json")
    return {path.name: (path.stat().st_ino, path.stat().st_mtime_ns) for path in paths}


@pytest.mark.slow
def test_killed_three_times_it_ends_with_the_same_rows(undisturbed, tmp_path):
    folder, moments = tmp_path / "killed", random.Random(0)
    written = {}
    for _ in range(3):
        process = subprocess.Popen(
            command(folder), stdout=subprocess.DEVNULL, start_new_session=True
        )
        deadline = time.monotonic() + 60
        wanted = len(written) + moments.randint(1, 12)
        while len(records(folder)) < wanted and time.monotonic() < deadline:
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        now = records(folder)
        assert written.items() <= now.items()  # no recorded cell was computed again
        written = now
    assert not (folder / "rows.parquet").exists()
    subprocess.run(command(folder), check=True, capture_output=True, timeout=240)
    assert written.items() <= records(folder).items()
    assert saved(folder) == saved(undisturbed)


def test_two_commands_at_once_share_a_folder(undisturbed, tmp_path):
    folder = tmp_path / "shared"
    both = [
        subprocess.Popen(command(folder, "--jobs", "1"), stdout=subprocess.DEVNULL)
        for _ in range(2)
    ]
    assert [process.wait(timeout=240) for process in both] == [0, 0]
    assert saved(folder) == saved(undisturbed)
    assert not list((folder / "cells" / "claims").iterdir())
    for path in (folder / "cells").glob("*.json"):
        assert "result" in json.loads(path.read_text())


CANDIDATE = '''
import numpy as np
from clickgym import clickmodels

class Constant(clickmodels.ClickModel):
    """Every document is clicked as often as the average one."""

    capabilities = frozenset({"rank", "conditional", "generative"})

    def __init__(self, rate, queries, documents):
        self.rate, self._shape = float(rate), (int(queries), int(documents))

    @property
    def shape(self):
        return self._shape

    def state(self):
        return {"rate": self.rate, "queries": self._shape[0], "documents": self._shape[1]}

    def relevance(self):
        return np.full(self._shape, self.rate)

    def conditional_click_probs(self, query, ranking, clicks):
        return np.where(np.asarray(ranking) >= 0, self.rate, 0.0)

    @classmethod
    def fit(cls, log, world, seed=0):
        if FAIL:
            raise RuntimeError("not today")
        return cls(log.clicks.mean(), world.n_queries, world.n_docs)
'''


@pytest.fixture
def candidate(tmp_path, monkeypatch):
    """Write the model of someone else; whether its fit fails is said in a file beside it."""
    text = f"from pathlib import Path\nFAIL = Path({str(tmp_path / 'fail')!r}).exists()\n"
    (tmp_path / "their_model.py").write_text(text + CANDIDATE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_model_from_outside_the_package_goes_through(candidate):
    more = ["--candidate", "their_model:Constant", "--model", "dCTR"]
    subprocess.run(command("out", *more), check=True, capture_output=True, timeout=240)
    rows = [row for row in saved(candidate / "out") if row["model"] == "Constant"]
    assert len(rows) == 8
    assert all(row["max_reward_promised"] is not None for row in rows)
    assert all(row["source"] for row in rows)


def test_a_failing_cell_is_recorded_and_tried_again_when_asked(candidate):
    (candidate / "fail").touch()
    more = ["--candidate", "their_model:Constant", "--model", "dCTR", "--jobs", "1"]
    ran = subprocess.run(command("out", *more), capture_output=True, text=True, timeout=240)
    assert ran.returncode == 1
    assert "8 of 16 settings failed, the first with RuntimeError: not today" in ran.stderr
    assert {row["model"] for row in saved(candidate / "out")} == {"dCTR"}
    (candidate / "fail").unlink()
    before = records(candidate / "out")
    ran = subprocess.run(command("out", *more), capture_output=True, text=True, timeout=240)
    assert ran.returncode == 1
    assert records(candidate / "out") == before
    subprocess.run(
        command("out", *more, "--retry-failed"), check=True, capture_output=True, timeout=240
    )
    assert len(saved(candidate / "out")) == 16


def test_shipped_rows_are_those_of_the_same_settings(undisturbed):
    rows = studies.load_rows(undisturbed / "rows.parquet")
    assert shipped_rows(SMALL, undisturbed) == rows
    assert shipped_rows(replace(SMALL, impressions=3000), undisturbed) == []
    one = shipped_rows(replace(SMALL, users=("DBN",), seeds=1), undisturbed)
    assert {(row["user"], row["seed"]) for row in one} == {("DBN", 0)}


@pytest.fixture(scope="module")
def joined(undisturbed, tmp_path_factory):
    """The report of the docs' own model, with the undisturbed run as results that ship."""
    folder = tmp_path_factory.mktemp("joined")
    text = (Path(__file__).parents[2] / "docs" / "own_model.md").read_text()
    code = text.split("```python\n")[1].split("\nworld = ")[0]
    assert len(code.splitlines()) <= 40
    (folder / "one_and_done.py").write_text(code)
    options = [*OPTIONS[: OPTIONS.index("--model")], "--candidate", "one_and_done:OneAndDone"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(protocol, "shipped_rows", lambda study: shipped_rows(study, undisturbed))
        patch.setattr(registry, "_CLASSES", dict(registry._CLASSES))
        patch.chdir(folder)
        assert main([*options, "--shift", "--jobs", "1", "--out", "out"]) == 0
    return folder / "out"


def test_a_candidate_costs_only_its_own_cells(undisturbed, joined):
    known, rows = (studies.load_rows(path / "rows.parquet") for path in (undisturbed, joined))
    assert rows[: len(known)] == known
    own = [(row["user"], row["logging"], row["model"], row["seed"]) for row in rows[len(known) :]]
    other = {(row["user"], row["logging"], "OneAndDone", row["seed"]) for row in known}
    assert len(own) == len(other) == 8
    assert set(own) == other


def test_a_candidate_is_in_every_table(joined):
    page = (joined / "report.html").read_text()
    tables = re.findall(r'<table class="sortable">(.*?)</table>', page, re.DOTALL)[:-1]
    assert len(tables) == 1 + 2 + 2 * 2 * 2  # equation 16; tables 3 and 4; two of every log
    assert all("<td>OneAndDone</td>" in table for table in tables)


def test_a_candidate_is_in_every_figure(joined):
    pytest.importorskip("matplotlib")
    rows = studies.load_rows(joined / "rows.parquet")
    for outside in (True, False):
        charts = studies.spider(rows, outside)
        assert [panel.get_title() for panel in charts.axes] == ["PBM", "OneAndDone"]
    for panel in figure_2(rows).axes:
        assert [label.get_text() for label in panel.get_xticklabels()] == ["PBM", "OneAndDone"]


def test_the_preset_may_be_left_out():
    for given, preset in (({}, "quick"), ({"candidates": ("a:B",)}, "paper")):
        name, study = studies.Protocol.from_options("", given)
        known = studies.Protocol.presets()[preset]
        assert (name, study.impressions) == (preset, known.impressions)
        assert study.join == bool(given)


def test_strong_shift_is_a_preset(tmp_path):
    options = ["protocol", "strong-shift", "--queries", "20", "--impressions", "2000", "--seeds",
               "1", "--model", "PBM", "oracle", "--jobs", "1", "--out", str(tmp_path)]  # fmt: skip
    assert main(options) == 0
    rows = saved(tmp_path)
    assert len(rows) == 4
    for row in rows:
        assert row["perplexity_reversed"] >= 1
        assert row["best"] is None
    page = (tmp_path / "report.html").read_text()
    assert re.findall("<caption>(.*?):", page) == ["Table 3", "Table 4"]


def test_a_folder_that_cannot_be_written_is_named(tmp_path, capsys):
    (tmp_path / "file").touch()
    assert main([*OPTIONS, "--out", str(tmp_path / "file")]) == 1
    assert "file cannot be written" in capsys.readouterr().err
