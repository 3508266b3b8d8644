"""A run as logs of Inspect: an `.eval` file for each benchmark and model, which `inspect view` opens.

A sample is a reply, a dialogue with its turns, or the answer to a closed question: the conversation, the model's answer,
and a score for each who rated it. A score's value holds all criteria; one that has no value is NaN there, and `status` in
the score's metadata says why. All of it is plain data under the names of inspect_ai.log (EvalLog, schema version 2),
written as the zip that an `.eval` file is; tests read it with inspect-ai.
"""

from __future__ import annotations

import datetime
import json
import math
import re
import zipfile
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from mindgauge.benchmarks.metrics import STATUS_RATES
from mindgauge.raters.window import WHOLE, Unit
from mindgauge.records import Message, RaterKind, Reply, Sample, Status, digest
from mindgauge.records.errors import UsageError
from mindgauge.records.rounding import plural
from mindgauge.records.rubric import in_language
from mindgauge.records.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from mindgauge.analysis.score import Score, Scores
    from mindgauge.benchmarks import Benchmark
    from mindgauge.records import Evidence, Rating, Usage
    from mindgauge.reports.export.folder import ExportFolder
    from mindgauge.store import Store

    _Key = tuple[int, str, str]
    """Repeat, sample or dialogue, and the reply where it is alone."""

_ANSWERS = """
SELECT DISTINCT series.rater, rated.subject, rated.run FROM series JOIN rated ON rated.series = series.id
    JOIN origins ON origins.id = rated.origin
WHERE series.benchmark = ? AND origins.rater_kind IN ('model', 'classifier')"""
_USAGE = """
SELECT coalesce(sum(prompt_tokens), 0), coalesce(sum(cached_tokens), 0), coalesce(sum(completion_tokens), 0)
FROM calls WHERE model = ? AND benchmark = ?"""
_DIALOGUE = ("dialogue", "source_file", "source_row", "source_id")
"""What the replies of one dialogue have in common, in their provenance."""
_STOPPED = {"length": "max_tokens", "content_filter": "content_filter", "tool_calls": "tool_calls", "": "stop"}
"""Why an answer ended, as servers say it → as Inspect does; what is not here is `stop` or unknown to it."""
_KNOWN = {"stop", *_STOPPED.values()}
_UNCLEAN = re.compile(r'[_/:+\\\s#<>"|?*]+')
"""What Windows, or a workflow that keeps a file, does not take in its name, and what separates its parts: TIME_TASK_MODEL_ID.eval."""
_MOST = 60
"""Bytes of each of its four parts; a file system takes 255."""
_LEVEL, _THIN = 5, 1_000
"""Of zlib, a tenth larger than the best in half of the time; characters of a text in the list of samples."""


class RatedPart(NamedTuple):
    """What of a case was rated at once."""

    subject: str
    """As ratings call it."""
    unit: str = ""
    """Empty for a reply that is alone, and for an answer to a closed question."""
    turn: int = 0

    @property
    def mark(self) -> str:
        """What a rater's name gains in the log: the turn that was rated."""
        if self.unit == Unit.TURN:
            return f"@{self.turn}"
        return f"@client {self.turn}" if self.unit == Unit.CLIENT else ""


class LogCase(NamedTuple):
    """What becomes a sample of a log."""

    sample: Sample
    epoch: int
    dialogue: tuple[Message, ...]
    """The dialogue up to the last reply."""
    reply: Reply | None
    """The last; None for the answer to a closed question, which is a rating."""
    parts: list[RatedPart]
    outcome: Reply | None = None
    """What became of a dialogue as a whole, where that is known."""


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
        for model, cases in by_model(store, benchmark).items():
            log = log_of(store, benchmark, model, cases, scores, manifest)
            failed = sum("error" in sample for sample in log["samples"])
            if failed:
                notes.append(f"{benchmark.name}, {model}: {plural(failed, 'reply', 'replies')} never came, and stand in the log as errors")  # fmt: skip
            with (
                folder.binary(file_name(log["eval"])) as file,
                zipfile.ZipFile(file, "w", compresslevel=_LEVEL) as packed,
            ):
                for name, content in _members(log):
                    entry = zipfile.ZipInfo(name)  # of 1980, so that the same run makes the same bytes
                    packed.writestr(entry, json.dumps(content), zipfile.ZIP_DEFLATED)
    if not folder.written:
        raise UsageError(
            f"{store.folder}: there are no replies and no answers in this run, so there is nothing to export"
        )
    return notes


