"""Tables of clicks as commands name them: ``query=term``, and errors that name the option."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ... import data
from ...data.readers.tables.columns import NAMES
from ...data.readers.tables.reading import ReadLog


def read_table(path: str | Path, columns: Sequence[str] = (), **given: Any) -> ReadLog:
    """Read a table in silence, for whoever shows its report; errors name the option that helps.

    ``columns`` are texts such as "query=term"; the rest is for ``data.read_log``.
    """
    roles: dict[str, Any] = column_roles(columns)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            return data.read_log(path, **roles, **given)
    except data.BadLog as error:
        text = re.sub(rf"(?<![\w-])({'|'.join(NAMES)})=(…|\"\")", r"--column \1=\2", str(error))
        text = text.replace("list_separator=", "in Python, data.read_log(…) with list_separator=")
        raise ValueError(text.replace("strict=True", "--strict")) from error


def column_roles(columns: Sequence[str]) -> dict[str, str]:
    """Return the columns by role that texts such as "query=term" give."""
    roles: dict[str, str] = {}
    for text in columns:
        role, equals, name = text.partition("=")
        if not equals or role not in NAMES:
            raise ValueError(
                f"columns: {text!r} does not say what a column means, as query=term does; it may "
                f"mean {', '.join(NAMES)}"
            )
        if role in roles:
            raise ValueError(f"columns: the {role} is given twice: {roles[role]!r} and {name!r}")
        roles[role] = name
    return roles


def explain_columns(log: data.ClickLog, role: str, report: data.LogReport | None) -> str:
    """Return what a log could be split by: its columns, and those that its table has besides."""
    roles = {} if report is None else report.roles
    known = [f"{name} ({roles[name]})" if name in roles else name for name in log.extra]
    text = f"the log's columns of that kind: {', '.join(known) or 'none'}"
    if report is not None and report.unused:
        meaning = role if role in NAMES else "user"
        text += (
            f"; columns of the table that have no meaning yet: {', '.join(report.unused)} "
            f"(--column {meaning}=NAME gives one)"
        )
    return text
