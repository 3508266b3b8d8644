"""The owner's page: how far the work is and who is in, and nothing of what anybody said."""

from __future__ import annotations

import re
from html import unescape
from typing import TYPE_CHECKING

import msgspec

from mindgauge.analysis.reliability.plan import needed
from mindgauge.annotation import people, submissions, tasks
from mindgauge.annotation.page.serve import create_app
from mindgauge.annotation.records import Answer, Answered, Phase
from mindgauge.annotation.schema import project as project_table
from mindgauge.annotation.tasks import progress
from tests.annotation.page.visiting import Browser, browser, here, label_apart

if TYPE_CHECKING:
    from httpx2 import Response

    from mindgauge.annotation.project import Annotation


def table(answer: Response, number: int) -> list[list[str]]:
    """Return the cells of a table's body, in words."""
    body = re.findall(r"<tbody>(.*?)</tbody>", answer.text, re.DOTALL)[number]
    cells = (re.findall(r"<t[hd].*?>(.*?)</t[hd]>", row, re.DOTALL) for row in body.split("<tr>")[1:])
    return [[" ".join(unescape(re.sub(r"<[^>]*>", " ", cell)).split()) for cell in row] for row in cells]


def link(answer: Response) -> str:
    found = re.search(r'value="(http[^"]*/join/[^"]*)"', answer.text)
    assert found
    return found[1]


def label(annotation: Annotation, name: str, count: int) -> None:
    person = annotation.named(name)
    for _ in range(count):
        at = tasks.current(annotation, person)
        assert isinstance(at, tasks.Assignment)
        answer = Answer("category", Answered.OK, "Nonsense")
        submissions.submit(
            annotation, person, at.item.id, at.phase, at.turn, f"{name}-{at.item.id}", [answer], note="my note"
        )


def test_the_page_says_how_many_unsafe_replies_it_takes_before_anybody_labels(project: Annotation) -> None:
    page = Browser(create_app(project, needed=needed(project.rubric())))
    shown = " ".join(page.come_in(project, "olga").get("/owner").text.split())
    assert "Plan for 165 replies that at least one of them calls unsafe, each in a different conversation" in shown
    assert "If they share all, 29 are enough" in shown


def test_progress_is_counted_and_labels_are_not_shown(project: Annotation) -> None:
    olga = browser(project).come_in(project, "olga")
    assert table(olga.get("/owner"), 0) == [["Batch 1", "6", "not begun", "0 of 6", "0 of 6", "0 of 6"]]
    label(project, "ana", 2)
    at = tasks.current(project, project.named("ben"))
    assert isinstance(at, tasks.Assignment)
    submissions.hand_on(project, project.named("ben"), at.item.id, at.phase, at.turn, "form-0001")
    shown = olga.get("/owner")
    assert table(shown, 0) == [["Batch 1", "6", "labelling", "2 of 6", "0 of 6 1 handed on", "0 of 6"]]
    said = ["Nonsense", "my note", at.item.id, at.item.reply]
    assert not any(word in unescape(shown.text) for word in said)
    assert "Until then nobody sees labels" in shown.text
    counted = {one.person: (one.done, one.handed_on, one.left) for one in progress(project)}
    assert counted[project.named("ben").id] == (0, 1, 5)


def test_what_the_gate_said_stands_there_when_a_phase_is_over(project: Annotation) -> None:
    label_apart(project, Phase.REVIEW)
    olga = browser(project).come_in(project, "olga")
    shown = olga.get("/owner")
    (gate,) = project.gates(1)
    value = next(figure for figure in gate.figures if not figure["label"])["fleiss"]
    assert "Batch 1, after labelling" in shown.text
    assert "The gate was not reached." in shown.text
    assert f"mindgauge reliability {project.project.name} --look-until 6" in shown.text
    assert f"{value:.2f}".replace("-", "−") in shown.text
    assert table(shown, 0)[0][2:] == ["review", "0 of 6", "0 of 6", "0 of 6"]
    assert not any(item.reply in unescape(shown.text) for item in project.items())


def test_a_new_link_is_shown_once_and_ends_what_was_before(project: Annotation) -> None:
    app = create_app(project)
    olga, ana = Browser(app).come_in(project, "olga"), Browser(app).come_in(project, "ana")
    unused = people.invite(project, project.named("ana").id)
    made = olga.hand_in("/owner/invite", person=project.named("ana").id)
    assert made.status_code == 200
    assert link(made).startswith(f"{here(project, name='ana')}/join/")
    assert "/join/" not in olga.get("/owner").text
    assert ana.get("/standing").status_code == 401
    assert people.invited(project, unused) is None
    assert table(olga.get("/owner"), 1)[0][2].startswith("invited, link not used")
    fresh = Browser(app)
    assert fresh.post("/join", data={"token": link(made).rpartition("/")[2]}).status_code == 303
    assert table(olga.get("/owner"), 1)[0][2].startswith("in last seen 20")


