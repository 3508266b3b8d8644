"""`gate`: may this build be released? A team's rules, held against a run and a baseline."""

from __future__ import annotations

import contextlib
import os
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from mindgauge.analysis import score
from mindgauge.analysis.gate import baseline as baseline_file
from mindgauge.analysis.gate import measured, policy
from mindgauge.analysis.gate.baseline import NightSeries, locked, series_key
from mindgauge.analysis.gate.gate import drafted, hold
from mindgauge.analysis.gate.measured import Build
from mindgauge.benchmarks import passed_tests
from mindgauge.commands.command import command
from mindgauge.commands.status import status
from mindgauge.records import digest
from mindgauge.records.command_result import Tabular
from mindgauge.records.errors import MindgaugeError, UsageError
from mindgauge.records.files import private, tables
from mindgauge.records.rounding import count, plural
from mindgauge.records.shell import command_line
from mindgauge.reports import gate_files, reliability_gate
from mindgauge.store import Store, manifest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mindgauge.analysis.gate.outcome import GateDecision


_ONCE = (
    "the baseline was measured once: if it was picked as the best of several, equal builds fail more often; run it once "
    "more, and make the baseline with `mindgauge gate baseline RUN --again NEW --out FILE`"
)
_CONTENT = (
    "SELECT checksum FROM replies ORDER BY benchmark, id",
    "SELECT checksum FROM rated ORDER BY series, subject, run",
)
_FEW = 200
"""Resamples that see whether a policy can be held at all."""


class GateFile(Tabular, msgspec.Struct, frozen=True):
    """A policy or a baseline that was written; it stands for its path wherever one is wanted."""

    path: Path
    content: str
    run: str
    notes: list[str] = []

    def __fspath__(self) -> str:
        return str(self.path)

    def summary(self) -> list[str]:
        """Say what was written, and of which run."""
        return [f"{self.path}: {self.content}", f"made from {self.run}", *self.notes]

    def _listed(self) -> list[dict[str, str]]:
        return [{"path": str(self.path), "content": self.content, "run": self.run}]


@contextlib.contextmanager
def _wrong_use(option: str = "", result: GateDecision | None = None) -> Iterator[None]:
    """Keep exit code 1 for a build that fails: a full disk is none. Say what the gate said, where it could not be written.

    Raises:
        UsageError: in place of any other fault.
    """
    try:
        yield
    except MindgaugeError as error:
        if result is None and isinstance(error, UsageError):
            raise
        raise UsageError(f"{option}{error}{f'; {result.headline()}' if result is not None else ''}") from error


@command(without="resamples seed", doing="Holding the rules")
@_wrong_use()
def gate(
    run: str | Path,
    *,
    policy: str | Path | GateFile | policy.GatePolicy,
    baseline: str | Path | GateFile | None = None,
    junit: str | Path | None = None,
    markdown: str | Path | None = None,
    series: str | Path | None = None,
    resamples: int = 2000,
    seed: int = 0,
) -> GateDecision:
    """Hold a policy against a run: `mindgauge gate RUN --policy gate.toml`. Exit code 0: passed, 1: failed, 2: wrong use, 3: cannot tell.

    Args:
        run: The build's run directory.
        policy: The rules; `mindgauge gate init RUN` writes a file to begin with. In Python also a `GatePolicy`.
        baseline: A run, or a file of `gate baseline`; if not given, the policy's.
        junit: Write each rule as a JUnit test case here.
        markdown: Write before and after as Markdown here.
        series: A file of nights, which the gate adds itself to: `false_alarms` is then the chance of all of them
            together.
        resamples: of conversations.
        seed: of their generator.

    Raises:
        UsageError: there is no run, no policy or no baseline, they do not fit each other, or a file cannot be written; the
            message says why.
        DataError: the run's ratings, the baseline file, or the series cannot be read.
    """
    rules = policy if isinstance(policy, _Policy) else read_policy(Path(policy))
    build = read_build(Path(run), resamples=resamples, seed=seed)
    place = _baseline(baseline, rules)
    other = None
    if place is not None:
        other = measured.read(place) if place.is_dir() else baseline_file.read(place, build.side)
    remarks = [_ONCE] if place is not None and rules.compares and not _measured_again(place) else []
    if series is None:
        result = hold(rules, build, other, resamples=resamples, seed=seed)
    else:
        with locked(Path(series)):
            key = series_key(rules, "" if place is None else _identity(place))
            tonight = NightSeries(Path(series), key, _identity(Path(run)))
            result = hold(rules, build, other, series=tonight, resamples=resamples, seed=seed)
            with _wrong_use("--series ", result):
                tonight.keep(result.outcome, _made(Path(run)), Path(run).resolve().name)
    result = msgspec.structs.replace(result, notes=[*result.notes, *remarks])
    for option, path, text in (("--junit", junit, gate_files.junit), ("--markdown", markdown, gate_files.markdown)):
        if path is not None:
            with _wrong_use(f"{option} ", result):
                private.write(Path(path), text(result))
    return result


