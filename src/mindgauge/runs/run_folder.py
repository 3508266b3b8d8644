"""The directory of a run: the plan that it follows from, what is put into it, and whether it keeps texts."""

from __future__ import annotations

import contextlib
import itertools
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from mindgauge import benchmarks
from mindgauge.benchmarks import instrument_folder, standalone_rubric
from mindgauge.raters.judge import Mode
from mindgauge.records import digest
from mindgauge.records.english import named
from mindgauge.records.errors import UsageError
from mindgauge.records.files import private
from mindgauge.records.rounding import count, plural
from mindgauge.records.rubric import Method, Rubric
from mindgauge.runs import plan
from mindgauge.runs.rating_steps import put_gold
from mindgauge.store import Store, growth, manifest
from mindgauge.store.failures import PENDING, one_line
from mindgauge.store.textless import bare_sample

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from mindgauge.benchmarks import Benchmark
    from mindgauge.raters.classifier import Classifier
    from mindgauge.records import Rating, Reply, Sample
    from mindgauge.runs.options import RunConfig
    from mindgauge.runs.rating_steps import ClassifierStep
    from mindgauge.runs.steps import Step

_ODD = re.compile(r"[^\w.-]+")
_MOST_FRESH = 10_000
"""Runs of one command that --fresh began."""
_HASH = 12
"""Digits of the hash of a criterion or a prompt in a plan."""
_SAMPLES = "SELECT id FROM samples WHERE benchmark = ?"
_PLACES = "SELECT id, sample, model, run FROM replies WHERE benchmark = ?"
_FREE = ("samples", "runs", "judge_runs", "judges", "methods", "instruments", "words", "setups", "data", "shown")
"""What of a plan is no part of a folder's name as it stands there."""


def plan_record(
    benchmarks: Sequence[Benchmark],
    samples: Sequence[Sequence[Sample]],
    config: RunConfig,
    *,
    text: bool = True,
    **extra: Any,
) -> dict[str, Any]:
    """Write down what a command asks of whom: what may grow, and everything that changes what is asked."""
    asking, judging = config.asking, config.judging
    if judging.method != (Method.RULE,) and all(b.closed for b in benchmarks):
        raise UsageError(f"--method is for judges of replies, and {benchmarks[0].name} is a closed question")
    content = {
        "benchmarks": [b.name for b in benchmarks],
        "instruments": [b.instrument(judging.mode).name for b in benchmarks],
        "samples": [plan.samples_hash([sample.id for sample in asked_about]) for asked_about in samples],
        "runs": asking.runs,
        "judge_runs": judging.judge_runs,
        "mode": judging.mode.value,
        "protocol": judging.protocol,
        "temperature": asking.temperature,
        "judge_temperature": judging.judge_temperature,
        "top_p": asking.top_p,
        "judge_top_p": judging.judge_top_p,
        "seed": None if asking.seed else False,
        "judge_seed": None if judging.judge_seed else False,
        "limit": None if asking.limit else False,
        "judge_limit": None if judging.judge_limit else False,
        "new_shots": asking.new_shots or None,
        "max_tokens": config.asked.max_tokens,
        "judge_max_tokens": config.judged.max_tokens,
        "setups": {name: _hashed(setup.facts) for name, setup in config.sending.setups.items()} or None,
        "methods": None if judging.method == (Method.RULE,) else [str(method) for method in judging.method],
        "words": {b.name: words(b, config) for b in benchmarks},
        "text": None if text else False,
        **instrument_folder.stated(benchmarks),
        **extra,
    }
    for name, examples in content.pop("examples", {}).items():
        content["words"][name][growth.EXAMPLES_SHOWN] = examples
    return {key: value for key, value in content.items() if value is not None}


def _hashed(facts: dict[str, Any]) -> dict[str, Any]:
    """Return what a model is set up with, and of its system message only the hash: that is long, and perhaps not for everybody."""
    return {**facts, **({"system": f"#{digest(facts['system'])[:8]}"} if facts.get("system") else {})}


