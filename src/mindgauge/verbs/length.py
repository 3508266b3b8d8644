"""What is probably too long for a model to read, said before anything is sent.

Tokens are estimated from above for English and most Chinese, so the server has the last word: what it refuses as too
long has the status `failed`, and an answer that it cuts off is `unparsable`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindgauge.engine.session import tokens
from mindgauge.engine.steps import reply_request
from mindgauge.records import Status
from mindgauge.verbs import plan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from mindgauge.benchmark import Benchmark
    from mindgauge.models.request import Model, Request
    from mindgauge.raters.judge import Instrument
    from mindgauge.records import Reply, Sample

    Notice = Callable[[str], None]


def judged(
    notice: Notice | None,
    benchmark: Benchmark,
    judges: Sequence[Model],
    replies: Iterable[tuple[Sample, Reply]],
    asked: plan.Asked,
) -> None:
    """Say how many replies, with their dialogues, are too long for each judge and method."""
    limited = [model for model in judges if model.context is not None]
    if notice is None or not limited:
        return
    there = [(sample, reply) for sample, reply in replies if reply.status is Status.OK]
    for model in limited:
        for instrument in plan.instruments(benchmark, asked):
            judge = plan.judging_by(model, instrument, asked)
            lengths = [
                max(_length(model, request) for request in judge.requests(sample, reply, _protocol(benchmark, sample)))
                for sample, reply in there
            ]
            _tell(notice, model, judge.rater, "replies", lengths)


def asked_about(
    notice: Notice | None,
    benchmark: Benchmark,
    models: Sequence[Model],
    instruments: Sequence[Instrument],
    samples: Sequence[Sample],
) -> None:
    """Say how many dialogues are too long for each model under test and way of asking it."""
    for model in models if notice is not None else ():
        if model.context is None:
            continue
        if not benchmark.closed:
            _tell(
                notice,
                model,
                model.name,
                "dialogues",
                [_length(model, reply_request(benchmark, s, 0, {})) for s in samples],
            )
        for instrument in instruments:
            judge = plan.judge_for(model, instrument, {})
            lengths = [max(_length(model, request) for request in judge.requests(sample)) for sample in samples]
            _tell(notice, model, judge.rater, "dialogues", lengths)


def _protocol(benchmark: Benchmark, sample: Sample) -> str | None:
    """Return the protocol that a judge would be shown, or any, where it has to recognise it first."""
    known: Iterator[str] = (name for criterion in benchmark.rubric.criteria for name in criterion.protocols)
    return sample.tags.get(benchmark.protocol) or next(known, None) if benchmark.protocol else None


def _length(model: Model, request: Request) -> int:
    """Estimate the tokens of a question with the longest answer to it."""
    room: int = request.parameters.get("max_tokens", model.max_tokens)
    return tokens(request.messages) + room


def _tell(notice: Notice | None, model: Model, who: str, what: str, lengths: Sequence[int]) -> None:
    assert model.context is not None
    over = [length for length in lengths if length > model.context]
    if over and notice is not None:
        notice(
            f"{who}: {len(over)} of {len(lengths)} {what} are probably longer than its context of {model.context} tokens "
            f"(the longest about {max(over)}, with room for the answer); what it cannot read will be missing, not guessed"
        )
