"""`rate`: models, classifiers and rules rate replies that exist already, from a file or in a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mindgauge import benchmark as benchmarks
from mindgauge import manifest, reader
from mindgauge.analysis.score import Scores, score
from mindgauge.errors import UsageError
from mindgauge.models.spec import Settings
from mindgauge.verbs import classifying, directory, given, length, plan, ways
from mindgauge.verbs import dialogues as multi_turn
from mindgauge.verbs import own_family as kinship
from mindgauge.verbs.entry_test import announce, entry_tests, remember, take
from mindgauge.verbs.estimate import DryRun, foresee_judging

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from mindgauge.benchmark import Benchmark
    from mindgauge.engine import Progress
    from mindgauge.models.request import Model
    from mindgauge.tables import Frame


def rate(
    name: str,
    *,
    replies: str | Path | Frame | None = None,
    judge: str | Model | Sequence[str | Model],
    dialogues: str | Path | Frame | None = None,
    unit: str | None = None,
    out: str | Path | None = None,
    columns: Mapping[str, str] | None = None,
    judge_runs: int = 1,
    limit: int | None = None,
    mode: str = "joint",
    method: str | Sequence[str] = "rule",
    protocol: str = plan.GOLD,
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
    """Rate replies that exist already. The same call continues where an earlier one stopped.

    Args:
        name: an open benchmark, or a closed one that asks about a reply: models then answer its question about each
            reply, and classifiers classify it.
        replies: a CSV, JSONL or Parquet file with `reply` and `user` or `messages`, and optionally `id`, `model`,
            `run`, `category`, `language`, `target` and `cluster`; a polars, pandas or Arrow table with these columns;
            or a run directory, which then gains a rater.
        judge: who rates: models, classifiers (`classifier/FOLDER`), or, of an open benchmark, rules (`rule/refusal`).
        dialogues: in place of `replies`, such a file of dialogues of several turns, as `messages`; only models rate whole
            ones.
        unit: what of `dialogues` is rated at once: every `turn` of the assistant, the whole `dialogue`, or `both`.
        out: the run directory, where `replies` is a file.
        columns: our name → the file's name of a column.
        judge_runs: judgements per reply and judge.
        limit: at most this many replies of the file.
        mode: `joint` or `split`.
        method: of judging: `general` (the criteria's names alone), `rule` (what each level looks like), `chain` (checks,
            evidence, rule, verdict); every one but `rule` gives a rater of its own, `JUDGE (chain)`.
        protocol: `gold` or `recognised`, see `run`.
        judge_temperature: of the judges; None for their own default.
        ask: how a closed question is put to models, see `run`.
        shots: examples per label in the few-shot way, 1 if not given; they come from our own samples.
        shot_seed: of the choice of examples, 0 if not given.
        max_cost: US dollars.
        own_family: let models judge replies by models of their own family, too; the report then says so.
        qualify: whether judges first rate replies of ours whose level is known, as their entry test, see `run`.
        anchors: at most this many of those, spread over levels and protocols, see `run`.
        settings: how endpoints are called.
        text: whether the run keeps what people and models said, or only hashes of it and places in it.
        dry_run: only say what it would take.
        progress: told stage, calls done and calls in all.
        notice: told, before anything is sent, what will probably be too long for a model.
        command: what the user typed, for the manifest.

    Raises:
        UsageError: a name, a file or the plan is wrong, or a model would judge its own family.
        DataError: the file, or an anchor, cannot be read.
        EndpointError: a judge cannot be reached.
    """
    asked = plan.Asked(
        judge_runs=judge_runs, mode=plan.mode_of(mode), methods=plan.methods_of(plan.listed(method)),
        protocol=protocol, judge_temperature=judge_temperature, max_cost=max_cost,
        ask=ways.ways_of(plan.listed(ask)), shots=shots, shot_seed=shot_seed, settings=Settings.of(settings, dry_run=dry_run),
    )  # fmt: skip
    benchmark = benchmarks.asked_one(name)
    if benchmark.closed and not benchmark.about_reply:
        raise UsageError(
            f"{name} is a closed question about what the person says: there are no replies to rate; "
            f"use `mindgauge run {name}`"
        )
    multi_turn.one_source(benchmark, replies, dialogues, unit)
    opened = plan.open_tested if benchmark.closed else plan.open_judges
    judges = opened(plan.listed(judge), [benchmark], asked)
    if not judges.names:
        raise UsageError("name a judge with --judge")
    tests = entry_tests([benchmark], judges.models, asked, qualify=qualify, limit=anchors)
    if dialogues is not None:
        found = given.several_turns(dialogues, benchmark, columns or {}, unit, limit, judges, asked)
    else:
        found = _replies(replies, benchmark, columns or {}, limit, out)
    given.need_a_protocol(found, judges, asked)
    kin = kinship.judged(judges.models, found.written(), asked.sending.specs, allowed=own_family)
    its = ways.instruments(benchmark, None, asked, found.samples)
    if found.run is not None and not text:
        raise UsageError(f"--no-text is for a new run, and {found.run} keeps its texts")
    if found.run is not None:
        ways.same_examples(found.run, benchmark, judges.models, its)
    more = ways.planned([benchmark], [found.samples], [its], asked)
    whole = directory.whole_plan([benchmark], [found.samples], asked, text=text, **found.named, **more)
    folder = found.run or (Path(out) if out is not None else directory.folder_for(whole))
    if benchmark.closed:
        length.asked_about(notice, benchmark, judges.models, its, found.samples)
    else:
        length.judged(notice, benchmark, judges.models, found.subjects(), asked)
    announce(folder, tests, asked, notice)
    if dry_run:
        return foresee_judging(folder, benchmark, found.samples, found.subjects(), its, judges, tests, asked)
    with found.kept(folder, whole, command, text=text, notice=notice) as store:
        classifying.keep(folder, judges.classifiers)
        kinship.keep(folder, kin)
        if found.run is not None:
            _note(folder, judges, command)
        take(store, tests, asked, progress)
        plan.rate_all(store, [benchmark], judges, asked, progress, its or None)
    scores = score(folder)
    remember(tests, scores.qualifications, asked)
    return scores


def _replies(
    source: str | Path | Frame | None,
    benchmark: Benchmark,
    columns: Mapping[str, str],
    limit: int | None,
    out: str | Path | None,
) -> given.Given:
    """Take replies from a file or a run, or the dialogues that a closed question is about."""
    if source is None:
        raise UsageError(multi_turn.ONE_SOURCE)
    if reader.is_run(source):
        assert isinstance(source, str | Path)
        if limit is not None or out is not None:
            raise UsageError("--limit and --out go with a file of replies; a run is rated whole, where it is")
        return given.run(Path(source), benchmark)
    read = given.classified if benchmark.closed else given.replies
    return read(source, benchmark, columns, limit)


def _note(folder: Path, judges: plan.Raters, command: str) -> None:
    """Write down who rates a run that was there, and when."""
    content = manifest.read(folder)
    noted = {"judges": judges.names, "at": manifest.now(), "command": command}
    manifest.write(folder, {**content, "rated": [*content.get("rated", []), noted]})
