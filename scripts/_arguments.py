"""A dataclass of settings as command-line options: field documentation becomes ``--help``."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Sequence
from types import NoneType
from typing import Any, TypeVar, get_args, get_type_hints

Settings = TypeVar("Settings")


def option(default: Any, text: str, **more: Any) -> Any:
    """Return a dataclass field with its line of help; ``choices`` and ``nargs`` may be given.

    ``positional=True`` makes an argument without a flag, which may be left out.
    """
    metadata = {"help": text, **more}
    if isinstance(default, list):
        return dataclasses.field(default_factory=lambda: list(default), metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


def parse(settings: type[Settings], command: str, arguments: Sequence[str] | None) -> Settings:
    """Return an instance of the dataclass ``settings`` from command-line ``arguments``."""
    parser = argparse.ArgumentParser(
        prog=f"clickgym {command}",
        description=(settings.__doc__ or "").strip(),
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    hints = get_type_hints(settings)
    for field in dataclasses.fields(settings):  # type: ignore[arg-type]
        flag = "--" + field.name.replace("_", "-")
        more = {key: value for key, value in field.metadata.items() if key != "help"}
        if more.pop("positional", False):
            flag = field.name
            more["nargs"] = "?"
        default = (
            field.default_factory()
            if field.default_factory is not dataclasses.MISSING
            else field.default
        )
        if hints[field.name] is bool:
            more["action"] = argparse.BooleanOptionalAction
        elif isinstance(default, list):
            more |= {"nargs": "+", "type": type(default[0])}
        elif default is None:
            (more["type"],) = {*get_args(hints[field.name])} - {NoneType}
        else:
            more["type"] = type(default)
        if default in (None, "", [""]):  # not given: the help itself says what happens then
            # argparse checks the default of an argument without a flag against its choices, if it
            # is a string, and SUPPRESS is one.
            default = None if flag == field.name else argparse.SUPPRESS
        text = field.metadata["help"].replace("%", "%%")  # argparse fills in "%(default)s"
        parser.add_argument(flag, default=default, help=text, **more)
    given = vars(parser.parse_args(arguments))
    return settings(**{name: value for name, value in given.items() if value is not None})
