"""`mindgauge judges`: how far a judge can be trusted, and which one. `compare` has a file of its own."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mindgauge.cli import judges_compare, options, render
from mindgauge.cli.calling import NONE, Chosen, takes_calls
from mindgauge.records.rounding import dollars, percent, precise
from mindgauge.runs.options import ONLY_TESTED, STRESSED, RunConfig

if TYPE_CHECKING:
    from mindgauge.analysis.jury.card import JuryCard
    from mindgauge.analysis.stress.result import Stress
    from mindgauge.runs.forecast import DryRun


@takes_calls(
    RunConfig(judging=STRESSED),
    without=(
        *ONLY_TESTED,
        "ask",
        "shots",
        "shot_seed",
        "protocol",
        "own_family",
        "qualify",
        "anchors",
        "cache",
        "context",
        "engine",
        "actors",
        "batch",
        "wait",
    ),
)
def stress(
    judge: Annotated[str, typer.Argument(help="The model to put under stress.")],
    benchmark: Annotated[
        str | None, typer.Option(help="An open benchmark, whose rubric and prompts it works with.")
    ] = None,
    rubric: options.Rubric = None,
    replies: Annotated[
        Path | None, typer.Option(help="Replies to rate: a file or a run; the benchmark's anchors if not given.")
    ] = None,
    map_: options.Map = [],  # noqa: B006 - how typer spells an empty list
    probes: Annotated[list[str], typer.Option(help="Which probes, separated by commas; all if not given.")] = [],  # noqa: B006
    limit: Annotated[int | None, typer.Option(min=1, help="At most this many replies.")] = None,
    each: Annotated[int, typer.Option(min=1, help="Replies that each injection is tried on.")] = 4,
    out: options.Out = None,
    chosen: Chosen = NONE,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what it would take.")] = False,
    json: options.Json = False,
) -> None:
    """Put the same replies to a judge in other forms: does it rate what they say, or how it is put?"""
    from mindgauge.commands.judges.stress import stress as function
    from mindgauge.runs.forecast import DryRun

    with render.progress() as progress:
        result = function(
            judge, benchmark=benchmark, rubric=rubric, replies=replies, columns=options.mapping(map_),
            probes=options.several(probes), limit=limit, each=each, out=out, dry_run=dry_run, progress=progress,
            command=render.command(), **chosen,
        )  # fmt: skip
    if json:
        render.as_json(result)
    elif isinstance(result, DryRun):
        _foreseen(result)
    else:
        _stress_show(result)


def _foreseen(result: "DryRun") -> None:
    rows = [[s.purpose, str(s.calls), str(s.prompt_tokens), str(s.completion_tokens)] for s in result.steps]
    render.table(f"{result.benchmark}  ({result.run})", ["for", "calls", "tokens read", "tokens written"], rows)
    cost = "unknown cost" if result.cost is None else dollars(result.cost)
    print(
        f"{result.calls} calls ({result.done} done before), about {result.prompt_tokens} + {result.completion_tokens} tokens, {cost}"
    )
    render.forecast(result.forecast)


def _stress_show(result: "Stress") -> None:
    from mindgauge.reports.stress import PAGE, line, readings, sheets
    from mindgauge.runs.sending import kept

    print(f"{result.judge} under stress: {result.benchmark}  ({result.run})")
    for table in sheets(result):
        render.sheet(table)
    print(line(result))
    for sentence in kept(result.run):
        print(sentence)
    for sentence in readings(result):
        print(f"note: {sentence}")
    print(f"Read on: {Path(result.run) / PAGE}")


# `mindgauge judges panel`.


def panel(
    ratings: Annotated[
        list[Path], typer.Argument(help="Run directories, or ratings files, as `reliability` reads them.")
    ],
    how: Annotated[
        str, typer.Option("--panel", help="Juries: mean, median, majority, minimum, weighted; several with commas.")
    ] = "mean,median,majority,minimum,weighted",
    judge: Annotated[list[str], typer.Option(help="A member; all models if none is named. May be repeated.")] = [],  # noqa: B006 - typer copies it
    quorum: Annotated[int | None, typer.Option(min=1, help="Members that need a verdict; all if not given.")] = None,
    reference: Annotated[list[str], typer.Option(help="Whom to compare with, if not people. May be repeated.")] = [],  # noqa: B006
    criterion: Annotated[list[str], typer.Option(help="Only this criterion. May be repeated.")] = [],  # noqa: B006
    scale: Annotated[list[str], typer.Option(help="1:5, or worst,…,best; or CRITERION=1:5. May be repeated.")] = [],  # noqa: B006
    columns: options.Map = [],  # noqa: B006 - how typer spells an empty list
    resamples: Annotated[int, typer.Option(min=100, help="Of the bootstrap.")] = 2000,
    seed: Annotated[int, typer.Option(help="Of the bootstrap and the folds.")] = 0,
    json: options.Json = False,
) -> None:
    """Put judges together to juries, beside their members and the best single judge; nothing is asked."""
    from mindgauge.commands.judges.panel import panel as function

    result = function(
        list(ratings), how=[name.strip() for name in how.split(",")], judges=judge, quorum=quorum, reference=reference,
        criteria=criterion, scale=options.scales(scale), columns=options.mapping(columns), resamples=resamples,
        seed=seed,
    )  # fmt: skip
    if json:
        render.as_json(result)
        return
    for jury in result.panels:
        _panel_show(jury)
    for note in result.notes:
        print(f"note: {note}")


def _panel_show(panel: "JuryCard") -> None:
    from mindgauge.reports import juries

    print(f"{panel.criterion}: {', '.join(panel.members)}")
    print(f"all have a verdict on {panel.complete} subjects, not all on {panel.incomplete}")
    for table in juries.sheets("", {panel.criterion: panel}):
        render.sheet(table)
    if panel.cards:
        folds = ", ".join(f"{judge} in {n} folds" for judge, n in panel.chosen.items())
        print(f"best single judge on these subjects: {panel.best or 'none'}; best on the other conversations: {folds or 'none'}")  # fmt: skip
    for sentence in juries.together(panel):
        print(sentence)
    if not panel.without and panel.means and len(next(iter(panel.means.values()))) < 2:
        print("one system only, so there is no ranking")
    print()


# `mindgauge judges escalation`.


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
    seed: Annotated[int, typer.Option(help="Of the bootstrap and the folds.")] = 0,
    json: options.Json = False,
) -> None:
    """Say what share of the replies people must read, in whose order, to find those that they call unsafe."""
    from mindgauge.commands.judges.escalation import escalation as function

    result = function(
        run, unsafe=unsafe, reference=reference, benchmark=benchmark, target=target, confidence=confidence,
        tolerated=tolerated, resamples=resamples, seed=seed,
    )  # fmt: skip
    if json:
        render.as_json(result)
        return
    print(f"{result.n} replies in {result.clusters} conversations, {result.n_unsafe} unsafe ({result.unsafe}, by {', '.join(result.people)})")  # fmt: skip
    print(
        f"To find {percent(result.target)} of them, {result.needed}, people must read at least {precise(result.ideal)} of the replies; "
        "those of one risk are read in any order, and figures are means over these orders"
    )
    from mindgauge.analysis.escalation.result import said_of_guarantee, said_of_passing
    from mindgauge.reports.reading_order import of_orders

    for order in (order for order in result.orders if order.kind == "jury" or order.name == result.default):
        if order.name in {"jury/mean", result.default}:
            print(said_of_guarantee(result, order))
            print(said_of_passing(result, order))
    for table in of_orders(result):
        render.sheet(table)
    for note in result.notes:
        print(f"note: {note}")


# `mindgauge judges rationales`.


rationales_app = typer.Typer(
    name="rationales",
    help="Whether judges' reasons can be checked: by machine (show), and by people on a blind form (export, import).",
    no_args_is_help=True,
    rich_markup_mode=None,
)
Run = Annotated[Path, typer.Argument(help="A run directory.")]


@rationales_app.command()
def show(run: Run, json: options.Json = False) -> None:
    """Say how far the reasons of each judge can be traced, follow from its own chain, and are supported."""
    from mindgauge.commands.judges.rationales import rationales

    result = rationales(run)
    if json:
        render.as_json(result)
        return
    from mindgauge.reports.judge_checks import sheet

    for judge in dict.fromkeys(r.judge for r in result.rationales):
        render.sheet(sheet("", judge, [r for r in result.rationales if r.judge == judge]))
    shares = ("traceable", "contradicting", "unsupported", "uncertain")
    for line in judges_compare.missing(
        (f"{r.criterion}, {r.judge}", name, getattr(r, name)) for r in result.rationales for name in shares
    ):
        print(f"Note: {line}")


@rationales_app.command()
def export(
    run: Run,
    out: Annotated[Path | None, typer.Option(help="The folder for the forms; RUN/rationales if not given.")] = None,
    people: Annotated[int, typer.Option(min=1, help="Forms: the same verdicts, each in another order.")] = 2,
    limit: Annotated[int | None, typer.Option(min=1, help="At most this many verdicts, spread evenly.")] = None,
    seed: Annotated[int, typer.Option(help="Of choice and order, together with the run's secret.")] = 0,
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


@rationales_app.command("import")
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
        ["same", "within 1", "Krippendorff's alpha", "ICC(A,1)"],
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


# `mindgauge judges`: how far a judge can be trusted, and which one.


app = typer.Typer(
    name="judges",
    help="How far judges can be trusted, and which one: methods, stress, panels, escalation, rationales.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)
app.command(cls=options.Command)(judges_compare.compare)
app.command(cls=options.Command)(stress)
app.command()(panel)
app.command()(escalation)
app.add_typer(rationales_app)
