"""The shape of a study: settings that check themselves, cells, rows and a report.

A study is a frozen dataclass. Its fields are everything that its results depend on, made by
``setting`` with a line of help each, so that they are also its options on the command line.
``studies.run_study`` computes it, keeps what is finished in a folder, and writes its report there.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NotRequired, Self, get_type_hints

from .. import agents, clickmodels, policies
from ..common import checks
from ..common.storage import write_text
from ..evaluation import ResultTable
from ..evaluation.reporting.figures import save_figure
from ..evaluation.reporting.formats import PlainTable
from ..evaluation.reporting.page import (
    figure_section,
    report_page,
    settings_section,
    tables_section,
)
from .engine.grid import Cell, Result
from .engine.keeping import clear_way
from .engine.rows import Row
from .worlds import WorldSetting, world_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The names that settings of these options take.
_KNOWN: dict[str, Callable[[], tuple[str, ...]]] = {
    "user": clickmodels.user_names, "model": clickmodels.names, "agent": agents.names,
    "logging": policies.ranker_names,
}  # fmt: skip
_WHOLE = (int, "int", tuple[int, ...], "tuple[int, ...]")  # types of whole numbers
_WIDTH = 170  # of tables that are printed to a file


class Results(dict[str, list[tuple[Cell, Result]]]):
    """By stage, the cells that did not fail, with their results.

    Attributes
    ----------
    failures : dict
        By stage, the cells that failed, with what they failed with.
    """

    def __init__(self) -> None:
        super().__init__()
        self.failures: dict[str, list[tuple[Cell, str]]] = {}


def setting(default: Any, text: str | None = None, **more: Any) -> Any:
    """Return a field of a study, with its line of help; None: what all commands say of it.

    Parameters
    ----------
    more
        ``flag``: the option's name, by default the field's; "" for no option. ``read``: a
        function that makes a value of the option's text. ``whole_file=True`` of a world: by
        default a file gives all its queries. ``look=True``: the setting changes how results are
        shown, not the results. ``later=True``: files of earlier versions do not have it.
        ``changed``: what to say of a setting without an option that is not what it was.
        ``nothing``: a value that is not worth telling, such as 0 for "as many as there are".
        ``least``, ``choices``, ``known`` (a function that gives the names it takes) and ``also``
        (further names) are what ``Study.check`` holds it to. The rest is for the option, such as
        ``metavar``.
    """
    metadata = more if text is None else {"help": text, **more}
    if isinstance(default, type):
        return field(default_factory=default, metadata=metadata)
    return field(default=default, metadata=metadata)


@dataclass(frozen=True)
class Stage:
    """Cells that are computed together; those of later stages may need the files they leave.

    Parameters
    ----------
    name : says what is done; no two stages of a study have the same.
    function : pure function of a cell that can be imported by name.
    cells : frozen dataclasses.
    version : changes when what ``function`` computes changes.
    result : what the result of a cell must contain: see ``find_mismatch``.
    folder : where the results are kept, inside the study's folder.
    required : whether the rows need these cells. The others only prepare something that later
        cells would otherwise make themselves, so their failures show there.
    label : what to call a cell that failed; None where only their number is told.
    may_fail : whether there is a report even where all of these cells failed.
    """

    name: str
    function: Callable[[Any], Any]
    cells: Sequence[Cell]
    version: str
    result: Any
    folder: str = "cells"
    required: bool = True
    label: Callable[[Any], str] | None = None
    may_fail: bool = False


@dataclass
class Report:
    """What a study says: everything that is written into its folder and printed.

    Parameters
    ----------
    title, summary : of the page ``report.html``.
    tables : by heading; all of them make ``tables.md`` and the page.
    figures : by the name of their file, with their caption, up to whose ":" is their heading;
        tables with the same heading stand below them.
    sections : HTML by heading, for the top of the page.
    texts : other files, by name.
    tables_kept : tables to save as Parquet, by the name of their file.
    printed : which tables to print; None for all.
    lines : to print below the tables.
    """

    title: str
    summary: str = ""
    tables: dict[str, list[Any]] = field(default_factory=dict)
    figures: dict[str, tuple[str, Figure]] = field(default_factory=dict)
    sections: dict[str, str] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    tables_kept: dict[str, ResultTable] = field(default_factory=dict)
    printed: Sequence[ResultTable | PlainTable] | None = None
    lines: list[str] = field(default_factory=list)

    def write(self, folder: Path, settings: Mapping[str, Any]) -> Path:
        """Write all of it into a folder, each file as a whole; return the page's path.

        ``settings`` are what the page says about how the tables were made.
        """
        sections = dict(self.sections)
        for name, (caption, figure) in self.figures.items():
            save_figure(figure, clear_way(folder / name))
            png = (folder / name).read_bytes()
            heading = caption.partition(":")[0]
            sections[heading] = sections.get(heading, "") + figure_section(png, caption)
        for heading, part in self.tables.items():
            sections[heading] = sections.get(heading, "") + tables_section(part)
        sections["Settings"] = settings_section(settings)
        every = [table for part in self.tables.values() for table in part]
        texts = {"tables.md": "\n".join(table.to_markdown() for table in every), **self.texts}
        for name, text in texts.items():
            write_text(clear_way(folder / name), text)
        for name, table in self.tables_kept.items():
            table.save(clear_way(folder / name))
        page = clear_way(folder / "report.html")
        write_text(page, report_page(self.title, self.summary, sections))
        return page

    def print(self) -> None:
        """Print the tables and lines."""
        from rich.console import Console

        console = Console(width=None if Console().is_terminal else _WIDTH)
        every = [table for part in self.tables.values() for table in part]
        for table in every if self.printed is None else self.printed:
            console.print(table)
        for line in self.lines:
            print(line)


@dataclass(frozen=True)
class Study(ABC):
    """One experiment: what it computes, and what it makes of the results."""

    name: ClassVar[str]
    command: ClassVar[str] = ""  # the command that has the study below it, such as "ope"
    needs_grades: ClassVar[str] = "a study with a true user needs"  # begins what it says without
    own_folder: ClassVar[bool] = False  # whether results of other settings are not to be replaced

    @classmethod
    def small(cls) -> Self:
        """Return a run that takes a moment, which tests compute; by default the defaults."""
        return cls()

    @classmethod
    def presets(cls) -> dict[str, Self]:
        """Return the runs that have a name; the first is the usual one. Empty: there are none."""
        return {}

    @classmethod
    def from_options(cls, preset: str, given: dict[str, Any]) -> tuple[str, Self]:
        """Return the name of the preset and the study: the preset with the settings ``given``.

        ``preset`` "" is the usual one, or the defaults where a study has no presets.
        """
        presets = cls.presets()
        preset = preset or next(iter(presets), "")
        known = presets[preset] if preset else cls()
        return preset, dataclasses.replace(known, **given)

    def check(self) -> None:
        """Raise a ``ValueError`` where the study could not run, before anything is written.

        Its message begins with the name of the setting that is wrong. Here every setting is held
        to what it declares, and the world is loaded; studies add what else they need.
        """
        for one in dataclasses.fields(self):
            value = getattr(self, one.name)
            known = one.metadata.get("known") or _KNOWN.get(one.metadata.get("flag", one.name))
            choices = one.metadata.get("choices", (*known(), *one.metadata.get("also", ()))
                                       if known else ())  # fmt: skip
            for item in value if isinstance(value, tuple) else (value,):
                if isinstance(item, WorldSetting):
                    world_of(item).require_grades(f"{one.name}: {self.needs_grades}")
                elif choices and not (item is None and one.default is None):
                    checks.choice(item, choices, one.name)
                elif one.type in _WHOLE:
                    checks.positive_integer(item, one.name, one.metadata.get("least", 1))

    def resolved(self) -> Self:
        """Return the study with settings that only files tell, after ``check`` has found them."""
        return self

    def preface(self) -> str:
        """Return what to say before the work begins, such as what was read; "" for nothing."""
        return ""

    @abstractmethod
    def stages(self, folder: Path, results: Results) -> Iterator[Stage]:
        """Give the stages in their order.

        ``folder`` is where cells may keep files. ``results`` fills while the stages are computed:
        a later one may depend on what came of an earlier one.
        """

    @abstractmethod
    def rows(self, results: Results) -> list[Row]:
        """Return the rows of the results: dicts of numbers and texts, all with the same keys."""

    @abstractmethod
    def report(self, rows: list[Row]) -> Report:
        """Return what the rows say."""

    def files(self, rows: list[Row]) -> dict[str, list[Row]]:
        """Return the rows to keep, by the name of their Parquet file."""
        return {"rows.parquet": rows}

    def describe(self) -> dict[str, Any]:
        """Return the settings for people: what the page says about how the rows were made.

        They have the names of their options. What is not set is left out.
        """
        texts = {}
        for one in dataclasses.fields(self):
            value = getattr(self, one.name)
            if value not in (None, (), "", one.metadata.get("nothing")):
                texts[option_name(one).replace("_", " ")] = _say(value)
        return texts


def option_name(one: dataclasses.Field[Any]) -> str:
    """Return the name of a setting's option; of a setting without one, its own."""
    return str(one.metadata.get("flag") or one.name)


