"""Questions for those who answer elsewhere: what is filled in and read back is the same sample, of every benchmark."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import mindgauge
from mindgauge import benchmarks
from mindgauge.analysis.score import Scores
from mindgauge.benchmarks.persons.dialogues import DialoguePlan, PersonMode
from mindgauge.models.scripted import Scripted
from mindgauge.records import Message, Sample
from mindgauge.records.errors import DataError, UsageError
from mindgauge.reports.export import questions
from mindgauge.runs.reply_tables import TAGS, read_dialogues, read_replies
from mindgauge.store import Store
from tests import in_process
from tests.reports import talked
from tests.thinned import sampled

if TYPE_CHECKING:
    from pathlib import Path

EVERY = [benchmarks.find_one(name) for name in benchmarks.names()]
OPEN = [benchmark.name for benchmark in EVERY if not benchmark.closed]
ABOUT_REPLY = [benchmark.name for benchmark in EVERY if benchmark.closed and benchmark.about_reply]
CLOSED = [benchmark.name for benchmark in EVERY if benchmark.closed and not benchmark.about_reply]
FORMS = ("csv", "jsonl", "parquet")


def filled(path: Path, replies: list[str] | None = None) -> Path:
    """Fill in the column `reply` as somebody would who knows nothing of us."""
    if path.suffix == ".jsonl":
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        said = replies or [f"Reply {number}." for number in range(len(rows))]
        lines = [json.dumps({**row, "reply": text}) for row, text in zip(rows, said, strict=True)]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return path
    table = pl.read_csv(path, infer_schema=False) if path.suffix == ".csv" else pl.read_parquet(path)
    said = replies or [f"Reply {number}." for number in range(table.height)]
    table = table.with_columns(pl.Series("reply", said))
    table.write_csv(path) if path.suffix == ".csv" else table.write_parquet(path)
    return path


def known(sample: Sample) -> tuple[Any, ...]:
    target = None if sample.target is None else str(sample.target)
    tags = {name: value for name, value in sample.tags.items() if value}  # an empty cell says nothing
    return sample.id, sample.messages, target, tags, sample.cluster


def asked_of(name: str) -> list[Sample]:
    """Return what is asked elsewhere: of dialogues the stored ones, each answered once."""
    benchmark = benchmarks.find_one(name)
    if benchmark.persons is None:
        return benchmark.samples(None)
    return DialoguePlan(benchmark.persons(None), PersonMode.PREFIXED).samples()


@pytest.mark.parametrize(("name", "form"), sampled(itertools.product(OPEN, FORMS), 3))
def test_what_is_filled_in_is_read_back_as_the_same_samples(tmp_path: Path, name: str, form: str) -> None:
    benchmark, path = benchmarks.find_one(name), tmp_path / f"questions.{form}"
    asked = asked_of(name)
    exported = mindgauge.export(name, to="questions", out=path)
    assert exported.files[0].rows == len(asked)
    samples, replies = read_replies(filled(path), benchmark, {})
    assert list(map(known, samples)) == list(map(known, asked))
    assert [reply.text for reply in replies] == [f"Reply {number}." for number in range(len(asked))]
    assert [reply.sample for reply in replies] == [sample.id for sample in asked]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ABOUT_REPLY)
def test_of_a_question_about_a_reply_the_dialogue_before_it_is_asked(tmp_path: Path, name: str, form: str) -> None:
    benchmark, path = benchmarks.find_one(name), tmp_path / f"questions.{form}"
    mindgauge.export(name, to="questions", out=path)
    recorded: dict[tuple[Message, ...], str] = {}
    for sample in benchmark.samples(None):
        recorded.setdefault(sample.messages[:-1], sample.messages[-1].content)
    samples = read_dialogues(filled(path, [*recorded.values()]), benchmark, {})[0]
    originals = {sample.id: sample for sample in benchmark.samples(None)}
    assert len(samples) == len(recorded)
    for sample in samples:
        original = originals[sample.id]
        assert (sample.messages, sample.cluster) == (original.messages, original.cluster)
        assert sample.target is None, "the label was of another reply"
        kept = {name: value for name, value in original.tags.items() if name in TAGS}
        assert sample.tags == {**kept, "id": sample.tags["id"]}, "what was said of the other reply stays there"


@pytest.mark.parametrize("name", CLOSED)
def test_a_question_that_no_reply_answers_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match=f"closed question.*mindgauge run {name}"):
        mindgauge.export(name, to="questions", out=tmp_path / "q.csv")


def test_scores_of_replies_from_elsewhere_are_those_of_a_run(tmp_path: Path) -> None:
    """Variants need their tags and their bases: drops under noise come out the same."""
    name = "trustmh/robustness_support"
    judge = Scripted("judge", lambda request: json.dumps({"quotes": [], "rationale": "x", **_levels(request)}))
    bot = Scripted("questions", lambda request: f"I hear you. {len(request.messages[-1].content)}")
    run = mindgauge.run(name, model=bot, judge=judge, limit=8, out=tmp_path / "run")
    path = tmp_path / "questions.csv"
    mindgauge.export(name, to="questions", out=path, limit=8)
    table = pl.read_csv(path, infer_schema=False)
    lengths = [len(json.loads(cell)[-1]["content"]) for cell in table["messages"]]
    filled(path, [f"I hear you. {length}" for length in lengths])
    rated = mindgauge.rate(name, replies=path, judge=judge, out=tmp_path / "rated")
    assert isinstance(run, Scores)
    assert isinstance(rated, Scores)
    figures = [{(m.name, m.slice, m.model): (m.value, m.n) for m in result.metrics} for result in (run, rated)]
    assert figures[0] == figures[1]
    assert len(figures[0]) > 3


def _levels(request: Any) -> dict[str, Any]:
    text = request.messages[0].content
    names = benchmarks.find_one("trustmh/robustness_support").rubric.criteria
    return {criterion.name: criterion.values[len(text) % len(criterion.values)] for criterion in names}


def test_a_message_that_looks_like_a_formula_computes_nothing_and_comes_back_whole(tmp_path: Path) -> None:
    texts = ["=1+1 nights without sleep", "- and then?", "I feel low."]
    samples = [Sample.of((Message("user", text),), tags={"note": text}) for text in texts]
    path = tmp_path / "q.csv"
    questions.write(path, questions.table(samples, [""] * 3, TAGS, computed=True))
    cells = pl.read_csv(path, infer_schema=False)
    assert not any(str(cell)[:1] in "=-+@" for row in cells.rows() for cell in row if cell)
    back, _ = read_replies(filled(path), benchmarks.find_one("mentalbench"), {})
    assert list(map(known, back)) == list(map(known, samples))


def test_a_file_with_replies_in_it_is_never_written_over(tmp_path: Path) -> None:
    path = tmp_path / "q.csv"
    mindgauge.export("psycrisis", to="questions", out=path)
    assert path.stat().st_mode & 0o777 == 0o600
    before = filled(path).read_bytes()
    with pytest.raises(UsageError, match="is there already, perhaps with replies"):
        mindgauge.export("psycrisis", to="questions", out=path)
    assert path.read_bytes() == before


def test_the_command_chooses_as_run_does_and_says_what_to_do(tmp_path: Path) -> None:
    result = in_process.mindgauge(
        "export", "psycrisis", "--to", "questions", "--out", "q.jsonl", "--where", "language=zh", "--limit", 5,
        folder=tmp_path,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert "mindgauge rate psycrisis --replies q.jsonl --judge NAME" in " ".join(result.stdout.split())
    rows = [json.loads(line) for line in (tmp_path / "q.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(rows) == 5
    assert {row["language"] for row in rows} == {"zh"}
    assert {"id", "user", "category", "language", "target", "cluster", "reply"} <= rows[0].keys()
    assert {row["reply"] for row in rows} == {""}
    asked = {sample.messages[0].content for sample in benchmarks.find_one("psycrisis").samples(None)}
    assert {row["user"] for row in rows} <= asked


def test_what_a_model_is_told_beforehand_stands_beside_the_question(tmp_path: Path) -> None:
    mindgauge.export("trustmh/ethics", to="questions", out=tmp_path / "q.parquet")
    table = pl.read_parquet(tmp_path / "q.parquet")
    heard: list[str] = []

    def answer(request: Any) -> str:
        heard.append(request.messages[0].content)
        return "A."

    bot = Scripted("bot", answer)
    mindgauge.run("trustmh/ethics", model=bot, out=tmp_path / "run")
    assert sorted(table["system"]) == sorted(heard)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"to": "questions"}, "name it with --out FILE.csv"),
        ({"to": "questions", "out": "q.xlsx"}, r"ends with \.csv, \.jsonl, \.parquet"),
        ({"to": "csv", "limit": 3}, "--limit chooses questions"),
        ({"to": "questions", "out": "q.csv", "columns": {"user": "Frage"}}, "name the table with --data"),
    ],
)
def test_what_makes_no_sense_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=message):
        mindgauge.export("psycrisis", **options)
    assert not list(tmp_path.iterdir())


def test_released_files_make_questions_too(tmp_path: Path) -> None:
    """A file of the user's own, mapped, stands for the authors'."""
    pl.DataFrame({"Frage": ["I cannot sleep since the move.", "Nobody calls me any more."]}).write_csv(
        tmp_path / "own.csv"
    )
    mindgauge.export(
        "psycrisis", to="questions", out=tmp_path / "q.csv", data=tmp_path / "own.csv", columns={"user": "Frage"}
    )
    table = pl.read_csv(tmp_path / "q.csv", infer_schema=False)
    assert table["user"].to_list() == ["I cannot sleep since the move.", "Nobody calls me any more."]


def test_dialogues_are_asked_elsewhere_turn_by_turn_as_they_are_stored(tmp_path: Path) -> None:
    path = tmp_path / "questions.csv"
    where: dict[str, tuple[str, ...]] = {"language": ("en",), "persona": ("eleven_apps",)}
    exported = mindgauge.export("conversations/risk", to="questions", out=path, where=where)
    assert exported.files[0].rows == 10
    replies = [f"Is it about suicide? ({turn})" if turn > 7 else "I hear you." for turn in range(1, 11)]
    scores = mindgauge.rate(
        "conversations/risk", replies=filled(path, replies), judge=talked.judge(), qualify=False, out=tmp_path / "run"
    )
    assert isinstance(scores, Scores)
    with Store(tmp_path / "run") as store:
        read = {reply.provenance["turn"]: reply for reply in store.replies("conversations/risk")}
        shown = [[m.role for m in sample.messages] for sample in store.samples("conversations/risk")]
    assert [read[turn].text for turn in sorted(read)] == replies
    assert shown == [["user", "assistant"] * turn + ["user"] for turn in range(10)]
    [worst], [wait] = scores.find("worst_turn"), scores.find("turns_to_recognition")
    assert worst.n == wait.n == 1, "ten turns are one dialogue"
    assert wait.value and wait.value > 0


def test_a_message_of_ones_own_is_a_dialogue_of_one_turn(tmp_path: Path) -> None:
    rows = pl.DataFrame({"user": ["I cannot sleep.", "My dog died."], "reply": ["I am sorry.", "That is hard."]})
    scores = mindgauge.rate(
        "conversations/risk", replies=rows, judge=talked.judge(), qualify=False, out=tmp_path / "run"
    )
    assert isinstance(scores, Scores)
    [worst] = scores.find("worst_turn")
    assert (worst.n, worst.value) == (2, 3)
    odd = rows.with_columns(pl.lit("dialogue").alias("tag.unit"))
    with pytest.raises(DataError, match="whole dialogues are rated with mindgauge rate conversations/risk --dialogues"):
        mindgauge.rate("conversations/risk", replies=odd, judge=talked.judge(), qualify=False, out=tmp_path / "odd")
