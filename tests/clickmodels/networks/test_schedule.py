"""The training loop: its schedule, weights, seeds, the choice of a trainer, and TensorBoard."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from conftest import small_world
from judging import repeated
from torch import nn
from untrained import NETWORKS, network_of, simulated

from clickgym import clickmodels
from clickgym.clickmodels.networks import schedule
from clickgym.clickmodels.networks.network import Network
from clickgym.clickmodels.networks.schedule import TrainingSettings, train
from clickgym.clickmodels.networks.torch_trainer import PageTensors
from clickgym.data import ClickLog

RATE = 0.5


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


def test_the_learning_rate_is_halved_after_every_pass_of_at_least_80_000_pages():
    losses = [1.0 - 0.01 * number for number in range(5)]
    for pages, halvings in ((80_000, [1, 0.5, 0.25]), (40_000, [1, 1, 0.5, 0.5])):
        steps, epochs = pages // 1000, len(halvings)
        options = {"batch_size": 1000, "check_every": steps, "epochs": epochs}
        moves = run(*losses[: epochs + 1], pages=pages, **options).moves
        np.testing.assert_allclose(moves / (RATE * steps), halvings, rtol=1e-2)


def test_the_text_halves_the_learning_rate_by_validations_alone():
    moves = run(1.0, 0.9, 0.8, pages=500, epochs=2, check_every=500, halve_each_epoch=False).moves
    np.testing.assert_allclose(moves / (RATE * 500), [1, 1], rtol=1e-3)


def test_settings_have_names_and_can_be_changed():
    released, text = TrainingSettings.named(), TrainingSettings.named("text", epochs=3)
    assert (released.embedding, released.hidden, released.dropout) == ((32, 64), (64, 16), 0.2)
    assert (text.embedding, text.hidden, text.dropout) == (64, 64, 0.0)
    assert (text.batch_size, text.learning_rate, text.epochs) == (32, 1e-3, 3)
    with pytest.raises(ValueError, match="training must be one of released, text"):
        TrainingSettings.named("paper")


def test_larger_logs_take_larger_steps():
    steps = [TrainingSettings().fitting(pages) for pages in (1, 31_999, 32_000, 64_000, 10**7)]
    small, middle, large = (32, 1e-3, 500), (64, 2**1.5 * 1e-3, 250), (128, 8e-3, 125)
    for got, expected in zip(steps, (small, small, middle, large, large), strict=True):
        assert got == pytest.approx(expected)
    text = TrainingSettings.named("text")
    assert text.fitting(10**7) == pytest.approx(small)
    given = TrainingSettings(batch_size=64, learning_rate=0.1, check_every=3)
    assert given.fitting(10**7) == (64, 0.1, 3)
    assert TrainingSettings(batch_size=10**5).fitting(10) == pytest.approx((10**5, 8e-3, 1))


def test_a_fit_takes_the_texts_settings():
    log, world = simulated(60), small_world(short=True)
    for training, widths in (("released", (32 + 64,)), ("text", (64 + 64,))):
        network = clickmodels.fit("NCM", log, world, epochs=1, training=training)
        assert network.input_weights.shape[1:] == (widths[0] + 1,), training


def test_the_best_state_is_kept():
    scripts = [((1, 1.1, 1.1, 1.1), 0), ((1, 0.9, 1.1, 1.1, 1.1), 1)]
    scripts.append(((1, 1.1, 0.8, 0.9, 0.9, 0.9), 2))
    for losses, best in scripts:
        network = run(*losses)
        assert -network.number.item() == network.validated[best], losses


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


def test_a_bad_setting_is_named():
    bad = [
        {"batch_size": 0}, {"epochs": 0}, {"check_every": 0.5}, {"learning_rate": 0.0},
        {"learning_rate": float("nan")}, {"clip": -1.0}, {"embedding": 0}, {"stop_after": True},
        {"dropout": 1.0}, {"hidden": ()}, {"embedding": (4, 4, 4)},
    ]  # fmt: skip
    for setting in bad:
        with pytest.raises(ValueError, match=next(iter(setting))):
            TrainingSettings(**setting)


# Weighted rows


def trained(log, validation=None):
    """An NCM after three steps on the whole log at once."""
    settings = {"batch_size": 10_000, "epochs": 3, "learning_rate": 0.05}
    return clickmodels.fit(
        "NCM", log, small_world(short=True), validation=validation or log,
        embedding=4, hidden=4, dropout=0.0, **settings,
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


# Seeds, global state, and who trains

FITS = (
    ("NCM", {"epochs": 1}),
    ("PBM", {"parameters": "embedding", "epochs": 1}),
    ("CACM-minus", {}),
)


def test_a_fit_neither_uses_nor_changes_torchs_random_state():
    log, world = simulated(60), small_world(short=True)
    for name, settings in FITS:
        models = []
        for seed in (1, 2):
            torch.manual_seed(seed)
            before = torch.get_rng_state()
            models.append(clickmodels.fit(name, log, world, **settings))
            assert torch.equal(torch.get_rng_state(), before), name
        assert_same_state(*models, tolerance=0)


def test_the_same_seed_gives_the_same_network():
    log = simulated(200)
    for name in NETWORKS:
        states = []
        for _ in range(2):
            network = network_of(name)
            train(network, log, 3, None, TrainingSettings(epochs=2))
            states.append(network.state_dict())
        for key, value in states[0].items():
            assert torch.equal(value, states[1][key]), (name, key)


def test_training_improves_on_the_untrained_network():
    log = simulated(300)
    pages = PageTensors(log, torch.device("cpu"))
    for name in NETWORKS:
        network = network_of(name)
        before = pages.mean_loss(network)
        train(network, log, 0, log, TrainingSettings(epochs=2, learning_rate=5e-3))
        assert pages.mean_loss(network) < 0.95 * before, name


def test_numpy_trains_only_networks_with_gradients_and_only_on_the_cpu(monkeypatch):
    chosen = []

    def trainer_called(name):
        def choose(*arguments):
            chosen.append(name)
            raise InterruptedError

        return choose

    monkeypatch.setattr(schedule, "NumpyTrainer", trainer_called("numpy"))
    monkeypatch.setattr(schedule, "TorchTrainer", trainer_called("torch"))
    cases = (network_of("PBM"), "cpu"), (network_of("PBM"), "cuda"), (Scripted(), "cpu")
    for network, device in cases:
        with pytest.raises(InterruptedError):
            train(network, simulated(40), 0, None, TrainingSettings(device=device))
    assert chosen == ["numpy", "torch", "torch"]


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


def test_tensorboard_gets_losses_and_the_learning_rate_at_every_validation(scalars):
    assert set(scalars) == {"fit/training loss", "fit/validation loss", "fit/learning rate"}
    for tag, events in scalars.items():
        assert [event.step for event in events] == [4, 8, 12, 15], tag
    assert scalars["fit/learning rate"][0].value == pytest.approx(1e-3)


def test_the_training_loss_on_tensorboard_is_a_mean_over_batches(scalars):
    """The last validation comes after three batches, the others after four."""
    values = [event.value for event in scalars["fit/training loss"]]
    assert max(values) < 1.2 * min(values)
