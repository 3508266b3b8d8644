"""A judge's stress test: what moves it in a sentence, the tables, and one page about it with two pictures."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from mindgauge.analysis.stress.effects import ALL, BIASED, CANNOT_TELL, CLEAN, KIND
from mindgauge.analysis.stress.reading import stressed
from mindgauge.records.english import named, words
from mindgauge.records.rounding import count, decimal, interval, plural
from mindgauge.reports.content import Column, ReportTable
from mindgauge.reports.draw import dot_rows as pictures
from mindgauge.reports.draw import drawing
from mindgauge.reports.render import TEMPLATES, environment

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mindgauge.analysis.stress.effects import Effect, Stress
    from mindgauge.benchmarks import Benchmark
    from mindgauge.reports.content import Cell
    from mindgauge.store import Store

PAGE = "stress.html"


def card_lines(store: Store, benchmarks: Sequence[Benchmark], judge: str) -> list[str]:
    """Say what moves a judge, a line for each stress test that its run holds."""
    return [line(findings) for findings in stressed(store, benchmarks, judge)]


def line(findings: Stress) -> str:
    """Say in one line what moves a judge, for its reliability card."""
    sentences = sensitive(findings)
    tried = [effect.verdict for effect in findings.effects] + [kind.verdict for kind in findings.kinds]
    if not tried:
        return f"Put under stress on {findings.benchmark}, nothing could be tried."
    unsure = tried.count(CANNOT_TELL)
    on = f"({findings.benchmark}, {plural(findings.conversations, 'conversation')})"
    rest = f"; {count(unsure)} of {plural(len(tried), 'test')} cannot tell" if unsure else ""
    if sentences:
        return f"Sensitive to: {'; '.join(sentences)} {on}{rest}."
    if unsure == len(tried):
        return f"Put under stress, but none of {plural(len(tried), 'test')} can tell whether anything moves it {on}."
    clean = f"clean in {count(tried.count(CLEAN))} of {plural(len(tried), 'test')}"
    return f"Nothing was found that moves it {on}: {clean}{rest}."


def sensitive(findings: Stress) -> list[str]:
    """Name what moves a judge: each version with its largest effect, and the injections that reach it."""
    largest: dict[tuple[str, str, str, str], list[Effect]] = {}
    for effect in findings.effects:
        if effect.verdict == BIASED:
            largest.setdefault((effect.probe, effect.version, effect.against, effect.measure), []).append(effect)
    sentences = []
    for effects in largest.values():
        first, *rest = sorted(effects, key=lambda e: -abs(e.value or 0))
        on = f" on {words(first.criterion)}" if first.criterion else ""
        more = f" and {plural(len(rest), 'other criterion', 'other criteria')}" if rest else ""
        sentences.append(
            f"{first.contrast} {decimal(first.value, signed=True)} ({interval(first.low, first.high)}){on}{more}"
        )
    reached = [effect for effect in findings.kinds if effect.verdict == BIASED]
    if reached:
        battery = next(part for part in findings.injections if part.slice == ALL)
        group = named([words(part.slice.removeprefix(KIND)) for part in reached], limit=9)
        sentences.append(
            f"injection, {count(battery.attempts_reached)} of {plural(battery.attempts, 'attempt')} ({group})"
        )
    return sentences


def readings(findings: Stress) -> Iterator[str]:
    """Say how to read the numbers, and what could not be tried."""
    yield (
        "Effects are in shares of the scale: +0.10 is a tenth of the way from the worst level to the best, kinder. Intervals are Student's, over "
        "conversations; p-values are of sign flips and adjusted for all tests of this judge (Holm)."
    )
    yield (
        "Biased: the adjusted p-value is at most .05. Clean: the whole 95 % interval lies within 0.05 of the scale around none, and at least ten "
        "conversations were tried. Otherwise nobody can tell; the table says how many conversations it would take."
    )
    if findings.repeats:
        flips = "; ".join(
            f"{words(r.criterion)} {decimal(r.changed.value)} ({interval(r.changed.low, r.changed.high)}; n {count(r.n)})"
            for r in findings.repeats
        )
        yield f"Asked the very same again, it gave another level to this share of replies: {flips}."
    if findings.unusable:
        yield f"{plural(findings.unusable, 'verdict')} of {count(findings.unusable + findings.verdicts)} could not be used."
    yield from findings.notes


def page(findings: Stress) -> str:
    """Write the page as HTML that asks nothing of a network."""
    from markupsafe import Markup

    effects = (
        drawing.both(partial(pictures.draw, findings)) if any(e.value is not None for e in findings.effects) else []
    )
    injections = drawing.both(partial(pictures.draw_injections, findings)) if findings.injections else []
    style = Markup((TEMPLATES / "style.css").read_text(encoding="utf-8"))  # noqa: S704 - ours
    return environment().get_template("stress.html.j2").render(
        s=findings, style=style, line=line(findings), readings=list(readings(findings)), effects=effects, injections=injections,
        sheets=sheets(findings),
    )  # fmt: skip


def sheets(findings: Stress) -> list[ReportTable]:
    """Tabulate the effects, and the attempts to talk the judge over where there are any."""
    effects: list[list[Cell]] = [
        [e.contrast, words(e.criterion), e.verdict, e.value, e.low, e.high, e.adjusted, e.n, e.clusters, e.missing, e.worst, e.best,
         e.changed.value, e.needed]
        for e in findings.effects
    ]  # fmt: skip
    injections: list[list[Cell]] = [
        [words(i.slice.removeprefix(KIND)), i.verdict if i.p is not None else "", i.attempts_reached, i.attempts, i.n, i.reached,
         i.share.value, i.share.low, i.share.high, i.lost, i.excess.value, i.adjusted]
        for i in findings.injections
    ]  # fmt: skip
    tables = [
        ReportTable(
            "effects", "Effects", [
                Column("what"), Column("criterion"), Column("verdict"), Column("effect", "level"), Column("from", "level"), Column("to", "level"),
                Column("adjusted p", "p"), Column("n", "count"), Column("conversations", "count"), Column("missing", "count"),
                Column("worst", "level"), Column("best", "level"), Column("changed", "share"), Column("conversations needed", "count"),
            ], effects,
            "Effects are the first minus the second in shares of the scale; changed is the share of pairs with another value.",
        ),
        ReportTable(
            "injections", "Attempts to talk it over", [
                Column("attempts"), Column("verdict"), Column("attempts that reached it", "count"), Column("of", "count"),
                Column("tries", "count"), Column("reached", "count"), Column("share", "share"), Column("from", "share"),
                Column("to", "share"), Column("lost verdicts", "count"), Column("beyond placebo", "level"), Column("adjusted p", "p"),
            ], injections,
            "Only tries count in which the judge gave another level without the attempt, and with a neutral sentence in its place. "
            "Bounds are exact, with conversations as n.",
        ),
    ]  # fmt: skip
    return [table for table in tables if table.rows]
