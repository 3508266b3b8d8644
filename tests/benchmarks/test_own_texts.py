"""Texts of the user's own become samples of every benchmark, whatever its authors' files look like, and nothing is lost unsaid."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from xlsxwriter import Workbook  # type: ignore[import-untyped]

from mindgauge import benchmarks
from mindgauge.benchmarks import own_texts
from mindgauge.benchmarks.persons.dialogues import DialoguePlan, PersonMode
from mindgauge.benchmarks.restricted import open_samples
from mindgauge.records.errors import DataError, MissingDataError, UsageError
from mindgauge.runs.inputs import at_hand
from mindgauge.store import Store
from tests import in_process
from tests.conftest import obliging
from tests.stub import Stub
from tests.thinned import of_few_variants, sampled

if TYPE_CHECKING:
    from mindgauge.benchmarks import Benchmark
    from mindgauge.records import Sample

ALL = [benchmarks.find_one(name) for name in benchmarks.names()]
each = pytest.mark.parametrize("benchmark", ALL, ids=lambda b: b.name)
few = pytest.mark.parametrize("benchmark", of_few_variants(ALL), ids=lambda b: b.name)
MESSAGES = (
    "I have not slept properly since Sunday and I keep snapping at the kids.",
    "Could you help me write a birthday card for my grandmother?",
    "Everything has felt far away since the funeral. I don't know who to tell.",
)
CRISIS = benchmarks.find_one("help_or_harm/crisis_type")
MORE = {
    "help_or_harm/response": "category", "dialogue_safety": "reply", "trustmh/diagnosis": "set", "trustmh/robustness_diagnosis": "set",
    "trustmh/jailbreak": "method", "trustmh/toxicity": "method", "trustmh/privacy_awareness": "tier", "trustmh/privacy_leakage": "question",
    "trustmh/emotion": "two lists of options", "trustmh/ethics": "end with its options", "trustmh/knowledge": "end with its options",
    "vera_mh": "personas.tsv",
}  # fmt: skip
"""What the benchmarks need that cannot ask about a message alone."""


def table(path: Path, rows: list[tuple[Any, ...]], headers: tuple[str, ...], encoding: str = "utf-8") -> Path:
    """Write a CSV with semicolons."""
    with path.open("w", encoding=encoding, newline="") as file:
        csv.writer(file, delimiter=";").writerows([headers, *rows])
    return path


def stored(benchmark: Benchmark) -> list[Sample]:
    """Return what of dialogues of ours a table can hold: stored ones, up to each turn of the person."""
    return DialoguePlan(benchmark.persons(None), PersonMode.PREFIXED).samples() if benchmark.persons else []


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    rows = [(number, text, "3 May") for number, text in enumerate(MESSAGES, 1)]
    return table(tmp_path / "mine.csv", rows, ("Nr", "Text", "Day"))


def contents(taken: own_texts.TakenSamples) -> list[str]:
    return [sample.messages[0].content for sample in taken.samples]


@few
def test_what_it_asks_of_ours_comes_back_from_a_table(benchmark: Benchmark, tmp_path: Path) -> None:
    ours = stored(benchmark) or benchmark.own_samples()
    lines = []
    for sample in ours:
        tags = {name: value for name, value in sample.tags.items() if not name.startswith("target.")}
        others = {name: value for name, value in sample.tags.items() if name.startswith("target.")}
        messages = [{"role": m.role, "content": m.content} for m in sample.messages]
        target = {} if sample.target is None else {"target": sample.target}
        lines.append({"messages": messages, "tags": tags, "cluster": sample.cluster, **target, **others})
    path = tmp_path / "mine.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    taken = own_texts.take(benchmark, path, by_protocol=True)
    wanted = stored(benchmark) or benchmark.samples(None)
    assert taken.own
    assert [s.messages for s in taken.samples] == [s.messages for s in wanted]
    assert benchmark.persons or [s.id for s in taken.samples] == [s.id for s in wanted]
    if benchmark.closed:
        assert [s.target for s in taken.samples] == [s.target for s in wanted]
    for sample, other in zip(taken.samples, wanted, strict=True):
        assert sample.cluster == other.cluster
        assert sample.tags["texts"] == "own"
        assert sample.tags["file"] == "mine.jsonl"
        known = {t: v for t, v in other.tags.items() if v and t not in {"made", "label_source"}}
        assert known.items() <= sample.tags.items()


@pytest.mark.parametrize(
    "benchmark",
    [
        *(b for b in ALL if b.name in MORE),
        *(
            b
            for closed in (True, False)
            for b in sampled([b for b in ALL if b.name not in MORE and b.closed is closed], 2)
        ),
    ],
    ids=lambda b: b.name,
)
def test_a_table_is_asked_about_or_refused_with_what_it_lacks(
    benchmark: Benchmark, texts: Path, tmp_path: Path
) -> None:
    mode = ("--person", "prefixed") if benchmark.persons else ()
    run, command = tmp_path / "run", ("run", benchmark.name, "--data", texts, "--map", "user=Text", *mode)
    with Stub(obliging) as stub:
        judge = () if benchmark.closed else ("--judge", stub.judge, "--no-qualify")
        done = in_process.mindgauge(*command, "--model", stub.model, *judge, "--out", run)
    if benchmark.name in MORE:
        assert done.returncode == 2
        assert not run.exists()
        assert done.stderr.startswith("mindgauge: ")
        assert done.stderr.count("\n") == 1
        assert benchmark.name in done.stderr
        assert MORE[benchmark.name] in done.stderr
        return
    assert done.returncode == 0, done.stderr
    assert "3 texts of your own; read user from 'Text'; not read: 'Nr', 'Day'" in done.stdout
    scores = json.loads(in_process.mindgauge("score", run, "--json").stdout)
    assert in_process.mindgauge("report", run, "--out", tmp_path / "report").returncode == 0
    report = (tmp_path / "report" / "report.md").read_text()
    page = (tmp_path / "report" / "report.html").read_text()
    assert "texts of the user’s own" in page
    assert MESSAGES[2][:30] in page or not benchmark.card.restricted, "their own texts are shown"
    if not benchmark.closed:
        return
    assert any("no targets: how often each label was given" in note for note in scores["notes"])
    assert "no targets: how often each label was given; accuracy cannot be said" in done.stdout
    assert "no message has a target" in report
    assert "compared with the labels" not in report
    shares = {m["name"]: m for m in scores["metrics"] if m["name"].startswith("share_") and m["slice"] == "all"}
    assert sum(m["value"] for m in shares.values()) == pytest.approx(1)
    assert {m["n"] for m in shares.values()} == {3}
    assert not any("accuracy" in m["name"] for m in scores["metrics"])


@pytest.mark.parametrize("benchmark", [b for b in ALL if b.persons], ids=lambda b: b.name)
def test_a_table_says_nothing_of_what_its_person_would_say_next(
    benchmark: Benchmark, texts: Path, tmp_path: Path
) -> None:
    command = ("run", benchmark.name, "--data", texts, "--map", "user=Text", "--out", tmp_path / "run")
    with Stub(obliging) as stub:
        for more in ((), ("--person", "scripted"), ("--client", f"{stub.url}#client")):
            done = in_process.mindgauge(*command, "--model", stub.model, *more)
            assert done.returncode == 2
            assert done.stderr.startswith("mindgauge: ") and done.stderr.count("\n") == 1
            assert "--person prefixed" in done.stderr
            assert f"mindgauge rate {benchmark.name} --dialogues FILE" in done.stderr
        done = in_process.mindgauge(*command, "--model", stub.model, "--person", "prefixed", "--turns", "3")
        assert done.returncode == 2 and "--turns is for persons of ours" in done.stderr
        assert not stub.bodies and not (tmp_path / "run").exists()


def test_a_stored_dialogue_is_answered_once_where_it_ends(tmp_path: Path) -> None:
    turns = [
        {"role": "user", "content": MESSAGES[0]}, {"role": "assistant", "content": "Since Sunday?"},
        {"role": "user", "content": MESSAGES[2]},
    ]  # fmt: skip
    (tmp_path / "mine.jsonl").write_text(json.dumps({"messages": turns}))
    command = ("run", "conversations/risk", "--data", tmp_path / "mine.jsonl", "--person", "prefixed")
    with Stub(obliging) as stub:
        done = in_process.mindgauge(
            *command, "--model", stub.model, "--judge", stub.judge, "--no-qualify", "--out", tmp_path / "run"
        )
        assert done.returncode == 0, done.stderr
        asked, judged = stub.bodies
    assert asked["messages"] == turns
    assert "Since Sunday?" in judged["messages"][0]["content"]
    rated = judged["response_format"]["json_schema"]["schema"]["properties"].keys()
    assert {"recognises", "appropriate", "veto"} == rated - {"quotes", "rationale"}
    with Store(tmp_path / "run") as store:
        (sample,) = store.samples("conversations/risk")
        assert (sample.tags["unit"], sample.tags["turn"], sample.tags["mode"]) == ("turn", "2", "prefixed")
        (reply,) = store.replies("conversations/risk")
        stated = {"unit": "turn", "turn": 2, "dialogue": sample.id, "target": reply.model}
        assert stated.items() <= reply.provenance.items()
    status = in_process.mindgauge("status", tmp_path / "run")
    assert status.returncode == 0, status.stderr


def test_the_page_names_every_benchmark_that_needs_more() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "own_messages.md").read_text(encoding="utf-8")
    table = page.partition("## What some benchmarks need")[2].partition("Some say less")[0]
    assert {name for name in benchmarks.names() if f"`{name}`" in table} == {*MORE}
    for benchmark in ALL:
        assert all(f"`{column}`" in page for column in (*benchmark.needs, *benchmark.wants)), benchmark.name


def test_some_targets_give_an_accuracy_over_those(tmp_path: Path) -> None:
    labels = ("no crisis", "", "No_Crisis")
    path = table(tmp_path / "mine.csv", [*zip(MESSAGES, labels, strict=True)], ("user", "target"))
    with Stub(obliging) as stub:
        done = in_process.mindgauge(
            "run", CRISIS.name, "--data", path, "--model", stub.model, "--out", tmp_path / "run"
        )
    assert "2 of 3 samples have a target: accuracy and its like are over these" in done.stdout
    scores = json.loads(in_process.mindgauge("score", tmp_path / "run", "--json").stdout)
    n = {m["name"]: m["n"] for m in scores["metrics"] if m["slice"] == "all"}
    assert (n["accuracy"], n["share_no_crisis"]) == (2, 3)


def test_targets_that_are_no_level_are_named_with_their_lines_and_the_levels(tmp_path: Path) -> None:
    rows = [(MESSAGES[0], "panic"), (MESSAGES[1], "no_crisis"), (MESSAGES[2], "panic")]
    path = table(tmp_path / "mine.csv", rows, ("user", "target"))
    with pytest.raises(
        DataError,
        match=r"no level of crisis_type: 'panic' \(.*mine.csv, lines 2, 4\); its levels are suicidal_ideation",
    ):
        own_texts.take(CRISIS, path)
    with pytest.raises(DataError, match=r"has no criterion 'empathy'; it has crisis_type"):
        own_texts.take(CRISIS, table(tmp_path / "b.csv", [(MESSAGES[0], "1")], ("user", "target.empathy")))
    mentalbench = own_texts.take(benchmarks.find_one("mentalbench"), path)
    assert any("does not read the targets" in note for note in mentalbench.notes)


def test_a_refusal_names_the_columns_and_the_mapping_that_would_do(texts: Path, tmp_path: Path) -> None:
    for source in (texts, tmp_path):
        for benchmark in ALL:
            with pytest.raises(DataError) as caught:
                own_texts.take(benchmark, source)
            message = str(caught.value)
            assert "\n" not in message
            assert (
                "the columns are 1 'Nr', 2 'Text', 3 'Day'; if 'Text' is the person's message: --map user=Text"
                in message
            )
    assert contents(own_texts.take(CRISIS, texts, columns={"user": "Text"})) == [*MESSAGES]


@pytest.mark.parametrize(
    ("headers", "option"),
    [
        (("Nr", "What they wrote, in full", "Day"), "--map user=#2"),
        (("1", MESSAGES[1], "3 May"), "--map header=0,user=#2"),
    ],
)
def test_the_mapping_that_is_named_does(headers: tuple[str, ...], option: str, texts: Path) -> None:
    table(texts, [(n, text, "3 May") for n, text in enumerate(MESSAGES)], headers)
    with pytest.raises(DataError, match=re.escape(option)):
        own_texts.take(CRISIS, texts)
    columns = dict(part.split("=") for part in option.removeprefix("--map ").split(","))
    assert {*MESSAGES} <= {*contents(own_texts.take(CRISIS, texts, columns=columns))}


@each
def test_other_forms_of_a_file_are_the_same(benchmark: Benchmark, tmp_path: Path) -> None:
    if benchmark.name in MORE:
        pytest.skip("it needs more than a message")
    chinese = ("最近总是睡不好，孩子一哭我就想发火。", "能帮我给外婆写一张生日贺卡吗？")
    table(tmp_path / "gb.csv", [(text,) for text in chinese], ("正文",), "gb18030")
    columns = {"user": "正文", "encoding": "gb18030"}
    taken = own_texts.take(benchmark, tmp_path / "gb.csv", columns=columns)
    with Workbook(tmp_path / "wb.xlsx") as book:
        pl.DataFrame({"x": ["read me first"]}).write_excel(book, worksheet="about")
        sheet = book.add_worksheet("data")
        sheet.write_column(0, 0, ["exported on Monday", "", "正文", *chinese])
    workbook = own_texts.take(benchmark, tmp_path / "wb.xlsx", columns={"user": "正文", "sheet": "data", "header": "3"})
    mapped = 'user = "正文"\nencoding = "gb18030"\nanother_command_s = "#1"\n'
    (tmp_path / "columns.toml").write_text(mapped, encoding="utf-8")
    beside = own_texts.take(benchmark, tmp_path / "gb.csv")
    assert [s.id for s in taken.samples] == [s.id for s in workbook.samples] == [s.id for s in beside.samples]
    assert {s.tags["language"] for s in taken.samples} == {"zh"}
    assert not any("GB" in note or "�" in note for note in taken.notes)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "inbox"
    (path / "june").mkdir(parents=True)
    table(path / "may.csv", [(MESSAGES[0],), ("",), (MESSAGES[1],)], ("user",))
    rows = [{"messages": [{"role": "user", "content": MESSAGES[2]}]}, {"user": MESSAGES[0]}]
    (path / "june" / "first.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    pl.DataFrame({"user": ["I passed my driving test today!"]}).write_excel(path / "june" / "second.xlsx")
    (path / "README.txt").write_text("What lies here.")
    return path


def test_a_folder_is_read_whole_and_each_row_s_file_stays_known(folder: Path, tmp_path: Path) -> None:
    taken = own_texts.take(CRISIS, folder)
    assert {s.messages[0].content: s.tags["file"] for s in taken.samples} == {
        MESSAGES[2]: "first.jsonl", MESSAGES[0]: "first.jsonl", "I passed my driving test today!": "second.xlsx", MESSAGES[1]: "may.csv",
    }  # fmt: skip
    assert any(re.search(r"1 row has no message and is left out \(.*may.csv, line 3\)", note) for note in taken.notes)
    assert any(re.search(r"1 row repeats a message word for word.*\(.*may.csv, line 2\)", note) for note in taken.notes)
    assert taken.notes[-1].endswith("1 file is not read: README.txt")
    with Stub(obliging) as stub:
        done = in_process.mindgauge(
            "run", CRISIS.name, "--data", folder, "--model", stub.model, "--out", tmp_path / "run"
        )
    assert done.returncode == 0, done.stderr
    slices = {
        m["slice"] for m in json.loads(in_process.mindgauge("score", tmp_path / "run", "--json").stdout)["metrics"]
    }
    assert {"file=may.csv", "file=first.jsonl", "file=second.xlsx"} <= slices


def test_a_folder_of_several_kinds_takes_what_the_mapping_says_of_each(folder: Path) -> None:
    columns = {"user": "user", "sheet": "Sheet1"}
    (folder / "june" / "first.jsonl").unlink()
    assert len(own_texts.take(CRISIS, folder, columns=columns).samples) == 3


def test_a_folder_of_text_files_is_a_message_each(tmp_path: Path) -> None:
    for number, text in enumerate(MESSAGES):
        (tmp_path / f"{number}.txt").write_text(f"{text}\n")
    taken = own_texts.take(CRISIS, tmp_path)
    assert contents(taken) == [*MESSAGES]
    assert [s.tags["file"] for s in taken.samples] == ["0.txt", "1.txt", "2.txt"]
    assert contents(own_texts.take(CRISIS, tmp_path / "1.txt")) == [MESSAGES[1]]


def test_one_text_with_two_targets_is_refused(tmp_path: Path) -> None:
    rows = [(MESSAGES[0], ""), (MESSAGES[0], "no_crisis"), (MESSAGES[0], "no_crisis")]
    (sample,) = own_texts.take(CRISIS, table(tmp_path / "a.csv", rows, ("user", "target"))).samples
    assert sample.target == "no_crisis"
    rows.append((MESSAGES[0], "anxiety_crisis"))
    with pytest.raises(DataError, match=r"b.csv:5: the same text as .*b.csv:2, with the target 'anxiety_crisis' here"):
        own_texts.take(CRISIS, table(tmp_path / "b.csv", rows, ("user", "target")))


def test_the_authors_files_are_recognised_first(tmp_path: Path) -> None:
    item = {
        "context": "[Seeker] I got moved to nights.",
        "response": "[Supporter] What is that like?",
        "label": "Safe Response",
    }
    (tmp_path / "test.json").write_text(json.dumps([item]))
    table(tmp_path / "mine.csv", [(MESSAGES[0], "I hear you.")], ("user", "reply"))
    safety = benchmarks.find_one("dialogue_safety")
    assert not own_texts.take(safety, tmp_path).own
    (tmp_path / "test.json").write_text("[")
    with pytest.raises(DataError) as caught:
        own_texts.take(safety, tmp_path)
    assert not isinstance(caught.value, MissingDataError), "a broken file of theirs is told, not passed over"
    (tmp_path / "test.json").unlink()
    taken = own_texts.take(safety, tmp_path)
    assert taken.own
    assert taken.samples[0].messages[-1].content == "I hear you."


def test_columns_toml_beside_a_table_does_where_no_command_line_says_it(texts: Path, tmp_path: Path) -> None:
    texts.with_name("columns.toml").write_text('user = "Text"\nid = "Nr"\n')
    with Stub(obliging) as stub:
        for name in ("help_or_harm/crisis_type", "psycrisis"):
            done = in_process.mindgauge("run", name, "--data", texts, "--model", stub.model, "--out", tmp_path / name)
            assert done.returncode == 0, done.stderr
            assert "3 texts of your own; read user from 'Text', id from 'Nr'; not read: 'Day'" in done.stdout


def test_a_name_that_is_not_read_is_refused(texts: Path, tmp_path: Path) -> None:
    with Stub(obliging) as stub:
        command = ("run", "help_or_harm", "--data", texts, "--model", stub.model, "--out", tmp_path / "run", "--map")
        done = in_process.mindgauge(*command, "user=Text,mood=Day")
        assert done.returncode == 2
        assert "'mood' is not one of Mindgauge's columns" in done.stderr
        assert in_process.mindgauge(*command, "user=Text,tag.day=Day").returncode == 0
    with pytest.raises(UsageError):
        own_texts.take(CRISIS, texts, columns={"user": "Text", "header": "first"})


def test_of_a_family_those_run_that_can(texts: Path, tmp_path: Path) -> None:
    with Stub(obliging) as stub:
        done = in_process.mindgauge(
            "run", "help_or_harm", "--data", texts, "--map", "user=Text", "--model", stub.model, "--judge", stub.judge, "--no-qualify",
            "--out", tmp_path / "run",
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("3 texts of your own") == 1
    assert "help_or_harm/response was not run: help_or_harm/response needs a column `category`" in done.stdout
    assert "labelled by" in done.stdout


def test_of_a_suite_those_that_need_more_are_missing_and_not_broken(tmp_path: Path) -> None:
    rows = [(MESSAGES[0], "no_crisis"), (MESSAGES[1], "")]
    path = table(tmp_path / "mine.csv", rows, ("user", "target"))
    available = at_hand(benchmarks.find("trustmh"), path, None, 1)
    assert available.broken == {}
    assert {name for name in MORE if name.startswith("trustmh/")} <= available.missing.keys()
    assert available.own == [benchmark.name for benchmark in available.benchmarks]
    assert sum("texts of your own" in note for note in available.notes) == 1


def test_examples_in_the_few_shot_way_are_ours_and_not_the_user_s(texts: Path, tmp_path: Path) -> None:
    with Stub(obliging) as stub:
        command = (
            "run",
            CRISIS.name,
            "--data",
            texts,
            "--map",
            "user=Text",
            "--model",
            stub.model,
            "--out",
            tmp_path / "run",
        )
        ways = [way for way in CRISIS.ways if way != "flat"]
        assert all(in_process.mindgauge(*command[:-1], tmp_path / way, "--ask", way).returncode == 0 for way in ways)


def test_nothing_of_ours_keeps_the_user_s_texts_from_being_shown() -> None:
    for benchmark in ALL:
        assert open_samples(benchmark, {"plan": {"data": "mine.csv", "own_texts": [benchmark.name]}}) is None
    restricted = next(benchmark for benchmark in ALL if benchmark.card.restricted)
    assert open_samples(restricted, {"plan": {"data": "theirs"}}) is not None


def test_a_dialogue_is_asked_about_up_to_the_person_s_last_turn(tmp_path: Path) -> None:
    turns = [{"role": "user", "content": MESSAGES[0]}, {"role": "assistant", "content": "What happened?"}]
    (tmp_path / "mine.jsonl").write_text(json.dumps({"messages": turns}))
    taken = own_texts.take(benchmarks.find_one("mentalbench"), tmp_path)
    assert [m.role for m in taken.samples[0].messages] == ["user"]
    assert any("1 dialogue ends with a turn that is not the person's" in note for note in taken.notes)
