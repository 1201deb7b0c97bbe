"""Items that many users can be shown have one embedding for all of them."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from conftest import small_world
from untrained import tensors

from clickgym import clickmodels, data, envs, policies
from clickgym.clickmodels.network_fitting import make_network
from clickgym.clickmodels.networks.embeddings import PairEncoder

FAST = {"epochs": 1, "embedding": 4, "hidden": 4}


def rating_world(**smaller):
    train, test = data.synthetic_ratings(40, 30, seed=1).split(0.8, seed=0)
    return test.world(train, **smaller)


def without_ids(world):
    return data.World(
        world.relevance, query_probs=world.query_probs, candidates=world.candidates, max_grade=5
    )


def logged(world, n=200):
    user = clickmodels.true_user("no-bias", world, slots=4)
    return envs.collect(world, user, policies.Uniform(world, 4), n, seed=0)


def all_rows(encoder):
    documents = torch.arange(encoder.n_docs).expand(encoder.n_queries, -1)
    return encoder.document_rows(torch.arange(encoder.n_queries), documents).numpy()


def test_equal_ids_have_equal_rows_and_other_ids_others():
    for world in (rating_world(), rating_world(n_users=9, n_docs=8)):
        rows, ids = all_rows(PairEncoder(world, 2)), np.asarray(world.doc_ids)
        shown = world.candidates
        same_id = ids[shown][:, None] == ids[shown]
        np.testing.assert_array_equal(rows[shown][:, None] == rows[shown], same_id)


def test_a_table_has_as_many_rows_as_there_are_items_and_one_for_empty_slots():
    assert len(PairEncoder(rating_world(), 2).document.weight) == 30 + 1


def test_empty_slots_have_the_last_row():
    for world in (rating_world(), rating_world(n_users=9, n_docs=8)):
        encoder = PairEncoder(world, 2)
        rows = encoder.document_rows(torch.tensor([0, 3]), torch.tensor([[-1], [-1]]))
        assert rows.tolist() == [[encoder.empty]] * 2
        assert (all_rows(encoder)[world.candidates] < encoder.empty).all()


def test_documents_of_worlds_with_grades_or_without_ids_have_a_row_per_pair():
    graded = small_world()
    named = data.World(
        graded.relevance, candidates=graded.candidates,
        doc_ids=np.tile(np.arange(graded.n_docs).astype(str), (graded.n_queries, 1)),
        max_grade=graded.max_grade,
    )  # fmt: skip
    for world in (named, without_ids(rating_world())):
        assert PairEncoder(world, 2).shared is None
        pairs = np.arange(world.n_queries * world.n_docs).reshape(world.n_queries, -1)
        np.testing.assert_array_equal(all_rows(PairEncoder(world, 2)), pairs)


def test_a_candidate_without_a_name_keeps_all_pairs_apart():
    world = rating_world(n_users=9, n_docs=8)
    ids = np.asarray(world.doc_ids).copy()
    ids[0, np.flatnonzero(world.candidates[0])[0]] = ""
    nameless = data.World(
        world.relevance, candidates=world.candidates, doc_ids=ids, max_grade=5
    )
    assert PairEncoder(nameless, 2).shared is None


@pytest.mark.parametrize("name", ["PBM", "DBN", "NCM"])
def test_gradients_in_numpy_and_torch_agree_on_shared_items(name):
    """One step each from the same weights: the rows of shared items add their gradients up."""
    from clickgym.clickmodels.networks.network import seeded
    from clickgym.clickmodels.networks.numpy import NumpyTrainer
    from clickgym.clickmodels.networks.schedule import TrainingSettings
    from clickgym.clickmodels.networks.torch_trainer import TorchTrainer

    world = rating_world(n_users=9, n_docs=8)
    log, settings, tables = logged(world), TrainingSettings(), []
    for trainer_class in (NumpyTrainer, TorchTrainer):
        with seeded(0):
            network = make_network(name, world, 4, 4, 4)
        trainer = trainer_class(network, log, log, settings)
        for start in (0, 32, 64):
            trainer.step(np.arange(start, start + 32), 0.01)
        tables.append({key: value.clone() for key, value in network.state_dict().items()})
    for key, value in tables[0].items():
        torch.testing.assert_close(value, tables[1][key], rtol=1e-3, atol=1e-4, msg=key)


def test_a_model_learns_about_an_item_from_other_users():
    """Users whom the log never asked get the popular items that others clicked."""
    world = rating_world()
    liked = np.zeros(world.n_docs, dtype=bool)
    liked[:10] = True
    relevance = np.where(liked, 5, 1) * np.ones((world.n_queries, 1), dtype=int)
    all_items = np.ones(relevance.shape, dtype=bool)
    asked = np.arange(world.n_queries) < 30
    log_world = data.World(
        relevance, query_probs=asked / asked.sum(), candidates=all_items, doc_ids=world.doc_ids,
        max_grade=5,
    )  # fmt: skip
    right = {}
    for kind, known in {"shared": log_world, "apart": without_ids(log_world)}.items():
        log = logged(known, 4000)
        model = clickmodels.fit("PBM", log, known, parameters="embedding", epochs=4)
        best = np.argsort(-model.relevance()[~asked], axis=1)[:, :10]
        right[kind] = (best < 10).mean()
    assert right["shared"] > 0.9
    assert right["apart"] < 0.6


def test_ncm_of_shared_items_is_the_network_it_was_trained_as():
    for world in (rating_world(), rating_world(n_users=9, n_docs=8)):
        log = logged(world)
        with torch.no_grad():
            network = make_network("NCM", world, 4, 4, 4)
            loss = network.loss(*tensors(log)).numpy()
        found = -network.frozen().log_likelihood(log.query, log.ranking, log.clicks)
        np.testing.assert_allclose(found, loss, rtol=1e-4)


def test_ncm_of_shared_items_is_saved_and_loaded_whole(tmp_path):
    world = rating_world()
    log = logged(world)
    model = clickmodels.fit("NCM", log, world, **FAST)
    assert model.document_embedding.shape == (31, 4)
    model.save(tmp_path / "ncm.safetensors")
    again = clickmodels.ClickModel.load(tmp_path / "ncm.safetensors")
    assert again.shape == model.shape == (world.n_queries, 30)
    np.testing.assert_array_equal(again.relevance(), model.relevance())


def test_ncm_refuses_rows_that_its_table_has_not():
    world = rating_world(n_users=9, n_docs=8)
    model = clickmodels.fit("NCM", logged(world), world, **FAST)
    rows = model.document_rows
    with pytest.raises(ValueError, match="document_rows must be rows of document_embedding"):
        type(model)(**{**model.state(), "document_rows": rows + 40})
    with pytest.raises(ValueError, match="document_rows has 2 rows"):
        type(model)(**{**model.state(), "document_rows": rows[:2]})
