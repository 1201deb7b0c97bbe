"""Train one click model of CLAX, in CLAX's own virtual environment (see clickmodels.py).

    python benchmarks/fits/_clax_run.py PBM FOLDER PAIRS RUNS

Reads ``train.npz``, ``validation.npz`` and ``test.npz`` of FOLDER, each with query_doc_ids (n, K)
from 1 to PAIRS and clicks (n, K); writes ``PBM.npz`` there: log P(C_k = 1 | c_1 .. c_{k-1}) of the
test log, (n, K), and how long each of RUNS equal trainings took. Settings are those of CLAX's
README: AdamW with a rate of 0.003, at most 50 epochs, early stopping by its Trainer's default.

Batches of 512 are NumPy arrays in memory, with the types of CLAX's own collator, so that reading
and collating, which with CLAX's own Parquet loader take longer than training a PBM, cost nothing.
"""

from __future__ import annotations

import sys
import time
from importlib.metadata import version
from pathlib import Path

import clax
import jax
import numpy as np
import optax
from clax.models.base import ClickModel
from flax import nnx

BATCH, RATE, SEED = 512, 0.003, 42
WITH_POSITIONS = {
    "PBM": clax.PositionBasedModel, "UBM": clax.UserBrowsingModel, "DCM": clax.DependentClickModel
}  # fmt: skip
WITHOUT = {"DBN": clax.DynamicBayesianNetwork, "CCM": clax.ClickChainModel}


def batches(path: Path) -> list[dict[str, np.ndarray]]:
    """Return a log as CLAX's batches."""
    with np.load(path) as log:
        pairs, clicks = log["query_doc_ids"].astype(np.int32), log["clicks"].astype(np.float16)
    ranks = np.arange(1, pairs.shape[1] + 1, dtype=np.int16)
    return [
        {
            "query_doc_ids": pairs[start : start + BATCH],
            "clicks": clicks[start : start + BATCH],
            "positions": np.tile(ranks, (len(pairs[start : start + BATCH]), 1)),
            "mask": np.ones(clicks[start : start + BATCH].shape, dtype=bool),
        }
        for start in range(0, len(pairs), BATCH)
    ]


def new_model(name: str, pairs: int, slots: int) -> ClickModel:
    if name in WITH_POSITIONS:
        return WITH_POSITIONS[name](slots, pairs, rngs=nnx.Rngs(SEED))
    return WITHOUT[name](pairs, rngs=nnx.Rngs(SEED))


def main(name: str, folder: Path, pairs: int, runs: int) -> None:
    train, validation, test = (
        batches(folder / f"{part}.npz") for part in ("train", "validation", "test")
    )
    slots = train[0]["clicks"].shape[1]
    compiling: list[float] = []

    def listen(event: str, duration_secs: float, **_: str | int) -> None:
        if "/compile/" in event:
            compiling.append(duration_secs)

    jax.monitoring.register_event_duration_secs_listener(listen)
    # CLAX compiles its steps once for each trainer, model structure and shape of a batch: a few
    # batches of every shape, with the trainer that is timed, and nothing is left to compile.
    trainer = clax.Trainer(optax.adamw(RATE))
    epochs, trainer.epochs = trainer.epochs, 2
    start = time.perf_counter()
    trainer.train(
        new_model(name, pairs, slots), train[:2] + train[-1:], validation[:2] + validation[-1:]
    )
    warm_up = time.perf_counter() - start
    trainer.epochs = epochs
    wall, processor, left = [], [], []
    for _ in range(runs):
        compiling.clear()
        model = new_model(name, pairs, slots)
        start, used = time.perf_counter(), time.process_time()
        history = trainer.train(model, train, validation)
        jax.block_until_ready(nnx.state(model))
        wall.append(time.perf_counter() - start - sum(compiling))
        processor.append(time.process_time() - used)
        left.append(sum(compiling))
    own = trainer.test_clicks(model, test)
    predict = nnx.jit(type(model).predict_conditional_clicks)
    np.savez(
        folder / f"{name}.npz",
        log_probs=np.concatenate([np.asarray(predict(model, batch)) for batch in test]),
        seconds=wall,
        processor_seconds=processor,
        compile_seconds=left,
        warm_up_seconds=warm_up,
        epochs=len(history),
        validation_loss=history["val_loss"].to_numpy(dtype=float),
        own_perplexity=float(own["test_cond_ppl"].iloc[0]),
        versions=[f"{package} {version(package)}" for package in ("clax-models", "jax", "flax")],
    )


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
