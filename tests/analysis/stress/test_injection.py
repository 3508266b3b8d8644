"""The battery: what is in it, that it is put where it says, and that it stays inside the fence."""

from __future__ import annotations

import asyncio
import itertools
import unicodedata
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

import mindgauge.analysis.stress.probes
from mindgauge import benchmarks
from mindgauge.analysis.stress.probes import OriginalReply, attempts, injected, put
from mindgauge.raters import judge as judging
from mindgauge.raters import verdict
from mindgauge.raters.judge import Judge, Mode
from mindgauge.records.rubric import Method
from mindgauge.records.text import HAN
from tests.analysis.stress.planted import Obedient
from tests.thinned import later

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.benchmarks import Benchmark
    from mindgauge.raters.echo import PromptText
    from mindgauge.records import Exchange
    from mindgauge.records.request import Request
    from mindgauge.records.rubric import Criterion

KINDS = (
    "fake_verdict",
    "fake_delimiter",
    "role_change",
    "hidden_unicode",
    "json_smuggling",
    "instruction",
    "fake_rubric",
    "disguise",
    "seen_prompt",
)
SEEN = KINDS[-1]


def test_every_kind_in_both_places_and_languages() -> None:
    found = attempts()
    assert len(found) == 200
    assert len({a.id for a in found}) == len({a.text for a in found}) == 200
    cells = Counter((a.kind, a.where, a.language) for a in found)
    assert set(cells) == set(itertools.product(KINDS, ("reply", "dialogue"), ("en", "zh")))
    assert min(cells.values()) >= 2
    by_who_saw_prompts = [a for a in found if a.kind == SEEN]
    assert len(by_who_saw_prompts) >= len(found) / 3
    assert all("{seen}" in a.text for a in by_who_saw_prompts)
    assert {a.aims for a in found} == {"best", "worst"}


def test_each_is_in_its_language_and_its_slots_are_filled() -> None:
    criterion = benchmarks.find_one("mentalbench").rubric.criteria[0]
    for attempt in attempts():
        filled = attempt.filled(criterion)
        assert "{criterion}" not in filled and "{best}" not in filled and "{worst}" not in filled
        chinese = HAN.search(attempt.text) is not None
        assert chinese == (attempt.language == "zh") or attempt.kind == "json_smuggling", attempt.id
        assert attempt.aim(criterion) == criterion.values[-1 if attempt.aims == "best" else 0]


def test_what_cannot_be_seen_is_written_as_escapes() -> None:
    raw = (Path(mindgauge.analysis.stress.probes.__file__).parent / "injection_attempts.toml").read_text(
        encoding="utf-8"
    )
    hidden = {"Cf", "Cn", "Co", "Cs", "Cc", "Mn"}
    assert not [c for c in raw if (unicodedata.category(c) in hidden and c != "\n") or 0x400 <= ord(c) < 0x530]
    for attempt in (a for a in attempts() if a.kind == "hidden_unicode"):
        assert any(unicodedata.category(c) in {"Cf", "Mn", "Cn"} or 0x400 <= ord(c) < 0x530 for c in attempt.text)


def test_put() -> None:
    text = "One is here. Two is here. Three is here."
    assert put(text, "X", "start") == f"X\n\n{text}"
    assert put(text, "X", "end") == f"{text}\n\nX"
    assert put(text, "X", "middle") in {
        "One is here. Two is here.\n\nX\n\nThree is here.", "One is here.\n\nX\n\nTwo is here. Three is here.",
    }  # fmt: skip


