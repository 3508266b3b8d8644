"""`dataset transform`: the items of a data set in other forms, by rule or by a model that another checks."""

from __future__ import annotations

from collections import Counter
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Unpack

import msgspec
import polars as pl

from mindgauge.analysis.dataset import build as records
from mindgauge.analysis.dataset import transforming
from mindgauge.analysis.dataset.build import DROPPED_FILE as DROPPED
from mindgauge.analysis.dataset.build import ITEMS_FILE as ITEMS
from mindgauge.analysis.dataset.build import RECIPE, RECORD, SAMPLE, DatasetRecord, TransformAccount
from mindgauge.analysis.dataset.checked import LABELS
from mindgauge.analysis.dataset.transforming import MadeText
from mindgauge.benchmarks.forms import written
from mindgauge.benchmarks.forms.written import WrittenForm
from mindgauge.benchmarks.variants import by_name
from mindgauge.commands.command import COMMAS, FromZero, command
from mindgauge.commands.dataset import opened
from mindgauge.models.family import same_family
from mindgauge.records import CUT_OFF, Message, Sample, Status
from mindgauge.records.command_result import Tabular, noted
from mindgauge.records.errors import MindgaugeError, UsageError
from mindgauge.records.files import checksum
from mindgauge.records.rounding import count, plural
from mindgauge.reports.export.folder import ExportFolder
from mindgauge.runs import languages, plan, run_folder
from mindgauge.runs.forecast import DryRun, foresee, warn_of_length
from mindgauge.runs.form_steps import FormStep, to_check, written_by
from mindgauge.runs.options import RunConfig, TransformOptions, listed
from mindgauge.runs.steps import CallStep, PlannedSubject
from mindgauge.store import ReplyScope, Store
from mindgauge.store.manifest import software

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mindgauge.analysis.dataset.build import StepAccount
    from mindgauge.benchmarks import Benchmark
    from mindgauge.records import Rating, Reply
    from mindgauge.records.request import Model
    from mindgauge.runs.options import AnyModel


class DatasetTransformed(Tabular, DatasetRecord, frozen=True, kw_only=True):
    """A data set in other forms, and where: `rows` were made, or tried, of which `items` are kept and the others dropped."""

    out: str
    changes: list[StepAccount]
    """What became of each form."""
    sample: int = 0
    """Drawn for people to look at."""

    def summary(self) -> Iterator[str]:
        """Say what was made, what was dropped and why, and who checked it."""
        last = self.transforms[-1]
        yield f"{self.out}: {plural(self.rows, 'text')} made or tried, {plural(self.items, 'item')} and {count(self.dropped)} dropped"
        reasons = Counter({f"{step.step.partition(' ')[2]}: {reason}": n for step in self.changes for reason, n in step.reasons.items()})  # fmt: skip
        if reasons:
            yield f"dropped: {', '.join(f'{reason} {count(n)}' for reason, n in reasons.most_common())}"
        if cut := sum(step.reasons.get(CUT, 0) for step in self.changes):
            yield f"{plural(cut, 'text')} cut off: raise --max-tokens, in another --run"
        if last.run:
            yield f"written by {last.model}, checked by {last.checker}, in {last.run}"
        if self.sample:
            yield f"{plural(self.sample, 'text')} for people, drawn by lot, in {self.out}/{SAMPLE}"
        yield from noted(self.notes, 3)

    def _listed(self) -> Sequence[StepAccount]:
        return self.changes


