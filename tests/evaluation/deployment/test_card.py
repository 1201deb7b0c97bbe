"""The deployment card: what it says, and of whom."""

from __future__ import annotations

import json

import numpy as np
import pytest

from clickgym import clickmodels, data, envs, evaluation, policies
from clickgym.evaluation.deployment.calibration import shipped_calibrations
from clickgym.evaluation.deployment.evidence import gather
from clickgym.evaluation.deployment.traits import find_traits
from clickgym.evaluation.deployment.verdict import VERDICTS

EVIL = "<script>alert('x')</script>"


@pytest.fixture(scope="module")
def setting():
    world = data.synthetic_world(n_queries=30, n_docs=15, seed=3)
    world = data.World(
        world.relevance, world.features, query_ids=[f"{EVIL}{n}" for n in range(30)]
    )
    user = clickmodels.true_user("DBN", world)
    logging = policies.logging_policy("BM25", world, slots=5)
    log = envs.collect(world, user, logging, 10_000, 0)
    return world, user, logging, log, evaluation.call_witnesses(log, world, logging)


@pytest.fixture(scope="module")
def card(setting):
    world, _, logging, log, witnesses = setting
    plain = clickmodels.fit("UBM", log, world)
    models = {EVIL: plain, "popular": clickmodels.fit("TopPop", log, world)}
    policy = policies.max_reward(plain, world, slots=5, restarts=0)
    return evaluation.deployment_card(
        policy, log, world, models, logging, witnesses=witnesses, name=f"{EVIL} & co"
    )


def make(setting, policy, **given):
    world, _, logging, log, witnesses = setting
    return evaluation.deployment_card(
        policy, log, world, None, logging, witnesses=witnesses, samples=0, **given
    )


def never_shown(setting):
    """Return a policy of documents that the log showed least."""
    world, _, _, log, _ = setting
    pairs = evaluation.count_pairs(log, world)
    times = np.zeros(world.candidates.shape)
    times[pairs.query, pairs.document] = pairs.total
    return policies.Ranker(-times, slots=5, world=world)


def test_everything_is_in_it(card, setting):
    log = setting[3]
    assert card.verdict in VERDICTS
    assert card.earned.value == pytest.approx(log.clicks.sum(axis=1).mean())
    names = [one.model for one in card.promises]
    assert names == [*setting[4].models, EVIL]
    assert "generative" in card.silent["popular"]
    assert [one.name for one in card.estimates] == ["wips", "wpi", "dr-pi"]
    assert all(one.trusted or one.doubt for one in card.estimates)
    assert card.signs.report("support").hardly == pytest.approx(card.traits["hardly"])
    assert card.unknown
    assert all(one.logged < 10 for one in card.unknown)


def test_promises_are_those_of_the_models(card, setting):
    world, _, _, _, witnesses = setting
    policy = policies.max_reward(witnesses.models["UBM score"], world, slots=5, pessimism="auto")
    found = {one.model: one for one in make(setting, policy).promises}
    for name, model in witnesses.models.items():
        assert found[name].promised == pytest.approx(evaluation.value(policy, model, world).value)
        lower = evaluation.value(policy, model.pessimistic(1.0), world).value
        assert found[name].cautious == pytest.approx(lower)
    assert found["UBM score"].pessimistic == pytest.approx(policy.found.promise, rel=1e-5)


def test_text_and_json_and_page_say_the_same(card, tmp_path):
    text = str(card)
    values = json.loads(card.to_json())
    assert card.verdict.upper() in text
    assert card.reason in text
    assert f"{values['deployed']['low']:.3f} to {values['deployed']['high']:.3f}" in text
    for heading in ("Promises", "Estimates by weights", "Documents to test first", "Warning"):
        assert heading in text
    assert values["verdict"] == card.verdict
    assert values["policy"].startswith(EVIL)
    assert values["traits"] == pytest.approx(card.traits)
    for ending in ("txt", "json"):
        card.save(tmp_path / f"card.{ending}")
    assert json.loads((tmp_path / "card.json").read_text()) == values
    with pytest.raises(ValueError, match=r"card.pdf: a card is saved as .json, .html, .txt"):
        card.save(tmp_path / "card.pdf")


def test_page_escapes_every_name(card, tmp_path):
    pytest.importorskip("matplotlib")
    card.save(tmp_path / "card.html")
    page = (tmp_path / "card.html").read_text()
    assert EVIL not in page
    assert page.count("&lt;script&gt;alert(") >= 4  # title, heading, model, queries
    assert "data:image/png;base64," in page
    for heading in ("Prediction", "Promises", "Warning signs", "How the interval is made"):
        assert f"<h2>{heading}</h2>" in page


def test_interval_is_computed_by_hand(card):
    calibration, traits = card.calibration, card.traits
    assert calibration == shipped_calibrations().scores
    inside = {
        name: float(np.clip(traits[name], *ends)) for name, ends in calibration.ranges.items()
    }
    middle = sum(factor * inside[name] for name, factor in calibration.centre.items())
    spread = calibration.spread["constant"] + sum(
        factor * inside[name]
        for name, factor in calibration.spread.items() if name != "constant"
    )  # fmt: skip
    group = next(one for one in calibration.groups if traits["hardly"] <= one.hardly)
    low, high = middle + group.low * spread, middle + group.high * spread
    earned = card.earned.value
    assert card.relative_lift.value == pytest.approx(middle)
    assert (card.relative_lift.low, card.relative_lift.high) == pytest.approx((low, high))
    assert card.deployed.low == pytest.approx(earned * (1.0 + low))
    assert card.lift.high == pytest.approx(earned * high)


