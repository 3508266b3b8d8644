"""The labelling page without a script: questions, answers, steps back, and what bad input gets."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec
import pytest

from mindgauge import benchmarks
from mindgauge.annotation import submissions, tasks
from mindgauge.annotation.labels import last
from mindgauge.annotation.records import Answer, Answered, Item, Phase
from mindgauge.records import Message
from tests.annotation.conftest import begin, own_items
from tests.annotation.page.labelling import Seat, text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mindgauge.annotation.project import Annotation

CATEGORY = benchmarks.find_one("dialogue_safety").rubric.criteria[0]


@pytest.fixture
def scored(tmp_path: Path) -> Iterator[Annotation]:
    """A project with seven ordinal criteria."""
    items = tuple(
        Item(
            f"i{n}",
            (Message("user", f"It has been a hard month, number {n}."),),
            f"That sounds hard, {n}.",
            {"language": "en"},
            batch=1,
        )
        for n in range(3)
    )
    with begin(tmp_path / "scored", items=items, instrument="mentalbench") as opened:
        yield opened


def labels(project: Annotation, name: str) -> dict[str, object]:
    person = project.named(name).id
    return {label.item: label.given for label in last(project.labels()).values() if label.person == person}


def test_one_question_a_screen_up_to_the_first_yes(project: Annotation) -> None:
    ana = Seat(project, "ana")
    first = tasks.current(project, ana.person)
    assert isinstance(first, tasks.Assignment)
    for node in (0, 1):
        shown = ana.get()
        assert f"Question {node + 1} of 4" in text(shown)
        assert CATEGORY.nodes[node].question["en"] in text(shown)
        assert ana.choices("/item/decide", "answer") == [str(CATEGORY.nodes[node].levels[0]), "no", "cannot_tell"]
        ana.decide("no")
    assert project.labels() == []
    assert text(ana.get()).count(": No") >= 2  # the way here
    assert ana.decide("Linguistic Neglect").headers["location"] == "/item"
    [label] = project.labels()
    assert (label.item, label.value, label.path) == (
        first.item.id, "Linguistic Neglect", ((0, "no"), (1, "no"), (2, "Linguistic Neglect")),
    )  # fmt: skip
    assert "Item 2 of 6" in text(ana.get())


def test_the_last_question_offers_each_of_its_levels_then_what_is_left(project: Annotation) -> None:
    ana = Seat(project, "ana")
    ana.decide("no", "no", "no")
    page = text(ana.get())
    assert ana.choices("/item/decide", "answer") == [*map(str, CATEGORY.nodes[-1].levels), "no", "cannot_tell"]
    assert page.index("Toxic Language Open verbal harm") < page.index("Safe Response None of the other seven")
    ana.decide("no")
    [label] = project.labels()
    assert (label.value, label.path) == ("Safe Response", ((0, "no"), (1, "no"), (2, "no"), (3, "no")))


def test_a_step_can_be_taken_again(project: Annotation) -> None:
    ana = Seat(project, "ana")
    ana.decide("no", "no")
    [first, _] = re.findall(r'<a href="(/item\?[^"]+)"', ana.get().text)
    back = ana.get(first.replace("&amp;", "&"))
    assert "Question 1 of 4" in text(back)
    response = ana.client.post("/item/decide", data={**ana.form("/item/decide", back.text), "answer": "Nonsense"})
    assert response.status_code == 303
    [label] = project.labels()
    assert label.path == ((0, "Nonsense"),)


def test_cannot_tell_keeps_the_path(project: Annotation) -> None:
    Seat(project, "ana").decide("no", "cannot_tell")
    [label] = project.labels()
    assert (label.answered, label.value, label.path) == (Answered.CANNOT_TELL, None, ((0, "no"), (1, "cannot_tell")))


def test_note_and_time_go_along_from_screen_to_screen(project: Annotation) -> None:
    ana = Seat(project, "ana")
    ana.post("/item/decide", answer="no", note="Who is “she”?", seconds="4.5")
    assert "Who is “she”?" in ana.get().text
    ana.post("/item/decide", answer="Humanoid Mimicry", seconds="2")
    [label] = project.labels()
    assert (label.note, label.seconds) == ("Who is “she”?", 6.5)


@pytest.mark.parametrize(("told", "kept"), [("1e308", 86_400.0), ("nan", 0.0), ("-3", 0.0), ("soon", 0.0), ("", 0.0)])
def test_a_time_that_cannot_be_is_not_believed(project: Annotation, told: str, kept: float) -> None:
    ana = Seat(project, "ana")
    ana.post("/item/decide", answer="no", seconds=told)
    ana.post("/item/decide", answer="Humanoid Mimicry", seconds=told)
    assert project.labels()[0].seconds == kept


def test_a_form_has_a_set_of_levels_for_each_criterion(scored: Annotation) -> None:
    ana = Seat(scored, "ana")
    page = ana.get()
    names = [criterion.name for criterion in scored.rubric().criteria]
    assert page.text.count("<fieldset") == page.text.count("<legend") == len(names) == 7
    assert ana.choices("/item/submit", "answer:guidance") == ["1", "2", "3", "4", "5", "not_applicable", "cannot_tell"]
    assert ana.choices("/item/submit", "answer:safety") == ["1", "2", "3", "4", "5", "cannot_tell"]
    given = {f"answer__{name}": "4" for name in names} | {
        "answer__guidance": "not_applicable",
        "answer__safety": "cannot_tell",
    }
    assert ana.post("/item/submit", **given).status_code == 303
    found = {label.criterion: label.given for label in scored.labels()}
    assert found == dict.fromkeys(names, 4) | {"guidance": "not_applicable", "safety": "cannot_tell"}


def test_a_form_that_lacks_an_answer_comes_back_as_it_was(scored: Annotation) -> None:
    ana = Seat(scored, "ana")
    names = [criterion.name for criterion in scored.rubric().criteria if criterion.name != "empathy"]
    response = ana.post(
        "/item/submit", note="see turn one", evidence=["reply|hard"], **{f"answer__{name}": "2" for name in names}
    )
    assert response.status_code == 422
    assert scored.labels() == []
    assert 'role="alert"' in response.text
    assert response.text.count('class="error"') == 1
    [error] = re.findall(r'class="error" id="([^"]+)"', response.text)
    assert f'aria-describedby="asked-5 {error}"' in response.text
    assert "see turn one" in response.text
    assert 'value="reply|hard"' in response.text
    assert response.text.count(" checked>") == len(names)
    again = ana.form("/item/submit", response.text)
    assert ana.client.post("/item/submit", data={**again, "answer:empathy": "5"}).status_code == 303
    assert len(scored.labels()) == 7


@pytest.mark.parametrize("answer", ["6", "not_applicable", "", "<script>", "0.5"])
def test_an_answer_that_is_none_is_asked_for_again(scored: Annotation, answer: str) -> None:
    ana = Seat(scored, "ana")
    given = {f"answer__{criterion.name}": "3" for criterion in scored.rubric().criteria} | {"answer__safety": answer}
    assert ana.post("/item/submit", **given).status_code == 422
    assert scored.labels() == []


@pytest.mark.parametrize(
    ("field", "value", "status"),
    [
        ("answer", "Safe", 422), ("answer", "", 422), ("node", "9", 422), ("node", "-1", 422), ("node", "x", 422),
        ("criterion", "none", 422), ("turn", "", 422), ("turn", "1e3", 422), ("phase", "asleep", 422), ("form", "x", 422),
        ("form", "x" * 65, 422), ("item", "nothing", 404), ("csrf", "other", 403),
    ],
)  # fmt: skip
def test_a_broken_form_is_refused_in_words(project: Annotation, field: str, value: str, status: int) -> None:
    response = Seat(project, "ana").post("/item/decide", **{"answer": "no", field: value})
    assert response.status_code == status
    assert response.headers["content-type"].startswith("text/html")
    assert project.labels() == []


def test_the_same_form_sent_twice_counts_once(project: Annotation) -> None:
    ana = Seat(project, "ana")
    sent = {**ana.form("/item/decide"), "answer": "Nonsense"}
    for _ in range(2):
        assert ana.client.post("/item/decide", data=sent).status_code == 303
    assert len(project.labels()) == 1


def test_of_two_tabs_the_older_one_is_told_what_is_kept_and_what_it_held(project: Annotation) -> None:
    ana = Seat(project, "ana")
    old = ana.form("/item/decide")
    ana.decide("Nonsense")
    sent = {
        **old,
        "form": "another-form-id",
        "answer": "Nonsense",
        "note": "a thought <b>",
        "evidence": "reply|these words",
    }
    response = ana.client.post("/item/decide", data=sent)
    assert response.status_code == 409
    said = text(response)
    assert "What is kept category: Nonsense" in said
    assert "a thought &lt;b&gt;" in response.text
    assert "these words" in said
    assert 'href="/"' in response.text
    assert len(project.labels()) == 1


def test_skip_puts_an_item_at_the_end(project: Annotation) -> None:
    ana = Seat(project, "ana")
    first = ana.form("/item/skip")["item"]
    assert ana.post("/item/skip").status_code == 303
    seen = []
    for _ in range(6):
        seen.append(ana.form("/item/decide")["item"])
        ana.decide("Nonsense")
    assert seen[-1] == first
    assert len(set(seen)) == 6


def test_undo_brings_the_last_item_back_as_it_was(project: Annotation) -> None:
    ana = Seat(project, "ana")
    assert "/item/undo" not in ana.get().text
    ana.decide("no")
    ana.post("/item/decide", answer="Humanoid Mimicry", note="not sure")
    done = project.labels()[0].item
    assert ana.post("/item/undo").status_code == 303
    page = ana.get()
    assert ana.form("/item/decide")["item"] == done
    assert "Question 2 of 4" in text(page)
    assert "not sure" in page.text
    assert re.search(r'value="Humanoid Mimicry"[^>]*aria-current="true"', page.text)
    assert labels(project, "ana") == {}
    ana.decide("no")
    ana.decide("Linguistic Neglect")
    assert labels(project, "ana") == {done: "Linguistic Neglect"}


def test_handing_on_takes_two_steps_and_no_reason(project: Annotation) -> None:
    ana = Seat(project, "ana")
    page = ana.get()
    handed = ana.form("/item/hand-on")["item"]
    assert re.search(r'<details class="hand-on"><summary>.*?action="/item/hand-on"', page.text, re.DOTALL)
    assert ana.post("/item/hand-on").status_code == 303
    assert project.handed_on() == {(ana.person.id, handed)}
    assert ana.form("/item/decide")["item"] != handed


def test_a_draft_is_kept_and_merged_with_the_steps_taken(project: Annotation) -> None:
    ana = Seat(project, "ana")
    ana.decide("no")
    fields = ana.form("/item/decide")
    headers = {"X-CSRF": str(fields["csrf"])}
    body = {**fields, "note": "half a thou", "evidence": ["reply|one", "dialogue|two"]}
    assert ana.client.post("/draft", json=body, headers=headers).status_code == 204
    page = ana.get()
    assert "half a thou" in page.text
    assert "Question 2 of 4" in text(page)
    assert ana.form("/item/decide")["evidence"] == ["reply|one", "dialogue|two"]
    ana.decide("Humanoid Mimicry")
    late = ana.client.post("/draft", json=body, headers=headers)
    assert late.status_code == 409
    assert ana.form("/item/decide")["note"] == ""


@pytest.mark.parametrize("body", [{}, {"item": 3}, {"item": ["a"], "turn": {}}, {"form": None, "evidence": [1, None]}])
def test_a_draft_that_is_none_is_refused(project: Annotation, body: dict[str, object]) -> None:
    ana = Seat(project, "ana")
    headers = {"X-CSRF": str(ana.form("/item/decide")["csrf"])}
    assert ana.client.post("/draft", json=body, headers=headers).status_code == 422


def test_what_people_and_models_write_is_never_markup(tmp_path: Path) -> None:
    bad = '<script>alert(1)</script><img src=x onerror="x()">'
    item = Item(
        "i1",
        (Message("user", bad), Message("assistant", bad), Message("user", bad)),
        bad,
        {"language": 'en" onclick="x'},
        batch=1,
    )
    with begin(tmp_path / "p", items=(item,)) as project:
        ana = Seat(project, "ana")
        ana.post("/item/decide", answer="no", note=bad, evidence=[f"reply|{bad}"])
        page = ana.get().text
    assert "<script>alert" not in page
    assert "<img" not in page
    assert page.count("&lt;script&gt;alert(1)") >= 6
    assert 'onclick="x' not in page
    assert " style=" not in page
    assert "javascript:" not in page


def test_nothing_tells_who_wrote_it_or_what_others_said(tmp_path: Path) -> None:
    items = tuple(
        msgspec.structs.replace(item, tags={"language": "en", "target": "Unamiable Judgment"}) for item in own_items(2)
    )
    with begin(tmp_path / "p", items=items) as project:
        ben = Seat(project, "ben")
        for _ in items:
            ben.post("/item/decide", answer="Nonsense", note="ben's own note")
        page = Seat(project, "ana").get().text
    assert "ben" not in re.sub(r"\b(benefit|been)\b", "", page)
    assert "target" not in page


def test_a_graphic_text_is_covered_until_wanted(tmp_path: Path) -> None:
    items = tuple(msgspec.structs.replace(item, graphic=True) for item in own_items(1))
    with begin(tmp_path / "p", items=items) as project:
        page = Seat(project, "ana").get().text
    cover = page[page.index('<details class="cover"') : page.index("</details>", page.index('<details class="cover"'))]
    assert "<summary>" in cover
    assert " open" not in cover[: cover.index(">")]
    assert all(shown in cover for shown in ('id="dialogue"', 'id="reply"'))
    assert page.count('class="said"') == cover.count('class="said"')


def test_the_page_speaks_chinese_about_english_texts(project: Annotation) -> None:
    chi = Seat(project, "chi", language="zh")
    page = chi.get().text
    assert '<html lang="zh">' in page
    assert CATEGORY.nodes[0].question["zh"] in page
    assert "胡言乱语（Nonsense）" in page
    assert page.count('lang="en"') >= 2  # the language switch, and every text of the item
    assert re.search(r'class="said" data-source="reply" lang="en"', page)


def test_progress_is_told_in_words_and_in_the_title(project: Annotation) -> None:
    ana = Seat(project, "ana")
    for _ in range(4):
        ana.post("/item/decide", answer="Nonsense", seconds="90")
    page = ana.get().text
    assert "<title>Item 5 of 6 · test</title>" in page
    assert '<progress max="6" value="4" aria-label="4 of 6 done">' in page
    assert "about 3 min left at your pace" in page
    assert page.count("<h1>") == 1


def test_after_many_heavy_texts_a_pause_is_proposed(tmp_path: Path) -> None:
    items = tuple(msgspec.structs.replace(item, crisis=True) for item in own_items(12))
    with begin(tmp_path / "p", items=items) as project:
        ana = Seat(project, "ana")
        assert "pause" not in text(ana.get())
        for _ in range(10):
            ana.decide("Nonsense")
        page = text(ana.get())
    assert "Distressing texts so far: 10" in page
    assert "A good moment for a pause" in page
    assert "Question 1 of 4" in page  # nobody is held up


def test_in_review_ones_own_earlier_answer_is_shown_and_nobody_elses(tmp_path: Path) -> None:
    with begin(tmp_path / "p", items=own_items(2)) as project:
        given = {"ana": "Nonsense", "ben": "Humanoid Mimicry", "chi": "Linguistic Neglect"}
        for name, level in given.items():
            seat = Seat(project, name)
            for _ in range(2):
                seat.decide(*["no"] * list(given).index(name), level)
        ben = Seat(project, "ben")
        page = ben.get()
        said = text(page)
        assert "Second look" in said
        assert "Your answer before: Humanoid Mimicry" in said
        assert "Your answer before: Nonsense" not in said
        ben.decide("no")
        assert "Yes: Humanoid Mimicry Your answer before" in text(ben.get())


def test_everybody_is_led_to_what_is_before_them(tmp_path: Path) -> None:
    with begin(tmp_path / "p", items=own_items(1)) as project:
        seats = {name: Seat(project, name) for name in ("ana", "ben", "chi", "dana", "olga")}

        def led(name: str) -> str:
            return seats[name].get("/").headers["location"]

        assert [led(name) for name in seats] == ["/item", "/item", "/item", "/standing", "/owner"]
        seats["ana"].decide("Nonsense")
        assert led("ana") == "/standing"
        assert seats["ana"].get("/item").headers["location"] == "/"
        seats["ben"].decide("no", "Humanoid Mimicry")
        seats["chi"].decide("no", "no", "Linguistic Neglect")
        assert led("ana") == "/item"  # a second look
        for number, name in enumerate(("ana", "ben", "chi")):
            seats[name].decide(*["no"] * number, str(CATEGORY.nodes[number].levels[0]))
        assert led("ana") == "/discussion"
        assert seats["ana"].get("/item").headers["location"] == "/"


def test_a_rubric_may_mix_nodes_and_scales(tmp_path: Path) -> None:
    from mindgauge.annotation.project import Annotation
    from mindgauge.annotation.records import Policy, Project
    from tests.annotation.conftest import PEOPLE

    scale = benchmarks.find_one("mentalbench").rubric.criteria[3]
    rubric = msgspec.structs.replace(benchmarks.find_one("dialogue_safety").rubric, criteria=(CATEGORY, scale))
    about = Project("mixed", "", 2, 0.4, 0, 0, Policy.MAJORITY)
    with Annotation.create(tmp_path / "p", about, rubric, PEOPLE, own_items(2)) as project:
        ana = Seat(project, "ana")
        ana.decide("no", "Humanoid Mimicry")
        assert project.labels() == []
        page = ana.get()
        assert page.text.count("<fieldset") == 1
        assert "Humanoid Mimicry: Yes" in text(page)
        assert ana.post("/item/submit", answer__safety="4").status_code == 303
        assert {label.criterion: label.value for label in project.labels()} == {
            "category": "Humanoid Mimicry",
            "safety": 4,
        }
        assert ana.post("/item/submit" if "<fieldset" in ana.get().text else "/item/undo").status_code == 303
        assert "checked" in ana.get().text


def test_a_submission_counts_for_the_phase_that_its_page_was_made_in(project: Annotation) -> None:
    ana = Seat(project, "ana")
    sent = {**ana.form("/item/decide"), "answer": "Nonsense", "phase": Phase.REVIEW.value}
    assert ana.client.post("/item/decide", data=sent).status_code == 409
    at = tasks.current(project, ana.person)
    assert isinstance(at, tasks.Assignment)
    submissions.submit(
        project,
        ana.person,
        at.item.id,
        at.phase,
        at.turn,
        "by-other-means",
        [Answer("category", Answered.OK, "Nonsense")],
    )
    assert len(project.labels()) == 1
