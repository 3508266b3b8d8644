"""`mindgauge judges compare`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mindgauge.cli import entry_test, options, render
from mindgauge.cli.calling import NONE, Chosen, takes_calls
from mindgauge.cli.judges import measures
from mindgauge.records.rounding import decimal, dollars, interval, p_value, percent
from mindgauge.runs.options import COMPARED, ONLY_TESTED, RunConfig

if TYPE_CHECKING:
    from mindgauge.analysis.judging.result import JudgeAgreement, JudgeComparison, JudgeDifference
    from mindgauge.analysis.reliability.card import Bound

_SHOWN = ("accuracy", "f1", "f1_yes", "kappa", "kappa_quadratic", "pearson", "spearman", "kendall")
_SYSTEMS = ("system_pearson", "system_spearman", "system_kendall")


@takes_calls(
    RunConfig(judging=COMPARED),
    without=(*ONLY_TESTED, "ask", "shots", "shot_seed", "engine", "actors", "batch", "wait"),
)
def compare(
    replies: Annotated[
        Path,
        typer.Option(
            help="A run directory, or a CSV, JSONL or Parquet file of replies with people's labels as label.CRITERION or label.PERSON.CRITERION."
        ),
    ],
    judge: options.Judges,
    name: options.NameIfAny = None,
    rubric: options.Rubric = None,
    reference: Annotated[
        list[str], typer.Option(help="Raters of the run to compare with; people if not given. May be repeated.")
    ] = [],  # noqa: B006
    out: options.Out = None,
    map_: options.Map = [],  # noqa: B006 - how typer spells an empty list
    limit: Annotated[int | None, typer.Option(min=1, help="At most this many replies, whole dialogues.")] = None,
    chosen: Chosen = NONE,
    dry_run: options.DryRun = False,
    resamples: Annotated[int, typer.Option(min=100, help="Of conversations.")] = 2000,
    seed: Annotated[int, typer.Option(help="Of the resampling.")] = 0,
    json: options.Json = False,
) -> None:
    """Judge the same replies by several models and methods: agreement with people, stability, cost, real differences."""
    from mindgauge.commands.judges.compare import compare as function
    from mindgauge.runs.forecast import DryRun

    with render.progress() as progress:
        comparison = function(
            name, replies=replies, judge=judge, rubric=rubric, reference=reference, out=out, columns=options.mapping(map_),
            limit=limit, dry_run=dry_run, resamples=resamples, seed=seed, progress=progress, notice=render.notice,
            command=render.command(), **chosen,
        )  # fmt: skip
    if json:
        render.as_json(comparison)
    elif isinstance(comparison, DryRun):
        render.foreseen(comparison)
    else:
        _show(comparison)
        entry_test.show(comparison.qualifications)


def _show(comparison: "JudgeComparison") -> None:
    against = f"against {comparison.reference}" if comparison.reference else "among themselves"
    with_reference = len({agreement.reference for agreement in comparison.agreements}) > 1
    render.in_parts(
        f"{comparison.benchmark}: judges {against}  ({comparison.run})",
        ["criterion", "judge", *(["against"] if with_reference else [])], ["n", "missing", *_SHOWN],
        [
            [agreement.criterion, agreement.judge, *([agreement.reference] if with_reference else []), str(agreement.n), str(agreement.missing), *_cells(agreement, _SHOWN)]
            for agreement in comparison.agreements
        ],
    )  # fmt: skip
    rows = [
        [agreement.criterion, agreement.judge, str(agreement.systems), *_cells(agreement, _SYSTEMS)]
        for agreement in comparison.agreements
        if any(name in agreement.estimates and agreement.estimates[name].value is not None for name in _SYSTEMS)
    ]
    if rows:
        render.in_parts(
            "Systems' means", ["criterion", "judge"], ["systems", *(n.partition("_")[2] for n in _SYSTEMS)], rows
        )
    elif comparison.agreements:
        notes = {
            agreement.estimates[n].note
            for agreement in comparison.agreements
            for n in _SYSTEMS
            if n in agreement.estimates
        }
        print(f"Correlations of systems' means: {'; '.join(sorted(notes)) or 'no criterion has an order'}")
    names = (*_SHOWN, *_SYSTEMS) if rows else _SHOWN
    for line in measures.missing(
        (f"{agreement.criterion}, {agreement.judge}", name, agreement.estimates[name])
        for agreement in comparison.agreements
        for name in names
        if name in agreement.estimates
    ):
        print(f"Note: {line}")
    unrated = [
        f"{agreement.criterion}, {agreement.judge}" for agreement in comparison.agreements if not agreement.estimates
    ]
    if unrated:
        print(f"Note: no reply has a value of both, so nothing is estimated: {'; '.join(unrated)}")
    render.table(
        "Asked again",
        ["judge", "runs", "replies", "incomplete", "identical verdicts", "flips"],
        [
            [
                s.judge,
                str(s.runs),
                str(s.n),
                str(s.incomplete),
                measures.bound(s.identical, share=True),
                _flips(s.flips),
            ]
            for s in comparison.stability
        ],
    )
    render.table(
        "What it took",
        ["judge", "verdicts", "calls", "$ per 1,000", "s per 1,000", "tokens in", "of them cached", "tokens out"],
        [
            [
                t.judge, str(t.verdicts), str(t.calls), dollars(t.dollars),
                decimal(t.seconds), *(decimal(tokens, 0) for tokens in (t.prompt_tokens, t.cached_tokens, t.completion_tokens)),
            ]
            for t in comparison.taken
        ],
    )  # fmt: skip
    _differences(comparison.differences)
    for note in comparison.notes:
        print(f"Note: {note}")


def _differences(differences: "list[JudgeDifference]") -> None:
    real = [difference for difference in differences if difference.real]
    if real:
        render.table(
            "Differences that are real (Holm over all pairs and criteria of a measure)",
            ["measure", "criterion", "better", "than", "by", "95 % interval", "p adjusted"],
            [
                [
                    difference.measure, difference.criterion, difference.better, difference.second if difference.better == difference.first else difference.first,
                    decimal(abs(difference.value or 0)), interval(difference.low, difference.high),
                    p_value(difference.adjusted),
                ]
                for difference in real
            ],
        )  # fmt: skip
    if differences:
        open_ = sum(difference.real is None for difference in differences)
        print(f"{len(real)} of {len(differences)} differences are real; {open_} cannot be tested.")


def _cells(agreement: "JudgeAgreement", names: tuple[str, ...]) -> list[str]:
    return [measures.bound(agreement.estimates.get(name)) for name in names]


def _flips(flips: "dict[str, Bound]") -> str:
    return ", ".join(f"{name} {percent(bound.value)}" for name, bound in flips.items())
