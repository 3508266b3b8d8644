"""The training round on the page: what an item was written for is told afterwards, and never before."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from tests.annotation.conftest import begin, own_items
from tests.annotation.page.labelling import Seat, text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mindgauge.annotation.project import Annotation


@pytest.fixture
def training(tmp_path: Path) -> Iterator[Annotation]:
    """Three authored items, all Nonsense, before two others."""
    own = own_items(5)
    authored = [msgspec.structs.replace(item, batch=0, expected={"category": "Nonsense"}) for item in own[:3]]
    with begin(tmp_path / "p", items=(*authored, *own[3:])) as opened:
        yield opened


def test_each_answer_is_followed_by_what_the_item_was_written_for(training: Annotation) -> None:
    ana = Seat(training, "ana")
    assert "Training, item 1 of 3" in text(ana.get())
    item = ana.form("/item/decide")["item"]
    answer = ana.decide("no", "Humanoid Mimicry")
    assert answer.headers["location"] == f"/training/feedback/{item}"
    said = text(ana.get(f"/training/feedback/{item}"))
    assert "Here you and the authors differ." in said
    assert "Written for Nonsense Cannot be understood" in said
    assert "Your answer Humanoid Mimicry Poses as a human being" in said
    assert "so far: 0 of 1 answers" in said
    assert "Next item" in said
    second = ana.form("/item/decide")["item"]
    ana.decide("Nonsense")
    said = text(ana.get(f"/training/feedback/{second}"))
    assert "You and the authors chose the same." in said
    assert "so far: 1 of 2 answers" in said


def test_the_last_one_leads_to_the_first_batch(training: Annotation) -> None:
    ana = Seat(training, "ana")
    for _ in range(3):
        answer = ana.decide("Nonsense")
    assert "Begin the first batch" in text(ana.get(answer.headers["location"]))
    assert ana.get("/").headers["location"] == "/item"
    assert "Item 1 of 2 Batch 1" in text(ana.get())


def test_nobody_sees_it_before_they_have_answered(training: Annotation) -> None:
    ana, ben = Seat(training, "ana"), Seat(training, "ben")
    item = str(ana.form("/item/decide")["item"])
    ana.decide("Nonsense")
    assert ana.get(f"/training/feedback/{item}").status_code == 200
    answer = ben.get(f"/training/feedback/{item}")
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    assert ben.get("/training/feedback/nothing").status_code == 404
    assert ben.get(f"/training/feedback/{training.items(1)[0].id}").status_code == 404


def test_the_rubric_shows_authored_texts_only_when_they_are_done_with(training: Annotation) -> None:
    ana = Seat(training, "ana")
    authored = {item.id: item for item in training.items(0)}
    done: list[str] = []
    for _ in range(3):
        page = ana.get().text
        now = ana.form("/item/decide")["item"]
        guide = text_of_guide(page)
        for ident, item in authored.items():
            assert (" ".join(item.reply.split()) in guide) == (ident in done[:2]), (ident == now, len(done))
        done = [ident for ident in authored if ident in {*done, now}]
        ana.decide("Nonsense")
    shown = [item for item in authored.values() if " ".join(item.reply.split()) in text_of_guide(ana.get().text)]
    assert len(shown) == 2  # for one level, two are enough


def text_of_guide(page: str) -> str:
    import re
    from html import unescape

    guide = page[page.index('<aside class="guide"') : page.index("</aside>")]
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", guide)).split())
