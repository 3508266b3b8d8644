"""The evaluation card: one page for governance, from a report, what a system's owner states, and the benchmarks' cards.

Its sentences are in `templates/card.txt.j2`; this module computes what they say.
"""

from __future__ import annotations

import datetime
import functools
import re
import tomllib
from collections import Counter
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from mindgauge.analysis.reliability.card import BLIND_END, GOOD, LIMITED, MODERATE, NOT_ESTIMABLE
from mindgauge.records import english, rounding
from mindgauge.records.english import named, raised, words
from mindgauge.records.errors import DataError
from mindgauge.records.files import bounds
from mindgauge.records.rounding import count, interval, percent, plural
from mindgauge.records.short_names import shortened
from mindgauge.reports import clinical, provenance, read_first, render, texts
from mindgauge.reports.content import Column, ReportTable, of_page
from mindgauge.reports.export.templates import rendered
from mindgauge.reports.sections import STATEMENT_HEADS, Report

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    import jinja2

    from mindgauge.analysis.score import Score
    from mindgauge.benchmarks import Benchmark
    from mindgauge.reports.content import Cell

MARK = "<!-- a Mindgauge evaluation card -->"
"""How its page and its Markdown end: only such files are replaced."""
LONGEST = 600
"""Characters of one statement of the owner: the card is a page."""
LASTS = 180
"""Days from the oldest answer: a convention of ours, since models, products and what people write about change."""
_STATES = {"valid": "Valid until", "expired": "Expired on", "undated": "Without an expiry date"}
ELSEWHERE = functools.partial(re.compile(r"\b(cases?|replies|weak) below\b").sub, r"\1 in the report")
"""Let a sentence of the report point to it from the card: what says where something is, and not how much it is."""
_TOLD = (0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 20, 25, 26)
"""Columns of the report's table of cards: who on what, verdict, agreement beside that of people, n, what is found of the unsafe."""
_GRAVITY = (LIMITED, NOT_ESTIMABLE, BLIND_END, MODERATE, GOOD)
_Stated: TypeAlias = str | list[str]


class OwnerFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What the owner states; nothing of it is measured. Each is a text, or a list of them; `raters` says which training they had."""

    owner: str = ""
    intended_use: _Stated = ""
    not_intended_use: _Stated = ""
    populations: _Stated = ""
    raters: _Stated = ""
    limits: _Stated = ""
    incidents: _Stated = ""
    licences: _Stated = ""
    expires: datetime.date | None = None

    def stated(self, name: str) -> list[str]:
        """Return the statements on one thing; none on what the owner is not asked about."""
        content: _Stated = getattr(self, name, "")
        return [" ".join(text.split()) for text in ([content] if isinstance(content, str) else content) if text.strip()]


def read(path: Path) -> OwnerFacts:
    """Read what an owner states.

    Raises:
        DataError: it cannot be read, is no TOML, or states something else; the message says what it may state.
    """
    try:
        content = bounds.toml(path)
        if isinstance(content.get("expires"), datetime.datetime):
            raise DataError(f"--card-facts {path}: expires is a day, as in expires = 2027-03-31")
        facts = msgspec.convert(content, OwnerFacts)
    except OSError as error:
        raise DataError(f"--card-facts {path}: cannot read it ({error.strerror})") from error
    except msgspec.ValidationError as error:
        raise DataError(
            f"--card-facts {path}: {error}; it may state {', '.join(OwnerFacts.__struct_fields__)}"
        ) from error
    except ValueError as error:
        raise DataError(f"--card-facts {path}: not TOML ({error})") from error
    for name in content:
        if name != "expires" and any(len(text) > LONGEST for text in facts.stated(name)):
            raise DataError(f"--card-facts {path}: {name} has more than {LONGEST} characters; a card is one page")
    return facts


def place(page: Path) -> Path:
    """Return where the card of a report goes: beside its page."""
    return page.with_name("card.html" if page.stem == "report" else f"{page.stem}_card.html")


def contents(card: dict[str, Any], path: Path) -> dict[Path, str]:
    """Return each file's content: a page for people, JSON for machines, Markdown for a repository."""
    holds = " ".join(filter(None, [_STATES[card["validity"]["state"]], card["validity"]["expires"]]))
    content = {"c": card, "heads": STATEMENT_HEADS, "holds": "Expired" if holds == "Expired on" else holds}
    page = render.environment().get_template("card.html.j2").render(**content, json_name=path.with_suffix(".json").name)
    return {
        path: f"{page.rstrip()}\n{MARK}\n",
        path.with_suffix(".json"): msgspec.json.format(msgspec.json.encode(card), indent=1).decode(),
        path.with_suffix(".md"): rendered(
            str(render.TEMPLATES / "card.md.j2"), **content, mark=MARK, missing=rounding.NONE, ended=english.ended,
            of_page=lambda sheet: of_page(sheet, render.MOST_ROWS),
        ),
    }  # fmt: skip


