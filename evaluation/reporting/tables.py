"""Tables of results in the paper's form: means, intervals over seeds, and marks."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...common import checks
from ..statistics import BOLD, DAGGER, EQUAL, Interval, check_confidence, interval, marks
from .formats import PlainTable, Shown
from .records import Record, read_records, write_records

MISSING = "–"


@dataclass(frozen=True)
class Metric:
    """A column of a table: how its values are compared and shown.

    Parameters
    ----------
    name : str
    lower_is_better : bool
    digits : int
        Digits after the point.
    reference : str, optional
        The model that "†" compares with.
    daggers : tuple of str, optional
        The models that may get a "†"; default all.
    exclude : tuple of str
        Models that are shown but not compared (oracles): never best, no mark.
    brackets : tuple of str
        Not compared either, and shown in brackets (ARM-NC's perplexity).
    arrow : bool
        Whether the heading says where values are better.
    """

    name: str
    lower_is_better: bool
    digits: int = 4
    reference: str | None = None
    daggers: tuple[str, ...] | None = None
    exclude: tuple[str, ...] = ()
    brackets: tuple[str, ...] = ()
    arrow: bool = True

    @property
    def heading(self) -> str:
        """The name, with an arrow to where values are better."""
        return f"{self.name} {'↓' if self.lower_is_better else '↑'}" if self.arrow else self.name


class ResultTable:
    """Results of models (rows) by metrics (columns), each cell with one value per seed.

    Parameters
    ----------
    metrics : sequence of Metric
        The columns, in order.
    title : str
    confidence : float
        Of the intervals over seeds and of the marks.
    interval_name : str
        What the legend calls the intervals that are added ready-made.
    subject : str
        What the rows are, the heading of their names.
    least_seeds : int
        Intervals over fewer seeds are not shown.
    note : str
        What the legend says last.

    Examples
    --------
    >>> table = ResultTable([Metric("PPL", True, digits=3), Metric("nDCG@10", False, digits=2)])
    >>> table.add("PBM", {"PPL": [1.301, 1.303, 1.302], "nDCG@10": [0.71, 0.75, 0.73]})
    >>> table.add("TopPop", {"nDCG@10": [0.81, 0.82, 0.83]})
    >>> print(table.to_markdown())  # doctest: +SKIP
    """

    def __init__(
        self,
        metrics: Sequence[Metric],
        title: str = "",
        confidence: float = 0.95,
        interval_name: str = "95% bootstrap interval over test pages",
        subject: str = "model",
        least_seeds: int = 2,
        note: str = "",
    ) -> None:
        self.subject, self.least_seeds, self.note = subject, least_seeds, note
        self.metrics = {metric.name: metric for metric in metrics}
        if len(self.metrics) < len(metrics) or not metrics:
            raise ValueError("metrics must be columns with different names, at least one")
        self.title = title
        self.confidence = check_confidence(confidence)
        self.interval_name = interval_name
        self._rows: dict[str, dict[str, list[Record]]] = {}

    def add(
        self, model: str, values: Mapping[str, ArrayLike | Interval], seeds: ArrayLike | None = None
    ) -> None:
        """Add a model's values of one or more metrics; the order of rows is that of adding.

        Parameters
        ----------
        values : dict of (n,) floats or of Interval
            For each metric one value per seed; or an interval that was found otherwise, such as by
            a bootstrap over test pages. A model without any still gets a row.
        seeds : (n,) integers, optional
            The seeds of the values, ``0 .. n-1`` by default.
        """
        new = {
            name: self._make_records(model, name, value, seeds) for name, value in values.items()
        }
        self._rows.setdefault(model, {}).update(new)

    def _make_records(
        self, model: str, metric: str, value: ArrayLike | Interval, seeds: ArrayLike | None
    ) -> list[Record]:
        checks.choice(metric, list(self.metrics), "metric")
        if metric in self._rows.get(model, {}):
            raise ValueError(f"{model} already has values of {metric}")
        if isinstance(value, Interval):
            if np.isnan(value.mean):
                raise ValueError(f"{metric} of {model} has a NaN")
            return [Record(model, metric, None, value.mean, value.low, value.high, value.n)]
        array = np.atleast_1d(np.asarray(value, dtype=np.float64))
        if array.ndim != 1 or np.isnan(array).any():
            raise ValueError(f"{metric} of {model} must be one number a seed, and none a NaN")
        names = np.arange(len(array)) if seeds is None else checks.integers(seeds, "seeds", 1)
        checks.same_shape(names, array.shape, "seeds", f"{metric} of {model}")
        if len(np.unique(names)) < len(names):
            raise ValueError("seeds has a seed twice")
        return [
            Record(model, metric, int(seed), float(number))
            for seed, number in zip(names, array, strict=True)
        ]

    @property
    def models(self) -> list[str]:
        """The rows' names, in order."""
        return list(self._rows)

    @property
    def headings(self) -> list[str]:
        """The columns' names, each with an arrow to where values are better."""
        return [metric.heading for metric in self.metrics.values()]

    def values(self, model: str, metric: str) -> NDArray[np.float64]:
        """Return a cell's values, one per seed, (n,); empty when it is missing."""
        return np.array([record.value for record in self._rows[model].get(metric, [])])

    def interval(self, model: str, metric: str) -> Interval:
        """Return a cell's mean and interval."""
        records = self._rows[model].get(metric, [])
        if records and records[0].seed is None:
            return records[0].interval
        return interval(self.values(model, metric), self.confidence)

    def marks(self, metric: str) -> dict[str, str]:
        """Return each model's mark in a column, as ``statistics.marks`` does."""
        column = self.metrics[metric]
        return marks(
            {model: self.values(model, metric) for model in self._rows},
            column.lower_is_better,
            column.reference,
            {*column.exclude, *column.brackets},
            column.daggers,
            self.confidence,
        )

    def cells(self) -> dict[str, list[Shown]]:
        """Return what is shown, for each model in the order of the metrics."""
        by_metric = {metric: self.marks(metric) for metric in self.metrics}
        return {
            model: [
                self._format_cell(model, metric, by_metric[metric][model])
                for metric in self.metrics
            ]
            for model in self._rows
        }

    def _format_cell(self, model: str, metric: str, mark: str) -> Shown:
        records = self._rows[model].get(metric)
        if not records:
            return Shown(MISSING, mark)
        column = self.metrics[metric]
        found = self.interval(model, metric)

        def number(value: float) -> str:
            return f"{value:.{column.digits}f}".replace("inf", "∞")

        text = number(found.mean)
        if records[0].seed is None:  # not symmetric
            text += f" [{number(found.low)}, {number(found.high)}]"
        elif not np.isnan(found.half_width) and len(records) >= self.least_seeds:
            text += f" ± {number(found.half_width)}"
        return Shown(f"({text})" if model in column.brackets else text, mark, found.mean)

    def legend(self) -> str:
        """Say in a sentence what the table's numbers, marks and brackets mean."""
        cells = [cell for row in self._rows.values() for cell in row.values() if cell]
        seeds = sorted({len(cell) for cell in cells if cell[0].seed is not None})
        used = "".join(shown.mark for row in self.cells().values() for shown in row)
        level = f"{self.confidence * 100:g}%"
        parts = []
        if seeds and 1 < seeds[-1] < self.least_seeds:
            parts.append(f"mean of {seeds[-1]} seeds, too few for intervals")
        elif seeds and seeds[-1] > 1:
            count = f"{seeds[0]} to {seeds[-1]}" if len(seeds) > 1 else f"{seeds[0]}"
            parts.append(f"mean ± half width of the {level} Student-t interval over {count} seeds")
        elif seeds:
            parts.append("one seed, so no intervals")
        if any(cell[0].seed is None for cell in cells):
            parts.append(f"[low, high]: {self.interval_name}")
        if BOLD in used:
            parts.append("bold: best mean")
        if EQUAL in used:
            parts.append("=: not significantly worse than the best (two-sided Welch's test)")
        if DAGGER in used:
            names = {metric.reference for metric in self.metrics.values() if metric.reference}
            parts.append(f"†: not significantly worse than {', '.join(sorted(names))}")
        if any({*metric.brackets} & {*self._rows} for metric in self.metrics.values()):
            parts.append("(in brackets): must not be compared")
        if self.note:
            parts.append(self.note)
        legend = "; ".join(parts)
        return f"{legend[:1].upper()}{legend[1:]}." if legend else ""

    def plain(self) -> PlainTable:
        """Return the table as the texts that it shows."""
        return PlainTable(self.title, self.subject, self.headings, self.legend(), self.cells())

    def to_markdown(self) -> str:
        """Return the table and its legend as Markdown."""
        return self.plain().to_markdown()

    def to_html(self) -> str:
        """Return the table and its legend as HTML."""
        return self.plain().to_html()

    def __rich__(self) -> PlainTable:
        """Return the table for a terminal: ``rich.print(table)``."""
        return self.plain()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the values, one row per model, metric and seed, as ``.parquet`` or ``.csv``."""
        cells = (cell for row in self._rows.values() for cell in row.values())
        write_records([record for cell in cells for record in cell], path)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        metrics: Sequence[Metric],
        title: str = "",
        confidence: float = 0.95,
        interval_name: str = "95% bootstrap interval over test pages",
    ) -> ResultTable:
        """Make a table of the values that ``save`` wrote; ``metrics`` chooses the columns.

        A model that has none of them still gets its row. A metric that the file does not have is
        an error.
        """
        table = cls(metrics, title, confidence, interval_name)
        records = read_records(path)
        missing = set(table.metrics) - {record.metric for record in records}
        if missing:
            raise ValueError(f"{path}: has no values of {', '.join(sorted(missing))}")
        for record in records:
            row = table._rows.setdefault(record.model, {})
            if record.metric in table.metrics:
                row.setdefault(record.metric, []).append(record)
        return table
