"""`mindgauge judges`: how far a judge can be trusted, and which one. `compare`, `escalation` and `rationales` have files of their own."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from mindgauge.cli import answer, judges_compare, judges_escalation, judges_rationales, options, render, terminal
from mindgauge.cli.calling import NONE, Chosen, takes_calls
from mindgauge.records.rounding import dollars, plural
from mindgauge.runs.options import ONLY_TESTED, STRESSED, RunConfig

if TYPE_CHECKING:
    from mindgauge.analysis.jury.jury import JuryCard, Panels
    from mindgauge.analysis.stress.effects import Stress
    from mindgauge.runs.forecast import DryRun

_VERDICTS = {"biased": 0, "clean": 2}
"""Verdicts of a stress test by what is shown first; the others stand between."""
_SHARES = "Effects are the first minus the second in shares of the scale."


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
    dry_run: options.DryRun = False,
    full: options.Full = False,
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
        with terminal.short([result.judge]):
            _stress_show(result, full=full)


def _foreseen(result: "DryRun") -> None:
    rows = [[s.purpose, str(s.calls), str(s.prompt_tokens), str(s.completion_tokens)] for s in result.steps]
    render.table(f"{result.benchmark}  ({result.run})", ["for", "calls", "tokens read", "tokens written"], rows)
    cost = "unknown cost" if result.cost is None else dollars(result.cost)
    print(
        f"{result.calls} calls ({result.done} done before), about {result.prompt_tokens} + {result.completion_tokens} tokens, {cost}"
    )
    render.forecast(result.forecast)


def _stress_show(result: "Stress", *, full: bool) -> None:
    """Print what moves the judge, and of how many verdicts that is said; then the effects, those that move it first."""
    from mindgauge.reports.stress import PAGE, line, readings, sheets
    from mindgauge.reports.table_renderings import narrowed
    from mindgauge.runs.sending import kept

    tried = f"{plural(result.items, 'reply', 'replies')} in {plural(result.conversations, 'conversation')}"
    lost = f"{result.unusable:,} of {result.unusable + result.verdicts:,} verdicts could not be used"
    answer.first(f"{result.judge}: {line(result)}", f"It was tried on {tried}; {lost}.")
    tables = sheets(result)
    if full:
        for table in tables:
            render.sheet(table)
    elif tables:
        gravest = sorted(tables[0].rows, key=lambda row: _VERDICTS.get(str(row[2]), 1))
        columns = ("what", "criterion", "verdict", "effect", "n", "missing")
        short = narrowed(msgspec.structs.replace(tables[0], rows=gravest, note=_SHARES), columns)
        answer.sheet(short, sum(len(table.rows) for table in tables))
    for sentence in kept(result.run):
        print(sentence)
    render.notes(readings(result) if full else result.notes, full=full)
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
    seed: Annotated[int, typer.Option(min=0, help="Of the bootstrap and the folds.")] = 0,
    full: options.Full = False,
    json: options.Json = False,
) -> None:
    """Put judges together to juries, beside their members and the best single judge; nothing is asked."""
    from mindgauge.commands.judges.panel import panel as function

    with render.working("Putting judges together"):
        result = function(
            list(ratings), how=[name.strip() for name in how.split(",")], judges=judge, quorum=quorum, reference=reference,
            criteria=criterion, scale=options.scales(scale), columns=options.mapping(columns), resamples=resamples,
            seed=seed,
        )  # fmt: skip
    if json:
        render.as_json(result)
        return
    with terminal.short(member for jury in result.panels for member in jury.members):
        _panel_first(result)
        if full:
            for jury in result.panels:
                _panel_in_full(jury)
        render.notes(result.notes, full=full)


def _panel_first(result: "Panels") -> None:
    """Print what the judges are together, and whether their jury is nearer to people than one of them; then who agrees how far."""
    from mindgauge.reports import juries
    from mindgauge.reports.table_renderings import narrowed

    panels = {panel.criterion: panel for panel in result.panels}
    sentences = [sentence for name, panel in panels.items() for sentence in juries.said(name, panel)]
    people_first = [sentence for sentence in sentences if sentence.startswith("Beside people")]
    answer.first(*[*sentences[:1], *people_first, *sentences[1:]][:2])
    tables = juries.sheets("", panels)
    if tables:
        short = narrowed(msgspec.structs.replace(tables[0], note=""))
        answer.sheet(short, sum(len(table.rows) for table in tables))


def _panel_in_full(panel: "JuryCard") -> None:
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


# `mindgauge judges`: how far a judge can be trusted, and which one.


app = options.group(
    "How far judges can be trusted, and which one: methods, stress, panels, escalation, rationales.", "judges"
)
app.command(cls=options.Command)(judges_compare.compare)
app.command(cls=options.Command)(stress)
app.command(cls=options.Command)(panel)
app.command(cls=options.Command)(judges_escalation.escalation)
app.add_typer(judges_rationales.app)
