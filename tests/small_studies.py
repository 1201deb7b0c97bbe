"""Every registered study in a size that runs in a moment: the package's, and one from outside."""

from __future__ import annotations

import own_study  # noqa: F401, registers its study

from clickgym import studies

SMALL = {name: studies.study_class(name).small() for name in studies.study_names()}
