"""The directory of a run: the plan that it follows from, what is put into it, and whether it keeps texts."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mindgauge import benchmarks
from mindgauge.benchmarks import standalone_rubric
from mindgauge.records import digest
from mindgauge.records.errors import UsageError
from mindgauge.records.files import private, sealed
from mindgauge.records.rubric import Method, Rubric
from mindgauge.runs import plan
from mindgauge.runs.rating_steps import put_gold
from mindgauge.store import Store, manifest
from mindgauge.store.failures import PENDING
from mindgauge.store.textless import TextlessStore

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mindgauge.benchmarks import Benchmark
    from mindgauge.raters.classifier import ClassifierRater
    from mindgauge.records import Rating, Reply, Sample
    from mindgauge.runs.options import Judging, RunConfig
    from mindgauge.runs.rating_steps import ClassifierStep

_ODD = re.compile(r"[^\w.-]+")


def plan_record(
    benchmarks: Sequence[Benchmark],
    samples: Sequence[Sequence[Sample]],
    config: RunConfig,
    *,
    text: bool = True,
    **extra: Any,
) -> dict[str, Any]:
    """Write down what decides whether a later command continues this run: everything that changes what is asked."""
    asking, judging = config.asking, config.judging
    content = {
        "benchmarks": [b.name for b in benchmarks],
        "instruments": [b.instrument(judging.mode).name for b in benchmarks],
        "samples": [plan.samples_hash(asked_about) for asked_about in samples],
        "runs": asking.runs,
        "judge_runs": judging.judge_runs,
        "mode": judging.mode.value,
        "protocol": judging.protocol,
        "temperature": asking.temperature,
        "judge_temperature": judging.judge_temperature,
        "max_tokens": asking.max_tokens,
        "judge_max_tokens": judging.judge_max_tokens,
        "setups": {name: _hashed(setup.facts) for name, setup in config.sending.setups.items()} or None,
        **_methods(benchmarks, judging),
        "text": None if text else False,
        **extra,
    }
    return {key: value for key, value in content.items() if value is not None}


def _hashed(facts: dict[str, Any]) -> dict[str, Any]:
    """Return what a model is set up with, and of its system message only the hash: that is long, and perhaps not for everybody."""
    return {**facts, **({"system": f"#{digest(facts['system'])[:8]}"} if facts.get("system") else {})}


def _methods(benchmarks: Sequence[Benchmark], judging: Judging) -> dict[str, Any]:
    """Write down by which methods replies are judged, where it is not the usual one alone."""
    if judging.method == (Method.RULE,):
        return {}
    judged_with = [[instrument.name for instrument in plan.instruments(b, judging)] for b in benchmarks if not b.closed]
    if not judged_with:
        raise UsageError(f"--method is for judges of replies, and {benchmarks[0].name} is a closed question")
    return {"methods": [str(method) for method in judging.method], "judged_with": judged_with}


def folder_for(record: dict[str, Any]) -> Path:
    """Return where a run goes if the user does not say: the same command always finds the same folder."""
    name = "+".join(record["benchmarks"]).replace("/", "-")
    return Path("runs") / f"{name[:60]}-{digest(record)[:8]}"


def open_run(folder: Path, record: dict[str, Any], config: RunConfig, *, text: bool = True) -> Store:
    """Open a run for its plan, new or to go on with.

    Args:
        folder: where it is, or will be.
        record: its plan.
        config: what the user typed, and who is told where texts wait, if the run does not keep them.
        text: whether the run keeps what people and models said.

    Raises:
        UsageError: the folder holds a run with another plan, or the other of two runs with and without text.
    """
    existing = manifest.read(folder)
    if existing and keeps_text(folder) != text:
        texts, verb = ("no text", "add") if text else ("its texts", "leave out")
        raise UsageError(
            f"{folder} holds a run that keeps {texts}; {verb} --no-text to continue it, or choose another --out"
        )
    with contextlib.suppress(OSError):  # opening it says what is wrong
        private.folder(folder)  # what people said is nobody else's to read
    store = Store(folder, write=True) if text else TextlessStore(folder)
    try:
        manifest.begin(folder, record, config.command)
    except UsageError:
        store.close()
        raise
    if not text:
        config.notice(
            f"texts that are still needed wait in {folder / PENDING}, which is removed when the command is done"
        )
    return store


def keeps_text(folder: Path) -> bool:
    """Say whether a run keeps what people and models said."""
    return bool(manifest.read(folder).get("plan", {}).get("text", True))


def need_text(folder: Path) -> None:
    """Check that a run keeps its texts, for what cannot be done without them.

    Raises:
        UsageError: it keeps none.
    """
    if not keeps_text(folder):
        raise UsageError(f"{folder}: kept without text, and this needs what was said; run again without --no-text")


def keep_samples(store: Store, benchmark: Benchmark, samples: Sequence[Sample]) -> int:
    """Put a benchmark's samples into a run, with their gold ratings; returns how many were duplicates.

    Samples that are there already take over what is now known of them: a target that was corrected, a tag. The manifest
    remembers the folder of a benchmark that is found by no name, and the run keeps a rubric that stands alone.
    """
    if benchmark.standalone:
        keep_rubric(store.folder, benchmark)
    if folders := benchmarks.outside([benchmark]):
        content = manifest.read(store.folder)
        manifest.write(store.folder, {**content, "folders": {**content.get("folders", {}), **folders}})
    stored = store.count_samples(benchmark.name)
    if stored:
        store.update_samples(benchmark.name, {s.id: s for s in reversed(samples)}.values())
    doubled = 0
    if stored < len({s.id for s in samples}):  # also after a salvage, which may have lost some
        doubled = store.put_samples(benchmark.name, samples) - stored
    if benchmark.closed:
        put_gold(store, benchmark)
    return doubled


def keep_rubric(folder: Path, benchmark: Benchmark) -> None:
    """Put a rubric that stands alone into the run that it is the instrument of, as far as it is not there."""
    content = manifest.read(folder)
    if standalone_rubric.RUBRIC not in content:
        benchmark.rubric.write(folder / standalone_rubric.FILE)
        manifest.write(folder, {**content, standalone_rubric.RUBRIC: standalone_rubric.noted(benchmark)})


def put_known(
    store: Store,
    name: str,
    samples: Iterable[Sample] = (),
    replies: Iterable[Reply] = (),
    ratings: Iterable[Rating] = (),
) -> None:
    """Put what is known into a run as far as it is not there: samples, replies, and what was said of them.

    Args:
        store: the run.
        name: under which it stands there, a benchmark's or one made from it.
        samples: what was asked.
        replies: to them.
        ratings: of the replies; one of the same rater, criterion, subject and run is replaced.
    """
    sample_ids = set(store.sample_ids(name))
    store.put_samples(name, {sample.id: sample for sample in samples if sample.id not in sample_ids}.values())
    reply_ids = {reply.id for reply in store.replies(name)}
    for reply in replies:
        if reply.id not in reply_ids:
            store.add_reply(name, reply)
    for rating in ratings:
        store.add_rating(name, rating)
    store.flush()


def keep_classifiers(folder: Path, steps: Sequence[ClassifierStep]) -> None:
    """Write down in a run's manifest which classifiers rate in it; a rubric of their own is kept beside it.

    Raises:
        UsageError: a classifier was trained again since it rated here, or its criterion means something else here.
    """
    if not steps:
        return
    content = manifest.read(folder)
    classifiers = content.setdefault("classifiers", {})
    for step in steps:
        rater = step.rater
        existing = classifiers.get(rater.name)
        if existing is not None and existing["instrument"] != rater.classifier.instrument:
            raise UsageError(
                f"{rater.name}: {folder} has ratings by its earlier weights or threshold ({existing['instrument']}, now "
                f"{rater.classifier.instrument}); keep each in a folder of its own, or choose another --out"
            )
        entry = existing or {"instrument": rater.classifier.instrument}
        if step.apart:
            file = _keep_rubric(folder, rater)
            entry["apart"] = {**entry.get("apart", {}), step.benchmark.name: file}
        classifiers[rater.name] = entry
    manifest.write(folder, content)


def _keep_rubric(folder: Path, rater: ClassifierRater) -> str:
    file = f"rubrics/{_ODD.sub('-', rater.criterion.name)}.toml"
    path = folder / file
    if path.is_file() and Rubric.kept(path).hash != rater.classifier.rubric.hash:
        raise UsageError(
            f"{rater.name}: ratings on {rater.criterion.name} in {folder} are by another version of that rubric; "
            "choose another --out"
        )
    private.refuse_link(path.parent)
    private.folder(path.parent)
    private.write(path, sealed.seal((rater.classifier.path / "rubric.toml").read_bytes()))
    return file
