"""`logs watch`: one look at what is new in a folder of logs. The same call looks again, or finishes a look that broke off."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Unpack

import msgspec
from msgspec import Meta

from mindgauge import benchmarks
from mindgauge.analysis.gate import build_rules, measured
from mindgauge.analysis.gate import policy as gate_policy
from mindgauge.analysis.gate.measured import GateSide
from mindgauge.analysis.watch import Look, RateKey, WatchedRate, broken, watched
from mindgauge.benchmarks.metrics import SHARES_OF_YES, STATUS_RATES
from mindgauge.commands.command import CommandOption, Count, command
from mindgauge.commands.gate import read_build
from mindgauge.commands.logs.sample import lot
from mindgauge.commands.rate import rate
from mindgauge.records import digest, transcripts
from mindgauge.records.command_result import Tabular
from mindgauge.records.errors import DataError, UsageError
from mindgauge.records.files import private, tables
from mindgauge.records.rounding import count, plural
from mindgauge.records.shell import command_line
from mindgauge.records.transcripts.reading import TEXTS
from mindgauge.reports import watch_page
from mindgauge.store import locks, manifest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mindgauge.records.transcripts.transcript import Transcript
    from mindgauge.runs.options import AnyModel, RateOptions

LOOKS = "looks"
PAGE = "watch.html"
_MET, _DRAWN, _RUN, _RESULT, _UNSEEN = "met.json", "dialogues.jsonl", "run", "look.json", "unseen.json"
BLIND = 3
"""Looks in a row that met nothing new, from which on nobody can tell that all is well."""
LISTED = 5
"""Files that could not be read and are named at a look, at most."""
_ENDINGS = {*TEXTS, *tables.ENDINGS, ".zip", ".eval"}


FileState = tuple[int, int]
"""How a file was when it was read: its size in bytes, and when it was written."""
SeenDialogue = tuple[str, bool]
"""A dialogue that a look has met: the hash of its words then, and whether it was drawn."""


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
        yield from (
            *look.alarms,
            *look.unmeasured,
            *(rate.sentence() for rate in look.rates if not rate.alarm),
            *look.notes,
        )
        yield self.page

    def _listed(self) -> Sequence[dict[str, Any]]:
        rates = self.look.rates if self.look is not None else []
        return [{**rate.key._asdict(), **msgspec.structs.asdict(rate), "key": None} for rate in rates]


@command(
    first="policy judge out benchmark unit sample apart every max_cost concurrency",
    without="seed as_published show_requests write_items instrument ask shots own_family anchors judge_max_tokens judge_temperature",
)
def logs_watch(
    source: str | Path,
    *,
    policy: str | Path,
    judge: AnyModel | Sequence[AnyModel],
    out: str | Path,
    name: Annotated[str | None, CommandOption(flag="--benchmark")] = None,
    unit: str | None = None,
    sample: Count = 50,
    seed: int = 0,
    apart: Annotated[int, Meta(ge=2)] = 200,
    columns: Mapping[str, str] | None = None,
    **options: Unpack[RateOptions],
) -> WatchResult:
    """Look at what is new in a folder of logs: draw some, rate it, hold it against bounds. Exit code 0: no alarm, 1: alarm, 3: cannot tell.

    Each look adds to the evidence that a bound is passed (`mindgauge.stats.detector`); an alarm is raised when it is
    strong enough that, at a rate that stands at its limit, alarms are `apart` looks apart on average, at least. Rules
    that forbid a level raise one at the first reply. Rules that compare are left to `gate`.

    Args:
        source: Where logs are written: a file or folder of transcripts.
        policy: A gate's policy, whose [[must]] rules are held.
        judge: Who rates: a model, files/DIR (answers by hand), classifier/FOLDER, or a rule (rule/refusal). May be
            repeated; in Python also functions.
        out: The folder of the watch: its looks, and a page with charts.
        name: By which is rated; if not given, the policy's.
        unit: Rate every `turn` of the assistant, the whole `dialogue`, each message of the person alone (`client`), or
            several: `turn,client,dialogue`; `both` is `turn,dialogue`.
        sample: Dialogues drawn of what is new, at each look.
        seed: of the draw.
        apart: Looks between false alarms on average, at least.
        columns: our name → the file's name of a column.
        options: as in `rate`.

    Raises:
        UsageError: the policy, the folder or an option is wrong.
        DataError: nothing can be read.
        EndpointError: a judge cannot be reached; the same call finishes the look.
    """
    rules = gate_policy.read(Path(policy))
    if not rules.must:
        raise UsageError(f"--policy {policy}: no [[must]]: a watch holds bounds; what compares is for mindgauge gate")
    names = sorted({rule.benchmark for rule in rules.must if rule.benchmark})
    if not name and len(names) != 1:
        raise UsageError(f"name the benchmark by which is rated; the policy names {' and '.join(names) or 'none'}")
    benchmark = name or names[0]
    if sample < 1 or apart < 2:
        raise UsageError("--sample must be at least 1, and --apart at least 2 looks")
    _check(rules, benchmark)
    folder = Path(out)
    lock = locks.lock(folder)
    try:
        history: list[MetDialogues] = _all(folder, _MET, MetDialogues)
        broken_off = history and not (_place(folder, history[-1].number) / _RESULT).is_file()
        current = history[-1] if broken_off else _meet(Path(source), folder, history, columns or {}, sample, seed)
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
        looks = _all(folder, _RESULT, Look)
        private.write(folder / PAGE, watch_page.page(looks, str(source), apart))
    finally:
        os.close(lock)
    return WatchResult(str(folder), str(folder / PAGE), look)


def _check(rules: gate_policy.GatePolicy, name: str) -> None:
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


def _place(folder: Path, number: int) -> Path:
    return folder / LOOKS / f"{number:05}"


def _all(folder: Path, name: str, kind: Any) -> list[Any]:
    """Return what all looks left in files of a name, in their order."""
    return [_read(path, kind) for path in sorted((folder / LOOKS).glob(f"*/{name}"))]


def _read(path: Path, kind: Any) -> Any:
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read ({error}); remove {path.parent} to take that look again") from error


def _meet(
    source: Path, folder: Path, history: Sequence[MetDialogues], columns: Mapping[str, str], sample: int, seed: int
) -> MetDialogues | Unseen:
    """Keep what is new, and what of it is drawn, before anything is sent; or say of what nothing is new.

    A file that is as it was is not read; one that cannot be read waits for the next look. A dialogue that went on is new
    again, unless it was drawn before.

    Raises:
        UsageError: there is no such file or folder, or a sample is in it.
    """
    seen = {key: dialogue for look in history for key, dialogue in look.dialogues.items()}
    files = {name: state for look in history for name, state in look.files.items()}
    dialogues: dict[str, Transcript] = {}
    read: dict[str, FileState] = {}
    faults = []
    present = _files(source)
    for path in present:
        try:
            facts = path.stat()
            state = (facts.st_size, facts.st_mtime_ns)
            if files.get(str(path)) == state:
                continue
            listed = transcripts.read(path, columns).transcripts
        except FileNotFoundError:  # gone by now, as logs are that are rotated
            continue
        except DataError as error:
            faults.append(str(error))
            continue
        read[str(path)] = state
        if any(transcript.drawn is not None for transcript in listed):
            raise UsageError(f"{path}: a sample that was drawn of logs; a watch draws its own, so name the folder of the logs themselves")  # fmt: skip
        for transcript in listed:
            ident = ("id", transcript.id) if transcript.named else ("words", transcript.words)
            key = digest("watch", *ident, transcript.model, transcript.run, transcript.cluster)[:16]
            words, drawn = seen.get(key, ("", False))
            if not drawn and words != transcript.words:
                dialogues[key] = transcript
    notes = [f"could not be read, and is tried again at the next look: {fault}" for fault in faults[:LISTED]]
    if len(faults) > LISTED:
        notes.append(
            f"{plural(len(faults) - LISTED, 'more file')} could not be read, {plural(len(faults), 'file')} in all"
        )
    if not dialogues:
        looks_before = _read(folder / _UNSEEN, Unseen).looks if (folder / _UNSEEN).is_file() else 0
        return Unseen(str(source), len(present), len({*files, *read}), looks_before + 1, notes)
    chosen = sorted(lot(dialogues, sample, seed))
    number = history[-1].number + 1 if history else 1
    states = {key: (transcript.words, key in set(chosen)) for key, transcript in dialogues.items()}
    look = MetDialogues(number, manifest.now(), read, states, notes)
    _keep(_place(folder, number), look, [dialogues[key] for key in chosen])
    return look


def _files(source: Path) -> list[Path]:
    if not source.exists():
        raise UsageError(f"{source}: no such file or folder; name where your logs are written")
    if source.is_file():
        return [source]
    listed = (path for path in source.rglob("*") if path.suffix.lower() in _ENDINGS)
    return sorted(path for path in listed if path.is_file() and not path.name.startswith("."))


def _keep(place: Path, look: MetDialogues, drawn: Sequence[Transcript]) -> None:
    """Write what a look met and drew, all of it or nothing."""
    draft = place.with_name(f".{place.name}")
    shutil.rmtree(draft, ignore_errors=True)
    try:
        private.folder(draft)
        lines = [msgspec.json.encode(transcripts.as_row(transcript)) for transcript in drawn]
        private.write(draft / _DRAWN, b"\n".join(lines) + b"\n")
        private.write(draft / _MET, msgspec.json.encode(look))
        draft.rename(place)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _held(rules: gate_policy.GatePolicy, folder: Path, current: MetDialogues, apart: int) -> Look:
    """Hold the bounds of a policy against a look that is rated."""
    run = _place(folder, current.number) / _RUN
    build = read_build(run)
    before: dict[RateKey, WatchedRate] = {rate.key: rate for look in _all(folder, _RESULT, Look) for rate in look.rates}
    sides = [measured.read(place) for place in sorted((folder / LOOKS).glob(f"*/{_RUN}"))]
    rates = watched(rules, build, before, sides, float(apart))
    if not rates and all(rule.rule for rule in rules.must):
        raise UsageError(
            f"nothing that was rated has a metric of --policy {rules.path}; see {command_line('score', run)}"
        )
    here, ever = {rate.key.rule for rate in rates}, {key.rule for key in before}
    absent = [rule.title for rule in rules.must if rule.rule and rule.title not in here]
    notes = [
        *current.notes,
        *build.side.notes,
        *(f"{title}: nothing of it in this look" for title in absent if title in ever),
    ]
    look = Look(
        number=current.number, at=current.at, dialogues=len(current.dialogues), rates=rates, broken=broken(rules, build),
        drawn=sum(drawn for _, drawn in current.dialogues.values()),
        unmeasured=[f"{title}: nothing of it in this look or any before; are slice, rater and model written as the logs have them?" for title in absent if title not in ever],
        notes=list(dict.fromkeys(notes)),
    )  # fmt: skip
    if not look.alarms:
        return look
    replies = f"the replies behind it: {command_line('report', run)}"
    return msgspec.structs.replace(look, notes=[replies, *look.notes])
