"""Files written whole or not at all; arrays with a JSON header, whose loading runs no code."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file


@contextmanager
def write_whole(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary path beside ``path``; move it into place when the block ends well.

    Makes the parent folders. When the block raises, the temporary file is removed and ``path``
    stays as it was.
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


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write ``text`` as a file, whole or not at all."""
    with write_whole(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


FORMAT = 1


def save_arrays(
    path: str | os.PathLike[str], kind: str, header: dict[str, Any], arrays: dict[str, NDArray[Any]]
) -> None:
    """Write ``header`` (JSON) and ``arrays`` as one file of the given ``kind``, atomically."""
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    record = {"format": FORMAT, "kind": kind, "header": header}
    text = json.dumps(record, sort_keys=True, allow_nan=False)
    with write_whole(path) as temporary:
        save_file(arrays, temporary, metadata={"clickgym": text, "sha256": _digest(text, arrays)})


def load_arrays(
    path: str | os.PathLike[str], kind: str
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Read a file written by ``save_arrays``; a damaged or altered one is a ``ValueError``."""
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such file")
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, ValueError) as error:
        raise ValueError(f"{path}: not a whole safetensors file ({error})") from error
    if "clickgym" not in metadata or "sha256" not in metadata:
        raise ValueError(f"{path}: a safetensors file, but not one that clickgym wrote")
    if _digest(metadata["clickgym"], arrays) != metadata["sha256"]:
        raise ValueError(f"{path}: altered since it was written (its checksum does not match)")
    record = json.loads(metadata["clickgym"])
    if record["format"] != FORMAT:
        raise ValueError(f"{path}: written in format {record['format']}, this reads {FORMAT}")
    if record["kind"] != kind:
        raise ValueError(f"{path}: holds a {record['kind']}, not a {kind}")
    return record["header"], arrays


def _digest(text: str, arrays: dict[str, NDArray[Any]]) -> str:
    digest = hashlib.sha256(text.encode())
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()
