"""Shapes of results: what fits, and what is said of what does not."""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict

from looping import loop_over

from clickgym.studies.engine.shapes import Unbounded, Undefined, find_mismatch

INFINITE, NAN = float("inf"), float("nan")


class Named(TypedDict):
    """A number, and perhaps a name."""

    number: float
    name: NotRequired[str]


@loop_over(
    ("value", "shape"),
    [
        (1.5, float), (2, float), (2, int), ("a", str), (True, bool), (None, float | None),
        (1.0, float | None), (INFINITE, Unbounded), (NAN, Undefined), ([1.0, 2], list[float]),
        ([], [float]), ([{"a": 1}], [{"a": int}]), (["a", 1], tuple[str, int]),
        ({"a": [1]}, dict[str, list[int]]), ({"number": 1.0}, Named),
        ({"number": 1}, {"number": int}),
        ({"number": 1.0, "name": "a"}, Named), ({"x": {1: 2}}, dict[str, Any]),
    ],
)  # fmt: skip
def test_what_fits_has_no_mismatch(value, shape):
    assert find_mismatch(value, shape) == ""


@loop_over(
    ("value", "shape", "text"),
    [
        ("1", float, "result is not a finite number"), (True, float, "result is not a finite"),
        (INFINITE, float, "is not a finite number"), (NAN, Unbounded, "result is not a number"),
        (None, Undefined, "result is not a number or NaN"), (1.0, int, "is not a whole number"),
        (True, int, "result is not a whole number"), (1, str, "result is not text"),
        (1, bool, "result is not true or false"), ("a", float | None, "is not a finite number"),
        ({}, list[float], "result is not a list"), ([1.0, "a"], [float], "result[1] is not"),
        (["a"], tuple[str, int], "result is not a list of 2"), ([], dict[str, int], "not a table"),
        ({"a": {"b": [1, NAN]}}, dict[str, dict[str, list[float]]], "result.a.b[1] is not"),
        ({"name": "a"}, Named, "result lacks 'number'"), ([], Named, "result is not a table"),
        ({"number": 1.0, "name": 3}, Named, "result.name is not text"),
        ({"number": 1.0, "other": 3}, Named, "result has 'other', which does not belong there"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named(value, shape, text):
    assert text in find_mismatch(value, shape)