def card(report: Report, page: str, facts: OwnerFacts, benchmarks: Mapping[str, Benchmark]) -> dict[str, Any]:
    """Return the card of a report: what identifies it, `validity`, `findings`, and `entries`, each a thing that governance asks.

    Of an entry, `computed` follows from the report and the benchmarks' cards, `stated` is what the owner says of it, and
    `open` is what neither says; `tables` are shown beside them, and `cases` lead into the report and its reader.

    Args:
        report: of some runs.
        page: its address beside the card.
        facts: what the owner states.
        benchmarks: those that the report is about, by name.
    """
    titles, plans = _short_titles(report), [tomllib.loads(run.plan) for run in report.how.runs]
    sheets = {
        "systems": _systems(report),
        "agreement": _agreement(report, titles),
        "identity": _identity(report, plans),
    }
    changed = [report.titles[entry.benchmark] for entry in report.how.instruments if not entry.same]
    holds = _validity(sheets["systems"], facts, datetime.datetime.fromisoformat(report.made).date(), gone=bool(changed))
    text = _template().render(
        r=report, plans=plans, page=page, facts=facts, holds=holds, titles=titles, benchmarks=benchmarks, changed=changed,
        alike=lambda name: _alike(report, titles, name), systems=sheets["systems"].rows, raters=list(_raters(report, benchmarks)),
        harms=[*_missed(report, benchmarks), *_harms(report)], agreement=sheets["agreement"].rows,
    )  # fmt: skip
    entries: list[dict[str, Any]] = []
    for mark, *parts in (line.split("\t") for line in text.splitlines() if line):
        if mark == "#":
            tables = [sheets[parts[0]]] if parts[0] in sheets and sheets[parts[0]].rows else []
            lists: dict[str, Any] = {"computed": [], "open": [], "cases": [], "tables": tables}
            entries.append({"name": parts[0], "title": parts[1], "stated": facts.stated(parts[0]), **lists})
        elif mark == "link":
            entries[-1]["cases"][-1]["links"].append(dict(zip(("text", "report", "reader"), parts, strict=True)))
        else:
            entries[-1][mark].append({"title": parts[0], "links": []} if mark == "cases" else parts[0])
    whole: dict[str, Any] = {name: getattr(report, name) for name in ("title", "subtitle", "made", "software")} | {
        "report": page, "owner": " ".join(facts.owner.split()), "validity": {**holds, "because": entries[-1]["computed"][-1]},
        "findings": [ELSEWHERE(text) for text in report.first.statements], "entries": entries,
    }  # fmt: skip
    return {name: _shown(value, report.names) for name, value in whole.items()}


