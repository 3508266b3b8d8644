"""`mindgauge judges compare`, and estimates with their intervals, as other tables of judges have them, too."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mindgauge.cli import answer, entry_test, options, render, terminal
from mindgauge.cli.calling import NONE, Chosen, takes_calls
from mindgauge.records.english import words
from mindgauge.records.rounding import bounded, plural
from mindgauge.runs.options import COMPARED, ONLY_TESTED, RunConfig
from mindgauge.stats.level import named as with_level

if TYPE_CHECKING:
    from mindgauge.analysis.judge_comparison.compare import JudgeComparison
    from mindgauge.analysis.reliability.card import Bound


@takes_calls(
    RunConfig(judging=COMPARED),
    without=(*ONLY_TESTED, "ask", "shots", "shot_seed", "engine", "actors", "batch", "wait"),
)
def compare(
    replies: Annotated[
        Path,
        typer.Option(
            help=f"A run directory, or a table of replies ({options.TABLE}) with people's labels as label.CRITERION or label.PERSON.CRITERION."
        ),
    ],
    judge: options.Judges,
    name: options.NameIfAny = None,
    rubric: options.Rubric = None,
    instrument: options.Instrument = None,
    reference: Annotated[
        list[str], typer.Option(help="Raters of the run to compare with; people if not given. May be repeated.")
    ] = [],  # noqa: B006
    out: options.Out = None,
    map_: options.Map = [],  # noqa: B006 - how typer spells an empty list
    limit: Annotated[int | None, typer.Option(min=1, help="At most this many replies, whole dialogues.")] = None,
    chosen: Chosen = NONE,
    dry_run: options.DryRun = False,
    resamples: Annotated[int, typer.Option(min=100, help="Of conversations.")] = 2000,
    seed: Annotated[int, typer.Option(min=0, help="Of the resampling.")] = 0,
    full: options.Full = False,
    json: options.Json = False,
) -> None:
    """Judge the same replies by several models and methods: agreement with people, stability, cost, real differences."""
    from mindgauge.commands.judges.compare import compare as function
    from mindgauge.runs.forecast import DryRun

    with render.progress() as progress:
        comparison = function(
            name, replies=replies, judge=judge, rubric=rubric, instrument=instrument, reference=reference, out=out, columns=options.mapping(map_),
            limit=limit, dry_run=dry_run, resamples=resamples, seed=seed, progress=progress, notice=render.notice,
            command=render.command(), **chosen,
        )  # fmt: skip
    if json:
        render.as_json(comparison)
    elif isinstance(comparison, DryRun):
        render.foreseen(comparison)
    else:
        with terminal.short([*(entry.judge for entry in comparison.agreements), *judge]):
            _first(comparison)
            if full:
                _in_full(comparison)
                entry_test.show(comparison.qualifications)
            else:
                _at_a_glance(comparison)
        answer.then("report", comparison.run)


def _first(comparison: "JudgeComparison") -> None:
    """Print who agrees most with people, and how many differences between judges are real."""
    from mindgauge.analysis.judge_comparison.compare import MAIN

    agreements = [
        (estimate.value, entry, name, estimate)
        for entry in comparison.agreements
        if (name := next((name for name in MAIN if name in entry.estimates), ""))
        and (estimate := entry.estimates[name]).value is not None
    ]
    against = comparison.reference or "the other judges"
    if not agreements:
        answer.first("No reply has a value of both, so nothing is estimated.")
        return
    _, best, name, estimate = max(agreements, key=lambda agreement: agreement[0] or 0.0)
    answer.first(
        f"{best.judge} agrees most with {against}, on {words(best.criterion)}: {with_level(name) or name.replace('_', ' ')}: {bound(estimate)}, n {best.n:,}, {best.missing:,} missing.",
        _differing(comparison),
    )


def _differing(comparison: "JudgeComparison") -> str:
    if not comparison.differences:
        return ""
    real = sum(difference.real is True for difference in comparison.differences)
    unknown = sum(difference.real is None for difference in comparison.differences)
    return f"{real} of {plural(len(comparison.differences), 'difference')} are real; {unknown} cannot be tested."


def _at_a_glance(comparison: "JudgeComparison") -> None:
    from mindgauge.reports.judge_tables import sheets
    from mindgauge.reports.table_renderings import narrowed

    tables = sheets(comparison)
    if tables:
        answer.sheet(narrowed(tables[0], _BRIEF), sum(len(table.rows) for table in tables))
    render.notes(comparison.notes, full=False)


def _in_full(comparison: "JudgeComparison") -> None:
    from mindgauge.reports.judge_tables import OF_SYSTEMS, SINGLE, has_systems, sheets

    for table in sheets(comparison):
        render.sheet(table)
    systems = has_systems(comparison)
    if comparison.agreements and not systems:
        notes = {a.estimates[n].note for a in comparison.agreements for n in OF_SYSTEMS if n in a.estimates}
        print(f"Correlations of systems' means: {'; '.join(sorted(notes)) or 'no criterion has an order'}")
    for line in missing(
        (f"{agreement.criterion}, {agreement.judge}", name, agreement.estimates[name])
        for agreement in comparison.agreements
        for name in (*SINGLE, *(OF_SYSTEMS if systems else ()))
        if name in agreement.estimates
    ):
        print(f"Note: {line}")
    unrated = [f"{a.criterion}, {a.judge}" for a in comparison.agreements if not a.estimates]
    if unrated:
        print(f"Note: no reply has a value of both, so nothing is estimated: {'; '.join(unrated)}")
    render.notes(comparison.notes, full=True)


# Estimates with their intervals, and why an estimate is not there.


_NAMED = 3
_BRIEF = (
    "criterion",
    "judge",
    "against",
    "n",
    "missing",
    with_level("kappa_quadratic"),
    with_level("kappa"),
    "accuracy",
)


def bound(estimate: "Bound | None", *, share: bool = False) -> str:
    """Write an estimate as `0.50 [0.40, 0.60]`: a dash where it is not defined, nothing where it is not asked."""
    if estimate is None:
        return ""
    return bounded(estimate.value, estimate.low, estimate.high, "share" if share else "level")


def missing(estimates: Iterable[tuple[str, str, "Bound"]]) -> list[str]:
    """Say why estimates or their intervals are not there, each reason once.

    Args:
        estimates: of whom, the measure, and what was found.
    """
    reasons: dict[str, dict[str, list[str]]] = {}
    for owner, measure, estimate in estimates:
        if estimate.note and (estimate.value is None or estimate.low is None):
            reasons.setdefault(estimate.note, {}).setdefault(owner, []).append(measure)
    return [f"{reason}: {_listed(by_owner)}" for reason, by_owner in reasons.items()]


def _listed(by_owner: dict[str, list[str]]) -> str:
    parts = [f"{owner} ({', '.join(measures)})" for owner, measures in list(by_owner.items())[:_NAMED]]
    return "; ".join(parts) + (f"; and {len(by_owner) - _NAMED} more" if len(by_owner) > _NAMED else "")
