"""Every probability of the structural models against enumeration written from the papers.

The reference below follows the equations one page and one click vector at a time, in plain
Python, and shares nothing with the package.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from conftest import SLOTS, random_models

CLICK_VECTORS = list(itertools.product([0, 1], repeat=SLOTS))
EXTREME = [0.0, 1.0, 0.5]


def pbm_joint(model, query, docs, clicks):
    joint = 1.0
    for rank, document in enumerate(docs):
        prob = model.attractiveness[query, document] * model.examination[rank]
        joint *= prob if clicks[rank] else 1 - prob
    return joint


def ubm_joint(model, query, docs, clicks):
    joint, latest = 1.0, 0
    for rank, document in enumerate(docs):
        prob = model.attractiveness[query, document] * model.examination[rank, latest]
        joint *= prob if clicks[rank] else 1 - prob
        latest = rank + 1 if clicks[rank] else latest
    return joint


def dbn_joint(model, query, docs, clicks):
    """Sum over every assignment of the hidden examination and satisfaction variables."""
    total = 0.0
    for hidden in itertools.product([(0, 0), (1, 0), (1, 1)], repeat=len(docs)):
        weight, examined, satisfied = 1.0, 1, 0
        for rank, document in enumerate(docs):
            goes_on = model.continuation if examined and not satisfied else 0.0
            reach = 1.0 if rank == 0 else goes_on
            examined, satisfied = hidden[rank]
            weight *= reach if examined else 1 - reach
            prob = model.attractiveness[query, document] * examined
            weight *= prob if clicks[rank] else 1 - prob
            stop = model.satisfaction[query, document] * clicks[rank]
            weight *= stop if satisfied else 1 - stop
        total += weight
    return total


def sdbn_joint(model, query, docs, clicks):
    """A user who is satisfied at one of the clicks, or reads to the page's end."""
    total, unsatisfied = 0.0, 1.0
    values = [model.attractiveness[query, document] for document in docs]
    for rank, document in enumerate(docs):
        unsatisfied *= values[rank] if clicks[rank] else 1 - values[rank]
        if clicks[rank]:
            if not any(clicks[rank + 1 :]):
                total += unsatisfied * model.satisfaction[query, document]
            unsatisfied *= 1 - model.satisfaction[query, document]
    return total + unsatisfied


def cm_joint(model, query, docs, clicks):
    if sum(clicks) > 1:
        return 0.0
    joint = 1.0
    for rank, document in enumerate(docs):
        if clicks[rank]:
            return joint * model.attractiveness[query, document]
        joint *= 1 - model.attractiveness[query, document]
    return joint


def by_last_examined(model, query, docs, clicks, after_skip, after_click):
    """Sum over the rank at which reading ends; ``after_click`` is by rank."""
    total = 0.0
    for end in range(len(docs)):
        if any(clicks[end + 1 :]):
            continue
        weight = 1.0
        for rank in range(end + 1):
            value = model.attractiveness[query, docs[rank]]
            weight *= value if clicks[rank] else 1 - value
            on = after_click[rank] if clicks[rank] else after_skip
            if rank < end:
                weight *= on
            elif rank < len(docs) - 1:
                weight *= 1 - on
        total += weight
    return total


def dcm_joint(model, query, docs, clicks):
    return by_last_examined(model, query, docs, clicks, 1.0, model.continuation)


def ccm_joint(model, query, docs, clicks):
    skip, irrelevant, relevant = model.continuation
    values = [model.attractiveness[query, document] for document in docs]
    after_click = [irrelevant * (1 - value) + relevant * value for value in values]
    return by_last_examined(model, query, docs, clicks, skip, after_click)


def one_direction(model, values, clicks):
    joint, examined = 1.0, 1.0
    for rank, value in enumerate(values):
        following = values[rank + 1] if rank + 1 < len(values) else 0.0
        previous = clicks[rank - 1] if rank else 0
        if rank:
            examined *= model.continuation * ((1 - model.satisfaction) if previous else 1.0)
        prob = 0.0 if previous else value * (1 - following / 2) * examined
        joint *= prob if clicks[rank] else 1 - prob
    return joint


def cocm_joint(model, query, docs, clicks):
    values = [model.attractiveness[query, document] for document in docs]
    clicks = clicks[: len(docs)]
    blind = 1.0
    for rank in range(len(docs)):
        epsilon = 0.2 * 0.9**rank if model.no_look is None else model.no_look[rank]
        blind *= epsilon if clicks[rank] else 1 - epsilon
    down = one_direction(model, values, clicks)
    up = one_direction(model, values[::-1], clicks[::-1])
    return model.modes[0] * down + model.modes[1] * up + model.modes[2] * blind