def _template() -> jinja2.Template:
    """Return what the card says: lines of a mark, a tab and a sentence, `#` before the name and the title of an entry."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(render.TEMPLATES), undefined=jinja2.StrictUndefined, trim_blocks=True,
        lstrip_blocks=True, finalize=lambda value: re.sub(r"\s", " ", str(value)),
        autoescape=False,  # noqa: S701 - sentences; the page and the Markdown escape them
    )  # fmt: skip
    environment.globals |= {
        "e": english, "n": rounding, "clinical": clinical, "LASTS": LASTS,
        "read_first": read_first, "elsewhere": ELSEWHERE,
    }  # fmt: skip
    return environment.get_template("card.txt.j2")


def _shown(content: Any, names: dict[str, str]) -> Any:
    """Return what a card shows: short names for addresses, and signs that cannot be seen as their code points."""
    if isinstance(content, str):
        return texts.clean(shortened(content, names))
    if isinstance(content, ReportTable):
        return msgspec.convert(_shown(msgspec.to_builtins(content), names), ReportTable)
    if isinstance(content, dict):
        return {key: _shown(value, names) for key, value in content.items()}
    return [_shown(value, names) for value in content] if isinstance(content, list) else content


def _short_titles(report: Report) -> dict[str, str]:
    """Call each benchmark by the beginning of its title, or by the rest of it where another begins alike."""
    parts = {entry.benchmark: entry.title.partition(": ") for entry in report.how.instruments}
    heads = Counter(head for head, _, _ in parts.values())
    return {name: head if heads[head] == 1 or not rest else raised(rest) for name, (head, _, rest) in parts.items()}


def _alike(report: Report, titles: Mapping[str, str], name: str) -> list[tuple[str, list[str]]]:
    """Return what the benchmarks' cards say of one thing, what several say alike once, with their titles."""
    texts_of: dict[str, list[str]] = {}
    for entry in report.how.instruments:
        texts_of.setdefault(getattr(entry, name).strip(), []).append(titles[entry.benchmark])
    return list(texts_of.items())


def _systems(report: Report) -> ReportTable:
    """Name the systems with their builds, and the days of the runs that asked them: none for what was answered before."""
    rows: list[list[Cell]] = []
    for system in report.systems:
        run, behind = report.how.runs[system.run], provenance.model_behind(system.model)
        calls = next((row for row in run.models.rows if row[0] == behind and row[5] != row[6]), None)
        build = None if calls is None or system.model.startswith("replay/") else str(calls[1] or "")
        days = [] if build is None else [day[:10] for name, day in run.facts if name in {"Begun", "Ended"}]
        rows.append([system.label, build or "", " to ".join(dict.fromkeys(days))])
    return ReportTable("systems", "The systems", [Column("system"), Column("build"), Column("answered")], rows)


def _validity(systems: ReportTable, facts: OwnerFacts, today: datetime.date, *, gone: bool) -> dict[str, Any]:
    """Say until when a card holds: by rule, or the owner's day where that is earlier; not at all where an instrument is gone."""
    undated = [row[0] for row in systems.rows if not row[2]]
    days = sorted(day for row in systems.rows for day in str(row[2]).split(" to ") if day)
    by_rule = datetime.date.fromisoformat(days[0]) + datetime.timedelta(LASTS) if days and not undated else None
    ends = None if gone else min((day for day in (facts.expires, by_rule) if day is not None), default=None)
    return {
        "state": "expired" if gone or (ends is not None and ends < today) else "undated" if ends is None else "valid",
        "expires": str(ends or ""), "by_rule": str(by_rule or ""), "days": days, "undated": undated,
    }  # fmt: skip


def _raters(report: Report, benchmarks: Mapping[str, Benchmark]) -> Iterator[dict[str, Any]]:
    """Yield who rated: people, judges and rules, with the benchmarks in which just these did."""
    known, systems = {judge.rater for judge in report.trust.judges}, {system.model for system in report.systems}
    counts = [entry for run in report.scores for entry in run.statuses_by if entry.kind == "rating"]
    alike: dict[tuple[Any, ...], list[str]] = {}
    for name, benchmark in benchmarks.items():
        raters = {entry.name for entry in counts if entry.benchmark == name} - {"gold"}
        rules = {rater for rater in raters if rater.startswith("rule/")}
        judges, own = (set[str](), systems) if benchmark.closed else (known & raters, set[str]())
        groups = [tuple(sorted(names)) for names in (raters - known - rules - own, judges, rules)]
        alike.setdefault((benchmark.closed, *groups), []).extend([name] if raters else [])
    for (closed, *who), names in alike.items():
        kinds = dict(zip(("people", "judges", "rules"), map(list, who), strict=True))
        yield from [{"benchmarks": names, "closed": closed, **kinds}] if names else []


