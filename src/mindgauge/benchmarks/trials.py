"""Trials of a rubric's words: how far capable readers who followed them agree with people, from a folder's `trial.toml`.

A trial shows how our words read, not how a particular judge performs. `bench/trial.py` computes its figures.
"""

from __future__ import annotations

import datetime
import math
from typing import TYPE_CHECKING

import msgspec

from mindgauge.records.english import ended, named, raised, words
from mindgauge.records.errors import UsageError
from mindgauge.records.files import bounds
from mindgauge.records.rounding import decimal, percent, plural
from mindgauge.stats.level import level

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from pathlib import Path


FILE = "trial.toml"
NONE = "No trial of this rubric against human ratings."


class TrialReading(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """What one reader said of all subjects of a trial, held against people. `[3, 5]` is three of five."""

    icc: float | None = None
    """ICC(A,1) with people's mean."""
    kappa: float | None = None
    """Cohen's kappa with the label."""
    same: tuple[int, int] | None = None
    """Subjects that got people's level or label."""
    bias: float | None = None
    """The reader's mean less people's, in levels."""
    unsafe_found: tuple[int, int] | None = None
    """Found, of what people rated unsafe."""
    false_alarms: tuple[int, int] | None = None
    """Said to be unsafe, of what people did not rate so."""
    unsafe_to_either: tuple[int, int] | None = None
    """Found, of what at least one person rated unsafe."""
    unread: int = 0
    """Verdicts that could not be read: they have found nothing, and agreement and bias are without them."""

    def faults(self, n: int) -> Iterator[str]:
        """Say what cannot be, of a trial with n subjects."""
        for name in ("same", "unsafe_found", "false_alarms", "unsafe_to_either"):
            share = getattr(self, name)
            if share is not None and not (0 <= share[0] <= share[1] <= n and share[1]):
                yield f"{name} = [{share[0]}, {share[1]}], but n is {n}"
        if self.unsafe_found and self.false_alarms and self.unsafe_found[1] + self.false_alarms[1] != n:
            yield f"unsafe_found is of {self.unsafe_found[1]} and false_alarms of {self.false_alarms[1]}, but n is {n}"
        for name in ("icc", "kappa"):
            if not -1 <= (getattr(self, name) or 0) <= 1:
                yield f"{name} = {getattr(self, name)} is not between -1 and 1"
        if self.bias is not None and not math.isfinite(self.bias):
            yield f"bias = {self.bias} is no number of levels"
        if not 0 <= self.unread <= n:
            yield f"unread = {self.unread}, but n is {n}"
        if all(figure is None for figure in (self.icc, self.kappa, self.same, self.unsafe_found)):
            yield "a reading has none of icc, kappa, same, unsafe_found"


class RubricTrial(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """A trial of the words of one criterion, in one language, on ratings by people."""

    date: datetime.date
    language: str
    reader: str
    """A kind of reader, no name: a large language model."""
    rubric: str
    """`id@version`."""
    hash: str
    """Of all words that a reader was shown, as ratings carry it behind the `#` of their instrument."""
    method: str = ""
    """How a judge of replies is asked."""
    data: str
    """Which ratings by people, in words."""
    n: int
    criterion: str
    people: str
    """Who rated, or whose labels: clinicians."""
    people_icc: float | None = None
    people_kappa: float | None = None
    finds: str = ""
    """What `unsafe_found` counts: replies that clinicians rated unsafe."""
    written_on: str
    """On what the wording was written, which `data` should not be: other rows, none of these rows."""
    readings: tuple[TrialReading, ...]
    """One for each reader; each should be fresh: who knows what is looked for proves nothing."""
    note: str = ""

    def __post_init__(self) -> None:
        faults = [fault for reading in self.readings for fault in reading.faults(self.n)]
        faults += [
            f"{name} is {value}, not between -1 and 1"
            for name, value in (("people_icc", self.people_icc), ("people_kappa", self.people_kappa))
            if value is not None and not -1 <= value <= 1
        ]
        faults += ["n is 0: nothing was read"] if self.n < 1 else []
        if self.rubric.count("@") != 1:
            faults.append(f"rubric = {self.rubric!r} is not id@version")
        if not self.readings:
            faults.append("there is no [[trial.readings]]; each reader needs one")
        if any(reading.unsafe_found for reading in self.readings) and not self.finds:
            faults.append("unsafe_found needs finds: what is found, in words")
        if faults:
            raise ValueError(faults[0])

    @property
    def worst(self) -> TrialReading:
        """The reader who found least, then who raised most false alarms, then who agreed least: the trial is told by this one."""
        return min(self.readings, key=_merit)


def _merit(reading: TrialReading) -> tuple[float, ...]:
    shares = (reading.unsafe_found, reading.false_alarms, reading.same)
    finds, alarms, same = (share[0] / share[1] if share else 0.0 for share in shares)
    return (finds, -alarms, same, reading.icc or 0.0, reading.kappa or 0.0)


class _TrialFile(msgspec.Struct, forbid_unknown_fields=True):
    trial: tuple[RubricTrial, ...]


def read(folder: Path) -> tuple[RubricTrial, ...]:
    """Read the trials in a folder; there are none where it has no `trial.toml`.

    Raises:
        UsageError: the file is not as it should be.
    """
    path = folder / FILE
    if not path.is_file():
        return ()
    try:
        return msgspec.convert(bounds.toml(path), _TrialFile).trial
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: {error}") from error


def lines(trials: Sequence[RubricTrial], instruments: Collection[str], languages: Collection[str]) -> list[str]:
    """Say which trials there were of the words that raters were shown, a line for each language and wording.

    Args:
        trials: of the benchmark; of one wording those of the newest day count.
        instruments: what raters worked with, as ratings carry it.
        languages: in which these were put; all that a trial had, where that is not known.
    """
    rubrics = {name.partition("@")[0] for name in instruments if "+" not in name}
    trials = [trial for trial in trials if trial.rubric.partition("@")[0] in rubrics]
    if not trials:
        return [NONE]
    tried = {trial.language for trial in trials}
    names = sorted(languages or tried)
    texts = [text for name in names for text in _in([t for t in trials if t.language == name], instruments)]
    return [*texts, *(f"No trial of this rubric in {_language(name)}." for name in names if name not in tried)]


def _in(trials: Sequence[RubricTrial], instruments: Collection[str]) -> Iterator[str]:
    """Tell the newest trial of each wording that was used in a language; where none was tried, the newest of all."""
    groups: dict[tuple[str, str, str], list[RubricTrial]] = {}
    newest: dict[str, datetime.date] = {}
    for trial in sorted(trials, key=lambda trial: trial.date, reverse=True):
        if newest.setdefault(trial.hash, trial.date) == trial.date:
            # Criteria of one trial are told together, and rows of another kind apart.
            groups.setdefault((trial.hash, trial.data, trial.method), []).append(trial)
    hashes = {name.partition("#")[2] for name in instruments}
    exact = [group for (digest, *_), group in groups.items() if digest in hashes]
    for group in exact or [*groups.values()][:1]:
        yield " ".join([*_sentences(group), *([] if exact else [_changed(group[0].rubric, instruments)])])


def _changed(rubric: str, instruments: Collection[str]) -> str:
    name, _, version = rubric.partition("@")
    present = {used.partition("#")[0].partition("@")[2] for used in instruments if used.startswith(f"{name}@")}
    if version in present:
        return "Not every word is that of the trial, though the version is the same."
    return f"The rubric has changed since this trial (version {version} then, {named(sorted(present))} now)."


def _sentences(group: Sequence[RubricTrial]) -> Iterator[str]:
    first = group[0]
    count = len(first.readings)
    method = f", method {first.method}" if first.method else ""
    yield f"Trial of this rubric, {_language(first.language)}{method}, {first.date}: {plural(count, 'reader')} ({first.reader}) of {first.data}."
    reader = "it" if count == 1 else "the worse one" if count == 2 else "the worst one"
    for trial in group:
        start = f"On {words(trial.criterion)}, {reader}" if len(group) > 1 else raised(reader)
        yield f"{start} {_figures(trial)}"
    yield ended(f"Its wording was written on {first.written_on}")


def _figures(trial: RubricTrial) -> str:
    """Say what the worst reader found, and how far it agrees with people, and these among themselves."""
    from mindgauge.stats.proportion import clopper_pearson

    worst = trial.worst
    aside = []
    if worst.unsafe_found and worst.unsafe_found[0]:
        aside.append(f"lower 95 % limit {percent(clopper_pearson(*worst.unsafe_found).low)}")
    aside += [f"{worst.false_alarms[0]} of {worst.false_alarms[1]} false alarms"] if worst.false_alarms else []
    for name, value, people in (
        ("ICC", worst.icc, trial.people_icc),
        (f"kappa ({level('kappa')})", worst.kappa, trial.people_kappa),
    ):
        if value is not None:
            among = "" if people is None else f", {decimal(people)} among them"
            aside.append(f"{name} {decimal(value)} with {trial.people}{among}")
    if worst.same and worst.unsafe_found:
        aside.append(f"the same level for {worst.same[0]} of {worst.same[1]}")
    if worst.unread:
        aside.append(f"{plural(worst.unread, 'verdict')} not readable")
    tail = f" ({'; '.join(aside)})." if aside else "."
    if worst.unsafe_found:
        return f"found {worst.unsafe_found[0]} of {worst.unsafe_found[1]} {trial.finds}{tail}"
    if worst.same:
        return f"gave the level of {trial.people} to {worst.same[0]} of {worst.same[1]}{tail}"
    return f"agreed with {trial.people}{tail}"


def _language(language: str) -> str:
    return words(f"language={language}").removeprefix("language: ")
