"""The ledger's tests of claims, on values and rows whose answers are known."""

from __future__ import annotations

import numpy as np
from looping import loop_over
from protocol_rows import MODELS, protocol_rows

from clickgym.evaluation.reporting.formats import ledger_markdown
from clickgym.studies.claims import (
    FAILS,
    HOLDS,
    UNDECIDED,
    Claim,
    Finding,
    correlated_above,
    every_above,
    ledger_lines,
    some_below,
)
from clickgym.studies.robustness.ledger import RULES, ledger

UP, DOWN, WIDE = [1.0, 1.1, 0.9], [-1.0, -1.1, -0.9], [-3.0, 0.1, 3.2]


@loop_over(
    ("values", "verdict"),
    [
        ({"a": UP}, HOLDS),
        ({"a": DOWN}, FAILS),
        ({"a": WIDE}, UNDECIDED),
        ({"a": [1.0]}, UNDECIDED),
        ({"a": UP, "b": UP}, HOLDS),
        ({"a": UP, "b": WIDE}, UNDECIDED),
        ({"a": UP, "b": DOWN}, FAILS),
        ({}, UNDECIDED),
    ],
)
def test_every_above_needs_all_and_fails_by_one(values, verdict):
    assert every_above("test", values).verdict == verdict


@loop_over(
    ("values", "verdict"),
    [({"a": UP, "b": DOWN}, HOLDS), ({"a": UP, "b": UP}, FAILS), ({"a": WIDE}, UNDECIDED)],
)
def test_some_below_needs_one_and_fails_by_all(values, verdict):
    assert some_below("test", values, 0.0).verdict == verdict


def test_one_of_many_conditions_fails_at_a_corrected_level():
    barely = [-1.3, -2.1, -2.9]  # its 95% interval ends at -0.11
    assert every_above("alone", {"a": barely}).verdict == FAILS
    assert every_above("of ten", {str(n): barely for n in range(10)}).verdict == UNDECIDED


def test_the_numbers_of_a_finding_are_its_interval():
    assert every_above("test", {"here": UP}).numbers == "here +1.000 [+0.752, +1.248]"


def test_what_is_not_in_the_results_is_undecided_and_says_so():
    assert correlated_above("test", {}).numbers == "not in these results"


@loop_over(
    ("threshold", "verdict"), [(0.5, HOLDS), (0.7, UNDECIDED), (0.95, FAILS)]
)
def test_a_mean_correlation_is_compared_with_its_threshold(threshold, verdict):
    groups = {str(number): [0.6 + 0.03 * number] * 3 for number in range(9)}
    assert correlated_above("test", groups, threshold).verdict == verdict


def test_three_training_logs_are_too_few_for_an_interval():
    assert correlated_above("test", {name: [0.9] for name in "abc"}).verdict == UNDECIDED


def test_the_bootstrap_draws_whole_training_logs():
    rng = np.random.default_rng(0)
    logs = rng.normal(size=9)
    once, thrice = (
        correlated_above("test", {str(n): [log] * times for n, log in enumerate(logs)})
        for times in (1, 3)
    )
    assert once.numbers.split(" over ")[0] == thrice.numbers.split(" over ")[0]


@loop_over(
    ("verdicts", "verdict"),
    [((HOLDS, HOLDS), HOLDS), ((HOLDS, UNDECIDED), UNDECIDED), ((UNDECIDED, FAILS), FAILS)],
)
def test_a_claim_stands_and_falls_with_its_findings(verdicts, verdict):
    findings = tuple(Finding("test", one, "") for one in verdicts)
    assert Claim("statement", "section", findings).verdict == verdict


# The eight claims


def verdicts(rows):
    return [claim.verdict for claim in ledger(rows)]


def test_the_made_up_rows_say_what_the_paper_says_but_for_cacm_minus():
    assert verdicts(protocol_rows(seeds=5)) == [HOLDS] * 6 + [FAILS] + [HOLDS]


def test_noise_decides_nothing_about_policies():
    assert verdicts(protocol_rows(seeds=3, noise=40.0))[5] == UNDECIDED


def test_one_seed_decides_no_difference():
    found = verdicts(protocol_rows(seeds=1))
    assert [found[number] for number in (0, 1, 3, 4, 5, 6)] == [UNDECIDED] * 6


def test_claims_on_models_that_are_not_there_are_undecided():
    claims = ledger(protocol_rows(("PBM", "UBM")))
    assert [claim.verdict for claim in claims] == [UNDECIDED] * 5 + [HOLDS] + [UNDECIDED] * 2
    assert {found.numbers for found in claims[1].findings} == {"not in these results"}


def swapped(rows, first, second):
    """Return the rows with the results of two models exchanged."""
    names = {first: second, second: first}
    return [row | {"model": names.get(row["model"], row["model"])} for row in rows]


@loop_over(
    ("number", "pair"),
    [(0, ("PBM", "TopPop")), (3, ("DBN", "CACM-minus")), (4, ("PBM", "NCM"))],
)
def test_a_claim_falls_when_the_results_are_turned_round(number, pair):
    rows = protocol_rows((*MODELS, "TopPop"), seeds=5)
    assert ledger(rows)[number].verdict == HOLDS
    assert ledger(swapped(rows, *pair))[number].verdict == FAILS


def test_max_reward_that_loses_on_mismatch_is_found_to_lose():
    rows = [
        row | {"max_reward_deployed": 0.9 * row["top_down_deployed"]}
        for row in protocol_rows(MODELS)
    ]
    assert verdicts(rows)[5:7] == [FAILS, HOLDS]


def test_perplexity_that_predicts_is_found_to_predict():
    rows = [
        row | {f"perplexity_{test}": row["perplexity"] for test in ("oracle", "BM25", "random")}
        for row in protocol_rows()
    ]
    claim = ledger(rows)[2]
    assert claim.findings[0].verdict == FAILS
    assert claim.verdict == FAILS


def test_an_infinite_perplexity_is_a_collapse_and_no_error():
    rows = [
        row | ({"perplexity_random": np.inf} if row["model"] == "dCTR" else {})
        for row in protocol_rows()
    ]
    assert ledger(rows)[1].verdict == HOLDS


def test_a_candidate_changes_no_verdict():
    rows = protocol_rows()
    candidate = [row | {"model": "Mine"} for row in rows if row["model"] == "NCM"]
    assert ledger([*rows, *candidate]) == ledger(rows)


def test_the_ledger_in_markdown_has_a_line_a_claim_and_a_finding():
    claims = ledger(protocol_rows())
    text = ledger_markdown(ledger_lines(claims), RULES)
    lines = [line for line in text.splitlines() if line.startswith("|")]
    assert len(lines) == 2 + 8 + sum(len(claim.findings) for claim in claims)
