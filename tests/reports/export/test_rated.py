"""Ratings are read a few replies at a time, and stand in the tables as if they were read at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from mindgauge import benchmarks
from mindgauge.commands.export import export
from mindgauge.records import RaterKind
from mindgauge.reports.export.placed import ExportedRatings, WordingIndex, place
from mindgauge.store import Store
from tests.reports.export.conftest import JUDGE, LICENCE, MODELS, NAME

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_pieces_of_any_size_make_the_same_files(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = export(run, to="hub", out=tmp_path / "whole", licence=LICENCE)
    monkeypatch.setattr("mindgauge.reports.export.placed._REPLIES", 1)
    monkeypatch.setattr("mindgauge.reports.export.evaluations._FRAME", 3)
    pieces = export(run, to="hub", out=tmp_path / "pieces", licence=LICENCE)
    for file in whole.files:
        if file.file.endswith(".parquet"):
            one, other = (pl.read_parquet(tmp_path / name / file.file) for name in ("whole", "pieces"))
            assert one.equals(other), file.file
    assert [file.sha256 for file in whole.files] == [file.sha256 for file in pieces.files]


def test_what_is_held_of_a_reply_is_not_its_text(run: Path) -> None:
    benchmark = benchmarks.find_one(NAME)
    with Store(run) as store:
        placed = place(store, benchmark)
        words = WordingIndex(store, NAME)
        assert {p.reply.text for p in placed} == {""}
        assert {p.sample.messages for p in placed} == {()}
        assert {words.reply(p) for p in placed} == {f"-回复 {n} by {m}" for m in MODELS for n in range(4)}
        rated = ExportedRatings(store, benchmark)
        pairs = list(rated.of(JUDGE, RaterKind.MODEL, placed, lambda p: p.order))
        assert rated.judges == {JUDGE: 2}
        assert len(pairs) == 2 * len(placed)
        assert [p.reply.id for p, _ in pairs[::2]] == [p.reply.id for p in placed]
