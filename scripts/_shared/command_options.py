"""Command-line options: a command is a dataclass of settings, and ``SHARED`` is what they share.

The same thing has the same option in every command. A name in the plural is a number of things
(``--seeds 3``); a name in the singular names one or several of them (``--model PBM UBM``).
"""

from __future__ import annotations

import argparse
import dataclasses
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import NoneType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from clickgym import agents, clickmodels, policies
from clickgym.agents.task import TRAINING_REWARDS
from clickgym.clickmodels.uncertainty.exposure import PRIORS
from clickgym.data.candidates import SAMPLERS
from clickgym.data.readers.tables.formats import FORMATS
from clickgym.studies.engine.plugins import import_modules
from clickgym.studies.robustness.released import SWITCHES

Settings = TypeVar("Settings")

_BARE = "bare "  # begins the names of arguments that were given without their flag
ALL = 0  # in settings, "--docs all" and "--queries all"; see ``word``
_COUNT: dict[str, Any] = {"least": 1, "metavar": "N"}
_SEED: dict[str, Any] = {"least": 0, "metavar": "N"}
_NAME: dict[str, Any] = {"metavar": "NAME"}
_WORLD: dict[str, Any] = {"group": "the world"}
_LOG: dict[str, Any] = {"group": "the log"}
_RUN: dict[str, Any] = {"group": "the run"}

# What an option of this name means in every command: its help, the heading that it stands under,
# the name of its value, the names that it takes (``known``, and ``also`` of some commands; others
# too where it is ``open``), those of them that its help lists (``listed``), the least number, the
# word that stands for 0, and what it was called.
SHARED: dict[str, dict[str, Any]] = {
    "user": _NAME | {"help": "true user", "was": ("env",), "known": clickmodels.user_names},
    "model": _NAME | {
        "help": "click model", "was": ("models", "click_model"), "known": clickmodels.names,
    },
    "agent": _NAME | {"help": "agent", "was": ("agents",), "known": agents.names},
    "logging": _NAME | {
        "help": "ranker that collected the log, with some randomness",
        "known": policies.ranker_names,
    },
    "impressions": _COUNT | {"help": "impressions per log; 80% of them are fitted to"},
    "slots": _COUNT | {"help": "documents per page"},
    "reward": {
        "help": "what agents learn from: clicks are sampled, expected_clicks exact, "
        "conditional_clicks P(click) given the sampled clicks above",
        "choices": TRAINING_REWARDS,
        "absent": "exact inside a model (NCM: conditional_clicks), clicks on a true user",
    },
    "pages": _COUNT | {"help": "budget of an agent, in result pages"},
    "parameters": {"help": "kind of parameters", "choices": ("table", "embedding")},
    "prior": {
        "help": "what fits believe of a document before its clicks; plain: the same of all, "
        "exposure: by how often the log shows it, score: by the logging policy's score",
        "choices": PRIORS,
    },
    "pessimism": {
        "help": "how carefully to choose and promise inside a model: standard deviations, or auto "
        "for what the log says",
        "metavar": "λ", "absent": "none",
    },
    "documents": {"help": "what policies may show: documents of the log (shown), or all"},
    "temperature": {"help": "of the ranker that collected the log", "absent": "the paper's"},
    "preset": {"help": "how much of it"},
    "seed": _SEED | {"help": "seed of the random numbers"},
    "worlds": {
        "help": "draw so many worlds, which the seeds take in turn", "least": 0, "metavar": "N",
        "absent": "one for each seed",
    },
    "sampler": {
        "help": "how --docs are drawn: all grades, or hardly any of grade 0 (section 6.1)",
        "choices": tuple(SAMPLERS),
    },
    "released": {
        "help": "do as the paper's released code: " + "; ".join(map(": ".join, SWITCHES.items())),
        "choices": tuple(SWITCHES), "absent": "as the text",
    },
    "training": {
        "help": "build and train networks as in the paper's released code, or as in its text",
    },
    "seeds": _COUNT | {"help": "number of seeds; each draws a log and an initialisation"},
    "first_seed": _SEED | {"help": "the first of the seeds"},
    "resamples": _COUNT | {"help": "resamples for intervals"},
    "policy": {"help": "saved policy", "metavar": "FILE"},
    "log": _LOG | {
        "help": "log of one's own: a table of clicks (CSV, TSV, JSON lines, Parquet, Arrow), or "
        "a log that clickgym saved, with its --world",
        "metavar": "FILE",
    },
    "column": _LOG | {
        "help": "what a column of the table means, such as query=term document=url",
        "metavar": "ROLE=NAME", "absent": "guessed by their names",
    },
    "format": _LOG | {
        "help": "format of a kind of its own", "metavar": "NAME",
        "known": partial(tuple, FORMATS), "absent": "a table with named columns",
    },
    "split_by": _LOG | {
        "help": "column whose values stay together: time (the latest pages judge), user, session",
        "metavar": "NAME", "absent": "pages are drawn one by one",
    },
    "strict": _LOG | {"help": "refuse a table in which anything is odd"},
    "world": _WORLD | {
        "help": "saved world, or LETOR file", "metavar": "FILE",
        "absent": "the embedded synthetic world", "was": ("path",),
    },
    "queries": _WORLD | _COUNT | {
        "help": "number of queries, or all", "absent": "all of the file, 1,000 without one",
        "was": ("n_queries",), "word": "all",
    },
    "docs": _WORLD | _COUNT | {
        "help": "candidates per query, or all for full lists", "was": ("n_docs",),
        "word": "all",
    },
    "world_seed": _WORLD | _SEED | {"help": "seed of what is drawn of the world"},
    "module": _RUN | {
        "help": "Python modules with click models or agents of your own, imported first",
        "metavar": "MODULE", "absent": "none", "was": ("modules",),
    },
    "jobs": _RUN | _COUNT | {"help": "processes"},
    "scheduler": _RUN | {
        "help": "Dask cluster that computes, as tcp://host:port", "metavar": "ADDRESS",
        "absent": "this machine computes",
    },
    "retry_failed": _RUN | {"help": "compute again what failed the last time"},
    "overwrite": _RUN | {"help": "write into a folder that holds another run's results"},
    "out": _RUN | {
        "help": "folder for results; finished parts that are there are not computed again",
        "metavar": "FOLDER", "was": ("log_dir",),
    },
}  # fmt: skip

