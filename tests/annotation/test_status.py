"""`annotate status`: how far the work is and who is awaited, from a project's first minute to its last batch."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from mindgauge import benchmarks
from mindgauge.annotation import people, submissions, tasks
from mindgauge.annotation.project import Annotation
from mindgauge.annotation.records import Answer, Answered, Phase
from mindgauge.commands.annotate.new import annotate_new
from mindgauge.commands.annotate.status import annotate_status
from mindgauge.records import RaterKind
from mindgauge.records.errors import UsageError
from mindgauge.store import Store
from tests import in_process

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SAFETY = benchmarks.find_one("dialogue_safety")
LEVELS = SAFETY.rubric.criteria[0].values


@pytest.fixture
def folder(tmp_path: Path, replies_file: Callable[..., Path]) -> Path:
    """A project of eight items in two batches, with three anchors."""
    path = replies_file(*({"user": f"Week {n} was grey.", "reply": f"What made it so, {n}?"} for n in range(8)))
    annotate_new(
        tmp_path / "project", benchmark="dialogue_safety", items=path, annotators=["ana", "ben"], adjudicator="dana",
        batch=4, training=3,
    )  # fmt: skip
    return tmp_path / "project"


def label(folder: Path, *names: str, count: int = 100, agree: bool = True) -> None:
    """Let people label in turn until nothing is before them; those who agree choose by the item's words alone."""
    with Annotation.open(folder) as a:
        for name in names:
            person = a.named(name)
            for n in range(count):
                before = tasks.current(a, person)
                if not isinstance(before, tasks.Assignment):
                    break
                place = int(before.item.subject[:4], 16) + (0 if agree else len(name) + ord(name[0]))
                value = LEVELS[place % len(LEVELS)]
                value = before.item.expected.get("category") or value if name == "ana" else value
                answers = [Answer("category", Answered.OK, value)]
                form = f"{name} {before.phase} {before.batch} {n}"
                submissions.submit(a, person, before.item.id, before.phase, before.turn, form, answers, seconds=4.0)


def test_a_new_project_waits_for_everybody(folder: Path) -> None:
    found = annotate_status(folder)
    assert (
        found.next
        == "Batch 1 is in labelling and waits for ana (4 left, after 3 anchors), ben (4 left, after 3 anchors)."
    )
    assert [(batch.batch, batch.phase, batch.items, batch.opened) for batch in found.batches] == [
        (0, Phase.TRAINING, 3, ""), (1, Phase.LABELLING, 4, ""), (2, Phase.LABELLING, 4, ""),
    ]  # fmt: skip
    assert [(part.person, part.of, part.left) for part in found.batches[1].people] == [("ana", 4, 4), ("ben", 4, 4)]
    assert [(person.name, person.labels, person.training, person.seen) for person in found.people] == [
        (name, 0, [], "") for name in ("ana", "ben", "dana", "owner")
    ]
    assert (found.in_run, found.notes) == ([], [])


def test_training_is_compared_with_the_anchors_and_counts_as_no_label(folder: Path) -> None:
    with Annotation.open(folder) as a:
        people.exchange(a, people.invite(a, a.named("ana").id))
    label(folder, "ana", count=4)
    found = annotate_status(folder)
    ana, ben = found.people[:2]
    assert [(a.criterion, a.n, a.missing, a.right) for a in ana.training] == [("category", 3, 0, 1.0)]
    assert ana.labels == 1
    assert ana.joined
    assert ana.seen
    assert (ben.training, ben.joined) == ([], "")
    assert "waits for ana (3 left), ben (4 left, after 3 anchors)" in found.next
    assert found.batches[1].opened


