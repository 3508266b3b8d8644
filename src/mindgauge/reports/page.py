"""One report for one or several runs: `report.html` for people, `report.json` for machines, `report.md` for a pull request."""

from __future__ import annotations

import contextlib
import html
import os
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from mindgauge.analysis.score import Scores
from mindgauge.records.english import named
from mindgauge.records.errors import MindgaugeError, UsageError
from mindgauge.records.files import bounds, private
from mindgauge.records.rounding import plural
from mindgauge.records.tabular import Tabular
from mindgauge.reports import (
    answer_section,
    paired,
    provenance,
    render,
    summary,
    system_findings,
    texts,
    trust,
    weak,
    worst,
    wrong,
)
from mindgauge.reports import runs as opened
from mindgauge.reports.profile import lead
from mindgauge.reports.profile import section as suite_section
from mindgauge.reports.sections import Report, many
from mindgauge.reports.standing import SuppressedScore, withheld
from mindgauge.store.manifest import now, software

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from mindgauge.reports.profile.records import ProfileSection
    from mindgauge.reports.runs import OpenRun


class _Made(msgspec.Struct):
    """What of a report's JSON says whose it is."""

    subtitle: str
    made: str
    software: str


class ReportFiles(Tabular, msgspec.Struct, frozen=True):
    """Where a report was written. `path` is the page."""

    path: Path
    json: Path
    markdown: Path
    scores: list[Scores]
    withheld: list[SuppressedScore]

    @property
    def table(self) -> pl.DataFrame:
        """Every score in the report, one row each, with its run."""
        import polars

        return polars.concat(
            [s.table.select(polars.lit(s.run).alias("run"), polars.all()) for s in self.scores], how="diagonal_relaxed"
        )

    def summary(self) -> list[str]:
        """Say what is reported, what is withheld, and where the report lies."""
        away = [f"{entry.rater} on {entry.criterion}" for entry in self.withheld if not entry.shown]
        return [
            f"Report of {named([scores.run for scores in self.scores])}: {named(list(dict.fromkeys(scores.benchmark for scores in self.scores)))}",
            *([f"Withheld, since they agree too little with people: {named(away)}"] if away else []),
            f"{self.path}",
            f"for machines {self.json.name}, for a pull request {self.markdown.name}",
        ]

    def _repr_html_(self) -> str:
        return f'<a href="{html.escape(self.path.as_posix())}">{html.escape(str(self.path))}</a>'


def write(
    folders: Sequence[Path], out: Path | None = None, *, show_unreliable: bool = False, show_texts: bool = False
) -> ReportFiles:
    """Write the report of some runs.

    Args:
        folders: the run directories.
        out: the page (`….html`) or the folder to write to; if not given, the run's folder, or the one that all runs lie in.
        show_unreliable: show, marked, the scores of judges that agree too little with people.
        show_texts: show texts that a benchmark's authors released under restrictions, too.

    Raises:
        UsageError: no run is named, there is none in a folder, or a file of somebody else would be replaced.
        DataError: a run's ratings cannot be compared.
        MindgaugeError: the files cannot be written.
    """
    report = read(folders, show_unreliable=show_unreliable, show_texts=show_texts)
    page = _page(folders, out)
    files = ReportFiles(page, page.with_suffix(".json"), page.with_suffix(".md"), report.scores, report.withheld)
    contents = {
        files.path: render.page(report, files.json.name),
        files.json: msgspec.json.format(msgspec.json.encode(report), indent=1).decode(),
        files.markdown: summary.summary(report, files.path.name),
    }
    for path in (files.json, files.markdown):
        _refuse_strangers(path)
    try:
        page.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        for path, content in contents.items():
            private.write(path, content)
    except OSError as error:
        raise MindgaugeError(
            f"{page.parent}: cannot write the report ({error.strerror}); choose another place with --out"
        ) from error
    return files


def _refuse_strangers(path: Path) -> None:
    """Refuse to replace a file that nobody named and no report left there.

    Raises:
        UsageError: there is one.
    """
    if not path.exists() or _ours(path):
        return
    raise UsageError(
        f"{path}: something that no report left there; the report would write a file of this name beside its page: "
        "choose another --out"
    )


