"""The ledger's tests of claims, on values and rows whose answers are known."""

from __future__ import annotations

import numpy as np
from looping import loop_over
from protocol_rows import MODELS, protocol_rows, shift_rows

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
from clickgym.studies.robustness.reversals import Comparison, find_reversals

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


def graded_log(lead=0.1, queries=50):
    """Return rows of a real log on which dCTR leads PBM by as much as that."""
    noise = np.random.default_rng(1).normal(scale=0.02, size=queries)
    values = {"dCTR": 0.5 + lead + noise, "CTR": 0.2 + noise, "PBM": np.full(queries, 0.5)}
    return [
        {"log": "a log", "model": model, "query": query, "ndcg_3": value}
        for model, column in values.items()
        for query, value in enumerate(column)
    ]


def verdicts(rows, graded=None):
    graded = graded_log() if graded is None else graded
    return [claim.verdict for claim in ledger(rows, graded)]


def all_rows(seeds):
    return [*protocol_rows(seeds=seeds), *shift_rows(seeds)]


def test_the_made_up_rows_say_what_the_paper_says_but_for_cacm_minus():
    assert verdicts(all_rows(5)) == [HOLDS] * 6 + [FAILS] + [HOLDS]


def test_noise_decides_nothing_about_policies():
    assert verdicts(protocol_rows(seeds=3, noise=40.0))[5] == UNDECIDED


def test_one_seed_decides_nothing():
    assert verdicts(all_rows(1)) == [UNDECIDED] * 8


@loop_over(
    ("seeds", "note"),
    [
        (1, "undecided after 1 seed, ten more seeds are wanted (--seeds 11)"),
        (10, "undecided after 10 seeds, ten more seeds are wanted (--seeds 20)"),
        (20, "undecided after 20 seeds"),
    ],
)
def test_an_undecided_finding_has_its_interval_and_says_what_it_wants(seeds, note):
    finding = ledger(protocol_rows(seeds=seeds, noise=400.0), [])[5].findings[0]
    assert finding.verdict == UNDECIDED
    assert finding.numbers.endswith(f"; {note}")


def test_every_claim_names_the_table_or_figure_that_it_stands_on():
    for claim in ledger(all_rows(2)):
        assert claim.source.startswith("section")
        assert "Table" in claim.source or "Figure" in claim.source


def test_claims_on_models_that_are_not_there_are_undecided():
    claims = ledger(protocol_rows(("PBM", "UBM")), graded_log())
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
    assert verdicts(rows)[number] == HOLDS
    assert verdicts(swapped(rows, *pair))[number] == FAILS


def test_max_reward_that_loses_on_mismatch_is_found_to_lose():
    rows = [
        row | {"max_reward_deployed": 0.9 * row["top_down_deployed"]}
        for row in protocol_rows(MODELS)
    ]
    assert verdicts(rows)[5:7] == [FAILS, HOLDS]


# Claim 1 on a real log


@loop_over(("lead", "verdict"), [(0.1, HOLDS), (0.0, UNDECIDED), (-0.1, FAILS)])
def test_the_best_baseline_of_a_real_log_is_compared_query_by_query(lead, verdict):
    finding = ledger([], graded_log(lead))[0].findings[1]
    assert finding.verdict == verdict
    assert finding.numbers.endswith("dCTR − PBM, 50 queries")


def test_a_claim_without_a_real_log_says_that_it_was_not_run():
    claim = ledger(all_rows(3), [])[0]
    assert claim.findings[1].numbers == "not run"
    assert claim.verdict == UNDECIDED


def test_the_rows_of_a_real_log_come_with_the_package():
    assert "TREC sessions" in ledger([])[0].findings[1].numbers


# Claim 2 on Tables 3 and 4


def test_a_collapse_is_one_below_each_click_model_of_the_tables():
    claim = ledger(shift_rows())[1]
    assert claim.verdict == HOLDS
    assert [text.split(":")[0] for text in claim.findings[1].numbers.split("; ")] == [
        "PBM", "UBM", "DBN", "NCM", "CACM-minus",
    ]  # fmt: skip


def test_one_click_model_that_is_worse_refutes_a_collapse():
    claim = ledger(shift_rows(numbers={"PBM": (1.33, 0.75, 1.5)}))[1]
    assert [found.verdict for found in claim.findings] == [HOLDS] * 2 + [FAILS] * 2 + [HOLDS] * 4


