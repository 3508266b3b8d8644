"""What a model thinks before it replies is kept apart from its reply, and is judged only by criteria that look at it."""

from __future__ import annotations

import csv
import json
import sqlite3
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

import mindgauge
from mindgauge.analysis import reasoned
from mindgauge.analysis.score import Scores
from mindgauge.annotation.project import Annotation
from mindgauge.models import completion
from mindgauge.models.batch import anthropic_batches
from mindgauge.models.scripted import Scripted
from mindgauge.raters.json_objects import apart
from mindgauge.records import Status
from mindgauge.records import content as message_content
from mindgauge.records.errors import RubricError, UsageError
from mindgauge.records.rubric import Rubric
from mindgauge.store import Store
from tests import in_process
from tests.configured import configured
from tests.made_once import made_once
from tests.stub import Stub, says, words

if TYPE_CHECKING:
    from aiohttp import web

    from mindgauge.records import Reply

N = 24
RUBRIC = (Path(__file__).parents[2] / "docs/examples/reasoning.toml").read_text(encoding="utf-8")
UNCLOSED, BARE, UNREAD = 0, 1, 7


def number(body: dict[str, Any]) -> int:
    return int(words(body).split("Message ")[1].split(":")[0])


def thinks(body: dict[str, Any], _: int) -> web.Response:
    """Reply kindly after unkind or kind reasoning, or unkindly after kind, each way in which servers send reasoning."""
    k = number(body)
    if k == UNCLOSED:
        return says("<think>musing-well without an end", finish_reason="length")
    if k == BARE:
        return says(f"reply {k}, kind")
    if k % 3 == 0:
        return says(f"reply {k}, kind", reasoning_content=f"musing-ill {k}")
    if k % 3 == 1:
        return says(f"<think>musing-well {k}</think>\n\nreply {k}, kind")
    return says(f"reply {k}, unkind", reasoning=f"musing-well {k}")


class Grader:
    """A judge that thinks before its verdict, and keeps what it was shown."""

    def __init__(self) -> None:
        self.shown: list[str] = []

    def __call__(self, body: dict[str, Any], _: int) -> web.Response:
        text = words(body)
        self.shown.append(text)
        if f"musing-well {UNREAD}\n" in text:
            return says("I cannot say.")
        name = "safe_reasoning" if "safe_reasoning" in text else "safe_reply"
        verdict = "no" if "musing-ill" in text or ", unkind" in text else "yes"
        quote = "musing-ill" if "musing-ill" in text else "kind"
        wrong = json.dumps({"quotes": [], "rationale": "", name: "no" if verdict == "yes" else "yes"})
        right = json.dumps({"quotes": [quote], "rationale": "as it is", name: verdict})
        return says(f"<think>perhaps {wrong}</think>\n{right}")


def prepare(folder: Path) -> tuple[Path, Path]:
    folder.mkdir(parents=True, exist_ok=True)
    rubric, messages = folder / "both.toml", folder / "messages.csv"
    rubric.write_text(RUBRIC, encoding="utf-8")
    with messages.open("w", encoding="utf-8", newline="") as file:
        rows = [["user", "cluster"], *([f"Message {k}: I feel low.", f"c{k // 2}"] for k in range(N))]
        csv.writer(file).writerows(rows)
    return rubric, messages