def _members(log: dict[str, Any]) -> Iterable[tuple[str, dict[str, Any] | list[dict[str, Any]]]]:
    """Yield the files of a log: how it began, its samples, what stands of each in a list, and all else."""
    yield "_journal/start.json", {name: log[name] for name in ("version", "eval", "plan")}
    for sample in log["samples"]:
        yield f"samples/{sample['id']}_epoch_{sample['epoch']}.json", sample
    yield "summaries.json", [
        {
            **{key: sample[key] for key in ("id", "epoch", "target", "metadata", "model_usage", "uuid") if key in sample},
            "input": "".join([m["content"] for m in sample["input"] if m["role"] == "user"][-1:])[:_THIN],
            "scores": {name: {"value": score["value"]} for name, score in sample["scores"].items()},
            **({"error": sample["error"]["message"]} if "error" in sample else {}),
            "completed": True, "message_count": len(sample["messages"]),
        }
        for sample in log["samples"]
    ]  # fmt: skip
    yield "header.json", {name: part for name, part in log.items() if name != "samples"}


def log_of(
    store: Store,
    benchmark: Benchmark,
    model: str,
    cases: Mapping[_Key, LogCase],
    scores: Scores,
    manifest: dict[str, Any],
) -> dict[str, Any]:
    """Return the log of a benchmark and a model, as data: samples whose ids are the same are numbered."""
    spec = _spec(benchmark, model, cases, manifest, str(scores.run))
    ratings = store.ratings_of(benchmark.name, [part.subject for case in cases.values() for part in case.parts])
    by_run = model in spec["metadata"]["plan"].get("models", ())
    numbers: dict[tuple[str, int], int] = {}
    samples = []
    for case in cases.values():
        sample = _sample(case, model, ratings, benchmark, by_run=by_run)
        times = numbers[case.sample.id, case.epoch] = numbers.get((case.sample.id, case.epoch), 0) + 1
        samples.append(sample if times == 1 else {**sample, "id": f"{case.sample.id}-{times}"})
    failed = sum("error" in sample for sample in samples)
    return {
        "version": 2, "status": "success", "eval": spec, "plan": {"name": "plan", "steps": [{"solver": "generate"}]},
        "results": _results(benchmark, model, scores, len(samples), failed),
        "stats": _stats(store, benchmark, model, spec), "samples": samples,
    }  # fmt: skip


def by_model(store: Store, benchmark: Benchmark) -> dict[str, dict[_Key, LogCase]]:
    """Return the cases of each model that was measured, in the order of their names."""
    groups: dict[str, dict[_Key, list[Reply]]] = {}
    for reply in store.replies(benchmark.name):
        facts = reply.provenance
        dialogue = str([facts.get(name) for name in _DIALOGUE])
        key = (reply.run, dialogue, "") if facts.get("unit") else (reply.run, reply.sample, reply.id)
        model = str(facts.get("target") or reply.model.removesuffix(WHOLE))
        groups.setdefault(model, {}).setdefault(key, []).append(reply)
    models = {
        model: {key: _case(group, store, benchmark) for key, group in by_key.items()}
        for model, by_key in groups.items()
    }
    for rater, subject, run in store.select(_ANSWERS, (benchmark.name,)) if benchmark.closed else ():
        sample = store.sample(benchmark.name, subject)
        case = LogCase(sample, run + 1, sample.messages, None, [RatedPart(subject)])
        models.setdefault(rater, {})[run, subject, ""] = case
    return dict(sorted(models.items()))


def _case(group: list[Reply], store: Store, benchmark: Benchmark) -> LogCase:
    """Put a case together of the replies of a dialogue, or of one that is alone."""

    def unit(reply: Reply) -> str:
        return str(reply.provenance.get("unit") or "")

    def turn(reply: Reply) -> int:
        return int(reply.provenance.get("turn") or 0)

    complete = next((reply for reply in group if unit(reply) == Unit.DIALOGUE), None)
    turns = [reply for reply in group if unit(reply) not in {Unit.DIALOGUE, Unit.CLIENT}]
    answered = [reply for reply in turns if reply.status is Status.OK]
    last = max(answered or ([] if complete else turns), key=turn, default=complete or group[0])
    sample = store.sample(benchmark.name, last.sample)
    dialogue = last.answered(sample).messages
    if complete is not None:
        sample = store.sample(benchmark.name, complete.sample)
    alone = len(group) == 1 and unit(last) != Unit.DIALOGUE
    rated = [reply for reply in group if reply.status is not Status.NOT_APPLICABLE] or group
    # A viewer shows few scores of many: those of the whole dialogue come first.
    first_of_all = sorted(rated, key=lambda reply: unit(reply) != Unit.DIALOGUE)
    parts = [RatedPart(reply.id, "" if alone else unit(reply), turn(reply)) for reply in first_of_all]
    return LogCase(sample, last.run + 1, dialogue, last, parts, complete)


def _spec(
    benchmark: Benchmark, model: str, cases: Mapping[_Key, LogCase], manifest: dict[str, Any], run: str
) -> dict[str, Any]:
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
        "solver": "generate",
        "dataset": {"name": benchmark.name, "samples": len({about for _, about, _ in cases}), "shuffled": False},
        "model": model, "config": {"epochs": max(run for run, _, _ in cases) + 1},
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


