"""What every registered policy keeps to: its draws, probabilities, moments, files and errors.

A newly registered policy needs an example in ``saved_files.make_policies``; variants of the known
ones, with lists that are shorter than a page, stand in ``policy_variants``.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import saved_files
from conftest import small_world
from policy_variants import CANDIDATES, VARIANTS, product_with_empty_slots
from scipy.stats import chisquare

from clickgym.common.checks import find_repeats
from clickgym.data import World
from clickgym.policies import Policy, marginals_given_set, slate_moments
from clickgym.policies.base import registered

EXAMPLES = dict(saved_files.make_policies(World(np.random.default_rng(0).integers(0, 5, (4, 5)))))
CASES = [*EXAMPLES.items(), ("Product with empty slots", product_with_empty_slots())]
CASES += [(f"{kind}, {what}", policy) for (kind, what), policy in VARIANTS.items()]
every_policy = pytest.mark.parametrize("name", registered())


def cases(name):
    """Label and policy of every example of the registered class ``name``."""
    return [(label, policy) for label, policy in CASES if policy.name == name]


def all_pages(policy):
    """Every page of every length, with trailing -1; with repeats where they are affordable."""
    n_docs, slots = policy.shape[1], policy.slots
    choose = itertools.permutations if slots > 3 else lambda n, k: itertools.product(n, repeat=k)
    return np.array([
        [*documents, *[-1] * (slots - length)]
        for length in range(min(slots, n_docs) + 1)
        for documents in choose(range(n_docs), length)
    ])  # fmt: skip


def log_probs(policy, query, pages):
    return policy.log_prob(np.full(len(pages), query), pages)


def draw(policy, query, seed=0):
    return policy.draw(np.asarray(query), np.random.default_rng(seed))


def test_every_registered_policy_has_an_example():
    assert set(registered()) <= set(EXAMPLES)


@every_policy
def test_probabilities_of_all_pages_sum_to_one(name):
    for label, policy in cases(name):
        pages = all_pages(policy)
        for query in range(policy.shape[0]):
            found = log_probs(policy, query, pages)
            assert not np.isnan(found).any(), (label, query)
            assert np.exp(found).sum() == pytest.approx(1.0, abs=1e-9), (label, query)


@every_policy
def test_drawn_pages_come_with_their_log_probabilities(name):
    for label, policy in cases(name):
        query = np.arange(policy.shape[0]).repeat(300)
        ranking, log_prob = draw(policy, query)
        assert (log_prob is not None) == policy.has_log_prob, label
        expected = policy.log_prob(query, ranking)
        np.testing.assert_allclose(log_prob, expected, rtol=1e-10, atol=1e-12, err_msg=label)


def assert_fits(ranking, policy, query, label):
    """Assert that pages have the frequencies that log_prob gives; rare pages count as one."""
    pages = all_pages(policy)
    expected = np.exp(log_probs(policy, query, pages)) * len(ranking)
    place = {tuple(page): index for index, page in enumerate(pages.tolist())}
    counts = np.bincount([place[tuple(page)] for page in ranking.tolist()], minlength=len(pages))
    assert counts[expected == 0].sum() == 0, label
    rare = expected < 5
    counts = np.append(counts[~rare], counts[rare].sum())
    expected = np.append(expected[~rare], expected[rare].sum())
    kept = expected > 0.1
    assert counts[~kept].sum() <= 1, label
    if kept.sum() > 1:
        expected = expected[kept] * counts[kept].sum() / expected[kept].sum()
        assert chisquare(counts[kept], expected).pvalue > 1e-3, label


@every_policy
def test_drawn_pages_fit_their_probabilities(name):
    for label, policy in cases(name):
        for query in range(policy.shape[0]):
            assert_fits(draw(policy, np.full(20_000, query))[0], policy, query, (label, query))


@every_policy
def test_places_of_a_block_sum_to_one_and_fit_the_page(name):
    for label, policy in cases(name):
        pages = all_pages(policy)
        for query in range(policy.shape[0]):
            asked = np.full(len(pages), query), pages
            logs = policy.place_log_probs(*asked)
            assert logs.shape == (len(pages), policy.slots + 2), label
            np.testing.assert_allclose(np.exp(logs).sum(axis=1), 1.0, atol=1e-9, err_msg=label)
            position, log_prob = policy.place(*asked, np.random.default_rng(0))
            assert (position <= (pages >= 0).sum(axis=1)).all(), label
            drawn = logs[np.arange(len(pages)), position + 1]
            np.testing.assert_allclose(log_prob, drawn, atol=1e-12, err_msg=label)
            assert policy.places_blocks or (position == -1).all(), label


@every_policy
def test_queries_of_one_batch_are_drawn_each_from_its_own_distribution(name):
    for label, policy in cases(name):
        query = np.tile(np.arange(policy.shape[0]), 5000)
        ranking = policy.sample(query, np.random.default_rng(1))
        for each in range(policy.shape[0]):
            assert_fits(ranking[query == each], policy, each, (label, each))


@every_policy
def test_the_seed_decides_what_sample_and_draw_give(name):
    query = np.zeros(50, dtype=int)
    for label, policy in cases(name):
        ranking = draw(policy, query, seed=3)[0]
        for again in (draw(policy, query, 3)[0], policy.sample(query, np.random.default_rng(3))):
            np.testing.assert_array_equal(ranking, again, err_msg=label)
        varied = np.isfinite(log_probs(policy, 0, ranking)) & (log_probs(policy, 0, ranking) < -0.5)
        if varied.any():
            assert not np.array_equal(ranking, draw(policy, query, seed=4)[0]), label


@every_policy
def test_no_queries_give_no_pages(name):
    for label, policy in cases(name):
        assert policy.sample([], np.random.default_rng(0)).shape == (0, policy.slots), label


@every_policy
def test_greedy_is_a_possible_page_and_that_of_a_deterministic_policy(name):
    for label, policy in cases(name):
        query = np.arange(policy.shape[0])
        greedy = policy.greedy(query)
        assert (policy.log_prob(query, greedy) > -np.inf).all(), label
        if policy.deterministic:
            assert policy.log_prob(query, greedy).tolist() == [0.0] * len(query), label
            np.testing.assert_array_equal(draw(policy, query.repeat(20))[0], greedy.repeat(20, 0))


@every_policy
def test_moments_are_those_of_all_pages(name):
    for label, policy in cases(name):
        pages = all_pages(policy)
        shown = (pages[:, :, None] == np.arange(policy.shape[1])).astype(float)
        for query in range(policy.shape[0]):
            moments = slate_moments(policy, query, samples=2000)
            chance = np.exp(log_probs(policy, query, pages))
            error = 1e-9 if moments.exact else 6 * moments.stderr
            single = np.einsum("p,pka->ka", chance, shown)
            np.testing.assert_allclose(moments.single, single, rtol=0, atol=error, err_msg=label)
            pair = np.einsum("pka,plb->kalb", chance[:, None, None] * shown, shown, optimize=True)
            np.testing.assert_allclose(moments.pair, pair, rtol=0, atol=error, err_msg=label)


@every_policy
def test_marginals_given_the_set_are_those_of_all_pages(name):
    for label, policy in cases(name):
        pages = all_pages(policy)
        for query in range(policy.shape[0]):
            sets = {}  # for each set of documents its pages and their probabilities
            for page, chance in zip(pages, np.exp(log_probs(policy, query, pages)), strict=True):
                if chance > 0 and not find_repeats(page[None])[0]:
                    sets.setdefault(tuple(sorted(page, reverse=True)), []).append((page, chance))
            shown = np.array(list(sets), dtype=int).reshape(-1, policy.slots)
            given = marginals_given_set(policy, np.full(len(shown), query), shown)
            assert given.standard_error is None, label
            for row, found in enumerate(sets.values()):
                total = sum(chance for _, chance in found)
                stands = [chance * (page == shown[row][:, None]) for page, chance in found]
                expected = np.sum(stands, axis=0) / total * (shown[row] >= 0)[:, None]
                np.testing.assert_allclose(
                    given.probabilities[row], expected, rtol=0, atol=1e-10, err_msg=label
                )
                assert given.log_probability[row] == pytest.approx(np.log(total), abs=1e-9), label


@every_policy
def test_a_loaded_policy_is_the_same(name, tmp_path):
    for label, policy in cases(name):
        policy.save(tmp_path / "policy")
        again = Policy.load(tmp_path / "policy")
        for attribute in ("__class__", "name", "slots", "shape", "fingerprint", "has_log_prob"):
            assert getattr(again, attribute) == getattr(policy, attribute), (label, attribute)
        query, pages = np.zeros(200, dtype=int), all_pages(policy)
        np.testing.assert_array_equal(draw(again, query)[0], draw(policy, query)[0], label)
        np.testing.assert_array_equal(log_probs(again, 0, pages), log_probs(policy, 0, pages))
        np.testing.assert_array_equal(again.greedy([0, 1]), policy.greedy([0, 1]), label)
        blocks = [one.place_log_probs(np.zeros(len(pages), int), pages) for one in (again, policy)]
        np.testing.assert_array_equal(*blocks, label)


def filled(policy, changes):
    """One page for query 0, empty but for the ``changes``."""
    ranking = np.full((1, policy.slots), -1)
    for slot, document in changes.items():
        ranking[0, slot] = document
    return ranking


@every_policy
def test_bad_queries_and_pages_are_named(name):
    for label, policy in cases(name):
        for query in ([4], [-1], [0.0], [[0]], 0):  # unknown, negative, no integers, of other ndim
            with pytest.raises(ValueError, match=r"^query\b"):
                policy.sample(query, np.random.default_rng(0))
            with pytest.raises(ValueError, match=r"^query\b"):
                policy.greedy(query)
        for page, message in (
            (filled(policy, {0: 5}), r"^ranking\[0, 0\]"),
            (filled(policy, {0: -2}), r"^ranking\[0, 0\]"),
            (filled(policy, {1: 2}), r"^ranking\[0, 0\] is empty"),
            ([[0, 1]], r"^ranking has shape"),
        ):
            with pytest.raises(ValueError, match=message):
                pytest.fail(f"{label} takes {page}: {policy.log_prob([0], page)}")


@every_policy
def test_a_policy_of_another_shape_is_refused(name):
    for _, policy in cases(name):
        with pytest.raises(ValueError, match=r"4 queries of 5|another world"):
            policy.check_world(small_world())


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


def test_an_impossible_page_has_probability_zero():
    for label, policy in VARIANTS.items():
        for what, (query, page) in IMPOSSIBLE.items():
            page = [*page, *[-1] * (policy.slots - 3)]
            if policy.slots == 3:
                assert policy.log_prob([query], [page]).tolist() == [-np.inf], (label, what)


def test_empty_slots_trail_where_a_list_is_shorter_than_the_page():
    for label, policy in VARIANTS.items():
        for query in range(4):
            ranking, _ = draw(policy, np.full(100, query))
            length = min(policy.slots, int(CANDIDATES[query].sum()))
            assert ((ranking >= 0) == (np.arange(policy.slots) < length)).all(), label