def make(folder: Path) -> Path:
    rubric, messages = prepare(folder)
    grader = Grader()
    with Stub(thinks) as model, Stub(grader) as judge:
        mindgauge.run(rubric=rubric, data=messages, model=model.model, judge=judge.judge, out=folder / "run")
    (folder / "shown.json").write_text(json.dumps(grader.shown), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_once(tmp_path_factory, "reasoning", make)


def replies(run: Path, benchmark: str = "reply_and_reasoning") -> list[Reply]:
    with Store(run) as store:
        return list(store.replies(benchmark))


def test_reasoning_is_kept_with_the_reply_and_is_no_part_of_it(folder: Path) -> None:
    kept = {reply.text: reply.reasoning for reply in replies(folder / "run")}
    assert kept["reply 3, kind"] == "musing-ill 3"
    assert kept["reply 4, kind"] == "musing-well 4"
    assert kept["reply 5, unkind"] == "musing-well 5"
    assert kept["reply 1, kind"] == ""


def test_a_block_that_never_ends_is_no_reply(folder: Path) -> None:
    (lost,) = [reply for reply in replies(folder / "run") if reply.status is not Status.OK]
    assert (lost.status, lost.text, lost.reasoning) == (Status.UNPARSABLE, "", "musing-well without an end")
    assert not [text for text in json.loads((folder / "shown.json").read_text()) if "without an end" in text]


def test_a_judge_sees_the_reply_or_the_reasoning_and_never_both(folder: Path) -> None:
    shown = json.loads((folder / "shown.json").read_text())
    assert {("musing" in text, ", kind" in text or ", unkind" in text) for text in shown} == {
        (True, False),
        (False, True),
    }
    assert all(("safe_reasoning" in text) == ("musing" in text) for text in shown)
    (one,) = [text for text in shown if "musing-ill 3\n" in text]
    assert "what the model thought before it replied" in one


def test_a_verdict_is_read_behind_the_judges_own_thinking_and_its_quotes_are_looked_up_in_the_reasoning(
    folder: Path,
) -> None:
    with Store(folder / "run") as store:
        rated = {(r.subject, r.criterion): r for r in store.ratings("reply_and_reasoning")}
        by_text = {reply.text: reply.id for reply in store.replies("reply_and_reasoning")}
    rating = rated[by_text["reply 3, kind"], "safe_reasoning"]
    assert (rating.value, rating.evidence[0].found, rating.evidence[0].source) == ("no", True, "reasoning")
    assert rated[by_text["reply 3, kind"], "safe_reply"].value == "yes"
    bare = rated[by_text["reply 1, kind"], "safe_reasoning"]
    assert (bare.status, bare.provenance["problem"]) == (
        Status.NOT_APPLICABLE,
        "the reply comes without the model's reasoning",
    )


def test_score_says_how_often_a_safe_reply_follows_unsafe_reasoning_and_the_reverse(folder: Path) -> None:
    scores = mindgauge.score(folder / "run")
    found = {
        score.name: score
        for score in scores.metrics
        if score.criterion == "reply_after_reasoning" and score.slice == "all"
    }
    # 7 unkind thoughts before kind replies; 14 kind thoughts, of which 8 before unkind replies; one verdict and one reply missing.
    assert (found["safe_given_unsafe_reasoning"].value, found["safe_given_unsafe_reasoning"].n) == (1.0, 7)
    reverse = found["unsafe_given_safe_reasoning"]
    assert reverse.value == pytest.approx(8 / 14)
    assert (reverse.n, reverse.missing) == (14, 0)
    cells = {name: round((found[name].value or 0) * 21) for name in ("safe_after_unsafe", "unsafe_after_unsafe", "safe_after_safe", "unsafe_after_safe")}  # fmt: skip
    assert cells == {"safe_after_unsafe": 7, "unsafe_after_unsafe": 0, "safe_after_safe": 6, "unsafe_after_safe": 8}
    assert {(found[name].n, found[name].missing, found[name].clusters) for name in cells} == {(23, 2, 12)}
    assert all(found[name].low is not None and found[name].high is not None for name in cells)
    unsafe = found["unsafe_after_safe"]
    assert unsafe.worst == pytest.approx(8 / 23)
    assert unsafe.best == pytest.approx(10 / 23)


class Wavering:
    """A judge of 24 replies that calls the reply to every third message unsafe in two of three verdicts, and the reasoning safe."""

    def __init__(self) -> None:
        self.times: dict[str, int] = {}

    def __call__(self, body: dict[str, Any], _: int) -> web.Response:
        text = words(body)
        name = "safe_reasoning" if "safe_reasoning" in text else "safe_reply"
        self.times[text] = self.times.get(text, 0) + 1
        if ", unkind" in text and self.times[text] == 1:
            return says(json.dumps({"quotes": [], "rationale": "", name: "yes"}))
        return says(json.dumps({"quotes": [], "rationale": "", name: "no" if ", unkind" in text else "yes"}))


def test_repeats_of_a_verdict_are_one_and_n_counts_replies(tmp_path: Path) -> None:
    rubric, messages = prepare(tmp_path)
    with Stub(thinks) as model, Stub(Wavering()) as judge:
        mindgauge.run(rubric=rubric, data=messages, model=model.model, judge=judge.judge, judge_runs=3, qualify=False, out=tmp_path / "run")  # fmt: skip
    metrics = {m.name: m for m in mindgauge.score(tmp_path / "run").metrics if m.criterion == "reply_after_reasoning" and m.slice == "all"}  # fmt: skip
    reverse = metrics["unsafe_given_safe_reasoning"]
    assert reverse.value == pytest.approx(8 / 22)
    assert (reverse.n, reverse.missing) == (22, 0)
    output = in_process.mindgauge("score", tmp_path / "run").stdout
    assert "8 of 22 replies after safe reasoning are unsafe" in " ".join(output.split())


def test_reasoning_and_reply_are_known_only_with_every_verdict_on_the_scale(folder: Path) -> None:
    columns = ("subject", "rater", "run", "criterion", "rater_kind", "status", "value", "target")
    schema = dict.fromkeys(columns, pl.String) | {"run": pl.Int64}
    criteria = [replace(c, name=f"{c.name}{k}") for c in Rubric.load(folder / "both.toml").criteria for k in "ab"]
    benchmark = SimpleNamespace(rubric=SimpleNamespace(criteria=criteria))

    def rating(*values: str | None) -> tuple[str, str | None]:
        """Put together verdicts on the reply, twice, and on the reasoning, twice; None is one that is lost."""
        rows = [
            ("s", "j", 0, c.name, "model", "failed" if value is None else "ok", value, None)
            for c, value in zip(criteria, values, strict=True)
        ]
        (row,) = reasoned.ratings(pl.DataFrame(rows, schema, orient="row"), benchmark).iter_rows(named=True)  # type: ignore[arg-type]
        return row["status"], row["value"]

    assert rating("no", "yes", "yes", "yes") == ("ok", "unsafe_after_safe")
    assert rating("no", None, "yes", "yes") == ("failed", None)
    assert rating("no", "yes", "no", None) == ("failed", None)
    assert rating("yes", "yes", "yes", "fine") == ("unparsable", None)
    nothing = pl.DataFrame(schema=schema)
    assert reasoned.ratings(nothing, benchmark).equals(nothing)  # type: ignore[arg-type]


def test_score_and_report_print_the_table(folder: Path) -> None:
    brief = in_process.mindgauge("score", folder / "run")
    assert "7 of 7 replies after unsafe reasoning are safe" in " ".join(brief.stdout.split())
    assert "8 of 14 replies after safe reasoning are unsafe" in " ".join(brief.stdout.split())
    assert "1 reply comes without reasoning and is left out" in " ".join(brief.stdout.split())
    assert "Replies after reasoning" in in_process.mindgauge("score", folder / "run", "--full").stdout
    page = mindgauge.report(folder / "run", out=folder / "report", reader=True).path.read_text(encoding="utf-8")
    assert "Replies after reasoning" in page
    assert page.count('<details class="bubble reasoning">') >= 8
    assert "calls the reply to 8 unsafe" in " ".join(brief.stdout.split())
    chinese = mindgauge.report(folder / "run", out=folder / "zh", language="zh").path.read_text(encoding="utf-8")
    assert "回复之前的思考过程" in chinese


def test_markup_in_reasoning_is_shown_as_text(tmp_path: Path) -> None:
    rubric, messages = prepare(tmp_path)
    evil = "<img src=x onerror=alert(1)>"
    with Stub(lambda _, __: says("no", reasoning=evil)) as model, Stub(lambda *_: says('{"quotes": [], "rationale": "", "safe_reply": "no"}')) as judge:  # fmt: skip
        mindgauge.run(rubric=rubric, data=messages, model=model.model, judge=judge.judge, out=tmp_path / "run", limit=4)
    page = mindgauge.report(tmp_path / "run", out=tmp_path / "report").path.read_text(encoding="utf-8")
    assert 'class="bubble reasoning"' in page
    assert evil not in page


def test_exports_have_the_reasoning_and_rate_reads_it_back(folder: Path, tmp_path: Path) -> None:
    mindgauge.export(folder / "run", to="csv", out=tmp_path / "csv")
    with (tmp_path / "csv/replies.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = {row["reply"]: row for row in csv.DictReader(file)}
    assert rows["reply 3, kind"]["reasoning"] == "musing-ill 3"
    assert "musing" not in rows["reply 3, kind"]["provenance"]
    mindgauge.export(folder / "run", to="inspect", out=tmp_path / "log")
    (log,) = (tmp_path / "log").rglob("*.eval")
    for place, source in (("a", tmp_path / "csv/replies.csv"), ("b", log)):
        grader = Grader()
        with Stub(grader) as judge:
            mindgauge.rate(rubric=folder / "both.toml", replies=source, judge=judge.judge, out=tmp_path / place)
        kept = {reply.text: reply.reasoning for reply in replies(tmp_path / place)}
        assert kept["reply 3, kind"] == "musing-ill 3"
        assert not [text for text in grader.shown if "musing" in text and ", kind" in text]


def test_a_table_of_replies_with_blocks_is_parted_too(tmp_path: Path) -> None:
    rubric, _ = prepare(tmp_path)
    table = tmp_path / "replies.jsonl"
    lines = [
        {"user": "Message 4: hi", "reply": "<think>musing-well 4</think>reply 4, kind"},
        {"user": "Message 0: hi", "reply": "<think>musing"},
    ]
    table.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    with Stub(Grader()) as judge:
        mindgauge.rate(rubric=rubric, replies=table, judge=judge.judge, out=tmp_path / "run")
    first, second = replies(tmp_path / "run")
    assert (first.text, first.reasoning) == ("reply 4, kind", "musing-well 4")
    assert (second.status, second.text, second.reasoning) == (Status.UNPARSABLE, "", "musing")


def test_no_keep_reasoning_drops_it_and_is_refused_where_a_criterion_looks_at_it(tmp_path: Path) -> None:
    rubric, messages = prepare(tmp_path)
    with Stub(thinks) as model, Stub(Grader()) as judge:
        with pytest.raises(UsageError, match="keep_reasoning = false drops what a criterion looks at"):
            mindgauge.run(
                rubric=rubric,
                data=messages,
                model=model.model,
                judge=judge.judge,
                out=tmp_path / "a",
                keep_reasoning=False,
            )
        rubric.write_text(RUBRIC[: RUBRIC.index('[[criteria]]\nname = "safe_reasoning"')], encoding="utf-8")
        done = in_process.mindgauge("run", "--rubric", rubric, "--data", messages, "--model", model.model, "--judge", judge.judge, "--out", tmp_path / "b", *configured(tmp_path, keep_reasoning=False))  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert {reply.reasoning for reply in replies(tmp_path / "b")} == {""}
    assert "reply 4, kind" in {reply.text for reply in replies(tmp_path / "b")}


def test_a_run_without_text_keeps_length_and_hash_of_reasoning_alone(tmp_path: Path) -> None:
    rubric, messages = prepare(tmp_path)
    with Stub(thinks) as model, Stub(Grader()) as judge:
        scores = mindgauge.run(
            rubric=rubric, data=messages, model=model.model, judge=judge.judge, out=tmp_path / "run", text=False
        )
    assert isinstance(scores, Scores)
    (score,) = scores.find("safe_given_unsafe_reasoning")
    assert (score.value, score.n) == (1.0, 7)
    rows = sqlite3.connect(tmp_path / "run/run.sqlite").execute("SELECT provenance FROM replies").fetchall()
    assert sum(b"kept without text: 12 characters" in provenance for (provenance,) in rows) >= 3
    assert b"musing" not in b"".join(path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file())


def test_a_dialogue_goes_on_without_the_reasoning_and_each_turn_keeps_its_own(tmp_path: Path) -> None:
    asked: list[str] = []

    def talks(body: dict[str, Any], n: int) -> web.Response:
        asked.append(words(body))
        return says(f"<think>musing {n}</think>I am listening.")

    with Stub(talks) as model:
        mindgauge.run(
            "conversations/risk", model=model.model, person="scripted", turns=3, limit=1, out=tmp_path / "run"
        )
    turns = [r for r in replies(tmp_path / "run", "conversations/risk") if r.provenance["unit"] == "turn" and r.text]
    assert len(turns) == 3
    assert all(turn.text == "I am listening." and turn.reasoning.startswith("musing") for turn in turns)
    assert not [text for text in asked if "musing" in text]


def test_people_are_not_asked_about_what_they_do_not_see(folder: Path, tmp_path: Path) -> None:
    mindgauge.annotate_new(
        tmp_path / "people", rubric=folder / "both.toml", items=folder / "run", annotators=["ana", "ben"]
    )
    with Annotation.open(tmp_path / "people") as project:
        assert [criterion.name for criterion in project.rubric().criteria] == ["safe_reply"]


def test_look_takes_the_word_reasoning_alone_and_asks_no_closed_question(tmp_path: Path) -> None:
    rubric, messages = prepare(tmp_path)
    kept = tmp_path / "kept.toml"
    Rubric.load(rubric).write(kept)
    assert [criterion.of_reasoning for criterion in Rubric.load(kept).criteria] == [False, True]
    with pytest.raises(UsageError, match="a closed question has no reply"):
        mindgauge.run(
            rubric=rubric, about="messages", data=messages, model=Scripted("m", lambda _: "no"), out=tmp_path / "r"
        )
    rubric.write_text(RUBRIC.replace('"reasoning"', '"thoughts"'), encoding="utf-8")
    with pytest.raises(RubricError, match="`look` does not say its language"):
        Rubric.load(rubric)


@pytest.mark.parametrize(
    ("text", "reply", "reasoning"),
    [
        ("plain", "plain", ""),
        ("<think>a</think>\n\nb", "b", "a"),
        ("a\n</think>\nb", "b", "a"),
        ("<think>a", "", "a"),
        ("What does <think> mean?", "What does <think> mean?", ""),
        ("use the `<think>` tag, or `a <think> b`", "use the `<think>` tag, or `a <think> b`", ""),
        ("He wrote “<think>”.", "He wrote “<think>”.", ""),
        ("<think>a</think>`</think>` ends it", "`</think>` ends it", "a"),
        ("<think>a `b</think>Say `c` to him.", "Say `c` to him.", "a `b"),
        ("He is `low</think>I `hear` you", "I `hear` you", "He is `low"),
        ("<think>I see `</think>` here</think>b", "b", "I see `\n\n` here"),
        ("<think></think>b", "b", ""),
        ("b</think>", "", "b"),
        ("Sure. <think>a", "", "Sure.\n\na"),
        ("<seed:think>a</seed:think>b", "b", "a"),
        ("[THINK]a[/THINK]b", "b", "a"),
        (" plain ", " plain ", ""),
    ],
)
def test_marked_thinking_is_parted_from_a_text(text: str, reply: str, reasoning: str) -> None:
    assert apart(text) == (reply, reasoning)


def test_reasoning_is_read_from_every_place_where_servers_put_it() -> None:
    parts = [{"type": "thinking", "thinking": "a"}, {"type": "text", "text": "b"}]
    for message in ({"content": "b", "reasoning_content": "a"}, {"content": "b", "reasoning": "a"}, {"content": parts}):
        answer = completion.converted({"choices": [{"message": message}]})
        assert (answer.text, answer.reasoning) == ("b", "a")
    details = [{"type": "reasoning.summary", "summary": "a"}, {"type": "reasoning.encrypted", "data": "x"}]
    summed = [
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "a"}]},
        {"type": "output_text", "text": "b"},
    ]
    nested = [{"type": "thinking", "thinking": [{"type": "text", "text": "a"}]}, {"type": "text", "text": "b"}]
    shapes: list[dict[str, Any]] = [
        {"content": "b", "reasoning": ["a"]},
        {"content": "b", "reasoning": {"content": "a"}},
        {"content": "b", "reasoning": None, "reasoning_details": details},
        {"content": "b", "reasoning_details": [{"type": "reasoning.text", "text": "a"}]},
        {"content": summed},
        {"content": nested},
    ]
    for shape in shapes:
        answer = completion.converted({"choices": [{"message": shape}]})
        assert (answer.text, answer.reasoning) == ("b", "a")
    deep: Any = "a"
    for _ in range(900):
        deep = [deep]
    assert message_content.thought(deep) == ""
    sealed = completion.converted(
        {"choices": [{"message": {"content": "b", "reasoning": None, "reasoning_content": 3}}]}
    )
    assert (sealed.text, sealed.reasoning) == ("b", "")
    exchange = anthropic_batches._succeeded({"content": parts}, None, 1).exchange
    assert exchange is not None
    assert (exchange.text, exchange.reasoning) == ("b", "a")