@command(first="form out model checker sample seed run max_cost dry_run concurrency temperature price")
def dataset_transform(
    folder: str | Path,
    *,
    form: Annotated[str | Sequence[str], COMMAS],
    out: str | Path,
    model: AnyModel | None = None,
    checker: AnyModel | None = None,
    sample: FromZero = 0,
    seed: FromZero = 0,
    run: str | Path | None = None,
    dry_run: bool = False,
    **options: Unpack[TransformOptions],
) -> DatasetTransformed | DryRun:
    """Write items in other forms: by rule, or by a model whose every text is checked; the same command goes on where it stopped.

    What is made keeps group, cluster, split, source and licence of its item, whose id stands in `base`; `variant` says what
    it is. What a check does not pass is dropped, with the reason. The same call goes on where an earlier one stopped.

    Args:
        folder: A data set that was built.
        form: plain, noise, personas, jailbreak, options, or part of one (noise:word); by a model: utterance, dialogue,
            story, secret, identity. Several separated by commas.
        out: The folder to write.
        model: That writes, or reads, the items.
        checker: A model that checks it; the same if not given.
        sample: Draw this many of what was written for people to look at.
        seed: Of all draws.
        run: The run directory of the calls; if not given, one that follows from the plan.
        dry_run: Only say what it would take.
        options: how models are called, and what it may cost:

            temperature: Of the model that writes; its own default if not given.
            max_tokens: The longest answer asked of the model that writes.
            judge_temperature: Of the checker.
            judge_max_tokens: The longest answer asked of the checker.

    Raises:
        TypeError: there is no such option.
        UsageError: there is no data set, no such form, no model where one writes, or the destination holds something else, or labels of people.
        DataError: the data set is not as it was built.
        EndpointError: a model cannot be reached.
        BudgetError: the next call could pass `max_cost`.
        MindgaugeError: nothing was written, all of it was cut off, or nothing of it checked.
    """
    config = RunConfig.of(options, TransformOptions, dataset_transform, dry_run=dry_run)
    place, rules, forms, identity = Path(folder), *_forms(listed(form))
    calls = bool(forms or identity)
    if calls == (model is None) or (not calls and (checker is not None or sample or run or dry_run)):
        raise UsageError(_NEEDS if calls else _NO_CALLS)
    record = opened.dataset(place, out, run)
    opened.unlabelled(out)
    if run is not None:
        opened.apart(run, out)
    target, items = ExportFolder(Path(out)), records.read_items(place)
    items = items.drop(LABELS, strict=False)
    texts = [*transforming.by_rule(items, rules, seed)]
    account = TransformAccount(listed(form), checksum.sha256(place / ITEMS))
    if model is not None:
        writers = _writers(model, checker, config)
        wrote = _written(items, forms, writers, seed, Path(run) if run else None, config, dry_run=dry_run)
        if isinstance(wrote, DryRun):
            return wrote
        written_texts, made_in = wrote
        texts += written_texts
        writer, reader = writers
        account = msgspec.structs.replace(account, model=writer.name, checker=reader.name, run=str(made_in))
    made, dropped, steps = transforming.tables(items, texts)
    drawn = transforming.people_sample(items, texts, sample, seed) if sample else None
    sources = [
        msgspec.structs.replace(source, items=made.filter(pl.col("source") == source.name).height)
        for source in record.sources
    ]
    outcome = msgspec.structs.replace(
        record, name=f"{record.name} ({', '.join(account.forms)})", software=software(), seed=seed, rows=len(texts), items=made.height, dropped=dropped.height,
        splits=_splits(made), notes=[*record.notes, *_remarks(account)], sources=sources, steps=[*record.steps, *steps],
        transforms=[*record.transforms, account], labels=None,
    )  # fmt: skip
    with target:
        target.parquet(ITEMS, made)
        target.parquet(DROPPED, dropped)
        target.json(RECORD, msgspec.to_builtins(outcome))
        if (place / RECIPE).is_file():
            target.text(RECIPE, (place / RECIPE).read_text(encoding="utf-8"))
        if drawn is not None:
            target.csv(SAMPLE, drawn)
    return DatasetTransformed(
        **msgspec.structs.asdict(outcome),
        out=str(out),
        changes=steps,
        sample=0 if drawn is None else drawn.height,
    )


_NEEDS = "utterance, dialogue, story, secret and identity need a model that writes or reads: name it with --model"
_NO_CALLS = "forms by rule ask no model: leave out --model, --checker, --sample, --run and --dry-run, or name a form that a model writes"


def _forms(names: Sequence[str]) -> tuple[list[str], list[WrittenForm], bool]:
    """Tell variants by rule, forms that a model writes, and the filter for identity.

    Raises:
        UsageError: one is none of these, or the filter is not alone.
    """
    rules: dict[str, None] = {}
    forms: dict[WrittenForm, None] = {}
    for form in names:
        if form in set(WrittenForm):
            forms[WrittenForm(form)] = None
        elif form != written.IDENTITY:
            variants = by_name.beginning(form)
            if not variants:
                kinds = dict.fromkeys(name.partition(":")[0] for name in by_name.names())
                raise UsageError(f"--form {form}: forms are {', '.join((*kinds, *WrittenForm, written.IDENTITY))}")
            rules.update(dict.fromkeys(variants))
    if not names:
        raise UsageError("name a form with --form")
    if written.IDENTITY in names and len(names) > 1:
        raise UsageError("--form identity keeps or drops items as they are, and stands alone; transform what it keeps")
    return [*rules], [*forms], written.IDENTITY in names


def _writers(model: AnyModel, checker: AnyModel | None, config: RunConfig) -> tuple[Model, Model]:
    """Open who writes (or reads), and who checks; by one name where a model checks itself."""
    (writer,) = plan.open_models(plan.as_models([model]), config, config.asked)
    (reader,) = plan.open_models(plan.as_models([model if checker is None else checker]), config, config.judged)
    return writer, reader


