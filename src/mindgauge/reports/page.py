"""One report for one or several runs: `report.html` for people, `report.json` for machines, `report.md` for a pull request."""

from __future__ import annotations

import contextlib
import html
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import msgspec
import polars as pl
from msgspec import structs

from mindgauge.analysis import stock
from mindgauge.analysis.composites import MISAPPLIED
from mindgauge.analysis.score import Scores
from mindgauge.records import Status
from mindgauge.records.command_result import Tabular
from mindgauge.records.english import ended, named, words
from mindgauge.records.errors import UsageError
from mindgauge.records.files import bounds, private
from mindgauge.records.rounding import count, decimal, percent, plural
from mindgauge.reports import (
    clinical,
    compared,
    content,
    dialogues,
    evaluation_card,
    fidelity,
    first_screen,
    markdown_summary,
    provenance,
    read_first,
    render,
    score_tables,
    system_findings,
    texts,
    trust,
    weak_categories,
)
from mindgauge.reports import runs as opened
from mindgauge.reports.compared import measure_name
from mindgauge.reports.content import Column, ReportTable, heads
from mindgauge.reports.language import memory
from mindgauge.reports.language.spoken import speaking
from mindgauge.reports.language.translator import translator_of
from mindgauge.reports.profile import overview
from mindgauge.reports.profile import section as suite_section
from mindgauge.reports.reader import folder as reader_folder
from mindgauge.reports.reliability_gate import SuppressedScore, withheld
from mindgauge.reports.runs import scores_of
from mindgauge.reports.sections import Report, Wrong, many
from mindgauge.store.manifest import now, software

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mindgauge.analysis.score import Score
    from mindgauge.reports.content import Cell, System
    from mindgauge.reports.evaluation_card import OwnerFacts
    from mindgauge.reports.profile.records import ProfileSection
    from mindgauge.reports.runs import OpenRun


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
        translator = translator_of(report)
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
        made = msgspec.json.decode(content, type=dict[str, Any])
        return all(isinstance(made.get(name), str) for name in ("subtitle", "made", "software")) and made[
            "software"
        ].startswith("mindgauge ")
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
    unchecked = system_findings.unchecked(runs)
    answers = system_findings.model_answers(runs, systems, apart=suite is not None)
    trusted = trust.trust(runs, systems, on_page)  # before comparisons, which let go of the ratings at hand
    between = compared.paired(runs, systems)
    suite_found = overview.opening(suite, runs, unchecked) if suite else []
    screen = first_screen.first_screen(runs, systems, reading, between, suite_found)
    closed = {run.folder: {s.benchmark.name for s in run.sections if s.benchmark.closed} for run in runs}
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
            *system_findings.people_statements(runs, systems),
            # Of the benchmarks about no reply nothing else says what people found.
            *score_tables.sentences(
                [e for run in runs for e in run.scores.frames if e.benchmark in closed[run.folder]]
            ),
        ],
        lead=overview.lead(suite, runs, unchecked) if suite else [],
        answers=answers,
        tasks=[],
        caveats=[
            *system_findings.meanings([section for run in runs for section in run.sections]),
            *system_findings.shared(answers),
            *system_findings.caveats(runs),
            *system_findings.kept(runs),
            *([unchecked] if unchecked and not suite else []),
        ],
        not_shown=overview.not_shown(suite) if suite else system_findings.not_shown(runs),
        profile=suite,
        reading=reading,
        clinical=clinical.answers(runs, systems, reading, screen.statements[-1]),
        hidden=texts.hidden(runs),
        dialogues=dialogues.dialogues(runs, systems),
        weak=weaknesses,
        trust=trusted,
        wrong=wrong(runs, systems),
        paired=between,
        compared_title="Compared" if len(systems) > 1 else "Beside answers that read nothing",
        compared=compared.side_by_side(runs, systems, paired=bool(between and between.contrasts)),
        how=provenance.how(runs),
        scores=[run.scores for run in runs],
        drawn=score_tables.of_frames([entry for run in runs for entry in run.scores.frames]),
        withheld=[suppressed for run in runs for suppressed in withheld(str(run.folder), run.standings)],
    )
    if suite is not None:
        report.tasks = system_findings.by_task(
            runs, systems, report.titles, overview.findings(suite), overview.headlines(suite, runs)
        )
    if beside is not None:
        report.reader = f"{quote(reader_folder.place(beside).name)}/index.html"
    return report


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


