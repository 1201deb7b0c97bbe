"""What the runs with and without switches say: tables, reasons of differences, and a picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...common.typing import Floats
from ...evaluation import interval
from ...evaluation.reporting.figures import new_figure
from ...evaluation.reporting.formats import PlainTable
from ..constants import ORACLE, REFERENCE, SHIFT_MODELS
from ..engine.rows import Row, by_seed, distinct, where
from ..robustness.shift_claims import TABLES
from ..study import Report
from .differences import Compared, Difference, find_differences
from .published import (
    METRICS,
    NOTHING,
    PAPER,
    RELEASED_CODE,
    SAME_LOGS,
    USERS,
    WITHOUT_SWITCH,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TEXT, LOGS, ALL = "no switch", "floor and sigma", "all switches"
RIVALS = ("PBM", "UBM", "DBN")
_OUTSIDE = METRICS["ood PPL"]
TITLE = "Tables 3 and 4: the paper, its released code, clickgym"
_CAPTION = (
    "Out-of-distribution perplexity: of clickgym mean, 95% interval and range over worlds; the "
    "paper and its released code each have one world."
)


def make_report(rows: Sequence[Row]) -> Report:
    """Return the report on rows of the protocol with a "variant"."""
    users = distinct(rows, "user", USERS)
    tables: dict[str, list[Any]] = {
        f"{TABLES[user]}: {user} user": [
            comparison_table(rows, user), switch_table(rows, user, "ood PPL"),
            switch_table(rows, user, "nDCG@3"), difference_table(rows, user),
        ]
        for user in users
    }  # fmt: skip
    tables["Who is worst out of distribution"] = [lead_table(rows)]
    every = [table for part in tables.values() for table in part]
    return Report(
        TITLE, f"{len(distinct(rows, 'seed'))} seeds, {len(distinct(rows, 'world_seed'))} worlds.",
        tables,
        figures={"released.png": (_CAPTION, released_picture(rows))}, printed=every,
    )  # fmt: skip


def values_of(rows: Sequence[Row], variant: str, user: str, model: str, field: str) -> Floats:
    """Return a model's numbers, one per seed, (seeds,); a model tested without its switch too."""
    return np.array(list(_by_seed(rows, variant, user, model, field).values()))


def _by_seed(
    rows: Sequence[Row], variant: str, user: str, model: str, field: str
) -> dict[int, float]:
    chosen = WITHOUT_SWITCH.get(model, model)
    variant = LOGS if model in WITHOUT_SWITCH and variant == ALL else variant
    found = by_seed(where(rows, variant=variant, user=user, model=chosen), field)
    return dict(sorted(found.items()))


def compared_models(rows: Sequence[Row], user: str) -> list[str]:
    """Return the models in the order of the tables, and those tested without their switch."""
    known = distinct(where(rows, user=user), "model", (ORACLE, *SHIFT_MODELS))
    return [*known, *(name for name, model in WITHOUT_SWITCH.items() if model in known)]


def comparison_table(rows: Sequence[Row], user: str) -> PlainTable:
    """Return the numbers of the paper, of its code, and ours as its text and with all switches."""
    headings = [
        f"{metric}, {source}"
        for metric in METRICS
        for source in ("paper", "code", "ours, switches", "ours, none")
    ]
    table = PlainTable(
        f"{TABLES[user]}, {user} user", "model", headings,
        "Ours: mean over worlds ± half width of the 95% Student-t interval, with all switches and "
        "without any. The rows of models tested without a switch have the others. The code's "
        "numbers are those of an outside run on one world; – where there are none.",
    )  # fmt: skip
    for model in compared_models(rows, user):
        texts = []
        for place, field in enumerate(METRICS.values()):
            for published in (PAPER, RELEASED_CODE):
                number = published[user].get(model, NOTHING)[place]
                texts.append("–" if number is None else f"{number:.3f}")
            texts += [
                _show(values_of(rows, variant, user, model, field)) for variant in (ALL, TEXT)
            ]
        table.add(model, texts)
    return table


def switch_table(rows: Sequence[Row], user: str, metric: str) -> PlainTable:
    """Return a metric of every model with every switch."""
    chosen = where(rows, user=user)
    models = distinct(chosen, "model", (ORACLE, *SHIFT_MODELS))
    table = PlainTable(
        f"{metric} with each switch, {user} user", "variant", models,
        "Mean over worlds ± half width of the 95% Student-t interval; – where a model has no such "
        "variant. The last two rows are choices of clickgym: tables instead of embeddings beside "
        "all switches, and documents of all grades beside none.",
    )  # fmt: skip
    for variant in distinct(chosen, "variant"):
        values = [values_of(chosen, variant, user, model, METRICS[metric]) for model in models]
        table.add(variant, [_show(one) for one in values])
    return table