def words(benchmark: Benchmark, config: RunConfig) -> dict[str, str]:
    """Hash every word that a model is shown beside the subject: criterion by criterion, and each prompt."""
    judging = config.judging
    split = " (split)" if judging.mode is Mode.SPLIT else ""
    instruments = (
        {}
        if benchmark.closed
        else {f"{instrument.method} prompt{split}": instrument for instrument in plan.instruments(benchmark, judging)}
    )
    prompts = {kind: instrument.prompts for kind, instrument in instruments.items()}
    brought = benchmark.brought
    if benchmark.closed:
        prompts = {
            f"{way} prompt": benchmark.instrument(judging.mode, way).prompts
            for way in config.asking.ask
            if way in benchmark.ways
        }
    if "reply" in benchmark.prompts:
        prompts["reply prompt"] = benchmark.prompts["reply"]
    own_rubric = benchmark.rubric if brought is None else brought.replaces
    of_user = f" ({brought.name})" if brought is not None else ""
    return {
        **({"tree": benchmark.tree.hash[:_HASH]} if benchmark.tree is not None else {}),
        **({f"instrument{of_user}": brought.hash} if brought is not None else {}),
        **{f"{growth.CRITERION}{c.name}": digest(c)[:_HASH] for c in own_rubric.criteria},
        **{
            f"{kind}{of_user}": digest(sorted((k, p.hash) for k, p in texts.items()))[:_HASH]
            for kind, texts in prompts.items()
        },
    }


def folder_for(record: dict[str, Any], benchmarks: Sequence[Benchmark], population: Sequence[str] = ()) -> Path:
    """Return where a run goes if the user does not say: the same command always finds the same folder.

    The name follows from what may not change, who is measured, and on which messages. So more of the same messages
    (`--limit`), repeats, judges and methods of judging find the run that they join.

    Args:
        record: the plan of the command.
        benchmarks: that it is about.
        population: for each benchmark, the hash of the messages that a limit takes from; those of the plan if not given.
    """
    name = "+".join(record["benchmarks"]).replace("/", "-")
    fixed = {key: value for key, value in record.items() if key not in _FREE}
    fixed |= {"samples": list(population) or record["samples"]}
    fixed["words"] = [
        (
            b.rubric.hash,
            sorted((kind, k, p.hash) for kind, of in b.prompts.items() for k, p in of.items()),
            *([b.tree.hash] if b.tree is not None else []),
            *([b.brought.title] if b.brought is not None else []),
        )
        for b in benchmarks
    ]
    if "models" in record:  # others' set-ups come and go with them
        fixed["setups"] = {m: facts for m, facts in record.get("setups", {}).items() if m in record["models"]}
    return Path("runs") / f"{name[:60]}-{digest(fixed)[:8]}"


def unused(folder: Path) -> Path:
    """Return a folder beside this one, or itself, in which there is no run yet."""
    numbered = (folder.with_name(f"{folder.name}-{number}") for number in itertools.count(2))
    return next(path for path in (folder, *itertools.islice(numbered, _MOST_FRESH)) if not manifest.read(path))


def warn_of_refusal(folder: Path, record: dict[str, Any], config: RunConfig) -> None:
    """Say, where nothing is sent, that the same command would be refused by the run in a folder."""
    existing = manifest.read(folder)
    if existing and config.asking.fresh:
        config.notice(f"this command would be refused: {_not_fresh(folder)}")
    faults = growth.union(existing.get("plan", {}), record, judged="rated" in existing).differences if existing else []
    if faults:
        config.notice(f"this command would be refused: {growth.refusal(folder, faults)}")


def _not_fresh(folder: Path) -> str:
    return f"{folder} holds a run, and --fresh asks everything again; name another --out"


def for_calls(benchmark: Benchmark, folder: Path, record: dict[str, Any]) -> Benchmark:
    """Return a benchmark as it is asked in a run: criteria that joined it have calls of their own.

    Args:
        benchmark: of a command.
        folder: the run's, which need not be there.
        record: the plan of the command.
    """
    standing = manifest.read(folder).get("plan", {})
    union = growth.union(standing, record)
    groups = tuple(map(tuple, union.plan.get("calls", {}).get(benchmark.name, ())))
    if not groups or union.differences:  # which is refused before anything is sent
        return benchmark
    return msgspec.structs.replace(benchmark, calls=groups)


