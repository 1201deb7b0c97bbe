"""What studies and training share: worlds and environments named on the command line."""

from __future__ import annotations

import dataclasses
import json
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clickgym import clickmodels, data, envs, studies
from clickgym.envs.registration import LEARNED, NAMESPACE
from clickgym.scripts._arguments import option


@dataclass(frozen=True)
class WorldOptions:
    """The options that name a world."""

    world: str = option("", "LETOR file; empty: the synthetic world")
    queries: int = option(100, "queries; 0: all of the file")
    docs: int = option(30, "candidates a query; 0: full lists")
    world_seed: int = option(0, "seed of what is drawn of the world")

    def world_setting(self) -> studies.WorldSetting:
        """Return the world's setting; an error if there is no such file."""
        return studies.WorldSetting.of(self.world, self.queries, self.docs, self.world_seed)


def user_named(env_id: str) -> str:
    """Return the true user of an environment's id: "clickgym/CoCM-v0" or just "CoCM"."""
    name = env_id.removeprefix(f"{NAMESPACE}/").removesuffix("-v0")
    known = clickmodels.user_names()
    if env_id == LEARNED or name not in known:
        ids = ", ".join(f"{NAMESPACE}/{user}-v0" for user in known)
        raise ValueError(f"env must be the true user's, one of {ids}, not {env_id!r}")
    return name


def environment(
    world: data.World, model: clickmodels.ClickModel, slots: int
) -> envs.RankingVectorEnv:
    """Return the environment of a click model or user."""
    return envs.RankingVectorEnv(1, click_model=model, world=world, slots=slots)


def require_writable(out: Path) -> None:
    """Raise an error that names the folder where nothing can be written; nothing is made yet."""
    above = next(path for path in (out, *out.absolute().parents) if path.exists())
    try:
        with tempfile.TemporaryFile(dir=above):
            pass
    except OSError as error:
        raise OSError(f"--out {out} cannot be written: {error.strerror}") from error


def tell_if_replaced(out: Path, settings: Any) -> None:
    """Say so where a folder's tables and pictures are of other options and will be replaced."""
    path = out / "settings.json"
    if not path.is_file():
        return
    before, now = json.loads(path.read_text()), dataclasses.asdict(settings)
    free = ("jobs", "retry_failed", "out", "rate", "scheduler")
    changed = [name for name in now if name not in free and before.get(name) != now[name]]
    if changed:
        text = ", ".join(f"{name} was {before.get(name)!r}" for name in changed)
        print(
            f"{out} held results of other options ({text}): its tables and pictures are replaced, "
            "its cells are kept",
            file=sys.stderr,
        )
