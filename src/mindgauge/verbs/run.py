"""`run`: models answer a benchmark's samples, judges rate the replies, and the scores say what came of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mindgauge import benchmark as benchmarks
from mindgauge import manifest
from mindgauge.analysis.score import Scores, score
from mindgauge.engine import answer
from mindgauge.errors import UsageError
from mindgauge.models.spec import Settings
from mindgauge.store.textless import TextlessStore
from mindgauge.verbs import classifying, directory, length, plan, ways
from mindgauge.verbs import own_family as kinship
from mindgauge.verbs.at_hand import at_hand
from mindgauge.verbs.entry_test import announce, entry_tests, remember, take
from mindgauge.verbs.estimate import DryRun, foresee

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from mindgauge.engine import Progress, Session, Step
    from mindgauge.models.request import Model
    from mindgauge.records import Sample


_NAMED = 3


def run(
    names: str | Sequence[str],
    *,
    model: str | Model | Sequence[str | Model],
    judge: str | Model | Sequence[str | Model] = (),
    data: str | Path | None = None,
    out: str | Path | None = None,
    runs: int = 1,
    judge_runs: int = 1,
    limit: int | None = None,
    where: dict[str, tuple[str, ...]] | None = None,
    mode: str = "joint",
    method: str | Sequence[str] = "rule",
    protocol: str = plan.GOLD,
    temperature: float | None = None,
    judge_temperature: float | None = 0.0,
    ask: str | Sequence[str] = "flat",
    shots: int | None = None,
    shot_seed: int | None = None,
    max_cost: float | None = None,
    own_family: bool = False,
    qualify: bool | None = None,
    anchors: int | None = None,
    settings: Settings | None = None,
    text: bool = True,
    dry_run: bool = False,
    progress: Progress | None = None,
    notice: Callable[[str], None] | None = None,
    command: str = "",
) -> Scores | DryRun:
    """Run benchmarks on models. The same call continues where an earlier one stopped.

    Of several benchmarks, one whose data is missing or broken is named, and the others run.

    Args:
        names: benchmarks, or families of them.
        model: the models under test, by name or as objects (`Scripted`); for closed questions also classifiers
            (`classifier/FOLDER`), which make no calls.
        judge: who rates replies: models, classifiers (`classifier/FOLDER`), or rules (`rule/refusal`).
        data: a copy of the authors' released files; our own samples if not given.
        out: the run directory; if not given, one that follows from the plan.
        runs: replies (or closed answers) per sample and model. A classifier answers once: it would say the same again.
        judge_runs: judgements per reply and judge.
        limit: at most this many samples per benchmark, each with its variants, spread evenly over the classes.
        where: tag → values of the samples to keep.
        mode: `joint`, all criteria in one call, or `split`, one call each.
        method: of judging: `general` (the criteria's names alone), `rule` (what each level looks like), `chain` (checks,
            evidence, rule, verdict); every one but `rule` gives a rater of its own, `JUDGE (chain)`.
        protocol: `gold`, by the sample's category, or `recognised`, by the one the judge itself sees.
        temperature: of the models under test; their own default if not given.
        judge_temperature: of the judges; None for their own default.
        ask: how closed questions are put to models: `flat`, `unordered`, `few-shot`, `sequential`, as far as the benchmark has it.
            Each way but the flat one gives a rater of its own, `MODEL (few-shot)`.
        shots: examples per label in the few-shot way, 1 if not given. They come from the training part below `data`, or
            from our own samples, and never from the dialogue that is asked about.
        shot_seed: of the choice of examples, 0 if not given.
        max_cost: US dollars that the run may cost in all, earlier calls included.
        own_family: let models judge replies by models of their own family, too; the report then says so.
        qualify: whether judges first rate replies of ours whose level is known, as their entry test; if not given, models
            that this machine has not seen pass do.
        anchors: at most this many of those per benchmark, spread over levels and protocols; all if not given, and 40
            where nobody asked for the test.
        settings: how endpoints are called.
        text: whether the run keeps what people and models said, or only hashes of it and places in it.
        dry_run: only say what it would take.
        progress: told stage, calls done and calls in all.
        notice: told, before anything is sent, what will probably be too long for a model.
        command: what the user typed, for the manifest.

    Raises:
        UsageError: a name, a file or the plan is wrong, or a model would judge its own family.
        DataError: samples or anchors are missing or bad.
        EndpointError: a model cannot be reached.
        BudgetError: the next call could pass `max_cost`.
    """
    asked = plan.Asked(
        runs=runs, judge_runs=judge_runs, mode=plan.mode_of(mode), methods=plan.methods_of(plan.listed(method)),
        protocol=protocol, temperature=temperature,
        judge_temperature=judge_temperature, max_cost=max_cost, ask=ways.ways_of(plan.listed(ask)), shots=shots,
        shot_seed=shot_seed, settings=Settings.of(settings, dry_run=dry_run),
    )  # fmt: skip
    named = {b.name: b for name in plan.listed(names) for b in benchmarks.asked(name)}
    folder = Path(data) if data is not None else None
    known = at_hand([*named.values()], folder, where, limit)
    known.broken.update((other, why) for name in plan.listed(names) for other, why in benchmarks.broken(name).items())
    found, samples = known.benchmarks, known.samples
    tested = plan.open_tested(plan.listed(model), found, asked)
    if not tested.names:
        raise UsageError("name a model under test with --model")
    judges = plan.open_judges(plan.listed(judge), found, asked)
    instruments = [ways.instruments(benchmark, folder, asked) for benchmark in found]
    tests = entry_tests(found, judges.models, asked, qualify=qualify, limit=anchors, where=where)
    kin = kinship.judged(
        judges.models, _written(tested.models, found, samples, asked), asked.sending.specs, allowed=own_family
    )
    whole = directory.whole_plan(
        found, samples, asked, text=text,
        models=tested.names, judges=judges.names,
        data=str(folder) if folder else None, **ways.planned(found, samples, instruments, asked),
    )  # fmt: skip
    path = Path(out) if out is not None else directory.folder_for(whole)
    for benchmark, found_samples, its in zip(found, samples, instruments, strict=True):
        length.asked_about(notice, benchmark, tested.models, its, found_samples)
    for line in (*known.lines, *_unjudged(found, judges, path)):
        (notice or _silent)(line)
    announce(path, tests, asked, notice)
    if dry_run:
        return foresee(path, found, samples, instruments, tested, judges, tests, asked)
    with directory.begun(path, whole, command, text=text, notice=notice) as store:
        classifying.keep(path, [*tested.classifiers, *judges.classifiers])
        kinship.keep(path, kin)
        manifest.write(path, {**manifest.read(path), **known.told})
        for benchmark, found_samples in zip(found, samples, strict=True):
            directory.keep_samples(store, benchmark, found_samples)
            if isinstance(store, TextlessStore) and not benchmark.closed:
                store.ask_again(benchmark.name, _ratings(benchmark, judges, asked))

        def replies(session: Session) -> list[tuple[Model, Step]]:
            steps = []
            for benchmark, its in zip(found, instruments, strict=True):
                if benchmark.closed:
                    steps += ways.asking(session, benchmark, tested.models, its, asked)
                else:
                    steps += [(m, _answering(session, benchmark, m, asked)) for m in tested.models]
            return steps

        plan.work(store, asked, progress, [replies], tested.classifiers)
        take(store, tests, asked, progress)
        plan.rate_all(store, [b for b in found if not b.closed], judges, asked, progress)
    scores = score(path)
    remember(tests, scores.qualifications, asked)
    return scores


def _unjudged(found: Sequence[benchmarks.Benchmark], judges: plan.Raters, path: Path) -> Iterator[str]:
    """Say which replies will be paid for and rated by nobody."""
    read = {benchmark.name for benchmark in found if benchmark.readings}
    open_ = [benchmark.name for benchmark in found if not benchmark.closed]
    if open_ and not judges.names:
        names = ", ".join(open_[:_NAMED]) + (f" and {len(open_) - _NAMED} more" if len(open_) > _NAMED else "")
        less = " but by rule" if read.issuperset(open_) else ""
        yield (
            f"no judge is named, so replies to {names} will be asked for and not rated{less}; name one with --judge, or "
            f"rate the run afterwards: mindgauge rate {open_[0]} --replies {path} --judge NAME"
        )


def _silent(_: str) -> None:
    """Tell nobody."""


def _answering(session: Session, benchmark: benchmarks.Benchmark, model: Model, asked: plan.Asked) -> Step:
    return lambda: answer(session, benchmark, model, runs=asked.runs, parameters=asked.parameters)


def _ratings(benchmark: benchmarks.Benchmark, judges: plan.Raters, asked: plan.Asked) -> Iterator[tuple[str, str, int]]:
    """Return rater, criterion and number of times of every rating that a reply is to have."""
    for instrument in plan.instruments(benchmark, asked):
        for model in judges.models:
            for criterion in instrument.rubric.criteria:
                yield instrument.rater(model.name), criterion.name, asked.judge_runs
    its = (one.rater for one in judges.classifiers if one.benchmark.name == benchmark.name)
    yield from ((rater.name, rater.criterion.name, 1) for rater in its)
    yield from ((rule.name, rule.criterion, 1) for rule in judges.rules)
    yield from ((reading.rater, reading.criterion.name, 1) for reading in benchmark.readings)


def _written(
    models: Sequence[Model],
    found: Sequence[benchmarks.Benchmark],
    samples: Sequence[Sequence[Sample]],
    asked: plan.Asked,
) -> dict[str, int]:
    """Count the replies that each model will have written."""
    count = sum(len(its) for benchmark, its in zip(found, samples, strict=True) if not benchmark.closed) * asked.runs
    return {model.name: count for model in models if count}
