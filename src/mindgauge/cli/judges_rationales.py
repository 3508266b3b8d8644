"""`mindgauge judges rationales`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mindgauge.cli import answer, judges_compare, options, render, terminal
from mindgauge.records.english import words
from mindgauge.stats.level import named as with_level

if TYPE_CHECKING:
    from mindgauge.commands.judges.rationales import CheckedRationales

app = options.group(
    "Whether judges' reasons can be checked: by machine (show), and by people on a blind form (export, import).",
    "rationales",
)
Run = Annotated[Path, typer.Argument(help="A run directory.")]


@app.command(cls=options.Command)
def show(run: Run, full: options.Full = False, json: options.Json = False) -> None:
    """Say how far the reasons of each judge can be traced, follow from its own chain, and are supported."""
    from mindgauge.commands.judges.rationales import rationales

    with render.working("Looking at reasons"):
        result = rationales(run)
    if json:
        render.as_json(result)
        return
    judges = list(dict.fromkeys(r.judge for r in result.rationales))
    with terminal.short(judges):
        _rationales_show(result, judges, full=full)
    answer.then("judges", "rationales", "export", run)


def _rationales_show(result: "CheckedRationales", judges: list[str], *, full: bool) -> None:
    """Print whose reasons can be traced least, and what that is worth; then judge by judge."""
    from mindgauge.reports.juries import sheet

    traced = [r for r in result.rationales if r.traceable.value is not None]
    lowest = min(traced, key=lambda r: r.traceable.value or 0.0, default=None)
    answer.first(
        "No judge gave a reason that can be traced."
        if lowest is None
        else f"Of the reasons that {lowest.judge} gives on {words(lowest.criterion)}, {judges_compare.bound(lowest.traceable, share=True)} quote only "
        f"what stands in the text, n {lowest.n:,}: the least of any judge and criterion.",
        "Whether a reason is a good one, only people can say.",
    )
    tables = [sheet("", judge, [r for r in result.rationales if r.judge == judge]) for judge in judges]
    if not full:
        for table in tables[:1]:
            answer.sheet(table, sum(len(other.rows) for other in tables))
        return
    for table in tables:
        render.sheet(table)
    shares = ("traceable", "contradicting", "unsupported", "uncertain")
    for line in judges_compare.missing(
        (f"{r.criterion}, {r.judge}", name, getattr(r, name)) for r in result.rationales for name in shares
    ):
        print(f"Note: {line}")


@app.command(cls=options.Command)
def export(
    run: Run,
    out: Annotated[Path | None, typer.Option(help="The folder for the forms; RUN/rationales if not given.")] = None,
    people: Annotated[int, typer.Option(min=1, help="Forms: the same verdicts, each in another order.")] = 2,
    limit: Annotated[int | None, typer.Option(min=1, help="At most this many verdicts, spread evenly.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of choice and order, together with the run's secret.")] = 0,
    json: options.Json = False,
) -> None:
    """Write blind forms on which people rate reasons from 1 to 5: rationality, traceability, consistency."""
    from mindgauge.commands.judges.rationales import rationales_export

    result = rationales_export(run, out=out, people=people, limit=limit, seed=seed)
    if json:
        render.as_json(result)
        return
    print(f"{result.verdicts} verdicts on {len(result.files) - 1} forms in {result.path}")
    print(f"The key stays here; do not hand it out: {result.key}")
    for note in result.notes:
        print(f"Note: {note}")


@app.command("import", cls=options.Command)
def import_(
    run: Run, forms: Annotated[list[Path], typer.Argument(help="Filled forms.")], json: options.Json = False
) -> None:
    """Read filled forms into the run, and say what people find and how far they agree."""
    from mindgauge.commands.judges.rationales import rationales_import

    result = rationales_import(run, filled=forms)
    if json:
        render.as_json(result)
        return
    render.table(
        f"People on judges' reasons, 1 to 5  ({run})",
        ["question", "judge", "mean"],
        [
            [q.question, judge, judges_compare.bound(bound)]
            for q in result.questions
            for judge, bound in q.means.items()
        ],
    )
    coefficients = ("same_level", "within_1", "krippendorff_alpha", "icc_a1")
    render.in_parts(
        "People among themselves", ["question", "ratings", "missing", "people"],
        ["same", "within 1", with_level("krippendorff_alpha"), with_level("icc_a1")],
        [
            [
                q.question, str(q.n), str(q.missing), str(len(q.people)),
                *(judges_compare.bound(q.agreement.get(name)) or "–" for name in coefficients),
            ]
            for q in result.questions
        ],
    )  # fmt: skip
    for line in judges_compare.missing(
        (q.question, name, bound) for q in result.questions for name, bound in q.agreement.items()
    ):
        print(f"Note: {line}")
    for note in result.notes:
        print(f"Note: {note}")
