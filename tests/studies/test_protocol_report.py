"""Figures, tables and the page of the robustness protocol, from rows that are made up."""

from __future__ import annotations

import html
import json
import math
import re
import shutil
import subprocess
import warnings

import numpy as np
import pytest
from looping import loop_over
from markupsafe import escape
from protocol_rows import LOGGINGS, MODELS, USERS, protocol_rows

from clickgym.studies.engine.rows import describe_seeds, where
from clickgym.studies.robustness.conditions import (
    Condition,
    in_distribution,
    out_of_distribution,
    read_complete_seeds,
)
from clickgym.studies.robustness.protocol_report import (
    FIGURES,
    figure_2,
    make_report,
    policy_table,
    prediction_table,
    write_report,
)
from clickgym.studies.robustness.relative import compared_models, relative, relative_table
from clickgym.studies.robustness.spider import spider

pytest.importorskip("matplotlib")
CANDIDATE = "<script>alert('x')</script>"


@pytest.fixture(autouse=True)
def no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@pytest.fixture(scope="module")
def rows():
    return protocol_rows()


# Figure 1's axes


def test_the_papers_grid_has_27_axes_out_of_distribution_and_9_in(rows):
    assert len(set(out_of_distribution(rows))) == 27
    assert len(set(in_distribution(rows))) == 9


@loop_over(
    ("logging", "tests"),
    [
        ("epsilon-oracle", ["LambdaMART", "BM25", "random"]),
        ("LambdaMART", ["oracle", "BM25", "random"]),
        ("BM25", ["oracle", "LambdaMART", "random"]),
    ],
)
def test_the_test_policy_of_the_logs_own_kind_is_no_axis(rows, logging, tests):
    axes = [one for one in out_of_distribution(rows) if one.logging == logging]
    assert [one.test for one in axes if one.user == "DBN"] == tests


def test_axes_that_nothing_was_measured_on_are_left_out(rows):
    without = [row | {"perplexity_random": None} for row in rows]
    assert len(out_of_distribution(without)) == 18


# Equation 16


def test_equation_16_by_hand():
    rows = protocol_rows(("PBM", "UBM", "DBN"), seeds=2)
    numbers = {("PBM", 0): 1.2, ("UBM", 0): 1.3, ("DBN", 0): 1.6,
               ("PBM", 1): 1.5, ("UBM", 1): 1.1, ("DBN", 1): 1.2}  # fmt: skip
    rows = [row | {"perplexity_BM25": numbers[row["model"], row["seed"]]} for row in rows]
    condition = Condition("DBN", "LambdaMART", "BM25")
    seeds, values = relative(rows, [condition], ("PBM", "UBM", "DBN"))
    quarter, worst = 0.2 + math.log(1.25), 0.2 + math.log(2.0)
    assert seeds == [0, 1]
    np.testing.assert_allclose(values[:, 0], [[0.2, quarter, worst], [worst, 0.2, quarter]])


def test_models_are_compared_in_complete_seeds_only(rows):
    lost = [row for row in rows if (row["model"], row["seed"]) != ("UBM", 1)]
    assert relative(lost, out_of_distribution(lost), MODELS)[0] == [0, 2]


def test_complete_values_are_those_of_the_rows(rows):
    conditions = [Condition("CoCM", "BM25"), Condition("DBN", "LambdaMART", "random")]
    seeds, values = read_complete_seeds(rows, conditions, ("NCM", "PBM"))
    assert values.shape == (3, 2, 2)
    (row,) = where(rows, user="DBN", logging="LambdaMART", model="NCM", seed=2)
    assert values[seeds.index(2), 1, 0] == row["perplexity_random"]


def test_figure_1_compares_no_oracle_no_baseline_and_no_arm_nc(rows):
    assert compared_models(rows) == list(MODELS)


def test_a_candidate_comes_after_the_papers_models():
    rows = protocol_rows(("Mine", *MODELS, "oracle"), seeds=1)
    assert compared_models(rows) == [*MODELS, "Mine"]


def test_the_companion_table_averages_over_the_axes(rows):
    table = relative_table(rows)
    values = relative(rows, out_of_distribution(rows), MODELS)[1]
    np.testing.assert_allclose(table.values("NCM", "ood"), values.mean(axis=1)[:, 5])
    assert table.models == list(MODELS)


def test_the_companion_table_has_the_papers_measure_of_robustness(rows):
    table = relative_table(rows)
    rise = table.values("PBM", "ood") - table.values("PBM", "ind")
    np.testing.assert_allclose(table.values("PBM", "ood − ind"), rise)


