"""The page of all commands, each as its own `--help` says it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from typer.main import get_command
from typer.testing import CliRunner

from docs_build.tables import fence, page
from mindgauge.cli import COMMANDS, app

if TYPE_CHECKING:
    from collections.abc import Iterator

WIDTH = "80"
"""Columns of the terminal in which help is written."""


def written() -> str:
    """Return the page."""
    sections: list[str] = []
    for heading, entries in COMMANDS.items():
        sections.append(f"## {heading}")
        for name in entries:
            for words in _verbs((name,)):
                sections += [f"{'#' * (2 + len(words))} mindgauge {' '.join(words)}", fence(_help(words))]
    return page(
        "Commands",
        "Every command, as `mindgauge COMMAND --help` says it. `mindgauge` alone says five to begin with.",
        *sections,
    )


def _verbs(words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield a command and those below it."""
    yield words
    verb: Any = get_command(app)
    for word in words:
        verb = verb.commands[word]
    for name in getattr(verb, "commands", {}):
        yield from _verbs((*words, name))


def _help(words: tuple[str, ...]) -> str:
    runner = CliRunner(env={"COLUMNS": WIDTH, "TERMINAL_WIDTH": WIDTH})
    result = runner.invoke(app, [*words, "--help"], prog_name="mindgauge")
    assert result.exit_code == 0, (words, result.output)
    return result.output
