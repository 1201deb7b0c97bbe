"""The switches of the released code, and what the runs with and without them say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from clickgym import clickmodels, data, envs, policies, studies
from clickgym.studies.engine.artefacts import LogCell
from clickgym.studies.released.differences import (
    NOT_DETERMINED,
    WORLDS,
    Compared,
    find_differences,
)
from clickgym.studies.released.published import (
    METRICS,
    OWN_CLICK,
    PAPER,
    RELEASED_CODE,
    SAME_LOGS,
    SMOOTHED,
)
from clickgym.studies.released.released_report import (
    ALL,
    LOGS,
    TEXT,
    compared_models,
    lead_of,
    values_of,
)
from clickgym.studies.robustness.released import (
    CAUSAL,
    FLOOR,
    SAMPLED,
    SIGMA,
    UNSMOOTHED,
    max_reward,
    read_outside,
    user_parameters,
)

WORLD = data.synthetic_world(n_queries=20, n_docs=6, n_features=1)


@pytest.fixture(scope="module")
def log():
    user, show = clickmodels.true_user("DBN", WORLD, slots=4), policies.Uniform(WORLD, 4)
    return envs.collect(WORLD, user, show, 500, seed=0)


def test_switches_change_the_users_who_have_what_they_change():
    both = (FLOOR, SIGMA)
    assert dict(user_parameters("DBN", both, False)) == {"floor": 0.02, "satisfaction_scale": 0.5}
    assert dict(user_parameters("DBN", both, True)) == {"floor": 0.02}
    assert dict(user_parameters("CoCM", both, False)) == {"floor": 0.02}
    assert user_parameters("DBN", (UNSMOOTHED, CAUSAL, SAMPLED), False) == ()


def test_users_of_a_log_have_the_switches():
    changes = {"user_parameters": (("floor", 0.02),), "test_parameters": (("floor", 0.1),)}
    cell = LogCell("DBN", "oracle", 0, "", studies.WorldSetting.from_world(WORLD), **changes)
    least = [cell.true_user(testing).attractiveness.min() for testing in (False, True)]
    assert least == [0.02, 0.1]


def test_dctr_without_smoothing_has_the_rates_of_the_counts(log):
    model = clickmodels.fit("dCTR", log, WORLD)
    bare = read_outside(model, (UNSMOOTHED,), 4)
    shown = model.impressions > 0
    rates = model.clicks[shown] / model.impressions[shown]
    np.testing.assert_allclose(bare.relevance()[shown], np.clip(rates, 1e-6, 1 - 1e-6))
    probs = bare.conditional_click_probs(log.query, log.ranking, log.clicks)
    assert 0 < probs.min() < probs.max() < 1


def test_arm_nc_read_as_causal_weighs_the_click_one_rank_above(log):
    model = clickmodels.fit("ARM-NC", log, WORLD)
    causal = read_outside(model, (CAUSAL,), 4)
    clicks = log.clicks.astype(float)
    logits = model.weights[0] + np.cumsum(clicks * model.weights[2:][[0, 1, 2, 2]], axis=1)
    before = np.column_stack([np.full(len(clicks), model.weights[0]), logits[:, :3]])
    pairs = model.attractiveness[log.query[:, None], log.ranking]
    got = causal.conditional_click_probs(log.query, log.ranking, log.clicks)
    np.testing.assert_allclose(got, pairs / (1 + np.exp(-before)))


def test_models_without_a_switch_of_their_own_are_read_as_they_are(log):
    model = clickmodels.fit("PBM", log, WORLD)
    assert read_outside(model, (FLOOR, SIGMA, UNSMOOTHED, CAUSAL, SAMPLED), 4) is model


def test_sampled_max_reward_is_top_down_for_pbm_and_dbn_and_samples_for_others(log):
    for name, method in (("PBM", None), ("UBM", "paper")):
        model = clickmodels.fit(name, log, WORLD)
        found = max_reward(model, WORLD, 4, 0, (SAMPLED,))
        assert (found.found and found.found.method) == method
        if found.found is None:
            top_down = policies.top_down(model, WORLD, 4)
            np.testing.assert_array_equal(found.rankings, top_down.rankings)
        else:
            assert found.found.scored == (4_032 + 1) * WORLD.n_queries  # and where it starts
        usual = max_reward(model, WORLD, 4, 0, ())
        np.testing.assert_array_equal(usual.rankings, policies.max_reward(model, WORLD, 4).rankings)


def test_differences_have_the_reason_that_the_runs_show():
    ours = np.array([1.30, 1.32, 1.34])
    numbers = {
        ("oracle", "ood PPL"): Compared(1.20, ours), ("near", "ood PPL"): Compared(1.325, ours),
        ("as far", "ood PPL"): Compared(1.25, ours + 0.05),
        ("same log", "ood PPL"): Compared(1.339, ours, 1.341),
        ("far", "ood PPL"): Compared(1.335, ours, 1.5), ("order", "nDCG@3"): Compared(0.9, ours),
        ("none", "ood PPL"): Compared(None, ours), ("no runs", "nDCG@3"): Compared(1.2, ours[:0]),
    }  # fmt: skip
    reasons = {one.model: one.reason for one in find_differences(numbers)}
    assert reasons == {
        "oracle": NOT_DETERMINED,
        "as far": f"{WORLDS}: the code's is 0.050 above its oracle, ours 0.050",
        "same log": f"{WORLDS}: on the code's own log clickgym's tables give 1.341",
        "far": f"{NOT_DETERMINED}; the code's is 0.135 above its oracle, ours 0.000; on the code's "
        "own log clickgym's tables give 1.500; the code's lies within the range of our worlds",
        "order": NOT_DETERMINED,
    }  # fmt: skip


def test_every_published_row_is_one_of_the_tables():
    for published in (PAPER, RELEASED_CODE, SAME_LOGS):
        for rows in published.values():
            assert rows.keys() <= {"oracle", *studies.SHIFT_MODELS, SMOOTHED, OWN_CLICK}
            assert {len(numbers) for numbers in rows.values()} == {len(METRICS)}


def row(variant, model, seed, value):
    return {"variant": variant, "user": "DBN", "model": model, "seed": seed,
            "perplexity_reversed": value}  # fmt: skip


def test_a_lead_is_over_the_worst_rival_of_each_world():
    rows = [
        row(TEXT, model, seed, value)
        for model, values in {
            "dCTR": (1.5, 1.2), "PBM": (1.3, 1.1), "UBM": (1.2, 1.4), "DBN": (1.1, 1.1),
        }.items()
        for seed, value in enumerate(values)
    ] + [row(TEXT, "PBM", 2, 1.1)]  # fmt: skip
    np.testing.assert_allclose(lead_of(rows, TEXT, "DBN", "dCTR"), [0.2, -0.2])
    assert not len(lead_of(rows, ALL, "DBN", "dCTR"))


def test_a_model_without_its_switch_is_taken_from_the_runs_without_it():
    rows = [row(LOGS, "dCTR", 0, 1.4), row(ALL, "dCTR", 0, 1.5)]
    field = "perplexity_reversed"
    assert values_of(rows, ALL, "DBN", SMOOTHED, field) == [1.4]
    assert values_of(rows, ALL, "DBN", "dCTR", field) == [1.5]
    assert compared_models(rows, "DBN") == ["dCTR", SMOOTHED]


def test_variants_share_logs_and_fits_that_are_the_same(tmp_path):
    study = replace(
        studies.Released.small(), models=("PBM", "dCTR", "ARM-NC"), seeds=1, users=("DBN", "CoCM")
    )
    rows = studies.compute_study(study, tmp_path).rows
    assert len(rows) == 9 * 2 * 4  # variants, users, models and the oracle
    fits = {tuple(row[name] for name in ("user", "variant")) for row in rows}
    assert len(fits) == 18
    # Of DBN four logs of its own, of all grades one, tables; of CoCM three, as sigma is not its.
    assert len(list((tmp_path / "models").glob("*.safetensors"))) == (6 + 4) * 3
