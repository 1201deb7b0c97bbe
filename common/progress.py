"""Progress of long work: a bar with rate and time left on a terminal, nothing elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import ProgressColumn

_QUIET: ContextVar[bool] = ContextVar("quiet", default=False)  # inside a bar, or told to be


@contextmanager
def quiet() -> Iterator[None]:
    """Show no bars in this block: what runs in it is a step of a longer work with its own."""
    token = _QUIET.set(True)
    try:
        yield
    finally:
        _QUIET.reset(token)


@contextmanager
def progress(total: int, description: str) -> Iterator[Callable[[int], None]]:
    """Give a function that advances a progress bar; it does nothing when not on a terminal.

    Bars do not nest: work inside a bar shows none of its own.
    """
    if _QUIET.get() or not sys.stderr.isatty():
        yield lambda steps: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), _rate_column(),
        TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn(),
    )  # fmt: skip
    with quiet(), Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(description, total=total)
        yield lambda steps: bar.advance(task, steps)


def _rate_column() -> ProgressColumn:
    """Return a column of steps a second, or of seconds a step where steps are long."""
    from rich.progress import ProgressColumn, Task
    from rich.text import Text

    class Rate(ProgressColumn):
        def render(self, task: Task) -> Text:
            if not task.speed:
                return Text("")
            fast = task.speed >= 1.0
            return Text(f"{task.speed:,.0f}/s" if fast else f"{1 / task.speed:,.0f} s each")

    return Rate()
