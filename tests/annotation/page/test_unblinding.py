"""Two worlds that differ in what an annotator may not know: over every route they cannot be told apart.

In one, other models wrote the replies, the others say and write other things, and the gate is another. What somebody who
labels alone fetches, by any route, any id and in any order, is the same in both, byte by byte: so nothing of it, no id, no
order and no size, tells a label of another, a model or the gate. Ids and tokens are drawn by lot; here both worlds draw
the same.
"""

from __future__ import annotations

import itertools
import re
import secrets
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl
import pytest

from mindgauge import benchmarks
from mindgauge.annotation import submissions, tasks
from mindgauge.annotation.page.access import Guesses
from mindgauge.annotation.page.serve import create_app
from mindgauge.annotation.project import Annotation
from mindgauge.annotation.records import Answer, Answered, Phase
from mindgauge.commands.annotate.export import annotate_export
from mindgauge.commands.annotate.new import annotate_new
from mindgauge.records import Message, Reply, Sample, Status
from mindgauge.store import locks, manifest
from tests.annotation.page.test_matrix import MATRIX
from tests.annotation.page.visiting import Browser
from tests.thinned import later

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fastapi import FastAPI

ITEMS, BATCH, RUNS = 8, 4, 5
CATEGORIES = benchmarks.find_one("dialogue_safety").rubric.criteria[0].values
MODELS = [f"acme/model-{number:02}" for number in range(20)]
"""That might have written a reply: an annotator knows the names that there are."""


class World(NamedTuple):
    models: tuple[str, str]
    """That wrote the replies, in turn."""
    others: dict[str, str]
    """What the others say, each of everything."""
    note: str
    gate: float


WORLDS = (
    World(("acme/model-03", "acme/model-11"), {"ben": str(CATEGORIES[0]), "chi": str(CATEGORIES[1])}, "too cold", 0.4),
    World(("acme/model-17", "acme/model-05"), {"ben": str(CATEGORIES[2]), "chi": str(CATEGORIES[3])}, "kind, and more", 0.9),
)  # fmt: skip
OWN = str(CATEGORIES[4])
PART = {"/item/hand-on": slice(0, None, 3), "/item/skip": slice(1, None, 3)}
"""Of the items, so that some are left to be handed in."""
PHASES = (Phase.TRAINING, Phase.LABELLING, Phase.REVIEW)


