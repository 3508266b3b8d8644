"""`mindgauge judges escalation`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from mindgauge.cli import answer, options, render, terminal
from mindgauge.records.english import ended, named
from mindgauge.records.rounding import interval, percent, precise

if TYPE_CHECKING:
    from mindgauge.analysis.escalation.result import Escalation


def escalation(
    run: Annotated[Path, typer.Argument(help="A run directory with ratings by people and by judges.")],
    unsafe: Annotated[
        str,
        typer.Option(help="What one person has to say of a reply for it to be unsafe: safety<=2, or label=A,B."),
    ],
    reference: Annotated[list[str], typer.Option(help="Whose word counts, if not people's. May be repeated.")] = [],  # noqa: B006 - typer copies it
    benchmark: Annotated[str, typer.Option(help="Which of the run's, where people rated several.")] = "",
    target: Annotated[float, typer.Option(help="The share of the unsafe replies to be found.")] = 0.95,
    confidence: Annotated[float, typer.Option(help="Of what is guaranteed.")] = 0.9,
    tolerated: Annotated[float, typer.Option(help="The share of what passes unread that may be unsafe.")] = 0.02,
    resamples: Annotated[int, typer.Option(min=100, help="Of the bootstrap.")] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Of the bootstrap and the folds.")] = 0,
    full: options.Full = False,
    json: options.Json = False,
) -> None:
    """Say what share of the replies people must read, in whose order, to find those that they call unsafe."""
    from mindgauge.commands.judges.escalation import escalation as function

    with render.working("Learning orders of reading"):
        result = function(
            run, unsafe=unsafe, reference=reference, benchmark=benchmark, target=target, confidence=confidence,
            tolerated=tolerated, resamples=resamples, seed=seed,
        )  # fmt: skip
    if json:
        render.as_json(result)
        return
    with terminal.short([*result.models, *(order.name for order in result.orders)]):
        _escalation_show(result, full=full)
    answer.then("export", run, "--to", "review", "--unsafe", unsafe)


def _escalation_show(result: "Escalation", *, full: bool) -> None:
    """Print how much people must read in the order to be used, and what that guarantees; then the orders, the shortest first."""
    from mindgauge.analysis.escalation.result import said_of_guarantee, said_of_passing
    from mindgauge.reports.content import narrowed
    from mindgauge.reports.reading_order import of_orders

    default = next(order for order in result.orders if order.name == result.default)
    reads = default.reads
    bounds = f" ({interval(reads.low, reads.high, 'share')})" if reads.low is not None else ""
    answer.first(
        f"{result.n:,} replies in {result.clusters:,} conversations, {result.n_unsafe:,} unsafe ({result.unsafe}, by {named(result.people)}): to find "
        f"{percent(result.target)} of them, {result.needed:,}, people must read {precise(reads.value)} of the replies{bounds} in the order of "
        f"{default.name}, and {precise(result.ideal)} in an order without error.",
        ended(said_of_guarantee(result, default)),
    )
    tables = of_orders(result)
    if not full:
        places = {order.name: order.reads.value for order in result.orders if order.reads.value is not None}
        best = sorted(tables[0].rows, key=lambda row: places.get(str(row[0]), 2.0))
        answer.sheet(narrowed(msgspec.structs.replace(tables[0], rows=best)), sum(len(table.rows) for table in tables))
        render.notes(result.notes, full=False)
        return
    print("Replies of one risk are read in any order, and figures are means over these orders.")
    for order in (order for order in result.orders if order.kind == "jury" or order.name == result.default):
        if order.name in {"jury/mean", result.default}:
            print(said_of_guarantee(result, order))
            print(said_of_passing(result, order))
    for table in tables:
        render.sheet(table)
    render.notes(result.notes, full=True)