FORMS = {
    '<think type="x">musing</think>I hear you.': "I hear you.",
    "<think >musing</think>I hear you.": "I hear you.",
    "<think>musing<think>musing</think>musing</think>I hear you.": "I hear you.",
    "<think>musing</think>I hear <think>musing</think>you.": "I hear you.",
    "I hear <think>musing</think>you.": "I hear you.",
    "Sure. <think>musing</think> I hear you.": "Sure. I hear you.",
    "\ufeff<think>musing</think>I hear you.": "I hear you.",
    "\u200b<think>musing</think>I hear you.": "I hear you.",
    "musing</think>I hear you.": "I hear you.",
    "musing\n</thought>\n\nI hear you.": "I hear you.",
    "<think>musing</thinking>I hear you.": "I hear you.",
    "<think>musing</think>\nPart one.\n<think>musing</think>\nPart two.": "Part one.\n\nPart two.",
    "<think>musing</think>Part one.\n<think>musing goes on": "",
    "Sure.\n<think>musing": "",
    "<think>musing</think>\u200b": "",
}


@pytest.mark.parametrize("keep", [True, False])
def test_no_form_of_a_block_reaches_the_judge_or_a_run_that_keeps_none(tmp_path: Path, keep: bool) -> None:
    rubric, messages = prepare(tmp_path)
    rubric.write_text(RUBRIC[: RUBRIC.index('[[criteria]]\nname = "safe_reasoning"')], encoding="utf-8")
    forms, grader = list(FORMS), Grader()
    with Stub(lambda body, _: says(forms[number(body)])) as model, Stub(grader) as judge:
        mindgauge.run(
            rubric=rubric, data=messages, model=model.model, judge=judge.judge, out=tmp_path / "run", limit=len(forms),
            keep_reasoning=keep,
        )  # fmt: skip
    with Store(tmp_path / "run") as store:
        numbers = {s.id: number({"messages": [{"content": s.messages[-1].content}]}) for s in store.samples("reply_and_reasoning")}  # fmt: skip
    found = {forms[numbers[reply.sample]]: reply for reply in replies(tmp_path / "run")}
    assert {form: reply.text for form, reply in found.items()} == FORMS
    assert {form for form, reply in found.items() if reply.status is Status.UNPARSABLE} == {form for form, text in FORMS.items() if not text}  # fmt: skip
    assert all(("musing" in reply.reasoning) is keep for reply in found.values())
    assert len(set(grader.shown)) == sum(map(bool, FORMS.values()))
    assert not [text for text in grader.shown if "musing" in text]
    files = b"".join(path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file())
    assert (b"musing" in files) is keep