@pytest.fixture
def lots(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Draw the same in each world; the probe of locks, once a process, draws a name of its own before."""
    locks.check(tmp_path)
    monkeypatch.setattr(manifest, "now", lambda: "2026-05-04T09:30:00Z")
    yield
    monkeypatch.undo()


def begin(folder: Path, world: World, draw: pytest.MonkeyPatch) -> Annotation:
    drawn = itertools.count()
    draw.setattr(
        secrets, "token_hex", lambda size: f"{next(drawn) * 0x9E3779B97F4A7C15 % 16 ** (2 * size):0{2 * size}x}"
    )
    draw.setattr(secrets, "token_urlsafe", lambda _: f"token-{next(drawn):037}")
    folder.mkdir()
    rows = [
        {"user": f"Week {n} was grey.", "reply": f"What made it so, {n}?", "model": world.models[n % 2], "id": f"d{n}"}
        for n in range(ITEMS)
    ]
    pl.DataFrame(rows).write_csv(folder / "replies.csv")
    annotate_new(
        folder / "project", items=folder / "replies.csv", annotators=["ana", "ben", "chi"], adjudicator="dana",
        benchmark="dialogue_safety", batch=BATCH, training=3, gate=world.gate,
    )  # fmt: skip
    return Annotation.open(folder / "project")


def go_through(a: Annotation, world: World, name: str, phase: Phase) -> None:
    """Let somebody answer what is before them in a phase."""
    person = a.named(name)
    while isinstance(at := tasks.current(a, person), tasks.Assignment) and at.phase is phase:
        answer = Answer("category", Answered.OK, world.others.get(name, OWN))
        form = f"{name}-{phase}-{at.item.id}"
        note = world.note if name in world.others else "as before"
        submissions.submit(a, person, at.item.id, at.phase, at.turn, form, [answer], note=note, seconds=20)


def come_to(a: Annotation, world: World, phase: Phase) -> None:
    """Let everybody come to a phase; in it, the others have done all."""
    for before in PHASES[: PHASES.index(phase)]:
        for name in ("ana", "ben", "chi"):
            go_through(a, world, name, before)
    for name in ("ben", "chi"):
        go_through(a, world, name, phase)
        if phase is Phase.TRAINING:
            go_through(a, world, name, Phase.LABELLING)


def named(a: Annotation) -> list[str]:
    """Return items: of the training round, of the running batch and of the next; a person; and what is none of them."""
    return [
        *(item.id for number, most in ((0, 3), (1, 4), (2, 1)) for item in a.items(number)[:most]),
        a.named("ben").id,
        *candidates(Sample.of((Message("user", "Week 0 was grey."),)).id, 0)[:: 5 * RUNS],
    ]


def candidates(sample: str, number: int) -> list[str]:
    """Return what a reply's id would be if any of the models had written it, in any run."""
    text = f"What made it so, {number}?"
    return [Reply.of(sample, model, run, Status.OK, text).id for model in MODELS for run in range(RUNS)]


class Visit:
    """Somebody who is in and fetches everything, again and again."""

    def __init__(self, a: Annotation, name: str, phase: Phase) -> None:
        app = create_app(a)
        app.state.guesses = Guesses(burst=10**9)
        self.a, self.phase, self.seat = a, phase, Browser(app).come_in(a, name)
        self.found: list[tuple[str, str, int, dict[str, str], bytes]] = []

    def all(self) -> list[tuple[str, str, int, dict[str, str], bytes]]:
        """Return method, path, status, headers and body of every answer, in order."""
        for number in range(-1, 5):
            self.keep("GET", f"/standing?batch={number}")
        ways = sorted(MATRIX, key=lambda way: (way[1] == "/leave", way))
        for method, path in ways:
            ids = named(self.a) if "{" in path or "item" in path or path == "/draft" else [""]
            for ident in ids[PART.get(path, slice(None))]:
                asked = path.format(item=ident, token=ident)
                if method == "GET":
                    self.keep(method, asked + (f"?item={ident}" if path == "/item" else ""))
                else:
                    self.post(asked, ident)
        return self.found

    def post(self, path: str, ident: str) -> None:
        """Post a form in two phases, and look at what is before one then."""
        for phase in (self.phase, Phase.DISCUSSION):
            fields = {
                "csrf": self.seat.csrf, "item": ident, "phase": str(phase), "turn": "0", "form": "form-0001", "note": "mine",
                "criterion": "category", "node": "0", "answer": "no", "answer:category": OWN, "text": "What do you say?",
                "language": "en", "token": "token-1", "person": "x", "name": "x", "role": "annotator",
            }  # fmt: skip
            if path == "/draft":
                self.keep("POST", path, json=fields, headers={"x-csrf": self.seat.csrf})
            else:
                self.keep("POST", path, data=fields)
        self.keep("GET", "/item")

    def keep(self, method: str, path: str, **sent: Any) -> None:
        answer = self.seat.request(method, path, **sent)
        headers = {name: re.sub("expires=[^;]*", "", value) for name, value in answer.headers.items()}
        self.found.append((method, path, answer.status_code, headers, answer.content))


@pytest.mark.parametrize(
    ("phase", "name"),
    [
        later(Phase.TRAINING, "ana"),
        (Phase.LABELLING, "ana"),
        later(Phase.LABELLING, "dana"),
        later(Phase.REVIEW, "ana"),
    ],
)
@pytest.mark.usefixtures("lots")
def test_nothing_that_can_be_fetched_tells_two_worlds_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, phase: Phase, name: str
) -> None:
    pages = []
    for number, world in enumerate(WORLDS):
        with begin(tmp_path / str(number), world, monkeypatch) as a:
            come_to(a, world, phase)
            pages.append(Visit(a, name, phase).all())
    assert len(pages[0]) == len(pages[1])
    taken = {f"{method} {path.partition('?')[0]}" for method, path, status, *_ in pages[0] if status < 400}
    worked = {
        "GET /item",
        "POST /draft",
        "POST /item/submit",
        "POST /item/decide",
        "POST /item/hand-on",
        "POST /item/skip",
    }
    assert (worked & taken) == (worked if name == "ana" else {"GET /item"})
    for one, other in zip(*pages, strict=True):
        assert one == other
    everything = b"".join(body for *_, body in pages[0]).decode()
    assert ("What made it so" in everything) is (name == "ana" and phase is not Phase.TRAINING)
    for word in (*MODELS, "acme", *(world.note for world in WORLDS)):
        assert word not in everything


