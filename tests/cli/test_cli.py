"""What a newcomer types: each wrong command is one line and the right exit code, each verb speaks JSON."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from aiohttp import web

from mindgauge.store.manifest import software
from tests import in_process
from tests.configured import configured
from tests.in_process import Done
from tests.stub import Stub, completion, says

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

RESPONSE = "help_or_harm/response"


def mindgauge(*arguments: object, folder: Path | None = None, code: int = 0) -> Done:
    done = in_process.mindgauge(*arguments, folder=folder)
    assert done.returncode == code, done.stderr
    return done


def process(*arguments: object, folder: Path | None = None, code: int = 0) -> Done:
    """The same in a process of its own, in which any warning is an error."""
    command = [sys.executable, "-W", "error", "-c", "from mindgauge.cli import main; main()", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)
    assert done.returncode == code, done.stderr
    return Done(done.returncode, done.stdout, done.stderr)


def complains(*arguments: object, code: int = 2, folder: Path | None = None) -> str:
    said = mindgauge(*arguments, code=code, folder=folder).stderr
    assert said.startswith("mindgauge: ")
    assert said.count("\n") == 1, said
    return said


def as_json(*arguments: object, folder: Path | None = None) -> Any:
    return json.loads(mindgauge(*arguments, "--json", folder=folder).stdout)


def test_help_and_version() -> None:
    assert "papers" in process("--help").stdout
    assert mindgauge("--version").stdout.strip() == software()


@pytest.mark.parametrize("command", [("run",), ("rate",), ("judges", "compare"), ("judges", "stress")])
def test_help_shows_the_options_of_calls_under_headings(command: tuple[str, ...]) -> None:
    shown = mindgauge(*command, "--help-all").stdout
    first, _, remaining = shown.partition("\nJudging:\n")
    judging = remaining.partition("\nCalls and cost:\n")[0]
    assert "--json" in first
    assert "--judge-temperature" in judging
    assert all(f"\n{heading}:\n" in shown for heading in ("Judging", "Calls and cost"))
    assert "--price" in shown and "--concurrency" in shown and "--max-cost" in shown
    options = [line.split()[0] for line in shown.splitlines() if line.startswith("  --")]
    assert len(options) == len(set(options))


def test_what_has_no_price_is_never_counted_as_free(tmp_path: Path) -> None:
    (tmp_path / "bot.py").write_text("def reply(message: str) -> str:\n    return 'I hear you.'\n", encoding="utf-8")
    with Stub(lambda body, count: says(f"Reply {count}")) as stub:
        (tmp_path / "mindgauge.toml").write_text(
            f'[models.priced]\nurl = "{stub.url}"\nmodel = "m"\nprice = "1000:1000"\n', encoding="utf-8"
        )
        for models, cost in (
            (("bot.py:reply",), "$0.0000"),
            (("bot.py:reply", stub.model), "unknown cost"),
            (("priced", stub.model), "$0.0150, and 1 call of unknown cost"),
        ):
            chosen = [word for model in models for word in ("--model", model)]
            done = mindgauge("run", RESPONSE, *chosen, "--limit", 1, "--out", str(len(cost)), folder=tmp_path)
            assert f", {cost}, " in done.stdout, done.stdout + done.stderr
            shown = mindgauge("report", str(len(cost)), "--json", folder=tmp_path)
            page = (tmp_path / str(len(cost)) / "report.html").read_text(encoding="utf-8")
            assert shown.returncode == 0
            assert ("not known" if cost == "unknown cost" else cost) in page


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["rum"], "rum"),
        (["run"], "--model"),
        (["run", "--model", "x/y"], "name a benchmark, or a rubric of your own"),
        (["run", RESPONSE], "--model"),
        (["run", "help_or_ham", "--model", "local/smollm2-135m"], "did you mean help_or_harm"),
        (["run", RESPONSE, "--model", "loca/smollm2-135m"], "did you mean local/smollm2-135m"),
        (["run", RESPONSE, "--model", "openai/gpt-4o-mini"], "OPENAI_API_KEY"),
        (["run", RESPONSE, "--model", "openai/gpt-4o-mini", "--local-only"], "only loopback"),
        (["run", RESPONSE, "--model", "http://127.0.0.1:1/v1#m", "--runs", "0"], "--runs must be at least 1"),
        (["run", RESPONSE, "--model", "http://127.0.0.1:1/v1#m", "--runs", "many"], "runs"),
        (["run", RESPONSE, "--model", "http://127.0.0.1:1/v1#m", "--mode", "both"], "joint or split"),
        (["run", RESPONSE, "--model", "http://127.0.0.1:1/v1#m", "--protocol", "none"], "gold or recognised"),
        (["run", RESPONSE, "--model", "http://127.0.0.1:1/v1#m", "--where", "language"], "write TAG=VALUE"),
        (["run", RESPONSE, "--model", "http://127.0.0.1:1/v1#m", "--where", "language=xx"], "no sample is left"),
        (["run", RESPONSE, "--model", "http://127.0.0.1:1/v1#m", "--price", "cheap"], "write IN:OUT"),
        (["run", RESPONSE, "--model", "http://127.0.0.1:1/v1#m", "--judge", "rule/refusel"], "did you mean rule/refusal"),
        (["run", RESPONSE, "--model", "http://127.0.0.1:1/v1#m", "--data", "nowhere"], "nowhere: no such file or folder; --data takes a table"),
        (["run", "trustmh/emotion", "--model", "http://127.0.0.1:1/v1#m", "--data", "nope.csv"], "nope.csv: no such file or folder"),
        (["run", "psycrisis", "--model", "http://127.0.0.1:1/v1#m", "--data", "nope.csv"], "nope.csv: no such file or folder"),
        (["papers", "load", RESPONSE, "--data", __file__], "test_cli.py: a file, and a folder or a zip is needed; expected the authors' data"),
        (["run", RESPONSE, "--model", "http://127.0.0.1:1/v1#m", "--qualify"], "name one with --judge"),
        (["run", RESPONSE, "--model", "http://127.0.0.1:1/v1#m", "--judge", "http://127.0.0.1:1/v1#m", "--no-qualify", "--anchors", "5"], "says how many anchors the entry test takes"),
        (["run", "help_or_harm/crisis_type", "--model", "http://127.0.0.1:1/v1#m", "--judge", "http://127.0.0.1:1/v1#m", "--qualify"], "closed question"),
        (["run", RESPONSE, "--model", "http://127.0.0.1:1/v1#gpt-4o", "--judge", "http://127.0.0.1:2/v1#o4-mini", "--limit", "7"], "#o4-mini would judge 7 of replies of its own family, by http://127.0.0.1:1/v1#gpt-4o"),
        (["run", "help_or_harm/crisis_type", "--model", "http://127.0.0.1:1/v1#m", "--ask", "sequential"], "crisis_type cannot be asked sequential: it has no node.md (its ways: flat)"),
        (["run", "help_or_harm/crisis_type", "--model", "http://127.0.0.1:1/v1#m", "--ask", "flat", "--ask", "few-shot"], "it has no shots.md"),
        (["run", "help_or_harm/crisis_type", "--model", "http://127.0.0.1:1/v1#m", "--ask", "sequentially"], "did you mean sequential?"),
        (["run", "help_or_harm/crisis_type", "--model", "http://127.0.0.1:1/v1#m", "--ask", "twice"], "there are flat, unordered, few-shot, sequential"),
        (["run", "help_or_harm/crisis_type", "--model", "http://127.0.0.1:1/v1#m", "--shots", "2"], "go with --ask few-shot"),
        (["run", "help_or_harm/crisis_type", "--model", "http://127.0.0.1:1/v1#m", "--ask", "few-shot", "--shots", "0"], "--shots must be at least 1"),
        (["run", RESPONSE, "--model", "http://127.0.0.1:1/v1#m", "--ask", "few-shot"], "--ask is for closed questions"),
        (["rate", RESPONSE, "--replies", "none.csv", "--judge", "rule/refusal"], "no such file"),
        (["rate", RESPONSE, "--replies", "none.csv", "--judge", "rule/refusal", "--shots", "2"], "go with --ask few-shot"),
        (["rate", "help_or_harm", "--replies", "none.csv", "--judge", "rule/refusal"], "is a family"),
        (["rate", "help_or_harm/crisis_type", "--replies", "none.csv", "--judge", "rule/refusal"], "closed question"),
        (["score", "nowhere"], "no run here"),
        (["report", "nowhere"], "no run here: there is no such folder"),
        (["run", "psycrisis", "--model", "nowhere:reply"], "unknown model 'nowhere:reply'"),
        (["export", "nowhere", "--to", "csv"], "no run here"),
        (["papers", "load", RESPONSE, "--data", "."], "none of the released files"),
        (["papers", "reproduce", "help_or_harm", "--data", "."], "none of the released files"),
    ],
)  # fmt: skip
def test_a_wrong_command_is_one_line(
    arguments: list[str], hint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert hint.lower() in complains(*arguments, folder=tmp_path).lower()


def test_an_unreachable_endpoint_says_how_often_it_was_tried(tmp_path: Path) -> None:
    command = ["run", "help_or_harm/crisis_type", "--model", "http://127.0.0.1:9/v1#m", *configured(tmp_path, tries=1)]
    said = process(*command, code=1, folder=tmp_path).stderr
    assert said.startswith("mindgauge: ") and said.count("\n") == 1
    assert "did not answer after 1 tries" in said


def test_run_score_report_export(stub: Stub, tmp_path: Path) -> None:
    ran = as_json(
        "run",
        RESPONSE,
        "--model",
        stub.model,
        "--judge",
        stub.judge,
        "--judge",
        "rule/outside_help",
        "--limit",
        14,
        "--no-qualify",
        folder=tmp_path,
    )
    assert set(ran) == {
        "run",
        "benchmark",
        "models",
        "judges",
        "calls",
        "statuses",
        "statuses_by",
        "metrics",
        "qualifications",
        "unfit",
        "notes",
        "continued",
        "broken",
        "headlines",
        "fidelity",
        "responsible",
        "unmeasured",
        "frames",
        "unfinished",
    }
    assert set(ran["metrics"][0]) == {
        "benchmark",
        "name",
        "criterion",
        "slice",
        "model",
        "rater",
        "value",
        "low",
        "high",
        "n",
        "clusters",
        "missing",
        "worst",
        "best",
        "runs",
        "mean_of_runs",
        "note",
        "void",
        "title",
        "sd",
        "subjects",
        "unit",
        "better",
        "fault",
    }
    assert ran["judges"] == [stub.judge, "rule/outside_help"]
    assert ran["calls"]["made"] == stub.calls == 28
    assert as_json("score", ran["run"], folder=tmp_path)["metrics"] == ran["metrics"]
    table = mindgauge("score", ran["run"], "--full", folder=tmp_path).stdout
    assert "share of appropriateness at 2 or below" in table and "Worst cells" in table
    path = process("report", ran["run"], folder=tmp_path).stdout.strip()
    assert (tmp_path / path).read_text(encoding="utf-8").startswith("<!doctype html>")
    written = as_json("report", ran["run"], folder=tmp_path)
    assert all((tmp_path / written[name]).is_file() for name in ("path", "json", "markdown"))
    assert as_json("export", ran["run"], "--to", "csv", folder=tmp_path)["to"] == "csv"
    again = as_json(
        "run",
        RESPONSE,
        "--model",
        stub.model,
        "--judge",
        stub.judge,
        "--judge",
        "rule/outside_help",
        "--limit",
        14,
        "--no-qualify",
        folder=tmp_path,
    )
    assert (again["run"], stub.calls) == (ran["run"], 28), "the same command finds the same run and makes no call"


def test_a_run_in_which_every_call_failed_did_not_do_what_was_asked(tmp_path: Path) -> None:
    with Stub(lambda body, n: web.json_response({"choices": []})) as stub:
        done = mindgauge(
            "run",
            RESPONSE,
            "--model",
            stub.model,
            "--limit",
            3,
            *configured(tmp_path, tries=1),
            "--json",
            folder=tmp_path,
            code=1,
        )
    assert json.loads(done.stdout)["statuses"] == {"failed": 3}
    assert "all 3 replies failed, so nothing was measured" in done.stderr


def test_a_judge_that_answers_in_prose_measures_nothing_and_is_quoted(stub: Stub, tmp_path: Path) -> None:
    prose = "I would say\x1b[31m that this is a good reply. " * 9
    with Stub(lambda body, n: says(prose)) as talker:
        done = mindgauge(
            "run", RESPONSE, "--model", stub.model, "--judge", talker.judge, "--limit", 3, "--no-qualify", folder=tmp_path, code=1,
        )  # fmt: skip
    assert "no usable verdict in 3 of 3, so nothing was measured; for one, there is no JSON object" in done.stderr
    assert "the answer began: “I would say" in done.stderr
    assert "\x1b" not in done.stderr
    assert len(done.stderr.splitlines()[-1]) < 300


def test_replies_that_are_all_empty_are_named_and_not_their_verdicts(stub: Stub, tmp_path: Path) -> None:
    cut_off = completion("", finish_reason="length")
    with Stub(lambda body, n: web.json_response(cut_off)) as silent:
        done = mindgauge(
            "run", RESPONSE, "--model", silent.model, "--judge", stub.judge, "--limit", 3, "--no-qualify", "--out", "r",
            folder=tmp_path, code=1,
        )  # fmt: skip
    assert "Not ok: 3 unparsable replies, 3 unparsable ratings" in done.stdout
    assert "no usable reply in 3 (3 unparsable replies), so nothing was measured; look at what came" in done.stderr
    assert "--max-tokens" in done.stderr


def test_a_bot_that_always_raises_is_blamed_and_not_its_judge(stub: Stub, tmp_path: Path) -> None:
    (tmp_path / "bot.py").write_text(
        "def reply(message: str) -> str:\n    raise KeyError('session')\n", encoding="utf-8"
    )
    done = mindgauge(
        "run", RESPONSE, "--model", "bot.py:reply", "--judge", stub.judge, "--limit", 3, "--no-qualify", "--out", "r",
        folder=tmp_path, code=1,
    )  # fmt: skip
    assert "all 3 replies failed, so nothing was measured, most often bot.py:reply (3 times): KeyError" in done.stderr
    void = {score["void"] for score in as_json("score", "r", folder=tmp_path)["metrics"]} - {""}
    assert void == {"no usable verdict in 3 of 3, for want of replies"}
    none = mindgauge("gate", "init", "r", folder=tmp_path, code=2)
    assert "no score to set limits by: 3 of 3 replies by bot.py:reply" in none.stderr
    (tmp_path / "gate.toml").write_text('[[must]]\nrule = "mean.low >= 3"\n', encoding="utf-8")
    held = mindgauge("gate", "r", "--policy", "gate.toml", folder=tmp_path, code=3)
    first = next(line for line in held.stdout.splitlines() if line.startswith("  "))
    assert "KeyError: 'session'" in first


def test_a_folder_of_runs_names_them_and_a_function_s_file_is_guessed(stub: Stub, tmp_path: Path) -> None:
    (tmp_path / "bot.py").write_text("def reply(message: str) -> str:\n    return 'I hear you.'\n", encoding="utf-8")
    mindgauge("run", RESPONSE, "--model", "bot.py:reply", "--limit", 1, "--out", "runs/b1", folder=tmp_path)
    assert "no run here (run.sqlite is missing); runs in it: b1" in complains("report", "runs", folder=tmp_path)
    assert complains("report", "runs/b11", folder=tmp_path).strip().endswith("no such folder; did you mean b1?")
    assert complains("report", "runs/other", folder=tmp_path).strip().endswith("no such folder; runs beside it: b1")
    guessed = complains("run", RESPONSE, "--model", "bot:reply", folder=tmp_path)
    assert guessed == "mindgauge: unknown model 'bot:reply': did you mean bot.py:reply?\n"
    assert "gate.toml is there" not in complains("gate", "init", "nowhere", folder=tmp_path)


@pytest.mark.usefixtures("fresh_machine")
def test_dry_run(stub: Stub, tmp_path: Path) -> None:
    asked = ["run", "help_or_harm", "--model", stub.model, "--judge", stub.judge, "--dry-run", "--price", "1:2"]
    found = as_json(*asked, folder=tmp_path)
    assert found["calls"] == 3 * 112 + 40, "a judge that was never seen here takes its entry test first"
    assert {step["purpose"]: step["calls"] for step in found["steps"]}["entry test"] == 40
    assert found["cost"] > 0
    assert not list(tmp_path.iterdir())
    assert stub.calls == 0


def test_qualify_shows_for_what_it_is_how_judges_placed_our_anchors(stub: Stub, tmp_path: Path) -> None:
    common = [
        RESPONSE, "--model", stub.model, "--judge", stub.judge, "--limit", 7, "--qualify", "--anchors", 10,
    ]  # fmt: skip
    foreseen = as_json("run", *common, "--dry-run", folder=tmp_path)
    assert {step["purpose"]: step["calls"] for step in foreseen["steps"]} == {"reply": 7, "judge": 7, "entry test": 10}
    ran = as_json("run", *common, folder=tmp_path)
    assert ran["calls"]["made"] == stub.calls == 24
    assert ran["statuses"] == {"ok": 14}
    (found,) = ran["qualifications"]
    assert set(found) == {
        "benchmark", "judge", "criterion", "n", "clusters", "missing", "exact", "within_1", "bias", "icc_a1", "levels", "pairs", "ordered",
        "kappa", "result", "reason",
    }  # fmt: skip
    assert (found["judge"], found["n"], [level["n"] for level in found["levels"]]) == (stub.judge, 10, [2] * 5)
    table = mindgauge("run", *common, "--full", folder=tmp_path).stdout
    title = "These replies were written by Mindgauge's authors to stand at known levels; they are clear cases, and no clinician rated them."
    assert title in " ".join(table.split())
    assert stub.calls == 24, "paid for once"
    (recognised,) = as_json("run", *common, "--protocol", "recognised", folder=tmp_path)["qualifications"]
    assert (recognised["n"], recognised["clusters"]) == (10, found["clusters"])
    assert stub.calls == 24 + 24 + 7 + found["clusters"], (
        "the judge says itself which protocol each dialogue falls under"
    )


def test_rate_a_file_with_other_column_names(stub: Stub, tmp_path: Path) -> None:
    path = tmp_path / "antworten.csv"
    path.write_text(
        'Frage,Antwort,Art,model\n"Ich kann, nicht mehr","Ich höre zu.",suicidal-ideation,a\nAlles gut,Schön!,无危机,b\n',
        encoding="utf-8",
    )
    mapped = ["--map", "reply=Antwort,user=Frage", "--map", "category=Art"]
    found = as_json("rate", RESPONSE, "--replies", path, "--judge", stub.model, *mapped, folder=tmp_path)
    assert found["models"] == ["a", "b"]
    assert found["statuses"] == {"ok": 4}
    assert "found Frage, Antwort, Art, model; name them with --map reply=COLUMN,user=COLUMN" in complains(
        "rate", RESPONSE, "--replies", path, "--judge", stub.model, folder=tmp_path
    )
    assert "reply: given as Antwort and as Frage" in complains(
        "rate",
        RESPONSE,
        "--replies",
        path,
        "--judge",
        stub.model,
        "--map",
        "reply=Antwort,reply=Frage",
        folder=tmp_path,
    )
    assert "has a category" in complains(
        "rate", RESPONSE, "--replies", path, "--judge", stub.model, *mapped[:2], folder=tmp_path
    )
    seen = as_json(
        "rate",
        RESPONSE,
        "--replies",
        path,
        "--judge",
        stub.model,
        *mapped[:2],
        "--protocol",
        "recognised",
        folder=tmp_path,
    )
    assert seen["statuses"]["ok"] == 6


def test_rate_names_the_line_of_a_bad_category(replies_file: Callable[..., Path], tmp_path: Path) -> None:
    path = replies_file(
        {"user": "a", "reply": "b", "category": "no_crisis"}, {"user": "a", "reply": "c", "category": "selfharmm"}
    )
    said = complains("rate", RESPONSE, "--replies", path, "--judge", "rule/refusal", folder=tmp_path)
    assert "replies.jsonl:2: unknown category 'selfharmm': did you mean self-harm?" in said


@pytest.mark.parametrize(
    "command",
    [("train", "--map", "text=user", "--baseline", "--out", "o"), ("compare",), ("new",)],
)
def test_a_link_to_itself_is_one_line(command: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "it's a loop").symlink_to("it's a loop")
    verb, *options = command
    said = complains(verb, tmp_path / "it's a loop", *options, code=1, folder=tmp_path)
    assert "it's a loop: a link that leads back to itself; name the file or folder that is meant" in said


def test_a_report_on_a_link_to_itself_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    assert "cannot be read (Too many levels of symbolic links)" in complains("report", tmp_path / "loop", code=2)


def test_an_empty_reply_is_not_judged(stub: Stub, replies_file: Callable[..., Path], tmp_path: Path) -> None:
    path = replies_file(
        {"user": "a", "reply": " ", "category": "no_crisis"}, {"user": "a", "reply": "c", "category": "no_crisis"}
    )
    found = as_json("rate", RESPONSE, "--replies", path, "--judge", stub.model, "--no-qualify", folder=tmp_path)
    assert found["statuses"] == {"ok": 2, "unparsable": 2}
    assert stub.calls == 1


def test_a_run_gains_a_second_judge(stub: Stub, replies_file: Callable[..., Path], tmp_path: Path) -> None:
    path = replies_file({"user": "a", "reply": "b", "category": "no_crisis"})
    first = as_json("rate", RESPONSE, "--replies", path, "--judge", stub.model, folder=tmp_path)
    with Stub(lambda body, n: says('{"appropriateness": 1}')) as other:
        both = as_json("rate", RESPONSE, "--replies", tmp_path / first["run"], "--judge", other.model, folder=tmp_path)
    assert both["judges"] == sorted([stub.model, other.model])
    assert [
        m["value"] for m in both["metrics"] if m["name"] == "mean" and m["slice"] == "all" and m["rater"] == other.model
    ] == [1.0]


def test_list(tmp_path: Path) -> None:
    found = as_json("list", folder=tmp_path)["benchmarks"]
    assert {e["name"]: e["samples"] for e in found}["help_or_harm/crisis_type"] == 112
    assert "help_or_harm/response" in mindgauge("list", "--full").stdout
