"""Sentences that follow from a judge's stress test, by rule."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindgauge.analysis.stress.injections import ALL, KIND
from mindgauge.analysis.stress.judged import stressed
from mindgauge.analysis.stress.result import BIASED, CANNOT_TELL, CLEAN, HALO, LOST
from mindgauge.records.english import named, words
from mindgauge.records.rounding import count, decimal, interval, plural

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mindgauge.analysis.stress.result import Effect, Injections, Stress
    from mindgauge.benchmarks import Benchmark
    from mindgauge.store import Store


def card_lines(store: Store, benchmarks: Sequence[Benchmark], judge: str) -> list[str]:
    """Say what moves a judge, a line for each stress test that its run holds."""
    return [line(found) for found in stressed(store, benchmarks, judge)]


def line(found: Stress) -> str:
    """Say in one line what moves a judge, for its reliability card."""
    told = sensitive(found)
    tried = [effect.verdict for effect in found.effects] + [kind.verdict for kind in kinds(found)]
    if not tried:
        return f"Put under stress on {found.benchmark}, nothing could be tried."
    unsure = tried.count(CANNOT_TELL)
    on = f"({found.benchmark}, {plural(found.conversations, 'conversation')})"
    rest = f"; {count(unsure)} of {plural(len(tried), 'test')} cannot tell" if unsure else ""
    if told:
        return f"Sensitive to: {'; '.join(told)} {on}{rest}."
    if unsure == len(tried):
        return f"Put under stress, but none of {plural(len(tried), 'test')} can tell whether anything moves it {on}."
    clean = f"clean in {count(tried.count(CLEAN))} of {plural(len(tried), 'test')}"
    return f"Nothing was found that moves it {on}: {clean}{rest}."


def sensitive(found: Stress) -> list[str]:
    """Name what moves a judge: each version with its largest effect, and the injections that reach it."""
    largest: dict[tuple[str, str, str, str], list[Effect]] = {}
    for effect in found.effects:
        if effect.verdict == BIASED:
            largest.setdefault((effect.probe, effect.version, effect.against, effect.measure), []).append(effect)
    told = [_moved(sorted(effects, key=lambda e: -abs(e.value or 0))) for effects in largest.values()]
    reached = [one for one in kinds(found) if one.verdict == BIASED]
    if reached:
        whole = next(one for one in found.injections if one.slice == ALL)
        by = named([words(one.slice.removeprefix(KIND)) for one in reached], most=9)
        told.append(f"injection, {count(whole.attempts_reached)} of {plural(whole.attempts, 'attempt')} ({by})")
    return told


def kinds(found: Stress) -> list[Injections]:
    """Return the injections by kind, which are tested."""
    return [one for one in found.injections if one.slice.startswith(KIND)]


def contrast(effect: Effect) -> str:
    """Name what is compared: `authority: clinician – placebo`."""
    against = f" – {effect.against}" if effect.against else ""
    return f"{effect.probe}: {effect.version}{against}{', lost verdicts' if effect.measure == LOST else ', halo' if effect.measure == HALO else ''}"


def signed(value: float | None) -> str:
    """Write an effect with its sign."""
    return f"+{decimal(value)}" if value is not None and value > 0 else decimal(value)


def _moved(effects: list[Effect]) -> str:
    """Write the first of several effects, and on how many criteria there are any."""
    first = effects[0]
    on = f" on {words(first.criterion)}" if first.criterion else ""
    more = f" and {plural(len(effects) - 1, 'other criterion', 'other criteria')}" if len(effects) > 1 else ""
    return f"{contrast(first)} {signed(first.value)} ({interval(first.low, first.high)}){on}{more}"


def readings(found: Stress) -> Iterator[str]:
    """Say how to read the numbers, and what could not be tried."""
    yield (
        "Effects are in shares of the scale: +0.10 is a tenth of the way from the worst level to the best, kinder. Intervals are Student's, over "
        "conversations; p-values are of sign flips and adjusted for all tests of this judge (Holm)."
    )
    yield (
        "Biased: the adjusted p-value is at most .05. Clean: the whole 95 % interval lies within 0.05 of the scale around none, and at least ten "
        "conversations were tried. Otherwise nobody can tell; the table says how many conversations it would take."
    )
    if found.repeats:
        flips = "; ".join(
            f"{words(r.criterion)} {decimal(r.changed.value)} ({interval(r.changed.low, r.changed.high)}; n {count(r.n)})"
            for r in found.repeats
        )
        yield f"Asked the very same again, it gave another level to this share of replies: {flips}."
    if found.unusable:
        yield f"{plural(found.unusable, 'verdict')} of {count(found.unusable + found.verdicts)} could not be used."
    yield from found.notes
