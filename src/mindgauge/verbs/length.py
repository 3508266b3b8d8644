"""What is probably too long for a model to read, said before anything is sent.

Tokens are estimated from above for English and most Chinese, so the server has the last word: what it refuses as too
long has the status `failed`, and an answer that it cuts off is `unparsable`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindgauge.engine.budget import tokens
from mindgauge.engine.steps import reply_request
from mindgauge.records import Status
from mindgauge.verbs import plan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from mindgauge.benchmark import Benchmark
    from mindgauge.models.request import Model, Request
    from mindgauge.raters.judge import Instrument
    from mindgauge.raters.window import Window
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
    ok = [(sample, reply) for sample, reply in replies if reply.status is Status.OK]
    there = [(sample, reply) for sample, reply in ok if "unit" not in reply.provenance]
    fitted = [(sample, reply) for sample, reply in ok if "unit" in reply.provenance]
    for model in limited:
        for instrument in plan.instruments(benchmark, asked):
            judge = plan.judging_by(model, instrument, asked)
            lengths = [
                max(_length(model, request) for request in judge.requests(sample, reply, _protocol(benchmark, sample)))
                for sample, reply in there
            ]
            _tell(notice, model, judge.rater, "replies", lengths)
            windows = [judge.window(sample, reply, _protocol(benchmark, sample)) for sample, reply in fitted]
            _tell_fitted(notice, model, judge.rater, windows)


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


def _tell_fitted(notice: Notice, model: Model, who: str, windows: Sequence[Window]) -> None:
    """Say how many dialogues, up to what is rated of them, are shortened, and how many cannot be."""
    room = f"its context of {model.context} tokens"
    alone = sum(not window.fits for window in windows)
    if alone:
        notice(
            f"{who}: {alone} of {len(windows)} turns or dialogues have more words to rate than fit into {room}, with room "
            "for the answer; they will be missing, not guessed"
        )
    cut = [window for window in windows if window.left_out]
    if cut:
        most = max(sum(last - first + 1 for first, last in window.left_out) for window in cut)
        at_risk = [window.first_risk in window.shown for window in cut if window.first_risk is not None]
        notice(
            f"{who}: {len(cut)} of {len(windows)} dialogues are shortened to {room} (the longest has "
            f"{max(window.turns for window in cut)} turns; up to {most} are left out); the first sign of risk stays in "
            f"{sum(at_risk)} of {len(at_risk)} that show one; each rating says which turns were left out"
        )
