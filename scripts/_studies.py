"""Studies as commands: the settings of a study are its options."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from typing import Any, Protocol, get_args, get_origin, get_type_hints

from clickgym import studies
from clickgym.scripts._options import option, parse

PRESET = "the preset's"
_OWN = ("flag", "read", "whole_file", "look")  # what argparse and ``option`` do not know


class Main(Protocol):
    """The ``main`` of a command."""

    def __call__(self, arguments: Sequence[str] | None = None) -> int:
        """Run the command, by default with the words that were typed."""
        ...


def study_command(
    study: type[studies.Study],
    command: str,
    usual: studies.Study | None = None,
    positional_preset: bool = False,
) -> Main:
    """Return the ``main`` of a command that runs a study.

    Parameters
    ----------
    command : as it is typed, such as "ope bias".
    usual : the settings without options, of a study without presets; by default its own.
    positional_preset : whether the preset is typed without "--preset".
    """

    def main(arguments: Sequence[str] | None = None) -> int:
        """Run the command."""
        known = None if study.presets() else usual or study()
        options = parse(_make_options(study, command, known, positional_preset), command, arguments)
        preset = getattr(options, "preset", None) or ""
        given = _read_given(options, study)
        name, made = study.from_options(preset, given)
        made = _choose_world(made, known or made, options)
        try:
            out = options.out or f"{command.replace(' ', '-')}-{name}"
            return studies.run_study(
                made, out, options.jobs, options.retry_failed, options.scheduler or "", name
            )
        except ValueError as error:
            raise ValueError(_name_option(str(error), study)) from error

    return main


def _flag(field: dataclasses.Field[Any]) -> str:
    return str(field.metadata.get("flag", field.name))


def _make_options(
    study: type[studies.Study], command: str, known: studies.Study | None, positional: bool
) -> Any:
    """Return the dataclass of a study's options; ``known`` are its settings without presets."""
    fields: list[tuple[str, Any, Any]] = []
    presets = study.presets()
    if presets:
        text = "how much of it" if not positional else "what to run"
        fields.append(("preset", str | None, option(
            None, text, choices=tuple(presets), absent=next(iter(presets)),
            **({"positional": True} if positional else {}),
        )))  # fmt: skip
    hints = get_type_hints(study)
    for field in dataclasses.fields(study):
        if field.name == "world":
            fields += _world_options(getattr(known, "world", None))
        elif _flag(field):
            default = getattr(known, field.name) if known else None
            fields.append(_make_option(field, hints[field.name], default, presets))
    fields += [
        ("jobs", int, option(2)),
        ("scheduler", str | None, option(None)),
        ("retry_failed", bool, option(False)),
        ("out", str | None, option(None, absent=f"{command.replace(' ', '-')}-PRESET"))
        if presets
        else ("out", str, option(command.replace(" ", "-"))),
    ]
    description, _, example = (study.__doc__ or "").partition("Example:")
    text = description.split("\n\n")[0] + (f"\n\n    Example:{example}" if example else "")
    return dataclasses.make_dataclass("Options", fields, namespace={"__doc__": text})


def _make_option(
    field: dataclasses.Field[Any], hint: Any, default: Any, presets: dict[str, Any]
) -> tuple[str, Any, Any]:
    """Return an option as ``make_dataclass`` takes it."""
    more = {name: value for name, value in field.metadata.items() if name not in _OWN}
    if hint is bool:
        usual = any(getattr(one, field.name) for one in presets.values()) if presets else default
        return _flag(field), bool, option(usual, **_text(more))
    several = get_origin(hint) is tuple and get_args(hint)[-1] is Ellipsis
    kind: Any = str if "read" in field.metadata else get_args(hint)[0] if several else hint
    if several:
        kind, default = list[kind], list(default) if default else None
    more.setdefault("absent", PRESET) if presets else None
    return _flag(field), kind | None, option(default, **_text(more))


def _text(more: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of ``option``: its help is called ``text`` there."""
    named = {"text": more["help"]} if "help" in more else {}
    return {**named, **{name: value for name, value in more.items() if name != "help"}}


def _world_options(known: studies.WorldSetting | None) -> list[tuple[str, Any, Any]]:
    queries = option(None, absent=f"all of the file; {PRESET} without one")
    docs = option(None, absent=PRESET)
    if known is not None:
        queries, docs = option(known.n_queries), option(known.n_docs)
    return [
        ("world", str | None, option(None)), ("queries", int | None, queries),
        ("docs", int | None, docs), ("world_seed", int, option(0)),
    ]  # fmt: skip


def _read_given(options: Any, study: type[studies.Study]) -> dict[str, Any]:
    """Return the settings that options give, without the world."""
    given: dict[str, Any] = {}
    for field in dataclasses.fields(study):
        if field.name == "world":
            continue
        value = getattr(options, _flag(field), None) if _flag(field) else None
        if value is None or (value is True and study.presets()):  # the preset says whether
            continue
        if "read" in field.metadata:
            value = _read_texts(field, value)
        given[field.name] = tuple(dict.fromkeys(value)) if isinstance(value, list) else value
    return given


def _read_texts(field: dataclasses.Field[Any], value: Any) -> Any:
    read = field.metadata["read"]
    try:
        return [read(text) for text in value] if isinstance(value, list) else read(value)
    except ValueError as error:
        raise ValueError(f"--{_flag(field)} {error}") from error


def _choose_world(made: Any, known: Any, options: Any) -> Any:
    """Return the study with the world that the options name, where it has one."""
    fields = {field.name: field for field in dataclasses.fields(made)}
    if "world" not in fields:
        return made
    whole_file = options.world and fields["world"].metadata.get("whole_file", False)
    every = 0 if whole_file else known.world.n_queries
    world = studies.WorldSetting.of(
        options.world or "",
        every if options.queries is None else options.queries,
        known.world.n_docs if options.docs is None else options.docs,
        options.world_seed,
    )
    return dataclasses.replace(made, world=world)


def _name_option(message: str, study: type[studies.Study]) -> str:
    """Return a message that begins with a setting's name with the option's instead."""
    flags = {field.name: _flag(field) for field in dataclasses.fields(study)}
    flags |= {"n_queries": "queries", "n_docs": "docs", "jobs": "jobs"}
    found = re.match(r"(\w+)(?= must|:)", message)
    flag = flags.get(found[1]) if found else None
    if found is None or not flag:
        return message
    return f"--{flag.replace('_', '-')}{message[found.end() :]}"
