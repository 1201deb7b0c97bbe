"""Studies as commands: the settings of a study are its options."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from typing import Any, Protocol, get_args, get_origin, get_type_hints

from clickgym import studies
from clickgym.scripts._shared.command_inputs import refuse_sizes
from clickgym.scripts._shared.command_options import option, parse

PRESET = "the preset's"
Option = tuple[str, Any, Any]  # name, type and field
_RUN = ("jobs", "scheduler", "retry_failed", "out", "overwrite")
# What argparse and ``option`` do not know.
_OWN = ("flag", "read", "whole_file", "look", "later", "changed", "nothing")


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
    only: Sequence[str] = (),
    text: str = "",
) -> Main:
    """Return the ``main`` of a command that runs a study.

    Parameters
    ----------
    command : as it is typed, such as "ope bias".
    usual : the settings without options, of a study without presets; by default its own.
    positional_preset : whether the preset is typed without "--preset".
    only : the options to have, of those that settings make; all unless given.
    text : what the help says, instead of what the study says of itself.
    """

    def main(arguments: Sequence[str] | None = None) -> int:
        """Run the command."""
        known = None if study.presets() else usual or study()
        fields = [*_setting_options(study, known, positional_preset), *_run_options(study, command)]
        chosen = [field for field in fields if not only or field[0] in (*only, *_RUN)]
        namespace = {"__doc__": text or _help_text(study)}
        settings = dataclasses.make_dataclass("Settings", chosen, namespace=namespace)
        options: Any = parse(settings, command, arguments)
        preset = getattr(options, "preset", None) or ""
        given = _read_given(options, study)
        name, made = study.from_options(preset, given)
        made = _choose_world(made, known or made, options)
        try:
            out = options.out or f"{command.replace(' ', '-')}-{name}"
            return studies.run_study(
                made, out, options.jobs, options.retry_failed, options.scheduler or "", name,
                getattr(options, "overwrite", False),
            )  # fmt: skip
        except ValueError as error:
            raise ValueError(_name_option(str(error), study)) from error

    return main


def _flag(field: dataclasses.Field[Any]) -> str:
    return str(field.metadata.get("flag", field.name))


def _setting_options(
    study: type[studies.Study], known: studies.Study | None, positional: bool
) -> list[Option]:
    """Return the options of a study's settings; ``known`` are those without presets."""
    fields: list[Option] = []
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
            default = None if default == "" else default  # not given
            fields.append(_make_option(field, hints[field.name], default, presets))
    return fields


def _run_options(study: type[studies.Study], command: str) -> list[Option]:
    out = command.replace(" ", "-")
    folder = option(None, absent=f"{out}-PRESET") if study.presets() else option(out)
    overwrite: list[Option] = [("overwrite", bool, option(False))] if study.own_folder else []
    return [
        ("jobs", int, option(2)), ("scheduler", str | None, option(None)),
        ("retry_failed", bool, option(False)), ("out", str | None, folder), *overwrite,
    ]  # fmt: skip


def _help_text(study: type[studies.Study]) -> str:
    """Return the first paragraph of a study's docstring, and its examples."""
    description, _, example = (study.__doc__ or "").partition("Example:")
    return description.split("\n\n")[0] + (f"\n\n    Example:{example}" if example else "")


def _make_option(
    field: dataclasses.Field[Any], hint: Any, default: Any, presets: dict[str, Any]
) -> Option:
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


def _world_options(known: studies.WorldSetting | None) -> list[Option]:
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
    given = {name: getattr(options, name, None) for name in ("world", "queries", "docs")}
    refuse_sizes(given["world"], options)
    whole_file = given["world"] and fields["world"].metadata.get("whole_file", False)
    every = 0 if whole_file else known.world.n_queries
    world = studies.WorldSetting.from_file(
        given["world"] or "",
        every if given["queries"] is None else given["queries"],
        known.world.n_docs if given["docs"] is None else given["docs"],
        getattr(options, "world_seed", 0),
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
