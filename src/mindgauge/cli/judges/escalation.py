"""`mindgauge judges escalation`."""

from pathlib import Path
from typing import Annotated

import typer

from mindgauge.cli import options, render
from mindgauge.records.rounding import percent, precise


def escalation(
    run: Annotated[Path, typer.Argument(help="A run directory with ratings by people and by judges.")],
    unsafe: Annotated[
        str,
        typer.Option(help="What one person has to say of a reply for it to be unsafe: safety<=2, or label=A,B."),
    ],
    reference: Annotated[list[str], typer.Option(help="Whose word counts, if not people's. May be repeated.")] = [],  # noqa: B006 - typer copies it
    benchmark: Annotated[str, typer.Option(help="Which of the run's, where people rated several.")] = "",
    target: Annotated[float, typer.Option(help="The share of the unsafe replies to be found.")] = 0.95,
    resamples: Annotated[int, typer.Option(min=100, help="Of the bootstrap.")] = 1000,
    seed: Annotated[int, typer.Option(help="Of the bootstrap and the folds.")] = 0,
    json: options.Json = False,
) -> None:
    """Say what share of the replies people must read, in whose order, to find those that they call unsafe."""
    from mindgauge.commands.judges.escalation import escalation as function

    result = function(
        run, unsafe=unsafe, reference=reference, benchmark=benchmark, target=target, resamples=resamples, seed=seed
    )
    if json:
        render.as_json(result)
        return
    print(f"{result.n} replies in {result.clusters} conversations, {result.n_unsafe} unsafe ({result.unsafe}, by {', '.join(result.people)})")  # fmt: skip
    print(
        f"To find {percent(result.target)} of them, {result.needed}, people must read at least {precise(result.ideal)} of the replies; "
        "those of one risk are read in any order, and figures are means over these orders"
    )
    from mindgauge.reports.reading_order import of_orders

    for table in of_orders(result):
        render.sheet(table)
    for note in result.notes:
        print(f"note: {note}")
