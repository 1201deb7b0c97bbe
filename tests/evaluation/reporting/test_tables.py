"""Tables of results."""

from __future__ import annotations

import io

import numpy as np
import pytest
from looping import loop_over
from rich.console import Console

from clickgym.evaluation import Interval, Metric, ResultTable, interval
from clickgym.evaluation.reporting.formats import PlainTable
from clickgym.evaluation.reporting.records import Record, write_records

PPL = Metric("PPL", lower_is_better=True, digits=3, brackets=("ARM-NC",), exclude=("oracle",))
NDCG = Metric("nDCG@3", lower_is_better=False, digits=2, reference="ARM-NC", daggers=("PBM",))


def example() -> ResultTable:
    table = ResultTable([PPL, NDCG], title="A table")
    table.add("oracle", {"PPL": [1.1, 1.1], "nDCG@3": [1.0, 1.0]})
    table.add("TopPop", {"nDCG@3": [0.5, 0.6]})
    table.add("dCTR", {"PPL": [1.25, 1.25], "nDCG@3": [0.8, 0.8]}, seeds=[4, 7])
    table.add("PBM", {"PPL": [1.2, 1.3], "nDCG@3": [0.7, 0.8]})
    table.add("UBM", {"PPL": [1.2, 1.22], "nDCG@3": [0.1, 0.1]})
    table.add("ARM-NC", {"PPL": [1.01, 1.03], "nDCG@3": [0.78, 0.8]})
    return table


def row(table: ResultTable, model: str) -> list[str]:
    lines = [line for line in table.to_markdown().splitlines() if line.startswith(f"| {model} |")]
    return [cell.strip() for cell in lines[0].split("|")[2:-1]]


def show(table: ResultTable | PlainTable, width: int = 200) -> str:
    out = io.StringIO()
    Console(file=out, width=width).print(table)
    return out.getvalue()


def test_a_cell_is_mean_and_half_width():
    found = interval([0.5, 0.6])
    assert row(example(), "TopPop")[1] == f"=0.55 ± {found.half_width:.2f}"


def test_a_missing_cell_is_a_dash():
    assert row(example(), "TopPop")[0] == "–"


def test_the_best_is_bold():
    assert row(example(), "UBM")[0].startswith("**1.210 ± ")
    assert row(example(), "oracle")[1] == "**1.00 ± 0.00**"


def test_what_is_not_worse_has_its_mark():
    assert row(example(), "PBM")[0].startswith("=1.250 ± ")
    assert row(example(), "PBM")[1].startswith("=†0.75 ± ")


def test_what_must_not_be_compared_is_in_brackets():
    assert row(example(), "ARM-NC")[0] == "(1.020 ± 0.127)"


def test_an_excluded_model_is_shown_without_a_mark():
    assert row(example(), "oracle")[0] == "1.100 ± 0.000"


def test_a_single_seed_has_no_half_width():
    table = ResultTable([PPL])
    table.add("PBM", {"PPL": 1.25})
    assert row(table, "PBM") == ["**1.250**"]
    assert "One seed" in table.legend()


def test_infinite_is_shown():
    table = ResultTable([PPL])
    table.add("PBM", {"PPL": [np.inf, 1.2]})
    table.add("UBM", {"PPL": [1.3, 1.2]})
    assert row(table, "PBM") == ["∞"]


def test_a_ready_made_interval_shows_its_bounds():
    table = ResultTable([PPL])
    table.add("PBM", {"PPL": Interval(1.25, 1.2, 1.31, 0.055, 100)})
    assert row(table, "PBM") == ["**1.250 [1.200, 1.310]**"]
    assert "bootstrap" in table.legend()


def test_headings_have_arrows():
    assert "| model | PPL ↓ | nDCG@3 ↑ |" in example().to_markdown()


def test_the_legend_names_seeds_marks_and_brackets():
    legend = example().legend()
    for words in ("95% Student-t interval over 2 seeds", "bold", "=:", "†:", "ARM-NC", "brackets"):
        assert words in legend


