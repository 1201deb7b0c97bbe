"""The ``clickgym`` command: what it lists, how its options are called, and what its help says."""

from __future__ import annotations

import dataclasses
import importlib
import json
import re
import shlex
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

import clickgym
from clickgym.scripts import command_names, main, ope
from clickgym.scripts._shared.command_inputs import saved_settings
from clickgym.scripts._shared.command_options import (
    SHARED,
    changes,
    flags,
    former_names,
    option,
    parse,
)
from clickgym.scripts.papers import federated, recommend

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def ran(*command, cwd=None):
    """Run ``command`` in a process of its own."""
    return subprocess.run(command, cwd=cwd, text=True, capture_output=True, timeout=120)


def commands():
    """Return every command, those below another one by both words."""
    names = [(name,) for name in command_names() if name != "ope"]
    below = [("recommend", word) for word in recommend.BELOW]
    below += [("federated", word) for word in federated.BELOW]
    return [*names, *below, *(("ope", study) for study in ope.find_studies())]


def help_of(words, capsys):
    with pytest.raises(SystemExit) as stopped:
        main([*words, "--help"])
    assert stopped.value.code == 0, words
    return capsys.readouterr().out


def refusal(arguments, capsys):
    """Return what a command says of ``arguments`` before it does anything."""
    with pytest.raises(SystemExit) as stopped:
        main([*arguments, "--patience=3"])  # no command takes it
    assert stopped.value.code == 2, arguments
    return capsys.readouterr().err


# The command itself


def test_the_installed_command_says_its_version():
    command = Path(sys.executable).with_name("clickgym")
    assert ran(command, "--version").stdout == f"clickgym {clickgym.__version__}\n"


def test_every_command_is_listed_with_what_it_does(capsys):
    for arguments in ([], ["--help"], ["-h"]):
        assert main(arguments) == 0
        listed = [line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines()[2:]]
        assert {name: bool(text) for name, text in listed} == dict.fromkeys(command_names(), True)


def test_the_commands_of_the_design():
    assert set(command_names()) >= {"collect", "demo", "fit", "strong-shift", "world"}


def test_an_unknown_command_is_named_with_the_known_ones(capsys):
    assert main(["fitt"]) == 2
    error = capsys.readouterr().err
    assert "'fitt'" in error
    assert "strong-shift" in error


def test_a_script_runs_in_a_checkout():
    found = ran(sys.executable, "scripts/collect.py", "--help", cwd=ROOT)
    assert (found.returncode, found.stdout[:6]) == (0, "usage:")


def test_an_interrupt_is_no_traceback(monkeypatch, capsys):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(importlib.import_module("clickgym.scripts.world"), "main", interrupted)
    assert main(["world"]) == 130
    assert "stopped" in capsys.readouterr().err


# Help


def test_help_has_one_form(capsys):
    for words in commands():
        text = help_of(words, capsys)
        usage, sentence, *_ = text.split("\n\n")
        assert re.fullmatch(rf"usage: clickgym {' '.join(words)}( \[\w+\])? \[options\]", usage)
        assert sentence.count(".") >= 1, words
        assert "\noptions:\n" in text, words
        assert "\nexample:\n  clickgym " in text, words


def test_help_has_no_values_that_stand_for_something_else(capsys):
    for words in commands():
        text = " ".join(help_of(words, capsys).split())
        for sentinel in ("default: None", "default: )", "default: -1", "empty", " 0:", " = "):
            assert sentinel not in text, (words, sentinel)


def test_examples_in_help_name_options_that_there_are(capsys):
    for words in commands():
        examples = re.findall(r"^  clickgym (.+)$", help_of(words, capsys), re.MULTILINE)
        assert examples, words
        for example in examples:
            error = refusal(shlex.split(example), capsys)
            assert error.endswith("unrecognized arguments: --patience=3\n"), (example, error)


def test_commands_in_the_docs_name_options_that_there_are(capsys):
    found = 0
    for page in PAGES:
        text = page.read_text().replace("\\\n", " ")
        names = "|".join(command_names())
        blocks = re.findall(rf"^clickgym ((?:{names}) .+?)(?:  +#.*)?$", text, re.MULTILINE)
        inline = re.findall(r"`clickgym ([a-z][^`]*--[^`]+)`", text)
        for command in (*blocks, *inline):
            error = refusal(shlex.split(command), capsys)
            assert error.endswith("unrecognized arguments: --patience=3\n"), (page, command, error)
            found += 1
    assert found > 20


