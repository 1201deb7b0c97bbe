"""How often a log showed what where, against a count by hand."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from clickgym import data, evaluation
from clickgym.evaluation.logs import pairs as module


def random_log(n=200, weighted=True):
    rng = np.random.default_rng(3)
    ranking = np.array([rng.permutation(6)[:3] for _ in range(n)])
    ranking[rng.random(n) < 0.3, 2] = -1
    ranking[0] = -1
    weight = rng.integers(0, 4, n).astype(float) if weighted else None
    return data.ClickLog(rng.integers(0, 4, n), ranking, np.zeros((n, 3), bool), weight=weight)


def count_by_hand(log):
    found = Counter()
    for query, page, weight in zip(log.query, log.ranking, log.counts, strict=True):
        for slot, document in enumerate(page):
            if document >= 0 and weight > 0:
                found[int(query), int(document), slot] += weight
    return found


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("most_places", [0, 1 << 26])
def test_counts_are_those_by_hand(weighted, most_places, monkeypatch):
    monkeypatch.setattr(module, "_MOST_PLACES", most_places)
    log = random_log(weighted=weighted)
    found = evaluation.count_pairs(log)
    rows = enumerate(zip(found.query.tolist(), found.document.tolist(), strict=True))
    counts = {
        (query, document, slot): found.by_slot[row, slot]
        for row, (query, document) in rows
        for slot in range(3)
        if found.by_slot[row, slot] > 0
    }
    assert counts == dict(count_by_hand(log))
    assert found.impressions.sum() == log.impressions


def test_a_compressed_log_has_the_same_counts():
    log = random_log(weighted=False)
    found, folded = evaluation.count_pairs(log), evaluation.count_pairs(log.compress())
    assert found.by_slot.tolist() == folded.by_slot.tolist()


def test_what_was_never_shown_is_found_nowhere():
    world = data.World(np.zeros((2, 4), np.int8))
    log = data.ClickLog([0, 0], [[0, 1], [1, 0]], np.zeros((2, 2), bool))
    found = evaluation.count_pairs(log, world)
    query, document = np.array([0, 0, 1, 0]), np.array([1, 3, 1, -1])
    assert found.find(query, document).tolist() == [1, -1, -1, -1]
    assert found.count(query, document).tolist() == [2.0, 0.0, 0.0, 0.0]
    # slot 2 is one that the log does not have
    slots = found.count_in_slot(np.array([0, 0]), np.array([1, 1]), np.array([0, 2]))
    assert slots.tolist() == [1.0, 0.0]


def test_an_empty_log_has_no_pairs():
    log = data.ClickLog(np.zeros(0, int), np.zeros((0, 2), int), np.zeros((0, 2), bool))
    found = evaluation.count_pairs(log)
    assert len(found.query) == 0
    assert found.count(np.array([0]), np.array([0])).tolist() == [0.0]
