"""The ``clickgym`` command: lists and runs the modules of this folder."""

from __future__ import annotations

import importlib
import os
import pkgutil
import sys
from collections.abc import Sequence
from types import ModuleType

_PAPERS = "papers"  # the folder of commands that repeat a paper's experiments

def command_names() -> tuple[str, ...]:
    """Return the names of the commands: the modules of this folder and of ``papers/``."""
    return tuple(sorted(_places()))


def _places() -> dict[str, str]:
    """Return the full name of each command's module, without importing it."""
    papers = os.path.join(__path__[0], _PAPERS)
    found = {}
    for folder, package in ((__path__[0], __name__), (papers, f"{__name__}.{_PAPERS}")):
        for module in pkgutil.iter_modules([folder]):
            if not module.name.startswith("_") and not module.ispkg:
                found[module.name.replace("_", "-")] = f"{package}.{module.name}"
    return found


def _module(name: str) -> ModuleType:
    return importlib.import_module(_places()[name])


def main(arguments: Sequence[str] | None = None) -> int:
    """Run ``clickgym COMMAND ...``; without a command, list them."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    names = command_names()
    if not given or given[0] in ("-h", "--help"):
        print("usage: clickgym COMMAND [options]   (clickgym COMMAND --help for its options)\n")
        for name in names:
            print(f"  {name:<13} {(_module(name).__doc__ or '').splitlines()[0]}")
        return 0
    if given[0] in ("-V", "--version"):
        from .. import __version__

        print(f"clickgym {__version__}")
        return 0
    if given[0] not in names:
        print(f"clickgym: no command {given[0]!r}; there are: {', '.join(names)}", file=sys.stderr)
        return 2
    try:
        result: int = _module(given[0]).main(given[1:])
        sys.stdout.flush()
    except BrokenPipeError:  # the program that read our output has stopped
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        print(
            f"clickgym {given[0]}: stopped. What is finished is kept; commands that write a folder "
            "go on from there when they are started again.",
            file=sys.stderr,
        )
        return 130
    except (ValueError, OSError, ImportError) as error:  # bad input, not a bug
        print(f"clickgym {given[0]}: {error}", file=sys.stderr)
        return 1
    return result