def test_a_model_without_one_axis_has_a_gap_there_and_no_mean(rows):
    partial = [
        row | ({"perplexity_random": None} if row["model"] == "NCM" else {}) for row in rows
    ]
    table = relative_table(partial)
    assert not len(table.values("NCM", "ood"))
    assert len(table.values("NCM", "ind")) == len(table.values("PBM", "ood")) == 3
    points = [line.get_ydata() for line in spider(partial).axes[5].lines][-1]
    assert np.isnan(points).sum() == 9


# Figures


@pytest.fixture(scope="module")
def charts(rows):
    return spider(rows)


def drawn_texts(panel):
    return [text.get_text() for text in panel.texts]


def test_a_spider_chart_a_model_with_labels_for_all_axes(charts):
    assert [panel.get_title() for panel in charts.axes] == list(MODELS)
    assert all(len(drawn_texts(panel)) == 27 + 9 for panel in charts.axes)
    assert "3 seeds (0 to 2)" in charts.get_supxlabel()


def test_the_in_distribution_charts_have_nine_axes(rows):
    assert all(len(drawn_texts(panel)) == 9 for panel in spider(rows, False).axes)


def test_the_spiders_legend_is_complete(charts):
    (legend,) = charts.legends
    labels = " ".join(text.get_text() for text in legend.get_texts())
    words = ["in distribution", "out of distribution", "95% interval", "training policy"]
    for word in (*words, "test policy", *USERS):
        assert word in labels


def test_the_spiders_line_passes_through_equation_16(rows, charts):
    condition = out_of_distribution(rows)[4]
    mean = relative(rows, [condition], MODELS)[1][:, 0, MODELS.index("DBN")].mean()
    lines = [line.get_ydata() for line in charts.axes[2].lines]
    outside = [line for line in lines if len(line) == 27][1]  # the points, in distribution first
    assert outside[4] == pytest.approx(mean)


def test_figure_2_has_bars_of_click_through_rates(rows):
    figure = figure_2(rows)
    assert len(figure.axes) == 9
    bars = [patch.get_height() for patch in figure.axes[0].patches]
    chosen = where(rows, user="DBN", logging="epsilon-oracle", model="PBM")
    assert len(bars) == 2 * len(MODELS)
    assert bars[0] == pytest.approx(np.mean([row["top_down_deployed"] / 10 for row in chosen]))


@loop_over("draw", [spider, figure_2])
@loop_over("models", [("TopPop",), ("PBM",), ("PBM", "my.module:LongModel")])
def test_figures_of_few_models_are_drawn(draw, models, tmp_path):
    rows = protocol_rows(models, seeds=1, users=("CoCM",))
    draw(rows).savefig(tmp_path / "figure.png", dpi=20)
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")


@loop_over(
    ("groups", "text"),
    [
        ([[0, 1, 2], [2, 1, 0]], "3 seeds (0 to 2)"),
        ([[4, 0]], "2 seeds (0, 4)"),
        ([[3]], "one seed (3), so no intervals"),
        ([[0, 1], [0, 1, 2], []], "2 to 3 seeds, not all alike"),
    ],
)
def test_figures_say_their_seeds(groups, text):
    assert describe_seeds(groups) == text


def test_a_candidate_with_fewer_seeds_leaves_those_to_the_others(rows):
    candidate = [row | {"model": "Mine"} for row in where(rows, model="NCM") if row["seed"] < 2]
    assert "2 seeds (0 to 1)" in spider([*rows, *candidate], False).get_supxlabel()


# Tables


def test_perplexities_of_arm_nc_are_bracketed_and_the_oracle_is_not_best(rows):
    table = prediction_table(rows, "CoCM", "BM25")
    assert table.cells()["ARM-NC"][0].text.startswith("(")
    marked = {model: cells[0].mark for model, cells in table.cells().items()}
    assert marked["oracle"] == marked["ARM-NC"] == ""
    assert "bold" in marked.values()


def test_policies_are_shown_as_click_through_rates(rows):
    table = policy_table(rows, "CoCM", "BM25")
    chosen = where(rows, user="CoCM", logging="BM25", model="UBM")
    wanted = [row["max_reward_promised"] / 10 for row in chosen]
    np.testing.assert_allclose(table.values("UBM", "Max-Reward, promised"), wanted)
    assert table.models == list(MODELS)
    assert "logging policy 0.100" in table.title


def test_promises_are_not_compared(rows):
    assert set(policy_table(rows, "CoCM", "BM25").marks("Max-Reward, promised").values()) == {""}


# The page


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    rows = protocol_rows((*MODELS, CANDIDATE, "TopPop", "oracle"), users=("CoCM",))
    return write_report(rows, tmp_path_factory.mktemp("report"), {"world": CANDIDATE, "seeds": 3})