def _say(value: Any) -> str:
    if dataclasses.is_dataclass(value):  # which log or world a study takes
        return str(value.describe())  # type: ignore[union-attr]
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        if isinstance(value[0], tuple):
            return "; ".join(",".join(map(str, one)) for one in value)
        return ", ".join(map(str, value))
    return f"{value:,}" if isinstance(value, int) else str(value)


def describe_settings(study: Any) -> dict[str, Any]:
    """Return the settings of a study as JSON has them; a world that was made is left out."""
    plain: dict[str, Any] = {}
    for one in dataclasses.fields(study):
        value = getattr(study, one.name)
        if dataclasses.is_dataclass(value):
            plain[one.name] = describe_settings(value)
        elif one.name != "made":
            plain[one.name] = _plain(value)
    return plain


def settings_shape(settings: type[Any]) -> dict[str, Any]:
    """Return the shape of what ``describe_settings`` gives: see ``find_mismatch``."""
    hints = get_type_hints(settings)
    return {
        one.name: _shape(hints[one.name], one.metadata.get("later", False))
        for one in dataclasses.fields(settings)
        if one.name != "made"
    }


def _shape(hint: Any, later: bool) -> Any:
    nested = isinstance(hint, type) and dataclasses.is_dataclass(hint)
    shape = settings_shape(hint) if nested else hint
    return NotRequired[shape] if later else shape


def _plain(value: Any) -> Any:
    return [_plain(one) for one in value] if isinstance(value, (list, tuple)) else value
