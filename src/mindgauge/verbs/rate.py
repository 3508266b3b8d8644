"""`rate`: judges rate replies that exist already, from a file or in a run."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mindgauge import benchmark as benchmarks
from mindgauge import manifest, tables
from mindgauge.analysis.score import Scores, score
from mindgauge.errors import DataError, UsageError
from mindgauge.models.spec import Settings
from mindgauge.records import Reply, Sample, Status, digest
from mindgauge.store import Store
from mindgauge.verbs import length, plan
from mindgauge.verbs.entry_test import entry_tests, take

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from mindgauge.benchmark import Benchmark
    from mindgauge.engine import Progress
    from mindgauge.models.request import Model
    from mindgauge.tables import Frame

COLUMNS = ("reply", "user", "messages", "id", "model", "run", "category", "language", "target", "cluster")


def rate(
    name: str,
    *,
    replies: str | Path | Frame,
    judge: str | Model | Sequence[str | Model],
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
        name: an open benchmark.
        replies: a CSV, JSONL or Parquet file with `reply` and `user` or `messages`, and optionally `id`, `model`,
            `run`, `category`, `language`, `target` and `cluster`; a polars, pandas or Arrow table with these columns;
            or a run directory, which then gains a rater.
        judge: who rates: models, or rules (`rule/refusal`).
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
    if benchmark.closed:
        raise UsageError(f"{name} is a closed question: there are no replies to rate; use `mindgauge run {name}`")
    judges, rules = plan.open_raters(plan.listed(judge), asked)
    if not judges and not rules:
        raise UsageError("name a judge with --judge")
    tests = entry_tests([benchmark], judges, qualify=qualify, limit=anchors)
    path = Path(replies) if isinstance(replies, str | Path) else None
    if path is not None and path.is_dir():
        if limit is not None or out is not None:
            raise UsageError("--limit and --out go with a file of replies; a run is rated whole, where it is")
        folder = path
        with Store(path) as there:
            if not there.count_replies(benchmark.name):
                raise DataError(f"{path}: no replies to {benchmark.name} in this run")
        store = Store(path, write=True)
        content = manifest.read(path)
        content["rated"] = [
            *content.get("rated", []),
            {"judges": [*(m.name for m in judges), *(r.name for r in rules)], "at": manifest.now(), "command": command},
        ]
        manifest.write(path, content)
    else:
        samples, found = read_replies(replies, benchmark, columns or {}, limit)
        if (
            judges
            and protocol == plan.GOLD
            and benchmark.protocol
            and not any(benchmark.protocol in s.tags for s in samples)
        ):
            raise DataError(
                f"{path or 'the table'}: no reply has a {benchmark.protocol}, which chooses its protocol; add a column `{benchmark.protocol}` "
                "(or name it with --map), or let the judge find it with --protocol recognised"
            )
        whole = plan.whole_plan([benchmark], [samples], asked, replies=digest(sorted(r.id for r in found)), rate=True)
        folder = Path(out) if out is not None else plan.folder_for(whole)
        store = Store(folder, write=True)
        manifest.begin(folder, whole, command)
        plan.keep_samples(store, benchmark, samples)
        for reply in found:
            store.add_reply(benchmark.name, reply)
        store.flush()
    with store:
        replied = ((store.sample(benchmark.name, reply.sample), reply) for reply in store.replies(benchmark.name))
        length.judged(notice, benchmark, judges, replied, asked)
        take(store, tests, judges, asked, progress)
        plan.rate_all(store, [benchmark], judges, rules, asked, progress)
    return score(folder)


def read_replies(
    source: str | Path | Frame, benchmark: Benchmark, columns: Mapping[str, str], limit: int | None = None
) -> tuple[list[Sample], list[Reply]]:
    """Read a replies file into samples and replies, each once.

    Raises:
        DataError: the file, a column or a cell is not as expected; the message names the line.
    """
    unknown = next((ours for ours in columns if ours not in COLUMNS), None)
    if unknown is not None:
        raise UsageError(f"--map: {unknown!r} is not a column of ours; they are {', '.join(COLUMNS)}")
    samples: dict[str, Sample] = {}
    replies: dict[str, Reply] = {}
    path = Path(source) if isinstance(source, str | Path) else Path("table")
    for line, theirs in tables.read_table(source):
        row = _renamed(theirs, columns, f"{path}:{line}")
        sample, reply = _row(row, benchmark, path, line)
        samples.setdefault(sample.id, sample)
        replies.setdefault(reply.id, reply)
        if limit is not None and len(replies) >= limit:
            break
    if not replies:
        raise DataError(f"{path}: no replies in it")
    return list(samples.values()), list(replies.values())


def _renamed(row: dict[str, Any], columns: Mapping[str, str], where: str) -> dict[str, Any]:
    """Give the file's columns our names; one that we use but the mapping gives another meaning is dropped."""
    renamed = {name: cell for name, cell in row.items() if name not in columns}
    renamed |= {ours: row[theirs] for ours, theirs in columns.items() if theirs in row}
    if "reply" not in renamed:
        wanted = columns.get("reply", "reply")
        hint = "; name it with --map reply=COLUMN" if wanted == "reply" else ""
        raise DataError(f"{where}: no column {wanted!r}, found {', '.join(row) or 'nothing'}{hint}")
    return renamed


def _row(row: dict[str, Any], benchmark: Benchmark, path: Path, line: int) -> tuple[Sample, Reply]:
    where = f"{path}:{line}"
    text = row["reply"]
    if not isinstance(text, str):
        raise DataError(f"{where}: reply must be text, found {type(text).__name__}")
    tags = {name: str(row[name]) for name in ("category", "language") if row.get(name) is not None}
    if benchmark.protocol in tags:
        tags[benchmark.protocol] = _protocol(tags[benchmark.protocol], benchmark, where)
    target = row.get("target")
    if target is not None and not isinstance(target, int | str):
        target = str(target)
    sample = Sample.of(tables.dialogue(row, where), target=target, tags=tags, cluster=str(row.get("cluster", "")))
    run = tables.whole(row["run"], where, "run") if row.get("run") is not None else 0
    status = Status.OK if text.strip() else Status.UNPARSABLE
    provenance = {
        "source_file": path.name,
        "source_row": line,
        **({"source_id": str(row["id"])} if "id" in row else {}),
    }
    reply = Reply.of(
        sample.id, str(row.get("model", path.stem)), run, status, tables.clean(text), provenance=provenance
    )
    return sample, reply


def _protocol(value: str, benchmark: Benchmark, where: str) -> str:
    """Read a category in any spelling the taxonomy knows."""
    known = [name for criterion in benchmark.rubric.criteria for name in criterion.protocols]
    if benchmark.recognised_by is not None:
        read = benchmark.recognised_by.rubric.criteria[0].read(value)
        value = str(read) if read is not None else value
    if value not in known:
        near = difflib.get_close_matches(value, known, 1)
        hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(known)}"
        raise DataError(f"{where}: unknown {benchmark.protocol} {value!r}: {hint}")
    return value
