"""A classifier that rates what it learned from is named, with how much of it that was."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mindgauge.analysis import classifiers
from mindgauge.records import RaterKind, Rating, Status
from mindgauge.store import Store

if TYPE_CHECKING:
    from pathlib import Path

NAME = "dialogue_safety"
MANIFEST: dict[str, Any] = {"classifiers": {"classifier/c": {}, "classifier/absent": {}}}


def planted(store: Store, hows: list[str | None]) -> None:
    """Plant one rating for each, a reply that never came, and a model's rating."""
    for number, how in enumerate(hows):
        facts = {"probabilities": {"a": 1.0}} | ({} if how is None else {"seen": how})
        status = Status.REFUSED if number % 2 else Status.OK
        store.add_rating(
            NAME, Rating(f"{number}", "c", "classifier/c", RaterKind.CLASSIFIER, 0, status, provenance=facts)
        )
    store.add_rating(NAME, Rating("x", "c", "classifier/c", RaterKind.CLASSIFIER, 0, Status.FAILED))
    store.add_rating(NAME, Rating("0", "c", "model", RaterKind.MODEL, 0, Status.OK, provenance={"seen": "text"}))
    store.flush()


def test_what_it_had_seen_is_counted_and_said(tmp_path: Path) -> None:
    with Store(tmp_path, write=True) as store:
        planted(store, ["text", "text", "dialogue", "no", "no"])
        assert classifiers.overlaps(store, [NAME, "other"], MANIFEST) == [
            classifiers.Overlap(NAME, "classifier/c", 5, 2, 1, 0)
        ]
        [note] = classifiers.notes(store, [NAME], MANIFEST)
        assert note == (
            "classifier/c, dialogue_safety: of 5 dialogues that it rated, 2 stood in its own training or development data "
            "and 1 came from dialogues that are there in other pieces; on these its scores are no test of it"
        )
        assert classifiers.notes(store, [NAME], {}) == []


def test_nothing_is_said_where_all_was_new(tmp_path: Path) -> None:
    with Store(tmp_path, write=True) as store:
        planted(store, ["no", "no"])
        assert classifiers.notes(store, [NAME], MANIFEST) == []


def test_what_is_not_known_is_said(tmp_path: Path) -> None:
    with Store(tmp_path, write=True) as store:
        planted(store, [None, "no", None])
        [note] = classifiers.notes(store, [NAME], MANIFEST)
        assert (
            "it has no record of what it learned from, so 2 of 3 dialogues may have been in its training data" in note
        )