def test_a_collapse_under_one_user_and_not_under_the_other_depends_on_the_user():
    rows = shift_rows()
    for row in rows:
        if (row["user"], row["model"]) == ("CoCM", "PBM"):
            row["perplexity_reversed"] += 0.2
    claim = ledger(rows)[1]
    depends = "depends on the user"
    assert claim.verdict == depends
    assert [found.verdict for found in claim.findings[:4]] == [HOLDS] * 2 + [depends] * 2
    assert claim.findings[2].numbers.startswith("holds here: PBM: +")
    assert claim.findings[3].numbers.startswith("does not hold here: PBM: -")


def test_causal_arm_has_no_part_in_a_collapse():
    rows = shift_rows(numbers={"ARM": (1.33, 0.75, 1.9)})
    assert ledger(rows)[1].verdict == HOLDS


def test_a_collapse_within_noise_is_undecided():
    assert ledger(shift_rows(noise=2000.0))[1].verdict == UNDECIDED


def test_the_grid_has_no_say_in_a_collapse():
    assert ledger(protocol_rows())[1].verdict == UNDECIDED


def test_an_infinite_perplexity_is_a_collapse_and_no_error():
    rows = shift_rows(numbers={"dCTR": (1.36, 0.92, np.inf)})
    assert ledger(rows)[1].verdict == HOLDS


# Claim 3 by counter-examples

IN_ORDER = {
    name: (1.3 + 0.01 * place, 0.9 - 0.01 * place, 1.4 + 0.01 * place)
    for place, name in enumerate(("PBM", "UBM", "DBN", "NCM", "CACM-minus"))
}


def test_a_significant_reversal_is_named_with_its_intervals():
    numbers = IN_ORDER | {"PBM": (1.3, 0.9, 1.415)}
    claim = ledger(shift_rows(seeds=5, numbers=numbers))[2]
    assert [found.verdict for found in claim.findings] == [HOLDS, HOLDS]
    assert claim.findings[0].numbers.startswith("2 of 20 pairs reverse at 5%/20 (2 at 5%); ")
    assert "DBN user: PBM is ahead of UBM by 0.0" in claim.findings[0].numbers


def test_perplexity_and_ndcg_that_predict_are_found_to_predict():
    claim = ledger(shift_rows(numbers=IN_ORDER))[2]
    assert [found.verdict for found in claim.findings] == [FAILS, FAILS]


def test_ndcg_alone_may_predict():
    numbers = IN_ORDER | {"PBM": (1.3, 0.885, 1.415)}
    claim = ledger(shift_rows(seeds=5, numbers=numbers))[2]
    assert [found.verdict for found in claim.findings] == [HOLDS, FAILS]


def test_models_that_are_alike_in_distribution_are_no_counter_example():
    numbers = IN_ORDER | {"PBM": (1.31, 0.89, 1.45)}
    numbers |= {"UBM": (1.31, 0.89, 1.41), "DBN": (1.31, 0.89, 1.42), "NCM": (1.31, 0.89, 1.43)}
    numbers |= {"CACM-minus": (1.31, 0.89, 1.44)}
    claim = ledger(shift_rows(numbers=numbers))[2]
    assert [found.verdict for found in claim.findings] == [UNDECIDED, UNDECIDED]
    assert "nearest to it: " in claim.findings[0].numbers


def test_a_reversal_must_stand_at_a_level_divided_by_the_pairs():
    seen = np.array([[0.0, 1.3], [0.0, 2.1], [0.0, 2.9]])  # the 95% interval begins at 0.11
    alone = Comparison("here", ("A", "B"), seen, -seen)
    assert find_reversals([alone]).verdict == HOLDS
    assert find_reversals([alone] * 10).verdict == UNDECIDED


# Claim 7


def test_what_the_released_reward_omits_is_told_with_claim_7():
    assert "omits a factor" in ledger(protocol_rows())[6].findings[0].numbers


def test_the_conclusion_survives_only_where_it_holds():
    noisy, clear = (
        ledger(protocol_rows(seeds=5, noise=noise))[6].findings[0] for noise in (400.0, 1.0)
    )
    assert (noisy.verdict, clear.verdict) == (UNDECIDED, HOLDS)
    assert "survives" not in noisy.numbers
    assert "survives" in clear.numbers


def test_a_candidate_changes_no_verdict():
    rows = protocol_rows()
    candidate = [row | {"model": "Mine"} for row in rows if row["model"] == "NCM"]
    assert ledger([*rows, *candidate]) == ledger(rows)


def test_the_ledger_in_markdown_has_a_line_a_claim_and_a_finding():
    claims = ledger(protocol_rows())
    text = ledger_markdown(ledger_lines(claims), RULES)
    lines = [line for line in text.splitlines() if line.startswith("|")]
    assert len(lines) == 2 + 8 + sum(len(claim.findings) for claim in claims)
