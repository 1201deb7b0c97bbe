"""Policies: distributions over rankings, against enumeration and exact arithmetic."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from conftest import small_world
from scipy.stats import chisquare

from clickgym.clickmodels import PBM
from clickgym.common.storage import save_arrays
from clickgym.data import World
from clickgym.policies import PlackettLuce, Policy, Ranker, Uniform, register, stochastic
from clickgym.policies import base as policies_base

N, K = 5, 3
# Query 0 has all five candidates, query 1 two, query 2 one, query 3 none.
CANDIDATES = np.array([[1, 1, 1, 1, 1], [0, 1, 0, 1, 0], [0, 0, 0, 0, 1], [0, 0, 0, 0, 0]], bool)
WEIGHTS = np.array([[0.5, 2.0, 1.0, 0.25, 1.0], [0, 3.0, 0, 1.0, 0], [0, 0, 0, 0, 7.0], [0] * 5])
STEEP = np.where(CANDIDATES, np.array([1.0, 1e-150, 1e-290, 1e-3, 0.5]), 0.0)  # exp(1335) at 0.5
# To the power of two all but the first are 0 in floating point, and still stand 1 : 1 : 2 : 1.
UNDERFLOWING = np.where(CANDIDATES, np.array([1.0, 1e-290, 1e-290, 2e-290, 1e-290]), 0.0)
SCORES = np.where(CANDIDATES, np.array([0.1, -2.0, 3.5, 3.5, 1.0]), -np.inf)
WORLD = World(np.where(CANDIDATES, 1, -1), query_probs=[0.5, 0.25, 0.25, 0.0])

POLICIES = {
    "Uniform": Uniform(WORLD, slots=K),
    **{f"PlackettLuce at {t}": PlackettLuce(WEIGHTS, t, K) for t in (0.01, 0.1, 1.0, 10.0)},
    "PlackettLuce steep": PlackettLuce(STEEP, 0.5, K),
    "PlackettLuce underflowing": PlackettLuce(UNDERFLOWING, 0.5, K),
    "PlackettLuce longer than lists": PlackettLuce(WEIGHTS, 1.0, 7),
    "stochastic at 0.03": stochastic(SCORES, 0.03, K),
    "stochastic at 1": stochastic(SCORES, 1.0, K),
    "Ranker": Ranker(SCORES, K),
    "Ranker from rankings": Ranker.from_rankings(
        [[4, 0, 2], [3, 1, -1], [4, -1, -1], [-1, -1, -1]], N
    ),
}
every_policy = pytest.mark.parametrize("name", POLICIES)
every_query = pytest.mark.parametrize("query", range(4))
stochastic_ones = pytest.mark.parametrize(
    "name", [name for name, policy in POLICIES.items() if not isinstance(policy, Ranker)]
)


def all_pages(slots, n_docs=N):
    """Every page of different documents, of every length, with trailing -1."""
    return np.array([
        [*docs, *[-1] * (slots - length)]
        for length in range(min(slots, n_docs) + 1)
        for docs in itertools.permutations(range(n_docs), length)
    ])  # fmt: skip


def drawn(policy, query, n, seed=0):
    return policy.draw(np.full(n, query), np.random.default_rng(seed))


def exact_log_prob(weights, ranking):
    """The log-probability of drawing one by one, in fractions."""
    left = {document: weight for document, weight in enumerate(weights) if weight > 0}
    prob = Fraction(1)
    for document in ranking:
        if document >= 0:
            prob *= left[document] / sum(left.values())
            del left[document]
    return math.log(prob.numerator) - math.log(prob.denominator)


# Probabilities


@every_policy
@every_query
def test_probabilities_of_all_rankings_sum_to_one(name, query):
    policy = POLICIES[name]
    pages = all_pages(policy.slots)
    log_prob = policy.log_prob(np.full(len(pages), query), pages)
    assert np.exp(log_prob).sum() == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize(
    ("weights", "temperature"),
    [(WEIGHTS, 0.01), (WEIGHTS, 0.1), (WEIGHTS, 0.5), (WEIGHTS, 1.0), (STEEP, 0.5), (STEEP, 1.0),
     (UNDERFLOWING, 0.5)],
    ids=["at 0.01", "at 0.1", "at 0.5", "at 1", "steep at 0.5", "steep at 1", "underflowing"],
)  # fmt: skip
@every_query
def test_plackett_luce_probabilities_are_those_of_drawing_one_by_one(weights, temperature, query):
    length = min(K, int(CANDIDATES[query].sum()))
    shown = [
        page for page in all_pages(K).tolist()
        if sum(d >= 0 for d in page) == length and all(CANDIDATES[query, d] for d in page if d >= 0)
    ]  # fmt: skip
    powers = [Fraction(weight) ** round(1 / temperature) for weight in weights[query].tolist()]
    expected = [exact_log_prob(powers, page) for page in shown]
    got = PlackettLuce(weights, temperature, K).log_prob([query] * len(shown), shown)
    np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-9)


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
    got = POLICIES["Uniform"].log_prob(np.zeros(60, dtype=int), pages)
    np.testing.assert_allclose(got, -math.log(60))


def test_uniform_over_a_short_list_gives_every_order_the_same_probability():
    got = POLICIES["Uniform"].log_prob([1, 1], [[1, 3, -1], [3, 1, -1]])
    np.testing.assert_allclose(got, -math.log(2))


@pytest.mark.parametrize("name", ["Ranker", "Ranker from rankings"])
@every_query
def test_a_ranker_is_certain_of_its_ranking(name, query):
    policy = POLICIES[name]
    assert policy.log_prob([query], policy.greedy([query])).tolist() == [0.0]


IMPOSSIBLE = {
    "repeat": (0, [1, 1, 2]),
    "repeat at the end": (0, [1, 2, 2]),
    "non-candidate": (1, [1, 0, -1]),
    "non-candidate in an empty slot": (1, [1, 3, 0]),
    "too short": (0, [1, 2, -1]),
    "empty": (0, [-1, -1, -1]),
    "too long": (2, [4, 3, -1]),
    "of a query without candidates": (3, [0, -1, -1]),
}


@pytest.mark.parametrize("impossible", IMPOSSIBLE)
@pytest.mark.parametrize("name", [name for name in POLICIES if "longer" not in name])
def test_an_impossible_ranking_has_probability_zero(name, impossible):
    query, ranking = IMPOSSIBLE[impossible]
    assert POLICIES[name].log_prob([query], [ranking]).tolist() == [-np.inf]


@every_policy
def test_no_probability_is_nan(name):
    policy = POLICIES[name]
    pages = np.tile(all_pages(policy.slots), (4, 1))
    query = np.repeat(np.arange(4), len(pages) // 4)
    assert not np.isnan(policy.log_prob(query, pages)).any()


# Drawing


@every_policy
@every_query
def test_drawn_log_probabilities_equal_log_prob(name, query):
    policy = POLICIES[name]
    ranking, log_prob = drawn(policy, query, 300)
    expected = policy.log_prob(np.full(300, query), ranking)
    np.testing.assert_allclose(log_prob, expected, rtol=1e-10, atol=1e-12)


def assert_fits(ranking, policy, query):
    """Assert that drawn pages have the frequencies that log_prob gives; rare pages count as one."""
    pages = all_pages(policy.slots)
    expected = np.exp(policy.log_prob(np.full(len(pages), query), pages)) * len(ranking)
    place = {tuple(page): index for index, page in enumerate(pages.tolist())}
    counts = np.bincount([place[tuple(page)] for page in ranking.tolist()], minlength=len(pages))
    assert counts[expected == 0].sum() == 0
    rare = expected < 5
    counts = np.append(counts[~rare], counts[rare].sum())
    expected = np.append(expected[~rare], expected[rare].sum())
    kept = expected > 0.1
    assert counts[~kept].sum() <= 1
    if kept.sum() > 1:
        expected = expected[kept] * counts[kept].sum() / expected[kept].sum()
        assert chisquare(counts[kept], expected).pvalue > 1e-3


@stochastic_ones
@every_query
def test_drawn_rankings_fit_their_probabilities(name, query):
    assert_fits(drawn(POLICIES[name], query, 20_000)[0], POLICIES[name], query)


@stochastic_ones
def test_queries_of_one_batch_are_drawn_each_from_its_own_distribution(name):
    query = np.tile(np.arange(4), 5000)
    ranking = POLICIES[name].sample(query, np.random.default_rng(1))
    for each in range(4):
        assert_fits(ranking[query == each], POLICIES[name], each)


@pytest.mark.parametrize("name", ["Ranker", "Ranker from rankings"])
def test_a_ranker_draws_the_same_ranking_every_time(name):
    policy = POLICIES[name]
    query = np.tile(np.arange(4), 20)
    ranking = policy.sample(query, np.random.default_rng(0))
    np.testing.assert_array_equal(ranking, policy.greedy(query))


@every_policy
def test_sample_gives_the_rankings_of_draw(name):
    ranking = POLICIES[name].sample(np.zeros(50, dtype=int), np.random.default_rng(0))
    np.testing.assert_array_equal(ranking, drawn(POLICIES[name], 0, 50)[0])


@every_policy
def test_same_seed_gives_the_same_rankings(name):
    first, second = (drawn(POLICIES[name], 0, 50, seed=3)[0] for _ in range(2))
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("name", ["Uniform", "PlackettLuce at 1.0", "stochastic at 1"])
def test_another_seed_gives_other_rankings(name):
    first, second = (drawn(POLICIES[name], 0, 50, seed)[0] for seed in (3, 4))
    assert not np.array_equal(first, second)


@every_policy
def test_no_queries_give_no_rankings(name):
    policy = POLICIES[name]
    assert policy.sample([], np.random.default_rng(0)).shape == (0, policy.slots)


@every_policy
@every_query
def test_empty_slots_trail_when_a_list_is_shorter_than_the_page(name, query):
    ranking, _ = drawn(POLICIES[name], query, 100)
    length = min(POLICIES[name].slots, int(CANDIDATES[query].sum()))
    assert ((ranking >= 0) == (np.arange(POLICIES[name].slots) < length)).all()


# Long lists

LONG = 100
LONG_WEIGHTS = 1.0 / np.arange(1, LONG + 1)


def long_policy(slots):
    return PlackettLuce(LONG_WEIGHTS[None], slots=slots)


@pytest.mark.parametrize("slots", [1, 10, 64, 99, 100])
def test_drawn_log_probabilities_of_long_lists_equal_log_prob(slots):
    ranking, log_prob = drawn(long_policy(slots), 0, 200)
    expected = long_policy(slots).log_prob(np.zeros(200, dtype=int), ranking)
    np.testing.assert_allclose(log_prob, expected, rtol=1e-10)


@pytest.mark.parametrize("slots", [1, 10, 64, 99, 100])
def test_documents_of_long_lists_are_shown_once(slots):
    ranking = np.sort(drawn(long_policy(slots), 0, 200)[0], axis=1)
    assert (np.diff(ranking, axis=1) > 0).all()


def test_first_places_of_long_lists_fit_the_weights():
    first = drawn(long_policy(10), 0, 40_000)[0][:, 0]
    expected = LONG_WEIGHTS / LONG_WEIGHTS.sum() * 40_000
    assert chisquare(np.bincount(first, minlength=LONG), expected).pvalue > 1e-3


def test_second_places_of_long_lists_fit_drawing_without_replacement():
    second = drawn(long_policy(10), 0, 40_000)[0][:, 1]
    probs = LONG_WEIGHTS / LONG_WEIGHTS.sum()
    odds = probs / (1 - probs)
    expected = probs * (odds.sum() - odds) * 40_000
    assert chisquare(np.bincount(second, minlength=LONG), expected).pvalue > 1e-3


# Greedy


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Uniform", [[0, 1, 2], [1, 3, -1], [4, -1, -1], [-1, -1, -1]]),
        ("PlackettLuce at 0.1", [[1, 2, 4], [1, 3, -1], [4, -1, -1], [-1, -1, -1]]),
        ("PlackettLuce steep", [[0, 4, 3], [3, 1, -1], [4, -1, -1], [-1, -1, -1]]),
        ("stochastic at 1", [[2, 3, 4], [3, 1, -1], [4, -1, -1], [-1, -1, -1]]),
        ("Ranker", [[2, 3, 4], [3, 1, -1], [4, -1, -1], [-1, -1, -1]]),
        ("Ranker from rankings", [[4, 0, 2], [3, 1, -1], [4, -1, -1], [-1, -1, -1]]),
        ("PlackettLuce longer than lists",
         [[1, 2, 4, 0, 3, -1, -1], [1, 3, *[-1] * 5], [4, *[-1] * 6], [-1] * 7]),
    ],
)  # fmt: skip
def test_greedy_takes_the_likeliest_next(name, expected):
    assert POLICIES[name].greedy([0, 1, 2, 3]).tolist() == expected


@every_policy
def test_greedy_is_a_ranking_of_positive_probability(name):
    policy = POLICIES[name]
    assert (policy.log_prob(np.arange(4), policy.greedy(np.arange(4))) > -np.inf).all()


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


def test_stochastic_passes_on_temperature_and_slots():
    policy = stochastic(SCORES, 0.03, slots=4)
    assert (policy.temperature, policy.slots) == (0.03, 4)


def test_stochastic_probabilities_are_powers_of_the_scaled_scores():
    policy = stochastic([[0.0, 1.0, 0.5]], 0.5, slots=1)
    powers = np.array([0.01, 1.01, 0.51]) ** 2
    got = np.exp(policy.log_prob([0, 0, 0], [[0], [1], [2]]))
    np.testing.assert_allclose(got, powers / powers.sum())


# Rankers


def test_ranker_breaks_ties_by_index():
    assert Ranker([[1.0, 2.0, 2.0, 2.0]], 4).greedy([0]).tolist() == [[1, 2, 3, 0]]


def test_ranker_from_rankings_without_n_docs_fits_worlds_with_more_candidates():
    policy = Ranker.from_rankings([[1, 0]])
    assert policy.check_world(World([[0, 1, 2, 3]])) is None


def test_ranker_from_rankings_without_n_docs_gives_unheard_of_documents_probability_zero():
    policy = Ranker.from_rankings([[1, 0]])
    assert policy.log_prob([0, 0], [[1, 3], [1, 0]]).tolist() == [-np.inf, 0.0]


def test_ranker_from_rankings_does_not_fit_worlds_with_fewer_candidates():
    with pytest.raises(ValueError, match="1 queries of 4 candidates"):
        Ranker.from_rankings([[3, 0]]).check_world(World([[0, 1, 2]]))


def test_ranker_from_rankings_with_n_docs_fits_worlds_of_that_size_only():
    with pytest.raises(ValueError, match="1 queries of 2 candidates"):
        Ranker.from_rankings([[1, 0]], n_docs=2).check_world(World([[0, 1, 2]]))


def test_ranker_does_not_follow_the_callers_array():
    rankings = np.array([[1, 0]])
    policy = Ranker.from_rankings(rankings)
    rankings[:] = 0
    assert policy.greedy([0]).tolist() == [[1, 0]]


def test_plackett_luce_does_not_follow_the_callers_array():
    weights = WEIGHTS.copy()
    policy = PlackettLuce(weights, slots=K)
    weights[:] = 1.0
    np.testing.assert_array_equal(policy.weights, WEIGHTS)


# Bad arguments


@pytest.mark.parametrize(
    ("make", "argument"),
    [
        pytest.param(lambda: PlackettLuce([1.0, 2.0]), "weights", id="weights-1d"),
        pytest.param(lambda: PlackettLuce([[1.0, -2.0]]), "weights", id="weights-negative"),
        pytest.param(lambda: PlackettLuce([[1.0, np.nan]]), "weights", id="weights-nan"),
        pytest.param(lambda: PlackettLuce([[1.0, np.inf]]), "weights", id="weights-inf"),
        pytest.param(lambda: PlackettLuce([["a"]]), "weights", id="weights-text"),
        pytest.param(lambda: PlackettLuce([[1.0], [1.0, 2.0]]), "weights", id="weights-ragged"),
        pytest.param(lambda: PlackettLuce(np.ones((2, 0))), "weights", id="weights-empty"),
        pytest.param(lambda: PlackettLuce(WEIGHTS, 0.0), "temperature", id="temperature-zero"),
        pytest.param(lambda: PlackettLuce(WEIGHTS, -1.0), "temperature", id="temperature-negative"),
        pytest.param(lambda: PlackettLuce(WEIGHTS, np.nan), "temperature", id="temperature-nan"),
        pytest.param(lambda: PlackettLuce(WEIGHTS, np.inf), "temperature", id="temperature-inf"),
        pytest.param(lambda: PlackettLuce(WEIGHTS, slots=0), "slots", id="slots-zero"),
        pytest.param(lambda: PlackettLuce(WEIGHTS, slots=2.0), "slots", id="slots-float"),
        pytest.param(lambda: Uniform(WORLD, slots=0), "slots", id="uniform-slots"),
        pytest.param(lambda: stochastic([1.0, 2.0], 1.0), "scores", id="stochastic-1d"),
        pytest.param(lambda: stochastic([[1.0, np.nan]], 1.0), "scores", id="stochastic-nan"),
        pytest.param(lambda: stochastic([[1.0, np.inf]], 1.0), "scores", id="stochastic-inf"),
        pytest.param(lambda: stochastic([[1.0]], 0.0), "temperature", id="stochastic-temperature"),
        pytest.param(lambda: Ranker([1.0, 2.0]), "scores", id="ranker-1d"),
        pytest.param(lambda: Ranker([[1.0, np.nan]]), "scores", id="ranker-nan"),
        pytest.param(lambda: Ranker([[1.0, np.inf]]), "scores", id="ranker-inf"),
        pytest.param(lambda: Ranker([[1.0]], slots=0), "slots", id="ranker-slots"),
        pytest.param(lambda: Ranker.from_rankings([0, 1]), "rankings", id="rankings-1d"),
        pytest.param(lambda: Ranker.from_rankings([[0.0]]), "rankings", id="rankings-float"),
        pytest.param(lambda: Ranker.from_rankings([[1, 1]]), "rankings", id="rankings-repeat"),
        pytest.param(lambda: Ranker.from_rankings([[-1, 1]]), "rankings", id="rankings-gap"),
        pytest.param(lambda: Ranker.from_rankings([[-2, 1]]), "rankings", id="rankings-negative"),
        pytest.param(lambda: Ranker.from_rankings([[0, 3]], 3), "rankings", id="rankings-n_docs"),
        pytest.param(lambda: Ranker.from_rankings([[]]), "rankings", id="rankings-empty"),
        pytest.param(lambda: Ranker.from_rankings([[0]], 1.5), "n_docs", id="n_docs-float"),
    ],
)
def test_a_bad_argument_is_named(make, argument):
    with pytest.raises(ValueError, match=rf"^{argument}\b"):
        make()


@every_policy
@pytest.mark.parametrize(
    "query", [[4], [-1], [0.0], [[0]], 0], ids=["unknown", "negative", "float", "2d", "scalar"]
)
def test_a_bad_query_is_named(name, query):
    with pytest.raises(ValueError, match=r"^query\b"):
        POLICIES[name].sample(query, np.random.default_rng(0))


@every_policy
@pytest.mark.parametrize("bad", [5, -2], ids=["unknown", "negative"])
def test_a_bad_document_is_named(name, bad):
    ranking = np.full((1, POLICIES[name].slots), -1)
    ranking[0, 0] = bad
    with pytest.raises(ValueError, match=r"^ranking\[0, 0\]"):
        POLICIES[name].log_prob([0], ranking)


@every_policy
def test_a_ranking_of_another_length_is_named(name):
    with pytest.raises(ValueError, match=r"^ranking has shape"):
        POLICIES[name].log_prob([0], [[0, 1]])


@every_policy
def test_a_ranking_with_a_gap_is_named(name):
    ranking = np.full((1, POLICIES[name].slots), -1)
    ranking[0, 1] = 2
    with pytest.raises(ValueError, match=r"^ranking\[0, 0\] is empty"):
        POLICIES[name].log_prob([0], ranking)


@every_policy
def test_a_policy_of_another_shape_is_refused(name):
    with pytest.raises(ValueError, match=r"4 queries of 5|another world"):
        POLICIES[name].check_world(small_world())


def test_a_policy_of_another_world_is_refused():
    other = World(np.where(CANDIDATES, 2, -1), query_probs=[0.5, 0.25, 0.25, 0.0])
    with pytest.raises(ValueError, match="the policy Uniform belongs to another world"):
        POLICIES["Uniform"].check_world(other)


# Saving and loading


def saved(policy, tmp_path):
    path = tmp_path / "policy.safetensors"
    policy.save(path)
    return path


@every_policy
def test_a_loaded_policy_draws_the_same_rankings(name, tmp_path):
    again = Policy.load(saved(POLICIES[name], tmp_path))
    np.testing.assert_array_equal(drawn(again, 0, 200)[0], drawn(POLICIES[name], 0, 200)[0])


@every_policy
def test_a_loaded_policy_has_the_same_probabilities(name, tmp_path):
    policy = POLICIES[name]
    again = Policy.load(saved(policy, tmp_path))
    pages = all_pages(policy.slots)
    query = np.zeros(len(pages), dtype=int)
    np.testing.assert_array_equal(again.log_prob(query, pages), policy.log_prob(query, pages))


@every_policy
@pytest.mark.parametrize("attribute", ["__class__", "name", "slots", "shape", "fingerprint"])
def test_a_loaded_policy_has_the_same(name, attribute, tmp_path):
    again = Policy.load(saved(POLICIES[name], tmp_path))
    assert getattr(again, attribute) == getattr(POLICIES[name], attribute)


def test_a_loaded_ranker_without_n_docs_still_fits_larger_worlds(tmp_path):
    again = Policy.load(saved(Ranker.from_rankings([[1, 0]]), tmp_path))
    assert again.check_world(World([[0, 1, 2, 3]])) is None


@pytest.mark.parametrize("share", [0.0, 0.5, 0.99])
def test_a_truncated_policy_file_is_named(tmp_path, share):
    path = saved(POLICIES["Uniform"], tmp_path)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(ValueError, match=r"policy\.safetensors: not a whole safetensors file"):
        Policy.load(path)


def test_a_models_file_is_not_a_policy(tmp_path):
    PBM([[0.5]], [1.0]).save(tmp_path / "model.safetensors")
    with pytest.raises(ValueError, match=r"model\.safetensors: holds a click model, not a policy"):
        Policy.load(tmp_path / "model.safetensors")


def test_a_file_with_an_unknown_name_is_refused_by_name(tmp_path):
    path = tmp_path / "strange.safetensors"
    save_arrays(path, "policy", {"name": "Strange", "settings": {}, "fingerprint": None}, {})
    with pytest.raises(ValueError, match=r"strange\.safetensors: unknown policy 'Strange'"):
        Policy.load(path)


def test_a_file_whose_parameters_are_bad_is_named(tmp_path):
    path = tmp_path / "odd.safetensors"
    header = {"name": "PlackettLuce", "settings": {"slots": 0}, "fingerprint": None}
    save_arrays(path, "policy", header, {"weights": WEIGHTS})
    with pytest.raises(ValueError, match=r"odd\.safetensors: .*slots"):
        Policy.load(path)


class FirstOnly(Policy):
    """A policy of one's own that only knows how to draw: always document 0."""

    has_log_prob = False
    slots, shape = 1, (4, N)

    def draw(self, query, rng):
        return np.zeros((len(query), 1), dtype=np.int64), None

    def state(self):
        return {}