def _agreement(report: Report, titles: Mapping[str, str]) -> ReportTable:
    """Return the report's line of each judge beside people: of several criteria that of the gravest verdict, and of these the lowest."""
    rows: dict[tuple[str, Cell], list[Cell]] = {}
    columns: list[Column] = []
    for section in report.trust.agreement:
        cards = section.sheets[0]
        columns = [Column("benchmark"), *(cards.columns[place] for place in _TOLD)]
        for row in sorted(cards.rows, key=lambda row: (_GRAVITY.index(str(row[2])), row[5] is None, row[5])):
            rows.setdefault((section.benchmark, row[0]), [titles[section.benchmark], *(row[place] for place in _TOLD)])
    return ReportTable("agreement", "How far judges agree with people", columns, list(rows.values()))


def _identity(report: Report, plans: Sequence[Mapping[str, Any]]) -> ReportTable:
    """Name instruments and messages by their hashes."""
    hashes = [pair for p in plans for pair in zip(p.get("benchmarks", []), p.get("samples", []), strict=False)]
    rows: list[list[Cell]] = [
        [entry.benchmark, entry.rubric, entry.rubric_hash, ", ".join(entry.used), ", ".join(dict.fromkeys(messages for name, messages in hashes if name == entry.benchmark))]
        for entry in report.how.instruments
    ]  # fmt: skip
    columns = [Column(name) for name in ("benchmark", "rubric", "its hash", "what rated", "messages")]
    return ReportTable("hashes", "Hashes", columns, rows)


def _missed(report: Report, benchmarks: Mapping[str, Benchmark]) -> Iterator[str]:
    """Count the answers in which what is no calm message was taken for one, by its label."""
    counts: dict[tuple[str, str], Counter[str]] = {}
    for section in report.weak.confusions:
        calm = [words(label) for label in benchmarks[section.benchmark].calm]
        for label, row in zip(section.labels, section.counts, strict=True):
            if label not in calm:
                taken = sum(n for column, n in zip(section.columns, row, strict=True) if column in calm)
                counts.setdefault((label, named(calm, "or")), Counter()).update(taken=taken, n=sum(row))
    for (label, calm_label), own in sorted(counts.items(), key=lambda entry: (-entry[1]["taken"], entry[0])):
        if own["taken"]:
            amounts = f"{count(own['taken'])} of {plural(own['n'], 'answer')} ({percent(own['taken'] / own['n'])})"
            yield f"{raised(label)} taken for {calm_label} in {amounts}."


def _harms(report: Report) -> Iterator[str]:
    """State each share of harm above 0 that a benchmark goes by: of each system the worst of the raters that may give it."""
    criteria = {entry.benchmark: {c["name"] for c in entry.criteria} for entry in report.how.instruments}
    hidden = [(e.run, e.benchmark, e.rater, e.criterion) for e in report.withheld if not e.shown]
    shares: dict[str, dict[tuple[str, str], Score]] = {}
    for run in report.scores:
        raters = {entry.name for entry in run.statuses_by}  # and no majority of their repeats
        for score in sorted(run.leading, key=lambda score: -(score.value or 0)):
            pooled = score.criterion not in criteria[score.benchmark]  # over criteria, of which none may be withheld
            place = (run.run, score.benchmark, score.rater)
            withheld = any(entry[:3] == place and (pooled or entry[3] == score.criterion) for entry in hidden)
            harm = score.better == "lower" and score.unit == "share" and score.value and not score.void and not withheld
            if harm and score.rater in raters and score.slice == run.headlines[score.benchmark].group:
                shares.setdefault(score.title or score.name, {}).setdefault((run.run, score.model), score)
    for title, own in shares.items():
        values = [
            f"{percent(s.value)} of {count(s.n)} ({s.model}; {interval(s.low, s.high, 'share')}{f'; by {s.rater}' * (s.rater != s.model)})"
            for s in own.values()
        ]
        yield f"{raised(title.removeprefix('the '))}: {named(values)}."