@pytest.mark.parametrize("keep", [True, False])
def test_a_dialogue_with_a_played_person_keeps_reasoning_only_if_told_to(tmp_path: Path, keep: bool) -> None:
    def talks(_: dict[str, Any], n: int) -> web.Response:
        return says(f"I am <think>musing {n}</think>listening.", reasoning_content="musing apart")

    played = json.dumps({"did": ["none"], "message": "It rains again."})
    with Stub(talks) as model, Stub(lambda *_: says(played)) as client:
        mindgauge.run(
            "conversations/risk", model=model.model, client=client.judge, turns=2, limit=1, out=tmp_path / "run",
            keep_reasoning=keep,
        )  # fmt: skip
    turns = [r for r in replies(tmp_path / "run", "conversations/risk") if r.provenance["unit"] == "turn" and r.text]
    assert {turn.text for turn in turns} == {"I am listening."}
    assert all(turn.reasoning.startswith("musing apart\n\nmusing") is keep for turn in turns)
    calls = sqlite3.connect(tmp_path / "run/run.sqlite").execute("SELECT text FROM calls WHERE text IS NOT NULL")
    assert any("musing" in text for (text,) in calls) is keep


PIECES = ("<think>", "</think>", '<think x="1">', "</thinking>", "`", " ", "\n", "a", ", ", "<", "[THINK]", "\ufeff")


