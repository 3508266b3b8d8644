from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mindgauge import benchmarks
from mindgauge.annotation import submissions
from mindgauge.annotation.exchange import files, read
from mindgauge.annotation.exchange.export import Content, PersonLabels
from mindgauge.annotation.project import Annotation
from mindgauge.annotation.records import Answer, Answered, Item, Label, Phase
from mindgauge.commands.annotate.export import annotate_export
from mindgauge.commands.annotate.import_ import annotate_import
from mindgauge.records import Evidence, Message
from mindgauge.reports.export.folder import ExportFolder
from tests.annotation.conftest import PEOPLE, begin, own_items
from tests.thinned import sampled

from .conftest import SAFE, Said, known, label_batch, said, score, scored_items, submit

if TYPE_CHECKING:
    from pathlib import Path

FILES = {
    "csv": "ratings.csv",
    "parquet": "ratings.parquet",
    "label-studio": "tasks.json",
    "potato": "annotations.jsonl",
}
WITHOUT_PATHS = ("label-studio", "potato")
WITHOUT_TIMES = ("potato",)


def carried(to: str, found: dict[tuple[str, str, str], Said]) -> dict[tuple[str, str, str], Said]:
    """Return as much as a format carries."""
    return {
        key: one._replace(
            path=() if to in WITHOUT_PATHS else one.path, seconds=0.0 if to in WITHOUT_TIMES else one.seconds
        )
        for key, one in found.items()
    }


@pytest.mark.parametrize("to", FILES)
def test_labels_come_back_as_they_were(labelled: Annotation, fresh: Path, tmp_path: Path, to: str) -> None:
    annotate_export(labelled.folder, to=to, out=tmp_path / "out")
    found = annotate_import(fresh, tmp_path / "out" / FILES[to])
    with Annotation.open(fresh) as again:
        assert said(again) == carried(to, said(labelled))
        assert {label.source for label in again.labels()} == {FILES[to]}
        times = {(label.item, label.criterion): label.at for label in labelled.labels()}
        if to not in WITHOUT_TIMES:
            assert all(abs(label.at - times[label.item, label.criterion]) < 60 for label in again.labels())
        handed_on = {item for _, item in again.handed_on(1)}
        assert handed_on == (set() if to == "potato" else {item for _, item in labelled.handed_on(1)})
        assert found.closed == ([] if to == "potato" else [1])  # with potato, the item that was handed on is still open
    assert found.labels == len(said(labelled)) and found.form == to


@pytest.mark.parametrize("to", sampled(FILES, 2))
def test_scores_on_many_criteria_come_back(tmp_path: Path, to: str) -> None:
    with begin(tmp_path / "first", items=scored_items(), instrument="mentalbench") as first:
        score(first)
        wanted = carried(to, said(first))
    begin(tmp_path / "second", items=scored_items(), instrument="mentalbench").close()
    annotate_export(tmp_path / "first", to=to, out=tmp_path / "out", everything=True)
    annotate_import(tmp_path / "second", tmp_path / "out" / FILES[to])
    with Annotation.open(tmp_path / "second") as second:
        assert said(second) == wanted
        assert {one.given for one in said(second).values()} >= {1, 2, 3, "not_applicable"}


@pytest.mark.parametrize("to", FILES)
def test_a_file_that_is_there_already_changes_nothing(labelled: Annotation, tmp_path: Path, to: str) -> None:
    before = labelled.labels()
    annotate_export(labelled.folder, to=to, out=tmp_path / "out")
    found = annotate_import(labelled.folder, tmp_path / "out" / FILES[to])
    assert labelled.labels() == before
    assert found.labels == found.superseded == 0 and found.same == len(said(labelled)) + (to != "potato")


def test_the_history_brings_back_what_was_given_alone(tmp_path: Path, fresh: Path) -> None:
    """What was changed in the labelling phase counts as it ended; what came after does not count."""
    with begin(tmp_path / "a", items=(*own_items(6), *own_items(8, batch=2)[6:])) as a:
        ana = a.named("ana")
        first = a.items(1)[0].id
        submit(a, "ana", first, Answer("category", Answered.OK, SAFE))
        assert submissions.undo(a, ana, "undo") == first
        label_batch(a)
        wanted = said(a)
    annotate_export(tmp_path / "a", out=tmp_path / "out")
    found = annotate_import(fresh, tmp_path / "out" / "history.csv")
    with Annotation.open(fresh) as again:
        assert said(again) == wanted
        assert {label.phase for label in again.labels()} == {Phase.LABELLING}
    assert found.labels == len(wanted)


NOTE = st.builds(
    str.__add__,
    st.sampled_from(["", "=", "'=", "@", "-1", "\t", "\r\n", "NA", "null", '"', "，"]),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=20),
)
REPLY = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1, max_size=30)


@pytest.mark.parametrize("to", sampled(FILES, 2))
@given(note=NOTE, reply=REPLY, asked=REPLY, data=st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_every_text_comes_back_to_the_letter(
    tmp_path: Path, to: str, note: str, reply: str, asked: str, data: st.DataObject
) -> None:
    """Formulas, words for nothing, line ends, quotes, Chinese and emojis, in notes, marked words and texts."""
    start = data.draw(st.integers(0, len(reply) - 1))
    quote = reply[start : data.draw(st.integers(start + 1, len(reply)))]
    item = Item("subject", (Message("user", asked),), reply, batch=1)
    marks = (Evidence(quote, found=True, source="reply"), Evidence(asked, found=True, source="dialogue"))
    label = Label(
        1,
        PEOPLE[0].id,
        item.id,
        "category",
        Phase.LABELLING,
        Answered.OK,
        SAFE,
        (),
        note,
        marks,
        "r@1#0",
        1.5e9,
        2.0,
        "page",
    )
    one = PersonLabels(item, PEOPLE[0], (label,), ("category",))
    rubric = benchmarks.find_one("dialogue_safety").rubric
    people = {PEOPLE[0].id: PEOPLE[0]}
    content = Content("test", rubric, [item], people, [one], [label], {1}, [], {})
    with ExportFolder(tmp_path / "out") as folder:
        made = files(content, to)[FILES[to]]
        if isinstance(made, str):
            folder.text(FILES[to], made)
        else:
            (folder.parquet if to == "parquet" else folder.csv)(FILES[to], made)
    _, (entry,), _ = read(tmp_path / "out" / FILES[to], known((item,)))
    assert entry.answer == Answer("category", Answered.OK, SAFE)
    assert entry.note == note
    assert [(mark.quote, mark.source) for mark in entry.evidence] == [(mark.quote, mark.source) for mark in marks]
    if to not in WITHOUT_TIMES:
        assert (entry.time, entry.seconds) == (1.5e9, 2.0)
