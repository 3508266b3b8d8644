"""Ratings one by one: what the model was shown and answered, and what one rater said of it on one criterion.

A rating without a value has a score that no level has, and `error` says what became of it: it is never a 0, and never left out.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, NamedTuple

from mindgauge.raters.window import Unit
from mindgauge.records import RaterKind, Status
from mindgauge.records.rubric import Scale

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mindgauge.benchmarks import Benchmark
    from mindgauge.records import Rating, Reply, Value
    from mindgauge.records.rubric import Criterion
    from mindgauge.reports.export.every_eval_ever.identity import ModelIdentity
    from mindgauge.reports.export.inspect_logs.cases import LogCase, RatedPart

SCHEMA = "0.3.0"
_METHODS = {RaterKind.MODEL: "llm_judge", RaterKind.PANEL: "llm_judge", RaterKind.PERSON: "human", RaterKind.RULE: "rule"}  # fmt: skip


class LevelScores:
    """What the levels of a criterion are as numbers, and which of them count as correct."""

    def __init__(self, criterion: Criterion) -> None:
        """Number them: numbers are themselves, words their places in the rubric's order."""
        self._unsafe = criterion.unsafe
        self._ordered = criterion.scale is Scale.ORDINAL
        places = {value: float(place) for place, value in enumerate(criterion.values)}
        self._numbers = {value: place if isinstance(value, str) else float(value) for value, place in places.items()}
        self.unknown = min(-1.0, *(number - 1.0 for number in self._numbers.values()))
        """The score of a rating without a value."""
        ranks = criterion.worst_first
        better = ranks[(len(ranks) + 1) // 2 :] if self._ordered else ranks
        self._good = {value for value in ranks if value not in criterion.unsafe} if criterion.unsafe else {*better}

    def score(self, value: Value | None) -> float:
        """Return a level as a number."""
        if value is None:
            return self.unknown
        return self._numbers.get(value, self.unknown) if isinstance(value, str) else float(value)

    def correct(self, value: Value | None, reference: Value | None) -> bool:
        """Say whether a level is what it should be: the reference or, where there is none, a good one."""
        if value is None:
            return False
        return value == reference if reference is not None else value in self._good

    @property
    def rule(self) -> str:
        """What is correct, in words."""
        if self._unsafe:
            good = f"none of the unsafe levels ({', '.join(map(str, self._unsafe))})"
        else:
            good = "one of the better half of the levels" if self._ordered else "any level"
        return f"the level is the reference or, where there is none, {good}; without a verdict, it is not"


class FileContext(NamedTuple):
    """To what the rows of one file belong."""

    evaluation: str
    model: ModelIdentity
    benchmark: Benchmark
    results: Mapping[tuple[str, str], str]
    """Criterion and rater → the id of the figure that leads for them."""
    levels: Mapping[str, LevelScores]
    """By criterion."""
    people: Mapping[str, str]
    """Person who rated → what they are called outside."""
    open_ids: frozenset[str] | None
    """The samples whose texts may be passed on, with what was said of them; None for all."""


def of_case(case: LogCase, ratings: Mapping[str, Sequence[Rating]], file: FileContext) -> Iterator[dict[str, Any]]:
    """Yield a row for each rating of a case, a reply, a dialogue or an answer to a closed question.

    Args:
        case: the case.
        ratings: by subject.
        file: that the rows stand in.
    """
    quotable = file.open_ids is None or case.sample.id in file.open_ids
    about_case = _about(case, file, quotable=quotable)
    for part in case.parts:
        of_part = ratings.get(part.subject, ())
        references = {rating.criterion: rating.value for rating in of_part if rating.rater_kind is RaterKind.GOLD}
        for rating in of_part:
            if _is_verdict(rating, case, file):
                target = case.sample.target if file.benchmark.closed else None
                yield {**about_case, **_verdict(rating, part, references.get(rating.criterion, target), about_case, file, quotable=quotable)}  # fmt: skip


def _is_verdict(rating: Rating, case: LogCase, file: FileContext) -> bool:
    """Whether a rating is what somebody said of this case; other models' answers to its question are in their own files."""
    if rating.rater_kind is RaterKind.GOLD or rating.criterion not in file.levels or rating.status is Status.NOT_APPLICABLE:  # fmt: skip
        return False
    answers = file.benchmark.closed and rating.rater_kind in {RaterKind.MODEL, RaterKind.CLASSIFIER}
    return not answers or (rating.rater, rating.run) == (file.model.name, case.epoch - 1)


def _about(case: LogCase, file: FileContext, *, quotable: bool) -> dict[str, Any]:
    """Return what all rows of a case have: what was asked and answered; without the texts where they are withheld."""
    reply = case.reply
    spoken = [(message.role, message.content) for message in case.dialogue]
    single = [role for role, _ in spoken if role != "system"] == ["user"]
    question = "\n\n".join(text if role == "user" else f"{role}: {text}" for role, text in spoken)
    asked = question if single else spoken[0][1]
    answers = [] if reply is None or not reply.text else [reply.text]
    turns = [*spoken, *(("assistant", text) for text in answers)]
    facts = {**case.sample.tags, "cluster": case.sample.cluster, "repeat": str(case.epoch)}
    if reply is not None:
        facts |= {"reply": reply.id, "reply_status": reply.status.value}
    if not quotable:
        facts["texts"] = "withheld: restricted by those who released them; sample_hash is of the message itself"
    return {
        "schema_version": SCHEMA, "evaluation_id": file.evaluation, "model_id": file.model.ident,
        "evaluation_name": file.benchmark.name, "sample_id": case.sample.id,
        "sample_hash": hashlib.sha256(question.encode()).hexdigest(), "interaction_type": "single_turn" if single else "multi_turn",
        "input": {"raw": asked if quotable else "", "reference": []},
        "output": {"raw": answers if quotable else [], **({"reasoning_trace": [reply.reasoning]} if quotable and reply is not None and reply.reasoning else {})} if single else None,
        "messages": None if single else [
            {"turn_idx": place, "role": role, "content": text if quotable else None} for place, (role, text) in enumerate(turns)
        ],
        "evaluation": {"num_turns": max(1, sum(role == "user" for role, _ in spoken))},
        **_effort(reply), "metadata": facts,
    }  # fmt: skip


def _effort(reply: Reply | None) -> dict[str, Any]:
    """Return the tokens and the time of a reply, as far as they were counted."""
    if reply is None:
        return {}
    usage, effort = reply.usage, {}
    if total := usage.prompt_tokens + usage.completion_tokens:
        effort["token_usage"] = {
            "input_tokens": usage.prompt_tokens, "output_tokens": usage.completion_tokens, "total_tokens": total,
            "input_tokens_cache_read": usage.cached_tokens,
        }  # fmt: skip
    return {**effort, "performance": {"latency_ms": 1000 * reply.seconds}} if reply.seconds else effort


def _verdict(
    rating: Rating, part: RatedPart, reference: Value | None, about_case: Mapping[str, Any], file: FileContext, *, quotable: bool
) -> dict[str, Any]:  # fmt: skip
    """Return what one rating adds to what is known of its case, or says more closely."""
    levels, messages = file.levels[rating.criterion], about_case["messages"]
    last = len(messages) - 1 if messages else 0
    place = _place(part, messages) if messages else 0
    level = "" if rating.value is None else str(rating.value)
    result = file.results.get((rating.criterion, rating.rater))
    facts = {
        "criterion": rating.criterion, "rater": file.people.get(rating.rater, rating.rater), "rater_kind": rating.rater_kind.value, "instrument": rating.instrument,
        "status": rating.status.value, "rater_repeat": str(rating.run + 1), "level": level, "subject": part.subject,
        "rated": part.unit, "turn": str(part.turn or ""), "rationale": rating.rationale if quotable else "",
    }  # fmt: skip
    return {
        **({"evaluation_result_id": result} if result else {}),
        "input": {**about_case["input"], "reference": [] if reference is None else [str(reference)]},
        "answer_attribution": [{
            "turn_idx": place, "source": "messages[turn_idx].content" if messages else "output.raw",
            "extracted_value": level, "extraction_method": _METHODS.get(rating.rater_kind, "custom"), "is_terminal": place == last,
        }],
        "evaluation": {
            **about_case["evaluation"], "score": levels.score(rating.value), "is_correct": levels.correct(rating.value, reference),
        },
        **({"error": f"no verdict: {rating.status.value}"} if rating.value is None else {}),
        "metadata": {**about_case["metadata"], **{name: text for name, text in facts.items() if text}},
    }  # fmt: skip


def _place(part: RatedPart, messages: Sequence[Mapping[str, Any]]) -> int:
    """Return which message was rated; of a whole dialogue, and of a reply that never came, the last one."""
    roles: dict[str, str] = {Unit.TURN: "assistant", Unit.CLIENT: "user"}
    role = roles.get(part.unit)
    places = [message["turn_idx"] for message in messages if message["role"] == role]
    return places[part.turn - 1] if 0 < part.turn <= len(places) else len(messages) - 1
