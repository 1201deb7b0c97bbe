"""Plackett-Luce, uniform and stochastic policies against exact arithmetic."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from conftest import small_world
from policy_variants import CANDIDATES, SCORES, STEEP, UNDERFLOWING, VARIANTS, WEIGHTS, WORLD, K, N
from scipy.stats import chisquare

from clickgym.data import World
from clickgym.policies import PlackettLuce, Ranker, Uniform, stochastic

UNIFORM = VARIANTS["Uniform", "plain"]


def all_pages(slots, n_docs=N):
    """Every page of different documents, of every length, with trailing -1."""
    return np.array([
        [*docs, *[-1] * (slots - length)]
        for length in range(min(slots, n_docs) + 1)
        for docs in itertools.permutations(range(n_docs), length)
    ])  # fmt: skip


def exact_log_prob(weights, ranking):
    """The log-probability of drawing one by one, in fractions."""
    left = {document: weight for document, weight in enumerate(weights) if weight > 0}
    prob = Fraction(1)
    for document in ranking:
        if document >= 0:
            prob *= left[document] / sum(left.values())
            del left[document]
    return math.log(prob.numerator) - math.log(prob.denominator)


def possible_pages(query):
    length = min(K, int(CANDIDATES[query].sum()))
    return [
        page for page in all_pages(K).tolist()
        if sum(d >= 0 for d in page) == length and all(CANDIDATES[query, d] for d in page if d >= 0)
    ]  # fmt: skip


def test_probabilities_are_those_of_drawing_one_by_one():
    for label, weights, temperature in (
        ("plain", WEIGHTS, 0.01), ("plain", WEIGHTS, 0.1), ("plain", WEIGHTS, 0.5),
        ("plain", WEIGHTS, 1.0), ("steep", STEEP, 0.5), ("steep", STEEP, 1.0),
        ("underflowing", UNDERFLOWING, 0.5),
    ):  # fmt: skip
        for query in range(4):
            shown = possible_pages(query)
            powers = [Fraction(weight) ** round(1 / temperature) for weight in weights[query]]
            expected = [exact_log_prob(powers, page) for page in shown]
            got = PlackettLuce(weights, temperature, K).log_prob([query] * len(shown), shown)
            message = f"{label} at {temperature}, query {query}"
            np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-9, err_msg=message)


def test_plackett_luce_by_hand():
    policy = PlackettLuce([[1.0, 2.0, 3.0]], slots=2)
    assert np.exp(policy.log_prob([0], [[2, 0]]))[0] == pytest.approx(3 / 6 * 1 / 3)


def test_temperature_is_an_exponent():
    policy = PlackettLuce([[1.0, 2.0, 3.0]], temperature=0.5, slots=1)
    got = np.exp(policy.log_prob([0, 0, 0], [[0], [1], [2]]))
    np.testing.assert_allclose(got, [1 / 14, 4 / 14, 9 / 14])


def test_a_very_low_temperature_loses_no_digits():
    """The second place decides between 1e-3 and 0.5 to the power 100, far below the first."""
    policy = PlackettLuce([[1.0, 0.5, 1e-3]], temperature=0.01, slots=2)
    expected = -math.log1p((1e-3 / 0.5) ** 100) - math.log1p(0.5**100 + 1e-3**100)
    assert policy.log_prob([0], [[0, 1]])[0] == pytest.approx(expected, rel=1e-10)


def test_scaling_all_weights_changes_nothing():
    pages = all_pages(K)
    query = np.zeros(len(pages), dtype=int)
    one, other = (PlackettLuce(WEIGHTS * scale, 0.3, K) for scale in (1.0, 1e200))
    np.testing.assert_allclose(one.log_prob(query, pages), other.log_prob(query, pages), atol=1e-10)


def test_uniform_gives_every_ordered_choice_the_same_probability():
    pages = np.array(list(itertools.permutations(range(N), K)))
    got = UNIFORM.log_prob(np.zeros(60, dtype=int), pages)
    np.testing.assert_allclose(got, -math.log(60))


def test_uniform_over_a_short_list_gives_every_order_the_same_probability():
    got = UNIFORM.log_prob([1, 1], [[1, 3, -1], [3, 1, -1]])
    np.testing.assert_allclose(got, -math.log(2))


# Long lists

LONG = 100
LONG_WEIGHTS = 1.0 / np.arange(1, LONG + 1)


def draw_long(slots, n):
    policy = PlackettLuce(LONG_WEIGHTS[None], slots=slots)
    return policy, *policy.draw(np.zeros(n, dtype=int), np.random.default_rng(0))


def test_documents_of_long_lists_are_shown_once_and_with_their_log_probabilities():
    for slots in (1, 10, 64, 99, 100):
        policy, ranking, log_prob = draw_long(slots, 200)
        expected = policy.log_prob(np.zeros(200, dtype=int), ranking)
        np.testing.assert_allclose(log_prob, expected, rtol=1e-10, err_msg=f"{slots} slots")
        assert (np.diff(np.sort(ranking, axis=1), axis=1) > 0).all(), slots


def test_places_of_long_lists_fit_drawing_without_replacement():
    ranking = draw_long(10, 40_000)[1]
    probs = LONG_WEIGHTS / LONG_WEIGHTS.sum()
    odds = probs / (1 - probs)
    for place, expected in enumerate((probs, probs * (odds.sum() - odds))):
        counts = np.bincount(ranking[:, place], minlength=LONG)
        assert chisquare(counts, expected * 40_000).pvalue > 1e-3, place


# Greedy


def test_greedy_takes_the_likeliest_next():
    short = [[4, -1, -1], [-1, -1, -1]]
    for variant, expected in {
        ("Uniform", "plain"): [[0, 1, 2], [1, 3, -1], *short],
        ("PlackettLuce", "at 0.1"): [[1, 2, 4], [1, 3, -1], *short],
        ("PlackettLuce", "steep"): [[0, 4, 3], [3, 1, -1], *short],
        ("PlackettLuce", "stochastic at 1"): [[2, 3, 4], [3, 1, -1], *short],
        ("Ranker", "of scores"): [[2, 3, 4], [3, 1, -1], *short],
        ("Ranker", "from rankings"): [[4, 0, 2], [3, 1, -1], *short],
        ("PlackettLuce", "longer than lists"): [
            [1, 2, 4, 0, 3, -1, -1], [1, 3, *[-1] * 5], [4, *[-1] * 6], [-1] * 7,
        ],
    }.items():  # fmt: skip
        assert VARIANTS[variant].greedy([0, 1, 2, 3]).tolist() == expected, variant


# The papers' stochastic policies


def test_stochastic_scales_each_query_to_zero_and_one_and_adds_a_hundredth():
    got = stochastic([[1.0, 3.0, 2.0], [-10.0, 10.0, -5.0]], 0.1).weights
    np.testing.assert_allclose(got, [[0.01, 1.01, 0.51], [0.01, 1.01, 0.26]])


def test_stochastic_leaves_non_candidates_out_of_the_scaling():
    got = stochastic([[1.0, -np.inf, 3.0]], 0.1).weights
    np.testing.assert_allclose(got, [[0.01, 0.0, 1.01]])


def test_stochastic_with_equal_scores_is_uniform():
    policy = stochastic([[2.0, 2.0, 2.0]], 0.1, slots=1)
    np.testing.assert_allclose(policy.log_prob([0, 0, 0], [[0], [1], [2]]), -math.log(3))


def test_scores_that_are_not_rescaled_keep_their_size():
    got = stochastic([[0.2, -np.inf, 0.6]], 0.1, rescale=False).weights
    np.testing.assert_allclose(got, [[0.21, 0.0, 0.61]])


def test_scores_below_zero_have_to_be_rescaled():
    with pytest.raises(ValueError, match="scores must be at least 0"):
        stochastic([[-0.5, 0.5]], 0.1, rescale=False)


def test_stochastic_passes_on_temperature_and_slots():
    policy = stochastic(SCORES, 0.03, slots=4)
    assert (policy.temperature, policy.slots) == (0.03, 4)


def test_stochastic_probabilities_are_powers_of_the_scaled_scores():
    policy = stochastic([[0.0, 1.0, 0.5]], 0.5, slots=1)
    powers = np.array([0.01, 1.01, 0.51]) ** 2
    got = np.exp(policy.log_prob([0, 0, 0], [[0], [1], [2]]))
    np.testing.assert_allclose(got, powers / powers.sum())


def test_a_world_masks_what_is_not_a_candidate():
    world = small_world(short=True)
    for policy in (
        stochastic(world.gain, 0.5, 5, world=world),
        Ranker(world.gain, 5, world=world),
    ):
        assert policy.greedy([0])[0].tolist()[2:] == [-1, -1, -1]
        assert policy.fingerprint == world.fingerprint


def test_plackett_luce_does_not_follow_the_callers_array():
    weights = WEIGHTS.copy()
    policy = PlackettLuce(weights, slots=K)
    weights[:] = 1.0
    np.testing.assert_array_equal(policy.weights, WEIGHTS)


def test_bad_arguments_are_named():
    for argument, make in (
        ("weights", lambda: PlackettLuce([1.0, 2.0])),
        ("weights", lambda: PlackettLuce([[1.0, -2.0]])),
        ("weights", lambda: PlackettLuce([[1.0, np.nan]])),
        ("weights", lambda: PlackettLuce([[1.0, np.inf]])),
        ("weights", lambda: PlackettLuce([["a"]])),
        ("weights", lambda: PlackettLuce([[1.0], [1.0, 2.0]])),
        ("weights", lambda: PlackettLuce(np.ones((2, 0)))),
        ("temperature", lambda: PlackettLuce(WEIGHTS, 0.0)),
        ("temperature", lambda: PlackettLuce(WEIGHTS, -1.0)),
        ("temperature", lambda: PlackettLuce(WEIGHTS, np.nan)),
        ("temperature", lambda: PlackettLuce(WEIGHTS, np.inf)),
        ("slots", lambda: PlackettLuce(WEIGHTS, slots=0)),
        ("slots", lambda: PlackettLuce(WEIGHTS, slots=2.0)),
        ("slots", lambda: Uniform(WORLD, slots=0)),
        ("scores", lambda: stochastic([1.0, 2.0], 1.0)),
        ("scores", lambda: stochastic([[1.0, np.nan]], 1.0)),
        ("scores", lambda: stochastic([[1.0, np.inf]], 1.0)),
        ("temperature", lambda: stochastic([[1.0]], 0.0)),
        ("scores", lambda: stochastic([["a"]], 1.0)),
    ):
        with pytest.raises(ValueError, match=rf"^{argument}\b"):
            make()


def test_a_policy_of_another_world_is_refused():
    other = World(np.where(CANDIDATES, 2, -1), query_probs=[0.5, 0.25, 0.25, 0.0])
    with pytest.raises(ValueError, match="the policy Uniform belongs to another world"):
        UNIFORM.check_world(other)
