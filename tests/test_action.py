"""The composite action, step by step as a workflow would run it, on a small repository with a bot: green, red, cannot tell."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import msgspec
import polars as pl
import pytest

from tests.made_once import made_once

ROOT = Path(__file__).parents[1]
ACTION: dict[str, Any] = msgspec.yaml.decode((ROOT / "action.yml").read_bytes())
COMMAND = "mindgauge run help_or_harm/response --model bot.py:reply --judge rater.py:judge --qualify --runs 3 --limit 28 --out runs/build"
BOT = """
import pathlib

PROMPT = pathlib.Path(__file__).with_name("prompt.txt").read_text()


def reply(message: str) -> str:
    if "keep it short" in PROMPT and len(message) % 2:
        return "Please see somebody else about that."
    return "That sounds heavy, and I am glad you wrote. Who is near you right now?"
"""
RATER = '''
import json
from mindgauge import benchmarks

LEVELS = {anchor.reply: anchor.ratings["appropriateness"] for anchor in benchmarks.find_one("help_or_harm/response").anchors()}


def judge(message: str) -> str:
    """Give the replies of the entry test their level, and tell the bot's two replies apart."""
    level = next((level for reply, level in LEVELS.items() if reply in message), None)
    if level is None:
        level = 1 if "see somebody else" in message else 5
    return json.dumps({"quotes": [], "rationale": "As it reads.", "appropriateness": level})
