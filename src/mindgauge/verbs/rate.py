"""`rate`: models, classifiers and rules rate replies that exist already, from a file or in a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from mindgauge import benchmark as benchmarks
from mindgauge import manifest
from mindgauge.analysis.score import Scores, score
from mindgauge.errors import DataError, UsageError
from mindgauge.models.spec import Settings
from mindgauge.records import digest
from mindgauge.store import Store
from mindgauge.verbs import classifying, length, plan
from mindgauge.verbs import dialogues as multi_turn
from mindgauge.verbs.entry_test import entry_tests, take
from mindgauge.verbs.replies import read_dialogues, read_replies

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from mindgauge.benchmark import Benchmark
    from mindgauge.engine import Progress
    from mindgauge.models.request import Model
    from mindgauge.records import Reply, Sample
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
    judge_temperature: float | None = None,
    max_cost: float | None = None,
    qualify: bool = False,
    anchors: int | None = None,
    settings: Settings | None = None,
    progress: Progress | None = None,
    notice: Callable[[str], None] | None = None,
    command: str = "",
) -> Scores:
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
        judge_temperature: of the judges; their own default if not given.
        max_cost: US dollars.
        qualify: let every judge first rate replies of ours whose level is known, as its entry test.
        anchors: at most this many of those, spread over levels and protocols; all if not given.
        settings: how endpoints are called.
        progress: told stage, calls done and calls in all.
        notice: told, before anything is sent, what will probably be too long for a model.
        command: what the user typed, for the manifest.

    Raises:
        UsageError: a name, a file or the plan is wrong.
        EndpointError: a judge cannot be reached.
    """
    asked = plan.Asked(
        judge_runs=judge_runs, mode=plan.mode_of(mode), methods=plan.methods_of(plan.listed(method)),
        protocol=protocol, judge_temperature=judge_temperature,
        max_cost=max_cost, settings=settings or Settings(),
    )  # fmt: skip
    benchmark = benchmarks.find_one(name)
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
    tests = entry_tests([benchmark], judges.models, qualify=qualify, limit=anchors)
    path = Path(replies) if isinstance(replies, str | Path) else None
    if dialogues is not None:
        units = multi_turn.units_of(unit)
        multi_turn.only_models_rate_whole(judges, units)
        found = multi_turn.read(dialogues, benchmark, columns or {}, units, limit)
        store = _replies(
            dialogues,
            benchmark,
            (found.samples, found.replies),
            out,
            asked,
            judges,
            command,
            multi_turn.plan_of(benchmark, units, asked),
        )
        _note_unanswered(store, found.unanswered)
    elif replies is None:
        raise UsageError(multi_turn.ONE_SOURCE)
    elif path is not None and path.is_dir():
        if limit is not None or out is not None:
            raise UsageError("--limit and --out go with a file of replies; a run is rated whole, where it is")
        store = _again(path, benchmark, judges, command)
    elif benchmark.closed:
        store = _dialogues(replies, benchmark, columns or {}, limit, out, asked, command)
    else:
        given = read_replies(replies, benchmark, columns or {}, limit)
        store = _replies(replies, benchmark, given, out, asked, judges, command)
    with store:
        if benchmark.closed:
            its, samples = plan.instruments(benchmark, asked), list(store.samples(benchmark.name))
            length.asked_about(notice, benchmark, judges.models, its, samples)
        else:
            replied = ((store.sample(benchmark.name, reply.sample), reply) for reply in store.replies(benchmark.name))
            length.judged(notice, benchmark, judges.models, replied, asked)
        classifying.keep(store.folder, judges.classifiers)
        take(store, tests, judges.models, asked, progress)
        plan.rate_all(store, [benchmark], judges, asked, progress)
    return score(store.folder)


def _again(folder: Path, benchmark: Benchmark, judges: plan.Raters, command: str) -> Store:
    """Open a run whose replies, or dialogues, are to be rated by more."""
    with Store(folder) as there:
        rated = there.count_samples(benchmark.name) if benchmark.closed else there.count_replies(benchmark.name)
        if not rated:
            raise DataError(f"{folder}: no replies to {benchmark.name} in this run")
    store = Store(folder, write=True)
    content = manifest.read(folder)
    content["rated"] = [
        *content.get("rated", []),
        {"judges": judges.names, "at": manifest.now(), "command": command},
    ]
    manifest.write(folder, content)
    return store


def _replies(
    source: str | Path | Frame,
    benchmark: Benchmark,
    given: tuple[list[Sample], list[Reply]],
    out: str | Path | None,
    asked: plan.Asked,
    judges: plan.Raters,
    command: str,
    units: dict[str, Any] | None = None,
) -> Store:
    """Put the replies of a file into a run; `units` is what its plan says of dialogues."""
    samples, found = given
    gold = judges.models and asked.protocol == plan.GOLD and benchmark.protocol
    if gold and not any(benchmark.protocol in sample.tags for sample in samples):
        raise DataError(
            f"{source if isinstance(source, str | Path) else 'the table'}: no reply has a {benchmark.protocol}, which "
            f"chooses its protocol; add a column `{benchmark.protocol}` (or name it with --map), or let the judge find "
            "it with --protocol recognised"
        )
    whole = plan.whole_plan(
        [benchmark], [samples], asked, replies=digest(sorted(r.id for r in found)), rate=True, **(units or {})
    )
    store = _begun(whole, out, command)
    plan.keep_samples(store, benchmark, samples)
    for reply in found:
        store.add_reply(benchmark.name, reply)
    store.flush()
    return store


def _note_unanswered(store: Store, count: int) -> None:
    if count:
        note = f"{count} dialogues end with a turn by the person that has no reply; that turn is not rated"
        manifest.write(store.folder, {**manifest.read(store.folder), "notes": [note]})


def _dialogues(
    source: str | Path | Frame,
    benchmark: Benchmark,
    columns: Mapping[str, str],
    limit: int | None,
    out: str | Path | None,
    asked: plan.Asked,
    command: str,
) -> Store:
    """Put the dialogues of a file, whose last reply is asked about, into a run."""
    found = read_dialogues(source, benchmark, columns, limit)
    store = _begun(plan.whole_plan([benchmark], [found.samples], asked, rate=True), out, command)
    if found.repeated:
        note = f"{found.repeated} rows repeat a dialogue and its reply word for word; each counts once"
        manifest.write(store.folder, {**manifest.read(store.folder), "notes": [note]})
    plan.keep_samples(store, benchmark, found.samples)
    return store


def _begun(whole: dict[str, Any], out: str | Path | None, command: str) -> Store:
    folder = Path(out) if out is not None else plan.folder_for(whole)
    store = Store(folder, write=True)
    try:
        manifest.begin(folder, whole, command)
    except UsageError:
        store.close()
        raise
    return store
