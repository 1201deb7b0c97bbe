"""Worlds that seeds draw: made anew, or of a file a bootstrap of its queries."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from clickgym import data, studies
from clickgym.studies.worlds import WorldSetting, scores_of, world_of

QUERIES, DOCS, FEATURES = 12, 5, 3


@pytest.fixture(scope="module")
def letor(tmp_path_factory):
    """A LETOR file in which feature 1 tells the query."""
    path = tmp_path_factory.mktemp("letor") / "train.txt"
    rng = np.random.default_rng(0)
    lines = [
        f"{rng.integers(0, 5)} qid:{query} 1:{query} 2:{rng.random():.4f} 3:{rng.random():.4f}"
        for query in range(QUERIES)
        for _ in range(DOCS)
    ]
    path.write_text("\n".join(lines) + "\n")
    return str(path)


@pytest.fixture(scope="module")
def setting(letor):
    return WorldSetting.from_file(letor, 0, 0)


def drawn_queries(world):
    return world.features[:, 0, 0].astype(int)


def test_a_seed_draws_a_synthetic_world():
    study = studies.Protocol.small()
    worlds = [world_of(study.world_of_seed(seed)).fingerprint for seed in (0, 1, 0)]
    assert worlds[0] == worlds[2] != worlds[1]


def test_seeds_take_the_worlds_in_turn():
    study = replace(studies.Protocol.small(), worlds=2, seeds=5)
    assert [study.world_of_seed(seed).seed for seed in range(5)] == [0, 1, 0, 1, 0]
    logs = study.log_cells("")
    assert [log.seed for log in logs[:: len(logs) // 5]] == [0, 1, 2, 3, 4]


def test_a_seed_draws_a_bootstrap_of_a_files_queries(setting):
    whole = world_of(setting)
    drawn = [drawn_queries(world_of(setting.drawn(seed))) for seed in range(40)]
    assert all(len(queries) == QUERIES for queries in drawn)
    assert len({tuple(queries) for queries in drawn}) == 40
    counts = np.bincount(np.concatenate(drawn), minlength=QUERIES)
    assert abs(counts - 40).max() < 4 * np.sqrt(40)
    different = np.mean([len(set(queries)) for queries in drawn])
    assert different == pytest.approx(QUERIES * (1 - (1 - 1 / QUERIES) ** QUERIES), abs=1.0)
    assert drawn_queries(whole).tolist() == list(range(QUERIES))


def test_a_bootstrap_has_the_queries_whole_and_frequencies_of_its_own(setting):
    whole, world = world_of(setting), world_of(setting.drawn(3))
    queries = drawn_queries(world)
    np.testing.assert_array_equal(world.relevance, whole.relevance[queries])
    np.testing.assert_array_equal(world.features, whole.features[queries])
    np.testing.assert_allclose(np.sort(world.query_probs), np.sort(whole.query_probs))
    assert not np.array_equal(world.query_probs, whole.query_probs)
    assert world.fingerprint != whole.fingerprint


def test_scores_of_a_bootstrap_are_those_of_the_files_queries(setting):
    drawn = setting.drawn(3)
    queries = drawn_queries(world_of(drawn))
    for name in ("oracle", "LambdaMART"):
        np.testing.assert_array_equal(scores_of(name, drawn), scores_of(name, setting)[queries])


def test_saved_and_given_worlds_are_the_same_for_all_seeds(setting, tmp_path):
    world = world_of(setting)
    world.save(tmp_path / "world.safetensors")
    saved = WorldSetting.from_file(str(tmp_path / "world.safetensors"), 0, 0)
    for one in (saved, WorldSetting.from_world(world)):
        assert one.drawn(5) == one


def test_one_world_for_all_seeds_is_the_file_itself(setting):
    study = replace(studies.Protocol.small(), world=setting, worlds=1)
    assert [study.world_of_seed(seed) for seed in (0, 7)] == [setting, setting]


def test_a_sampler_needs_lists_to_draw_from():
    study = replace(studies.Protocol.small(), sampler="relevant")
    study.check()
    with pytest.raises(ValueError, match="sampler needs --docs"):
        replace(study, world=replace(study.world, n_docs=0)).check()


def test_the_strong_shift_of_a_protocol_has_the_authors_documents_and_its_parameters():
    paper = studies.Protocol.presets()["paper"]
    shift = paper.strong_shift()
    assert (shift.sampler, shift.parameters, shift.world.n_docs) == ("relevant", "embedding", 10)
    assert shift.world_of_seed(3).sampler == "relevant"
    assert paper.world_of_seed(3).sampler == ""


def test_settings_that_say_nothing_are_not_told():
    study = studies.Protocol.small()
    assert "worlds" not in study.describe()
    assert replace(study, worlds=3).describe()["worlds"] == "3"


def test_a_bootstrap_says_so(setting):
    assert "drawn with replacement" in setting.drawn(2).describe()
    assert "drawn with replacement" not in setting.describe()


def test_queries_are_checked():
    world = data.synthetic_world(n_queries=3, n_docs=4, n_features=1)
    with pytest.raises(ValueError, match="queries must be from 0 to 2"):
        world.with_queries([0, 1, 3])
    with pytest.raises(ValueError, match="queries"):
        world.with_queries([0, 1])
    assert world.with_queries([2, 2, 0]).query_ids is None
