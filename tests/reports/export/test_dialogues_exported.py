"""A run of dialogues, some of which broke off, in every format: what was said stands there as it was held."""

from __future__ import annotations

import json
import zipfile
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import mindgauge
from tests.reports import talked

if TYPE_CHECKING:
    from pathlib import Path

    from mindgauge.commands.export import Exported


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Hold eight dialogues of six turns: two clients, one of whom leaves in the fourth; two models, one of whom refuses then."""
    folder = tmp_path_factory.mktemp("dialogues") / "run"

    def refuses(messages: list[dict[str, str]]) -> str:
        turn = sum(message["role"] == "user" for message in messages)
        return "" if turn == 5 else f"{talked.HEARING} ({turn})"

    models = [talked.target("attentive"), mindgauge.Function(refuses, name="silent")]
    mindgauge.run(
        talked.NAME, model=models, client=[talked.client("first"), talked.client("second", 4)], judge=talked.judge(),
        turns=6, where={"language": ("en",)}, limit=2, qualify=False, out=folder,
    )  # fmt: skip
    return folder


def exported(run: Path, to: str, out: Path, **options: Any) -> Exported:
    return mindgauge.export(run, to=to, out=out, **options)


@pytest.mark.parametrize("to", ["csv", "parquet"])
def test_a_table_of_replies_has_the_dialogue_that_was_held(run: Path, tmp_path: Path, to: str) -> None:
    exported(run, to, tmp_path / "out")
    file = tmp_path / "out" / f"replies.{to}"
    table = pl.read_csv(file, infer_schema=False) if to == "csv" else pl.read_parquet(file)
    turns = table.filter(pl.col("model") == "attentive", pl.col("status") == "ok")
    lengths = sorted(len(json.loads(messages)) for messages in turns["messages"])
    assert lengths == sorted([2 * turn + 1 for turn in range(6)] * 2 + [1, 3, 5] * 2), "the second client leaves"
    assert all(json.loads(messages)[-1]["role"] == "user" for messages in turns["messages"])


@pytest.mark.long
def test_every_other_format_takes_dialogues(run: Path, tmp_path: Path) -> None:
    notes = {
        to: exported(run, to, tmp_path / to, **options).notes
        for to, options in {
            "hub": {"licence": "CC0-1.0"}, "inspect": {}, "review": {},
        }.items()
    }  # fmt: skip
    assert any("replies answer a dialogue as it was held" in note for note in notes["hub"])
    [log] = [path for path in (tmp_path / "inspect").glob("*.eval") if "attentive" in path.name]
    with zipfile.ZipFile(log) as archive:
        samples = [json.loads(archive.read(name)) for name in archive.namelist() if name.startswith("samples/")]
    complete = [sample for sample in samples if len(sample["messages"]) == 12]
    assert len(complete) == 2
    assert all([m["role"] for m in sample["messages"]] == ["user", "assistant"] * 6 for sample in complete)
    review = pl.read_csv(tmp_path / "review" / "review.csv", infer_schema=False)
    assert review["dialogue"].str.contains("Assistant: ").any()