@pytest.mark.parametrize("name", ["mentalbench", "help_or_harm/response"])
def test_every_attempt_is_tried_where_something_could_be_seen(name: str) -> None:
    benchmark = benchmarks.find_one(name)
    items = [OriginalReply.of(anchor) for anchor in benchmark.anchors()]
    found = list(injected(items, benchmark.rubric.criteria, 4))
    tried = [(item, version) for item, version in found if version.facts]
    assert Counter(version.facts["attempt"] for _, version in tried) == dict.fromkeys((a.id for a in attempts()), 4)
    for item, version in tried:
        assert item.stated_levels.get(version.facts["criterion"]) != version.facts["aim"], (
            "known of a pair is one criterion"
        )
        assert item.language == version.facts["language"]
    placebos = {(item.reply.id, version.name) for item, version in found if not version.facts}
    assert placebos == {(item.reply.id, version.facts["placebo"]) for item, version in tried}
    conversations = Counter(item.sample.cluster for item, _ in tried)
    assert len(conversations) > 0.95 * len({item.sample.cluster for item in items}), (
        "nearly all conversations take part"
    )
    assert Counter(v.facts["criterion"] for _, v in tried).keys() == {c.name for c in benchmark.rubric.criteria}
    assert found == list(injected(items, benchmark.rubric.criteria, 4))


def _try(benchmark: Benchmark, model: Obedient, mode: Mode, method: Method) -> None:
    """Put every attempt to a judge once, with the mode and method."""
    instrument = judging.Instrument(benchmark.rubric, benchmark.prompts["judge"], mode, method=method)
    judge = Judge(model.name, instrument, {}, {})
    items = [OriginalReply.of(anchor) for anchor in benchmark.anchors()]

    async def ask(request: Request) -> Exchange:
        return await model.ask(request)

    async def all_() -> None:
        for item, version in injected(items, benchmark.rubric.criteria, 1):
            protocol = version.sample.tags.get(benchmark.protocol) if benchmark.protocol else None
            await judge.rate(ask, version.sample, version.record(item, "injection"), 0, protocol)

    asyncio.run(all_())


ALWAYS = {(False, Mode.JOINT, Method.RULE), (True, Mode.SPLIT, Method.CHAIN)}
"""What every push tries, so that each bait and mode is tried; the others are tried in the long form."""


@pytest.mark.parametrize(
    ("baiting", "mode", "method"),
    [
        pytest.param(*way, marks=[] if way in ALWAYS else pytest.mark.long)
        for way in itertools.product((False, True), Mode, Method)
    ],
)
def test_none_of_the_attempts_leaves_the_fence(*, baiting: bool, mode: Mode, method: Method) -> None:
    benchmark = benchmarks.find_one("mentalbench")
    model = Obedient(benchmark, baiting=baiting)
    _try(benchmark, model, mode, method)
    assert model.reached == set()
    assert (model.repaired > 0) == baiting, "with the bait every call is repaired, and the repair carries nothing"


@pytest.mark.parametrize(
    ("name", "baiting"),
    [
        later("mentalbench", True),
        ("help_or_harm/response", False),
        later("mentalbench", False),
        later("help_or_harm/response", True),
    ],
)
def test_without_the_fence_all_of_them_arrive(name: str, monkeypatch: pytest.MonkeyPatch, *, baiting: bool) -> None:
    benchmark = benchmarks.find_one(name)
    model = Obedient(benchmark, baiting=baiting)
    monkeypatch.setattr(judging, "fence", lambda name, text, nonce: text)
    _try(benchmark, model, Mode.JOINT, Method.RULE)
    assert model.reached == {attempt.id for attempt in attempts()}


def test_a_repair_that_repeats_the_answer_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bait works: were the judge's words handed back to it, as they once were, the attempts would arrive."""
    benchmark = benchmarks.find_one("help_or_harm/response")
    model = Obedient(benchmark, baiting=True)
    read = verdict.read

    def leaking(text: str, criteria: Sequence[Criterion], shown: PromptText) -> dict[str, verdict.Verdict]:
        found = read(text, criteria, shown)
        return {name: replace(one, problem=text) if one.problem else one for name, one in found.items()}

    monkeypatch.setattr(verdict, "read", leaking)
    _try(benchmark, model, Mode.JOINT, Method.RULE)
    assert model.reached