def test_logging_policy_itself_has_no_lift(setting):
    lift = make(setting, setting[2]).relative_lift
    assert lift.low < 0.0 < lift.high
    assert abs(lift.value) < 0.02
    assert lift.high - lift.low < 0.2


def test_documents_that_were_never_shown_are_not_deployed(setting):
    found = make(setting, never_shown(setting))
    assert found.verdict != "deploy"
    assert found.traits["hardly"] > 0.5


def test_less_support_makes_wider_intervals(setting):
    world, _, logging, _, witnesses = setting
    spreads = []
    for share in (0.0, 0.3, 1.0):
        parts = [logging, policies.Uniform(world, 5)]
        policy = policies.Mixture(parts, [1.0 - share, share])
        traits = find_traits(gather(policy, witnesses).numbers)
        spreads.append(shipped_calibrations().scores.predict(traits).spread)
    assert spreads == sorted(spreads)
    assert spreads[2] > 1.5 * spreads[0]


def test_units_do_not_matter(setting):
    """A user who clicks half as often on everything is promised the same, but for noise."""
    world, logging = setting[0], policies.Uniform(setting[0], 5)
    policy = policies.Ranker(world.gain, slots=5, world=world)
    promises = []
    for scale in (0.9, 0.45):
        user = clickmodels.true_user("PBM", world, attractiveness_scale=scale)
        log = envs.collect(world, user, logging, 20_000, 0)
        numbers = gather(policy, evaluation.call_witnesses(log, world)).numbers
        promises.append(numbers["promise PBM exposure"])
    assert promises[0] == pytest.approx(promises[1], rel=0.1)
    assert promises[0] > 0.3


def test_unknown_logging_policy(setting):
    world, _, _, log, witnesses = setting
    policy = policies.max_reward(witnesses.models["UBM exposure"], world, slots=5, restarts=0)
    found = evaluation.deployment_card(policy, log, world)
    assert found.calibration == shipped_calibrations().exposure
    assert [one.model for one in found.promises] == [f"{kind} exposure" for kind in
                                                     ("PBM", "UBM", "DBN")]  # fmt: skip
    assert "not known who made the log" in found.estimates[1].doubt
    again = evaluation.deployment_card(policy, log, world)
    assert again.to_dict() == found.to_dict()


def test_models_given_do_not_change_the_interval(card, setting):
    world, _, _, log, _ = setting
    policy = policies.max_reward(clickmodels.fit("UBM", log, world), world, 5, restarts=0)
    assert make(setting, policy).deployed.low == card.deployed.low


def test_bad_input(setting):
    world, _, logging, log, witnesses = setting
    with pytest.raises(ValueError, match=r"policy must be a clickgym\.policies\.Policy"):
        evaluation.deployment_card("best", log, world)
    with pytest.raises(ValueError, match="policy shows 4 slots, the log has 5"):
        evaluation.deployment_card(policies.Uniform(world, 4), log, world)
    with pytest.raises(ValueError, match="witnesses are of another log"):
        evaluation.deployment_card(logging, log, world, witnesses=witnesses)
    silent = data.ClickLog(log.query, log.ranking, np.zeros_like(log.clicks))
    with pytest.raises(ValueError, match="the log has no clicks"):
        evaluation.deployment_card(logging, silent, world)
    with pytest.raises(TypeError):
        evaluation.deployment_card(logging, log, world, prior="plain")
    with pytest.raises(ValueError, match="seed"):
        evaluation.deployment_card(logging, log, world, seed=-1)


def test_picture(card, tmp_path):
    pytest.importorskip("matplotlib")
    figure = card.plot(str(tmp_path / "card.png"))
    labels = [tick.get_text() for tick in figure.axes[0].get_yticklabels()]
    assert labels[0] == "predicted (90%)"
    assert EVIL in labels
    assert (tmp_path / "card.png").stat().st_size > 1_000


def test_a_forecast_is_the_calibrations_word_on_the_evidence(setting):
    world, _, logging, log, witnesses = setting
    scores = clickmodels.fit("UBM", log, world).relevance()
    policy = policies.stochastic(scores, 0.3, slots=5, world=world)
    told = evaluation.forecast(policy, witnesses, seed=3)
    traits = find_traits(gather(policy, witnesses, 3).numbers)
    found = shipped_calibrations().scores.predict(traits)
    assert told.traits == traits
    ends = (told.relative_lift.value, told.relative_lift.low, told.relative_lift.high)
    assert ends == pytest.approx((found.centre, found.low, found.high))
    assert told.deployed.low == pytest.approx((1.0 + found.low) * witnesses.earned.value)
    card = evaluation.deployment_card(policy, log, world, None, logging, 3, witnesses=witnesses)
    assert (card.verdict, card.deployed) == (told.verdict, told.deployed)


def test_a_forecast_refuses_policies_of_another_world(setting):
    *_, witnesses = setting
    other = policies.Uniform(data.synthetic_world(n_queries=30, n_docs=15, seed=4), slots=5)
    with pytest.raises(ValueError, match="another world"):
        evaluation.forecast(other, witnesses)
