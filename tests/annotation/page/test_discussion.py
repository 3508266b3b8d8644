"""People see what the others said, talk about it, keep or change their label; then one decides what is left."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec
import pytest

from mindgauge.annotation import submissions, tasks
from mindgauge.annotation.labels import last
from mindgauge.annotation.records import Answer, Answered, Phase, Role
from mindgauge.records import Evidence
from tests.annotation.conftest import PEOPLE, begin, own_items
from tests.annotation.page.labelling import Seat, text

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from mindgauge.annotation.project import Annotation

TEAM = ("ana", "ben", "chi")
APART = {"ana": "Nonsense", "ben": "Safe Response", "chi": "Linguistic Neglect"}
PATHS = {
    "Nonsense": ((0, "Nonsense"),),
    "Linguistic Neglect": ((0, "no"), (1, "no"), (2, "Linguistic Neglect")),
    "Safe Response": ((0, "no"), (1, "no"), (2, "no"), (3, "no")),
}
SCRIPT = "<script>alert('x')</script>"


def go_through(a: Annotation, name: str, phase: Phase, said: Callable[[str], str]) -> None:
    """Let a person answer all that is before them in a phase, node by node, with a note and a quote."""
    person = a.named(name)
    while isinstance(at := tasks.current(a, person), tasks.Assignment) and at.phase is phase:
        value = said(at.item.id)
        given = [Answer("category", Answered.OK, value, PATHS[value])]
        marked = [Evidence(at.item.reply[:12], source="reply")]
        form = f"{name}-{phase}-{at.item.id}"
        submissions.submit(
            a, person, at.item.id, phase, at.turn, form, given, note=f"{name} thinks so {SCRIPT}", evidence=marked
        )


def apart(name: str, disputed: list[str], otherwise: str = "Safe Response") -> Callable[[str], str]:
    """Say of each item what this person says of it: something of their own on what is disputed."""
    return lambda item: APART[name] if item in disputed else otherwise


def discuss(a: Annotation) -> list[str]:
    """Bring a project to its discussion, and return the ids of what is disputed: the first three items."""
    ids = [item.id for item in a.items(1)]
    for phase in (Phase.LABELLING, Phase.REVIEW):
        for name in TEAM:
            go_through(a, name, phase, apart(name, ids[:3]))
    assert a.batches()[-1].phase is Phase.DISCUSSION
    return ids[:3]


def category(a: Annotation, name: str, item: str) -> object:
    return last(a.labels(item=item))[item, a.named(name).id, "category"].given


@pytest.fixture
def disputed(project: Annotation) -> list[str]:
    return discuss(project)


def test_nobody_sees_others_labels_before_the_discussion(project: Annotation) -> None:
    ids = [item.id for item in project.items(1)]
    seats = [Seat(project, name) for name in ("ana", "dana")]
    for phase in (Phase.LABELLING, Phase.REVIEW):
        for name in TEAM:
            for seat in seats:
                for path in ("/discussion", f"/discussion/{ids[0]}"):
                    response = seat.get(path)
                    assert (response.status_code, response.headers["location"]) == (303, "/"), (phase, path)
            go_through(project, name, phase, apart(name, ids))
    assert seats[0].get("/discussion").status_code == 200
    assert seats[1].get("/discussion").headers["location"] == "/"  # the one who decides waits


def test_the_list_says_who_said_what_and_how_far_they_agree(project: Annotation, disputed: list[str]) -> None:
    ana = Seat(project, "ana")
    page = ana.get("/discussion")
    said = text(page)
    gate = project.gates(1)[-1].figures[0]
    value, low, high = (f"{gate[name]:.2f}".replace("-", "−") for name in ("fleiss", "fleiss_low", "fleiss_high"))
    assert f"Agreement was {value} [{low}, {high}]; the gate is 0.40." in said
    assert said.count("ana (you) Nonsense · ben Safe Response · chi Linguistic Neglect") == 3
    assert re.findall(r"Item \d", said) == ["Item 1", "Item 2", "Item 3"]
    assert "0 of 3 done" in said
    for item in project.items(1)[:3]:
        assert item.reply[:60].split("\n")[0] in said
    assert ana.client.get(re.findall(r'href="(/discussion/[^"]+)"', page.text)[0]).status_code == 200


def test_an_item_shows_paths_notes_and_marked_words_and_escapes_them(project: Annotation, disputed: list[str]) -> None:
    page = Seat(project, "ana").get(f"/discussion/{disputed[0]}")
    said = text(page)
    assert "chi Linguistic Neglect Nonsense: No Humanoid Mimicry: No Linguistic Neglect: Yes" in said
    assert "ana (you) Nonsense Nonsense: Yes" in said
    assert f"ben thinks so {SCRIPT}" in said
    assert SCRIPT not in page.text
    assert page.text.count("<q ") == 3
    assert all(name not in page.text for name in ("gpt", "model", "judge's"))


def test_comments_stand_in_order_once_and_are_escaped(project: Annotation, disputed: list[str]) -> None:
    ana, ben = Seat(project, "ana"), Seat(project, "ben")
    path, say = f"/discussion/{disputed[0]}", f"/discussion/{disputed[0]}/comment"
    typed = {**ana.form(say, ana.get(path).text), "text": f"Look at the first line.\r\n{SCRIPT}"}
    for _ in range(2):  # sent twice, it stands once
        sent = ana.client.post(say, data=typed)
        assert (sent.status_code, sent.headers["location"]) == (303, f"{path}#latest")
    ben.client.post(say, data={**ben.form(say, ben.get(path).text), "text": "I see it now."})
    page = ben.get(path)
    assert [c.text for c in project.comments(disputed[0])] == [f"Look at the first line.\n{SCRIPT}", "I see it now."]
    assert SCRIPT not in page.text
    said = text(page)
    assert said.index("Look at the first line.") < said.index("ben (you)", said.index("Look at the first line."))
    assert "Comments: 2" in text(ben.get("/discussion"))


def test_a_comment_that_cannot_be_kept_is_said_and_shown_again(project: Annotation, disputed: list[str]) -> None:
    ana = Seat(project, "ana")
    path, say = f"/discussion/{disputed[0]}", f"/discussion/{disputed[0]}/comment"
    form = ana.form(say, ana.get(path).text)
    empty = ana.client.post(say, data={**form, "text": " \n "})
    assert empty.status_code == 422
    assert "The comment was empty" in text(empty)
    long = ana.client.post(say, data={**form, "text": "word " * 1000})
    assert long.status_code == 422
    assert "longer than 4000 characters" in text(long)
    assert ana.form(say, long.text)["text"] == ("word " * 1000).strip()
    assert ana.client.post("/discussion/nothing/comment", data={**form, "text": "?"}).status_code == 404
    assert ana.client.post(say, data={**form, "text": "?", "csrf": "forged"}).status_code == 403
    assert project.comments(disputed[0]) == []


def test_keeping_a_label_finishes_the_item_and_leads_to_the_next(project: Annotation, disputed: list[str]) -> None:
    ana = Seat(project, "ana")
    before = last(project.labels(item=disputed[0]))[disputed[0], ana.person.id, "category"]
    action = f"/discussion/{disputed[0]}/keep"
    typed = ana.form(action, ana.get(f"/discussion/{disputed[0]}").text)
    for _ in range(2):
        kept = ana.client.post(action, data=typed)
        assert kept.status_code == 303
        assert kept.headers["location"] in {f"/discussion/{item}" for item in disputed[1:]}
    after = last(project.labels(item=disputed[0]))[disputed[0], ana.person.id, "category"]
    assert (after.phase, after.value, after.path, after.note) == (
        Phase.DISCUSSION,
        "Nonsense",
        before.path,
        before.note,
    )
    assert [e.quote for e in after.evidence] == [e.quote for e in before.evidence]
    assert sum(x.person == ana.person.id for x in project.labels(item=disputed[0])) == 3  # alone, reviewed, kept once
    again = ana.get(f"/discussion/{disputed[0]}")
    assert "You are done with this item" in text(again)
    assert "1 of 3 done" in text(again)


def test_a_level_is_chosen_directly_and_the_list_shows_the_change(project: Annotation, disputed: list[str]) -> None:
    ana = Seat(project, "ana")
    form = ana.form("/item/submit", ana.get(f"/discussion/{disputed[0]}").text)
    assert form["answer:category"] == "Nonsense"  # as they said before
    sent = ana.client.post("/item/submit", data={**form, "answer:category": "Linguistic Neglect"})
    assert sent.status_code == 303
    assert category(project, "ana", disputed[0]) == "Linguistic Neglect"
    said = text(ana.get(f"/discussion/{disputed[0]}"))
    assert "ana (you) Linguistic Neglect before: Nonsense" in said
    assert "1 of 3 done" in said


def test_an_old_page_changes_nothing(project: Annotation, disputed: list[str]) -> None:
    ana = Seat(project, "ana")
    path, action = f"/discussion/{disputed[0]}", f"/discussion/{disputed[0]}/keep"
    page = ana.get(path).text
    ana.client.post("/item/submit", data={**ana.form("/item/submit", page), "answer:category": "Safe Response"})
    old = ana.client.post(action, data=ana.form(action, page))
    assert old.status_code == 409
    assert "has moved on since you opened the page" in text(old)
    assert category(project, "ana", disputed[0]) == "Safe Response"
    broken = {**ana.form(action, page), "turn": "x"}
    assert ana.client.post(action, data=broken).status_code == 422


def test_what_is_not_disputed_is_nobodys_to_see(project: Annotation, disputed: list[str]) -> None:
    ana, agreed = Seat(project, "ana"), project.items(1)[-1].id
    assert agreed not in disputed
    assert ana.get(f"/discussion/{agreed}").status_code == 404
    assert ana.get("/discussion/nothing").status_code == 404


def decide(a: Annotation, disputed: list[str]) -> None:
    """Let people agree on the second and third disputed item, and keep the first."""
    for name in TEAM:
        go_through(a, name, Phase.DISCUSSION, apart(name, disputed[:1], "Nonsense"))
    assert a.batches()[-1].phase is Phase.ADJUDICATION


def test_one_decides_while_the_others_wait(project: Annotation, disputed: list[str]) -> None:
    decide(project, disputed)
    ana, dana = Seat(project, "ana"), Seat(project, "dana")
    path = f"/discussion/{disputed[0]}"
    waiting = ana.get(path)
    assert "Waiting for the decision." in text(waiting)
    assert "chi Linguistic Neglect" in text(waiting)
    assert not re.search(r'action="/(discussion|item)', waiting.text)
    assert "dana now decides these items" in text(ana.get("/discussion"))
    for action in ("comment", "keep"):
        assert ana.client.hand_in(f"{path}/{action}", form="f" * 32, text="?").headers["location"] == "/"
    assert project.comments(disputed[0]) == []
    page = dana.get(path)
    assert "ana Nonsense Nonsense: Yes" in text(page)
    form = dana.form("/item/submit", page.text)
    assert "answer:category" not in form  # nothing is chosen for the one who decides
    assert dana.client.post("/item/submit", data={**form, "answer:category": "Nonsense"}).status_code == 303
    assert project.batches()[-1].phase is Phase.CLOSED
    assert dana.get("/discussion").headers["location"] == "/"


def test_a_disagreement_is_left_with_its_reason(project: Annotation, disputed: list[str]) -> None:
    decide(project, disputed)
    dana, action = Seat(project, "dana"), f"/discussion/{disputed[0]}/keep"
    form = dana.form(action, dana.get(f"/discussion/{disputed[0]}").text)
    refused = dana.client.post(action, data={**form, "note": "  "})
    assert refused.status_code == 422
    assert "Say in a few words why" in text(refused)
    assert project.batches()[-1].phase is Phase.ADJUDICATION
    assert dana.client.post(action, data={**form, "note": "Both readings hold."}).headers["location"] == "/"
    label = last(project.labels(item=disputed[0]))[disputed[0], dana.person.id, "category"]
    assert (label.answered, label.note) == (Answered.CANNOT_TELL, "Both readings hold.")
    assert project.batches()[-1].phase is Phase.CLOSED


def test_a_left_disagreement_keeps_what_people_agree_on(tmp_path: Path, database_url: str) -> None:
    """Of seven criteria they differ on one: only that one cannot be told."""
    items = tuple(msgspec.structs.replace(item, tags={"language": "en"}) for item in own_items(3))
    with begin(tmp_path / "a", database_url, items=items, instrument="mentalbench") as a:
        names = [criterion.name for criterion in a.rubric().criteria]
        while a.batches()[-1].phase is not Phase.ADJUDICATION:
            for place, name in enumerate(TEAM):
                person = a.named(name)
                if isinstance(at := tasks.current(a, person), tasks.Assignment):
                    answers = [Answer(c, Answered.OK, 2 + place if c == "safety" else 4) for c in names]
                    submissions.submit(
                        a, person, at.item.id, at.phase, at.turn, f"{name}{at.phase}{at.item.id}", answers
                    )
        dana, item = Seat(a, "dana"), items[0].id
        page, action = dana.get(f"/discussion/{item}"), f"/discussion/{item}/keep"
        said = text(page)
        levels = {
            level.value: level.text["en"] for level in next(c for c in a.rubric().criteria if c.name == "safety").levels
        }
        assert f"safety Here they differ ana 2 {levels[2]} ben 3 {levels[3]} chi 4 {levels[4]}" in said
        assert "guidance 4" in said[said.index("No difference here") :]
        dana.client.post(action, data={**dana.form(action, page.text), "note": "Unclear."})
        given = {c: x.given for (_, who, c), x in last(a.labels(item=item)).items() if who == dana.person.id}
        assert given == {c: "cannot_tell" if c == "safety" else 4 for c in names}


def test_the_owner_decides_where_nobody_else_does(tmp_path: Path, database_url: str) -> None:
    people = tuple(person for person in PEOPLE if person.role is not Role.ADJUDICATOR)
    with begin(tmp_path / "a", database_url, people=people) as a:
        disputed = discuss(a)
        olga = Seat(a, "olga")
        assert olga.get("/discussion").headers["location"] == "/"
        decide(a, disputed)
        form = olga.form("/item/submit", olga.get(f"/discussion/{disputed[0]}").text)
        olga.client.post("/item/submit", data={**form, "answer:category": "Safe Response"})
        assert category(a, "olga", disputed[0]) == "Safe Response"


def test_graphic_texts_stay_covered(tmp_path: Path, database_url: str) -> None:
    items = tuple(msgspec.structs.replace(item, graphic=True) for item in own_items(6))
    with begin(tmp_path / "a", database_url, items=items) as a:
        disputed = discuss(a)
        ana, first = Seat(a, "ana"), a.items(1)[0]
        assert first.reply[:20] not in text(ana.get("/discussion"))
        page = ana.get(f"/discussion/{disputed[0]}").text
        shown = [match.start() for match in re.finditer(r'<q |data-source="reply"', page)]
        assert len(shown) == 4  # the reply, and what each of three marked in it
        for place in shown:
            assert page.rfind("<details", 0, place) > page.rfind("</details>", 0, place)


def test_the_discussion_is_in_chinese_for_whoever_wants_it(project: Annotation, disputed: list[str]) -> None:
    ana = Seat(project, "ana", "zh")
    assert "门槛为 0.40" in text(ana.get("/discussion"))
    said = text(ana.get(f"/discussion/{disputed[0]}"))
    assert "ana（您） 胡言乱语（Nonsense） 胡言乱语（Nonsense）：是" in said
    assert "您的标注是：胡言乱语（Nonsense）。 保持不变" in said
