"""Missing extras, and warnings at the caller's line."""

from __future__ import annotations

import platform
import subprocess
import sys

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


def faults_of_large_arrays():
    """Return how many pages a process asks for while it makes 20 times eight arrays of 4 MB."""
    code = (
        "import numpy as np, resource\n"
        "from clickgym.common.runtime import keep_freed_memory\n"
        "assert keep_freed_memory()\n"
        "def faults(): return resource.getrusage(resource.RUSAGE_SELF).ru_minflt\n"
        "for _ in range(3): [np.ones(500_000) for _ in range(8)]\n"
        "before = faults()\n"
        "for _ in range(20): [np.ones(500_000) for _ in range(8)]\n"
        "print(faults() - before)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return int(done.stdout)


def test_freed_memory_is_kept():
    libc, _ = platform.libc_ver()
    if libc != "glibc":
        pytest.skip("another allocator")
    assert faults_of_large_arrays() < 1_000  # one array alone has 977 pages


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
