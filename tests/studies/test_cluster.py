"""Studies on a real Dask cluster: a scheduler and two worker processes on loopback."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import pytest
from small_studies import SMALL

from clickgym import studies
from clickgym.scripts import main
from clickgym.studies.engine import workers

pytest.importorskip("distributed", reason="needs pip install 'clickgym[cluster]'")

OPTIONS = [
    "protocol", "quick", "--queries", "20", "--docs", "12", "--impressions", "2000", "--slots",
    "5", "--test-pages", "500", "--user", "DBN", "CoCM", "--logging", "epsilon-oracle", "BM25",
    "--model", "PBM", "UBM", "DBN", "dCTR", "oracle", "--seeds", "2",
]  # fmt: skip


TESTS = Path(__file__).parents[1]  # workers import a study from there
ENVIRONMENT = {**os.environ, "PYTHONPATH": f"{TESTS}:{os.environ.get('PYTHONPATH', '')}"}


class Cluster:
    """A scheduler and its workers, each a process."""

    def __init__(self, folder):
        self.folder = folder
        self.file = folder / "scheduler.json"
        self.scheduler = self._start("scheduler", "--host", "127.0.0.1", "--port", "0")
        deadline = time.monotonic() + 60
        while not self.file.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        self.address = json.loads(self.file.read_text())["address"]
        self.workers = [
            self._start("worker", "--nthreads", "1", "--no-nanny", "--host", "127.0.0.1")
            for _ in range(2)
        ]

    def _start(self, kind, *options):
        command = [
            sys.executable, "-m", f"distributed.cli.dask_{kind}", "--scheduler-file",
            str(self.file), "--no-dashboard", *options,
        ]  # fmt: skip
        with (self.folder / "cluster.log").open("a") as log:
            return subprocess.Popen(
                command, cwd=self.folder, stdout=log, stderr=log, env=ENVIRONMENT
            )

    def stop(self):
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait()


@pytest.fixture
def cluster(tmp_path):
    made = Cluster(tmp_path)
    yield made
    made.stop()


def saved(folder):
    rows = studies.load_rows(folder / "rows.parquet")
    times = ("fit_seconds", "evaluation_seconds", "policy_seconds")
    return [{name: row[name] for name in row if name not in times} for row in rows]


def test_a_cluster_gives_the_rows_of_this_machine_and_loses_nothing(cluster, tmp_path):
    here, there = tmp_path / "here", tmp_path / "there"
    assert main([*OPTIONS, "--jobs", "1", "--out", str(here)]) == 0
    command = [sys.executable, "-m", "clickgym.scripts.papers.protocol", *OPTIONS[1:]]
    running = subprocess.Popen([*command, "--scheduler", cluster.address, "--out", str(there)])
    deadline = time.monotonic() + 120
    while len(list(there.glob("cells/*.json"))) < 12 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert running.poll() is None  # in the middle
    cluster.workers[0].send_signal(signal.SIGKILL)
    assert running.wait(timeout=240) == 0
    assert saved(there) == saved(here)
    assert not list(there.glob("cells/*.error.json"))


def without_times(rows):
    return [{key: row[key] for key in row if not key.endswith("seconds")} for row in rows]


@pytest.mark.slow
def test_every_study_runs_on_a_cluster(cluster, tmp_path):
    for name in SMALL:
        if name == "learning" and not find_spec("lightgbm"):
            continue
        here = studies.compute_study(SMALL[name], tmp_path / f"{name}-here")
        place = tmp_path / f"{name}-there"
        there = studies.compute_study(SMALL[name], place, scheduler=cluster.address)
        assert there.computed == here.computed, name
        assert without_times(there.rows) == without_times(here.rows), name


def test_a_scheduler_that_is_not_there_is_named(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(workers, "_CONNECT", 1)
    options = ["--scheduler", "tcp://127.0.0.1:9", "--out", str(tmp_path / "new")]
    assert main([*OPTIONS, *options]) == 1
    assert "127.0.0.1:9" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()
