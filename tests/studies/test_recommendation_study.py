"""The study of the recommendation paper: numbers of its claims, verdicts, tables, the command."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from clickgym import clickmodels, data, evaluation, policies, studies
from clickgym.evaluation.recommendation.system_scores import SystemScores
from clickgym.scripts.papers.recommend import main
from clickgym.studies.claims import FAILS, HOLDS, UNDECIDED
from clickgym.studies.engine.rows import where
from clickgym.studies.recommendation.recommendation_claims import (
    CLAIMS,
    FORMS,
    SYSTEMS,
    USERS,
    Check,
    MeanScores,
    bound,
)
from clickgym.studies.recommendation.recommendation_ledger import (
    Found,
    judge_conditions,
    recommendation_ledger,
)
from clickgym.studies.recommendation.recommendation_tables import table_2

NDCG = "nDCG"
# Table 2 of the paper: nDCG, precision, then the seven users.
PAPER = np.array([
    [0.150, 0.146, 0.139, 0.081, 0.020, 0.088, 0.020, 0.087, 0.067],
    [0.043, 0.049, 0.048, 0.023, 0.001, 0.025, 0.001, 0.039, 0.034],
    [0.023, 0.028, 0.026, 0.014, 0.003, 0.015, 0.003, 0.022, 0.020],
    [0.005, 0.006, 0.006, 0.003, 0.000, 0.003, 0.000, 0.006, 0.006],
    [0.000, 0.000, 0.001, 0.000, 0.000, 0.000, 0.000, 0.001, 0.001],
])  # fmt: skip
TESTS = {key: test for claim in CLAIMS for key, test in claim.tests.items()}


def paper_number(key: str) -> float:
    scores = MeanScores(PAPER, SYSTEMS, (NDCG, "precision", *USERS))
    return float(TESTS[key].number(scores, NDCG).min())


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    pytest.importorskip("numba", reason="the recsys extra is not installed")
    study = studies.Recommend.small()
    return studies.compute_study(study, tmp_path_factory.mktemp("recommend")).rows


def test_the_papers_own_numbers_give_its_claims():
    for key in (
        "popular-precision", "popular-ndcg", "item-precision", "item-ndcg", "no-bias-metric",
        "no-bias-user", "examination-log", "browsing-log", "cascade-ndcg", "cascade-precision",
        "excess-mean", "excess-most", "deviation-cascade", "swap-quadratic",
    ):  # fmt: skip
        assert paper_number(key) > 0.0, key


def test_the_papers_own_numbers_give_its_errors_up_to_their_rounding():
    scores = MeanScores(PAPER, SYSTEMS, (NDCG, "precision", *USERS))
    printed = {
        NDCG: [0.00363, 0.00083, 0.00242, 0.00070, 0.00242, 0.00683, 0.00711],
        "precision": [0.00017, 0.00197, 0.00286, 0.00254, 0.00286, 0.00471, 0.00550],
    }
    for metric, errors in printed.items():
        # Scores are printed with three digits; random last digits moved errors by up to 7.9e-4.
        assert scores.error(metric, USERS) == pytest.approx(errors, abs=8e-4)
    assert paper_number("ratio-browsing") > paper_number("ratio-examination") > 2.0


def test_a_swap_counts_only_where_the_order_changes():
    scores = MeanScores(PAPER, SYSTEMS, (NDCG, "precision", *USERS))
    swaps = TESTS["some-swap"].number(scores, NDCG)
    assert swaps.shape == (7 * 10,)
    assert np.flatnonzero(swaps > 0).tolist() == [2 * 10 + 4, 4 * 10 + 4]  # MF, UB under quad


def test_every_and_some_take_the_least_and_the_greatest_condition():
    rng = np.random.default_rng(0)
    per_user = rng.normal([[[0.2]], [[1.0]], [[-3.0]]], 1.0, size=(3, 1, 400))
    scores = SystemScores(("a", "b", "c"), ("m",), per_user, np.ones(400))
    drawn = scores.resample(200, 0)
    every, some = (
        bound(Check("", lambda found, _: found.of("m"), some=chosen), "m", scores, drawn, 0.05)
        for chosen in (False, True)
    )
    assert every.condition == 2
    assert some.condition == 1
    assert every.low < every.value == scores.means().min() < every.high
    assert some.low < some.value == scores.means().max() < some.high


def found(low, high, by_split=(1.0, 1.0)):
    return Found((low + high) / 2, low, high, by_split, ())


def test_verdicts_name_what_turns_them():
    above, below, unsure = found(1, 2), found(-2, -1), found(-1, 2)
    other = list(FORMS)[1]
    four = [(False, NDCG), (False, other), (True, NDCG), (True, other)]

    def judge(*ones):
        return judge_conditions(dict(zip(four, ones, strict=True)), 0.0)

    assert judge(above, above, above, above) == judge(above, unsure, above, above) == HOLDS
    assert judge(below, below, below, below) == judge(below, unsure, below, unsure) == FAILS
    assert judge(unsure, above, unsure, below) == UNDECIDED
    assert judge(above, above, below, below) == "depends on training items"
    assert judge(above, above, unsure, above) == "depends on training items"
    assert judge(above, below, below, above) == "depends on the form of nDCG"
    assert judge(above, above, below, above) == "depends on training items and the form of nDCG"
    both = found(-1, 2, (1.0, -1.0))
    assert judge(both, above, unsure, above) == judge(both, above, both, below)
    assert judge(both, above, both, below) == "depends on the split"
    assert judge(both, above, above, above) == "depends on training items and the split"


def test_a_claim_that_depends_says_on_what():
    findings = [studies.Finding("", verdict, "") for verdict in (HOLDS, "depends on the split")]
    assert studies.Claim("", "", tuple(findings)).verdict == "depends on the split"
    both = studies.Finding("", "depends on training items and the split", "")
    reasons = studies.Claim("", "", (*findings, both)).verdict
    assert reasons == "depends on the split and training items"
    assert studies.Claim("", "", (*findings, studies.Finding("", FAILS, ""))).verdict == FAILS


def test_rows_have_the_exact_rates_and_metrics_of_the_lists(rows):
    train, test = data.synthetic_ratings(40, 50, seed=0).split(0.8, seed=1)
    world = test.world(train, training_items=True)
    ranker = policies.recommender("user-based", train, world, slots=5, seed=1)
    part = where(rows, split=1, training_items=True, system="user-based", kind="score")
    values = {row["metric"]: row["value"] for row in part}
    for name in USERS:
        user = clickmodels.true_user(name, world, slots=5)
        assert values[name] == pytest.approx(evaluation.value(ranker, user, world).value / 5)
    assert values["precision"] == pytest.approx(evaluation.list_precision(ranker, world).mean())
    assert values[NDCG] == pytest.approx(evaluation.list_ndcg(ranker, world).mean())
    (shown,) = where(rows, split=1, training_items=True, system="user-based", kind="share unrated")
    assert shown["value"] == pytest.approx(evaluation.share_unrated(ranker, world))


def test_a_metric_fitted_to_users_who_look_by_place_alone_is_their_rate(rows):
    for user in USERS[:3]:
        for row in where(rows, kind="error", metric="fitted discount and gain", rate=user):
            assert row["value"] == pytest.approx(0.0, abs=1e-9)
    assert max(row["value"] for row in where(rows, kind="error", metric="precision")) > 1e-4


def test_the_ledger_has_every_claim_with_numbers_of_both_ways(rows):
    claims = recommendation_ledger(rows)
    assert len(claims) == len(CLAIMS)
    for claim in claims:
        for finding in claim.findings:
            assert finding.numbers.startswith("training items out, ")
            assert "; training items in, " in finding.numbers


def test_without_all_systems_claims_are_undecided(tmp_path):
    pytest.importorskip("numba", reason="the recsys extra is not installed")
    study = dataclasses.replace(
        studies.Recommend.small(), systems=("random", "popularity", "mf"), splits=1
    )
    rows = studies.compute_study(study, tmp_path).rows
    assert {claim.verdict for claim in recommendation_ledger(rows)} == {UNDECIDED}


def test_table_2_marks_ranks_that_change_and_the_greatest_error(rows):
    table = table_2(rows, 0, False)
    assert list(table.rows) == [*SYSTEMS, "RSE nDCG", "RSE precision"]
    assert table.headings == [NDCG, "precision", *USERS]
    for system in SYSTEMS:
        own = table.rows[system][1].text.split()[0]
        for cell in table.rows[system]:
            assert cell.bold == (cell.text.split()[0] != own)
    for metric in (NDCG, "precision"):
        errors = table.rows[f"RSE {metric}"][2:]
        assert [cell.bold for cell in errors].count(True) == 1
        assert max(errors, key=lambda cell: cell.value).bold


def test_other_splits_and_other_seeds_give_other_numbers(rows, tmp_path):
    study = dataclasses.replace(studies.Recommend.small(), splits=1, ratings_seed=1)
    other = studies.compute_study(study, tmp_path).rows
    values = [
        tuple(row["value"] for row in where(part, kind="score", split=split, training_items=False))
        for part, split in ((rows, 0), (rows, 1), (other, 0))
    ]
    assert len(set(values)) == 3


def test_a_study_of_a_file_has_the_exact_numbers_of_its_ratings(tmp_path):
    ratings = data.synthetic_ratings(40, 50, seed=0)
    lines = [
        f"{user},{item},{rating}"
        for user, item, rating in zip(ratings.user, ratings.item, ratings.rating, strict=True)
    ]
    (tmp_path / "ratings.csv").write_text("\n".join(lines) + "\n")
    study = dataclasses.replace(
        studies.Recommend.small(), ratings=str(tmp_path), splits=1, users=("no-bias",),
        systems=("popularity", "random", "mf"),
    )  # fmt: skip
    rows = studies.compute_study(study, tmp_path / "out").rows
    train, test = data.load_movielens(tmp_path).split(0.8, seed=0)
    world = test.world(train)
    user = clickmodels.true_user("no-bias", world, slots=5)
    scores = where(rows, kind="score", training_items=False, metric="no-bias")
    for system in study.systems:
        ranker = policies.recommender(system, train, world, slots=5, seed=0)
        (row,) = where(scores, system=system)
        wanted = evaluation.value(ranker, user, world).value / 5
        assert row["value"] == pytest.approx(wanted, rel=1e-12)
    assert study.describe()["ratings"] == tmp_path.name
    assert "users" not in {name for name in study.describe() if name != "user"}


def test_the_command_refuses_what_cannot_be(tmp_path):
    out = ["--out", str(tmp_path / "out")]
    with pytest.raises(ValueError, match=r"--users: for embedded ratings, not for --ratings"):
        main(["--ratings", "x", "--users", "5", *out])
    with pytest.raises(FileNotFoundError, match="x"):
        main(["--ratings", str(tmp_path / "x"), *out])
    with pytest.raises(ValueError, match=r"--system must be at least 3"):
        main(["--system", "random", "mf", *out])
    with pytest.raises(ValueError, match=r"--users must be at least 2, not 0"):
        main(["--users", "0", *out])
    assert not (tmp_path / "out").exists()