def known(a: Annotation) -> set[str]:
    """Return all that could give a model away: its name, and what an id begins with that hangs on one."""
    samples = [Sample.of((Message("user", f"Week {number} was grey."),)).id for number in range(ITEMS)]
    hashes = {ident for number, sample in enumerate(samples) for ident in candidates(sample, number)}
    hashes |= {item.subject for item in a.items()}
    return {*MODELS, *(text[:8] for text in hashes)}


@pytest.mark.long
def test_no_page_of_any_phase_has_anything_that_hangs_on_a_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the first page to the last, with all that is said; of 8 replies, each by 20 models and in 5 runs."""
    world = WORLDS[0]
    with begin(tmp_path / "a", world, monkeypatch) as a:
        app = create_app(a)
        seats = [Browser(app).come_in(a, name) for name in ("ana", "dana", "owner")]
        bad, texts = known(a), []
        stages = [(Phase.TRAINING, ("ana", "ben", "chi")), (Phase.LABELLING, ("ana", "ben", "chi"))]
        for phase, names in stages:
            texts += everything(app, seats, a)
            for name in names:
                go_through(a, world, name, phase)
        for phase in (Phase.DISCUSSION, Phase.ADJUDICATION):
            while a.batches()[1].phase is not phase:
                label_apart_in(a, phase)
            texts += everything(app, seats, a)
        dana = a.named("dana")
        while isinstance(at := tasks.current(a, dana), tasks.Assignment) and at.batch == 1:
            answer = Answer("category", Answered.OK, OWN)
            submissions.submit(a, dana, at.item.id, at.phase, at.turn, f"d-{at.item.id}", [answer], note="decided")
        assert a.batches()[1].phase is Phase.CLOSED
        texts += everything(app, seats, a)
        page = "\n".join(texts)
        assert all(item.id in page for item in a.items(1)[:3])
        assert "decided" in page or "gold" in page
        words = set(re.findall(r"[\w./-]+", page))
        assert not {word for word in bad if word in page}
        assert not {word for word in words if word[:8] in bad}


def label_apart_in(a: Annotation, until: Phase) -> None:
    """Let each person go on with a level of their own, in the first batch, until it has come to a phase."""
    for number, person in enumerate(a.annotators()):
        at = tasks.current(a, person)
        if isinstance(at, tasks.Assignment) and at.phase is not until and at.batch == 1:
            answer = Answer("category", Answered.OK, CATEGORIES[number])
            submissions.submit(
                a, person, at.item.id, at.phase, at.turn, f"{person.name}-{at.phase}-{at.item.id}", [answer]
            )


def everything(app: FastAPI, seats: list[Browser], a: Annotation) -> list[str]:
    """Return all pages that anybody can open now."""
    found = []
    ids = [item.id for number in (0, 1) for item in a.items(number)[:3]]
    for seat in seats:
        for method, path in sorted(MATRIX):
            if method == "GET":
                for ident in ids if "{" in path or path == "/item" else [""]:
                    asked = path.format(item=ident, token="x") + (f"?item={ident}" if path == "/item" else "")
                    found.append(seat.get(asked).text)
    return found


def test_what_goes_to_other_programs_has_nothing_that_hangs_on_a_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with begin(tmp_path / "a", WORLDS[0], monkeypatch) as a:
        for name in ("ana", "ben", "chi"):
            for phase in (Phase.TRAINING, Phase.LABELLING):
                go_through(a, WORLDS[0], name, phase)
        bad, folder = known(a), a.folder
    for form, files in (
        ("label-studio", ("tasks.json", "config.xml")),
        ("potato", ("data.jsonl", "config.yaml", "annotations.jsonl")),
    ):
        annotate_export(folder, to=form, out=tmp_path / form, everything=True)
        text = "".join((tmp_path / form / name).read_text(encoding="utf-8") for name in files)
        assert "What made it so" in text
        assert not {word for word in bad if word in text}, form
