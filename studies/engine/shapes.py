"""Whether a value that was read from JSON has the shape that a type declares."""

from __future__ import annotations

import math
from types import NoneType, UnionType
from typing import Annotated, Any, NotRequired, get_args, get_origin, get_type_hints, is_typeddict

Unbounded = Annotated[float, "any"]  # a number that may be infinite or, where undefined, NaN


def find_mismatch(value: Any, shape: Any, where: str = "result") -> str:
    """Return what is wrong with ``value``, "" if nothing is.

    Parameters
    ----------
    shape
        A ``TypedDict`` or a dict of types by name (some ``NotRequired``), ``dict[str, X]``,
        ``list[X]``, ``tuple[X, Y]`` (a list of that length), ``X | None``, ``str``, ``bool``,
        ``int``, ``float`` (finite), ``Unbounded``, or ``Any``.
    """
    if get_origin(shape) is Annotated:
        return "" if _is_number(value) else f"{where} is not a number"
    if is_typeddict(shape):
        shape = get_type_hints(shape, include_extras=True)
    if isinstance(shape, dict):
        return _find_in_fields(value, shape, where)
    arguments = get_args(shape)
    kind = get_origin(shape) or shape
    if kind is UnionType:
        if value is None and NoneType in arguments:
            return ""
        found = [find_mismatch(value, one, where) for one in arguments if one is not NoneType]
        return "" if "" in found else found[0]
    if kind is dict:
        return _find_first(value, dict, "a table", where, lambda: {
            f"{where}.{name}": (one, arguments[1]) for name, one in value.items()
        })  # fmt: skip
    if kind is list:
        return _find_first(value, list, "a list", where, lambda: {
            f"{where}[{number}]": (one, arguments[0]) for number, one in enumerate(value)
        })  # fmt: skip
    if kind is tuple:
        if not isinstance(value, list) or len(value) != len(arguments):
            return f"{where} is not a list of {len(arguments)}"
        return _find_first(value, list, "a list", where, lambda: {
            f"{where}[{number}]": pair
            for number, pair in enumerate(zip(value, arguments, strict=True))
        })  # fmt: skip
    return _find_in_scalar(value, kind, where)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _find_in_fields(value: Any, hints: dict[str, Any], where: str) -> str:
    if not isinstance(value, dict):
        return f"{where} is not a table"
    for name, inner in hints.items():
        optional = get_origin(inner) is NotRequired
        if name in value:
            declared = get_args(inner)[0] if optional else inner
            found = find_mismatch(value[name], declared, f"{where}.{name}")
            if found:
                return found
        elif not optional:
            return f"{where} lacks {name!r}"
    surplus = next((name for name in value if name not in hints), None)
    return "" if surplus is None else f"{where} has {surplus!r}, which does not belong there"


def _find_first(value: Any, kind: type, word: str, where: str, parts: Any) -> str:
    """Return the first mismatch of the parts of a collection."""
    if not isinstance(value, kind):
        return f"{where} is not {word}"
    found = (find_mismatch(one, shape, place) for place, (one, shape) in parts().items())
    return next(filter(None, found), "")


def _find_in_scalar(value: Any, kind: Any, where: str) -> str:
    if kind is float:
        fits = _is_number(value) and math.isfinite(value)
        return "" if fits else f"{where} is not a finite number"
    if kind is int:
        fits = isinstance(value, int) and not isinstance(value, bool)
        return "" if fits else f"{where} is not a whole number"
    if kind in (str, bool):
        word = "text" if kind is str else "true or false"
        return "" if isinstance(value, kind) else f"{where} is not {word}"
    return ""