def difference_table(rows: Sequence[Row], user: str) -> PlainTable:
    """Return where we differ from the released code, with the reason that these runs show."""
    table = PlainTable(
        f"Where clickgym with all switches differs from the released code, {user} user",
        "number", ["code", "ours", "least and most of our worlds", "reason"],
        "By more than 0.01 in perplexity or 0.03 in nDCG.",
    )  # fmt: skip
    for one in differences(rows, user):
        table.add(
            f"{one.model}, {one.metric}",
            [f"{one.published:.3f}", _show(one.values), one.range_text, one.reason],
        )
    return table


def differences(rows: Sequence[Row], user: str) -> list[Difference]:
    """Return the differences of a user's table."""
    numbers = {
        (model, metric): Compared(
            RELEASED_CODE[user].get(model, NOTHING)[place],
            values_of(rows, ALL, user, model, field),
            SAME_LOGS[user].get(model, NOTHING)[place],
        )
        for model in compared_models(rows, user)
        for place, (metric, field) in enumerate(METRICS.items())
    }
    return find_differences(numbers)


def lead_table(rows: Sequence[Row]) -> PlainTable:
    """Return how far dCTR and ARM-NC are above the worst of PBM, UBM and DBN, by variant."""
    users = distinct(rows, "user", USERS)
    names = [name for name in ("dCTR", REFERENCE) if where(rows, model=name)]
    table = PlainTable(
        f"ood PPL above the worst of {', '.join(RIVALS)}", "variant",
        [f"{name}, {user}" for user in users for name in names],
        "Mean over worlds [95% Student-t interval], and in how many worlds it is above 0.",
    )  # fmt: skip
    for variant in distinct(rows, "variant"):
        found = [lead_of(rows, variant, user, name) for user in users for name in names]
        table.add(variant, [_show_lead(one) for one in found])
    return table


def lead_of(rows: Sequence[Row], variant: str, user: str, name: str) -> Floats:
    """Return a model's ood PPL minus that of the worst rival, (seeds,), of seeds with all four."""
    own, *rivals = (
        _by_seed(rows, variant, user, one, _OUTSIDE) for one in (name, *RIVALS)
    )
    seeds = [seed for seed in own if all(seed in rival for rival in rivals)]
    return np.array([own[seed] - max(rival[seed] for rival in rivals) for seed in seeds])


def released_picture(rows: Sequence[Row]) -> Figure:
    """Draw out-of-distribution perplexities: ours with and without switches, paper and code."""
    users = distinct(rows, "user", USERS)
    figure = new_figure(5.6 * len(users), 4.4)
    axes = np.atleast_1d(figure.subplots(1, len(users)))
    for axis, user in zip(axes, users, strict=True):
        _draw(axis, rows, user)
    axes[0].legend(loc="lower right", fontsize=8)
    return figure


def _draw(axis: Any, rows: Sequence[Row], user: str) -> None:
    models = compared_models(rows, user)
    place = np.arange(len(models))[::-1]
    for variant, shift, colour in ((TEXT, 0.17, "#7fa8d1"), (ALL, -0.17, "#0c4c8a")):
        label = f"clickgym, {variant}"
        for row, model in zip(place, models, strict=True):
            values = values_of(rows, variant, user, model, _OUTSIDE)
            values = values[np.isfinite(values)]
            if not len(values) or (variant == TEXT and model in WITHOUT_SWITCH):
                continue
            found = interval(values)
            axis.plot([values.min(), values.max()], [row + shift] * 2, color=colour, lw=0.8)
            axis.plot([found.low, found.high], [row + shift] * 2, color=colour, lw=3.5)
            axis.plot(found.mean, row + shift, "o", color=colour, ms=5, label=label)
            label = "_"
    for published, mark, label in ((PAPER, "D", "paper"), (RELEASED_CODE, "x", "released code")):
        numbers = [published[user].get(model, NOTHING)[2] for model in models]
        axis.plot(
            [np.nan if number is None else number for number in numbers], place, mark,
            color="#d1495b", ms=6, mfc="none", label=label,
        )  # fmt: skip
    axis.set_yticks(place, models)
    axis.set(title=f"{TABLES[user]}: {user} user", xlabel="out-of-distribution perplexity")
    axis.grid(axis="x", alpha=0.3)


def _show(values: Floats) -> str:
    if not len(values):
        return "–"
    found = interval(values)
    half = f" ± {found.half_width:.3f}" if np.isfinite(found.half_width) else ""
    return f"{found.mean:.3f}{half}"


def _show_lead(values: Floats) -> str:
    if not len(values):
        return "–"
    found = interval(values)
    bounds = f" [{found.low:+.3f}, {found.high:+.3f}]" if np.isfinite(found.low) else ""
    return f"{found.mean:+.3f}{bounds}, {int((values > 0).sum())} of {len(values)}"
