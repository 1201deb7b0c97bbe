"""Off-policy evaluation: a policy's value from a log, and the papers' studies of slates."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from clickgym import studies
from clickgym.scripts import _estimate
from clickgym.scripts._studies import study_command

STUDIES = ("conditions", "bias", "learning", "sessions", "promises")
NAMES = ("estimate", *STUDIES)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run ``clickgym ope NAME ...``; without a name, list them."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    classes = {name: studies.study_class(name) for name in STUDIES}
    texts = {"estimate": _estimate.__doc__} | {name: cls.__doc__ for name, cls in classes.items()}
    parser = argparse.ArgumentParser(
        prog="clickgym ope",
        usage="clickgym ope NAME [options]   (clickgym ope NAME --help for its options)",
        description="\n".join(
            f"  {name:<11} {(text or '').splitlines()[0]}" for name, text in texts.items()
        ),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    if given and given[0] == "estimate":
        return _estimate.main(given[1:])
    if given and given[0] in classes:
        return study_command(classes[given[0]], f"ope {given[0]}")(given[1:])
    if not given or given[0] in ("-h", "--help"):
        parser.parse_args(["--help"])
    parser.error(f"{given[0]} is none of {', '.join(NAMES)}")


if __name__ == "__main__":
    raise SystemExit(main())