def open_run(
    folder: Path,
    record: dict[str, Any],
    config: RunConfig,
    *,
    text: bool = True,
    samples: Mapping[str, Sequence[Sample]] = {},
    replies: Mapping[str, Sequence[Reply]] = {},
    steps: Iterable[Step] = (),
    classifiers: Sequence[ClassifierStep] = (),
) -> Store:
    """Open a run for its plan, new or to go on with; what of the plan is new joins it, once nothing speaks against the command.

    Args:
        folder: where it is, or will be.
        record: its plan.
        config: what the user typed, and who is told where texts wait, if the run does not keep them.
        text: whether the run keeps what people and models said.
        samples: by benchmark, what the command asks about.
        replies: by benchmark, what it rates, where that comes from a file.
        steps: of the command; the models that answered in the run there are looked at before anything is written.
        classifiers: that rate by the command.

    Raises:
        UsageError: what changes answers is not as in the run there, or it is the other of two runs with and without text.
        BudgetError: to look at a model could pass what may be spent.
    """
    existing = manifest.read(folder)
    if existing and config.asking.fresh:
        raise UsageError(_not_fresh(folder))
    if existing and keeps_text(folder) != text:
        texts, verb = ("no text", "add") if text else ("its texts", "leave out")
        raise UsageError(
            f"{folder} holds a run that keeps {texts}; {verb} --no-text to continue it, or choose another --out"
        )
    private.folder(folder)  # what people said is nobody else's to read
    store = Store(folder, write=True, text=text)
    with contextlib.ExitStack() as undone:
        undone.callback(store.close)
        faults = list(_changed(store, samples, replies, existing.get("plan", {}), record)) if existing else []
        if existing and not text:
            faults += _unjudgeable(store, growth.union(existing.get("plan", {}), record).joined)
        manifest.grown(folder, record, faults)
        if existing:
            admit(store, steps, classifiers, config)
        union = manifest.grow(folder, record, config.command, faults)
        with one_line(store.path):
            kept = [*_more(store, samples, replies), *union.kept]
        if existing and kept:
            config.notice(
                f"{folder} holds more than this command asks for: {'; '.join(kept)}. Nothing of it is lost, and scores are over all that the run holds"
            )
        if not text:
            config.notice(
                f"texts that are still needed wait in {folder / PENDING}, which is removed when the command is done"
            )
        undone.pop_all()
    return store


def admit(store: Store, steps: Iterable[Step], classifiers: Sequence[ClassifierStep], config: RunConfig) -> None:
    """See, before a command writes anything into a run that is there, that all who rate and answer are those of before.

    Raises:
        UsageError: some are others.
        BudgetError: to look at a model could pass what may be spent.
    """
    refuse_other_classifiers(store.folder, classifiers)
    plan.admit(store, steps, config)


def _unjudgeable(store: Store, joined: Mapping[str, Any]) -> list[str]:
    """Say what cannot join a run without text: whoever would rate replies whose texts are gone."""
    words = {"judges": "judges", "judge_runs": "verdicts", "methods": "methods of judging", "criteria": "criteria"}
    more = [word for key, word in words.items() if key in joined]
    benchmarks_here = [name for (name,) in store.select("SELECT DISTINCT benchmark FROM replies")]
    textless = sum(len(store.gone(name)) for name in benchmarks_here) if more else 0
    if not textless:
        return []
    return [
        f"further {named(more)} cannot rate the {plural(textless, 'reply', 'replies')} that {'is' if textless == 1 else 'are'} kept without text"
    ]