def file_name(spec: dict[str, Any]) -> str:
    """Return the name of a log's file, which file systems take: TIME_TASK_MODEL_ID.eval."""
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
        "name": title_of(score), "scorer": score.rater, "scored_samples": score.n - score.missing,
        "unscored_samples": score.missing,
        "metrics": {name: {"name": name, "value": part} for name, part in parts.items() if part is not None},
        "metadata": {"title": score.title, "unit": score.unit, "better": score.better, **({"note": score.note} if score.note else {})},
    }  # fmt: skip


def _sample(
    case: LogCase, model: str, ratings: Mapping[str, Sequence[Rating]], benchmark: Benchmark, *, by_run: bool
) -> dict[str, Any]:
    """Return a case as a sample of a model's log; `by_run` says that the run asked the model itself, so that what it was shown is known to the letter."""
    language = case.sample.tags.get("language", "en")
    levels = levels_of(benchmark, language)
    scores = {
        name: score
        for part in case.parts
        for name, score in _scores(
            part, _about(part, ratings.get(part.subject, ()), case, benchmark), case, model, levels
        )
    }
    sample_read = msgspec.structs.replace(case.sample, messages=case.dialogue)
    shown_messages = [_message(message) for message in (benchmark.asked(sample_read) if by_run else case.dialogue)]
    text = case.reply.text if case.reply is not None else _answer(case, model, ratings)
    answer = {"role": "assistant", "content": text, "source": "generate", "model": model}
    reasoning = case.reply.reasoning if case.reply is not None else ""
    parts = [{"type": "reasoning", "reasoning": reasoning}, {"type": "text", "text": text}]
    message = {**answer, "content": parts} if reasoning else answer
    record = case.outcome if case.outcome is not None and case.outcome.status is not Status.OK else case.reply
    usage = _usage(case.reply.usage) if case.reply is not None else _usage(None)
    return {
        "id": case.sample.id, "epoch": case.epoch, "input": shown_messages,
        "target": "" if case.sample.target is None else str(case.sample.target),
        "messages": [*shown_messages, *([message] if text or reasoning else [])],
        "output": _output(case, record, message, text, usage),
        "scores": scores, "metadata": {**case.sample.tags, "cluster": case.sample.cluster}, "model_usage": {model: usage},
        **({"uuid": case.reply.id, "total_time": case.reply.seconds, "working_time": case.reply.seconds} if case.reply else {}),
        **_error(record),
    }  # fmt: skip


def _message(message: Message) -> dict[str, str]:
    source = {"source": "input"} if message.role == "user" else {}
    return {"role": message.role, "content": message.content, **source}


def _usage(usage: Usage | None) -> dict[str, int]:
    """Return what was counted: of tokens that are not there, a reader would count them itself, with a tokenizer that it downloads."""
    if usage is None:
        return {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}
    return {
        "input_tokens": usage.prompt_tokens - usage.cached_tokens, "output_tokens": usage.completion_tokens,
        "total_tokens": usage.prompt_tokens + usage.completion_tokens, "input_tokens_cache_read": usage.cached_tokens,
    }  # fmt: skip


def _output(
    case: LogCase, record: Reply | None, answer: dict[str, Any], text: str, usage: dict[str, int]
) -> dict[str, Any]:
    """Return what the model put out last, and what became of it, or of the dialogue as a whole."""
    model = answer["model"]
    if record is None:
        return {
            "model": model,
            "choices": [{"message": answer, "stop_reason": "stop"}],
            "completion": text,
            "usage": usage,
        }
    stopped = _STOPPED.get(record.finish_reason, record.finish_reason)
    if record.status is Status.FILTERED:
        stopped = "content_filter"
    choice = {"message": answer, "stop_reason": stopped if stopped in _KNOWN else "unknown"}
    facts_of = (case.outcome or record).provenance
    facts = {key: facts_of[key] for key in ("outcome", "problem") if facts_of.get(key)}
    return {
        "model": model, "choices": [choice] if answer["content"] or record.status is Status.FILTERED else [],
        "completion": text, "usage": usage, "time": record.seconds,
        "metadata": {"status": record.status.value, "reply": record.id, **facts},
        **({"error": _reason(record)} if record.status is Status.FAILED else {}),
    }  # fmt: skip


def _reason(record: Reply) -> str:
    return str(record.provenance.get("error") or record.provenance.get("problem") or "no answer came")


def _error(record: Reply | None) -> dict[str, Any]:
    if record is None or record.status is not Status.FAILED:
        return {}
    return {"error": {"message": _reason(record), "traceback": "", "traceback_ansi": ""}}


