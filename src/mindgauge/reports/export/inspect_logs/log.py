"""A log: its header with the run's figures, its samples one by one, and the list of them."""

from __future__ import annotations

import datetime
import re
from typing import TYPE_CHECKING, Any

from mindgauge.benchmarks.metrics import STATUS_RATES
from mindgauge.records import digest
from mindgauge.records.errors import UsageError
from mindgauge.records.rounding import plural
from mindgauge.records.rubric import in_language
from mindgauge.records.text import visible
from mindgauge.reports.export.inspect_logs import samples
from mindgauge.reports.export.inspect_logs.cases import by_model, in_pages
from mindgauge.reports.export.inspect_logs.container import LogFile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.analysis.score import Score, Scores
    from mindgauge.benchmarks import Benchmark
    from mindgauge.reports.export.folder import ExportFolder
    from mindgauge.reports.export.inspect_logs.cases import CasePlaces
    from mindgauge.store import Store

VERSION = 2
"""Of the schema."""
_USAGE = """
SELECT coalesce(sum(prompt_tokens), 0), coalesce(sum(cached_tokens), 0), coalesce(sum(completion_tokens), 0)
FROM calls WHERE model = ? AND benchmark = ?"""
_UNCLEAN = re.compile(r'[_/:+\\\s#<>"|?*]+')
"""What Windows, or a workflow that keeps a file, does not take in its name, and what parts it."""
_MOST = 60
"""Bytes of each of its four parts; a file system takes 255."""
"""What a name of a file or of its parts has not, as Inspect names logs: TIME_TASK_ID.eval."""


def write(
    folder: ExportFolder, store: Store, benchmarks: Sequence[Benchmark], scores: Scores, manifest: dict[str, Any]
) -> list[str]:
    """Write a log for each benchmark and model, and return what is to be said of them.

    Args:
        folder: where to.
        store: of the run.
        benchmarks: in it.
        scores: what was computed of it.
        manifest: of the run.

    Raises:
        UsageError: nobody has answered anything.
    """
    notes: list[str] = []
    for benchmark in benchmarks:
        for model, places in by_model(store, benchmark).items():
            spec = _spec(benchmark, model, places, manifest, str(scores.run))
            with folder.binary(_file_name(spec)) as file, LogFile(file) as log:
                notes += _write(log, store, benchmark, (model, places), spec, scores)
    if not folder.written:
        raise UsageError(
            f"{store.folder}: there are no replies and no answers in this run, so there is nothing to export"
        )
    return notes


def _write(
    log: LogFile,
    store: Store,
    benchmark: Benchmark,
    places_of: tuple[str, CasePlaces],
    spec: dict[str, Any],
    scores: Scores,
) -> list[str]:
    model, places = places_of
    plan = {"name": "plan", "steps": [{"solver": "generate", "params": {}, "params_passed": {}}], "config": {}}
    log.write("_journal/start.json", {"version": VERSION, "eval": spec, "plan": plan})
    summaries: list[dict[str, Any]] = []
    idents: dict[tuple[str, int], int] = {}
    by_run = model in spec["metadata"]["plan"].get("models", ())
    failed = 0
    for page in in_pages(places.cases()):
        ratings = store.ratings_of(benchmark.name, [part.subject for case in page for part in case.parts])
        for case in page:
            times = idents[case.sample.id, case.epoch] = idents.get((case.sample.id, case.epoch), 0) + 1
            ident = case.sample.id if times == 1 else f"{case.sample.id}-{times}"
            content = samples.sample(case, samples.LoggedAs(ident, model, by_run), ratings, benchmark)
            log.write(f"samples/{ident}_epoch_{case.epoch}.json", content)
            summaries.append(samples.summary(content))
            failed += "error" in content
    log.write("_journal/summaries/1.json", summaries)
    log.write("summaries.json", summaries)
    results = _results(benchmark, model, scores, len(summaries), failed)
    log.write(
        "header.json",
        {
            "version": VERSION, "status": "success", "eval": spec, "plan": plan, "results": results,
            "stats": _stats(store, benchmark, model, spec), "invalidated": False,
        },
    )  # fmt: skip
    return [f"{benchmark.name}, {model}: {plural(failed, 'reply', 'replies')} never came, and stand in the log as errors"] if failed else []  # fmt: skip


