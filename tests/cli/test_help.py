"""Where a newcomer begins: the bare command, and the help of every command at 80 columns."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from mindgauge.cli import COMMANDS, FIRST, app
from tests import in_process

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = app


def verbs(command: Any = ROOT, name: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield every command by its words, groups among them."""
    yield name
    for part in getattr(command, "commands", ()):
        yield from verbs(command.commands[part], (*name, part))


def test_the_command_alone_says_five_commands_to_begin_with() -> None:
    done = in_process.mindgauge()
    assert done.returncode == 0 and not done.stderr
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    begun = [line.strip().partition("  ")[0] for line in lines if line.startswith("  mindgauge ")]
    assert begun == [*FIRST] and len(begun) == 5
    assert "mindgauge --help" in lines[-1]
    known = {name for part in COMMANDS.values() for name in part}
    assert {command.split()[1] for command in begun} <= known


def test_help_has_a_line_for_every_command() -> None:
    lines = in_process.mindgauge("--help").stdout.splitlines()
    for heading, part in COMMANDS.items():
        assert f"{heading}:" in lines
        for name, entry in part.items():
            assert any(re.fullmatch(rf"  {name} +{re.escape(entry.purpose)}", line) for line in lines)
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize("name", [*verbs()][1:], ids=" ".join)
def test_help_says_what_a_command_is_for_and_fits_eighty_columns(name: tuple[str, ...]) -> None:
    done = in_process.mindgauge(*name, "--help")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0].startswith("Usage: mindgauge ")
    assert re.match(r"  \w", lines[2]), "a sentence below the usage"
    assert "..." not in done.stdout.partition("Commands:")[2], "no help is cut off"
    assert not re.search(r"<(?:list|str|int|float|path)", done.stdout), "kinds of values are words"
    headed = [line for line in lines if re.match(r"[A-Z].*:$", line)]
    rows = sum(line.startswith("  --") for line in lines)
    assert rows <= 14 or len(headed) > 2, "many options stand under headings"


def test_a_group_alone_shows_its_help() -> None:
    done = in_process.mindgauge("judges")
    assert done.returncode == 2
    assert done.stdout.startswith("Usage: mindgauge judges") and "escalation" in done.stdout
    assert not done.stderr


def options(command: Any = ROOT) -> Iterator[Any]:
    """Yield every option of every command."""
    yield from command.params
    for part in getattr(command, "commands", {}).values():
        yield from options(part)


def test_no_seed_is_below_zero() -> None:
    seeds = [option.min for option in options() if option.name == "seed"]
    assert len(seeds) > 5 and set(seeds) == {0}
