"""One report for one or several runs: `report.html` for people, `report.json` for machines, `report.md` for a pull request."""

from __future__ import annotations

import contextlib
import html
import os
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import msgspec
from msgspec import structs

from mindgauge.analysis.score import Scores
from mindgauge.records.command_result import Tabular
from mindgauge.records.english import named
from mindgauge.records.errors import UsageError
from mindgauge.records.files import bounds, private
from mindgauge.records.rounding import plural
from mindgauge.reports import (
    answer_section,
    clinical,
    dialogues,
    drawn_tables,
    evaluation_card,
    fidelity,
    first_screen,
    markdown_summary,
    missing_verdicts,
    paired,
    provenance,
    read_first,
    render,
    system_findings,
    texts,
    trust,
    weak_categories,
)
from mindgauge.reports import runs as opened
from mindgauge.reports.language import memory, of_report
from mindgauge.reports.language.spoken import speaking
from mindgauge.reports.profile import lead
from mindgauge.reports.profile import section as suite_section
from mindgauge.reports.reader import folder as reader_folder
from mindgauge.reports.reliability_gate import SuppressedScore, withheld
from mindgauge.reports.sections import Report, many
from mindgauge.store.manifest import now, software

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import polars as pl

    from mindgauge.reports.content import System
    from mindgauge.reports.evaluation_card import OwnerFacts
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
    reader: Path | None = None
    """The reader's folder, if one was asked for."""
    english: list[str] = []
    """Of a translated report, the sentences that stayed English."""
    card: Path | None = None
    """The evaluation card's page, if one was asked for."""

    @property
    def table(self) -> pl.DataFrame:
        """Every score in the report, one row each, with its run."""
        import polars

        return polars.concat(
            [s.table.select(polars.lit(s.run).alias("run"), polars.all()) for s in self.scores], how="diagonal_relaxed"
        )

    def summary(self) -> list[str]:
        """Say what is reported, what is withheld, and where the report lies."""
        hidden = [entry for entry in self.withheld if not entry.shown]
        away = [f"{entry.rater} on {entry.criterion}" for entry in hidden if entry.level is None]
        worst = [f"{entry.rater} on {entry.criterion} {entry.level}" for entry in hidden if entry.level is not None]
        return [
            f"Report of {named([scores.run for scores in self.scores])}: {named(list(dict.fromkeys(scores.benchmark for scores in self.scores)))}",
            *([f"Withheld, since they agree too little with people: {named(away)}"] if away else []),
            *([f"Not shown, since the judge does not use that level as people do: {named(worst)}"] if worst else []),
            f"{self.path}",
            f"for machines {self.json.name}, for a pull request {self.markdown.name}",
            *([f"every reply in {self.reader.name}/index.html"] if self.reader is not None else []),
            *([f"not translated: {plural(len(self.english), 'sentence')}"] if self.english else []),
            *([f"the evaluation card in {self.card.name}"] if self.card is not None else []),
        ]

    def _repr_html_(self) -> str:
        return f'<a href="{html.escape(self.path.as_posix())}">{html.escape(str(self.path))}</a>'


def write(
    folders: Sequence[Path],
    out: Path | None = None,
    *,
    show_unreliable: bool = False,
    show_texts: bool = False,
    reader: bool = False,
    language: str = memory.ENGLISH,
    card: OwnerFacts | None = None,
    unfinished: Mapping[Path, dict[str, list[str]]] | None = None,
) -> ReportFiles:
    """Write the report of some runs.

    Args:
        folders: the run directories.
        out: the page (`….html`) or the folder to write to; if not given, the run's folder, or the one that all runs lie in.
        show_unreliable: show, marked, the scores of judges that agree too little with people.
        show_texts: show texts that a benchmark's authors released under restrictions, too.
        reader: write the reader beside the page, too.
        language: of the page and the summary: `en` or `zh`; the JSON file has the same data in either.
        card: write the evaluation card beside the page, too, with what its owner states; none if not given.
        unfinished: by run, what the command that made it has not asked for yet.

    Raises:
        UsageError: no run is named, there is none in a folder, no report is written in this language, or a file of somebody else would be replaced.
        DataError: a run's ratings cannot be compared.
        MindgaugeError: the files cannot be written.
    """
    memory.known(language)
    beside = _page(folders, out) if reader and folders else None
    if beside is not None:
        reader_folder.refuse_strangers(reader_folder.place(beside))
    with _opened(folders, unfinished or {}, show_unreliable=show_unreliable, show_texts=show_texts) as (runs, systems):
        page = _page(folders, out)
        report = _gathered(runs, systems, beside)
        report.language = language
        files = ReportFiles(
            page,
            page.with_suffix(".json"),
            page.with_suffix(".md"),
            report.scores,
            report.withheld,
            reader_folder.place(page) if reader else None,
            card=evaluation_card.place(page) if card is not None else None,
        )
        translator = of_report.translator(report)
        contents = {
            files.path: render.page(report, files.json.name, translator),
            files.json: msgspec.json.format(msgspec.json.encode(report), indent=1).decode(),
        }
        with speaking(translator):
            contents[files.markdown] = markdown_summary.summary(report, files.path.name)
        if translator is not None:
            files = structs.replace(files, english=translator.english)
        if card is not None and files.card is not None:
            tasks = {section.benchmark.name: section.benchmark for run in runs for section in run.sections}
            governance = evaluation_card.card(report, quote(page.name), card, tasks)
            contents |= evaluation_card.contents(governance, files.card)
        for path in contents:
            if path != files.path:
                _refuse_strangers(path)
        with contextlib.ExitStack() as places:
            for path, content in contents.items():
                file = places.enter_context(private.written(path, alone=True))
                file.write(content.encode(errors="replace"))
                file.flush()
            if files.reader is not None:
                reader_folder.write(files.reader, page, report.title, runs, systems)
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
    """Say whether a report wrote this file: its JSON says which software made it, its Markdown ends with a mark, as a card's page does."""
    if path.is_symlink() or not path.is_file():
        return False
    try:
        content = bounds.content(path)
        if path.suffix != ".json":
            return content.rstrip().endswith((markdown_summary.MARK.encode(), evaluation_card.MARK.encode()))
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
    with _opened(folders, {}, show_unreliable=show_unreliable, show_texts=show_texts) as (runs, systems):
        return _gathered(runs, systems, None)


