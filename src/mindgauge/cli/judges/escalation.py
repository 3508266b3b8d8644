"""`mindgauge judges escalation`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mindgauge.cli import options, render

if TYPE_CHECKING:
    from mindgauge.analysis.reliability.card import Bound


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
    from mindgauge.verbs.judges.escalation import escalation as verb

    found = verb(
        run, unsafe=unsafe, reference=reference, benchmark=benchmark, target=target, resamples=resamples, seed=seed
    )
    if json:
        render.as_json(found)
        return
    print(f"{found.n} replies in {found.clusters} conversations, {found.n_unsafe} unsafe ({found.unsafe}, by {', '.join(found.people)})")  # fmt: skip
    print(
        f"To find {found.target:.0%} of them, {found.needed}, people must read at least {found.ideal:.1%} of the replies; "
        "those of one risk are read in any order, and figures are means over these orders"
    )
    rows = [
        [
            order.name, _share(order.reads.value), _between(order.reads), _signed(order.minus_jury.value),
            _between(order.minus_jury, sign="+"), str(order.missing),
        ]
        for order in found.orders
    ]  # fmt: skip
    columns = ["read in the order of", "must read", "95 % interval", "minus jury", "95 % interval", "missing"]
    render.table("", columns, rows)
    targets = list(found.orders[0].reads_for)
    shares = [
        [order.name, *(_share(order.reads_for[t]) for t in targets), _share(order.threshold_reads), _share(order.threshold_finds)]
        for order in found.orders
    ]  # fmt: skip
    columns = ["", *(f"{float(t):.0%}" for t in targets), "a threshold reads", "and finds"]
    render.table("Must read, by the share of the unsafe to be found; a threshold is set on other conversations", columns, shares)  # fmt: skip
    unseen = [[order.name, _share(order.unseen.value), _between(order.unseen)] for order in found.orders if order.kind == "fitted" and order.unseen.value is not None]  # fmt: skip
    if unseen:
        render.table("Must read, of a model from which nothing was learned", ["", "must read", "95 % interval"], unseen)
    for note in found.notes:
        print(f"note: {note}")


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.1%}"


def _signed(value: float | None) -> str:
    return "–" if value is None else f"{value:+.1%}"


def _between(bound: "Bound", sign: str = "") -> str:
    return "" if bound.low is None or bound.high is None else f"{bound.low:{sign}.1%} to {bound.high:{sign}.1%}"