def _ours(path: Path) -> bool:
    """Say whether a report wrote this file: its JSON says which software made it, its Markdown ends with a mark."""
    if path.is_symlink() or not path.is_file():
        return False
    try:
        content = bounds.content(path)
        if path.suffix == ".md":
            return content.rstrip().endswith(summary.MARK.encode())
        return msgspec.json.decode(content, type=_Made).software.startswith("mindgauge ")
    except (OSError, ValueError, RecursionError):
        return False


def _page(folders: Sequence[Path], out: Path | None) -> Path:
    if out is not None:
        return out if out.suffix == ".html" else out / "report.html"
    if len(folders) == 1:
        return folders[0] / "report.html"
    return Path(os.path.commonpath([folder.resolve() for folder in folders])) / "report.html"


def read(folders: Sequence[Path], *, show_unreliable: bool = False, show_texts: bool = False) -> Report:
    """Gather everything a report says about some runs.

    Raises:
        UsageError: no run is named, one is named twice, or there is none in a folder.
        DataError: a run's ratings cannot be compared.
    """
    if not folders:
        raise UsageError("name at least one run directory")
    if len({folder.resolve() for folder in folders}) < len(folders):
        raise UsageError("a run directory is named twice")
    with contextlib.ExitStack() as stack:
        runs = []
        for number, folder in enumerate(folders):
            run = opened.read(folder, number, show_unreliable=show_unreliable, show_texts=show_texts)
            stack.enter_context(run.store)
            runs.append(run)
        systems = opened.systems(runs)
        reading = worst.to_read(runs, systems)
        on_page = {item.anchor for chosen in reading for item in chosen.items}
        weaknesses = weak.weak(runs, systems, on_page)
        elsewhere = on_page | {item.anchor for item in weaknesses.cited}
        suite = suite_section.section(runs, systems, weaknesses.confusions, elsewhere)
        unchecked = answer_section.unchecked(runs)
        answers = answer_section.answers(runs, systems, apart=suite is not None)
        trusted = trust.trust(runs, systems, on_page)  # before comparisons, which let go of the ratings at hand
        between = paired.paired(runs, systems)
        report = Report(
            title=_title([system.label for system in systems]),
            subtitle=_subtitle(runs, suite),
            made=now(),
            software=software(),
            systems=systems,
            unfit=system_findings.unfit(runs),
            people=answer_section.people_first(runs, systems),
            lead=lead.lead(suite, runs, unchecked) if suite else [],
            answers=answers,
            tasks=[],
            caveats=[
                *system_findings.meanings([section for run in runs for section in run.sections]),
                *answer_section.shared(answers),
                *answer_section.caveats(runs),
                *answer_section.kept(runs),
                *([unchecked] if unchecked and not suite else []),
            ],
            not_shown=lead.not_shown(suite) if suite else answer_section.not_shown(runs),
            profile=suite,
            reading=reading,
            hidden=texts.hidden(runs),
            weak=weaknesses,
            trust=trusted,
            wrong=wrong.wrong(runs, systems),
            paired=between,
            compared=paired.side_by_side(runs, systems, paired=bool(between and between.contrasts)),
            how=provenance.how(runs),
            scores=[run.scores for run in runs],
            withheld=[suppressed for run in runs for suppressed in withheld(run.standings)],
        )
        if suite is not None:
            report.tasks = answer_section.by_task(
                runs, systems, report.titles, lead.findings(suite), lead.headlines(suite, runs)
            )
        return report


def _subtitle(runs: Sequence[OpenRun], suite: ProfileSection | None) -> str:
    """Name the benchmarks; of many, the tasks of a suite together."""
    titles = {section.benchmark.name: section.benchmark.card.title for run in runs for section in run.sections}
    if suite is None or not many(titles):
        return "; ".join(dict.fromkeys(titles.values()))
    tasks = {score.benchmark for score in suite.scores.tasks}
    rest = [title for name, title in titles.items() if name not in tasks]
    return "; ".join(dict.fromkeys([f"{suite.title}, {plural(len(tasks), 'task')}", *rest]))


def _title(labels: Sequence[str]) -> str:
    if not labels:
        return "Nothing measured yet"
    return (
        labels[0]
        if len(labels) == 1
        else f"{', '.join(labels[:-1])} and {labels[-1]}"
        if len(labels) < 4
        else f"{len(labels)} models"
    )