'''
BLIND = """
import json


def judge(message: str) -> str:
    return json.dumps({"quotes": [], "rationale": "Fine.", "appropriateness": 5})
"""


WORKFLOWS = {path.stem: path for path in sorted((ROOT / "docs" / "examples" / "ci").glob("*.yml"))}
KEY = "sk-of-the-judge"
SPYING = (
    BOT
    + """
import os
pathlib.Path(__file__).with_name("seen.txt").write_text(repr(dict(os.environ)))
"""
)


def steps() -> dict[str, str]:
    """Return the action's own shell steps; those of other actions prepare what is here already."""
    return {
        step["name"]: step["run"] for step in ACTION["runs"]["steps"] if "run" in step and step["name"] != "Install"
    }


def workflow(repository: Path, **given: str) -> dict[str, Any]:
    """Run the steps one after the other, until one fails; return what a workflow would show of them."""
    inputs = (
        {name: str(entry.get("default", "")) for name, entry in ACTION["inputs"].items()} | {"command": COMMAND} | given
    )
    summary, output = repository / "summary.md", repository / "output.txt"
    for file in (summary, output):
        file.write_text("", encoding="utf-8")
    shown, code = "", 0
    for step in ACTION["runs"]["steps"]:
        if "run" not in step or step["name"] == "Install":
            continue
        filled = {name: _filled(value, inputs) for name, value in step.get("env", {}).items()}
        environment = {
            **os.environ, **filled, "GITHUB_ACTIONS": "true", "GITHUB_ACTION_PATH": str(ROOT), "GITHUB_STEP_SUMMARY": str(summary),
            "GITHUB_OUTPUT": str(output), "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "MINDGAUGE_STATE": str(repository / "state"),
        }  # fmt: skip
        done = subprocess.run(
            ["bash", "-e", "-c", step["run"]],
            cwd=repository,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        shown, code = shown + done.stdout + done.stderr, done.returncode
        if code:
            break
    return {
        "code": code,
        "shown": shown,
        "summary": summary.read_text(encoding="utf-8"),
        "output": output.read_text(encoding="utf-8"),
    }


def shown(name: str) -> dict[str, Any]:
    """Return a workflow of the page, with the judge of these tests and the size that a test has."""
    text = WORKFLOWS[name].read_text(encoding="utf-8")
    text = text.replace("openai/gpt-5-nano", "rater.py:judge --qualify").replace("--runs 3", "--runs 3 --limit 28")
    content: dict[str, Any] = msgspec.yaml.decode(text)
    return content


def _replies(folder: Path) -> Path:
    """Run the steps of the workflow that asks the bot, as a pull request that holds this folder; return what it hands over."""
    environment = {
        **os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", "MINDGAUGE_STATE": str(folder / "state"),
    }  # fmt: skip
    for step in shown("replies")["jobs"]["replies"]["steps"]:
        if "run" in step and step["name"] != "Install":
            subprocess.run(
                ["bash", "-e", "-c", step["run"]], cwd=folder, env=environment, check=True, capture_output=True
            )
    return folder / "replies"


def _gated(base: Path, replies: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Run the action as the workflow with the judge's key calls it, in the base branch, on replies that were handed over."""
    monkeypatch.setenv("RUNNER_TEMP", str(replies.parent))
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    called = next(step for step in shown("gate")["jobs"]["gate"]["steps"] if step["uses"].startswith("mindgauge/"))
    return workflow(base, **called["with"])


def _filled(value: str, inputs: dict[str, str]) -> str:
    for name, given in inputs.items():
        value = value.replace(f"${{{{ inputs.{name} }}}}", given)
    assert "${{" not in value
    return value


def repository(folder: Path) -> Path:
    """Make a repository with a bot, its judge, a baseline and a policy."""
    folder.mkdir()
    (folder / "bot.py").write_text(BOT, encoding="utf-8")
    (folder / "rater.py").write_text(RATER, encoding="utf-8")
    (folder / "prompt.txt").write_text("Be warm.", encoding="utf-8")
    result = workflow(folder, policy="none.toml")
    assert result["code"] == 2, result["shown"]
    assert "none.toml" in result["shown"]
    _mindgauge(folder, "gate", "init", "runs/build", "--out", "gate.toml", "--baseline", "baseline.json")
    _mindgauge(folder, "gate", "baseline", "runs/build", "--out", "baseline.json")
    shutil.rmtree(folder / "runs")
    return folder


def _mindgauge(folder: Path, *words: str) -> None:
    subprocess.run(
        [str(Path(sys.executable).parent / "mindgauge"), *words], cwd=folder, check=True, capture_output=True
    )


@pytest.fixture
def build(tmp_path_factory: pytest.TempPathFactory, tmp_path: Path) -> Path:
    made = made_once(tmp_path_factory, "action", lambda place: {"repository": repository(place / "repository")})
    return Path(shutil.copytree(made["repository"], tmp_path / "build"))


def test_a_sound_build_is_green_and_pays_for_no_verdict_again(build: Path) -> None:
    result = workflow(build, baseline="baseline.json")
    assert result["code"] == 0, result["shown"]
    assert "✓ passed" in result["summary"]
    assert result["output"] == "exit-code=0\n"
    assert "answers of judges taken from" in result["shown"]
    assert "::error" not in result["shown"]
    assert json.loads((build / "gate.json").read_text(encoding="utf-8"))["exit_code"] == 0
    assert (build / ".mindgauge" / "verdicts").is_dir()


@pytest.mark.long
def test_a_worse_prompt_is_red_with_the_reason_first(build: Path) -> None:
    (build / "prompt.txt").write_text("Be brief; keep it short.", encoding="utf-8")
    # The file that the bot reads is no part of its code, so the build has a label of its own.
    result = workflow(build, baseline="baseline.json", command=f"{COMMAND} --label worse")
    assert result["code"] == 1, result["shown"]
    assert result["summary"].startswith("## ✗ failed")
    assert result["summary"].splitlines()[2].startswith("- **")
    assert "::error file=gate.toml" in result["shown"]
    assert result["output"] == "exit-code=1\n"
    suite = ET.parse(build / "gate.xml").getroot()
    assert int(suite.get("failures", "0")) > 0


@pytest.mark.long
def test_a_judge_that_fails_its_entry_test_cannot_tell(build: Path) -> None:
    (build / "rater.py").write_text(BLIND, encoding="utf-8")
    result = workflow(build, baseline="baseline.json")
    assert result["code"] == 3, result["shown"]
    assert result["summary"].startswith("## ? cannot tell")
    assert "entry test" in result["summary"] or "cannot be used" in result["summary"]


def test_inputs_reach_the_shell_as_variables_alone() -> None:
    """What a pull request can choose is never put into a script as text."""
    assert not [name for name, script in steps().items() if "${{" in script]


def test_every_action_that_is_used_is_pinned_by_its_commit() -> None:
    used = [step["uses"] for step in ACTION["runs"]["steps"] if "uses" in step]
    for name in WORKFLOWS:
        used += [step["uses"] for job in shown(name)["jobs"].values() for step in job["steps"] if "uses" in step]
    assert len(used) >= 7
    assert not [action for action in used if not re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", action)]


def test_the_job_that_runs_the_bot_knows_no_secret_and_the_one_with_the_key_runs_no_code_of_a_pull_request() -> None:
    asking, judging = shown("replies"), shown("gate")
    assert "secrets" not in WORKFLOWS["replies"].read_text(encoding="utf-8")
    assert asking["permissions"] == {"contents": "read"}
    triggers = re.search(r"^on:\n((?: .*\n)+)", WORKFLOWS["gate"].read_text(encoding="utf-8"), re.MULTILINE)
    assert triggers is not None
    assert re.findall(r"^  (\w+):", triggers[1], re.MULTILINE) == ["workflow_run"], (
        "which GitHub takes from the default branch"
    )
    gate, status = judging["jobs"]["gate"], judging["jobs"]["status"]
    assert gate["steps"][0]["with"]["ref"] == "${{ github.event.repository.default_branch }}"
    assert gate["permissions"] == {"actions": "read", "contents": "read"}
    assert "--model" not in str(gate), "the bot is not called where the key is"
    assert "secrets" not in str(status)
    for job in (asking["jobs"]["replies"], gate):
        assert job["steps"][0]["with"]["persist-credentials"] is False
    scripts = [step["run"] for content in (asking, judging) for job in content["jobs"].values() for step in job["steps"] if "run" in step]  # fmt: skip
    assert not [script for script in scripts if "${{" in script], (
        "what a pull request chooses reaches a shell as a variable"
    )


def test_a_pull_request_changes_neither_policy_nor_baseline_nor_judge(
    build: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its bot is worse, its policy allows everything, its judge likes everything, and its bot looks for the judge's key."""
    ours = Path(shutil.copytree(build, tmp_path / "pull request"))
    worse = SPYING.replace("That sounds heavy, and I am glad you wrote.", "Please see somebody else about that.")
    (ours / "bot.py").write_text(worse, encoding="utf-8")
    (ours / "rater.py").write_text(BLIND, encoding="utf-8")
    (ours / "gate.toml").write_text("", encoding="utf-8")
    (ours / "baseline.json").unlink()
    replies = _replies(ours)
    assert [path.name for path in sorted(replies.iterdir()) if path.suffix == ".csv"] == ["ratings.csv", "replies.csv", "samples.csv"]  # fmt: skip
    result = _gated(build, replies, monkeypatch)
    assert result["code"] == 1, result["shown"]
    assert result["summary"].startswith("## ✗ failed")
    assert "OPENAI_API_KEY" not in (ours / "seen.txt").read_text(encoding="utf-8")
    assert not (build / "seen.txt").exists(), "no code of the pull request ran where the key is"


@pytest.mark.long
def test_replies_that_were_left_out_or_moved_to_other_messages_do_not_pass(
    build: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replies = _replies(Path(shutil.copytree(build, tmp_path / "pull request")))
    table = replies / "replies.csv"
    rows = pl.read_csv(table)
    rows.filter(pl.col("sample") != rows["sample"][0]).write_csv(table)
    result = _gated(build, replies, monkeypatch)
    assert result["code"] == 3, result["shown"]
    assert "other messages than the policy pins" in result["summary"]


@pytest.mark.long
def test_the_gate_is_a_test_of_a_user_s_own_suite(build: Path) -> None:
    workflow(build, baseline="baseline.json")
    shutil.copy(ROOT / "docs" / "examples" / "ci" / "test_release.py", build)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_release.py"]
    environment = {**os.environ, "MINDGAUGE_STATE": str(build / "state")}
    passed = subprocess.run(command, cwd=build, env=environment, capture_output=True, text=True, check=False)
    assert passed.returncode == 0, passed.stdout
    policy = (build / "gate.toml").read_text(encoding="utf-8")
    (build / "gate.toml").write_text(policy.replace('judge = "tested"', 'judge = "good"'), encoding="utf-8")
    failed = subprocess.run(command, cwd=build, env=environment, capture_output=True, text=True, check=False)
    assert failed.returncode == 1
    reason = next(line for line in failed.stdout.splitlines() if "AssertionError" in line)
    assert "Gate cannot tell" in reason
    whole = re.sub(r"\nE\s+", " ", failed.stdout)
    assert "the policy asks for a card that is good" in whole, "pytest cuts nothing out of it"


def _elsewhere(build: Path, commit: str) -> subprocess.CompletedProcess[str]:
    """Run the shell recipe of the page as it stands, but for the judge, and the size that a test has."""
    page = (ROOT / "docs" / "tasks" / "ci.md").read_text(encoding="utf-8")
    recipe = page.split("## Anywhere else")[1].split("```sh\n")[1].split("```")[0]
    recipe = recipe.replace("openai/gpt-5-nano --runs 3", "rater.py:judge --qualify --runs 3 --limit 28")
    shutil.copy(ROOT / "docs" / "examples" / "ci" / "gate.sh", build)
    environment = {
        **os.environ, "COMMIT": commit, "MINDGAUGE_STATE": str(build / "state"),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }  # fmt: skip
    return subprocess.run(
        ["bash", "-c", recipe], cwd=build, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.long
def test_elsewhere_a_changed_bot_is_never_passed_by_its_predecessor_s_run(build: Path) -> None:
    first = _elsewhere(build, "one")
    assert first.returncode == 0, first.stdout + first.stderr
    worse = BOT.replace("That sounds heavy, and I am glad you wrote.", "Please see somebody else about that.")
    (build / "bot.py").write_text(worse, encoding="utf-8")
    (build / "gate.xml").unlink()
    kept = _elsewhere(build, "one")
    assert kept.returncode == 2, "the folder is another build's"
    assert "a new build has a new --out" in kept.stderr
    assert not (build / "gate.xml").exists(), "no gate was held"
    assert _elsewhere(build, "two").returncode == 1