def test_revoking_ends_links_and_sessions_and_keeps_labels(project: Annotation) -> None:
    app = create_app(project)
    olga, ana = Browser(app).come_in(project, "olga"), Browser(app).come_in(project, "ana")
    label(project, "ana", 1)
    ident = project.named("ana").id
    unused = people.invite(project, ident)
    assert olga.hand_in("/owner/revoke", person=ident).headers["location"] == "/owner#people"
    assert ana.get("/standing").status_code == 401
    assert people.exchange(project, unused) is None
    assert len(project.labels()) == 1
    assert table(olga.get("/owner"), 1)[0][2].startswith("signed out")
    assert olga.hand_in("/owner/revoke", person="nobody").status_code == 422


def test_an_owner_who_takes_a_link_for_another_browser_stays_in_this_one(project: Annotation) -> None:
    app = create_app(project)
    olga = Browser(app).come_in(project, "olga")
    made = olga.hand_in("/owner/invite", person=project.named("olga").id)
    assert Browser(app).post("/join", data={"token": link(made).rpartition("/")[2]}).status_code == 303
    assert olga.get("/owner").status_code == 200


def test_links_have_the_address_that_people_use(project: Annotation) -> None:
    olga = browser(project).come_in(project, "olga")
    ana = project.named("ana").id
    local = Browser(create_app(project, port=9000), here(project, 9000))
    local.come_in(project, "olga")
    assert link(local.hand_in("/owner/invite", person=ana)).startswith(f"{here(project, 9000, 'ana')}/join/")
    public = msgspec.structs.replace(project.project, url="https://label.example.org/")
    change = project_table.update().values(body=msgspec.json.encode(public).decode())
    project.database.write(lambda connection: connection.execute(change))
    project.project = public
    assert link(olga.hand_in("/owner/invite", person=ana)).startswith("https://label.example.org/join/")


def test_somebody_can_be_added_before_labelling_begins(project: Annotation) -> None:
    olga = browser(project).come_in(project, "olga")

    def add(name: str, role: str) -> tuple[int, str]:
        answer = olga.hand_in("/owner/add", name=name, role=role)
        fault = re.search(r'id="fault">([^<]*)<', answer.text)
        return answer.status_code, fault[1] if fault else link(answer) and ""

    assert add(" Zoé ", "annotator") == (200, "")
    assert [person.name for person in project.annotators()] == ["ana", "ben", "chi", "Zoé"]
    at = tasks.current(project, project.named("Zoé"))
    assert isinstance(at, tasks.Assignment)
    assert at.of == 6
    assert add("ANA", "annotator")[1].startswith("Nobody was added. This name is taken")
    assert add("gold", "adjudicator")[1].startswith("Nobody was added. This name is taken")
    for name in ("", "  ", "x" * 81, "a\u200bb", "a\nb"):
        assert add(name, "annotator")[1].startswith("Nobody was added. A name has")
    assert olga.hand_in("/owner/add", name="eve", role="owner").status_code == 422
    label(project, "ana", 1)
    assert add("eve", "annotator") == (422, "Nobody was added. Labelling has begun, and all batches have the same annotators.")  # fmt: skip
    assert 'value="annotator"' not in olga.get("/owner").text
    assert add("eve", "adjudicator") == (200, "")


def test_who_left_the_team_keeps_nobody_waiting_and_cannot_come_in(project: Annotation) -> None:
    owner, chi = browser(project).come_in(project, "olga"), browser(project).come_in(project, "chi")
    answer = owner.post("/owner/retire", data={"csrf": owner.csrf, "person": project.named("chi").id})
    assert answer.status_code == 303
    assert not project.named("chi").active
    assert chi.get("/standing").status_code == 401
    assert "takes no further part" in owner.get("/owner").text
    for name in ("dana", "olga"):
        refused = owner.post("/owner/retire", data={"csrf": owner.csrf, "person": project.named(name).id})
        assert refused.status_code == 422


def test_no_name_is_that_of_the_gold_however_it_is_spelled(project: Annotation) -> None:
    owner = browser(project).come_in(project, "olga")
    for name in ("gold", "Gold", " GOLD "):
        refused = owner.post("/owner/add", data={"csrf": owner.csrf, "name": name, "role": "adjudicator"})
        assert refused.status_code == 422
    assert len(project.people()) == 5
