"""The ``clickgym`` command: lists and runs the modules of this folder."""

from __future__ import annotations

import importlib
import os
import pkgutil
import sys
from collections.abc import Sequence
from types import ModuleType


def command_names() -> tuple[str, ...]:
    """Return the names of the commands: the modules of this folder."""
    names = (module.name for module in pkgutil.iter_modules(__path__))
    return tuple(sorted(name.replace("_", "-") for name in names if not name.startswith("_")))


def _module(name: str) -> ModuleType:
    return importlib.import_module(f"{__name__}.{name.replace('-', '_')}")


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
