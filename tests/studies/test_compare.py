"""The comparison of agents: which cells there are, and which documents agents may show."""

from __future__ import annotations

from pathlib import Path

import pytest

from clickgym import agents, evaluation
from clickgym.studies import Compare, compute_study
from clickgym.studies.compare.comparison import CompareCell, compare_cell, warning_cell
from clickgym.studies.compare.comparison_tables import (
    compare_table,
    delivered_line,
    summary_table,
)
from clickgym.studies.engine.artefacts import FitCell, fitted_model
from clickgym.studies.engine.grid import cell_key
from clickgym.studies.worlds import SMALL_WORLD, logs_of, shown_in, user_of, world_of


def training_cells(**settings):
    study = Compare(("CascadeUCB1",), ("true user",), ("DBN",), world=SMALL_WORLD, **settings)
    *_, last = study.stages(Path("folder"), {})
    return last.cells


def test_quick_is_the_first_seed_of_the_whole_run():
    whole, quick = training_cells(seeds=3), training_cells(seeds=3, quick=True)
    assert [cell.fit.seed for cell in whole] == [0, 1, 2]
    assert quick == whole[:1]


def test_agents_get_the_budget_of_those_who_read_down_where_a_model_does():
    study = Compare(("PPO",), ("PBM", "CoCM"), ("DBN",), world=SMALL_WORLD, seeds=1)
    *_, last = study.stages(Path("folder"), {})
    budgets = {cell.fit.model: cell.pages for cell in last.cells}
    cls = agents.agent_class("PPO")
    assert budgets == {"PBM": cls.budget_reading_down, "CoCM": cls.budget}
    assert cls.budget_reading_down < cls.budget


def test_what_agents_may_show_is_in_the_key_unless_it_is_everything():
    (every,), (shown,) = (
        training_cells(seeds=1, documents=documents) for documents in ("all", "shown")
    )
    fit, settings = every.fit, every.settings
    same = CompareCell("CascadeUCB1", fit, 100_000, settings)
    assert cell_key(every, "1") == cell_key(same, "1")
    assert cell_key(every, "1") != cell_key(shown, "1")


def test_agents_may_be_held_to_documents_of_the_log():
    slots, log = 3, ("DBN", "random", SMALL_WORLD, 3, 20, 0)
    fit = FitCell(
        "DBN", "random", 0, "folder", SMALL_WORLD, impressions=20, slots=slots, model="true user"
    )
    world, user = world_of(SMALL_WORLD), user_of("DBN", SMALL_WORLD, slots)
    allowed = shown_in(logs_of(*log)[0], world)
    most, best = (
        evaluation.value(evaluation.best_policy(user, some, slots), user, world).value
        for some in (allowed, world)
    )
    assert most < best
    earned = [
        compare_cell(CompareCell("PolicyGradient", fit, 30_000, documents=documents))["deployed"]
        for documents in ("shown", "")
    ]
    assert earned[0] <= most + 1e-12 < earned[1]


def test_models_that_misplace_clicks_are_marked(tmp_path):
    study = Compare(
        ("CascadeUCB1",), ("DBN",), ("CoCM-mismatch",), seeds=1, pages=200, impressions=20_000,
        world=SMALL_WORLD, slots=5,
    )  # fmt: skip
    (row,) = compute_study(study, tmp_path).rows
    fit = FitCell(
        "CoCM-mismatch", study.logging, 0, str(tmp_path / "models"), SMALL_WORLD, 20_000, 5,
        model="DBN",
    )  # fmt: skip
    train, *_ = logs_of("CoCM-mismatch", study.logging, SMALL_WORLD, 5, 20_000, 0)
    found = evaluation.rank_calibration(fitted_model(fit), train)
    assert found.warning
    assert warning_cell(fit) == {"warning": found.warning}
    assert row["warning"] == found.warning
    text = compare_table([row], "CoCM-mismatch").to_markdown()
    assert "CascadeUCB1 in DBN ‡" in text
    assert "‡: a deployment card warns" in text


def test_rows_that_end_at_the_logs_value_are_counted():
    rows = [
        {"user": "DBN", "model": model, "agent": agent, "lift": lift, "warning": warning}
        for model, warning in (("PBM", ""), ("DBN", "misplaced"), ("NCM", None))
        for agent, lifts in (("PPO", (0.1, -0.05)), ("SAC", (-0.1, 0.05)))
        for lift in lifts
    ]
    rows = [{**row, "promised": 2.0, "deployed": 1.0, "gap": 1.0, "seed": 0} for row in rows]
    texts = {name: [cell.text for cell in row] for name, row in summary_table(rows).rows.items()}
    assert texts["PPO"][-2:] == ["+0.025", "3 of 3"]
    assert texts["inside DBN"][-2:] == ["+0.000", "1 of 2"]
    line = delivered_line(rows)
    assert "3 of 6 (agent, model, user), 1 of 2 of those inside models" in line


def test_models_without_an_informed_prior_are_refused_beforehand():
    study = Compare(("PPO",), ("PBM", "dCTR"), ("DBN",), world=SMALL_WORLD, prior="exposure")
    with pytest.raises(ValueError, match=r"models must have an informed prior .*dCTR"):
        study.check()
