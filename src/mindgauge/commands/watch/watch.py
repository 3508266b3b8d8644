"""`watch`: one look at what is new in a folder of logs. The same call looks again, or finishes a look that broke off."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import msgspec

from mindgauge import benchmarks
from mindgauge.analysis.gate import build_rules, measured, policy
from mindgauge.analysis.gate.measured import GateSide
from mindgauge.analysis.watch.look import broken, unseen, watched
from mindgauge.analysis.watch.records import Look, RateKey, WatchedRate
from mindgauge.benchmarks.metrics import SHARES_OF_YES, STATUS_RATES
from mindgauge.commands.gate import read_build
from mindgauge.commands.rate import rate
from mindgauge.commands.watch import feed
from mindgauge.commands.watch.feed import FileState, SeenDialogue
from mindgauge.records import transcripts
from mindgauge.records.command_result import Tabular
from mindgauge.records.errors import DataError, UsageError
from mindgauge.records.files import private
from mindgauge.records.rounding import count, plural
from mindgauge.records.shell import command_line
from mindgauge.reports import watch_page
from mindgauge.store import locks, manifest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mindgauge.runs.options import AnyModel, RateOptions

LOOKS = "looks"
PAGE = "watch.html"
_MET, _DRAWN, _RUN, _RESULT, _UNSEEN = "met.json", "dialogues.jsonl", "run", "look.json", "unseen.json"
BLIND = 3
"""Looks in a row that met nothing new, from which on nobody can tell that all is well."""
SAMPLE = 50
"""Dialogues that are drawn of what is new, if nothing is said."""
APART = 200
"""Looks between false alarms on average, at least, if nothing is said."""


class MetDialogues(msgspec.Struct, frozen=True):
    """What a look met: the files that it read, and each dialogue by its key; which were drawn, and what could not be read."""

    number: int
    at: str
    files: dict[str, FileState]
    dialogues: dict[str, SeenDialogue]
    notes: list[str]


class Unseen(msgspec.Struct, frozen=True):
    """A look that met nothing new: in how many files, of which so many were ever read; how many looks in a row met nothing."""

    source: str
    files: int
    read: int
    looks: int
    notes: list[str]

    @property
    def blind(self) -> bool:
        """Whether nobody can tell that all is well: no file that is there was ever read, or look after look met nothing."""
        return self.looks >= BLIND or (self.files > 0 and not self.read)

    def sentences(self) -> Iterator[str]:
        """Say what was there, since when nothing came, and what could not be read."""
        if not self.files:
            text = f"no transcripts in {self.source} yet (0 files)"
        elif not self.read:
            text = f"no transcripts in {self.source} that can be read ({plural(self.files, 'file')})"
        else:
            text = f"{self.source}: nothing new since the last look ({plural(self.files, 'file')})"
        row = f", {self.looks} looks in a row" if self.looks > 1 else ""
        yield f"{text}{row}{': cannot tell' if self.blind else ''}"
        yield from self.notes


class WatchResult(Tabular, msgspec.Struct, frozen=True):
    """What a look says; `look` is None where nothing is new, and `unseen` then says of what. True unless something is wrong."""

    folder: str
    page: str
    look: Look | None
    unseen: Unseen | None = None

    def __bool__(self) -> bool:
        return self.look is None or not self.look.alarms

    @property
    def exit_code(self) -> int:
        """0 no alarm, 1 an alarm, 3 cannot tell."""
        if self.look is None:
            return 3 if self.unseen is not None and self.unseen.blind else 0
        return 1 if self.look.alarms else 3 if self.look.undecided else 0

    def summary(self) -> Iterator[str]:
        """Say what came, what alarms there are, and each rate."""
        if self.unseen is not None:
            yield from self.unseen.sentences()
        if self.look is None:
            return
        look = self.look
        yield f"Look {look.number}, {look.date}: {plural(look.dialogues, 'new dialogue')}, {count(look.drawn)} drawn and rated: {look.outcome}"
        yield from (*look.alarms, *look.unmeasured)
        yield from (rate.sentence() for rate in look.rates if not rate.alarm)
        yield from look.notes
        yield self.page

    def _listed(self) -> Sequence[dict[str, Any]]:
        rates = self.look.rates if self.look is not None else []
        return [{**rate.key._asdict(), **msgspec.structs.asdict(rate), "key": None} for rate in rates]


def watch(
    source: str | Path,
    *,
    policy: str | Path,
    judge: AnyModel | Sequence[AnyModel],
    out: str | Path,
    name: str | None = None,
    unit: str | None = None,
    sample: int = SAMPLE,
    seed: int = 0,
    apart: int = APART,
    columns: Mapping[str, str] | None = None,
    **options: Unpack[RateOptions],
) -> WatchResult:
    """Look at what is new in a folder of logs: draw some of it, have it rated, and hold it against a policy's bounds.

    Each look adds to the evidence that a bound is passed (`mindgauge.stats.detector`); an alarm is raised when it is
    strong enough that, at a rate that stands at its limit, alarms are `apart` looks apart on average, at least. Rules
    that forbid a level raise one at the first reply. Rules that compare are left to `gate`.

    Args:
        source: a file or folder of transcripts, in any shape (docs/tasks/transcripts.md).
        policy: a gate's policy (docs/tasks/gate.md); its `must` rules count, and what it needs of a judge.
        judge: who rates, as in `rate`.
        out: the folder of the watch: a run for each look, what it met, and a page with the charts.
        name: the benchmark by which is rated; if not given, the one that the policy names.
        unit: what is rated at once, as in `rate`.
        sample: dialogues that are drawn of what is new; all, where fewer are.
        seed: of the draw.
        apart: looks between false alarms on average, at least, over all rates together.
        columns: our name → the file's name of a column.
        options: as in `rate`.

    Raises:
        UsageError: the policy, the folder or an option is wrong.
        DataError: nothing can be read.
        EndpointError: a judge cannot be reached; the same call finishes the look.
    """
    rules = _policy(policy)
    benchmark = name or _only_benchmark(rules)
    if sample < 1 or apart < 2:
        raise UsageError("--sample must be at least 1, and --apart at least 2 looks")
    _check(rules, benchmark)
    folder = Path(out)
    lock = locks.lock(folder)
    try:
        history = _history(folder)
        current = _broken_off(folder, history) or _meet(Path(source), folder, history, columns or {}, sample, seed)
        if isinstance(current, Unseen):
            private.write(folder / _UNSEEN, msgspec.json.encode(current))
            return WatchResult(str(folder), str(folder / PAGE), None, current)
        place = _place(folder, current.number)
        try:
            rate(benchmark, dialogues=place / _DRAWN, judge=judge, unit=unit, out=place / _RUN, **options)
        except DataError as error:
            raise DataError(str(error).replace(str(place / _DRAWN), f"what was drawn of {source}")) from error
        look = _held(rules, folder, current, apart)
        private.write(place / _RESULT, msgspec.json.encode(look))
        (folder / _UNSEEN).unlink(missing_ok=True)
        looks = [_read(path, Look) for path in sorted((folder / LOOKS).glob(f"*/{_RESULT}"))]
        private.write(folder / PAGE, watch_page.page(looks, str(source), apart))
    finally:
        os.close(lock)
    return WatchResult(str(folder), str(folder / PAGE), look)


_Policy = policy.GatePolicy


def _policy(path: str | Path) -> _Policy:
    rules = policy.read(Path(path))
    if not rules.must:
        raise UsageError(f"--policy {path}: no [[must]]: a watch holds bounds; what compares is for mindgauge gate")
    return rules


def _check(rules: _Policy, name: str) -> None:
    """See that a benchmark has what a policy bounds, before anything is paid for.

    Raises:
        UsageError: there is no such benchmark, or it has no such metric, criterion or level.
    """
    chosen = benchmarks.asked(name)
    nothing = GateSide("", [], [])
    anywhere = {*SHARES_OF_YES, *(metric.name for metric in STATUS_RATES)}
    for rule in rules.must:
        if not rule.rule:
            build_rules.at_levels(rule, nothing, chosen)
        elif rule.bound.metric not in anywhere:
            build_rules.matching(rule, rule.bound, [], chosen)


def _only_benchmark(rules: _Policy) -> str:
    names = sorted({rule.benchmark for rule in rules.must if rule.benchmark})
    if len(names) != 1:
        raise UsageError(f"name the benchmark by which is rated; the policy names {' and '.join(names) or 'none'}")
    return names[0]


def _place(folder: Path, number: int) -> Path:
    return folder / LOOKS / f"{number:05}"


def _history(folder: Path) -> list[MetDialogues]:
    """Return what all looks met, in their order."""
    return [_read(path, MetDialogues) for path in sorted((folder / LOOKS).glob(f"*/{_MET}"))]


def _broken_off(folder: Path, history: Sequence[MetDialogues]) -> MetDialogues | None:
    """Return the last look if it was not finished."""
    return history[-1] if history and not (_place(folder, history[-1].number) / _RESULT).is_file() else None


def _read(path: Path, kind: Any) -> Any:
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read ({error}); remove {path.parent} to take that look again") from error


def _meet(
    source: Path, folder: Path, history: Sequence[MetDialogues], columns: Mapping[str, str], sample: int, seed: int
) -> MetDialogues | Unseen:
    """Keep what is new, and what of it is drawn, before anything is sent; or say of what nothing is new."""
    seen = {key: dialogue for look in history for key, dialogue in look.dialogues.items()}
    files = {name: state for look in history for name, state in look.files.items()}
    fresh = feed.new(source, columns, files, seen)
    if not fresh.dialogues:
        looks_before = _read(folder / _UNSEEN, Unseen).looks if (folder / _UNSEEN).is_file() else 0
        return Unseen(str(source), fresh.present, len({*files, *fresh.files}), looks_before + 1, fresh.notes)
    drawn = feed.drawn(fresh.dialogues, sample, seed)
    number = history[-1].number + 1 if history else 1
    look = MetDialogues(
        number, manifest.now(), fresh.files,
        {key: SeenDialogue(t.words, key in set(drawn)) for key, t in fresh.dialogues.items()}, fresh.notes,
    )  # fmt: skip
    place = _place(folder, number)
    draft = place.with_name(f".{place.name}")
    shutil.rmtree(draft, ignore_errors=True)
    lines = [msgspec.json.encode(transcripts.as_row(fresh.dialogues[key])) for key in drawn]
    try:
        private.folder(draft)
        private.write(draft / _DRAWN, b"\n".join(lines) + b"\n")
        private.write(draft / _MET, msgspec.json.encode(look))
        draft.rename(place)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return look


def _held(rules: _Policy, folder: Path, current: MetDialogues, apart: int) -> Look:
    """Hold the bounds of a policy against a look that is rated."""
    build = read_build(_place(folder, current.number) / _RUN)
    before: dict[RateKey, WatchedRate] = {}
    for path in sorted((folder / LOOKS).glob(f"*/{_RESULT}")):
        before |= {rate.key: rate for rate in _read(path, Look).rates}
    sides = [measured.read(place) for place in sorted((folder / LOOKS).glob(f"*/{_RUN}"))]
    rates = watched(rules, build, before, sides, float(apart))
    if not rates and all(rule.rule for rule in rules.must):
        raise UsageError(f"nothing that was rated has a metric of --policy {rules.path}; see {command_line('score', _place(folder, current.number) / _RUN)}")  # fmt: skip
    drawn = sum(dialogue.drawn for dialogue in current.dialogues.values())
    absent, ever = unseen(rules, rates), {key.rule for key in before}
    notes = [
        *current.notes,
        *build.side.notes,
        *(f"{title}: nothing of it in this look" for title in absent if title in ever),
    ]
    look = Look(
        number=current.number, at=current.at, dialogues=len(current.dialogues), drawn=drawn, rates=rates, broken=broken(rules, build),
        unmeasured=[f"{title}: nothing of it in this look or any before; are slice, rater and model written as the logs have them?" for title in absent if title not in ever],
        notes=list(dict.fromkeys(notes)),
    )  # fmt: skip
    if not look.alarms:
        return look
    replies = f"the replies behind it: {command_line('report', _place(folder, current.number) / _RUN)}"
    return msgspec.structs.replace(look, notes=[replies, *look.notes])
