"""Writing files so that a killed run leaves either the whole result or nothing."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replaced(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary path beside ``path``; move it into place when the block ends well.

    Parents are made. When the block raises, the temporary file is removed and ``path`` is as it
    was before.
    """
    target = Path(path)
    if target.is_dir():
        raise ValueError(f"{target} is a folder, not a file to write")
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)  # mkstemp's own mode hides results from colleagues
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)
