"""The summary of a report for a pull request: what matters most with what limits it, in Markdown.

What a claim of the page needs beside it stands beside it here, too: nothing is left out that limits what is left in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindgauge.records.english import ended, sentence, words
from mindgauge.records.rounding import NONE, decimal, interval
from mindgauge.records.short_names import shortened
from mindgauge.records.text import file
from mindgauge.records.text import join as joined
from mindgauge.reports.language.spoken import current, plain
from mindgauge.reports.sections import STATEMENT_HEADS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mindgauge.reports.draw.records import Point
    from mindgauge.reports.profile.records import ProfileSection
    from mindgauge.reports.sections import InWords, Report, Trust


MARK = "<!-- a Mindgauge report -->"
"""How a summary ends: a report replaces only what ends so."""
MOST_MODELS = 6
MOST_FIGURES = 5
MOST_CONTRASTS = 3


def summary(report: Report, page: str) -> str:
    """Write what matters most with what limits it, and where the rest stands."""
    figures = [_claim(figure.finding, figure.measure) for figure in report.weak.figures if not figure.folded]
    flows = [_claim(f"{flow.system.label}: {flow.finding}", flow.measure) for flow in report.weak.flows]
    parts = [
        [f"# Mindgauge: {plain(report.title)}"],
        [plain(ended(report.subtitle))],
        *(_section(report.fidelity.title, report.fidelity.facts, []) if report.fidelity else []),
        *_first(report),
        *_folded("In full, model by model", [*([plain(text)] for text in report.unfit), [plain(" ".join(report.people))], [plain(" ".join(report.lead))], *_answers(report), _quoted(report.caveats)]),
        _profile(report.profile) if report.profile is not None else [],
        *_section("Where it is weak", [*[*figures, *flows][:MOST_FIGURES], *report.weak.stock[:MOST_MODELS]], report.weak.withheld),
        *_section("How far to trust it", _claims(report.trust)[:MOST_FIGURES], report.trust.general),
        *_section(report.compared_title, _contrasts(report)[:MOST_CONTRASTS], [*report.paired.withheld, *map(sentence, report.paired.notes)] if report.paired else []),
        *_section("What went wrong", [], report.wrong.facts),
        [plain(text) for text in report.hidden],
        [" ".join([plain("Not shown by these numbers:"), *map(plain, report.not_shown)])],
        _more(report),
        [_link(report, page)],
        [plain(translator.account())] if (translator := current()) is not None else [],
        [MARK],
    ]  # fmt: skip
    text = "\n\n".join("\n".join(part) for part in parts if any(part)) + "\n"
    return shortened(text, {plain(address): plain(name) for address, name in report.names.items()})


def _first(report: Report) -> Iterator[list[str]]:
    """Write the first screen: what was found, how far to trust it, what to do now, and each model's row."""
    screen = report.first
    for number, text in enumerate(screen.statements):
        yield [f"**{plain(f'{STATEMENT_HEADS[number]}.')}** {plain(text)}"]
    if screen.table is not None:
        columns = [column.name for column in screen.table.columns]
        rows = [[NONE if cell is None else str(cell) for cell in row] for row in screen.table.rows[:MOST_MODELS]]
        lines = [
            [plain(name) for name in columns],
            ["---"] * len(columns),
            *([plain(cell) for cell in row] for row in rows),
        ]
        yield [f"| {' | '.join(line)} |" for line in lines]
        cut = len(screen.table.rows) > MOST_MODELS
        scope = f"Listed are the worst {MOST_MODELS} of {len(screen.table.rows)} models." if cut else ""
        yield [plain(" ".join(filter(None, [scope, screen.table.note])))]
    for paragraph in screen.paragraphs:
        title, statements = plain(f"{paragraph['title']}."), plain(" ".join(paragraph["statements"]))
        yield [f"**{title}** {statements}"]


def _folded(title: str, parts: Sequence[Sequence[str]]) -> list[list[str]]:
    """Write parts behind a fold; nothing where there are none."""
    blocks = [list(part) for part in parts if any(part)]
    return [[f"<details><summary>{plain(title)}</summary>"], *blocks, ["</details>"]] if blocks else []


def _answers(report: Report) -> Iterator[list[str]]:
    """Write a paragraph for each model; where there is a lead, or there are many models, what must be added to it."""
    titled = len(report.answers) > 1
    places = {row[0]: place for place, row in enumerate(report.first.table.rows)} if report.first.table else {}
    ordered = sorted(report.answers, key=lambda answer: places.get(answer.system.label, len(places)))
    for number, answer in enumerate(ordered):
        facts = [] if report.lead or number >= MOST_MODELS else answer.facts
        sentences = [*facts, *answer.withheld, *answer.caveats]
        head = f"**{plain(answer.system.label)}.** " if titled else ""
        yield [head + plain(" ".join(sentences))] if sentences else []
    rest = 0 if report.lead else len(report.answers) - MOST_MODELS
    if rest > 0:
        yield [plain(f"The report covers {rest} more models.")]


