"""Where a newcomer begins: the bare command, and the help of every command at 80 columns."""

from __future__ import annotations

import inspect
import re
from importlib import import_module

import pytest

from mindgauge.cli.command import SHOWN
from mindgauge.cli.program import counted, leaves
from mindgauge.commands import registry
from mindgauge.commands.command import documented
from tests import in_process

LEAVES = leaves()
VERBS = [*registry.GROUPS, *registry.COMMANDS]


def test_the_command_alone_says_five_commands_to_begin_with() -> None:
    done = in_process.mindgauge()
    assert done.returncode == 0 and not done.stderr
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    begun = [line.strip().partition("  ")[0] for line in lines if line.startswith("  mindgauge ")]
    assert begun == [*registry.FIRST] and len(begun) == 5
    assert "mindgauge --help" in lines[-1]
    assert {command.split()[1] for command in begun} <= {*registry.COMMANDS}


def test_help_has_a_line_for_every_command_and_group() -> None:
    lines = in_process.mindgauge("--help").stdout.splitlines()
    purposes = registry.GROUPS | {words: entry.purpose for words, entry in registry.COMMANDS.items()}
    for heading, names in registry.HEADINGS.items():
        assert f"{heading}:" in lines
        for name in names:
            assert any(re.fullmatch(rf"  {name} +{re.escape(purposes[name])}", line) for line in lines)
    listed = {name for names in registry.HEADINGS.values() for name in names}
    assert listed == {words.split()[0] for words in registry.COMMANDS}
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize("words", VERBS)
@pytest.mark.parametrize("how", ["--help", "--help-all"])
def test_help_says_what_a_command_is_for_and_fits_eighty_columns(words: str, how: str) -> None:
    if how == "--help-all" and words not in LEAVES:
        pytest.skip("a group has no options")
    done = in_process.mindgauge(*words.split(), how)
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0].startswith("Usage: mindgauge ")
    assert re.match(r"  \w", lines[2]), "a sentence below the usage"
    assert "..." not in done.stdout.partition("Commands:")[2], "no help is cut off"
    assert "Python" not in done.stdout, "what is for Python alone is not said in a terminal"
    rows = re.findall(r"^  --[a-z-]+(?:.*)$", done.stdout, re.MULTILINE)
    assert rows or words in registry.GROUPS
    if how == "--help" and words in LEAVES:
        assert len(LEAVES[words].shown()) <= SHOWN
    assert len(rows) <= SHOWN + 2 or len([line for line in lines if re.match(r"[A-Z].*:$", line)]) > 2


def test_every_option_has_a_sentence() -> None:
    for words, command in LEAVES.items():
        for entry in command.built.values():
            assert re.match(r"\S.*\.?(  \[.*\])?$", entry.help, re.DOTALL), (words, entry.key)


def test_there_are_so_many_commands_and_options() -> None:
    commands, options, shown = counted()
    assert commands == 36
    assert options <= 430
    assert shown <= SHOWN and len(LEAVES["rate"].shown()) <= SHOWN


def test_first_options_are_options_of_the_command() -> None:
    for words, entry in registry.COMMANDS.items():
        module, name = registry.place(registry.python_name(words), entry)
        declaration = getattr(import_module(module), name).declaration
        assert {*declaration.first} <= {*LEAVES[words].built}, words


@pytest.mark.parametrize("name", [*registry.functions()])
def test_a_signature_that_is_read_is_that_of_the_function(name: str) -> None:
    module, function = registry.functions()[name]
    loaded = getattr(import_module(module), function)
    _, said = documented(loaded)
    parameters = inspect.signature(loaded).parameters
    assert {*parameters} - {*said} <= {"options", "of_format"}, "Args: has every parameter"


def test_a_group_alone_shows_its_help() -> None:
    done = in_process.mindgauge("judges")
    assert done.returncode == 2
    assert done.stdout.startswith("Usage: mindgauge judges") and "escalation" in done.stdout
    assert not done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["salvage", "r"], "there is no command salvage: did you mean status --salvage?"),
        (["load", "psycrisis"], "there is no command load: did you mean papers load?"),
        (["profile", "r"], "there is no command profile: did you mean compare?"),
        (["data", "fetch"], "there is no command data: did you mean papers fetch?"),
        (["dataset", "check", "r"], "did you mean dataset label --annotators?"),
        (["status", "r", "--timeout", "5"], "No such option '--timeout'.\n"),
        (["logs", "watch", "x", "--every", "-1"], "--every"),
        (["run", "psycrisis", "--engine", "ray"], "Set it in mindgauge.toml, in the table [run]: engine = …"),
        (["reprot"], "did you mean report"),
        (["judges", "rationales"], "there is no command judges rationales"),
        (["reliability", "r.csv", "--power", "0.9"], "--power goes with --plan"),
        (["status", "a", "b", "--salvage", "c"], "--salvage takes one"),
        (["run", "x"], "Missing option '--model'"),
    ],
)
def test_what_is_not_there_is_said_in_a_line(words: list[str], said: str) -> None:
    done = in_process.mindgauge(*words)
    assert done.returncode == 2 and said in done.stderr and done.stderr.count("\n") == 1, done


def test_no_seed_is_below_zero() -> None:
    seeds = [entry.param for command in LEAVES.values() for entry in command.options() if entry.key == "seed"]
    assert len(seeds) > 5 and {getattr(param.type, "min", None) for param in seeds} <= {0, None}
