"""Claims on cells, so that two commands on one folder share the work."""

from __future__ import annotations

from pathlib import Path

from filelock import FileLock, Timeout

from .keeping import clear_way


class Claims:
    """Cells that this process computes: locks in a folder, which die with their process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "claims"
        self._held: dict[str, FileLock] = {}

    def take(self, key: str) -> bool:
        """Claim a cell; False where another process is at it."""
        # joblib may ask in one thread and give back in another
        lock = FileLock(clear_way(self._path(key)), thread_local=False)
        try:
            lock.acquire(blocking=False)
        except Timeout:
            return False
        self._held[key] = lock
        return True

    def release(self, key: str) -> None:
        """Give a claim back, once what came of the cell is recorded.

        Whoever takes it afterwards must look for the record first.
        """
        self._path(key).unlink(missing_ok=True)
        self._held.pop(key).release()

    def release_all(self) -> None:
        """Give back what an interrupted run still holds."""
        for key in list(self._held):
            self.release(key)

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}.lock"
