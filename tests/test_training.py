"""Training by mini-batches: the schedule, weights, embeddings, TensorBoard, and what is frozen."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from conftest import SLOTS, small_world
from judging import random_log, repeated
from torch import nn

from clickgym import clickmodels, evaluation
from clickgym.clickmodels.base import log_of_outcomes
from clickgym.clickmodels.ncm.ncm_network import NCMNetwork
from clickgym.clickmodels.networks.embeddings import LazyEmbedding
from clickgym.clickmodels.networks.network import Network
from clickgym.clickmodels.networks.training import TrainingSettings, _ByTorch, _Pages, seeded, train
from clickgym.clickmodels.registry import registered_class
from clickgym.data import ClickLog

STRUCTURAL = ("PBM", "UBM", "DBN", "ARM", "ARM-NC", "CACM-minus")
NETWORKS = (*STRUCTURAL, "NCM")
every_network = pytest.mark.parametrize("name", NETWORKS)
RATE = 0.5


def simulated(n=200, user="UBM", seed=1, weighted=False):
    world = small_world(short=True)
    return random_log(world, clickmodels.true_user(user, world), n, seed, weighted)


# The schedule, counted in validations


class Scripted(Network):
    """A network with one number, which a step moves by the learning rate.

    The training loss is linear, so that Adam's steps are as long as its rate. Validation losses
    come from a script.
    """

    def __init__(self, *losses):
        super().__init__()
        self.number = nn.Parameter(torch.zeros(1, dtype=torch.float64))
        self.losses = list(losses)
        self.validated = []  # the number at each validation

    def loss(self, query, ranking, clicks):
        if torch.is_grad_enabled():
            return self.number.expand(len(query))
        self.validated.append(-self.number.item())
        return torch.full((len(query),), float(self.losses.pop(0)))

    @property
    def moves(self):
        """How far the number moved from one validation to the next."""
        return np.diff(self.validated)


def run(*losses, pages=1, **settings):
    """Train on ``pages`` equal pages, one a batch, with a validation after every batch."""
    log = ClickLog(np.zeros(pages, int), np.zeros((pages, 1), int), np.zeros((pages, 1), bool))
    network = Scripted(*losses)
    options = {"batch_size": 1, "check_every": 1, "epochs": 100, "learning_rate": RATE} | settings
    train(network, log, 0, log[:1], TrainingSettings(**options))
    return network


def test_training_stops_after_three_validations_without_progress():
    assert len(run(1.0, 0.9, 1.1, 1.1, 1.1).moves) == 4


def test_a_validation_with_progress_starts_the_count_again():
    assert len(run(1.0, 1.1, 1.1, 0.9, 1.1, 1.1, 1.1).moves) == 6


def test_an_equal_loss_is_no_progress():
    assert len(run(1.0, 1.0, 1.0, 1.0).moves) == 3


def test_the_learning_rate_is_halved_after_two_validations_without_progress():
    moves = run(1.0, 0.9, 1.1, 1.1, 1.1).moves
    np.testing.assert_allclose(moves / RATE, [1, 1, 1, 0.5], rtol=1e-4)


def test_the_learning_rate_is_halved_again_and_never_raised():
    moves = run(1.0, 1.1, 1.1, 0.9, 1.1, 1.1, 1.1).moves
    np.testing.assert_allclose(moves / RATE, [1, 1, 0.5, 0.5, 0.5, 0.25], rtol=1e-4)


def test_halve_after_and_stop_after_can_be_set():
    moves = run(1.0, 1.1, 1.1, 1.1, 1.1, 1.1, halve_after=1, stop_after=5).moves
    np.testing.assert_allclose(moves / RATE, [1, 0.5, 0.25, 0.125, 0.0625], rtol=1e-4)


@pytest.mark.parametrize(
    ("losses", "best"),
    [((1, 1.1, 1.1, 1.1), 0), ((1, 0.9, 1.1, 1.1, 1.1), 1), ((1, 1.1, 0.8, 0.9, 0.9, 0.9), 2)],
    ids=["initial", "first", "second"],
)
def test_the_best_state_is_kept(losses, best):
    network = run(*losses)
    assert -network.number.item() == network.validated[best]


def test_a_validation_comes_every_so_many_batches():
    network = run(1.0, 0.9, 0.8, pages=3, epochs=2, check_every=3)
    np.testing.assert_allclose(network.moves / RATE, [3, 3], rtol=1e-4)


def test_the_last_batch_is_followed_by_a_validation():
    network = run(1.0, 0.9, 0.8, pages=4, epochs=1, check_every=3)
    np.testing.assert_allclose(network.moves / RATE, [3, 1], rtol=1e-4)


def test_training_ends_after_the_last_epoch():
    losses = [1.0 - 0.01 * number for number in range(7)]
    assert len(run(*losses, pages=2, epochs=3).moves) == 6


def test_an_infinite_validation_loss_is_an_error():
    with pytest.raises(FloatingPointError, match="validation loss"):
        run(1.0, float("inf"))


@pytest.mark.parametrize(
    "setting",
    [{"batch_size": 0}, {"epochs": 0}, {"check_every": 0.5}, {"learning_rate": 0.0},
     {"learning_rate": float("nan")}, {"clip": -1.0}, {"embedding": 0}, {"stop_after": True}],
    ids=str,
)  # fmt: skip
def test_a_bad_setting_is_named(setting):
    with pytest.raises(ValueError, match=next(iter(setting))):
        TrainingSettings(**setting)


# Weighted rows


def trained(log, validation=None):
    """An NCM after three steps on the whole log at once."""
    settings = {"batch_size": 10_000, "epochs": 3, "learning_rate": 0.05}
    return clickmodels.fit(
        "NCM", log, small_world(short=True), validation=validation or log,
        embedding=4, hidden=4, **settings,
    )  # fmt: skip


def assert_same_state(model, other, tolerance):
    for key, value in model.state().items():
        np.testing.assert_allclose(value, other.state()[key], atol=tolerance, err_msg=key)


def test_a_weighted_row_trains_like_a_repeated_row():
    log = simulated(weighted=True)
    assert_same_state(trained(log), trained(repeated(log)), 1e-3)


def test_weights_matter_in_training():
    log = simulated(weighted=True)
    without = ClickLog(log.query, log.ranking, log.clicks)
    moved = trained(log).input_weights - trained(without).input_weights
    assert np.abs(moved).max() > 1e-2


def test_a_weighted_row_counts_like_a_repeated_row_in_validation():
    log = simulated(weighted=True)
    network = NCMNetwork(small_world(short=True), 4, 4)
    weighted, plain = (_Pages(part, torch.device("cpu")) for part in (log, repeated(log)))
    assert weighted.loss(network) == pytest.approx(plain.loss(network), rel=1e-5)


def test_the_loss_of_many_pages_is_their_mean(monkeypatch):
    log, network = simulated(weighted=True), NCMNetwork(small_world(short=True), 4, 4)
    pages = _Pages(log, torch.device("cpu"))
    whole = pages.loss(network)
    monkeypatch.setattr("clickgym.clickmodels.networks.training._VALIDATION_ROWS", 7)
    assert pages.loss(network) == pytest.approx(whole, rel=1e-5)


# Embeddings


def stepped(steps, rows=8, width=3, rate=0.1):
    """The weights of a LazyEmbedding and of an ``nn.Embedding`` by SparseAdam, and the start."""
    rng = np.random.default_rng(0)
    lazy = LazyEmbedding(rows, width)
    start = lazy.weight.clone()
    sparse = nn.Embedding(rows, width, sparse=True, _weight=start.clone())
    optimiser = torch.optim.SparseAdam(sparse.parameters(), lr=rate)
    for _ in range(steps):
        index = torch.from_numpy(rng.integers(rows - 2, size=(2, 4)))  # never the last two
        target = torch.from_numpy(rng.normal(size=(2, 4, width)).astype(np.float32))
        ((lazy(index) - target) ** 2).sum().backward()
        lazy.step(rate)
        optimiser.zero_grad()
        ((sparse(index) - target) ** 2).sum().backward()
        optimiser.step()
    return lazy.weight, sparse.weight.detach(), start


@pytest.mark.parametrize("steps", [1, 2, 20])
def test_lazy_embeddings_step_like_sparse_adam(steps):
    lazy, sparse, _ = stepped(steps)
    torch.testing.assert_close(lazy, sparse, rtol=1e-4, atol=1e-5)


def test_embeddings_that_no_batch_shows_stand_still():
    lazy, _, start = stepped(5)
    torch.testing.assert_close(lazy[-2:], start[-2:], rtol=0, atol=0)


def test_embeddings_that_a_batch_shows_move():
    lazy, _, start = stepped(20)
    assert (lazy[:-2] != start[:-2]).all()


def test_looking_up_without_gradients_leaves_nothing_to_step():
    embedding = LazyEmbedding(4, 2)
    with torch.no_grad():
        embedding(torch.tensor([0, 1]))
    assert embedding.gradients() == []


class TwoParts(Network):
    """A dense number and an embedding, with given gradients."""

    def __init__(self, dense, embedded):
        super().__init__()
        self.number = nn.Parameter(torch.zeros(1))
        self.embedding = LazyEmbedding(1, 1)
        self.dense, self.embedded = dense, embedded

    def total(self):
        looked_up = self.embedding(torch.tensor([0]))
        return self.dense * self.number.sum() + self.embedded * looked_up.sum()


def clipped(dense, embedded, clip):
    network, log = TwoParts(dense, embedded), simulated(1)
    trainer = _ByTorch(network, log, log, TrainingSettings(clip=clip))
    network.total().backward()
    trainer._clip()
    return float(network.number.grad), float(network.embedding.gradients()[0])


def test_gradients_are_clipped_together_with_those_of_embeddings():
    assert clipped(30.0, 40.0, clip=5.0) == pytest.approx((3.0, 4.0))


def test_gradients_within_the_norm_are_left_alone():
    assert clipped(3.0, 4.0, clip=5.0) == (3.0, 4.0)


def test_a_gradient_that_is_not_finite_is_an_error():
    with pytest.raises(FloatingPointError, match="gradient"):
        clipped(float("nan"), 4.0, clip=5.0)


# Global state and devices


@pytest.mark.parametrize(
    ("name", "parameters"), [("NCM", "table"), ("PBM", "embedding"), ("CACM-minus", "table")]
)
def test_a_fit_leaves_torchs_random_state_as_it_was(name, parameters):
    torch.manual_seed(123)
    before = torch.get_rng_state()
    settings = {} if (name, parameters) == ("CACM-minus", "table") else {"epochs": 1}
    world = small_world(short=True)
    clickmodels.fit(name, simulated(60), world, parameters=parameters, **settings)
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize(
    ("name", "parameters"), [("NCM", "table"), ("PBM", "embedding"), ("CACM-minus", "table")]
)
def test_a_fit_does_not_depend_on_torchs_random_state(name, parameters):
    settings = {} if (name, parameters) == ("CACM-minus", "table") else {"epochs": 1}
    models = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        world = small_world(short=True)
        models.append(
            clickmodels.fit(name, simulated(60), world, parameters=parameters, **settings)
        )
    assert_same_state(*models, tolerance=0)


def network_of(name, world):
    """The untrained network of a model, all its numbers random.

    They are not so extreme that single precision and the clamps of training would show.
    """
    with seeded(5):
        if name == "NCM":
            network = NCMNetwork(world, 6, 6)
        else:
            network = registered_class(name)._network(world, SLOTS, 6, 6)
        for parameter in network.parameters():
            nn.init.uniform_(parameter, -0.8, 0.8)
    return network


def tensors(log):
    """Queries, rankings and clicks of a log as torch wants them."""
    arrays = log.query.astype(np.int64), log.ranking.astype(np.int64), log.clicks.copy()
    return [torch.from_numpy(array) for array in arrays]


@every_network
def test_a_loss_is_computed_on_the_device_of_the_pages(name):
    """Without a GPU: torch's "meta" device refuses tensors of another device as a GPU would."""
    log, network = simulated(6), network_of(name, small_world(short=True)).to("meta")
    with torch.no_grad():
        loss = network.loss(*(page.to("meta") for page in tensors(log)))
    assert loss.device.type == "meta"