def test_the_report_is_a_folder_of_whole_files(page):
    names = {path.name for path in page.parent.iterdir()}
    assert names == {*FIGURES, "report.html", "tables.md", "ledger.md"}


def test_the_report_says_how_many_worlds_there_are_and_how_unequal_their_queries(rows):
    drawn = {"head_query": 0.19, "effective_queries": 19.3}
    every = [row | {"world_seed": row["seed"]} | drawn for row in rows]
    assert (
        "There are 3 worlds, over which intervals are: the most frequent query has 19% of the "
        "traffic, so that it is as if 19 queries were equally frequent"
    ) in make_report(every).summary
    one = [row | {"world_seed": 0} | drawn for row in rows]
    few = [row | {"world_seed": row["seed"] % 2} | drawn for row in rows]
    assert "2 worlds for 3 seeds, so that intervals are too narrow" in make_report(few).summary
    assert "There is one world: the most frequent query has 19%" in make_report(one).summary
    assert "world" not in make_report(rows).summary


def test_the_page_escapes_names_and_settings(page):
    text = page.read_text()
    assert text.count("<script>") == 1
    assert escape(CANDIDATE) in text


def test_the_page_asks_for_nothing_from_elsewhere(page):
    text = page.read_text()
    assert not re.search(r"https?:|\burl\(|@import|<link|<iframe", text)
    sources = re.findall(r'\bsrc="([^"]{10})', text)
    assert sources == ["data:image"] * len(FIGURES)


def test_the_page_has_every_users_tables_and_figures(page):
    text = page.read_text()
    assert text.count("<figure>") == len(FIGURES)
    assert text.count("<caption>") == 1 + 2 * len(LOGGINGS)


def test_rows_that_stand_there_twice_are_an_error(rows, tmp_path):
    with pytest.raises(ValueError, match="twice"):
        write_report([*rows, rows[0]], tmp_path, {})
    assert list(tmp_path.iterdir()) == []


def test_no_rows_are_an_error(tmp_path):
    with pytest.raises(ValueError, match="no rows"):
        write_report([], tmp_path, {})


# The page in a browser

BROWSER = shutil.which("chromium")
in_browser = pytest.mark.skipif(BROWSER is None, reason="chromium is not installed")
CLICKS = """
const table = document.querySelectorAll("table.sortable")[1];
const heading = (name) => Array.from(table.tHead.rows[0].cells)
  .find((cell) => cell.textContent.startsWith(name));
const column = (name) => Array.from(table.tBodies[0].rows)
  .map((row) => row.cells[heading(name).cellIndex].textContent);
const result = {};
for (const [step, name] of [["up", "ind PPL"], ["down", "ind PPL"], ["names", "model"]]) {
  heading(name).querySelector("button").click();
  result[step] = column(name);
  result[step + "-sort"] = heading(name).getAttribute("aria-sort");
}
result.resources = performance.getEntriesByType("resource").map((entry) => entry.name.slice(0, 5));
document.body.insertAdjacentHTML("beforeend", "<pre id='result'></pre>");
document.getElementById("result").textContent = JSON.stringify(result);
"""


def browse(path, profile):
    command = [
        BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
        "--disable-background-networking", "--disable-component-update", "--disable-sync",
        f"--user-data-dir={profile}", "--dump-dom", path.as_uri(),
    ]  # fmt: skip
    run = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return run.stdout


@in_browser
def test_the_pages_own_script_runs_in_a_browser_and_no_other(page, tmp_path):
    injected = tmp_path / "injected.html"
    script = "<script>document.title = 'injected'</script></body>"
    injected.write_text(page.read_text().replace("</body>", script))
    found = browse(injected, tmp_path / "profile")
    assert 'title="sort by this column"' in found
    assert "<title>injected" not in found


@in_browser
def test_clicks_on_headings_sort_a_table_in_a_browser(page, tmp_path):
    clicked = tmp_path / "clicked.html"
    text = re.sub(r"script-src '[^']*'", "script-src 'unsafe-inline'", page.read_text())
    clicked.write_text(text.replace("</body>", f"<script>{CLICKS}</script></body>"))
    found = browse(clicked, tmp_path / "profile")
    result = json.loads(html.unescape(re.search(r'<pre id="result">(.*?)</pre>', found)[1]))
    numbers = [float(re.sub(r"^=| ±.*", "", text)) for text in result["up"][:-1]]
    assert numbers == sorted(numbers)
    assert result["up"][-1] == result["down"][-1] == "–"  # TopPop has none, and stays last
    assert result["down"][:-1] == result["up"][-2::-1]
    assert (result["up-sort"], result["down-sort"]) == ("ascending", "descending")
    assert result["names"] == sorted(result["names"], key=str.casefold)
    assert set(result["resources"]) <= {"data:"}
