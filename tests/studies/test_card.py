"""The studies behind the deployment card: the calibration against known answers, and their runs."""

from __future__ import annotations

import json

import numpy as np
import pytest

from clickgym import studies
from clickgym.evaluation.deployment.calibration import Calibrations, shipped_calibrations
from clickgym.evaluation.deployment.traits import CENTRE, SPREAD
from clickgym.scripts.card import main
from clickgym.studies.card.calibrating import calibrate
from clickgym.studies.card.card_design import CALIBRATION, TEST, draw_cells
from clickgym.studies.card.card_rows import RIVALS, traits_of
from clickgym.studies.card.card_tables import comparison_table, coverage_table, verdict_table


def draw_policies(rng, logs, each=10):
    """Return traits, lifts and logs of made-up policies whose errors grow with disagreement."""
    size = logs * each
    log = np.repeat(np.arange(logs), each)
    columns = {name: rng.random(size) for name in dict.fromkeys((*CENTRE, *SPREAD, "hardly"))}
    columns["promise"] = rng.normal(0.0, 0.3, size)
    scale = 0.02 + 0.2 * columns["disagreement"]
    lifts = columns["promise"] - 0.3 * columns["unsupported"] + scale * rng.standard_t(4, size)
    traits = [
        dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)
    ]
    return traits, lifts, log


@pytest.fixture(scope="module")
def made():
    traits, lifts, log = draw_policies(np.random.default_rng(0), 100)
    return calibrate(traits, lifts, log)


def test_calibration_finds_what_is_true(made):
    assert made.centre["promise"] == pytest.approx(1.0, abs=0.1)
    assert made.centre["unsupported"] == pytest.approx(-0.3, abs=0.06)
    assert max(made.spread, key=made.spread.__getitem__) == "disagreement"
    assert min(made.spread.values()) >= 0.0
    assert made.made["policies"] == 1_000


def test_calibration_covers_other_policies(made):
    traits, lifts, _ = draw_policies(np.random.default_rng(1), 200)
    found = [made.predict(one) for one in traits]
    low, high = (np.array([getattr(one, end) for one in found]) for end in ("low", "high"))
    assert ((low <= lifts) & (lifts <= high)).mean() == pytest.approx(0.9, abs=0.03)
    assert (lifts < low).mean() == pytest.approx(0.05, abs=0.025)
    wide = np.array([one["disagreement"] for one in traits]) > 0.5
    assert (high - low)[wide].mean() > 1.5 * (high - low)[~wide].mean()


def test_designs_share_neither_worlds_nor_users_parameters():
    world = studies.WorldSetting(n_queries=10, n_docs=6)
    calibration = draw_cells(CALIBRATION, 30, 4, world, 3)
    test = draw_cells(TEST, 30, 4, world, 3, rivals=True)
    assert not {cell.world.seed for cell in calibration} & {cell.world.seed for cell in test}
    assert not set(CALIBRATION.temperatures) & set(TEST.temperatures)
    assert {"CCM", "CM"} <= {cell.user for cell in test} - {cell.user for cell in calibration}
    assert draw_cells(CALIBRATION, 40, 4, world, 3)[:30] == calibration  # more logs keep the rest
    judged = [number for number, cell in enumerate(test) if cell.rivals]
    assert judged
    assert all(number % 2 == 0 and test[number].world.n_docs for number in judged)


@pytest.fixture(scope="module")
def tested(tmp_path_factory):
    study = studies.CardTest.small()
    return studies.compute_study(study, tmp_path_factory.mktemp("card-test")).rows


def test_rows_of_the_test(tested):
    assert len(tested) == 18
    for row in tested:
        assert row["low"] <= row["predicted"] <= row["high"] or row["low"] <= row["high"]
        prediction = shipped_calibrations().scores.predict(traits_of(row))
        assert row["predicted"] == pytest.approx(row["earned"] * (1.0 + prediction.centre))
        assert row["deployed"] <= row["best"] + 1e-9
        if row["promise"] is not None:
            assert all(row[f"{name} low"] <= row[f"{name} high"] for name in RIVALS)
    assert any(row["promise"] is not None for row in tested)
    without = traits_of(tested[0], scores=False)
    assert without["hardly"] == traits_of(tested[0])["hardly"]


def test_tables_count(tested):
    rows = coverage_table(tested).rows
    assert rows["all"][0].text == "18"
    inside = np.mean([row["low"] <= row["deployed"] <= row["high"] for row in tested])
    assert rows["all"][1].text == f"{inside:.1%}"
    verdicts = verdict_table(tested).rows
    assert sum(int(cells[0].text) for cells in verdicts.values()) == 18
    assert list(comparison_table(tested).rows)[:2] == ["deployment card", "promise of a UBM"]


def test_commands(tmp_path, capsys):
    small = ["--logs", "2", "--policies", "6", "--queries", "4", "--docs", "8", "--slots", "3",
             "--jobs", "1"]  # fmt: skip
    assert main(["calibrate", *small, "--out", str(tmp_path / "made")]) == 0
    made = Calibrations.load(tmp_path / "made" / "calibration.json")
    assert made.scores.made["policies"] == 12
    assert made.scores.made["command"] == "clickgym card calibrate --logs 2 --policies 6"
    assert "4 queries" in made.scores.made["world"]
    own = str(tmp_path / "made" / "calibration.json")
    given = [*small, "--out", str(tmp_path / "tested"), "--calibration", own]
    assert main(["test", *given]) == 0
    assert "deployment card" in capsys.readouterr().out
    settings = json.loads((tmp_path / "tested" / "settings.json").read_text())
    assert settings["calibration"] == own
    with pytest.raises(FileNotFoundError):
        main(["test", *small, "--calibration", str(tmp_path / "none.json")])


def test_shipped_calibration_says_how_it_was_made():
    made = shipped_calibrations().scores.made
    study = studies.CardCalibration()
    assert made["command"] == (
        f"clickgym card calibrate --logs {study.logs} --policies {study.policies}"
    )
    assert made["logs"] == study.logs