# TensorBoard


@pytest.fixture(scope="module")
def scalars(tmp_path_factory):
    """The scalars of a fit of 3 epochs of 5 batches with a validation every 4, by tag."""
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    folder = tmp_path_factory.mktemp("scalars")
    log = simulated(40)
    clickmodels.fit(
        "NCM", log, small_world(short=True), validation=log, log_dir=folder,
        batch_size=8, epochs=3, check_every=4, embedding=4, hidden=4,
    )  # fmt: skip
    found = accumulator.EventAccumulator(str(folder)).Reload()
    return {tag: found.Scalars(tag) for tag in found.Tags()["scalars"]}


def test_tensorboard_gets_losses_and_the_learning_rate(scalars):
    assert set(scalars) == {"fit/training loss", "fit/validation loss", "fit/learning rate"}


@pytest.mark.parametrize("tag", ["training loss", "validation loss", "learning rate"])
def test_tensorboard_gets_a_scalar_at_every_validation(scalars, tag):
    assert [event.step for event in scalars[f"fit/{tag}"]] == [4, 8, 12, 15]


def test_the_learning_rate_on_tensorboard_is_the_schedules(scalars):
    assert scalars["fit/learning rate"][0].value == pytest.approx(1e-3)


def test_the_training_loss_on_tensorboard_is_a_mean_over_batches(scalars):
    """The last validation comes after three batches, the others after four."""
    values = [event.value for event in scalars["fit/training loss"]]
    assert max(values) < 1.2 * min(values)


