"""Fitting click models: quality beside time, CLAX's and ours on the same log, in one run.

    python benchmarks clickmodels --out FOLDER

The log: 100,000 pages that a true DBN user saw in uniformly random order (1,000 queries drawn by a
power law of 1.12, 10 documents, all shown), 10,000 more to validate and 10,000 to test. Perplexity
is ``evaluation.perplexity`` of the test log, each click given those above it, for both sides.

CLAX (PyPI: clax-models) runs in a virtual environment of its own, made in ``.venv-clax`` and kept,
with its README's settings and its own Trainer: AdamW, rate 0.003, batches of 512, early stopping by
the validation log. Left out of its time: starting Python, reading and collating the log (batches
are arrays in memory), and compiling: the trainer that is timed has first trained another model on
batches of the same shapes, after which JAX's own events count no compilation (what they do count
is subtracted, ``compile_seconds``). In ours is all of ``clickmodels.fit`` on the raw log, after one
fit to warm up. Of CLAX's runs the fastest counts, of ours the median. Both sides see the same cores
and OMP_NUM_THREADS; JAX, which does not read it, starts a thread a core. Other work on the machine
slows CLAX down more than ours: "at least" is the ratio of times that processor seconds prove, had
CLAX's least been spread evenly over all cores.

FOLDER gets ``clickmodels.json`` and ``clickmodels.png``. The bars: a perplexity of at most CLAX's
+ 0.0001, in at most a twentieth of its time.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any, ClassVar

import numpy as np
from _measure import Row, new_parser, new_table, save_rows, show
from numpy.typing import ArrayLike, NDArray

from clickgym import clickmodels, data, envs, evaluation, policies

REQUIREMENTS = ("clax-models==0.1.1", "jax==0.7.2", "torch==2.13.0")
VENV = Path(__file__).resolve().parents[2] / ".venv-clax"
MODELS = ("PBM", "UBM", "DBN", "DCM", "CCM")
PARTS = {"train": 100_000, "validation": 10_000, "test": 10_000}
WORSE, FASTER = 1e-4, 20  # the bars

Logs = dict[str, data.ClickLog]
Result = dict[str, Any]


class Predicted(clickmodels.ClickModel):
    """The predictions for one log, (n, K), as a click model that knows nothing else."""

    name = "CLAX"
    capabilities: ClassVar[frozenset[str]] = frozenset({"conditional"})

    def __init__(self, probs: NDArray[np.float64]) -> None:
        self.probs = probs

    def conditional_click_probs(
        self, query: ArrayLike, ranking: ArrayLike, clicks: ArrayLike
    ) -> NDArray[np.float64]:
        return self.probs


def clax_python() -> Path:
    """Return the Python of CLAX's virtual environment, made where it is not there yet."""
    python, ready = VENV / "bin" / "python", VENV / ".ready"
    if not ready.exists() or ready.read_text() != "\n".join(REQUIREMENTS):
        print(f"Setting up {VENV} (once; a few minutes)", file=sys.stderr, flush=True)
        subprocess.run([sys.executable, "-m", "venv", VENV], check=True)
        pip = (python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
        subprocess.run([*pip, *REQUIREMENTS], check=True)
        ready.write_text("\n".join(REQUIREMENTS))
    return python


def save_for_clax(logs: Logs, world: data.World, folder: Path) -> None:
    """Write every log as the arrays that ``_clax_run.py`` reads."""
    for part, log in logs.items():
        pairs = log.query[:, None] * world.n_docs + log.ranking + 1
        np.savez(folder / f"{part}.npz", query_doc_ids=pairs, clicks=log.clicks)


def with_clax(name: str, python: Path, folder: Path, pairs: int, runs: int) -> Result:
    """Train CLAX's ``name`` on what ``folder`` holds; return its results, ``log_probs`` (n, K)."""
    script = Path(__file__).with_name("_clax_run.py")
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        [python, script, name, folder, str(pairs), str(runs)],
        env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    if done.returncode:
        raise SystemExit(f"CLAX's {name} failed:\n{done.stderr}")
    with np.load(folder / f"{name}.npz") as arrays:
        return {key: arrays[key] for key in arrays.files}


def with_ours(name: str, logs: Logs, world: data.World, runs: int) -> Result:
    """Fit our ``name`` once to warm up and ``runs`` times for the clock."""
    seconds, processor = [], []
    for _ in range(runs + 1):
        start, used = time.perf_counter(), time.process_time()
        model = clickmodels.fit(name, logs["train"], world, validation=logs["validation"])
        seconds.append(time.perf_counter() - start)
        processor.append(time.process_time() - used)
    return {
        "perplexity": evaluation.perplexity(model, logs["test"]).mean,
        "seconds": seconds[1:],
        "processor_seconds": processor[1:],
    }


def compare(names: list[str], logs: Logs, world: data.World, options: argparse.Namespace) -> Result:
    """Return both sides' results of every model by its name."""
    python = options.clax_python or clax_python()
    pairs = world.n_queries * world.n_docs
    rows: Result = {}
    with tempfile.TemporaryDirectory() as folder:
        save_for_clax(logs, world, Path(folder))
        for name in names:
            theirs = with_clax(name, python, Path(folder), pairs, options.clax_runs)
            probs = np.exp(theirs.pop("log_probs").astype(np.float64))
            ours = with_ours(name, logs, world, options.runs)
            perplexity = evaluation.perplexity(Predicted(probs), logs["test"]).mean
            clax = {key: value.tolist() for key, value in theirs.items()}
            rows[name] = judge({"perplexity": perplexity, **clax}, ours)
    return rows


def judge(clax: Result, ours: Result) -> Result:
    """Return both sides with the time that counts, how they compare, and which bars are met."""
    theirs_seconds, our_seconds = min(clax["seconds"]), median(ours["seconds"])
    times = theirs_seconds / our_seconds
    least = min(clax["processor_seconds"]) / len(os.sched_getaffinity(0))
    difference = ours["perplexity"] - clax["perplexity"]
    return {
        "clax": {**clax, "counts": theirs_seconds},
        "ours": {**ours, "counts": our_seconds},
        "times": times,
        "times_at_least": least / median(ours["processor_seconds"]),
        "difference": difference,
        "met": {"perplexity": difference <= WORSE, "seconds": times >= FASTER},
    }


def list_rows(ours: Result) -> list[Row]:
    """Return our seconds and perplexity of every model as rows."""
    return [
        row
        for name, result in ours.items()
        for row in (
            Row(f"{name}: fit", median(result["seconds"]), "s"),
            Row(f"{name}: perplexity", result["perplexity"], "perplexity"),
        )
    ]


def report(rows: Result, of_user: float) -> None:
    table = new_table(
        f"click models; the true user's own perplexity is {of_user:.5f}",
        "model", "CLAX", "CLAX, s", "ours", "ours, s", "times", "at least", "difference", "bars",
        left=("bars",),
    )  # fmt: skip
    for name, row in rows.items():
        missed = [bar for bar, met in row["met"].items() if not met]
        table.add_row(
            name,
            f"{row['clax']['perplexity']:.5f}", f"{row['clax']['counts']:.2f}",
            f"{row['ours']['perplexity']:.5f}", f"{row['ours']['counts']:.3f}",
            f"{row['times']:.1f}", f"{row['times_at_least']:.1f}", f"{row['difference']:+.5f}",
            f"MISSED: {', '.join(missed)}" if missed else "met",
        )  # fmt: skip
    show(table)


def draw(rows: Result, of_user: float, path: Path) -> None:
    """Draw perplexity against seconds, an arrow from CLAX's point to ours for each model."""
    from clickgym.evaluation.reporting.figures import (
        BEST,
        MAX_REWARD,
        RANDOM,
        new_figure,
        save_figure,
    )  # fmt: skip

    figure = new_figure(9.0, 4.4)
    axis = figure.subplots()
    axis.set_xscale("log")
    axis.axhline(of_user, color=BEST, linestyle=":", label="the true user itself")
    points = {
        name: [(row[side]["counts"], row[side]["perplexity"]) for side in ("clax", "ours")]
        for name, row in rows.items()
    }
    sides = (("CLAX", RANDOM), ("clickgym", MAX_REWARD))
    for (label, colour), each in zip(sides, zip(*points.values(), strict=True), strict=True):
        axis.scatter(*zip(*each, strict=True), color=colour, label=label, zorder=3)
    gap = 0.06 * (max(row["clax"]["perplexity"] for row in rows.values()) - of_user)
    height = of_user
    for name in sorted(points, key=lambda name: points[name][0][1]):
        start, end = points[name]
        axis.annotate(
            "", end, start,
            arrowprops={"arrowstyle": "->", "color": RANDOM, "shrinkA": 4, "shrinkB": 4},
        )  # fmt: skip
        height = max(start[1], height + gap)  # labels of near models move apart
        axis.annotate(
            f"{name}: {start[1]:.4f} → {end[1]:.4f}, {rows[name]['times']:.0f} times as fast",
            start, (1.04, height), textcoords=axis.get_yaxis_transform(), va="center", fontsize=9,
            arrowprops={"arrowstyle": "-", "color": RANDOM, "linewidth": 0.5, "shrinkB": 4},
        )  # fmt: skip
    axis.set_xlabel("seconds to fit 100,000 pages")
    axis.set_ylabel("perplexity of 10,000 other pages")
    figure.legend(fontsize=9, frameon=False, loc="outside upper left", ncols=3)
    save_figure(figure, path)


def main() -> None:
    known = [name for name in MODELS if name in clickmodels.names()]
    parser = new_parser(__doc__)
    parser.add_argument("--out", type=Path, default=Path("results/clickmodels"))
    parser.add_argument("--models", nargs="+", choices=known, default=known)
    parser.add_argument("--runs", type=int, default=5, help="fits of ours that are timed")
    parser.add_argument("--clax-runs", type=int, default=3, help="trainings of CLAX's, likewise")
    parser.add_argument("--no-clax", action="store_true", help="ours alone, without a picture")
    parser.add_argument("--clax-python", type=Path, help="of an environment that has CLAX")
    options = parser.parse_args()
    world = data.synthetic_world(n_queries=1000, n_docs=10)
    user = clickmodels.true_user("DBN", world)
    policy = policies.Uniform(world)
    logs = {
        part: envs.collect(world, user, policy, pages, seed)
        for seed, (part, pages) in enumerate(PARTS.items())
    }
    of_user = evaluation.perplexity(user, logs["test"]).mean
    if options.no_clax:
        ours = {name: with_ours(name, logs, world, options.runs) for name in options.models}
        for name, result in ours.items():
            seconds, perplexity = median(result["seconds"]), result["perplexity"]
            print(f"{name}: {seconds:.3f} s, perplexity {perplexity:.5f}")
        save_rows(options.json, list_rows(ours))
        return
    rows = compare(options.models, logs, world, options)
    save_rows(options.json, list_rows({name: row["ours"] for name, row in rows.items()}))
    report(rows, of_user)
    machine = {
        "cores": len(os.sched_getaffinity(0)),
        "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS"),
        "load": os.getloadavg(),
        "numpy": np.__version__,
    }
    content = {"models": rows, "user": of_user, "pages": PARTS, "machine": machine}
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "clickmodels.json").write_text(json.dumps(content, indent=1) + "\n")
    draw(rows, of_user, options.out / "clickmodels.png")


if __name__ == "__main__":
    main()
