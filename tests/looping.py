"""One test for a claim that is made of many cases."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any


def loop_over(names: str | tuple[str, ...], cases: Iterable[Any]) -> Callable[[Any], Any]:
    """Return a decorator that runs a test for each of ``cases``, as one item of pytest.

    It is written like ``pytest.mark.parametrize``: the test takes ``names``, and each case is a
    value, or a tuple of values for a tuple of names. A case that fails is named in the error.
    """
    arguments = (names,) if isinstance(names, str) else names
    cases = list(cases)

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def loop(**fixtures: Any) -> None:
            assert cases, "there must be a case"
            for case in cases:
                values = (case,) if isinstance(names, str) else case
                given = dict(zip(arguments, values, strict=True))
                try:
                    test(**given, **fixtures)
                except BaseException as error:
                    error.add_note(f"in the case {given!r}")
                    raise

        signature = inspect.signature(test)
        left = [value for key, value in signature.parameters.items() if key not in arguments]
        loop.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]
        return loop

    return decorate
