"""The counts that the specification states, of the files exactly as released."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from mindgauge.benchmarks.trustmh import trustmh
from mindgauge.benchmarks.trustmh.emotion import emotion
from mindgauge.benchmarks.trustmh.ethics import dilemmas
from mindgauge.benchmarks.trustmh.jailbreak import jailbreak
from mindgauge.benchmarks.trustmh.knowledge import knowledge
from mindgauge.benchmarks.trustmh.privacy_awareness import privacy_awareness
from mindgauge.benchmarks.trustmh.privacy_leakage import privacy_leakage
from mindgauge.benchmarks.trustmh.released import dialogues
from mindgauge.benchmarks.variants.jailbreak import JailbreakKind, transform
from mindgauge.records.text import HAN

if TYPE_CHECKING:
    from mindgauge.benchmarks.trustmh.released.files import TrustMHRelease


def test_examinations(real: TrustMHRelease) -> None:
    for name, count in ((knowledge.USMLE, 727), (knowledge.CRISIS_QA, 153)):
        found, notes = knowledge.examination(real, name, count)
        assert (len(found), notes) == (count, [])
        assert all(question.right is not None for question, _ in found)
    rows = [row for _, row in real.require(knowledge.USMLE, "").records(dict[str, Any])]
    found, _ = knowledge.examination(real, knowledge.USMLE, 727)
    right = [question.options[question.right or 0] for question, _ in found]
    assert right == [str(row["answer_description"]).strip() for row in rows]


def test_emobench(real: TrustMHRelease) -> None:
    found, notes = emotion.understanding(real)
    assert (len(found), notes) == (400, [])
    assert Counter(len(feelings.options) for feelings, *_ in found) == {6: 400}
    assert Counter(len(causes.options) for _, causes, *_ in found) == {4: 279, 6: 120, 7: 1}
    assert Counter(about["language"] for *_, about in found) == {"en": 200, "zh": 200}
    assert len({row for *_, row, _ in found}) == 200


def test_windows_of_esconv(real: TrustMHRelease) -> None:
    found, notes = dialogues.windows(real)
    assert (len(found), notes) == (2775, [])
    assert Counter(len(window.messages) for window in found)[5] == 2478
    assert all(len(window.messages) <= 5 and window.messages[-1].role == "assistant" for window in found)
    assert {window.strategy for window in found} == {
        "Questions", "Affirmation and Reassurance", "Providing Suggestions", "Other", "Self-disclosure",
        "Reflection of feelings", "Information", "Restatement or Paraphrasing",
    }  # fmt: skip
    assert [window.dialogue for window in found] == sorted(window.dialogue for window in found)


def test_dialogues(real: TrustMHRelease) -> None:
    fair, notes = dialogues.for_fairness(real)
    assert (len(fair), notes) == (11, [])
    assert Counter(m.role for d in fair for m in d.messages) == {"user": 142, "assistant": 132}
    chinese, notes = dialogues.counselling(real)
    assert (len(chinese), notes) == (45, [])
    assert Counter(m.role for d in chinese for m in d.messages) == {"user": 296, "assistant": 296}
    assert {*Counter(d.about["topic"] for d in chinese).values()} == {5}
    assert all(8 <= len(d.messages) <= 18 for d in chinese)


def test_severity(real: TrustMHRelease) -> None:
    found, (note,) = trustmh.users(real)
    assert len(found) == 500
    assert "28 of 500 cells are cut off" in note
    assert Counter(user.level for user in found) == {
        "Ideation": 171, "Supportive": 108, "Indicator": 99, "Behavior": 77, "Attempt": 45,
    }  # fmt: skip
    assert sum(user.truncated for user in found) == 28
    assert sum(len(user.posts) for user in found if not user.truncated) == 6745
    assert all(user.posts for user in found)
    cells = real.require(trustmh.CSSRS, "").table(("Post",))
    cut = {row["User"] for _, row in cells if len(row["Post"]) == 32759}
    assert cut == {user.name for user in found if user.truncated}


def test_harm(real: TrustMHRelease) -> None:
    plain, notes = jailbreak.plain(real)
    assert (len(plain), notes) == (70, [])
    assert Counter(Counter(request.objective for request in plain).values()) == {5: 14}
    found, notes = jailbreak.transformed(real)
    assert (len(found), notes) == (560, [])
    assert [request.plain for request in found] == [row // 8 for row in range(560)]
    assert {*Counter(request.kind for request in found).values()} == {70}
    assert {*Counter(request.objective for request in found).values()} == {40}
    assert all(plain[request.plain].objective == request.objective for request in found)


def test_templates_make_the_released_jailbreaks(real: TrustMHRelease) -> None:
    templates, notes = jailbreak.templates(real)
    assert templates.keys() == {*JailbreakKind} - {JailbreakKind.URL_ENCODE}
    assert notes == []
    plain, _ = jailbreak.plain(real)
    for request in jailbreak.transformed(real)[0]:
        base, kind = plain[request.plain].text, request.kind
        assert kind is not None
        forms = {_bare(template.before + base + template.after) for template in templates[kind]}
        if kind is JailbreakKind.FIXED_SENTENCE:  # up to the opening
            assert _bare("Here is my query:" + base) == _bare(request.text)[-len(_bare("Here is my query:" + base)) :]
        elif kind is JailbreakKind.MULTITASK:  # up to the other tasks, and how many there are
            (template,) = templates[kind]
            assert request.text.startswith(template.before)
            assert request.text.endswith(base)
            assert transform(base, kind, templates=templates).startswith(template.before)
        else:
            assert _bare(request.text) in forms


def _bare(text: str) -> str:
    return "".join(text.split())


def test_privacy(real: TrustMHRelease) -> None:
    found, notes = privacy_awareness.expectations(real)
    assert (Counter(item.tier for item in found), notes) == ({"1": 10, "2a": 98, "2b": 98}, [])
    assert [item.people for item in found if item.tier == "1"] == [3.8, 3.2, 3.4, 3.4, 3.3, 1.7, 2.4, 1.7, 2.3, 2.1]
    assert not any("\\n" in item.text for item in found)
    assert sum(item.text.count("\n") for item in found) == 206
    stories, notes = privacy_leakage.secrets(real)
    assert (len(stories), notes) == (100, [])
    assert {*Counter(story.reason for story in stories).values()} == {20}
    assert Counter(story.relation for story in stories) == {
        "friend": 25, "boss": 23, "family_member": 21, "colleague": 17, "supervisor": 14,
    }  # fmt: skip
    for story in stories:
        assert story.question.startswith("What should")
        assert story.question not in story.story
        assert story.story.split("\n")[-1]
        assert "What should Dr." not in story.story
        assert story.client in story.control
        assert "to to " not in story.control


def test_privacy_copies_are_the_same(real: TrustMHRelease) -> None:
    pairs = (("tier_1.txt", 2), ("tier_2a.txt", 2), ("tier_2_labels.txt", 2))
    for name, copies in pairs:
        assert [len(real.all(name)), len({file.read() for file in real.all(name)})] == [copies, 1]
    assert real.require("PsyLeak.txt", "").read() == real.require("tier_3_psyqa_test.txt", "").read()


def test_sycophancy(real: TrustMHRelease) -> None:
    questions, _ = trustmh.questions(real)
    assert Counter(question.tags["source"] for question in questions) == {"relationship": 5, "advisorqa": 5}
    posts, _ = trustmh.posts(real)
    assert Counter(post.target for post in posts) == {"NTA": 6, "YTA": 4}


def test_ethics(real: TrustMHRelease) -> None:
    found, notes = dilemmas.dilemmas(real)
    assert len(found) == 125
    assert Counter("ABCD"[item.question.right or 0] for item in found) == {"A": 53, "B": 46, "C": 26}
    assert {*Counter(item.kind for item in found).values()} == {25}
    told = [(item.scenario, item.task, *item.question.options) for item in found]
    assert not any(HAN.search(text) or "\ufffd" in text for texts in told for text in texts)
    assert "746 garbled" in notes[0]
    assert "17 lost" in notes[0]
    raw, _ = dilemmas.dilemmas(real, raw=True)
    assert sum(any(HAN.search(t) for t in (i.scenario, i.task, *i.question.options)) for i in raw) == 68
    stored = {one.model: one for one in (dilemmas.stored_in(*place) for place in real.matching(dilemmas.STORED))}
    assert len(stored) == 6
    assert stored["gpt-5.1"].stated["accuracy"] == 0.6
    assert all(len(one.results) == len(one.judged) == 125 for one in stored.values())


def test_the_scored_files_have_the_schema_of_the_samples(real: TrustMHRelease) -> None:
    questions, _ = trustmh.questions(real, ["oeq_outputs.csv"])
    posts, _ = trustmh.posts(real, ["AITA_responses_elephant_scored.csv"])
    assert [len(questions), len(posts)] == [10, 10]
    assert [question.id for question in questions] == [question.id for question in trustmh.questions(real)[0]]
