"""The battery by authors who were shown the marks of earlier prompts about the same dialogue: none of it leaves the fence."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest

from mindgauge import benchmarks
from mindgauge.analysis.stress.probes import Attempt, OriginalReply, Version, attempts
from mindgauge.raters.judge import Judge, Mode
from mindgauge.records.prompt import Nonces
from mindgauge.records.rubric import Method
from tests.attacks.spies import outside
from tests.thinned import later

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mindgauge.benchmarks import Benchmark
    from mindgauge.records.request import Request

NAMES = ["mentalbench", "help_or_harm/response"]


def written(attempt: Attempt, item: OriginalReply, benchmark: Benchmark, mark: str) -> Version:
    """Put an attempt into an item, filled with a mark that its author was shown."""
    return attempt.placed(item, attempt.filled(benchmark.rubric.criteria[0], mark))


def shown(judge: Judge, item: OriginalReply, version: Version, benchmark: Benchmark) -> list[Request]:
    """Return what a judge is sent about a version of an item."""
    protocol = version.sample.tags.get(benchmark.protocol) if benchmark.protocol else None
    return judge.requests(version.sample, version.record(item, "injection"), protocol)


def stands_outside(attempt: Attempt, mark: str, request: Request, plain: Request, benchmark: Benchmark) -> bool:
    """Whether a line of an attempt stands outside the fence, and not in what is asked without it."""
    text, own = (outside(each.messages[0].content, each.nonces) for each in (request, plain))
    lines = attempt.filled(benchmark.rubric.criteria[0], mark).splitlines()
    return any(len(line.strip()) >= 6 and line in text and line not in own for line in lines)


def reaching(benchmark: Benchmark, mode: Mode, method: Method) -> Iterator[str]:
    """Let authors see what a judge is shown of an earlier reply; yield attempts of which a line is then outside the fence."""
    instrument = benchmark.instrument(mode, method=method)
    items = [OriginalReply.of(anchor) for anchor in benchmark.anchors()]
    by_language = {language: [i for i in items if i.language == language] for language in ("en", "zh")}
    for number, attempt in enumerate(attempts()):
        able = by_language[attempt.language] or items
        item = able[number % len(able)]
        # The dialogue stays the one that the mark belongs to where the attempt stands in the reply. Where it stands in the
        # dialogue, the person knows the mark of the very dialogue that holds it, as if it had been judged before.
        blank = written(attempt, item, benchmark, "0" * 16)
        for earlier in (Version.of(item, "plain"), blank):
            seen = shown(Judge("j", instrument, {}, {}), item, earlier, benchmark)
            marks = {nonce for request in seen for nonce in request.nonces}
            version = written(attempt, item, benchmark, min(marks))
            asked = shown(Judge("j", instrument, {}, {}), item, version, benchmark)
            for request, plain in zip(asked, seen, strict=True):
                assert not marks & {*request.nonces}
                if stands_outside(attempt, min(marks), request, plain, benchmark):
                    yield attempt.id


SETTINGS = [
    setting if number in {0, 5, 7, 10} else later(*setting)
    for number, setting in enumerate(itertools.product(NAMES, Mode, Method))
]
"""Each benchmark, mode and method at least once; all that they make in the long form."""


@pytest.mark.parametrize(("name", "mode", "method"), SETTINGS)
def test_none_leaves_the_fence_by_a_mark_of_an_earlier_prompt(name: str, mode: Mode, method: Method) -> None:
    assert not [*reaching(benchmarks.find_one(name), mode, method)]


def test_were_the_mark_the_same_again_they_would(monkeypatch: pytest.MonkeyPatch) -> None:
    benchmark = benchmarks.find_one("mentalbench")
    mark = "0123456789abcdef"
    item = OriginalReply.of(benchmark.anchors()[0])
    monkeypatch.setattr(Nonces, "draw", lambda self, subject, *folded: mark)
    judge = Judge("j", benchmark.instrument(), {}, {})
    (plain,) = shown(judge, item, Version.of(item, "plain"), benchmark)
    reached = [
        attempt
        for attempt in attempts()
        for request in shown(judge, item, written(attempt, item, benchmark, mark), benchmark)
        if stands_outside(attempt, mark, request, plain, benchmark)
    ]
    assert {attempt.kind for attempt in reached} == {"seen_prompt"}
    assert len(reached) >= 20
