"""The curse of placing: its cells, table, picture and ledger."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from clickgym import data, envs, policies, studies
from clickgym.clickmodels import true_user
from clickgym.studies.federated.placing_report import (
    placing_claims,
    placing_picture,
    placing_table,
)
from clickgym.studies.federated.placing_study import (
    PlacingCell,
    place_shares,
    placing_cell,
    share_unseen,
)

CELL = PlacingCell("FCM", 0.4, "top", "UBM", 0, 8, 5, "BM25", 400, 3)


def test_logs_place_blocks_everywhere_at_three_places_or_at_the_top():
    assert place_shares("uniform", 4).tolist() == [0, 0.2, 0.2, 0.2, 0.2, 0.2]
    np.testing.assert_allclose(place_shares("three", 4), [0, 1 / 3, 0, 1 / 3, 0, 1 / 3])
    assert place_shares("top", 4).tolist() == [0, 1, 0, 0, 0, 0]
    assert place_shares("three", 1).tolist() == [0, 0.5, 0.5]


def test_more_slots_than_candidates_are_refused():
    with pytest.raises(ValueError, match="slots must be at most the 12 candidates of a query"):
        dataclasses.replace(studies.Placing.presets()["quick"], slots=13).check()


def test_ubm_leaves_the_block_where_the_log_usually_has_it():
    found = placing_cell(CELL)
    for values in found.values():
        assert values["deployed"] == values["usual"] <= values["best"]
        assert values["promised"] == values["usual_promised"]
        assert values["unseen"] == 0.0


@pytest.mark.parametrize("placing", ["top", "uniform"])
def test_the_true_model_moves_blocks_to_places_of_its_own(placing):
    cell = dataclasses.replace(CELL, model="FCM", placing=placing, impressions=2000)
    found = placing_cell(cell)
    for values in found.values():
        assert values["promised"] >= values["usual_promised"] - 1e-9
        assert values["deployed"] <= values["best"] + 1e-9
    assert (found["clicks"]["unseen"] > 0.3) == (placing == "top")


def test_to_hide_a_block_that_the_log_always_shows_was_never_logged():
    world = data.synthetic_world(4, 5).with_vertical([0, 1, 0, -1])
    user = true_user("FCM", world, slots=3)
    ranker = policies.named_ranker("BM25", world, 3)
    log = envs.collect(world, user, policies.Placed(ranker, [0, 1, 1, 0], world), 400, seed=0)
    for places, queries in (([-1, 0, 1, 2], (0, 1)), ([0, 1, 1, 0], ()), ([1, -1, 0, 0], (1,))):
        expected = world.query_probs[list(queries)].sum()
        chosen = policies.Placed(ranker, places, world)
        assert share_unseen(chosen, log, world) == pytest.approx(expected), places


def test_satisfied_pages_count_those_without_a_click():
    content, alone = (
        placing_cell(dataclasses.replace(CELL, satisfied=share))["satisfied"] for share in (0.4, 0)
    )
    assert content["usual"] > content["usual_promised"] + 0.1
    assert alone["usual"] == pytest.approx(alone["usual_promised"], abs=0.1)


def make_rows(gap, seeds=4):
    """Rows of all users, logs and models; the right model promises ``gap`` too much."""
    rows = []
    for user in ("FCM", "VCM"):
        for share in (0.0, 0.4):
            for placing in ("uniform", "three", "top"):
                for model in ("UBM", "FCM"):
                    for seed in range(seeds):
                        row = {"user": user, "satisfied": share, "placing": placing}
                        row |= {"model": model, "seed": seed}
                        for reward in ("clicks", "satisfied"):
                            off = gap + 0.01 * seed
                            values = {"deployed": 1.0, "promised": 1.0 + off, "best": 1.2}
                            values |= {"usual": 1.1 if placing == "top" else 0.9, "unseen": 0.5}
                            values |= {"usual_promised": 1.1, "not_shown": 0.7}
                            row |= {f"{reward}_{name}": one for name, one in values.items()}
                        rows.append(row)
    return rows


def test_the_table_has_a_row_for_every_user_log_and_model():
    table = placing_table(make_rows(0.3))
    assert len(table.models) == 2 * 2 * 3 * 4
    name = "VCM user, 40% satisfied by the block; blocks at the top: FCM"
    assert table.values(name, "clicks gap") == pytest.approx([0.3, 0.31, 0.32, 0.33])
    assert table.values(name, "clicks over usual") == pytest.approx([-0.1] * 4)
    assert table.interval(name, "never logged").mean == 0.5
    best = "FCM user; blocks at all places: best places"
    assert table.values(best, "clicks over usual") == pytest.approx([0.3] * 4)


def test_verdicts_follow_the_numbers():
    verdicts = [claim.verdict for claim in placing_claims(make_rows(0.3))]
    assert verdicts == ["holds", "holds", "holds", "does not hold"]
    verdicts = [claim.verdict for claim in placing_claims(make_rows(-0.3))]
    assert verdicts == ["does not hold", "holds", "does not hold", "holds"]
    assert {claim.verdict for claim in placing_claims([])} == {"undecided"}


def test_the_picture_has_a_panel_for_every_reward_and_user():
    pytest.importorskip("matplotlib", reason="the plots extra is not installed")
    figure = placing_picture(make_rows(0.3))
    assert len(figure.axes) == 2 * 4
    texts = [text.get_text() for text in figure.legends[0].get_texts()]
    assert {"best places", "usual place", "FCM promised", "UBM deployed"} == set(texts) & {
        "best places", "usual place", "FCM promised", "UBM deployed",
    }  # fmt: skip


def test_a_share_that_is_none_is_refused():
    with pytest.raises(ValueError, match="satisfied"):
        studies.Placing(satisfied=1.5).check()