def test_a_batch_that_closes_is_in_the_run_and_the_next_one_opens(folder: Path) -> None:
    label(folder, "ana", "ben", count=7)
    found = annotate_status(folder)
    first = found.batches[1]
    assert (first.phase, first.decided) == (Phase.CLOSED, "passed")
    assert [(gate.phase, gate.passed) for gate in first.gates] == [(Phase.LABELLING, True)]
    figure = first.gates[0].figures[0]
    assert (figure.criterion, figure.label, figure.agreement, figure.n) == ("category", "", 1.0, 4)
    assert found.next == "Batch 2 is in labelling and waits for ana (4 left), ben (4 left)."
    assert found.in_run == [1]
    assert [note for note in found.notes if f"mindgauge reliability {folder} --look-until 8" in note], "looks are many"
    with Store(folder) as store:
        raters = [rating.rater for rating in store.ratings(SAFETY.name) if rating.rater_kind is RaterKind.PERSON]
    assert raters == ["ana"] * 4 + ["ben"] * 4


def test_below_the_gate_the_adjudicator_is_awaited_last_and_the_end_is_told(folder: Path) -> None:
    for _ in range(3):  # alone, in review, in discussion
        label(folder, "ana", "ben", count=7, agree=False)
    found = annotate_status(folder)
    assert found.next == "Batch 1 is in adjudication and waits for dana (4 left)."
    assert [gate.phase for gate in found.batches[1].gates] == [Phase.LABELLING, Phase.REVIEW, Phase.DISCUSSION]
    assert not any(gate.passed for gate in found.batches[1].gates)
    phases = list(dict.fromkeys(part.phase for part in found.batches[1].people))
    assert phases == [Phase.LABELLING, Phase.REVIEW, Phase.DISCUSSION, Phase.ADJUDICATION]
    label(folder, "dana")
    label(folder, "ana", "ben")
    found = annotate_status(folder)
    assert [batch.decided for batch in found.batches] == ["", "adjudicated", "passed"]
    assert found.next.startswith("All batches are closed; go on with `mindgauge reliability ")
    assert found.in_run == [1, 2]
    assert not any("--look-until" in note for note in found.notes), "the last look is one"


def test_agreement_after_a_discussion_is_said_to_be_no_independent_one(folder: Path) -> None:
    label(folder, "ana", "ben", count=7, agree=False)
    assert "seen each other's labels" not in shown(folder)
    for _ in range(2):
        label(folder, "ana", "ben", count=7, agree=False)
    said = shown(folder)
    assert "discussion*" in said
    assert (
        "* People had seen each other's labels by then: how far they agree on their own is what stands after labelling."
        in said
    )


def test_a_run_that_somebody_writes_is_told_and_filled_later(folder: Path) -> None:
    with Store(folder, write=True):
        label(folder, "ana", "ben", count=7)
        held = annotate_status(folder)
        assert held.in_run == []
        assert "another process" in held.notes[0]
    assert annotate_status(folder).in_run == [1]


def test_the_table_has_a_row_for_each_person_and_phase(folder: Path) -> None:
    found = annotate_status(folder)
    assert found.table.columns == ["batch", "phase", "person", "of", "done", "handed_on", "left"]
    assert found.table.height == 6
    assert "</table>" in found._repr_html_()


def test_a_folder_without_a_project_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no annotation project here"):
        annotate_status(tmp_path)


def test_the_command_line_shows_batches_gate_and_people(folder: Path) -> None:
    label(folder, "ana", "ben", count=7)
    said = shown(folder)
    for words in (
        f"{benchmarks.find_one('dialogue_safety').rubric.name}, gate 0.4, gold adjudicated",
        "passed",
        "waiting",
        "3 of 3",
        "reached",
        "100 % of 3",
    ):
        assert words in said
    assert said.endswith("Batch 2 is in labelling and waits for ana (4 left), ben (4 left).\n")
    found: dict[str, Any] = json.loads(shown(folder, "--json"))
    assert found["batches"][1]["gates"][0]["figures"][0]["fleiss"] == 1.0
    assert found["people"][0]["role"] == "annotator"


def shown(folder: Path, *more: str) -> str:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "200")
        done = in_process.mindgauge("annotate", "status", folder, *more)
    assert done.returncode == 0, done.stderr
    return done.stdout
