"""Code and commands in processes of their own that do not import the package anew.

They are forked from a process that has imported it once, which takes longer than most of what
tests run so. What is about starting Python itself, or about the installed command, starts it.
"""

from __future__ import annotations

import atexit
import multiprocessing
import os
import subprocess
import sys
import threading
import types
import warnings
from multiprocessing.context import ForkServerProcess
from pathlib import Path

_FORKS = multiprocessing.get_context("forkserver")
# A block of code still has to import what it names: it gets a namespace of its own.
_FORKS.set_forkserver_preload(["clickgym", "torch", "matplotlib.figure"])


def run_forked(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run ``code`` as ``__main__`` in ``folder``, as ``python -c`` would."""
    process = start_forked(code, folder)
    process.join(300)
    process.kill()
    process.join()
    printed = [_file(folder, stream).read_text() for stream in ("stdout", "stderr")]
    assert process.exitcode is not None
    return subprocess.CompletedProcess(code, process.exitcode, *printed)


def start_forked(code: str, folder: Path) -> ForkServerProcess:
    """Start ``code``, in a session of its own, as ``run_forked`` does; return its process."""
    process = _FORKS.Process(target=_run, args=(code, folder))
    process.start()
    return process


def run_command(words: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run ``clickgym`` with these words in ``folder``."""
    return run_forked(command_code(words), folder)


def command_code(words: list[str]) -> str:
    """Return the code that the installed command runs."""
    return f"import sys\nfrom clickgym.scripts import main\nsys.exit(main({words!r}))"


def _file(folder: Path, stream: str) -> Path:
    return folder / f".forked-{stream}"


def _run(code: str, folder: Path) -> None:
    os.setsid()
    for number, stream in enumerate(("stdout", "stderr"), 1):
        with _file(folder, stream).open("w") as file:
            os.dup2(file.fileno(), number)
    os.chdir(folder)
    sys.path[:] = [place for place in sys.path if place]  # as the installed command has it
    warnings.filterwarnings("error", category=DeprecationWarning, module="__main__")
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        exec(compile(code, "<code>", "exec"), vars(main))
    finally:  # the end of an interpreter, which closes pools of processes; a fork has none
        threading._shutdown()
        atexit._run_exitfuncs()
