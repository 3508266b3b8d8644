"""The page of all commands, each as its own `--help` says it."""

from __future__ import annotations

from click.testing import CliRunner

from docs_build.tables import fence, page
from mindgauge.cli import app
from mindgauge.cli.program import leaves
from mindgauge.commands import registry

WIDTH = "80"
"""Columns of the terminal in which help is written."""


def written() -> str:
    """Return the page."""
    commands, sections = leaves(), list[str]()
    for heading, names in registry.HEADINGS.items():
        sections.append(f"## {heading}")
        for name in names:
            if name in registry.GROUPS:
                sections += [f"### mindgauge {name}", fence(_help(name, "--help"))]
            for words, command in commands.items():
                if words.split()[0] == name:
                    more = "--help" if len(command.shown()) == len(command.options()) else "--help-all"
                    sections += [
                        f"{'#' * (2 + len(words.split()))} mindgauge {words}",
                        fence(_help(*words.split(), more)),
                    ]
    return page(
        "Commands",
        "Every command with all its options. `mindgauge COMMAND --help` prints the same; where it has many options, `--help-all` prints the rest. `mindgauge` alone prints five commands to begin with.",
        *sections,
    )


def _help(*words: str) -> str:
    runner = CliRunner(env={"COLUMNS": WIDTH, "TERMINAL_WIDTH": WIDTH})
    result = runner.invoke(app, words, prog_name="mindgauge")
    assert result.exit_code == 0, (words, result.output)
    return result.output
