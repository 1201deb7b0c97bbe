"""``loop_over`` runs every case and names the one that fails."""

from __future__ import annotations

import pytest
from looping import loop_over


def test_every_case_is_run_with_the_fixtures():
    seen = []

    @loop_over("letter", "ab")
    @loop_over(("one", "two"), [(1, 2), (3, 4)])
    def claim(letter, one, two, fixture):
        seen.append((letter, one, two, fixture))

    claim(fixture="x")
    assert seen == [("a", 1, 2, "x"), ("a", 3, 4, "x"), ("b", 1, 2, "x"), ("b", 3, 4, "x")]


def test_a_case_that_fails_is_named():
    @loop_over("number", [1, 2])
    def claim(number):
        assert number == 1

    with pytest.raises(AssertionError) as caught:
        claim()
    assert caught.value.__notes__ == ["in the case {'number': 2}"]


def test_no_cases_are_an_error():
    with pytest.raises(AssertionError, match="there must be a case"):
        loop_over("number", [])(lambda number: None)()