def wrong(runs: Sequence[OpenRun], systems: Sequence[System]) -> Wrong:
    """Count what ended in which status, and bound each mean."""
    statuses = _statuses(runs, systems)
    status_counts = [c for run in runs for c in run.scores.statuses_by]
    idle = sum(c.n for c in status_counts if c.status == Status.NOT_APPLICABLE)
    total = sum(c.n for c in status_counts) - idle
    lost = total - sum(c.n for c in status_counts if c.status == Status.OK)
    amount = plural(total, "reply, answer or verdict", "replies, answers and verdicts")
    if lost:
        verb = "has" if lost == 1 else "have"
        facts = [
            f"Of {amount}, {count(lost)} ({percent(lost / total)}) {verb} no value. A missing value never counts as a number, and is never left out of n."
        ]
    else:
        facts = [f"Every one of {amount} arrived and could be read." if total else "Nothing has been asked yet."]
    if idle:
        facts.append(
            f"{plural(idle, 'more did', 'more did')} not apply: the criterion has nothing to say about the subject, or its category is not known."
        )
    for run in runs:
        facts += map(ended, stock.reply_notes(run.store, [section.benchmark.name for section in run.sections]))
        calls = run.scores.calls
        if calls["failed"] or calls["retries"]:
            facts.append(
                f"{run.folder.name}: {plural(calls['failed'], 'call')} of {count(calls['made'])} failed for good, and "
                f"{plural(calls['retries'], 'attempt')} had to be repeated."
            )
    return Wrong(facts, statuses, _categories(runs) if lost else None, _bounds(runs, systems))


def _statuses(runs: Sequence[OpenRun], systems: Sequence[System]) -> ReportTable:
    labels = {system.model: system.label for system in systems}
    opens: dict[tuple[str, str, str], str] = {}
    counted: dict[tuple[str, str, str], dict[str, int]] = {}
    for run in runs:
        prefix = f"{run.folder.resolve().name}: " if len(runs) > 1 else ""
        for c in run.scores.statuses_by:
            kind = "replies" if c.kind == "reply" else "verdicts"
            closed = any(s.benchmark.closed for s in run.sections if s.benchmark.name == c.benchmark)
            key = (prefix + c.benchmark, "answers" if closed else kind, c.name)
            by_status = counted.setdefault(key, {})
            by = {"rater": c.name} if key[1] == "verdicts" else {"system": labels.get(c.name, c.name)}
            opens[key] = content.lines(
                benchmark=c.benchmark, **by, sign="no_reply" if key[1] == "replies" else "missing"
            )
            by_status[c.status] = by_status.get(c.status, 0) + c.n
    statuses = dict.fromkeys([*(status.value for status in Status), MISAPPLIED])
    used = [s for s in statuses if s != Status.OK and any(s in by_status for by_status in counted.values())]
    columns = heads("benchmark | what | by | n:count | ok:count")
    columns += [Column(words(status), "count") for status in used]
    rows: list[list[Cell]] = [
        [*key, sum(by_status.values()), by_status.get("ok", 0), *(by_status.get(status, 0) for status in used)]
        for key, by_status in counted.items()
    ]
    return ReportTable(
        "statuses", "What became of every reply and verdict", columns, rows, opens=[opens[key] for key in counted]
    )


def _categories(runs: Sequence[OpenRun]) -> ReportTable | None:
    rows: list[list[Cell]] = []
    for run in runs:
        for section in run.sections:
            applicable = section.asked.filter(pl.col("status") != "not_applicable")
            group = ["model", "rater", "tag.category"]
            counted = (
                applicable.group_by(group)
                .agg(n=pl.len(), lost=(pl.col("status") != "ok").sum())
                .filter(pl.col("lost") > 0)
            ).collect(engine="streaming")
            rows += [
                [section.benchmark.name, model, rater, words(category or ""), lost, n, lost / n]
                for model, rater, category, n, lost in counted.sort(
                    "lost", *group, descending=[True, False, False, False]
                ).iter_rows()
            ]
    columns = [*map(Column, ("benchmark", "model", "rated by", "category"))]
    columns += heads("no value:count | of:count | share:share")
    title = "Where values are missing, by model and category"
    return ReportTable("missing-by-category", title, columns, rows) if rows else None


def _bounded(run: OpenRun, score: Score) -> list[Cell]:
    """Return a value and its bounds; of a judge that may not give them, the verdict, or the value marked."""
    if not run.standings.limited(score):
        return [score.value, score.worst, score.best]
    return [run.standings.instead(score, decimal(score.value)), score.worst, score.best]


def _bounds(runs: Sequence[OpenRun], systems: Sequence[System]) -> ReportTable | None:
    rows: list[list[Cell]] = [
        [s.benchmark, measure_name(s, section), system.label, s.rater, s.n, s.missing, *_bounded(runs[system.run], s)]
        for system in systems
        for section in runs[system.run].sections
        for s in scores_of(runs[system.run], system, section)
        if s.slice == "all" and s.name in section.benchmark.headline and s.missing
    ]
    columns = heads(
        "benchmark | measure | model | rated by | n:count | missing:count | value:level | if all worst:level | "
        "if all best:level"
    )
    title, note = "What the missing values could change", "Shares are given between 0 and 1."
    return ReportTable("bounds", title, columns, rows, note) if rows else None