def _changed(
    store: Store,
    samples: Mapping[str, Sequence[Sample]],
    replies: Mapping[str, Sequence[Reply]],
    standing: dict[str, Any],
    record: dict[str, Any],
) -> Iterator[str]:
    """Say what data is not the run's: other words under the same ids, or nothing that the run knows."""
    for name, asked_about in samples.items():
        by_id = {sample.id: sample for sample in asked_about}
        known = [(by_id[stored.id], stored) for stored in store.stored_samples(name) if stored.id in by_id]
        changed = sum(s.messages not in (asked.messages, bare_sample(asked).messages) for asked, s in known)
        if changed:
            yield f"{plural(changed, 'message')} of {name} {'has' if changed == 1 else 'have'} other words than this run's under the same ids"
        if (
            not known
            and store.select(_SAMPLES, (name,)).fetchone()
            and (name in replies or record.get("data") != standing.get("data"))
        ):
            yield f"none of the {plural(len(asked_about), 'message')} of {name} is in this run: the data is another"
    for name, rated in replies.items():
        places = {(sample, model, run): ident for ident, sample, model, run in store.select(_PLACES, (name,))}
        changed = sum(places.get((r.sample, r.model, r.run), r.id) != r.id for r in rated)
        if changed:
            yield f"{plural(changed, 'reply', 'replies')} to {name} {'has' if changed == 1 else 'have'} other words than this run's to the same message"


def _more(
    store: Store, samples: Mapping[str, Sequence[Sample]], replies: Mapping[str, Sequence[Reply]]
) -> Iterator[str]:
    """Say how many samples and replies a run holds beyond those of a command."""
    for name, rated in replies.items():
        ids = {ident for ident, *_ in store.select(_PLACES, (name,))}
        reply_ids = {reply.id for reply in rated}
        if ids - reply_ids:
            yield f"{plural(len(ids | reply_ids), 'reply', 'replies')} to {name} (this command rates {count(len(reply_ids))})"
    for name, asked_about in samples.items():
        ids = {ident for (ident,) in store.select(_SAMPLES, (name,))}
        asked_ids = {sample.id for sample in asked_about}
        if ids - asked_ids:
            yield f"{plural(len(ids | asked_ids), 'message')} of {name} (this command asks about {count(len(asked_ids))})"


def with_criteria(folder: Path, record: dict[str, Any]) -> dict[str, Any]:
    """Return the plan by which criteria join a run whose replies are rated where they are; nothing where none can.

    Raises:
        UsageError: a criterion or a prompt has other words than in the run.
    """
    standing = manifest.read(folder).get("plan", {})
    words = {name: parts for name, parts in record["words"].items() if name in standing.get("words", {})}
    if not words:
        return {}
    asked = {**standing, "words": words}
    manifest.grown(folder, asked)
    return asked


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


def keep_replies(
    store: Store, benchmark: Benchmark, replies: Sequence[Reply], command: str, ratings: Iterable[Rating] = ()
) -> None:
    """Put the replies of a file into a run, as far as they are not there, and the hash of all into its plan.

    Args:
        store: the run.
        benchmark: that they are to.
        replies: of the file.
        command: what the user typed, for the history of what joined when.
        ratings: of the replies.
    """
    before = {ident for ident, *_ in store.select(_PLACES, (benchmark.name,))}
    put_known(store, benchmark.name, replies=replies, ratings=ratings)
    content = manifest.read(store.folder)
    ids = sorted(ident for ident, *_ in store.select(_PLACES, (benchmark.name,)))
    if "replies" not in content["plan"]:
        return
    content["plan"] = {**content["plan"], "replies": digest(ids)}
    if before and len(ids) > len(before):
        replies_joined = {benchmark.name: len(ids) - len(before)}
        content = manifest.noted(content, "joined", command, replies=replies_joined)
    manifest.write(store.folder, content)


def keep_samples(store: Store, benchmark: Benchmark, samples: Sequence[Sample], command: str) -> int:
    """Put a benchmark's samples into a run, with their gold ratings; returns how many were duplicates.

    The `command` is what the user typed, for the history of what joined when.

    Samples that are there already take over what is now known of them: a target that was corrected, a tag. The manifest
    remembers the folder of a benchmark that is found by no name, and what joined; the run keeps a rubric that stands alone.
    """
    if benchmark.standalone:
        keep_rubric(store.folder, benchmark)
    if folders := benchmarks.outside([benchmark]):
        content = manifest.read(store.folder)
        manifest.write(store.folder, {**content, "folders": {**content.get("folders", {}), **folders}})
    before = {ident for (ident,) in store.select(_SAMPLES, (benchmark.name,))}
    asked_ids = {sample.id for sample in samples}
    if known := before & asked_ids:
        store.update_samples(benchmark.name, {s.id: s for s in reversed(samples) if s.id in known}.values())
    doubled = 0
    if asked_ids - set(store.sample_ids(benchmark.name)):  # also after a salvage, which may have lost some
        doubled = store.put_samples(benchmark.name, samples) - len(known)
    _note_samples(store, benchmark.name, len(asked_ids - before) if before else 0, command)
    if benchmark.closed:
        put_gold(store, benchmark)
    return doubled


