"""Whether a value that was read from JSON has the shape that a type declares."""

from __future__ import annotations

import math
from collections.abc import Iterator
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    NotRequired,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

Unbounded = Annotated[float, "a number"]  # it may be infinite
Undefined = Annotated[float, "a number or NaN"]  # NaN where it is not defined
_WORDS = {float: "a finite number", int: "a whole number", str: "text", bool: "true or false"}


def find_mismatch(value: Any, shape: Any, where: str = "result") -> str:
    """Return what is wrong with ``value``, "" if nothing is.

    Parameters
    ----------
    shape
        A ``TypedDict`` or a dict of types by name (some ``NotRequired``), ``dict[str, X]``,
        ``list[X]``, ``[X]`` or ``tuple[X, ...]``, ``tuple[X, Y]`` (a list of that length),
        ``X | None``, ``str``, ``bool``, ``int``, ``float`` (finite), ``Unbounded``, ``Undefined``,
        or ``Any``.
    """
    return next(_find(value, shape, where), "")


def _find(value: Any, shape: Any, where: str) -> Iterator[str]:
    if is_typeddict(shape):
        shape = get_type_hints(shape, include_extras=True)
    kind, arguments = get_origin(shape) or shape, get_args(shape)
    if isinstance(shape, list):
        kind, arguments = list, tuple(shape)
    if kind is tuple and arguments[-1] is Ellipsis:
        kind, arguments = list, arguments[:1]
    if isinstance(shape, dict):
        yield from _find_in_fields(value, shape, where)
    elif kind in (UnionType, Union):
        (inner,) = (one for one in arguments if one is not NoneType)
        if value is not None:
            yield from _find(value, inner, where)
    elif kind is dict:
        if not isinstance(value, dict):
            yield f"{where} is not a table"
        for name, one in value.items():
            yield from _find(one, arguments[1], f"{where}.{name}")
    elif kind in (list, tuple):
        if not isinstance(value, list) or (kind is tuple and len(value) != len(arguments)):
            yield f"{where} is not a list" + (f" of {len(arguments)}" if kind is tuple else "")
        inner = arguments if kind is tuple else arguments * len(value)
        for number, (one, part) in enumerate(zip(value, inner, strict=True)):
            yield from _find(one, part, f"{where}[{number}]")
    elif not _fits(value, kind, arguments):
        yield f"{where} is not {arguments[1] if arguments else _WORDS[kind]}"


def _find_in_fields(value: Any, hints: dict[str, Any], where: str) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"{where} is not a table"
    for name, inner in hints.items():
        optional = get_origin(inner) is NotRequired
        if name in value:
            declared = get_args(inner)[0] if optional else inner
            yield from _find(value[name], declared, f"{where}.{name}")
        elif not optional:
            yield f"{where} lacks {name!r}"
    for name in value.keys() - hints.keys():
        yield f"{where} has {name!r}, which does not belong there"


def _fits(value: Any, kind: Any, arguments: tuple[Any, ...]) -> bool:
    if kind is Any:
        return True
    if kind in (str, bool):
        return isinstance(value, kind)
    if isinstance(value, bool) or not isinstance(value, int if kind is int else (int, float)):
        return False
    if kind is Annotated:
        return "NaN" in arguments[1] or not math.isnan(value)
    return math.isfinite(value)
