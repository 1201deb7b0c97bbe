"""The study of cures: what its rows are, and what its ledger and tables make of them."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from clickgym import clickmodels, evaluation, policies, studies
from clickgym.studies.claims import FAILS, HOLDS, UNDECIDED
from clickgym.studies.cure.cure_ledger import cure_claims
from clickgym.studies.cure.cure_tables import card_line, losing_table, summary_table
from clickgym.studies.cure.cures import CURES
from clickgym.studies.worlds import SMALL_WORLD, logging_of, logs_of, shown_in, user_of, world_of

SLOTS, IMPRESSIONS = 3, 300


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    study = studies.CureStudy.small()
    return studies.compute_study(study, tmp_path_factory.mktemp("cure")).rows


def row_of(rows, cure, part="curing"):
    (row,) = [row for row in rows if row["cure"] == cure and row["part"] == part]
    return row


def test_each_cure_is_its_own_fit_and_search(rows):
    world, user = world_of(SMALL_WORLD), user_of("DBN", SMALL_WORLD, SLOTS)
    logging = logging_of("random", SMALL_WORLD, SLOTS)
    train, *_ = logs_of("DBN", "random", SMALL_WORLD, SLOTS, IMPRESSIONS, 0)
    for name, cure in CURES.items():
        own = {"logging": logging} if cure.prior == "score" else {}
        model = clickmodels.fit("PBM", train, world, prior=cure.prior, **own)
        allowed = shown_in(train, world) if cure.documents == "shown" else world
        policy = policies.max_reward(model, allowed, SLOTS, pessimism=cure.pessimism)
        row = row_of(rows, name)
        assert row["promised"] == pytest.approx(policy.found.promise, abs=1e-12)
        assert row["deployed"] == pytest.approx(evaluation.value(policy, user, world).value)
        assert row["gap"] == pytest.approx(row["promised"] - row["deployed"])
        assert row["lift"] == pytest.approx(row["deployed"] - row["logging_value"])


def test_without_pessimism_the_promise_is_the_models_own_value(rows):
    world = world_of(SMALL_WORLD)
    train, *_ = logs_of("DBN", "random", SMALL_WORLD, SLOTS, IMPRESSIONS, 0)
    model = clickmodels.fit("PBM", train, world)
    value = evaluation.value(policies.max_reward(model, world, SLOTS), model, world).value
    assert row_of(rows, "none")["promised"] == pytest.approx(value)
    assert row_of(rows, "plain, 0", "growing pessimism")["promised"] == pytest.approx(value)
    assert row_of(rows, "plain, 1", "growing pessimism")["promised"] < value


def test_policies_without_a_model_promise_nothing(rows):
    row = row_of(rows, "prpo", "policies without a click model")
    assert row["promised"] is row["gap"] is None
    assert row["random"] - 0.1 < row["deployed"] <= row["best"] + 1e-9


def test_seeds_draw_worlds():
    study = dataclasses.replace(studies.CureStudy.small(), seeds=2)
    stages = list(study.stages(None, {}))
    assert {cell.world.seed for cell in stages[0].cells} == {0, 1}


def test_parts_may_be_left_out():
    study = dataclasses.replace(studies.CureStudy.small(), parts=("cures", "safe"))
    cells = {stage.name: len(stage.cells) for stage in study.stages(None, {})}
    assert cells == {"curing": 1, "growing pessimism": 0, "policies without a click model": 1}


def test_settings_that_say_nothing_are_refused():
    for changed, text in (({"cures": ("score",)}, "cures must contain 'none'"),
                          ({"parts": ("safe",)}, "parts must contain 'cures'"),
                          ({"steps": (-1.0,)}, "steps must be from 0"),
                          ({"models": ("dCTR",)}, "must have an informed prior")):  # fmt: skip
        with pytest.raises(ValueError, match=text):
            dataclasses.replace(studies.CureStudy.small(), **changed).check()


def made_rows(gaps, lifts):
    """Return rows of five seeds by cure, with a little noise between seeds."""
    noise = 0.001 * np.random.default_rng(0).normal(size=5)
    return [
        {"user": "DBN", "logging": "BM25", "model": "PBM", "cure": cure, "seed": seed,
         "gap": gaps[cure] + noise[seed], "lift": lifts[cure] + noise[seed],
         "deployed": 1.0 + lifts[cure] + noise[seed], "promised": 1.0 + lifts[cure] + gaps[cure],
         "logging_value": 1.0, "best": 1.5, "never_shown": 0.1,
         "verdict": "test on a share" if cure == "none" else "deploy"}
        for cure in gaps
        for seed in range(5)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("gaps", "lifts", "verdicts"),
    [
        ((0.4, 0.1, 0.01), (-0.1, 0.1, 0.1), [HOLDS, HOLDS, HOLDS, HOLDS, HOLDS]),
        ((-0.4, 0.1, 0.3), (0.1, -0.1, -0.2), [FAILS, FAILS, FAILS, FAILS, FAILS]),
    ],
)
def test_the_ledger_says_what_the_rows_say(gaps, lifts, verdicts):
    names = ("none", "exposure", "exposure, careful")
    rows = made_rows(dict(zip(names, gaps, strict=True)), dict(zip(names, lifts, strict=True)))
    assert [claim.verdict for claim in cure_claims(rows)] == verdicts
    hidden = [{**row, "verdict": "do not deploy", "lift": -0.1} for row in rows]
    assert cure_claims(hidden)[-1].verdict == UNDECIDED
    one = [row for row in rows if row["seed"] == 0]
    assert {claim.verdict for claim in cure_claims(one)} == {UNDECIDED}


def test_the_summary_counts_settings():
    names = ("none", "exposure")
    rows = made_rows(dict.fromkeys(names, 0.2), {"none": -0.1, "exposure": 0.1})
    table = summary_table(rows)
    texts = {name: [cell.text for cell in cells] for name, cells in table.rows.items()}
    assert texts["none"][4:7] == ["0", "–", "–"]
    assert texts["exposure"][4:7] == ["1", "1", "+22.2%"]
    assert texts["none"][8:] == ["0%", "–"]
    assert texts["exposure"][8:] == ["100%", "0.0%"]


def test_intervals_that_cover_are_counted():
    rows = [{"low": low, "high": 2.0, "deployed": 1.0} for low in (0.5, 0.9, 1.5)]
    rows.append({"low": None, "high": None, "deployed": 1.0})
    assert "2 of 3 policies (66.7%)" in card_line(rows)
    assert "0 of 0 policies" in card_line(rows[3:])


def test_careful_policies_below_the_log_are_shown_with_what_cards_say():
    careful = "exposure, careful"
    rows = made_rows({"none": 0.2, careful: 0.0}, {"none": -0.2, careful: -0.1})
    rows += [{**row, "user": "CoCM", "lift": 0.1} for row in rows]
    (name, cells), *others = losing_table(rows).rows.items()
    assert not others
    assert name == f"DBN, BM25, PBM: {careful}"
    assert [cell.text for cell in cells][3:] == ["5", "0", "0"]


def test_cards_are_asked_before_deployment(rows):
    world, logging = world_of(SMALL_WORLD), logging_of("random", SMALL_WORLD, SLOTS)
    train, *_ = logs_of("DBN", "random", SMALL_WORLD, SLOTS, IMPRESSIONS, 0)
    model = clickmodels.fit("PBM", train, world, prior="exposure")
    policy = policies.max_reward(model, world, SLOTS, pessimism="auto")
    card = evaluation.deployment_card(policy, train, world, logging=logging)
    row = row_of(rows, "exposure, careful")
    assert row["verdict"] == card.verdict
    assert (row["low"], row["high"]) == pytest.approx((card.deployed.low, card.deployed.high))


def test_cures_of_the_plain_prior_alone_need_no_scores(tmp_path):
    study = dataclasses.replace(
        studies.CureStudy.small(), cures=("none", "one sd lower"), parts=("cures",)
    )
    rows = studies.compute_study(study, tmp_path).rows
    assert [row["cure"] for row in rows] == ["none", "one sd lower"]


def test_a_network_without_a_posterior_has_no_pessimism(tmp_path):
    study = dataclasses.replace(
        studies.CureStudy.small(), models=("NCM",), frontier=("NCM",),
        cures=("none", "one sd lower", "exposure, careful"),
    )  # fmt: skip
    rows = studies.compute_study(study, tmp_path).rows
    assert {row["cure"] for row in rows if row["part"] == "curing"} == {
        "none", "exposure, careful"
    }  # fmt: skip
    steps = {row["cure"] for row in rows if row["part"] == "growing pessimism"}
    assert steps == {"plain, 0", "exposure, 0", "exposure, 1"}
