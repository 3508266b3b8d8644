"""Requests that begin alike come together, and the first of them before the rest, so that a server's cache serves them."""

from __future__ import annotations

import asyncio
import itertools
from typing import TYPE_CHECKING

import pytest

from mindgauge import benchmarks
from mindgauge.models.scripted import Scripted
from mindgauge.raters.judge import Judge, Mode
from mindgauge.records import Message, Reply, Sample, Status
from mindgauge.records.rubric import Method
from mindgauge.runs.rating_steps import RatingStep, _beginnings_first
from mindgauge.runs.session import Budget, Session
from mindgauge.store import Store

if TYPE_CHECKING:
    from pathlib import Path

    from mindgauge.records.request import Request

SAMPLES = [Sample.of((Message("user", f"I feel low, {n}."),)) for n in range(5)]


def about(*places: int) -> list[tuple[Sample, Reply | None, int]]:
    return [(SAMPLES[place], None, run) for run, place in enumerate(places)]


@pytest.mark.parametrize(
    ("at_once", "order"),
    [(1, [0, 1, 2, 3, 4, 5, 6]), (2, [0, 3, 1, 2, 4, 5, 6]), (9, [0, 3, 5, 1, 2, 4, 6])],
)
def test_the_first_about_each_dialogue_comes_before_the_rest_of_any(at_once: int, order: list[int]) -> None:
    asked = about(0, 0, 0, 1, 1, 2, 2)
    found = [run for _, _, run in _beginnings_first(iter(asked), at_once)]
    assert sorted(found) == list(range(7)), "nothing is lost"
    assert found == order


def requests(folder: Path, mode: Mode, *, own_machine: bool) -> list[Request]:
    """Judge three replies to each of four dialogues that were written in turn; return what was asked, in order."""
    benchmark, seen = benchmarks.find_one("mentalbench"), []

    def answer(request: Request) -> str:
        seen.append(request)
        return '{"x": 1}'

    model = Scripted("j", answer)
    model.own_machine = own_machine
    with Store(folder, write=True) as store:
        store.put_samples(benchmark.name, SAMPLES[:4])
        for n in range(3):
            for sample in SAMPLES[:4]:
                store.add_reply(benchmark.name, Reply.of(sample.id, "m", n, Status.OK, f"I hear you {n}."))
        store.flush()
        session = Session(store, concurrency=8, budget=Budget(None))
        judge = Judge("j", benchmark.instrument(mode), {}, {})
        asyncio.run(RatingStep(benchmark=benchmark, model=model, judge=judge).work(session))
    return seen


@pytest.mark.parametrize("mode", Mode)
def test_calls_about_one_dialogue_follow_each_other_on_this_machine(tmp_path: Path, mode: Mode) -> None:
    seen = [request.sample for request in requests(tmp_path, mode, own_machine=True)]
    changes = sum(a != b for a, b in itertools.pairwise(seen))
    assert changes == 3


def test_elsewhere_every_dialogue_has_been_begun_before_it_is_asked_about_again(tmp_path: Path) -> None:
    seen = [request.sample for request in requests(tmp_path, Mode.JOINT, own_machine=False)]
    assert len({sample.id for sample in seen[:4] if sample}) == 4


def shared(first: Request, second: Request) -> str:
    pairs = zip(first.messages[0].content, second.messages[0].content, strict=False)
    return "".join(a for a, _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))


@pytest.mark.parametrize("method", Method)
@pytest.mark.parametrize("name", [n for n in benchmarks.names() if not benchmarks.find_one(n).closed])
def test_replies_to_one_dialogue_share_all_up_to_the_reply(name: str, method: Method) -> None:
    benchmark = benchmarks.find_one(name)
    sample = benchmark.samples(None, limit=1)[0]
    replies = [Reply.of(sample.id, "m", 0, Status.OK, text) for text in ("Ah.", "Well, I hear you.")]
    for mode in Mode:
        judge = Judge("j", benchmark.instrument(mode, method=method), {}, {})
        protocol = sample.tags.get(benchmark.protocol) if benchmark.protocol else None
        first, second = (judge.requests(sample, reply, protocol)[0] for reply in replies)
        assert shared(first, second).endswith(f"<reply {first.nonces[0]}>\n")
        one, *others = judge.requests(sample, replies[0], protocol)
        for other in others:
            assert f"</reply {one.nonces[0]}>" in shared(one, other)
