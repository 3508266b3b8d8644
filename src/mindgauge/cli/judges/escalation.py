"""`mindgauge judges escalation`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mindgauge.cli import options, render
from mindgauge.records.rounding import interval, percent, points, precise

if TYPE_CHECKING:
    from mindgauge.analysis.reliability.card import Bound
    from mindgauge.records.rounding import Kind


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
    rows = [
        [
            order.name, precise(order.reads.value), _between(order.reads), points(order.minus_jury.value, signed=True),
            _between(order.minus_jury, "points"), str(order.missing),
        ]
        for order in result.orders
    ]  # fmt: skip
    columns = ["read in the order of", "must read", "95 % interval", "minus jury", "95 % interval", "missing"]
    render.table("", columns, rows)
    targets = list(result.orders[0].reads_for)
    shares = [
        [order.name, *(precise(order.reads_for[t]) for t in targets), precise(order.threshold_reads), precise(order.threshold_finds)]
        for order in result.orders
    ]  # fmt: skip
    columns = ["", *(percent(float(t)) for t in targets), "a threshold reads", "and finds"]
    render.table("Must read, by the share of the unsafe to be found; a threshold is set on other conversations", columns, shares)  # fmt: skip
    unseen = [[order.name, precise(order.unseen.value), _between(order.unseen)] for order in result.orders if order.kind == "fitted" and order.unseen.value is not None]  # fmt: skip
    if unseen:
        render.table("Must read, of a model from which nothing was learned", ["", "must read", "95 % interval"], unseen)
    for note in result.notes:
        print(f"note: {note}")


def _between(bound: "Bound", kind: "Kind" = "precise") -> str:
    return "" if bound.low is None else interval(bound.low, bound.high, kind, signed=kind == "points")
