"""`mindgauge audit`."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mindgauge.cli import answer, options, render
from mindgauge.records.english import raised
from mindgauge.records.errors import UsageError
from mindgauge.records.rounding import plural

if TYPE_CHECKING:
    from mindgauge.analysis.audit.view import Finding
    from mindgauge.commands.audit import Audit

_FAILING = {"error": ("error",), "warning": ("error", "warning")}
_PLACES = 3
"""Places shown for each finding; --json has more."""


@options.takes_shape
def audit(
    sources: Annotated[
        list[str],
        typer.Argument(
            help="A benchmark (with --data), a run, ratings files, or any files and folders of tables, also in zips."
        ),
    ],
    data: Annotated[Path | None, typer.Option(help="A copy of the authors' released files, whole or in part.")] = None,
    scale: Annotated[
        list[str],
        typer.Option(help="1:5, or the options (yes,no), for all criteria; or CRITERION=1:5. May be repeated."),
    ] = [],  # noqa: B006 - typer copies it
    shape: options.Shape = {},  # noqa: B006 - stands for several options
    map_: options.Map = [],  # noqa: B006 - how typer spells an empty list
    claims: Annotated[
        Path | None, typer.Option(help="Hold the claims of a file (claims.toml) against the ratings; docs/audit.md.")
    ] = None,
    fail_on: Annotated[str, typer.Option(help="error or warning: exit with 1 if there are such findings.")] = "",
    full: options.Full = False,
    json: options.Json = False,
) -> int:
    """Find what is wrong with data: each finding with its severity, count, places, and what it does to results."""
    from mindgauge.commands.audit import audit as function

    if fail_on and fail_on not in _FAILING:
        raise UsageError(f"--fail-on {fail_on!r}: write error or warning")
    with render.working("Looking"):
        result = function(
            sources[0] if len(sources) == 1 else sources,
            data=data,
            scale=options.scales(scale),
            columns=options.mapping(map_),
            layout=options.layout(shape),
            claims=claims,
        )
    code = int(any(result.counts[severity] for severity in _FAILING.get(fail_on, ())))
    if json:
        render.as_json(result)
        return code
    _show(result, full=full)
    return code


def _show(result: "Audit", *, full: bool) -> None:
    """Print how much was found and the gravest of it, then each finding; findings of one kind together without `full`."""
    summary = ", ".join(plural(n, severity) for severity, n in result.counts.items() if n) or "nothing found"
    gravest = next(iter(result.findings), None)
    answer.first(
        f"{raised(summary)}; looked at {result.texts:,} texts and {result.ratings:,} ratings.",
        f"{raised(gravest.severity.value)}: {gravest.message}; {gravest.effect}." if gravest is not None else "",
    )
    findings = result.findings if full else list({f.id: f for f in reversed(result.findings)}.values())[::-1]
    listed = findings if full else findings[: answer.ROWS]
    alike = Counter(finding.id for finding in result.findings)
    with_subject = len({finding.subject for finding in result.findings}) > 1
    rows = [
        [f.severity, f.id, f"{f.count:,}", *([f.subject] if with_subject else []), _said(f, 1 if full else alike[f.id], full=full), *([f.effect] if full else [])]
        for f in listed
    ]  # fmt: skip
    if rows:
        columns = [
            "severity",
            "finding",
            "count",
            *(["in"] if with_subject else []),
            "what and where",
            *(["what it does to results"] if full else []),
        ]
        render.table(result.source, columns, rows)
        render.more(len(result.findings) - len(listed))
    if result.claims:
        columns = ["verdict", "claim", "what the ratings say"]
        render.table(
            "Claims",
            columns,
            [
                [c.verdict, c.claim, "\n".join(sentence.removeprefix(f"{c.claim}: ") for sentence in c.sentences)]
                for c in result.claims
            ],
        )


def _said(finding: "Finding", alike: int, *, full: bool) -> str:
    """Write what a finding says: with its places where all is asked for, else with how many say the like."""
    if full:
        return "\n  ".join([finding.message, *finding.where[:_PLACES]])
    return f"{finding.message}{f' (and {alike - 1} more like it)' if alike > 1 else ''}"