@contextlib.contextmanager
def _opened(
    folders: Sequence[Path], unfinished: Mapping[Path, dict[str, list[str]]], *, show_unreliable: bool, show_texts: bool
) -> Iterator[tuple[list[OpenRun], list[System]]]:
    """Open some runs for as long as something is said of them, and name what they measured.

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
            run.scores = structs.replace(run.scores, unfinished=unfinished.get(folder, {}))
            stack.enter_context(run.store)
            runs.append(run)
        yield runs, opened.systems(runs)


def _gathered(runs: Sequence[OpenRun], systems: list[System], beside: Path | None) -> Report:
    """Gather everything a report says about open runs; `beside` is its page where a reader is written next to it."""
    reading = read_first.to_read(runs, systems)
    on_page = {item.anchor for chosen in reading for item in chosen.items}
    weaknesses = weak_categories.weak(runs, systems, on_page)
    elsewhere = on_page | {item.anchor for item in weaknesses.cited}
    suite = suite_section.section(runs, systems, weaknesses.confusions, elsewhere)
    unchecked = answer_section.unchecked(runs)
    answers = answer_section.answers(runs, systems, apart=suite is not None)
    trusted = trust.trust(runs, systems, on_page)  # before comparisons, which let go of the ratings at hand
    between = paired.paired(runs, systems)
    suite_found = lead.first(suite, runs, unchecked) if suite else []
    screen = first_screen.first_screen(runs, systems, reading, between, suite_found)
    report = Report(
        title=title([system.label for system in systems]),
        subtitle=_subtitle(runs, suite),
        made=now(),
        software=software(),
        names=opened.names(runs),
        systems=systems,
        first=screen,
        fidelity=fidelity.section([(run.folder, run.scores.fidelity) for run in runs]),
        unfit=system_findings.unfit(runs),
        people=[
            *answer_section.people_first(runs, systems),
            *drawn_tables.sentences([e for run in runs for e in run.scores.frames if e.benchmark in _closed(run)]),
        ],
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
        clinical=clinical.answers(runs, systems, reading, screen.statements[-1]),
        hidden=texts.hidden(runs),
        dialogues=dialogues.dialogues(runs, systems),
        weak=weaknesses,
        trust=trusted,
        wrong=missing_verdicts.wrong(runs, systems),
        paired=between,
        compared_title="Compared" if len(systems) > 1 else "Beside answers that read nothing",
        compared=paired.side_by_side(runs, systems, paired=bool(between and between.contrasts)),
        how=provenance.how(runs),
        scores=[run.scores for run in runs],
        drawn=drawn_tables.of_frames([entry for run in runs for entry in run.scores.frames]),
        withheld=[suppressed for run in runs for suppressed in withheld(str(run.folder), run.standings)],
    )
    if suite is not None:
        report.tasks = answer_section.by_task(
            runs, systems, report.titles, lead.findings(suite), lead.headlines(suite, runs)
        )
    if beside is not None:
        report.reader = f"{quote(reader_folder.place(beside).name)}/index.html"
    return report


def _closed(run: OpenRun) -> set[str]:
    """Return the benchmarks about no reply, of which nothing else says what people found."""
    return {section.benchmark.name for section in run.sections if section.benchmark.closed}


def _subtitle(runs: Sequence[OpenRun], suite: ProfileSection | None) -> str:
    """Name the benchmarks; of many, the tasks of a suite together."""
    titles = {section.benchmark.name: section.benchmark.card.title for run in runs for section in run.sections}
    if suite is None or not many(titles):
        return "; ".join(dict.fromkeys(titles.values()))
    tasks = {score.benchmark for score in suite.scores.tasks}
    rest = [title for name, title in titles.items() if name not in tasks]
    return "; ".join(dict.fromkeys([f"{suite.title}, {plural(len(tasks), 'task')}", *rest]))


def title(labels: Sequence[str]) -> str:
    """Name a page after the models that it is about."""
    if not labels:
        return "Nothing measured yet"
    return (
        labels[0]
        if len(labels) == 1
        else f"{', '.join(labels[:-1])} and {labels[-1]}"
        if len(labels) < 4
        else f"{len(labels)} models"
    )
