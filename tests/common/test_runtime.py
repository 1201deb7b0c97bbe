"""Missing extras, and warnings at the caller's line."""

from __future__ import annotations

import pytest

from clickgym.common.registry import register_class
from clickgym.common.runtime import cores, import_extra


def test_a_module_that_is_there_is_returned():
    import json

    assert import_extra("json", "plots", "pictures need") is json


def test_a_module_that_is_missing_names_its_extra():
    with pytest.raises(ImportError, match=r"^pictures need pip install 'clickgym\[plots\]'$"):
        import_extra("no_such_module", "plots", "pictures need")


def test_there_is_a_core():
    assert cores() >= 1


def test_a_class_made_again_replaces_itself_and_another_is_refused():
    classes = {}

    def define():
        class Mine:
            pass

        return Mine

    first, second = define(), define()
    assert register_class(classes, "mine")(first).name == "mine"
    assert register_class(classes, "mine")(second) is classes["mine"] is second
    with pytest.raises(ValueError, match="the name 'mine' is taken by"):
        register_class(classes, "mine")(type("Other", (), {}))
