"""Pages with a vertical block: metrics that predict what users do there, and where it should be."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from clickgym.scripts._shared.study_commands import study_command
from clickgym.studies import Federated, Placing, Study

BELOW: dict[str, type[Study]] = {"placing": Placing}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run ``clickgym federated`` or ``clickgym federated placing``."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given and given[0] in BELOW:
        return study_command(BELOW[given[0]], f"federated {given[0]}")(given[1:])
    return study_command(Federated, "federated")(given)


if __name__ == "__main__":
    raise SystemExit(main())