def _quoted(caveats: Sequence[str]) -> list[str]:
    return "\n>\n".join(f"> {plain(caveat)}" for caveat in caveats).split("\n") if caveats else []


def _section(title: str, claims: Sequence[str], notes: Sequence[str]) -> list[list[str]]:
    """Write a section: claims as a list, and below it what holds for all of them; nothing where there is neither."""
    if not claims and not notes:
        return []
    return [[f"## {plain(title)}"], [f"- {plain(claim)}" for claim in claims], [plain(note) for note in notes]]


def _claim(finding: str, *limits: str) -> str:
    """Put what limits a finding behind it."""
    return " ".join([ended(finding), *(ended(limit) for limit in limits if limit)])


def _claims(trust: Trust) -> list[str]:
    return [
        *(_claim(claim.finding, claim.measure) for claim in trust.agreement),
        *(_claim(claim.finding, claim.measure) for claim in trust.calibration),
        *(_claim(claim.finding, claim.measure) for claim in trust.entry),
        *(_claim(claim.finding, *claim.said) for claim in trust.juries),
        *(_claim(claim.finding, claim.measure, *claim.said, *claim.notes) for claim in trust.escalated),
    ]


def _contrasts(report: Report) -> list[str]:
    contrasts = sorted(report.paired.contrasts, key=lambda contrast: contrast.folded) if report.paired else []
    return [_claim(contrast.finding, *contrast.said) for contrast in contrasts]


def _more(report: Report) -> list[str]:
    """Write, behind a fold, what else limits the report: claims that are not told above, each judge, each task."""
    claims = [*_claims(report.trust)[MOST_FIGURES:], *_contrasts(report)[MOST_CONTRASTS:]]
    claims += report.paired.parts_said if report.paired else []
    rest = [["", claim] for claim in claims]
    rest += [
        [f"{judge.rater}:", " ".join(findings)]
        for judge in report.trust.judges
        if (findings := list(_of_judge(judge.facts, judge.cards)))
    ]
    rest += [
        [f"{judge.rater}, {report.titles[part.benchmark]}:", " ".join(findings)]
        for judge in report.trust.judges
        for part in judge.parts
        if (findings := list(_of_judge(part.facts, part.cards)))
    ]
    rest += [
        [f"{task.title}, {findings.system.label}:", " ".join([*findings.facts, *findings.withheld, task.not_shown])]
        for task in report.tasks
        for findings in task.told
    ]
    if not rest:
        return []
    return [f"<details><summary>{plain('What else limits these numbers: every judge, every task')}</summary>", "", *(f"- {joined([plain(part) for part in parts if part])}" for parts in rest), "", "</details>"]  # fmt: skip


def _of_judge(facts: Iterable[str], cards: Iterable[InWords]) -> Iterator[str]:
    """Say what is known of a judge, and what each of its cards warns of."""
    yield from facts
    for card in cards:
        if card.warnings:
            warnings = "; ".join(warning.removesuffix(".") for warning in card.warnings)
            yield sentence(f"{words(card.criterion)}{f' ({card.run})' if card.run else ''}: {warnings}")


def _link(report: Report, page: str) -> str:
    reading = sum(len(chosen.items) for chosen in report.reading)
    return (
        f"[{plain('The whole report')}]({file(page)}) "
        + plain(
            f"lists {reading} replies and messages to read first, tables, prompts, and the settings of every model."
        )
        + f" {plain(f'{report.software}, {report.made[:10]}.')}"
    )


def _profile(section: ProfileSection) -> list[str]:
    """Write every dimension's scores as a table, with intervals where there are any, and what limits them."""
    systems = sorted(section.heat.systems, key=lambda system: _mean_spot(section, system.number))[:MOST_MODELS]
    lines = [
        f"## {plain('Profile')}: {plain(section.title)}",
        "",
        plain("Mean scaled scores, 0 worst and 1 best, with 95 % intervals; there is no overall score."),
        "",
        f"| {plain('dimension')} | {' | '.join(plain(system.label) for system in systems)} |",
        f"|---|{'---|' * len(systems)}",
    ]
    for row in section.dots.rows if section.dots else ():
        spots = {spot.system.number: spot for spot in row.spots}
        lines.append(f"| {plain(row.label)} | {' | '.join(_score(spots.get(system.number)) for system in systems)} |")
    limits = [*section.said, *map(sentence, section.notes), *(f"Missing: {sentence(text)}" for text in section.lacking)]
    return [*lines, "", *(plain(text) for text in limits)]


def _mean_spot(section: ProfileSection, system: int) -> float:
    """Return the mean of a system's dimensions, by which the worst come first; of a system without any, more than all."""
    spots = [
        spot.value
        for row in (section.dots.rows if section.dots else ())
        for spot in row.spots
        if spot.system.number == system
    ]
    values = [value for value in spots if value is not None]
    return sum(values) / len(values) if values else 1.0


def _score(spot: Point | None) -> str:
    if spot is None or spot.value is None:
        return NONE
    bounds = f" ({interval(spot.low, spot.high)})" if spot.low is not None else ""
    return f"{decimal(spot.value)}{bounds}"