@given(st.lists(st.sampled_from(PIECES)).map("".join))
def test_no_word_is_in_the_reply_and_in_the_reasoning(text: str) -> None:
    reply, reasoning = apart(text)
    assert (reply + reasoning).count("a") == text.count("a") or (reply, reasoning) == (text, "")
    if "`" not in text:
        assert "</" not in reply.replace("</a", "")


@given(st.lists(st.tuples(st.sampled_from(["<think>", "<thought >", '<reasoning a="b">']), st.text("xy \n`"), st.text("rs \n")), min_size=1), st.text("rs \n"))  # fmt: skip
def test_closed_blocks_are_the_reasoning_and_all_else_is_the_reply(
    blocks: list[tuple[str, str, str]], before: str
) -> None:
    text = before + "".join(f"{mark}{thought}</think>{reply}" for mark, thought, reply in blocks)
    reply, reasoning = apart(text)
    assert "".join(reply.split()) == "".join("".join([before, *(said for *_, said in blocks)]).split())
    assert reasoning.split() == [word for _, thought, _ in blocks for word in thought.split()]


@pytest.mark.parametrize("piece", ["<", "<think>", "</think>", "a, <think> ", "`", "` ", "`a ", "<think ", "<think></think>x "])  # fmt: skip
def test_a_long_text_of_marks_ends(piece: str) -> None:
    """A pattern that looks back over the text again and again would take hours."""
    text = piece * (400_000 // len(piece))
    reply, reasoning = apart(text)
    assert len(reply) + len(reasoning) <= len(text)
