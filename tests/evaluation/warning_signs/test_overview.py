"""All signs at once: which speak, which are silent, which cannot be known."""

from __future__ import annotations

import json

import numpy as np
import pytest

from clickgym import clickmodels, data, envs, evaluation, policies

SIGNS = ["support", "concentration", "identifiability", "effective sample size",
         "members' disagreement"]  # fmt: skip


@pytest.fixture(scope="module")
def setting():
    world = data.synthetic_world(n_queries=40, n_docs=15, n_features=2, seed=0)
    user = clickmodels.true_user("DBN", world)
    logging = policies.logging_policy("epsilon-oracle", world, slots=5)
    log = envs.collect(world, user, logging, 20_000, 0)
    models = {name: clickmodels.fit(name, log, world) for name in ("UBM", "PBM")}
    return world, log, models, logging


def test_every_sign_has_its_place(setting):
    world, log, models, logging = setting
    policy = policies.max_reward(models["UBM"], world, slots=5)
    found = evaluation.warn(policy, log, world, models, logging)
    assert [sign.name for sign in found] == [
        *SIGNS, "calibration by rank of UBM", "CMIP of UBM", "calibration by rank of PBM",
        "CMIP of PBM",
    ]  # fmt: skip
    assert not found.not_run
    assert len(found.speaking) + len(found.silent) == len(found)
    assert found.report("support").hardly == evaluation.support(policy, log, world).hardly
    assert {sign.name for sign in found.speaking} >= {"support", "calibration by rank of PBM"}
    json.dumps(found.to_dict(), allow_nan=False)
    assert str(found).count("\n") == len(found) - 1


def test_the_logging_policy_itself_is_no_cause_for_alarm(setting):
    world, log, models, logging = setting
    found = evaluation.warn(logging, log, world, models["UBM"], logging)
    speaking = {sign.name for sign in found.speaking}
    assert not speaking & {"support", "concentration", "effective sample size"}


def test_signs_that_cannot_be_known_say_why(setting):
    world, log, models, _ = setting
    policy = policies.top_down(models["UBM"], world, slots=5)
    bare = evaluation.warn(policy, log, world)
    assert {sign.name: sign.not_run for sign in bare.not_run} == {
        "members' disagreement": "no models were given",
        "calibration by rank": "no models were given",
        "CMIP": "no models were given",
    }
    one = evaluation.warn(policy, log, world, models["UBM"])
    assert "two or more" in one[4].not_run
    assert one[-1].not_run == "it is not known who made the log"
    assert "not known (it is not known who made the log)" in str(one)


def test_a_world_without_grades_has_no_cmip(setting):
    world, log, _, _ = setting
    bare = data.World(np.full(world.relevance.shape, -1), candidates=world.candidates)
    log = data.ClickLog(log.query, log.ranking, log.clicks)
    logging = policies.Uniform(bare, slots=5)
    model = clickmodels.fit("UBM", log, bare)
    found = evaluation.warn(logging, log, bare, model, logging)
    assert "this world has none" in found[-1].not_run
    assert found.report("CMIP of UBM") is None


def test_an_ensemble_is_compared_by_members_and_judged_as_one(setting):
    world, log, _, logging = setting
    ensemble = clickmodels.fit("UBM", log, world, members=3)
    policy = policies.top_down(ensemble, world, slots=5)
    found = evaluation.warn(policy, log, world, ensemble, logging)
    assert [sign.name for sign in found[5:]] == ["calibration by rank of UBM × 3",
                                                 "CMIP of UBM × 3"]  # fmt: skip
    assert found.report("members' disagreement").models == ("UBM 1", "UBM 2", "UBM 3")


def test_frames_have_a_row_for_each_sign(setting):
    pytest.importorskip("pandas")
    world, log, _, _ = setting
    policy = policies.Uniform(world, slots=5)
    found = evaluation.warn(policy, log, world)
    assert found.to_frame()["sign"].tolist() == [sign.name for sign in found]
    frame = found[0].report.to_frame()
    assert frame.set_index("what")["value"]["hardly"] == found[0].report.hardly


def test_bad_input_is_an_error_and_not_a_sign(setting):
    world, log, _, _ = setting
    policy = policies.Uniform(world, slots=4)
    with pytest.raises(ValueError, match="policy shows 4 slots, the log has 5"):
        evaluation.warn(policy, log, world)
    with pytest.raises(KeyError, match="no sign 'supports'"):
        evaluation.warn(policies.Uniform(world, slots=5), log, world).report("supports")