def keep_rubric(folder: Path, benchmark: Benchmark) -> None:
    """Put a rubric that stands alone into the run that it is the instrument of; with criteria that joined, the whole of it."""
    content = manifest.read(folder)
    path = folder / standalone_rubric.FILE
    if standalone_rubric.RUBRIC not in content or Rubric.kept(path).hash != benchmark.rubric.hash:
        benchmark.rubric.write(path)
        manifest.write(folder, {**content, standalone_rubric.RUBRIC: standalone_rubric.noted(benchmark)})


def _note_samples(store: Store, name: str, added: int, command: str) -> None:
    """Write the hash of all samples that a run now holds into its plan, and how many joined into its history."""
    content = manifest.read(store.folder)
    names = content.get("plan", {}).get("benchmarks", [])
    if name not in names:
        return
    hashes = list(content["plan"]["samples"])
    hashes[names.index(name)] = plan.samples_hash([ident for (ident,) in store.select(_SAMPLES, (name,))])
    content["plan"] = {**content["plan"], "samples": hashes}
    if added:
        content = manifest.noted(content, "joined", command, samples={name: added})
    manifest.write(store.folder, content)


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


def refuse_other_classifiers(folder: Path, steps: Sequence[ClassifierStep]) -> None:
    """See that the classifiers of a command are those that rated in a run, by the same rubrics.

    Raises:
        UsageError: a classifier was trained again since it rated here, or its criterion means something else here.
    """
    classifiers = manifest.read(folder).get("classifiers", {}) if steps else {}
    for rater, separate in ((step.rater, step.apart) for step in steps):
        existing = classifiers.get(rater.name)
        if existing is not None and existing["instrument"] != rater.instrument:
            raise UsageError(
                f"{rater.name}: {folder} has ratings by its earlier weights or threshold ({existing['instrument']}, now "
                f"{rater.instrument}); keep each in a folder of its own, or choose another --out"
            )
        path = folder / _rubric_file(rater)
        if separate and path.is_file() and Rubric.kept(path).hash != rater.rubric.hash:
            raise UsageError(
                f"{rater.name}: ratings on {rater.criterion.name} in {folder} are by another version of that rubric; "
                "choose another --out"
            )


def keep_classifiers(folder: Path, steps: Sequence[ClassifierStep]) -> None:
    """Write down in a run's manifest which classifiers rate in it; a rubric of their own is kept beside it.

    Raises:
        UsageError: as `refuse_other_classifiers` does; two of one command may differ, too.
    """
    if not steps:
        return
    content = manifest.read(folder)
    classifiers = content.setdefault("classifiers", {})
    for step in steps:
        rater = step.rater
        refuse_other_classifiers(folder, [step])
        entry = classifiers.get(rater.name) or {"instrument": rater.instrument}
        if step.apart:
            file = _keep_rubric(folder, rater)
            entry["apart"] = {**entry.get("apart", {}), step.benchmark.name: file}
        classifiers[rater.name] = entry
    manifest.write(folder, content)


def _rubric_file(rater: Classifier) -> str:
    return f"rubrics/{_ODD.sub('-', rater.criterion.name)}.toml"


def _keep_rubric(folder: Path, rater: Classifier) -> str:
    file = _rubric_file(rater)
    path = folder / file
    private.refuse_link(path.parent)
    private.folder(path.parent)
    private.write(path, private.seal((rater.path / "rubric.toml").read_bytes()))
    return file