def test_the_legend_leaves_out_what_is_not_used():
    table = ResultTable([Metric("PPL", True)])
    table.add("PBM", {"PPL": [1.2, 1.2]})
    table.add("UBM", {"PPL": [1.3, 1.3]})
    assert "†" not in table.legend()
    assert "=" not in table.legend()


def test_markdown_is_a_whole_table():
    lines = example().to_markdown().splitlines()
    table = [line for line in lines if line.startswith("|")]
    assert len(table) == 2 + 6
    assert {line.count("|") for line in table} == {4}


def test_names_cannot_break_the_table():
    table = ResultTable([Metric("a|b", True)])
    table.add("x | <b>\n*y*", {"a|b": [1.0, 1.0]})
    text = table.to_markdown()
    assert r"x \| &lt;b&gt; \*y\*" in text
    assert r"| model | a\|b ↓ |" in text


def test_a_terminal_shows_the_same_cells():
    text = show(example())
    for model, cells in example().cells().items():
        line = next(line for line in text.splitlines() if f" {model} " in line)
        for cell in cells:
            assert cell.marked_text in line


def wide() -> PlainTable:
    headings = ["perplexity ↓", "expected clicks of held-out pages", "same order", "what it does"]
    table = PlainTable("A wide table", "model", headings, "What it all means.")
    interval = "1.2345 [1.2000, 1.2600]"
    sentence = "looks at every result from the first one to the last and clicks on what it likes"
    for name in ("PBM", "UBM"):
        table.add(name, [interval, "0.512", f"{interval} of halves", sentence])
    return table


@loop_over("width", [80, 60, 50])
def test_a_narrow_terminal_shows_whole_numbers_and_headings(width):
    text = show(wide(), width)
    lines = text.splitlines()
    assert max(map(len, lines)) <= width
    assert "…" not in text
    assert all(word in text for heading in wide().headings for word in heading.split())
    for name, cells in wide().rows.items():
        own = [line for line in lines if f" {name} " in line]
        assert len(own) > 1
        for cell in cells[:3]:
            assert any(f"{cell.text} " in line for line in own)
        assert cells[3].text.split()[-1] in text
    assert text.count("A wide table") == text.count("What it all means.") == 1


def test_a_wide_terminal_shows_one_table():
    assert sum(" PBM " in line for line in show(wide(), 250).splitlines()) == 1


def test_names_are_no_rich_markup():
    table = ResultTable([PPL])
    table.add("[red]PBM[/red]", {"PPL": [1.2]})
    assert "[red]PBM[/red]" in show(table)


def test_an_empty_table_can_be_shown():
    table = ResultTable([PPL])
    assert "PPL" in table.to_markdown()
    assert "PPL" in show(table)


@loop_over("kind", ["parquet", "csv"])
def test_saving_and_loading_gives_the_same_table(kind, tmp_path):
    table = example()
    table.add("extra", {"PPL": Interval(1.25, 1.2, np.inf, np.inf, 100), "nDCG@3": [1 / 3]})
    path = tmp_path / f"results.{kind}"
    table.save(path)
    loaded = ResultTable.load(path, [PPL, NDCG], title="A table")
    assert loaded.to_markdown() == table.to_markdown()
    assert loaded.values("extra", "nDCG@3")[0] == 1 / 3
    assert loaded.interval("extra", "PPL") == table.interval("extra", "PPL")


def test_a_file_has_one_row_a_model_metric_and_seed(tmp_path):
    path = tmp_path / "results.csv"
    example().save(path)
    lines = path.read_text().splitlines()
    assert lines[0] == '"model","metric","seed","value","low","high","n"'
    assert '"dCTR","PPL",7,1.25,,,' in lines
    assert len(lines) == 1 + 11 * 2


def test_loading_chooses_columns(tmp_path):
    path = tmp_path / "results.parquet"
    example().save(path)
    table = ResultTable.load(path, [PPL])
    assert table.models == example().models
    assert row(table, "TopPop") == ["–"]


