"""Studies that take a moment, by name: what the contract of all studies computes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import own_study  # noqa: F401, registers its study

from clickgym import data, studies


def own_log():
    """Return a log without grades, as one reads it from a table."""
    rng = np.random.default_rng(0)
    world = data.World(np.full((3, 4), -1), candidates=np.ones((3, 4), dtype=bool))
    ranking = np.argsort(rng.random((200, 4)), axis=1)[:, :3]
    log = data.ClickLog(rng.integers(0, 3, 200), ranking, rng.random((200, 3)) < 0.3)
    train, test = log.split((0.8, 0.2), 0)
    return studies.LogSetting.from_logs(world, {"train": train, "test": test})


CLICKS = Path(__file__).parent / "own_clicks.csv"  # a table as ``own_tables`` writes it
# These study a log of one's own, which nobody but their caller has.
OWN = {
    "fit": studies.FitLog("log", own_log(), ("PBM", "dCTR"), seeds=2),
    "report": studies.OwnLogReport(str(CLICKS), models=("UBM", "ARM")),
}
NAMES = [name for name in studies.study_names() if name not in OWN]
SMALL = {name: studies.study_class(name).small() for name in NAMES} | OWN