def test_an_own_policy_needs_only_draw_to_sample():
    assert FirstOnly().sample([0, 1], np.random.default_rng(0)).tolist() == [[0], [0]]


@pytest.mark.parametrize(
    ("method", "arguments"), [("log_prob", ([0], [[0]])), ("greedy", ([0],))]
)
def test_what_an_own_policy_does_not_define_says_so(method, arguments):
    with pytest.raises(NotImplementedError, match=f"FirstOnly does not define {method}"):
        getattr(FirstOnly(), method)(*arguments)


def test_an_own_policy_is_saved_and_loaded_once_registered(monkeypatch, tmp_path):
    monkeypatch.setattr(policies_base, "_CLASSES", dict(policies_base._CLASSES))
    monkeypatch.setattr(FirstOnly, "name", "")
    register("FirstOnly")(FirstOnly)
    assert type(Policy.load(saved(FirstOnly(), tmp_path))) is FirstOnly


def test_an_own_policy_that_is_not_registered_cannot_be_saved(tmp_path):
    with pytest.raises(ValueError, match="FirstOnly is not registered"):
        FirstOnly().save(tmp_path / "policy.safetensors")


def test_a_subclass_that_is_not_registered_is_not_saved_as_its_parent(tmp_path):
    class Reversed(Ranker):
        pass

    with pytest.raises(ValueError, match="Reversed is not registered"):
        Reversed(SCORES).save(tmp_path / "policy.safetensors")