# What is frozen is what was trained


@every_network
def test_a_frozen_model_has_its_networks_likelihood(name):
    world, log = small_world(short=True), simulated(60)
    network = network_of(name, world)
    with torch.no_grad():
        loss = network.loss(*tensors(log)).numpy()
    probs = network.frozen().conditional_click_probs(log.query, log.ranking, log.clicks)
    expected = log_of_outcomes(probs, log.clicks).sum(axis=1)
    np.testing.assert_allclose(-loss, expected, rtol=1e-4)


@every_network
def test_a_frozen_model_is_of_the_models_class(name):
    network = network_of(name, small_world(short=True))
    assert type(network.frozen()) is registered_class(name)


QUICK = {"epochs": 6, "learning_rate": 1e-2, "embedding": 16, "hidden": 16}


def perplexities(name, **settings):
    """The test perplexity of a model fitted to 3,000 pages."""
    world = small_world(short=True)
    model = clickmodels.fit(name, simulated(3000), world, **settings)
    return evaluation.perplexity(model, simulated(3000, seed=2)).mean


@pytest.mark.parametrize("name", ["PBM", "UBM", "DBN", "ARM", "CACM-minus"])
def test_embeddings_predict_almost_as_well_as_a_table(name):
    embedded = perplexities(name, parameters="embedding", **QUICK)
    assert embedded == pytest.approx(perplexities(name), rel=0.01)


def test_the_ncm_predicts_almost_as_well_as_the_users_structure():
    assert perplexities("NCM", **QUICK) == pytest.approx(perplexities("UBM"), rel=0.015)


@every_network
def test_training_improves_on_the_untrained_network(name):
    world, log = small_world(short=True), simulated(300)
    settings = TrainingSettings(epochs=2, learning_rate=5e-3)
    network = network_of(name, world)
    pages = _Pages(log, torch.device("cpu"))
    before = pages.loss(network)
    train(network, log, 0, log, settings)
    assert pages.loss(network) < 0.95 * before
