"""Calibrations: their files, and what they predict."""

from __future__ import annotations

import json

import numpy as np
import pytest

from clickgym.evaluation.deployment.calibration import (
    SHIPPED,
    Calibration,
    Calibrations,
    Group,
    shipped_calibrations,
)
from clickgym.evaluation.deployment.traits import CENTRE, SPREAD, find_traits
from clickgym.evaluation.deployment.witnesses import KINDS

SMALL = Calibration(
    {"promise": 0.5}, {"constant": 0.1, "moved": 0.2},
    (Group(0.1, -1.0, 2.0, 50), Group(1.0, -3.0, 3.0, 50)),
    {"promise": (-0.5, 0.5), "moved": (0.0, 1.0)},
)  # fmt: skip


def test_prediction_by_hand():
    found = SMALL.predict({"promise": 0.4, "moved": 0.5, "hardly": 0.1})
    assert (found.centre, found.spread) == pytest.approx((0.2, 0.2))
    assert (found.low, found.high) == pytest.approx((0.0, 0.6))
    assert found.strange == ()
    other = SMALL.predict({"promise": 0.4, "moved": 0.5, "hardly": 0.11})
    assert (other.low, other.high) == pytest.approx((-0.4, 0.8))


def test_strange_traits_are_cut_and_named():
    found = SMALL.predict({"promise": 5.0, "moved": 0.5, "hardly": 0.0})
    assert found.strange == ("promise",)
    assert found.centre == pytest.approx(0.25)
    assert SMALL.predict({"promise": -5.0, "moved": 0.5, "hardly": 0.0}).strange == ("promise",)
    assert SMALL.predict({"promise": 0.0, "moved": 1.2, "hardly": 0.0}).strange == ("moved",)


def test_small_traits_that_only_widen_are_not_strange():
    found = SMALL.predict({"promise": 0.0, "moved": -0.5, "hardly": 0.0})
    assert found.strange == ()
    assert found.spread == pytest.approx(0.1)


def test_lift_is_no_less_than_everything():
    found = SMALL.predict({"promise": -0.5, "moved": 1.0, "hardly": 1.0})
    assert found.low == -1.0


def test_file_round_trip(tmp_path):
    both = Calibrations(SMALL, SMALL)
    (tmp_path / "own.json").write_text(both.to_json())
    assert Calibrations.load(tmp_path / "own.json") == both


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"scores": 1, "exposure": 2}'])
def test_other_files_are_refused(tmp_path, text):
    (tmp_path / "own.json").write_text(text)
    with pytest.raises(ValueError, match=r"own.json: is not a calibration of cards"):
        Calibrations.load(tmp_path / "own.json")


def test_shipped_calibrations_are_complete():
    for one in (shipped_calibrations().scores, shipped_calibrations().exposure):
        assert set(one.centre) == set(CENTRE)
        assert set(one.spread) == {"constant", *SPREAD}
        assert min(one.spread.values()) >= 0.0
        assert set(one.ranges) >= {*CENTRE, *SPREAD}
        assert all(group.low < group.high for group in one.groups)
        assert one.groups[-1].hardly == 1.0
        assert "clickgym card calibrate" in one.made["command"]
    assert len(json.loads(SHIPPED.read_text())) == 2
    assert SHIPPED.stat().st_size < 20_000


def test_traits_by_hand():
    numbers = {"hardly": 0.1, "moved": 0.2, "noise": 0.3, "scarcity": 0.4}
    gains = dict(zip(KINDS, (0.1, 0.2, 0.6), strict=True))
    for kind in KINDS:
        numbers |= {
            f"promise {kind} exposure": gains[kind], f"cautious {kind} exposure": 0.0,
            f"unsupported {kind} exposure": gains[kind] / 2.0,
            f"unlikely {kind} exposure": 0.0 if kind == "UBM" else 10.0,
        }  # fmt: skip
    found = find_traits(numbers)
    assert found["promise"] == pytest.approx(0.2)  # the others are much too unlikely
    assert found["unsupported"] == pytest.approx(0.1)
    assert found["caution"] == pytest.approx(0.2)
    assert found["disagreement"] == pytest.approx(np.std([0.1, 0.2, 0.6]))
    assert {name: found[name] for name in ("hardly", "moved", "noise", "scarcity")} == {
        "hardly": 0.1, "moved": 0.2, "noise": 0.3, "scarcity": 0.4,
    }  # fmt: skip
