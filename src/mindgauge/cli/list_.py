"""`mindgauge list`."""

from typing import Annotated

import typer

from mindgauge.cli import options, render


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
    rows = [[e.name, e.measures, ", ".join(e.languages), str(e.samples), e.licence] for e in result.benchmarks]
    render.table("", ["benchmark", "measures", "languages", "own samples", "licence of the released data"], rows)
    for name, reason in result.broken.items():
        print(f"Note: {name} cannot be loaded: {reason}")