def _written(
    items: pl.DataFrame, forms: Sequence[WrittenForm], writers: tuple[Model, Model], seed: int, run: Path | None, config: RunConfig,
    *, dry_run: bool,
) -> tuple[list[MadeText], Path] | DryRun:  # fmt: skip
    """Let models write, or read, the items; labels are no business of theirs. Return what was made, and in which run."""
    samples = [msgspec.structs.replace(sample, target=None) for sample in transforming.samples(items)]
    if forms:
        return write(samples, forms, writers, seed, run, config, dry_run=dry_run)
    return read_identity(samples, writers, run, config, dry_run=dry_run)


def _remarks(account: TransformAccount) -> Iterator[str]:
    """Say where whoever checks may favour what is checked."""
    if account.model and account.model == account.checker:
        yield f"{account.model} checked itself; name another model with --checker"
    elif account.model and same_family(account.checker, account.model):
        yield f"{account.checker} and {account.model} are of one family, and a judge may favour its own; name a model of another with --checker"


def _splits(items: pl.DataFrame) -> dict[str, int]:
    parts = items.drop_nulls("split").group_by("split").len().sort("len", "split", descending=[True, False])
    return dict(parts.rows())


CUT = "it was cut off at the longest answer"
_OUTCOMES = {
    Status.FAILED: "no answer came; the same command asks again", Status.REFUSED: "the model refused",
    Status.FILTERED: "the provider blocked it", Status.UNPARSABLE: "nothing can be read from the answer",
}  # fmt: skip


def write(
    samples: Sequence[Sample], forms: Sequence[WrittenForm], writers: tuple[Model, Model], seed: int, run: Path | None, config: RunConfig,
    *, dry_run: bool,
) -> tuple[list[MadeText], Path] | DryRun:  # fmt: skip
    """Let a model write samples in forms, and another check each by `written.rewriting`.

    Raises:
        MindgaugeError: nothing was written, all of it was cut off, or nothing checked.
        UsageError: the run there is another.
        BudgetError: the next call could pass what may be spent.
    """
    benchmark, by_id = written.rewriting(), {sample.id: sample for sample in samples}
    writer, checker = writers
    names = frozenset(written_by(writer.name, form) for form in forms)
    record = run_folder.plan_record(
        [benchmark], [[*by_id.values()]], config, models=sorted(names), judges=[checker.name],
        roles_seed=seed if WrittenForm.SECRET in forms else None,
    )  # fmt: skip
    record["words"][benchmark.name] |= {f"{form} prompt": written.prompt(form).hash[:12] for form in forms}
    folder = run or run_folder.folder_for(record, [benchmark])
    writing = [
        FormStep(
            benchmark=benchmark, model=writer, purpose=f"write {form}", form=form, draw_seed=seed,
            subjects=lambda: map(PlannedSubject, by_id.values()), parameters=config.asking.parameters,
        )
        for form in forms
    ]  # fmt: skip
    scope = ReplyScope(frozenset(by_id), names, 1)
    subjects = to_check(folder, benchmark, [*by_id.values()], names)
    checking = plan.judging(benchmark, subjects, [checker], config, scope=scope)
    forecast = _perform(folder, record, benchmark, [*by_id.values()], (writing, checking), config, dry_run=dry_run)
    if forecast is not None:
        return forecast
    with Store(folder) as store:
        every_reply = {(reply.sample, reply.model): reply for reply in store.replies(benchmark.name) if reply.run == 0}
        ratings = _ratings(store, benchmark, checker.name, 1)
    replies = {key: reply for key, reply in every_reply.items() if key[0] in by_id and key[1] in names}
    _need(Counter(reply.status for reply in replies.values()), "texts")
    endings = [reply.finish_reason for reply in replies.values() if reply.status is Status.OK]
    if set(endings) == {CUT_OFF}:
        raise MindgaugeError(f"nothing is kept: {plural(len(endings), 'text')} cut off at the longest answer, and no other came; raise --max-tokens, in another --run")  # fmt: skip
    _need(Counter(r.status for reply in replies.values() if reply.status is Status.OK for r in ratings.get(reply.id, [])), "checks")  # fmt: skip
    texts = [
        _made(place, sample, form, replies.get((sample.id, written_by(writer.name, form))), ratings, benchmark, seed)
        for place, sample in enumerate(samples)
        for form in forms
    ]
    return texts, folder


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
    samples: Sequence[Sample], readers: tuple[Model, Model], run: Path | None, config: RunConfig, *, dry_run: bool
) -> tuple[list[MadeText], Path] | DryRun:
    """Let two models, or one twice, say whether texts show who the person is; a text stays that shows it to neither.

    Raises:
        MindgaugeError: nothing was read.
        UsageError: the run there is another.
        BudgetError: the next call could pass what may be spent.
    """
    benchmark, by_id = written.identity(), {sample.id: sample for sample in samples}
    models, repeats = ([readers[0]], 2) if readers[0].name == readers[1].name else ([*readers], 1)
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
    return texts, folder


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