def option(default: Any, text: str | None = None, **more: Any) -> Any:
    """Return a dataclass field that ``parse`` turns into an option.

    Parameters
    ----------
    default
        The value without the option. None where something else decides then, which ``absent``
        puts into words.
    text
        The line of help. None: the one in ``SHARED``.
    more
        As in ``SHARED``; ``absent``; ``positional=True`` for an argument without a flag, and
        ``either=True`` for one that may be given with its flag or without; and what ``argparse``
        takes, such as ``choices`` and ``metavar``.
    """
    metadata = more if text is None else {"help": text, **more}
    if isinstance(default, list):
        return dataclasses.field(default_factory=lambda: list(default), metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


def parse(
    settings: type[Settings],
    command: str,
    arguments: Sequence[str] | None,
    usual: Mapping[str, Any] | None = None,
) -> Settings:
    """Return an instance of the dataclass ``settings`` from command-line ``arguments``.

    Its docstring becomes the description, up to a line "Example:" after which commands follow.
    ``usual`` has the values of options that are not given, where they are not the defaults. The
    modules that ``--module`` names are imported here, so that their models and agents are known.
    """
    description, _, example = (settings.__doc__ or "").partition("Example:")
    fields = {field.name: field for field in dataclasses.fields(settings)}  # type: ignore[arg-type]
    declared = _declarations(settings)
    words = [
        f"[{name}]" for name in fields if {"positional", "either"} & declared[name].keys()
    ]
    parser = argparse.ArgumentParser(
        prog=f"clickgym {command}",
        description=" ".join(description.split()),
        epilog="example:" + example.rstrip().replace("\n    ", "\n") if example else None,
        usage=" ".join(["clickgym", command, *words, "[options]"]),
        formatter_class=_Help,
        allow_abbrev=False,  # or --seed would mean --seeds
        add_help=False,
    )
    groups: dict[str, argparse._ArgumentGroup] = {}
    hints = get_type_hints(settings)
    for name in sorted(fields, key=lambda name: "group" in declared[name]):  # its own come first
        more = dict(declared[name])
        heading = more.pop("group", "options")
        if heading not in groups:
            groups[heading] = parser.add_argument_group(heading)
        flag = name if more.pop("positional", False) else _flag(name)
        if more.pop("either", False):
            more["help"] += f"; {flag} may be left out"
            parser.add_argument(_BARE + name, nargs="?", help=argparse.SUPPRESS)
        groups[heading].add_argument(flag, **_argument(fields[name], hints[name], flag, more))
    parser.add_argument_group("help").add_argument(
        "-h", "--help", action="help", help="show this page and exit"
    )
    given = list(arguments) if arguments is not None else None
    former = former_names(settings)
    for word in given if given is not None else sys.argv[1:]:
        old = word.partition("=")[0]
        if old.startswith("--") and old[2:].replace("-", "_") in former:
            parser.error(f"{old} is now {_flag(former[old[2:].replace('-', '_')])}")
    parser.set_defaults(**(usual or {}))
    values = vars(parser.parse_args(given))
    for bare in [name for name in values if name.startswith(_BARE)]:
        name, value = bare.removeprefix(_BARE), values.pop(bare)
        if value is not None and values[name] is not None:
            parser.error(f"{_flag(name)} is given twice: {value} and {values[name]}")
        values[name] = value if values[name] is None else values[name]
    import_modules(values.get("module") or [])
    for name, value in values.items():
        _check(name, value, declared[name])
    return settings(**values)


def former_names(settings: Any) -> dict[str, str]:
    """Return what the options of a dataclass were called, with what they are called now."""
    declared = _declarations(settings)
    return {
        old: name
        for name, known in declared.items()
        for old in known.get("was", ())
        if old not in declared
    }


def flags(settings: Any, names: Sequence[str]) -> str:
    """Return those options of ``settings`` that were given, as they would be typed."""
    declared = _declarations(settings)
    values = {name: getattr(settings, name) for name in names}
    return " ".join(
        f"{_flag(name)} {_format_value(value, declared[name], shlex.quote)}"
        for name, value in values.items()
        if value is not None
    )


def changes(before: Mapping[str, Any], settings: Any, free: tuple[str, ...]) -> str:
    """Return in words which options differ from those ``before``, ``free`` ones aside."""
    declared = _declarations(settings)
    now = dataclasses.asdict(settings)
    return ", ".join(
        f"{_flag(name)} was {_format_value(before.get(name), declared[name])}"
        for name in now
        if name not in free and _blank_to_none(before.get(name)) != _blank_to_none(now[name])
    )


def _blank_to_none(value: Any) -> Any:
    """Return None for every way in which saved settings say that an option was not given."""
    return None if value in (None, "", 0, -1, [""], [0]) else value


class _Help(argparse.RawDescriptionHelpFormatter):
    """Help with room for long options, and with lists of choices left to the texts."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=26, width=100)


def _declarations(settings: Any) -> dict[str, dict[str, Any]]:
    return {
        field.name: SHARED.get(field.name, {}) | dict(field.metadata)
        for field in dataclasses.fields(settings)
    }


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def _argument(
    field: dataclasses.Field[Any], hint: Any, flag: str, more: dict[str, Any]
) -> dict[str, Any]:
    """Return what ``add_argument`` takes for a field, whose ``more`` argparse does not know all."""
    default = (
        field.default
        if field.default_factory is dataclasses.MISSING
        else field.default_factory()
    )
    declared = dict(more)
    for name in ("least", "was", "word", "absent", "known", "also", "open", "listed"):
        more.pop(name, None)
    without = declared.get("absent")
    text = more.pop("help")
    if known := declared.get("listed", declared.get("known", tuple))():
        text += f"; one of {', '.join(known)}"
    if default is None and without:
        text += f" (not given: {without})"
    elif default is True:
        text += " (default: yes)"
    elif default is not None and default is not False:
        text += f" (default: {_format_value(default, declared)})"
    argument = {"default": default, "help": text.replace("%", "%%"), **more}
    kinds = [kind for kind in get_args(hint) if kind is not NoneType]
    kind = kinds[0] if kinds and get_origin(hint) is not list else hint
    if kind is bool:
        argument["action"] = argparse.BooleanOptionalAction if default else "store_true"
        return argument
    if get_origin(kind) is list:
        argument["nargs"] = "+"
        (kind,) = get_args(kind)
    elif flag == field.name:
        argument["nargs"] = "?"
    word = declared.get("word")
    argument["type"] = partial(_count_or_word, word) if word else kind
    return argument


def _format_value(
    value: Any, declared: dict[str, Any], quote: Callable[[str], str] = str
) -> str:
    """Return a value as it would be typed, or that it was not."""
    if "word" in declared and value == 0:
        return str(declared["word"])
    if _blank_to_none(value) is None and value != 0:
        return "not given"
    return " ".join(quote(str(one)) for one in (value if isinstance(value, list) else [value]))


def _count_or_word(word: str, text: str) -> int:
    if text == word:
        return 0
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"takes a number of at least 1, or {word}, not {text!r}")
    return int(text)


def _check(name: str, value: Any, declared: dict[str, Any]) -> None:
    """Raise for a number below the least that an option takes, or a name that it does not know."""
    least = None if "word" in declared else declared.get("least")
    for one in [] if value is None else value if isinstance(value, list) else [value]:
        if least is not None and not one >= least:
            raise ValueError(f"{_flag(name)} must be at least {least}, not {one}")
        if "known" in declared and not declared.get("open"):
            require_known(name, one, (*declared.get("also", ()), *declared["known"]()))


def require_known(name: str, value: str, known: Sequence[str]) -> None:
    """Raise an error that names the option if its ``value`` is not one of ``known``."""
    if value not in known:
        raise ValueError(f"{_flag(name)} must be one of {', '.join(known)}, not {value!r}")
