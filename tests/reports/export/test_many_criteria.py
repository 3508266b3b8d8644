from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from mindgauge.benchmarks import Benchmark
from mindgauge.benchmarks.card import own_samples
from mindgauge.records import RaterKind, Rating, Reply, Status
from mindgauge.reports.export import hub
from mindgauge.reports.export.folder import ExportFolder
from mindgauge.store import Store
from tests.cards import CARD

if TYPE_CHECKING:
    from pathlib import Path

RUBRIC = """
id = "two"
version = "1"
source = "ours"
[[criteria]]
name = "warmth"
scale = "ordinal"
levels = [{ value = "cold", text.en = "a" }, { value = "warm", text.en = "b" }]
text.en = "w"
[[criteria]]
name = "kind"
scale = "nominal"
levels = [{ value = "x", text.en = "a" }, { value = "y", text.en = "b" }]
text.en = "k"
"""


def test_levels_in_words_have_their_place_in_the_rubric_as_score(tmp_path: Path) -> None:
    folder = tmp_path / "two"
    folder.mkdir()
    (folder / "card.toml").write_text(CARD)
    (folder / "rubric.toml").write_text(RUBRIC)
    (folder / "samples.jsonl").write_text('{"messages": [{"role": "user", "content": "hello"}]}\n')
    benchmark = Benchmark.from_folder(folder, metrics=(), read=lambda _: [])
    (sample,) = own_samples(folder)
    reply = Reply.of(sample.id, "m", 0, Status.OK, "hi")
    with Store(tmp_path / "run", write=True) as store:
        store.put_samples("two", [sample])
        store.add_reply("two", reply)
        for run, (warmth, kind) in enumerate([("warm", "x"), ("cold", "y")]):
            for criterion, value in (("warmth", warmth), ("kind", kind)):
                store.add_rating(
                    "two", Rating(reply.id, criterion, "j", RaterKind.MODEL, run, Status.OK, value, instrument="i")
                )
        store.flush()
        plan = {"plan": {"benchmarks": ["two"], "instruments": ["i"], "samples": ["s"]}}
        with ExportFolder(tmp_path / "out") as out:
            hub.write(out, store, benchmark, plan, "MIT")
    raw = pl.read_parquet(tmp_path / "out/evaluations/llm_raw/j.parquet")
    assert raw.select("criterion", "evaluation_run", "level", "score").rows() == [
        ("kind", 0, "x", 1), ("kind", 1, "y", 2), ("warmth", 0, "warm", 2), ("warmth", 1, "cold", 1),
    ]  # fmt: skip
