"""No judge rates what its own family wrote, unless it is said that it may; the run keeps that, and the report tells it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

import mindgauge
from mindgauge.analysis.score import Scores
from mindgauge.cli import app
from mindgauge.models.scripted import Scripted
from mindgauge.records.errors import UsageError
from mindgauge.reports.page import write
from mindgauge.runs.forecast import DryRun
from mindgauge.store import Store, manifest
from tests.conftest import obliging
from tests.pages import text_of
from tests.stub import Stub
from tests.thinned import later

if TYPE_CHECKING:
    from pathlib import Path

    from mindgauge.records.request import Request

OPEN, CLOSED = "help_or_harm/response", "dialogue_safety"
KIND = "openai/o4-mini"
ALLOWED = "that was allowed with --own-family"


class Judge(Scripted):
    """Gives every reply a 3, every dialogue the first label; writes one line; counts its calls."""

    def __init__(self, name: str = KIND) -> None:
        super().__init__(name, self.say)
        self.calls = 0

    def say(self, request: Request) -> str:
        self.calls += 1
        if request.schema is None:
            return "I hear you."
        return json.dumps({"quotes": [], "rationale": "r", "appropriateness": 3, "category": "Safe Response"})


def replies(path: Path, *models: str | None, text: str = "I hear you.") -> Path:
    rows = [
        {"user": f"I feel low ({i})", "reply": text, "category": "no_crisis", **({} if m is None else {"model": m})}
        for m in models
        for i in range(3)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_run_is_refused_before_any_call_and_leaves_nothing(tmp_path: Path) -> None:
    judge = Judge()
    for model in (Judge("gpt-4o"), judge):
        for dry_run in (False, True):
            with pytest.raises(UsageError, match=r"openai/o4-mini would judge 14 of .* add --own-family"):
                mindgauge.run(OPEN, model=model, judge=judge, limit=7, runs=2, out=tmp_path / "r", dry_run=dry_run)
    with pytest.raises(UsageError, match="14 of its own replies"):
        mindgauge.run(OPEN, model=judge, judge=judge, limit=7, runs=2, out=tmp_path / "r")
    with pytest.raises(UsageError, match="14 of replies of its own family, by gpt-4o, and"):
        mindgauge.run(
            OPEN, model=[Judge("gpt-4o"), Judge("claude-3")], judge=judge, limit=7, runs=2, out=tmp_path / "r"
        )
    assert judge.calls == 0
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize(
    ("model", "judge"),
    [
        later("http://127.0.0.1:{a}/v1#bot", "http://127.0.0.1:{a}/v1#bot"),
        ("http://127.0.0.1:{a}/v1#bot", "http://localhost:{a}/v1/#bot"),
        ("http://127.0.0.1:{a}/v1,http://127.0.0.1:{b}/v1#bot", "http://localhost:{b}/v1#bot"),
        later("openai/bot", "http://localhost:{a}/v1#bot"),
    ],
    ids=["the same words", "written otherwise", "one of several servers", "a provider's name"],
)
def test_the_very_same_model_is_its_own_family_whatever_it_is_called(
    model: str, judge: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Stub(obliging) as a, Stub(obliging) as b:
        monkeypatch.setenv("OPENAI_BASE_URL", a.url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
        named: dict[str, Any] = {"model": model.format(a=a.port, b=b.port), "judge": judge.format(a=a.port, b=b.port)}
        with pytest.raises(UsageError, match=r"would judge 7 of its own replies.* add --own-family"):
            mindgauge.run(OPEN, limit=7, out=tmp_path / "r", **named)
        assert a.calls + b.calls == 0
        mindgauge.run(OPEN, limit=7, out=tmp_path / "r", own_family=True, **{**named, "judge": named["model"]})
        assert manifest.read(tmp_path / "r")["own_family"]
        other = named["judge"].replace("#bot", "#other")
        mindgauge.run(OPEN, limit=7, out=tmp_path / "s", model=named["model"], judge=other)
    assert "may favour it" in write([tmp_path / "r"]).markdown.read_text(encoding="utf-8")
    assert "may favour it" not in write([tmp_path / "s"]).markdown.read_text(encoding="utf-8")


def test_replies_of_a_file_by_the_judge_itself_are_its_own(tmp_path: Path) -> None:
    path = replies(tmp_path / "replies.jsonl", "http://localhost:9/v1#bot")
    with pytest.raises(UsageError, match=r"would judge 3 of its own replies \(of http://localhost:9/v1#bot"):
        mindgauge.rate(OPEN, replies=path, judge="http://127.0.0.1:9/v1#bot", out=tmp_path / "r")


def test_a_closed_question_has_no_judge_to_refuse(tmp_path: Path) -> None:
    judge = Judge()
    found = mindgauge.run("help_or_harm/crisis_type", model=judge, judge=judge, limit=7, out=tmp_path / "r")
    assert isinstance(found, Scores)
    assert "own_family" not in manifest.read(tmp_path / "r")


def test_the_override_stands_beside_the_plan_and_in_the_report(tmp_path: Path) -> None:
    judge, other = Judge(), Judge("claude-sonnet-4")
    given: dict[str, Any] = {"model": Judge("gpt-4o"), "limit": 7}
    mindgauge.run(OPEN, judge=[judge, other], out=tmp_path / "kin", own_family=True, **given)
    kept = manifest.read(tmp_path / "kin")
    assert kept["own_family"] == {KIND: ["gpt-4o"]}
    assert "own_family" not in kept["plan"]
    page = write([tmp_path / "kin"]).path.read_text(encoding="utf-8")
    assert (
        f"The judge {KIND} (of its family) may favour it, as models tend to favour their own kind; {ALLOWED}." in page
    )
    assert page.count(f"--own-family allowed {KIND} to judge replies of its own family, by gpt-4o;") == 1
    calls = judge.calls
    mindgauge.run(OPEN, judge=[judge, other], out=tmp_path / "kin", own_family=True, **given)
    assert judge.calls == calls, "the same command goes on with the same run"
    mindgauge.run(OPEN, judge=other, out=tmp_path / "strangers", own_family=True, **given)
    assert "own_family" not in manifest.read(tmp_path / "strangers"), "nothing had to be allowed"
    assert "--own-family" not in write([tmp_path / "strangers"]).path.read_text(encoding="utf-8")


def test_rate_counts_replies_by_model_and_not_what_is_unknown_or_empty(tmp_path: Path) -> None:
    judge, path = Judge(), replies(tmp_path / "replies.jsonl", "gpt-4o", "chatgpt-4o-latest", "claude-3", None, "")
    with pytest.raises(
        UsageError, match=r"would judge 6 of replies of its own family, by chatgpt-4o-latest, gpt-4o, and"
    ):
        mindgauge.rate(OPEN, replies=path, judge=judge, out=tmp_path / "r")
    assert not (tmp_path / "r").exists()
    assert judge.calls == 0
    empty = replies(tmp_path / "empty.jsonl", "gpt-4o", text=" ")
    mindgauge.rate(OPEN, replies=empty, judge=judge, out=tmp_path / "e")
    assert judge.calls == 0, "what was never said is not judged"
    mindgauge.rate(OPEN, replies=path, judge=["rule/refusal", Judge("claude-x")], out=tmp_path / "r", own_family=True)
    assert manifest.read(tmp_path / "r")["own_family"] == {"claude-x": ["claude-3"]}


def test_rate_of_a_run_refuses_a_further_judge_and_notes_who_was_allowed(tmp_path: Path) -> None:
    path = replies(tmp_path / "replies.jsonl", "gpt-4o")
    mindgauge.rate(OPEN, replies=path, judge=Judge("claude-x"), out=tmp_path / "r")
    before = manifest.read(tmp_path / "r")
    with pytest.raises(UsageError, match="would judge 3 of replies of its own family, by gpt-4o"):
        mindgauge.rate(OPEN, replies=tmp_path / "r", judge=Judge())
    assert manifest.read(tmp_path / "r") == before
    mindgauge.rate(OPEN, replies=tmp_path / "r", judge=Judge(), method=["rule", "general"], own_family=True)
    mindgauge.rate(OPEN, replies=tmp_path / "r", judge=Judge("gpt-5"), own_family=True)
    after = manifest.read(tmp_path / "r")
    assert after["own_family"] == {KIND: ["gpt-4o"], "gpt-5": ["gpt-4o"]}
    assert [noted["judges"] for noted in after["rated"]] == [[KIND], ["gpt-5"]]
    page = write([tmp_path / "r"]).path.read_text(encoding="utf-8")
    assert f"{KIND} (general) (of its family)" in page
    assert ALLOWED in page


def test_rate_by_a_closed_question_refuses_kin_too(tmp_path: Path) -> None:
    path, judge = replies(tmp_path / "logs.jsonl", "gpt-4o", "claude-3"), Judge()
    with pytest.raises(UsageError, match="would judge 3 of replies of its own family, by gpt-4o"):
        mindgauge.rate(CLOSED, replies=path, judge=judge, out=tmp_path / "r")
    mindgauge.rate(CLOSED, replies=path, judge=judge, out=tmp_path / "r", own_family=True)
    assert manifest.read(tmp_path / "r")["own_family"] == {KIND: ["gpt-4o"]}
    assert f"--own-family allowed {KIND} to judge" in text_of(write([tmp_path / "r"]).path.read_text(encoding="utf-8"))


def test_whole_dialogues_are_their_models(tmp_path: Path) -> None:
    path = tmp_path / "dialogues.jsonl"
    turns = [("user", "I feel low."), ("assistant", "I hear you."), ("user", "Thanks."), ("assistant", "Take care.")]
    messages = [{"role": role, "content": text} for role, text in turns]
    path.write_text(json.dumps({"messages": messages, "model": "gpt-4o", "category": "no_crisis"}), encoding="utf-8")
    with pytest.raises(UsageError, match="would judge 3 of replies of its own family"):
        mindgauge.rate(OPEN, dialogues=path, unit="both", judge=Judge(), out=tmp_path / "r")


def test_compare_refuses_and_says_what_was_allowed(tmp_path: Path) -> None:
    judge, path = Judge(), replies(tmp_path / "replies.jsonl", "gpt-4o", "claude-3")
    with pytest.raises(UsageError, match="would judge 3 of replies of its own family, by gpt-4o"):
        mindgauge.judges_compare(OPEN, replies=path, judge=judge, out=tmp_path / "r")
    assert not (tmp_path / "r").exists()
    found = mindgauge.judges_compare(
        OPEN, replies=path, judge=judge, method="rule", judge_runs=1, out=tmp_path / "r", own_family=True
    )
    assert not isinstance(found, DryRun)
    assert f"{KIND} judged its own family (gpt-4o), which --own-family allowed" in found.notes
    assert manifest.read(tmp_path / "r")["own_family"] == {KIND: ["gpt-4o"]}


def test_stress_looks_at_kin_on_purpose_and_a_replay_judges_nothing_anew(tmp_path: Path) -> None:
    path = replies(tmp_path / "replies.jsonl", "gpt-4o")
    mindgauge.judges_stress(Judge(), benchmark=OPEN, replies=path, probes="repeat", out=tmp_path / "s")
    mindgauge.run(OPEN, model=Judge(), judge=Judge(), limit=7, out=tmp_path / "r", own_family=True)
    replay = f"replay/{tmp_path / 'r'}"
    mindgauge.run(OPEN, model=replay, judge=replay, limit=7, out=tmp_path / "again")
    with Store(tmp_path / "again") as store:
        assert {rating.value for rating in store.ratings(OPEN)} == {3}


def test_the_command_is_one_line_and_exit_2(tmp_path: Path) -> None:
    path, url = (
        replies(tmp_path / "replies.jsonl", "gpt-4o", "gpt-5", "gpt-5-mini", "gpt-5-nano"),
        "http://127.0.0.1:9/v1#gpt-x",
    )
    for verb in (["rate"], ["judges", "compare"]):
        done = CliRunner().invoke(app, [*verb, OPEN, "--replies", str(path), "--judge", url])
        assert isinstance(done.exception, UsageError)
        assert done.exception.exit_code == 2
        assert "12 of replies of its own family, by gpt-4o, gpt-5, gpt-5-mini and 1 more, and" in str(done.exception)
        allowed = CliRunner().invoke(
            app, [*verb, OPEN, "--replies", str(path), "--judge", url, "--own-family", "--dry-run", "--json"]
        )
        assert allowed.exit_code == 0, allowed.exception
        once = 3  # the four models said the same words, which are judged once
        assert json.loads(allowed.stdout)["calls"] == (once if verb == ["rate"] else 9 * once)
