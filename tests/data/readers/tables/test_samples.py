"""The real samples through read_log: their README's counts, and Open Bandit's known estimates."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import numpy as np
import pytest

from clickgym import evaluation, policies
from clickgym.data import read_log, read_pyclick, read_sessions


def sample(name):
    folder = os.environ.get("CLICKGYM_DATA")
    if not folder or not (Path(folder) / name).exists():
        pytest.skip("CLICKGYM_DATA names no folder with the samples")
    return Path(folder) / name


@pytest.mark.filterwarnings("ignore:.*does not show:UserWarning")
def test_the_yandex_sample():
    path = sample("yandex/sample.txt")
    found = read_log(path, format="pyclick")
    world, log = found
    assert (found.report.pages, found.report.queries, found.report.pairs) == (35_064, 20, 1024)
    assert found.report.oddities == {"clicks_not_shown": 417}
    assert round(100 * (~log.clicks.any(axis=1)).mean()) == 34
    assert np.bincount(log.query).max() == 20_102
    before = read_pyclick(path)
    assert world.fingerprint == before[0].fingerprint
    np.testing.assert_array_equal(log.ranking, before[1].ranking)
    np.testing.assert_array_equal(log.clicks, before[1].clicks)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_session_sample():
    folder = sample("trec_session")
    counts = {"train": 2872, "valid": 361, "test": 363}
    for part, count in counts.items():
        path = folder / f"{part}_per_query_quid.txt"
        world, log = read_log(path, format="sessions", labels=folder / "labels.txt")
        assert len(log) == count
        before = read_sessions(path, folder / "labels.txt")
        assert world.fingerprint == before[0].fingerprint
        np.testing.assert_array_equal(log.clicks, before[1].clicks)
        if part == "train":
            assert round(100 * (~log.clicks.any(axis=1)).mean()) == 72


@pytest.fixture(scope="module")
def open_bandit(tmp_path_factory):
    """The folder of the small Open Bandit Dataset, of a folder or of the wheel of obp 0.4.1."""
    given = os.environ.get("CLICKGYM_OPEN_BANDIT")
    if not given:
        pytest.skip("CLICKGYM_OPEN_BANDIT names neither the wheel of obp 0.4.1 nor its csv files")
    path = Path(given)
    if path.is_file():
        folder = tmp_path_factory.mktemp("obp")
        with zipfile.ZipFile(path) as wheel:
            wheel.extractall(folder, [n for n in wheel.namelist() if "dataset/obd/" in n])
        path = folder
    return next(file for file in path.rglob("bts/women/women.csv")).parents[2]


# FACTS of the data: estimates of the random policy from the log of "bts", by importance sampling.
KNOWN = {
    "all": {"value": "0.0024", "stderr": "0.0009", "clicks": "0.0038"},
    "men": {"value": "0.0030", "clicks": "0.0046"},
    "women": {"effective_sample_size": 2.1, "largest_weight": 21_739},
}


@pytest.mark.filterwarnings("ignore:.*tiny propensity:UserWarning")
@pytest.mark.parametrize("campaign", KNOWN)
def test_open_bandit_gives_its_known_estimates(campaign, open_bandit):
    world, log = read_log(open_bandit / "bts" / campaign / f"{campaign}.csv", format="open-bandit")
    assert len(log) == 10_000
    assert world.candidates.all()  # every item of the campaign at each of three positions
    rewards = log.clicks.sum(axis=1)
    random = policies.Uniform(world, slots=1)
    estimate = evaluation.estimate("ips", log, rewards, None, random, world)
    known = KNOWN[campaign]
    if campaign == "women":
        assert round(estimate.effective_sample_size, 1) == known["effective_sample_size"]
        assert round(estimate.largest_weight) == known["largest_weight"]
        return
    assert f"{float(estimate):.4f}" == known["value"]
    if "stderr" in known:
        assert f"{estimate.stderr:.4f}" == known["stderr"]
    _, truth = read_log(open_bandit / "random" / campaign / f"{campaign}.csv", format="open-bandit")
    assert f"{truth.clicks.mean():.4f}" == known["clicks"]