JOINTS = {
    "PBM": pbm_joint, "UBM": ubm_joint, "DBN": dbn_joint, "SDBN": sdbn_joint, "CM": cm_joint,
    "DCM": dcm_joint, "CCM": ccm_joint, "CoCM": cocm_joint,
}  # fmt: skip


def joint_table(name, model, query, ranking):
    """P(clicks) for all 32 click vectors; a click on an empty slot has probability 0."""
    docs = [document for document in ranking if document >= 0]
    table = {}
    for clicks in CLICK_VECTORS:
        on_page = not any(clicks[len(docs) :])
        table[clicks] = JOINTS[name](model, query, docs, clicks) if on_page else 0.0
    return table


def pages():
    rng = np.random.default_rng(3)
    rankings = [rng.permutation(7)[:SLOTS].tolist() for _ in range(4)]
    rankings += [[*rng.permutation(7)[:length], *[-1] * (SLOTS - length)] for length in (1, 3, 4)]
    return [(index % 6, ranking) for index, ranking in enumerate(rankings)]


@pytest.fixture(params=["random", "extreme"])
def models(request):
    models = {name: random_models(seed=11)[name] for name in JOINTS}
    if request.param == "extreme":  # probabilities of exactly 0 and 1, so impossible prefixes
        rng = np.random.default_rng(5)
        for model in models.values():
            state = model.state()
            for key, value in state.items():
                if isinstance(value, np.ndarray):
                    state[key] = rng.choice(EXTREME, size=value.shape)
            models[model.name] = type(model)(**state)
    return models


@pytest.mark.parametrize("name", JOINTS)
def test_log_likelihood_is_the_joint_of_all_click_vectors(models, name):
    for query, ranking in pages():
        table = joint_table(name, models[name], query, ranking)
        got = models[name].log_likelihood(
            [query] * len(table), [ranking] * len(table), list(table)
        )
        np.testing.assert_allclose(np.exp(got), list(table.values()), atol=1e-12)
        expected = np.array(list(table.values()))
        likely = expected > 1e-300
        np.testing.assert_allclose(got[likely], np.log(expected[likely]), atol=1e-9)
        assert (got[~likely] == -np.inf).all()


@pytest.mark.parametrize("name", JOINTS)
def test_conditionals_are_ratios_of_prefix_probabilities(models, name):
    for query, ranking in pages():
        table = joint_table(name, models[name], query, ranking)
        got = models[name].conditional_click_probs(
            [query] * len(table), [ranking] * len(table), list(table)
        )
        for row, clicks in enumerate(table):
            for slot in range(SLOTS):
                before = sum(p for c, p in table.items() if c[:slot] == clicks[:slot])
                click = sum(
                    p for c, p in table.items() if c[: slot + 1] == (*clicks[:slot], 1)
                )
                expected = click / before if before > 1e-15 else 0.0
                assert got[row, slot] == pytest.approx(expected, abs=1e-9), (query, clicks, slot)


@pytest.mark.parametrize("name", JOINTS)
def test_click_probs_are_sums_of_the_joint(models, name):
    for query, ranking in pages():
        table = joint_table(name, models[name], query, ranking)
        expected = [sum(p for c, p in table.items() if c[slot]) for slot in range(SLOTS)]
        got = models[name].click_probs([query], [ranking])[0]
        np.testing.assert_allclose(got, expected, atol=1e-12)


def test_default_no_look_of_cocm_fades_from_the_top():
    model = random_models()["CoCM"]
    default = type(model)(model.attractiveness, modes=(0.0, 0.0, 1.0))
    got = default.click_probs([0], [[0, 1, 2]])[0]
    np.testing.assert_allclose(got, [0.2, 0.18, 0.162])


def test_long_cocm_pages_do_not_underflow():
    model = type(random_models()["CoCM"])(np.full((1, 400), 1e-3), modes=(0.5, 0.5, 0.0))
    clicks = np.zeros((1, 400), dtype=bool)
    clicks[0, ::2] = True
    got = model.conditional_click_probs([0], np.arange(400)[None], clicks)
    assert np.isfinite(got).all()
    assert (got[0, ::2] > 0).all()