def _answer(case: LogCase, model: str, ratings: Mapping[str, Sequence[Rating]]) -> str:
    """Return the answer to a closed question, as far as it was one."""
    own = [
        r for part in case.parts for r in ratings.get(part.subject, ()) if r.rater == model and r.run == case.epoch - 1
    ]
    return "\n".join(f"{r.criterion}: {r.value}" for r in own if r.value is not None)


def levels_of(benchmark: Benchmark, language: str) -> dict[tuple[str, object], str]:
    """Return what each level of each criterion looks like, in words."""
    return {
        (criterion.name, level.value): in_language(level.text, language)
        for criterion in benchmark.criteria
        for level in criterion.levels
        if level.text
    }


def _about(part: RatedPart, ratings: Iterable[Rating], case: LogCase, benchmark: Benchmark) -> list[Rating]:
    """Return ratings on criteria that are about such a part; where one is about whole dialogues, nothing is said of a turn."""
    tags = {**case.sample.tags, "unit": part.unit} if part.unit else case.sample.tags
    others = {criterion.name for criterion in benchmark.criteria if not criterion.about(tags)}
    return [r for r in ratings if r.criterion not in others or r.status is not Status.NOT_APPLICABLE]


def _scores(
    part: RatedPart, ratings: Iterable[Rating], case: LogCase, model: str, levels: Mapping[tuple[str, object], str]
) -> Iterable[tuple[str, dict[str, Any]]]:
    """Return a score for each who rated a part, and for each time; of a closed question, other models have logs of their own."""
    groups: dict[tuple[str, int], list[Rating]] = {}
    for rating in ratings:
        of_model = case.reply is None and rating.rater_kind in {RaterKind.MODEL, RaterKind.CLASSIFIER}
        if of_model and (rating.rater, rating.run) != (model, case.epoch - 1):
            continue
        groups.setdefault((rating.rater, rating.run if case.reply is not None else 0), []).append(rating)
    for (rater, run), group in groups.items():
        repeat = f" ({run + 1})" if run else ""
        yield f"{rater}{repeat}{part.mark}", _score(group, part, levels)


def _score(ratings: Sequence[Rating], part: RatedPart, levels: Mapping[tuple[str, object], str]) -> dict[str, Any]:
    named = [(rating.criterion, rating) for rating in ratings]
    explanation = explanation_of(named)
    return {
        "value": {name: math.nan if rating.value is None else rating.value for name, rating in named},
        **({"explanation": explanation} if explanation else {}),
        "metadata": {**metadata_of(named, levels), **({"turn": part.turn, "unit": part.unit} if part.mark else {})},
    }


def explanation_of(ratings: Sequence[tuple[str, Rating]]) -> str:
    """Return the reasons of ratings, each once, with the criteria that it is for where it is not for all.

    Args:
        ratings: of one rater, under the names that they have in a score.
    """
    reasons: dict[str, list[str]] = {}
    for name, rating in ratings:
        if rating.rationale:
            reasons.setdefault(rating.rationale, []).append(name)
    rated = [name for name, rating in ratings if rating.status is not Status.NOT_APPLICABLE]
    if len(reasons) == 1 and len(next(iter(reasons.values()))) == len(rated):
        return next(iter(reasons))
    return "\n\n".join(f"{', '.join(names)}: {text}" for text, names in reasons.items())


def metadata_of(ratings: Sequence[tuple[str, Rating]], levels: Mapping[tuple[str, object], str]) -> dict[str, Any]:
    """Return what a score says beside values and reasons: who rated by what, statuses, levels in words, and what was quoted.

    Args:
        ratings: of one rater, under the names that they have in a score; at least one.
        levels: criterion and level → what that level looks like.
    """
    first = ratings[0][1]
    problems = {name: rating.provenance["problem"] for name, rating in ratings if rating.provenance.get("problem")}
    facts = {key: first.provenance[key] for key in ("selection", "protocol", "drawn") if first.provenance.get(key)}
    return {
        "rater": first.rater, "rater_kind": first.rater_kind.value, "run": first.run, "instrument": first.instrument,
        "status": {name: rating.status.value for name, rating in ratings},
        "levels": {name: text for name, r in ratings if (text := levels.get((r.criterion, r.value)))},
        "evidence": _evidence(ratings), **facts, **({"problem": problems} if problems else {}),
    }  # fmt: skip


def _evidence(ratings: Sequence[tuple[str, Rating]]) -> list[dict[str, Any]]:
    """Return what was quoted, each quote once, with the criteria it is for."""
    quotes: dict[Evidence, list[str]] = {}
    for name, rating in ratings:
        for quote in rating.evidence:
            quotes.setdefault(quote, []).append(name)
    return [{"quote": q.quote, "found": q.found, "source": q.source, "criteria": names} for q, names in quotes.items()]
