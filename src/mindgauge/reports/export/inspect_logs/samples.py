"""A case as a sample of a log: the conversation, the model's answer, and a score for each who rated it.

A score's value holds all criteria; one that has no value is NaN there, and `status` in the score's metadata says why.
Names and forms are those of inspect_ai.log.EvalSample (schema version 2).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from mindgauge.records import RaterKind, Status
from mindgauge.records.rubric import in_language
from mindgauge.reports.export.inspect_logs.container import NO_VALUE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from mindgauge.benchmarks import Benchmark
    from mindgauge.records import Evidence, Message, Rating, Reply, Usage
    from mindgauge.reports.export.inspect_logs.cases import LogCase, RatedPart

_STOPPED = {"length": "max_tokens", "content_filter": "content_filter", "tool_calls": "tool_calls", "": "stop"}
"""Why an answer ended, as servers say it → as Inspect does; what is not here is `stop` or unknown to it."""
_KNOWN = {"stop", *_STOPPED.values()}
_THIN = 1_000
"""Characters of a text in a summary."""
_SCORES = "scores"


class LoggedAs(NamedTuple):
    """Under which names a case stands in its log."""

    ident: str
    model: str
    by_run: bool = False
    """Whether the run asked the model itself, so that what it was shown is known to the letter."""


def sample(
    case: LogCase, named: LoggedAs, ratings: Mapping[str, Sequence[Rating]], benchmark: Benchmark
) -> dict[str, Any]:
    """Return a case as a sample.

    Args:
        case: a reply, a dialogue, or an answer.
        named: under which id, of which model.
        ratings: by subject.
        benchmark: whose rubric they are by.
    """
    language = case.sample.tags.get("language", "en")
    levels = levels_of(benchmark, language)
    scores = {
        name: score
        for part in case.parts
        for name, score in _scores(
            part, _about(part, ratings.get(part.subject, ()), case, benchmark), case, named.model, levels
        )
    }
    sample_read = msgspec.structs.replace(case.sample, messages=case.dialogue)
    shown_messages = [
        _message(message) for message in (benchmark.asked(sample_read) if named.by_run else case.dialogue)
    ]
    text = case.reply.text if case.reply is not None else _answer(case, named.model, ratings)
    answer = {"role": "assistant", "content": text, "source": "generate", "model": named.model}
    reasoning = case.reply.reasoning if case.reply is not None else ""
    parts = [{"type": "reasoning", "reasoning": reasoning}, {"type": "text", "text": text}]
    message = {**answer, "content": parts} if reasoning else answer
    record = case.outcome if case.outcome is not None and case.outcome.status is not Status.OK else case.reply
    usage = _usage(case.reply.usage) if case.reply is not None else _usage(None)
    return {
        "id": named.ident, "epoch": case.epoch, "input": shown_messages,
        "target": "" if case.sample.target is None else str(case.sample.target),
        "messages": [*shown_messages, *([message] if text or reasoning else [])],
        "output": _output(case, record, message, text, usage),
        _SCORES: scores, "metadata": {**case.sample.tags, "cluster": case.sample.cluster}, "store": {}, "events": [],
        "model_usage": {named.model: usage}, "attachments": {},
        **({"uuid": case.reply.id, "total_time": case.reply.seconds, "working_time": case.reply.seconds} if case.reply else {}),
        **_error(record),
    }  # fmt: skip


def summary(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return what stands of a sample in the log's list of samples."""
    last = next((message["content"] for message in reversed(content["input"]) if message["role"] == "user"), "")
    error = {"error": content["error"]["message"]} if "error" in content else {}
    return {
        **{key: content[key] for key in ("id", "epoch", "target", "metadata", "model_usage", "uuid") if key in content},
        "input": last[:_THIN], _SCORES: {name: {"value": score["value"]} for name, score in content[_SCORES].items()},
        "completed": True, "message_count": len(content["messages"]), **error,
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
        "value": {name: NO_VALUE if rating.value is None else rating.value for name, rating in named},
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