class FromTheContract(Policy):
    """A policy that defines only what the interface asks for: ``sample`` and ``log_prob``."""

    def __init__(self, n_queries, n_docs):
        self.slots, self.shape = 2, (n_queries, n_docs)

    def sample(self, query, rng):
        return np.tile([1, 0], (len(query), 1))

    def log_prob(self, query, ranking):
        return np.where((np.asarray(ranking) == [1, 0]).all(axis=1), 0.0, -np.inf)


def test_a_policy_of_ones_own_needs_no_draw():
    ranking, log_prob = FromTheContract(3, 4).draw(np.array([0, 2]), np.random.default_rng(0))
    assert ranking.tolist() == [[1, 0], [1, 0]]
    assert log_prob.tolist() == [0.0, 0.0]


def test_a_policy_without_log_prob_draws_none():
    policy = FromTheContract(3, 4)
    policy.has_log_prob = False
    assert policy.draw(np.array([0]), np.random.default_rng(0))[1] is None


def test_a_world_masks_what_is_not_a_candidate():
    world = small_world(short=True)
    for policy in (
        stochastic(world.gain, 0.5, 5, world=world),
        Ranker(world.gain, 5, world=world),
    ):
        assert policy.greedy([0])[0].tolist()[2:] == [-1, -1, -1]
        assert policy.fingerprint == world.fingerprint


@pytest.mark.parametrize("make", [Ranker, lambda s: stochastic(s, 1.0)])
@pytest.mark.parametrize("scores", [[["a"]], [[np.nan]], [[np.inf]], [1.0]])
def test_bad_scores_are_named(make, scores):
    with pytest.raises(ValueError, match="scores"):
        make(scores)
