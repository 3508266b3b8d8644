"""The run in which a model writes or reads items, and another checks it: what came of each, with a reason where nothing did."""

from __future__ import annotations

from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from mindgauge.analysis.dataset.transforming import MadeText
from mindgauge.benchmarks.forms import written
from mindgauge.benchmarks.forms.written import WrittenForm
from mindgauge.records import CUT_OFF, Message, Sample, Status
from mindgauge.records.errors import MindgaugeError
from mindgauge.records.rounding import count, plural
from mindgauge.runs import languages, plan, run_folder
from mindgauge.runs.forecast import DryRun, foresee, warn_of_length
from mindgauge.runs.form_steps import FormStep, to_check, written_by
from mindgauge.runs.steps import CallStep, PlannedSubject
from mindgauge.store import ReplyScope, Store

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from mindgauge.benchmarks import Benchmark
    from mindgauge.records import Rating, Reply
    from mindgauge.records.request import Model
    from mindgauge.runs.options import RunConfig

CUT = "it was cut off at the longest answer"
_OUTCOMES = {
    Status.FAILED: "no answer came; the same command asks again", Status.REFUSED: "the model refused",
    Status.FILTERED: "the provider blocked it", Status.UNPARSABLE: "nothing can be read from the answer",
}  # fmt: skip


class Writers(NamedTuple):
    """Who writes (or reads), and who checks; by one name where a model checks itself."""

    model: Model
    checker: Model

    @property
    def alone(self) -> bool:
        """Whether a model checks itself."""
        return self.model.name == self.checker.name


class Wrote(NamedTuple):
    """What was made, in which run."""

    texts: list[MadeText]
    run: Path


def write(
    samples: Sequence[Sample], forms: Sequence[WrittenForm], writers: Writers, seed: int, run: Path | None, config: RunConfig,
    *, dry_run: bool,
) -> Wrote | DryRun:  # fmt: skip
    """Let a model write samples in forms, and another check each by `checks.rewriting`.

    Raises:
        MindgaugeError: nothing was written, all of it was cut off, or nothing checked.
        UsageError: the run there is another.
        BudgetError: the next call could pass what may be spent.
    """
    benchmark, by_id = written.rewriting(), {sample.id: sample for sample in samples}
    names = frozenset(written_by(writers.model.name, form) for form in forms)
    record = run_folder.plan_record(
        [benchmark], [[*by_id.values()]], config, models=sorted(names), judges=[writers.checker.name],
        roles_seed=seed if WrittenForm.SECRET in forms else None,
    )  # fmt: skip
    record["words"][benchmark.name] |= {f"{form} prompt": written.prompt(form).hash[:12] for form in forms}
    folder = run or run_folder.folder_for(record, [benchmark])
    writing = [
        FormStep(
            benchmark=benchmark, model=writers.model, purpose=f"write {form}", form=form, draw_seed=seed,
            subjects=lambda: map(PlannedSubject, by_id.values()), parameters=config.asking.parameters,
        )
        for form in forms
    ]  # fmt: skip
    scope = ReplyScope(frozenset(by_id), names, 1)
    subjects = to_check(folder, benchmark, [*by_id.values()], names)
    checking = plan.judging(benchmark, subjects, [writers.checker], config, scope=scope)
    forecast = _perform(folder, record, benchmark, [*by_id.values()], (writing, checking), config, dry_run=dry_run)
    if forecast is not None:
        return forecast
    with Store(folder) as store:
        every_reply = {(reply.sample, reply.model): reply for reply in store.replies(benchmark.name) if reply.run == 0}
        ratings = _ratings(store, benchmark, writers.checker.name, 1)
    replies = {key: reply for key, reply in every_reply.items() if key[0] in by_id and key[1] in names}
    _need(Counter(reply.status for reply in replies.values()), "texts")
    endings = [reply.finish_reason for reply in replies.values() if reply.status is Status.OK]
    if set(endings) == {CUT_OFF}:
        raise MindgaugeError(f"nothing is kept: {plural(len(endings), 'text')} cut off at the longest answer, and no other came; raise --max-tokens, in another --run")  # fmt: skip
    _need(Counter(r.status for reply in replies.values() if reply.status is Status.OK for r in ratings.get(reply.id, [])), "checks")  # fmt: skip
    return Wrote(
        [
            _made(place, sample, form, replies.get((sample.id, written_by(writers.model.name, form))), ratings, benchmark, seed)
            for place, sample in enumerate(samples)
            for form in forms
        ],
        folder,
    )  # fmt: skip