def test_a_metric_that_the_file_does_not_have_is_an_error(tmp_path):
    path = tmp_path / "results.parquet"
    example().save(path)
    with pytest.raises(ValueError, match=r"results\.parquet: has no values of AUROC"):
        ResultTable.load(path, [Metric("AUROC", False)])


@loop_over("kind", ["parquet", "csv"])
def test_another_file_is_an_error_that_names_it(kind, tmp_path):
    path = tmp_path / f"other.{kind}"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match=rf"other\.{kind}: does not hold results"):
        ResultTable.load(path, [PPL])


@loop_over(("lines", "message"), [
        (["PBM,PPL,0,1.2,,,", "PBM,PPL,0,1.3,,,"], "twice"),
        (["PBM,PPL,0,1.2,,,", "PBM,PPL,,1.3,1.2,1.4,9"], "with and without"),
        (["PBM,PPL,0,nan,,,"], "'value'"),
        (["PBM,PPL,0,,,,"], "'value'"),
        (["PBM,PPL,zero,1.2,,,"], "'zero'"),
    ])
def test_a_file_that_contradicts_itself_is_an_error(lines, message, tmp_path):
    path = tmp_path / "results.csv"
    path.write_text("\n".join(["model,metric,seed,value,low,high,n", *lines]) + "\n")
    with pytest.raises(ValueError, match=message):
        ResultTable.load(path, [PPL])


def test_a_nan_in_a_file_is_an_error(tmp_path):
    path = tmp_path / "results.parquet"
    write_records([Record("PBM", "PPL", 0, np.nan)], path)
    with pytest.raises(ValueError, match=r"results\.parquet: PPL of PBM has no value"):
        ResultTable.load(path, [PPL])


def test_no_file_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError, match="no such file"):
        ResultTable.load(tmp_path / "none.csv", [PPL])


def test_another_ending_is_an_error(tmp_path):
    with pytest.raises(ValueError, match=r"\.parquet or \.csv"):
        example().save(tmp_path / "results.txt")


def test_an_unknown_metric_is_an_error():
    with pytest.raises(ValueError, match="metric must be one of PPL"):
        ResultTable([PPL]).add("PBM", {"ppl": [1.0]})


def test_a_cell_is_added_once():
    with pytest.raises(ValueError, match="PBM already has values of PPL"):
        example().add("PBM", {"PPL": [1.0]})


def test_a_failed_add_changes_nothing():
    table = ResultTable([PPL, NDCG])
    with pytest.raises(ValueError, match="metric"):
        table.add("PBM", {"PPL": [1.0], "other": [1.0]})
    assert table.models == []


@loop_over("wrong", [[1.0, np.nan], [[1.0]], Interval(np.nan, 0, 1, 0.5, 3)])
def test_a_nan_or_a_matrix_is_an_error(wrong):
    with pytest.raises(ValueError, match="PPL of PBM"):
        ResultTable([PPL]).add("PBM", {"PPL": wrong})


@loop_over("seeds", [[1], [1, 1]])
def test_seeds_must_fit_the_values(seeds):
    with pytest.raises(ValueError, match="seed"):
        ResultTable([PPL]).add("PBM", {"PPL": [1.0, 2.0]}, seeds=seeds)


def test_columns_must_have_different_names():
    with pytest.raises(ValueError, match="different names"):
        ResultTable([PPL, PPL])


# HTML


def test_html_escapes_names_and_keeps_the_numbers_to_sort_by():
    table = ResultTable([Metric("PPL <1>", True, digits=2)], "a & b")
    table.add("<script>", {"PPL <1>": [1.5, 1.5]})
    table.add("broken", {"PPL <1>": [np.inf, np.inf]})
    table.add("none", {})
    text = table.to_html()
    assert "<caption>a &amp; b</caption>" in text
    assert "PPL &lt;1&gt; ↓" in text
    assert "<td>&lt;script&gt;</td>" in text
    assert '<td class="number" data-value="1.5"><strong>1.50 ± 0.00</strong></td>' in text
    assert '<td class="number" data-value="Infinity">∞</td>' in text
    assert '<td class="number">–</td>' in text
