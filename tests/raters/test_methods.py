"""Every open benchmark can be judged by every method, in every language, joint and split."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from mindgauge import benchmarks
from mindgauge.benchmarks.card import SHARED, SLOTS, prompts_of
from mindgauge.raters.judge import Judge, Mode
from mindgauge.records import Message, Reply, Sample, Status
from mindgauge.records.rubric import Method
from mindgauge.records.text import HAN

if TYPE_CHECKING:
    from pathlib import Path

OPEN = [name for name in benchmarks.names() if not (b := benchmarks.find_one(name)).closed and b.situation is None]
"""Of dialogues, no sample is one that every criterion is about (`tests/benchmarks/test_every_benchmark.py`)."""
SPOKEN = [(name, language) for name in OPEN for language in benchmarks.find_one(name).card.languages]


def to_which_all_applies(benchmark: benchmarks.Benchmark) -> dict[str, str]:
    """Return tags of a sample that every criterion is about; skip a test of a benchmark that has none."""
    wanted: dict[str, set[str]] = {}
    for tag, values in (item for criterion in benchmark.rubric.criteria for item in criterion.applies.items()):
        wanted[tag] = wanted.get(tag, {*values}) & {*values}
    if not all(wanted.values()):
        pytest.skip("no sample is one that all criteria are about: dialogues, and what clients wrote")
    return {tag: min(values) for tag, values in wanted.items()}


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("method", Method)
@pytest.mark.parametrize(("name", "language"), SPOKEN)
def test_each_method_shows_what_it_is_to_show(name: str, method: Method, mode: Mode, language: str) -> None:
    benchmark = benchmarks.find_one(name)
    sample = Sample.of(
        (Message("user", "Low {form}."),), tags={"language": language, **to_which_all_applies(benchmark)}
    )
    reply = Reply.of(sample.id, "m", 0, Status.OK, "I hear you {rubric}.")
    protocol = next((p for c in benchmark.rubric.criteria for p in c.protocols), None)
    judge = Judge("j", benchmark.instrument(mode, method=method), {}, {})
    assert judge.rater == {"general": "j (general)", "rule": "j", "chain": "j (chain)"}[method]
    asked = judge.requests(sample, reply, protocol)
    assert len(asked) == len(judge.instrument.parts(protocol))
    for request in asked:
        text = request.messages[0].content
        assert f"<reply {request.nonces[0]}>\nI hear you {{rubric}}.\n</reply {request.nonces[0]}>" in text
        assert "Low {form}." in text, "slots in what others wrote stay as they are"
        assert text.count("<dialogue ") == text.count("<reply ") == 1
        assert bool(HAN.search(text)) == (language == "zh")
        assert ('"value"' in text) == (method is Method.CHAIN)
        schema = json.dumps(request.schema)
        assert ('"uncertain"' in schema) == (method is Method.CHAIN)
    rendered = "\n".join(request.messages[0].content for request in asked)
    for criterion in benchmark.rubric.criteria:
        assert f"## {criterion.name}" in rendered
        described = [(c.text or {}).get(language, "") for c in criterion.levels if c.text]
        assert all(text in rendered for text in described) == (method is not Method.GENERAL) or not described


def test_methods_are_instruments_of_their_own() -> None:
    benchmark = benchmarks.find_one("mentalbench")
    names = {benchmark.instrument(mode, method=method).name for mode in Mode for method in Method}
    assert len(names) == 6


def test_a_benchmark_s_own_prompts_come_first_and_are_never_mixed_with_shared_ones(tmp_path: Path) -> None:
    (tmp_path / "judge.en.md").write_text("J {rubric} {form} {dialogue} {reply} {nonce}", encoding="utf-8")
    (tmp_path / "judge.chain.en.md").write_text("C {rubric} {form} {dialogue} {reply} {nonce}", encoding="utf-8")
    found = prompts_of(tmp_path)
    assert set(found) == {
        "judge",
        "judge.chain",
        "judge.client",
        "judge.dialogue",
        "judge.general",
        "judge.general.split",
    }
    assert found["judge.chain"]["en"].text.startswith("C ") and set(found["judge.chain"]) == {"en"}


def test_a_closed_question_gets_no_prompts_for_judges(tmp_path: Path) -> None:
    (tmp_path / "ask.en.md").write_text("A {rubric} {form} {dialogue} {nonce}", encoding="utf-8")
    assert set(prompts_of(tmp_path)) == {"ask"}


_LEFT_OUT = {"ask": {"order", "reply"}, "ask.reply": {"order"}}
"""Slots that a prompt may do without."""


def test_shared_prompts_name_no_level_and_fence_what_others_wrote() -> None:
    for path in sorted(SHARED.glob("*.md")):
        text = path.read_text(encoding="utf-8")
        kind = path.name.rsplit(".", 2)[0]
        slots = set(SLOTS[kind.partition(".reply")[0]]) - _LEFT_OUT.get(kind, set())
        assert all(text.count(f"{{{slot}}}") == 1 for slot in slots), path.name
        assert not any(f" {digit}" in text.replace("80", "") and f'"{digit}"' in text for digit in "012345"), (
            "no example to copy"
        )
        first, last = text.index("{dialogue}"), text.index("{reply}" if "reply" in slots else "{dialogue}")
        assert text.index("{nonce}") < first <= last, "the warning comes before what it is about"
        criterion_last = ".split." in path.name or ".dialogue." in path.name
        assert (text.index("{rubric}") > last) == criterion_last, "in split mode the criterion comes last"
    assert len(list(SHARED.glob("*.md"))) == 20