def _made(
    place: int, sample: Sample, form: WrittenForm, reply: Reply | None, ratings: dict[str, list[Rating]], benchmark: Benchmark, seed: int
) -> MadeText:  # fmt: skip
    """Read what was written, and hold it against the check."""
    if reply is None or reply.status is not Status.OK:
        return MadeText(place, form, fault=_OUTCOMES[Status.FAILED if reply is None else reply.status])
    text = written.read(form, sample, reply.text, seed)
    if text.fault or reply.finish_reason == CUT_OFF:
        messages = text.messages or (Message("user", reply.text),)
        return MadeText(place, form, messages, fault=text.fault or CUT, anew=True)
    faults = written.faults(benchmark, ratings.get(reply.id, []))
    reason = f"check: {', '.join(faults)}" if faults else ""
    return MadeText(place, form, text.messages, tags=text.tags, fault=reason, subject=reply.id, anew=True)


def read_identity(
    samples: Sequence[Sample], readers: Writers, run: Path | None, config: RunConfig, *, dry_run: bool
) -> Wrote | DryRun:
    """Let two models, or one twice, say whether texts show who the person is; a text stays that shows it to neither.

    Raises:
        MindgaugeError: nothing was read.
        UsageError: the run there is another.
        BudgetError: the next call could pass what may be spent.
    """
    benchmark, by_id = written.identity(), {sample.id: sample for sample in samples}
    models, repeats = ([readers.model], 2) if readers.alone else ([*readers], 1)
    names = [model.name for model in models]
    record = run_folder.plan_record([benchmark], [[*by_id.values()]], config, models=names, reads=repeats)
    folder = run or run_folder.folder_for(record, [benchmark])
    reading = plan.questioning(
        benchmark, lambda: map(PlannedSubject, by_id.values()), models, [benchmark.instrument()], config.asking.parameters, repeats
    )  # fmt: skip
    forecast = _perform(folder, record, benchmark, [*by_id.values()], [reading], config, dry_run=dry_run)
    if forecast is not None:
        return forecast
    with Store(folder) as store:
        readings = [
            {subject: [rating for rating in ratings if rating.run == repeat] for subject, ratings in of_reader.items()}
            for of_reader in (_ratings(store, benchmark, name, repeats) for name in names)
            for repeat in range(repeats)
        ]
    for by_sample in readings:
        _need(Counter(rating.status for ident in by_id for rating in by_sample.get(ident, [])), "readings")
    texts = []
    for place, sample in enumerate(samples):
        faults = dict.fromkeys(
            fault for by_sample in readings for fault in written.faults(benchmark, by_sample.get(sample.id, []))
        )
        texts.append(
            MadeText(place, written.IDENTITY, sample.messages, fault=", ".join(sorted(faults)), subject=sample.id)
        )
    return Wrote(texts, folder)


def _perform(
    folder: Path, record: dict[str, Any], benchmark: Benchmark, samples: Sequence[Sample],
    phases: Sequence[Sequence[CallStep]], config: RunConfig, *, dry_run: bool,
) -> DryRun | None:  # fmt: skip
    """Make the calls of a run, phase by phase; say what it would take, where nothing is to be sent."""
    steps = [*chain.from_iterable(phases)]
    warn_of_length(steps, config.notice)
    languages.announce(benchmark, samples, config.notice)
    if dry_run:
        run_folder.warn_of_refusal(folder, record, config)
        return foresee(folder, [benchmark], steps, config)
    with run_folder.open_run(folder, record, config, samples={benchmark.name: samples}, steps=steps) as store:
        run_folder.keep_samples(store, benchmark, samples, config.command)
        for phase in phases:
            plan.perform(store, phase, config)
    return None


def _ratings(store: Store, benchmark: Benchmark, rater: str, runs: int) -> dict[str, list[Rating]]:
    """Return what a rater says of each subject."""
    by_subject: dict[str, list[Rating]] = {}
    for rating in store.ratings(benchmark.name):
        if rating.rater == rater and rating.run < runs:
            by_subject.setdefault(rating.subject, []).append(rating)
    return by_subject


def _need(statuses: Counter[Status], noun: str) -> None:
    """See that something came of it.

    Raises:
        MindgaugeError: every call failed, or no check can be read.
    """
    if statuses and not statuses[Status.OK]:
        kinds = ", ".join(f"{count(number)} {status}" for status, number in statuses.most_common())
        raise MindgaugeError(f"no {noun} came of it ({kinds}); the same command asks again what failed")