def _spec(benchmark: Benchmark, model: str, places: CasePlaces, manifest: dict[str, Any], run: str) -> dict[str, Any]:
    """Return what was evaluated, with the run's plan."""
    task = f"mindgauge/{benchmark.name}"
    created = _time(manifest.get("created"))
    ident = digest(manifest.get("plan", {}), benchmark.name, model)[:22]
    rubric = {
        criterion.name: {str(level.value): in_language(level.text, "en") for level in criterion.levels}
        for criterion in benchmark.criteria
    }
    return {
        "eval_id": ident, "run_id": digest(manifest.get("plan", {}))[:22], "created": created, "task": task, "task_id": ident,
        "task_version": benchmark.rubric.version, "task_display_name": benchmark.card.title, "task_registry_name": task,
        "task_attribs": {}, "task_args": {}, "task_args_passed": {}, "solver": "generate", "solver_args": {},
        "dataset": {"name": benchmark.name, "samples": places.distinct, "shuffled": False},
        "model": model, "model_generate_config": {}, "model_args": {}, "config": {"epochs": places.epochs},
        "packages": {"mindgauge": str(manifest.get("mindgauge", "")).removeprefix("mindgauge ")},
        "metadata": {
            "run": run, "command": manifest.get("command", ""), "plan": manifest.get("plan", {}), "rubric": rubric,
            "about": "written by mindgauge export --to inspect",
        },
    }  # fmt: skip


def _time(stated: object) -> str:
    """Return a time with its zone."""
    try:
        moment = datetime.datetime.fromisoformat(str(stated))
    except ValueError:
        moment = datetime.datetime.fromtimestamp(0, datetime.UTC)
    return (moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)).isoformat(timespec="seconds")


def _file_name(spec: dict[str, Any]) -> str:
    parts = (spec["created"], spec["task"], spec["model"], spec["task_id"])
    clean = (_UNCLEAN.sub("-", visible(part)).encode(errors="replace") for part in parts)
    return "_".join(part[:_MOST].decode(errors="ignore") for part in clean) + ".eval"


def _stats(store: Store, benchmark: Benchmark, model: str, spec: dict[str, Any]) -> dict[str, Any]:
    prompt, cached, completion = store.select(_USAGE, (model, benchmark.name)).fetchone()
    usage = {
        "input_tokens": prompt - cached, "output_tokens": completion, "total_tokens": prompt + completion,
        "input_tokens_cache_read": cached,
    }  # fmt: skip
    return {"started_at": spec["created"], "completed_at": spec["created"], "model_usage": {model: usage}}


def _results(benchmark: Benchmark, model: str, scores: Scores, total: int, failed: int) -> dict[str, Any]:
    """Return the figures on the whole, those that the benchmark goes by first; what is void is named and has no number."""
    rates = {metric.name for metric in STATUS_RATES}
    own = [m for m in scores.metrics if (m.benchmark, m.slice, m.model) == (benchmark.name, "all", model) and m.name not in rates]  # fmt: skip
    leading = {id(score) for score in scores.leading}
    figures = sorted((m for m in own if m.value is not None and not m.void), key=lambda m: id(m) not in leading)
    void = {f"{m.name} ({m.criterion}) by {m.rater}": m.void for m in own if m.void}
    return {
        "total_samples": total, "completed_samples": total - failed, "scores": [_figure(score) for score in figures],
        "metadata": {"void": void} if void else {},
    }  # fmt: skip


def title_of(score: Score) -> str:
    """Return what a figure is called in a log: its criterion first, since viewers cut names."""
    return score.name if score.criterion in score.name else f"{score.criterion} {score.name}"


def _figure(score: Score) -> dict[str, Any]:
    """Return a metric with its interval, on how many ratings it stands, and the bounds were all missing ones worst or best."""
    parts = {
        "value": score.value, "low": score.low, "high": score.high, "n": score.n, "missing": score.missing,
        "worst": score.worst, "best": score.best,
    }  # fmt: skip
    return {
        "name": title_of(score), "scorer": score.rater, "params": {}, "scored_samples": score.n - score.missing,
        "unscored_samples": score.missing,
        "metrics": {name: {"name": name, "value": part, "params": {}} for name, part in parts.items() if part is not None},
        "metadata": {"title": score.title, "unit": score.unit, "better": score.better, **({"note": score.note} if score.note else {})},
    }  # fmt: skip
