"""Off-policy evaluation of slates: the paper's studies, and promises against deployment."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from clickgym import studies
from clickgym.scripts._studies import study_command


def find_studies() -> dict[str, type[studies.Study]]:
    """Return the studies of this command by name."""
    every = {name: studies.study_class(name) for name in sorted(studies.study_names())}
    return {name: study for name, study in every.items() if study.command == "ope"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run ``clickgym ope STUDY ...``; without a study, list them."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    classes = find_studies()
    parser = argparse.ArgumentParser(
        prog="clickgym ope",
        usage="clickgym ope STUDY [options]   (clickgym ope STUDY --help for its options)",
        description="\n".join(
            f"  {name:<11} {(study.__doc__ or '').splitlines()[0]}"
            for name, study in classes.items()
        ),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    if given and given[0] in classes:
        return study_command(classes[given[0]], f"ope {given[0]}")(given[1:])
    if not given or given[0] in ("-h", "--help"):
        parser.parse_args(["--help"])
    parser.error(f"there is no study {given[0]!r}; there are: {', '.join(classes)}")


if __name__ == "__main__":
    raise SystemExit(main())
