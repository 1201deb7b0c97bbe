"""Files that a run keeps: checked when they are read, set aside when they are not whole."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import TypeVar

from ...common.storage import write_text, write_whole

Content = TypeVar("Content")
_notes: ContextVar[list[str] | None] = ContextVar("notes", default=None)


def set_aside(path: Path, reason: str) -> None:
    """Rename a file that is not what it should be to ``*.broken``, and say so in one line."""
    target = path.with_name(f"{path.name}.broken")
    number = 1
    while target.exists():
        number += 1
        target = path.with_name(f"{path.name}.{number}.broken")
    with suppress(FileNotFoundError):  # another process did it
        path.rename(target)
        _tell(f"{path} was set aside as {target.name} ({reason}) and is made again")


def _tell(line: str) -> None:
    notes = _notes.get()
    if notes is None:
        print(line, file=sys.stderr)
    else:
        notes.append(line)


@contextmanager
def collect_notes() -> Iterator[list[str]]:
    """Give a list of the lines that would be printed: another process prints them."""
    notes: list[str] = []
    token = _notes.set(notes)
    try:
        yield notes
    finally:
        _notes.reset(token)


def make_folder(path: Path) -> None:
    """Make a folder; something else of its name is set aside, as it is for the folders above."""
    for folder in (*reversed(path.parents), path):
        if folder.exists() and not folder.is_dir():
            set_aside(folder, "not a folder")
    path.mkdir(parents=True, exist_ok=True)


def clear_way(path: Path) -> Path:
    """Return ``path`` after a folder that stands where a file is to be written was set aside."""
    if path.is_dir():
        set_aside(path, "a folder instead of a file")
    return path


def keep_file(
    path: Path,
    make: Callable[[], Content],
    save: Callable[[Content, Path], None],
    load: Callable[[Path], Content],
) -> Content:
    """Return what a file holds; where there is none, or not a whole one, it is made and saved.

    The checksum of the file is kept beside it (``*.sha256``), so that a file that was changed or
    exchanged is noticed; one without a checksum must only load. Two processes that make the same
    file write the same contents.
    """
    found = read_kept(path, load)
    if found is None:
        content = make()
        make_folder(path.parent)
        save_kept(path, lambda place: save(content, place))
        found = load(path)
    return found


def read_kept(path: Path, load: Callable[[Path], Content]) -> Content | None:
    """Return what a kept file holds; None without one, or where it was set aside."""
    if not path.parent.is_dir() or not path.exists():
        return None
    try:
        if not path.is_file():
            raise ValueError("a folder instead of a file")
        expected = _read_checksum(path)
        if expected not in (None, _checksum(path)):
            raise ValueError("its checksum does not match")
        return load(path)
    except Exception as error:  # whatever a library makes of a damaged file
        reason = str(error).removeprefix(f"{path}: ") or type(error).__name__
        set_aside(path, reason.splitlines()[0])
        return None


def save_kept(path: Path, save: Callable[[Path], None]) -> None:
    """Save a file and its checksum."""
    with write_whole(clear_way(path)) as temporary:
        place = temporary.with_name(f"{temporary.name}{path.suffix}")  # some save by suffix
        try:
            save(place)
            digest = _checksum(place)
            place.replace(temporary)
        finally:
            place.unlink(missing_ok=True)
    write_text(clear_way(_beside(path)), f"{digest}  {path.name}\n")


def _beside(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256")


def _read_checksum(path: Path) -> str | None:
    """Return the checksum that is kept beside a file; None without one."""
    beside = _beside(path)
    if not beside.exists():
        return None
    try:
        digest, name = beside.read_text().split()
        if name == path.name and len(digest) == 64:
            return digest
        reason = "not the checksum of this file"
    except (ValueError, OSError) as error:
        reason = str(error)
    set_aside(beside, reason)
    raise ValueError("its checksum was set aside")


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