@command()
@_wrong_use()
def gate_init(
    run: str | Path, *, out: str | Path = "gate.toml", baseline: str | Path | GateFile | None = None
) -> GateFile:
    """Write a policy to begin with: limits that a run keeps.

    Args:
        run: A run directory.
        out: The policy to write.
        baseline: What it compares with, such as a file of `gate baseline`; the run, if not given.

    Raises:
        UsageError: there is no run, the file is there, or of this run no policy can be made.
    """
    path = Path(out)
    build = read_build(Path(run))
    if path.exists():
        raise UsageError(f"{path} is there already: give another --out")
    named = Path(baseline if baseline is not None else run)
    place = Path(os.path.relpath(named.resolve(), path.parent.resolve())).as_posix()
    text, unmet = drafted(build, place)
    stated = tomllib.loads(text)
    if not stated.keys() & {"must", "compare", "items"}:
        reasons = [*unmet, *(score.void for score in build.scores.metrics)]
        raise UsageError(f"{run}: no score to set limits by: {next(filter(None, reasons), 'nothing was rated')}")
    rules = policy.of_content(stated, path, text)
    hold(rules, build, build.side, resamples=_FEW)
    private.write(path, text)
    notes = [f"cannot be told yet: {reason}" for reason in unmet]
    if not named.exists():
        notes.append(f"{named} is not there yet: {command_line('gate', 'baseline', run, '--out', named)}")
    number = len(rules.must) + len(rules.compare) + len(rules.items)
    content = f"a policy of {plural(number, 'rule')}; set its limits to what you can answer for"
    return GateFile(path, content, str(run), notes)


@command()
@_wrong_use()
def gate_baseline(run: str | Path, *, out: str | Path, again: str | Path | None = None) -> GateFile:
    """Write what later builds are compared with, as a small file.

    Args:
        run: A run directory.
        out: The file to write, for your repository: hashes, values, verdicts, no text.
        again: A later run of the same build, which the file then holds: RUN may have been picked by luck.

    Raises:
        UsageError: there is no run, it holds dialogues of several turns, or `again` is not a later run of the same systems.
    """
    chosen = ""
    if again is not None:
        _refuse_other(Path(run), Path(again))
        chosen, run = Path(run).resolve().name, again
    build, content = read_build(Path(run)), manifest.read(Path(run))
    facts = {
        "mindgauge": manifest.software(), "made": content.get("ended", content.get("created", "")), "chosen": chosen,
        "run": Path(run).resolve().name, "samples": build.samples,
    }  # fmt: skip
    path = Path(out)
    text = baseline_file.encoded(baseline_file.of_run(build.side, build.scores, facts))
    private.write(path, text)
    note = f'a policy beside it names it by the line: baseline = "{path.name}"'
    notes = [note] if chosen else [note, _ONCE]
    return GateFile(path, "a baseline: hashes, values and verdicts, no text", str(run), notes)


def _refuse_other(first: Path, rerun: Path) -> None:
    """See that a run is a later one of the same systems on the same benchmarks.

    Raises:
        UsageError: it is not; the message says why.
    """
    sides = measured.read(first), measured.read(rerun)
    if _made(rerun) <= _made(first):
        raise UsageError(
            f"--again {rerun}: it was not made after {first}; run the same build once more, into a new folder"
        )
    for name in sides[0].benchmarks:
        own, others = (side.models(name) for side in sides)
        if {*map(measured.unlabelled, own)} - {*map(measured.unlabelled, others)}:
            raise UsageError(
                f"--again {rerun}: of {name} it has {', '.join(others) or 'nothing'}, and {first} has {', '.join(own)}"
            )


def _made(run: Path) -> str:
    return str(manifest.read(run).get("created", ""))


def _identity(place: Path) -> str:
    """Return the hash by which a run or a baseline file is known: of what it holds, whatever its name."""
    if not place.is_dir():
        return baseline_file.decoded(place).checksum
    with Store(place) as store:
        return digest(_made(place), *(store.select(query).fetchall() for query in _CONTENT))


def _measured_again(baseline: Path) -> bool:
    return not baseline.is_dir() and bool(baseline_file.decoded(baseline).chosen)


_Policy, read_policy = policy.GatePolicy, policy.read


def _baseline(chosen: str | Path | GateFile | None, rules: policy.GatePolicy) -> Path | None:
    """Return where the baseline is: as the command says, or else as the policy does.

    Raises:
        UsageError: there is nothing.
    """
    if chosen is None and not rules.baseline:
        return None
    path = Path(chosen) if chosen is not None else Path(rules.path).parent / rules.baseline
    if not path.exists():
        raise UsageError(f"--baseline {path}: there is no such run or file")
    if path.is_dir() and not tables.is_run(path):
        raise UsageError(f"--baseline {path}: a folder, and no run")
    return path


def read_build(folder: Path, *, resamples: int = 2000, seed: int = 0) -> Build:
    """Read all that a gate asks of a run.

    Raises:
        UsageError: there is no run in the folder.
    """
    scores = score.score(folder, resamples=resamples, seed=seed)
    store, benchmarks, content = score.open_run(folder)
    with store:
        tested = {(judge.judge, judge.instrument) for judge in passed_tests.passed(store)}
        (asked,) = store.select("SELECT count(*) FROM samples").fetchone()
    gate = reliability_gate.of_run(folder)
    cards = {key: run_card.card.verdict for key, run_card in gate.cards.items()}
    samples = content.get("plan", {}).get("samples", [])
    return Build(
        measured.read(folder), scores, benchmarks, cards, tested, samples, _unfinished(folder), asked, gate.unused, gate.looked_at
    )  # fmt: skip


def _unfinished(folder: Path) -> list[tuple[str, float]]:
    """Say what of its plan a run has not done yet, and why; a call that failed is not done. Replies before their ratings."""
    with Store(folder) as store:
        failure = store.commonest_failure()
    return [
        (
            (
                f"{count(part.left)} of {count(part.of)} {'replies' if part.kind == 'reply' else 'ratings'} by {part.name} "
                f"on {part.benchmark} are not there{f' (most often {failure.words})' if failure and failure.model == part.name else ''}: "
                "repeat the command that made the run"
            ),
            part.left / part.of,
        )
        for part in sorted(status(folder).left, key=lambda part: part.kind != "reply")
        if part.left
    ]
