"""Progress of long work: a bar with rate and time left on a terminal, nothing elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import ProgressColumn

_QUIET: ContextVar[bool] = ContextVar("quiet", default=False)  # inside a bar or ``quiet``


@contextmanager
def quiet() -> Iterator[None]:
    """Show no bars in this block: it is a step of longer work that has a bar of its own."""
    token = _QUIET.set(True)
    try:
        yield
    finally:
        _QUIET.reset(token)


@contextmanager
def progress(total: int, description: str) -> Iterator[Callable[[int], None]]:
    """Give a function that advances a progress bar; it does nothing when not on a terminal.

    Nor does it where there is nothing to do.

    Bars do not nest: work inside a bar shows none of its own.
    """
    if not total or _QUIET.get() or not sys.stderr.isatty():
        yield lambda steps: None
        return
    from rich import progress as parts
    from rich.console import Console

    columns = (
        parts.TextColumn("{task.description}"), parts.BarColumn(), parts.MofNCompleteColumn(),
        _rate_column(), parts.TimeElapsedColumn(), parts.TextColumn("left"),
        parts.TimeRemainingColumn(),
    )  # fmt: skip
    console = Console(stderr=True)
    with quiet(), parts.Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(description, total=total)
        yield lambda steps: bar.advance(task, steps)


def _rate_column() -> ProgressColumn:
    """Return a column of steps per second, or of seconds per step where steps are long."""
    from rich.progress import ProgressColumn, Task
    from rich.text import Text

    class Rate(ProgressColumn):
        def render(self, task: Task) -> Text:
            if not task.speed:
                return Text("")
            fast = task.speed >= 1.0
            return Text(f"{task.speed:,.0f}/s" if fast else f"{1 / task.speed:,.0f} s each")

    return Rate()
