"""`mindgauge list`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from mindgauge.cli import options, render
from mindgauge.records.rounding import plural

if TYPE_CHECKING:
    from mindgauge.commands.list import BenchmarkListing


def list_(
    names: Annotated[
        list[str], typer.Argument(help="Benchmarks, families, or folders of your own; all if none is named.")
    ] = [],  # noqa: B006
    json: options.Json = False,
) -> None:
    """List the benchmarks: what they measure, licence, what data is at hand."""
    from mindgauge.commands.list import list as function

    result = function(names)
    if json:
        render.as_json(result)
        return
    rows = [[e.name, e.measures, ", ".join(e.languages), _own(e), e.licence] for e in result.benchmarks]
    render.table("", ["benchmark", "measures", "languages", "own samples", "licence of the released data"], rows)
    for entry in result.benchmarks if names else ():
        if entry.folder:
            _show(entry)
    for name, reason in result.broken.items():
        print(f"Note: {name} cannot be loaded: {reason}")


def _own(entry: BenchmarkListing) -> str:
    """Say what of it needs no download."""
    if not entry.personas:
        return str(entry.samples)
    return f"{plural(entry.samples, 'dialogue')}, {plural(entry.personas, 'persona')}"


def _show(entry: BenchmarkListing) -> None:
    """Say what a folder of the user's own is."""
    who = (
        "the model under test answers each"
        if entry.kind == "closed"
        else "the model under test replies, and raters rate each reply"
    )
    print(f"{entry.name}: {entry.samples} messages in {entry.folder}; {who}")
    rows = [
        [c.name, c.scale + (", a veto" if c.veto else ""), " < ".join(c.levels) if c.scale == "ordinal" else ", ".join(c.levels), ", ".join(c.metrics)]
        for c in entry.criteria
    ]  # fmt: skip
    render.table("", ["criterion", "scale", "levels, worst first", "goes by"], rows)
    print(f"Prompts: {', '.join(entry.prompts)}, else the usual ones" if entry.prompts else "Prompts: the usual ones")
    for note in entry.notes:
        print(f"Note: {note}")
