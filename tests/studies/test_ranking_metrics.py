"""The study of ranking metrics: its user, traffic and scoring functions, and what it concludes."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chisquare

from clickgym import data, evaluation
from clickgym.clickmodels import ClickModel
from clickgym.scripts import main
from clickgym.studies import Measurements, RankingMetrics, WorldSetting, ranking_ledger, run_study
from clickgym.studies.ranking_metrics import training_cells
from clickgym.studies.ranking_metrics.metric_cells import MetricCell, metric_cell
from clickgym.studies.ranking_metrics.one_click import OneClick
from clickgym.studies.ranking_metrics.ranking_metric_pictures import study_pictures
from clickgym.studies.ranking_metrics.ranking_metric_tables import agreement_table, value_table
from clickgym.studies.ranking_metrics.scoring_functions import BEST, WORST, draw_functions
from clickgym.studies.ranking_metrics.setting import TrafficSetting, scene_of
from clickgym.studies.ranking_metrics.traffic import BANNERS, make_production, true_user
from clickgym.studies.ranking_metrics.training_cells import TrainingCell, training_cell
from clickgym.studies.ranking_metrics.value_cells import ESTIMATORS, ValueCell, value_cell

SETTING = TrafficSetting(
    "small", 3, WorldSetting(n_queries=20, n_docs=12), 4_000, 0.1, 20_000, 6
)  # fmt: skip


def pages(user, n=6, slots=4, seed=0):
    rng = np.random.default_rng(seed)
    n_queries, n_docs = user.shape
    ranking = np.argsort(rng.random((n, n_docs)), axis=1)[:, :slots]
    return rng.integers(0, n_queries, n), ranking


@pytest.fixture(scope="module")
def user():
    rng = np.random.default_rng(0)
    return OneClick(rng.uniform(0.0, 0.4, (3, 7)), [1.0, 0.6, 0.4, 0.3])


def test_the_user_clicks_as_a_position_based_one_and_at_most_once(user):
    query, ranking = pages(user)
    expected = user.relevance()[query[:, None], ranking] * [1.0, 0.6, 0.4, 0.3]
    assert user.click_probs(query, ranking) == pytest.approx(expected)
    assert ClickModel.click_probs(user, query, ranking) == pytest.approx(expected)
    assert user.expected_clicks(query, ranking) == pytest.approx(expected.sum(axis=1))
    for clicks in itertools.product([False, True], repeat=4):
        given = np.tile(clicks, (len(query), 1))
        chance = np.exp(user.log_likelihood(query, ranking, given))
        if sum(clicks) > 1:
            assert not chance.any()
        elif sum(clicks) == 1:
            assert chance == pytest.approx(expected[:, clicks.index(True)])
        else:
            assert chance == pytest.approx(1.0 - expected.sum(axis=1))


def test_clicks_are_drawn_with_their_probabilities(user):
    query, ranking = pages(user, 2)
    again = np.repeat([0, 1], 20_000)
    clicks = user.sample(query[again], ranking[again], np.random.default_rng(1))
    assert clicks.sum(axis=1).max() == 1
    for row in (0, 1):
        counts = clicks[again == row].sum(axis=0)
        probs = user.click_probs(query, ranking)[row]
        observed = [*counts, 20_000 - counts.sum()]
        assert chisquare(observed, [*(probs * 20_000), (1.0 - probs.sum()) * 20_000]).pvalue > 1e-4


def test_a_user_with_more_than_one_expected_click_is_refused():
    with pytest.raises(ValueError, match=r"up to 1\.5 expected clicks, but it has one at most"):
        OneClick(np.full((1, 2), 0.75), [1.0, 1.0])


def test_attention_falls_with_the_rank_and_more_so_on_large_banners():
    world = data.synthetic_world(5, 12)
    small, large = (true_user(world, name).independent.examination for name in ("small", "large"))
    assert (np.diff(small) < 0).all()
    assert (np.diff(large) < 0).all()
    assert (large[1:4] < small[1:4]).all()
    assert len(large) == BANNERS["large"].slots


def test_productions_error_says_nothing_about_grades_and_can_be_learned_from_features():
    world = data.synthetic_world(40, 20, seed=1)
    found = make_production(world, 0)
    grades = world.relevance - world.relevance.mean(axis=1, keepdims=True)
    assert np.abs((found.error * grades).sum(axis=1)).max() < 1e-9
    assert found.error.mean(axis=1) == pytest.approx(0.0, abs=1e-9)
    assert found.error.std(axis=1) == pytest.approx(1.0)
    features = world.standardised_features.reshape(-1, world.standardised_features.shape[2])
    columns = np.column_stack([features, found.quality.ravel()])
    left = found.error.ravel() - columns @ np.linalg.lstsq(columns, found.error.ravel())[0]
    assert left.var() < 0.5
    assert (found.scores != make_production(world, 1).scores).all()


def test_traffic_comes_from_its_seed():
    first = scene_of(SETTING)
    scene_of.cache_clear()
    again, other = scene_of(SETTING), scene_of(replace(SETTING, seed=4))
    for name in ("log", "shuffled", "reference"):
        one, two, three = (getattr(scene.traffic, name) for scene in (first, again, other))
        assert (one.ranking == two.ranking).all()
        assert (one.clicks == two.clicks).all()
        assert (one.ranking != three.ranking).any()
    assert (first.functions.scores == again.functions.scores).all()
    assert (first.functions.scores != other.functions.scores).any()


def test_shuffled_pages_show_what_production_chose_in_any_order():
    traffic = scene_of(SETTING).traffic
    log = traffic.reference
    query = np.bincount(log.query).argmax()
    weights = traffic.policy.weights[query]
    rows = (log.query == query) & (log.ranking == weights.argmax()).any(axis=1)
    places = np.argmax(log.ranking[rows] == weights.argmax(), axis=1)
    assert chisquare(np.bincount(places, minlength=4)).pvalue > 1e-4
    ordered = traffic.log.ranking[traffic.log.query == query]
    share = (ordered == weights.argmax()).any(axis=1).mean()
    assert rows.sum() / (log.query == query).sum() == pytest.approx(share, abs=0.08)


def test_functions_follow_their_rule_and_nothing_else():
    scene = scene_of(SETTING)
    found = draw_functions(scene.world, scene.production, 40, 3)
    assert (found.quality >= WORST).all()
    assert (found.quality <= BEST).all()
    assert np.corrcoef(found.inherited, found.closeness)[0, 1] > 0.8
    count = scene.world.candidates.sum(axis=1)
    right = (found.scores * scene.production.quality).sum(axis=2) / count
    graded = scene.production.quality.any(axis=1)
    assert right[:, graded].mean(axis=1) == pytest.approx(found.quality, abs=0.2)
    assert np.corrcoef(right[:, graded].mean(axis=1), found.quality)[0, 1] > 0.6
    other = scene_of(replace(SETTING, temperature=2.0, impressions=500, reference=300))
    assert (other.functions.scores == scene.functions.scores).all()


def test_a_cell_has_all_metrics_of_every_function():
    result = metric_cell(MetricCell(SETTING, (1_000, 4_000)))
    assert len(result["ctr"]["production"]) == 4
    names = {name for name, *_ in result["metrics"]}
    assert {"reference", "shuffled", "pairwise", "counterfactual", "estimated"} <= names
    found = {(name, size): values for name, size, _, values, _ in result["metrics"]}
    accepted = {name: share for name, size, share, *_ in result["metrics"] if size == 4_000}
    assert accepted["sharper"] < accepted["counterfactual"] < accepted["flatter"]
    assert found["uniform", 4_000] == pytest.approx(found["shuffled", 4_000], abs=1e-9)
    scene = scene_of(SETTING)
    alone = evaluation.counterfactual_disagreement(
        scene.ordered(1_000), scene.scores[2], scene.traffic.policy
    )
    assert found["counterfactual", 1_000][2] == pytest.approx(float(alone))
    assert len(scene.ordered(1_000)) == 900
    assert len(scene.shuffled(1_000)) == 100


def test_estimates_are_of_every_function_and_size():
    result = value_cell(ValueCell(SETTING, (1_000, 4_000)))
    assert {(name, size) for name, size, *_ in result["estimates"]} == {
        *itertools.product(ESTIMATORS, (1_000, 4_000))
    }
    values = {(name, size): value for name, size, value, _ in result["estimates"]}
    result = metric_cell(MetricCell(SETTING, (4_000,), variants=False))
    truth = np.array(result["functions"]["deployed"])
    assert np.abs(np.array(values["dm-pbm", 4_000]) - truth).max() < 0.1
    assert np.abs(np.array(values["pi", 4_000]) - truth).mean() < 0.2


def test_rankers_learn_from_every_kind_of_pairs_and_are_deployed_on_other_queries():
    setting = replace(SETTING, world=WorldSetting(n_queries=40, n_docs=12))
    found = training_cell(TrainingCell(setting, "linear"))["deployed"]
    pairs = {"naive", "counterfactual", "whole-page", "shuffled"}
    for part in ("ordering", "choosing"):
        values = found[part]
        assert set(values) == {*pairs, "production itself", "best possible"}
        assert all(values[name] < values["best possible"] for name in pairs)
        assert len({round(values[name], 12) for name in pairs}) > 2
    assert found["choosing"]["production itself"] == found["ordering"]["production itself"]
    assert found["choosing"]["best possible"] > found["ordering"]["best possible"]
    scene = scene_of(setting)
    asked = np.arange(40) % 2 == 1
    best = -np.sort(-scene.user.relevance(), axis=1)[asked, :4]
    earned = best @ scene.user.independent.examination
    expected = np.average(earned, weights=scene.world.query_probs[asked])
    assert found["choosing"]["best possible"] == pytest.approx(expected)


@pytest.mark.slow
def test_counterfactual_disagreement_orders_functions_as_shuffled_traffic_does():
    study = RankingMetrics(
        ("large",), 1, 100, WorldSetting(n_queries=60, n_docs=30), (60_000,), 300_000, 40, (0.5,)
    )
    (cell,) = next(study.stages(None, None)).cells
    metrics = {name: values for name, _, _, values, _ in metric_cell(cell)["metrics"]}
    pairwise, counterfactual = (
        evaluation.statistics.rank_correlation(metrics[name], metrics["reference"])
        for name in ("pairwise", "counterfactual")
    )
    assert counterfactual > 0.9
    assert pairwise < counterfactual - 0.1


def row(part, name, at, value, seed=0, impressions=None, stderr=None, accepted=None):
    return {
        "banner": "small", "slots": 4, "temperature": 0.5, "seed": seed, "part": part,
        "name": name, "at": at, "impressions": impressions, "value": value, "stderr": stderr,
        "accepted": accepted,
    }  # fmt: skip


def made_rows(seeds=3):
    """Return rows in which counterfactual is right, pairwise wrong and IPS says nothing."""
    rows = []
    for seed in range(seeds):
        for at in range(6):
            shift = 0.001 * ((at + seed) % 3)
            rows += [
                row("function", "deployed", at, 0.3 - 0.01 * at, seed),
                row("function", "closeness", at, 0.1 * at, seed),
                row("metric", "reference", at, 0.40 + 0.01 * at, seed, 100, 0.01, 1.0),
                row("metric", "shuffled", at, 0.40 + 0.02 * ((at + seed) % 4), seed, 50, 0.04, 1.0),
                row("metric", "pairwise", at, 0.45 - 0.01 * at - shift, seed, 50, 0.01, 1.0),
                row("metric", "counterfactual", at, 0.41 + 0.01 * at + shift, seed, 50, 0.02, 0.4),
                row("estimate", "ips", at, 0.0, seed, 50),
            ]
        rows += [row("ctr", "production", rank, 0.1 / rank, seed) for rank in (1, 2, 3, 4)]
    return rows


def test_measurements_are_compared_function_by_function():
    found = Measurements(made_rows(), 0.5)
    assert found.correlations("counterfactual", "small", "reference") == pytest.approx([1.0] * 3)
    assert found.correlations("counterfactual", "small", "deployed") == pytest.approx([1.0] * 3)
    assert (found.correlations("pairwise", "small", "reference") < -0.9).all()
    assert found.correlations("ips", "small", "deployed") == pytest.approx([0.0] * 3)
    assert found.regrets("counterfactual", "small") == pytest.approx([0.0] * 3)
    assert found.regrets("pairwise", "small") == pytest.approx([100 * (1 - 0.25 / 0.3)] * 3)
    assert found.regrets("ips", "small") == pytest.approx([100 * (1 - 0.275 / 0.3)] * 3)
    ratios = found.variance_ratios("counterfactual", "pairwise", "small")
    assert ratios == pytest.approx([4.0] * 3)
    drawn = found.variance_ratios("counterfactual", "pairwise", "small", drawn=True)
    assert drawn == pytest.approx([2.5] * 3, rel=0.1)
    means, spreads = found.offsets("counterfactual", "small")
    assert means == pytest.approx([0.011] * 3)
    assert spreads == pytest.approx([0.001 * np.sqrt(2 / 3)] * 3)
    assert not found.correlations("pi", "small", "deployed").size
    assert not found.correlations("ips", "small", "deployed", defined=True).size


def test_the_ledger_tells_what_holds_from_what_does_not():
    verdicts = {
        claim.statement: claim.verdict for claim in ranking_ledger(Measurements(made_rows(), 0.5))
    }
    found = [verdicts[one] for one in verdicts if "correlates" in one or "twice" in one]
    assert found == ["holds", "holds", "holds"]
    swapped = [
        one | {"name": {"pairwise": "counterfactual", "counterfactual": "pairwise"}.get(
            one["name"], one["name"])}
        for one in made_rows()
    ]  # fmt: skip
    claims = ranking_ledger(Measurements(swapped, 0.5))
    verdicts = {claim.statement: claim.verdict for claim in claims}
    found = [verdicts[one] for one in verdicts if "correlates" in one or "twice" in one]
    assert found == ["does not hold", "does not hold", "does not hold"]


def test_settings_that_cannot_run_are_named_before_anything_is_written():
    small = RankingMetrics.small()
    with pytest.raises(ValueError, match="sizes must ascend, not 4000, 2000"):
        replace(small, sizes=(4_000, 2_000)).check()
    with pytest.raises(ValueError, match="temperatures must be above 0, not 0"):
        replace(small, temperatures=(0.0,)).check()
    short = WorldSetting(n_queries=5, n_docs=5)
    with pytest.raises(ValueError, match="n_docs must be at least 10, which a large banner shows, "
                                         "not 5"):  # fmt: skip
        replace(small, banners=("small", "large"), world=short).check()
    bare = data.World(np.array([[0, 1, 2, 3, 4]]))
    with pytest.raises(ValueError, match="world: the production ranker needs features"):
        replace(small, world=WorldSetting.from_world(bare)).check()


def test_a_metric_that_is_the_same_for_all_functions_has_no_rank_correlation():
    found = Measurements(made_rows(), 0.5)
    for text in (agreement_table(found).to_markdown(), value_table(found, "small").to_markdown()):
        (line,) = [one for one in text.splitlines() if one.startswith("| IPS ")]
        assert line.split("|")[2].strip() in ("–", "-", "—")
        assert "| metric |" in text


def test_two_seeds_are_too_few_for_intervals():
    for seeds, shown in ((2, False), (3, True)):
        found = Measurements(made_rows(seeds), 0.5)
        for table in (agreement_table(found), value_table(found, "small")):
            text = table.to_markdown()
            assert ("±" in text) == shown
            assert ("2 seeds, too few for intervals" in text) != shown


def test_tables_stand_where_a_seed_lacks_a_part():
    rows = [one for one in made_rows() if (one["name"], one["seed"]) != ("ips", 1)]
    table = value_table(Measurements(rows, 0.5), "small")
    assert len(table.values("IPS", "loss of its pick, %")) == 2
    assert table.models[-1] == "pairwise, long shuffled log"


def test_pictures_of_one_banner_and_two_seeds_show_what_is_negative():
    rows = made_rows(2) + [
        one | {"temperature": 1.0} for one in made_rows(2) if one["part"] != "estimate"
    ]
    rows += [row(part, name, 0, 0.1 + seed, seed) for part in ("ordering", "choosing")
             for name in ("linear, naive pairs", "best possible") for seed in (0, 1)]  # fmt: skip
    rows += [one | {"name": "shuffled"} for one in rows if one["part"] == "ctr"]
    pictures = study_pictures(Measurements(rows, 0.5))
    axis = pictures["samples.png"][1].axes[0]
    assert axis.get_ylim()[0] < -0.9  # pairwise is wrong throughout
    for name, (_, figure) in pictures.items():
        figure.canvas.draw()
        width = figure.bbox.width
        texts = [one.title for one in figure.axes]
        texts += [text for one in figure.axes if one.get_legend() for text in
                  one.get_legend().get_texts()]  # fmt: skip
        texts += [text for legend in figure.legends for text in legend.get_texts()]
        for text in texts:
            box = text.get_window_extent()
            assert box.x0 > -1, (name, text)
            assert box.x1 < width + 1, (name, text)


def test_a_report_names_what_failed_and_what_it_is_good_for(tmp_path, monkeypatch, capsys):
    def fail(*_, **__):
        raise ValueError("nothing to learn")

    monkeypatch.setitem(training_cells.LEARNERS, "linear", fail)
    small = replace(RankingMetrics.small(), temperatures=(0.5,), sizes=(1_000,))
    assert run_study(small, tmp_path) == 1
    page = (tmp_path / "report.html").read_text()
    where = "training rankers, linear, small banner, T = 0.5, seed 0"
    assert page.rindex("What failed") < page.index(where) < page.rindex("Ledger of claims")
    assert "nothing to learn" in page
    assert f"failed: {where}" in capsys.readouterr().err
    assert "for looking, not for deciding: 1 seed and logs of up to 1,000 impressions" in page


def test_options_list_their_values_and_take_them_as_tables_write_them(capsys):
    with pytest.raises(SystemExit):
        main(["ranking-metrics", "--help"])
    text = " ".join(capsys.readouterr().out.split())
    assert "size of the pages; one of small, large" in text
    assert "one of linear, LightGBM" in text
    for words in (("--banner", "small banner"), ("--learner", "lightgbm")):
        assert main(["ranking-metrics", "quick", "--docs", "3", *words]) == 1
        assert "--docs must be at least" in capsys.readouterr().err
    for words in (("--banner", "huge"), ("--learner", "forest")):
        assert main(["ranking-metrics", "quick", *words]) == 1
        assert f"{words[0]} must be one of" in capsys.readouterr().err
