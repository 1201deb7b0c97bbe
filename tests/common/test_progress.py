"""Bars of long work."""

from __future__ import annotations

import io
import sys

from looping import loop_over

from clickgym.common.progress import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@loop_over(("total", "shown"), [(2, True), (0, False)])
def test_a_terminal_has_a_bar_where_there_is_something_to_do(total, shown, monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with progress(total, "fitting") as advance:
        advance(total)
    assert ("fitting" in terminal.getvalue()) == shown