def test_an_option_of_several_commands_means_the_same_in_all(capsys):
    commands_of = defaultdict(set)
    for words in commands():
        for name in re.findall(r"^  --([\w-]+)", help_of(words, capsys), re.MULTILINE):
            commands_of[name.replace("-", "_")].add(words[0])
    several = {name for name, found in commands_of.items() if len(found) > 1}
    assert several <= SHARED.keys()


# Options


@dataclasses.dataclass(frozen=True)
class Few:
    """Say little.

    Example:
      clickgym few --docs all
    """

    docs: int = option(30)
    slots: int = option(10)
    model: list[str] | None = option(None, also=("oracle",), absent="none")
    note: str | None = option(None, "a note", absent="nothing is noted")
    loud: bool = option(False, "say it twice")
    shift: bool = option(True, "add a table")


def test_options_that_are_not_given_have_their_defaults():
    assert parse(Few, "few", []) == Few(30, 10, None, None, False, True)


def test_options_are_read():
    words = "--docs all --slots 3 --model PBM oracle --note x --loud --no-shift"
    assert parse(Few, "few", words.split()) == Few(0, 3, ["PBM", "oracle"], "x", True, False)


def test_help_says_what_happens_without_an_option(capsys):
    with pytest.raises(SystemExit):
        parse(Few, "few", ["--help"])
    text = " ".join(capsys.readouterr().out.split())
    assert "a note (not given: nothing is noted)" in text
    assert "candidates per query, or all for full lists (default: 30)" in text
    assert "add a table (default: yes)" in text
    assert "say it twice" in text


def test_a_bad_value_is_an_error_that_names_the_option(capsys):
    for words, message in (
        ("--slots 0", "--slots must be at least 1, not 0"),
        ("--model PBM PBMM", "--model must be one of oracle, ARM.*, not 'PBMM'"),
    ):
        with pytest.raises(ValueError, match=message):
            parse(Few, "few", words.split())
    for words, message in (
        ("--docs 0", "--docs: takes a number of at least 1, or all, not '0'"),
        ("--slots many", "--slots: invalid int value: 'many'"),
        ("--slot 3", "unrecognized arguments: --slot"),  # no abbreviations
    ):
        with pytest.raises(SystemExit):
            parse(Few, "few", words.split())
        assert message in capsys.readouterr().err


def test_an_old_spelling_is_an_error_that_names_the_new_one(capsys):
    for words, new in (
        ("collect --n-docs 10", "--docs"), ("collect --n-queries=10", "--queries"),
        ("collect --policy random", "--logging"), ("collect --pages 5", "--impressions"),
        ("fit --n-docs 10", "--docs"), ("world --path x", "--world"),
        ("world --seed 1", "--world-seed"),
        ("train --env CoCM", "--user"), ("train --click-model PBM", "--model"),
        ("train --log-dir x", "--out"), ("train --modules x", "--module"),
        ("deploy --env CoCM", "--user"), ("deploy --click-model x", "--model"),
        ("compare --agents PPO", "--agent"), ("compare --models PBM", "--model"),
        ("curse --models PBM", "--model"), ("protocol --models PBM", "--model"),
        ("strong-shift --models PBM", "--model"),
    ):  # fmt: skip
        with pytest.raises(SystemExit) as stopped:
            main(words.split())
        assert stopped.value.code == 2
        old = words.split()[1].partition("=")[0]
        assert f"{old} is now {new}\n" in capsys.readouterr().err, words


def test_options_are_typed_as_they_were_given():
    assert flags(Few(docs=0, slots=3), ["docs", "slots", "note"]) == "--docs all --slots 3"


def test_settings_of_a_run_are_read_under_the_names_of_today(tmp_path):
    from clickgym.scripts.train import Train

    path = tmp_path / "settings.json"
    before = {"env": "clickgym/DBN-v0", "click_model": "UBM", "setting": [""], "world": ""}
    path.write_text(json.dumps(before))
    saved = saved_settings(path, Train)
    assert (saved["user"], saved["model"]) == ("DBN", "UBM")
    same = dataclasses.replace(Train(), user="DBN", model="UBM")
    names = tuple({field.name for field in dataclasses.fields(Train)} - saved.keys())
    assert changes(saved, same, names) == ""
    assert changes(saved, dataclasses.replace(same, user="CoCM"), names) == "--user was DBN"
    assert former_names(Train)["log_dir"] == "out"


def test_settings_that_are_none_are_an_error_that_names_the_file(tmp_path):
    for text in ("", "{", "[1]", "null"):
        path = tmp_path / "settings.json"
        path.write_text(text)
        with pytest.raises(ValueError, match=r"settings\.json is not a run's settings"):
            saved_settings(path, Few)
