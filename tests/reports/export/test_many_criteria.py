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


def test_a_rubric_of_several_worded_criteria_adds_criterion_and_level(tmp_path: Path) -> None:
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
    raw = pl.read_parquet(tmp_path / "out/evaluations/llm_raw/j/validation/m.parquet")
    assert raw.select("criterion", "level", "score").rows() == [
        ("kind", "x", 1), ("warmth", "warm", 2), ("kind", "y", 2), ("warmth", "cold", 1),
    ]  # fmt: skip
    assert raw["evaluation_id"].n_unique() == 4
    merged = pl.read_parquet(tmp_path / "out/evaluations/llm_merged/j/validation/m.parquet")
    assert merged.select("criterion", "score", "score_runs").rows() == [
        ("kind", None, [1, 2]),  # categories have no mean
        ("warmth", 1.5, [2, 1]),
    ]
