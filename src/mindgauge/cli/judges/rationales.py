"""`mindgauge judges rationales`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mindgauge.cli import options, render

if TYPE_CHECKING:
    from mindgauge.analysis.reliability.card import Bound

app = typer.Typer(
    name="rationales",
    help="Whether judges' reasons can be checked: by machine (show), and by people on a blind form (export, import).",
    no_args_is_help=True,
    rich_markup_mode=None,
)
Run = Annotated[Path, typer.Argument(help="A run directory.")]


@app.command()
def show(run: Run, json: options.Json = False) -> None:
    """Say how far the reasons of each judge can be traced, follow from its own chain, and are supported."""
    from mindgauge.verbs.judges.rationales import rationales

    found = rationales(run)
    if json:
        render.as_json(found)
        return
    render.table(
        f"Judges' reasons  ({run})",
        ["judge", "criterion", "verdicts", "absent", "traceable", "contradicting", "unsupported", "uncertain", "language"],
        [
            [
                r.judge, r.criterion, str(r.n), str(r.absent), _share(r.traceable), _share(r.contradicting),
                _share(r.unsupported), _share(r.uncertain), str(r.answered_elsewhere),
            ]
            for r in found
        ],
    )  # fmt: skip


@app.command()
def export(
    run: Run,
    out: Annotated[Path | None, typer.Option(help="The folder for the forms; RUN/rationales if not given.")] = None,
    people: Annotated[int, typer.Option(min=1, help="Forms: the same verdicts, each in another order.")] = 2,
    limit: Annotated[int | None, typer.Option(min=1, help="At most this many verdicts, spread evenly.")] = None,
    seed: Annotated[int, typer.Option(help="Of choice, order and blind ids.")] = 0,
    json: options.Json = False,
) -> None:
    """Write blind forms on which people rate reasons from 1 to 5: rationality, traceability, consistency."""
    from mindgauge.verbs.judges.rationales import rationales_export

    found = rationales_export(run, out=out, people=people, limit=limit, seed=seed)
    if json:
        render.as_json(found)
        return
    print(f"{found.verdicts} verdicts on {len(found.files) - 1} forms in {found.path}")
    print(f"The key stays here; do not hand it out: {found.key}")


@app.command("import")
def import_(
    run: Run, forms: Annotated[list[Path], typer.Argument(help="Filled forms.")], json: options.Json = False
) -> None:
    """Read filled forms into the run, and say what people find and how far they agree."""
    from mindgauge.verbs.judges.rationales import rationales_import

    found = rationales_import(run, filled=forms)
    if json:
        render.as_json(found)
        return
    render.table(
        f"People on judges' reasons, 1 to 5  ({run})",
        ["question", "judge", "mean"],
        [[q.question, judge, _value(bound)] for q in found.questions for judge, bound in q.means.items()],
    )
    render.table(
        "People among themselves",
        ["question", "ratings", "missing", "people", "same", "within 1", "kappa (quadratic)", "ICC(A,1)"],
        [
            [
                q.question, str(q.n), str(q.missing), str(len(q.people)),
                *(_value(q.agreement[name]) if name in q.agreement else "–" for name in ("percent", "within_1", "kappa_quadratic", "icc_a1")),
            ]
            for q in found.questions
        ],
    )  # fmt: skip
    for note in found.notes:
        print(f"Note: {note}")


def _share(bound: "Bound") -> str:
    if bound.value is None:
        return "–"
    return f"{render.number(bound.value, share=True)} [{render.number(bound.low, share=True)}, {render.number(bound.high, share=True)}]"


def _value(bound: "Bound") -> str:
    ends = "" if bound.low is None else f" [{render.number(bound.low)}, {render.number(bound.high)}]"
    return f"{render.number(bound.value)}{ends}"
