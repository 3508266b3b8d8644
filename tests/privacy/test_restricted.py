"""What a benchmark's authors released under restrictions stands in nothing that is made to be passed on, not even quoted."""

from __future__ import annotations

import json
import re
import sys
from typing import TYPE_CHECKING

import polars as pl
import pytest

import mindgauge
from mindgauge import benchmarks
from mindgauge.cli import main
from mindgauge.models.scripted import Scripted
from mindgauge.records.errors import UsageError
from mindgauge.store import Store
from tests.benchmarks.mentalbench.conftest import CLAUDE, PEOPLE, Copy, rated

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mindgauge.records.request import Request

TASK = benchmarks.find_one("mentalbench")
WORDS = 4
"""As many words in a row are a quotation."""
FORMS = (
    str, str.upper, str.title,
    lambda text: text.replace(" ", "\n  "), lambda text: re.sub(r"[^\w\s]", "", text), lambda text: text.replace("'", "’"),
    lambda text: f"“{text[:40]}”", lambda text: "-".join(text.split()), lambda text: "**" + text.replace(" ", "** **") + "**",
    json.dumps, lambda text: text.replace(" ", "\u00a0"), lambda text: text[len(text) // 2 :],
)  # fmt: skip
"""How judges and models quote."""


def words_in(text: str) -> Iterator[tuple[str, ...]]:
    """Yield the runs of words of a text, however they are set."""
    words = re.findall(r"[a-z]+", text.casefold().replace("’", "").replace("'", ""))
    yield from zip(*(words[at:] for at in range(WORDS)), strict=False)


def _concern(row: int) -> str:
    """Return a message that no other text of ours resembles."""
    things = [
        "lamp",
        "river",
        "coat",
        "ladder",
        "kettle",
        "violin",
        "garden",
        "window",
        "bicycle",
        "harbour",
        "letter",
        "orchard",
    ]
    first, second = things[row % 12], things[(row + 5) % 12]
    return f"Since my sister left, I sit beside the {first} each evening and can't bring myself to touch the {second}."


def _model(request: Request) -> str:
    assert request.sample is not None
    said = request.sample.messages[-1].content
    return f"I hear you. You say: {FORMS[len(said) % len(FORMS)](said)}. That sounds heavy."


def _judge(request: Request) -> str:
    assert request.sample is not None
    assert request.schema is not None
    message = request.sample.messages[-1].content
    at = sum(map(ord, request.sample.id))
    levels = {c.name: 1 + at % 3 for c in TASK.rubric.criteria if c.name in request.schema["properties"]}
    rationale = " ".join(form(message) for form in FORMS)
    return json.dumps({"quotes": [message[:60], _model(request)[:70]], "rationale": rationale, **levels})


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model under test, and a judge, that quote whatever they are shown, on a file laid out as the released one."""
    folder = tmp_path_factory.mktemp("restricted")
    copy = Copy(folder / "data")
    sheet = rated(0, "human_response_")
    concerns = [_concern(row) for row in range(sheet.height)]
    copy.write(PEOPLE, sheet.with_columns(pl.Series("context", concerns)))
    mindgauge.run(
        "mentalbench", model=Scripted("acme/one", _model), judge=Scripted("other/judge", _judge), data=copy.root,
        out=folder / "run", qualify=False,
    )  # fmt: skip
    return folder / "run"


@pytest.fixture(scope="module")
def quotations(run: Path) -> set[tuple[str, ...]]:
    with Store(run) as store:
        found = {words for sample in store.samples("mentalbench") for words in words_in(sample.messages[-1].content)}
    ours = {words for sample in TASK.samples(None) for words in words_in(sample.messages[-1].content)}
    assert len(found) > 50
    return found - ours


def told(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield every file's words, those of Parquet files cell by cell."""
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        if path.suffix == ".parquet":
            yield path.name, "\n".join(str(cell) for row in pl.read_parquet(path).iter_rows() for cell in row)
        else:
            yield path.name, path.read_text(encoding="utf-8")


def leaks(folder: Path, quotations: set[tuple[str, ...]]) -> list[tuple[str, tuple[str, ...]]]:
    return [(name, words) for name, text in told(folder) for words in words_in(text) if words in quotations]


def test_a_hub_export_holds_no_quotation(run: Path, quotations: set[tuple[str, ...]], tmp_path: Path) -> None:
    written = mindgauge.export(run, to="hub", out=tmp_path / "hub", licence="cc-by-4.0")
    assert leaks(tmp_path / "hub", quotations) == []
    with Store(run) as store:
        n = len(store.sample_ids("mentalbench"))
    assert any(f"{n} restricted messages" in note and "left out" in note for note in written.notes)
    assert f"**{n} messages are restricted" in (tmp_path / "hub" / "README.md").read_text()
    assert json.loads((tmp_path / "hub/metadata/export_summary.json").read_text())["texts_left_out"]["messages"] == n
    [raw] = (tmp_path / "hub").rglob("evaluations/llm_raw/*.parquet")
    values = pl.read_parquet(raw)
    assert values["score"].null_count() == 0, "values stand there"
    assert values["explanation"].null_count() == values.height
    mindgauge.export(run, to="hub", out=tmp_path / "shown", licence="cc-by-4.0", show_texts=True)
    assert leaks(tmp_path / "shown", quotations), "the texts are quoted, and shown to who may show them"


@pytest.mark.long
def test_a_released_judges_reasons_are_left_out_too(tmp_path: Path) -> None:
    """As in the real files: no reply was released, and judges' explanations quote the messages."""
    copy = Copy(tmp_path / "data")
    sheet = rated(1, "judge_response_").with_columns(
        pl.all().exclude("ConvID", "context").str.replace("So.", "The person says: keeps me awake"),
    )  # fmt: skip
    copy.write(PEOPLE, rated(0, "human_response_"))

    copy.write(CLAUDE, sheet, "claude-3-7-sonnet-20250219_Fina")
    mindgauge.papers_load("mentalbench", data=copy.root, out=tmp_path / "run")
    mindgauge.export(tmp_path / "run", to="hub", out=tmp_path / "hub", licence="cc-by-4.0")
    assert not [name for name, text in told(tmp_path / "hub") if "keeps me awake" in text]
    mindgauge.export(tmp_path / "run", to="hub", out=tmp_path / "shown", licence="cc-by-4.0", show_texts=True)
    assert [name for name, text in told(tmp_path / "shown") if "keeps me awake" in text]


def test_a_report_holds_no_quotation(run: Path, quotations: set[tuple[str, ...]], tmp_path: Path) -> None:
    mindgauge.report(run, out=tmp_path / "hidden", show_unreliable=True)
    assert leaks(tmp_path / "hidden", quotations) == []
    mindgauge.report(run, out=tmp_path / "shown", show_unreliable=True, show_texts=True)
    assert {name for name, _ in leaks(tmp_path / "shown", quotations)} == {"report.html", "report.json"}


def test_what_is_made_to_go_on_working_with_says_that_it_is_not_for_passing_on(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for to in ("csv", "parquet", "review"):
        written = mindgauge.export(run, to=to, out=tmp_path / to)
        assert any("do not pass these files on" in note for note in written.notes), to
    mindgauge.annotate_new(tmp_path / "labels", items=run, annotators=["anna", "ben"], limit=4, training=0)
    labels = mindgauge.annotate_export(tmp_path / "labels", everything=True)
    assert any("do not pass these files on" in note for note in labels.notes)
    with pytest.raises(UsageError, match="--to csv holds every text anyway"):
        mindgauge.export(run, to="csv", out=tmp_path / "x", show_texts=True)
    monkeypatch.setattr(
        sys, "argv", ["mindgauge", "export", str(run), "--to", "hub", "--licence", "mit", "--out", str(tmp_path / "h")]
    )
    with pytest.raises(SystemExit):
        main()
    assert "which quote them, are left out" in " ".join(capsys.readouterr().out.split())


def test_our_own_samples_are_not_restricted(tmp_path: Path) -> None:
    mindgauge.run(
        "mentalbench",
        model=Scripted("acme/one", _model),
        judge=Scripted("other/judge", _judge),
        limit=3,
        out=tmp_path / "run",
        qualify=False,
    )
    written = mindgauge.export(tmp_path / "run", to="hub", out=tmp_path / "hub", licence="mit")
    assert not written.notes
    assert "restricted" not in (tmp_path / "hub" / "README.md").read_text()
    assert any("I hear you" in text for name, text in told(tmp_path / "hub") if name.endswith(".parquet"))
