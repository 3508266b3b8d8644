"""`gate`: a build passes, fails, or nobody can tell, and each for the right reason."""

from __future__ import annotations

import errno
import json
import os
import random
import re
import shutil
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import numpy as np
import polars as pl
import pytest

import mindgauge
from mindgauge import Function, MindgaugeError, benchmarks
from mindgauge.records.errors import UsageError
from mindgauge.records.files import private
from mindgauge.records.regex import regex
from mindgauge.stats import betting
from tests.in_process import mindgauge as mindgauge_command
from tests.made_once import made_once
from tests.reports.conftest import plant_rated

if TYPE_CHECKING:
    from collections.abc import Callable


BENCHMARK = "help_or_harm/response"
COLD = "I do not want to talk about this."
WARM = "That sounds heavy, and I am glad you wrote. Who is near you right now?"
ANY = '[needs]\njudge = "any"\n'


def careline(share: float, seed: int = 1, name: str = "careline") -> Function:
    """Return a bot that is cold to a share of messages, the same ones each time."""

    def answer(message: str) -> str:
        cold = random.Random(f"{seed}{message}").random() < share
        return f"{COLD if cold else WARM} ({len(message)})"

    return Function(answer, name=name)


def attentive(message: str) -> dict[str, Any]:
    reply = message.rpartition("<reply")[2]
    return {"quotes": [], "rationale": "As it reads.", "appropriateness": 1 if COLD in reply else 5}


def unreadable(message: str) -> Any:
    reply = message.rpartition("<reply")[2]
    return "no verdict" if COLD in reply else attentive(message)


def _runs(folder: Path) -> dict[str, Path]:
    bots = {"base": careline(0.03), "same": careline(0.03), "worse": careline(0.5, seed=2)}
    for name, bot in bots.items():
        mindgauge.run(
            BENCHMARK, model=bot, judge=Function(attentive, name="attentive"), runs=3, qualify=False, out=folder / name
        )
    lost = Function(unreadable, name="attentive")
    mindgauge.run(BENCHMARK, model=careline(0.03), judge=lost, qualify=False, out=folder / "lost")
    other = Function(attentive, name="another")
    mindgauge.run(BENCHMARK, model=careline(0.03), judge=other, limit=14, qualify=False, out=folder / "other")
    mindgauge.run("psycrisis", model=careline(0.03), judge=[], limit=4, qualify=False, out=folder / "psycrisis")
    return {name: folder / name for name in (*bots, "lost", "other", "psycrisis")}


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return made_once(tmp_path_factory, "gate", _runs)


@pytest.fixture
def policy(tmp_path: Path) -> Callable[[str], Path]:
    def write(text: str) -> Path:
        path = tmp_path / "gate.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.fixture
def drafted(runs: dict[str, Path], tmp_path: Path) -> Path:
    path = mindgauge.gate_init(runs["base"], out=tmp_path / "drafted.toml").path
    path.write_text(path.read_text(encoding="utf-8").replace('judge = "tested"', 'judge = "any"'), encoding="utf-8")
    return path


def test_a_run_passes_the_policy_that_was_written_from_it(runs: dict[str, Path], drafted: Path) -> None:
    for name in ("base", "same"):
        result = mindgauge.gate(runs[name], policy=drafted, baseline=runs["base"])
        assert result, str(result)
        assert result.exit_code == 0


def test_margins_of_a_policy_are_kept_by_a_run_with_missing_verdicts_too(runs: dict[str, Path], tmp_path: Path) -> None:
    written = mindgauge.gate_init(runs["lost"], out=tmp_path / "gate.toml")
    text = written.path.read_text(encoding="utf-8").replace('judge = "tested"', 'judge = "any"')
    written.path.write_text(text, encoding="utf-8")
    compared = [rule for rule in mindgauge.gate(runs["lost"], policy=written).rules if "not worse by" in rule.title]
    assert len(compared) == 3
    assert {rule.outcome.value for rule in compared} == {"passed"}


def test_a_policy_that_was_written_from_a_run_names_it_as_the_baseline(runs: dict[str, Path], drafted: Path) -> None:
    assert mindgauge.gate(runs["same"], policy=drafted).baseline.endswith("base")


def test_a_limit_that_nothing_could_break_is_not_written(runs: dict[str, Path], drafted: Path) -> None:
    rules = tomllib.loads(drafted.read_text(encoding="utf-8"))["must"]
    limits = [rule["rule"].rsplit(" ", 2)[1:] for rule in rules if "rule" in rule]
    assert limits
    assert not {("<=", "1.0"), (">=", "0.0"), (">=", "-0.0")} & {*map(tuple, limits)}


def test_a_worse_build_fails_and_the_reasons_come_first(runs: dict[str, Path], drafted: Path, tmp_path: Path) -> None:
    result = mindgauge.gate(
        runs["worse"], policy=drafted, baseline=runs["base"], junit=tmp_path / "j.xml", markdown=tmp_path / "m.md"
    )
    assert not result
    assert result.exit_code == 1
    kinds = {rule.kind: rule.outcome for rule in result.rules}
    assert kinds == {"needs": "passed", "must": "failed", "compare": "failed", "items": "failed"}
    assert str(result).splitlines()[1].startswith("failed: ")
    assert all(rule.replies for rule in result.rules if rule.outcome == "failed" and rule.kind != "needs")
    suite = ET.parse(tmp_path / "j.xml").getroot()
    assert suite.get("failures") == str(sum(rule.outcome == "failed" for rule in result.rules))
    text = (tmp_path / "m.md").read_text(encoding="utf-8")
    assert "| before | now |" in text
    listed = re.findall(r"^- (reply\\?-[0-9a-f]{8}), to the message", text, re.MULTILINE)
    assert listed
    assert len(listed) == len(set(listed)), "a reply stands there once, whatever rules it is behind"
    assert COLD not in text  # a log of a workflow is no place for what people wrote
    assert WARM not in text


def test_a_reply_behind_a_rule_is_printed_by_the_name_that_the_gate_gives_it(
    runs: dict[str, Path], drafted: Path
) -> None:
    told = mindgauge_command("gate", runs["worse"], "--policy", drafted, "--baseline", runs["base"], "--json")
    replies = json.loads(told.stdout)["replies"]
    assert len(replies) == len({entry["reply"] for entry in replies})
    assert all(entry["rules"] and entry["ratings"] for entry in replies)
    cold = next(entry for entry in replies if {rating["level"] for rating in entry["ratings"]} == {"1"})
    shown = mindgauge_command("report", runs["worse"], "--show", cold["name"])
    assert shown.returncode == 0, shown.stderr
    assert COLD in shown.stdout
    assert "appropriateness 1, by attentive: As it reads." in shown.stdout
    assert mindgauge_command("report", runs["worse"], "--show", "reply-zz").returncode == 2
    assert "no reply is called" in mindgauge_command("report", runs["worse"], "--show", "reply-00000000").stderr


def test_a_comparison_that_fails_shows_the_test_that_decided(runs: dict[str, Path], drafted: Path) -> None:
    result = mindgauge.gate(runs["worse"], policy=drafted, baseline=runs["base"])
    reasons = [reason for rule in result.rules if rule.kind == "compare" for reason in rule.reasons]
    assert reasons
    assert all("signs flipped, all comparisons together: p" in reason for reason in reasons)


def test_a_baseline_file_decides_as_its_run_does(runs: dict[str, Path], drafted: Path, tmp_path: Path) -> None:
    file = mindgauge.gate_baseline(runs["base"], out=tmp_path / "baseline.json").path
    content = file.read_text(encoding="utf-8")
    assert COLD not in content
    assert WARM not in content
    for name in ("same", "worse"):
        by_run, by_file = (mindgauge.gate(runs[name], policy=drafted, baseline=b) for b in (runs["base"], file))
        assert by_file.rules == by_run.rules
    file.write_text(content.replace('"5"', '"4"', 1), encoding="utf-8")
    with pytest.raises(UsageError, match="changed or cut"):
        mindgauge.gate(runs["same"], policy=drafted, baseline=file)
    file.write_text(content[:900], encoding="utf-8")
    with pytest.raises(UsageError, match="no baseline file"):
        mindgauge.gate(runs["same"], policy=drafted, baseline=file)


def test_a_judge_that_nobody_tested_can_neither_pass_nor_fail_a_build(
    runs: dict[str, Path], drafted: Path, policy: Callable[[str], Path]
) -> None:
    text = drafted.read_text(encoding="utf-8").replace('judge = "any"', 'judge = "tested"')
    for name in ("same", "worse"):
        result = mindgauge.gate(runs[name], policy=policy(text), baseline=runs["base"])
        assert result.exit_code == 3
        assert {rule.outcome for rule in result.rules} == {"cannot tell"}
    lenient = mindgauge.gate(runs["same"], policy=policy(text.replace('"stop"', '"pass"')), baseline=runs["base"])
    assert lenient
    assert lenient.outcome == "cannot tell"


def test_a_bound_between_pass_and_fail_says_how_much_data_it_takes(
    runs: dict[str, Path], policy: Callable[[str], Path]
) -> None:
    value = mindgauge.score(runs["same"]).find("share_at_most_2")[0].value
    assert value is not None
    rule = f'{ANY}[[must]]\nrule = "share_at_most_2.high <= {value + 0.01:.4f}"\n'
    result = mindgauge.gate(runs["same"], policy=policy(rule))
    finding = result.rules[1].findings[0]
    assert finding.outcome == "cannot tell"
    assert finding.needed is not None
    assert finding.needed > finding.conversations
    assert f"{finding.needed:,} conversations" in finding.sentence


@pytest.mark.parametrize("share", [False, True])
def test_as_many_conversations_as_it_takes_to_fail_do_fail(
    tmp_path: Path, policy: Callable[[str], Path], *, share: bool
) -> None:
    """Also where false alarms leave a rule less than 2.5 %: here a thousandth, shared by two rules."""
    rule, other = ("share_at_most_2.high <= 0.2", "0.95") if share else ("mean.low >= 4.0", "0.9")
    rules = policy(
        f'false_alarms = 0.002\n{ANY}[[must]]\nrule = "{rule}"\n[[must]]\nrule = "share_at_most_1.high <= {other}"\n'
    )
    few = mindgauge.gate(_falling(tmp_path / "few", 12, 30), policy=rules).rules[1].findings[0]
    assert few.outcome == "cannot tell"
    assert few.needed is not None
    cold = round(few.needed * 12 / 30 + 0.5)
    many = mindgauge.gate(_falling(tmp_path / "many", cold, few.needed), policy=rules).rules[1].findings[0]
    assert many.outcome == "failed", many.sentence
    assert "above the limit of 20 %" in many.sentence or "below the limit of 4.00" in many.sentence
    less = few.needed * 3 // 4
    still = mindgauge.gate(_falling(tmp_path / "less", less * 12 // 30, less), policy=rules).rules[1].findings[0]
    assert still.outcome == "cannot tell", still.sentence


def test_one_reply_at_a_level_fails_and_a_missing_verdict_is_no_pass(
    runs: dict[str, Path], policy: Callable[[str], Path]
) -> None:
    rule = policy(f'{ANY}missing = 0.5\n[[must]]\nno_reply_at = 1\ncriterion = "appropriateness"\n')
    broken = mindgauge.gate(runs["same"], policy=rule)
    assert broken.exit_code == 1
    assert {reply.level for reply in broken.rules[1].replies} == {"1"}
    lost = mindgauge.gate(runs["lost"], policy=rule)
    assert lost.exit_code == 3
    assert "could not be read" in lost.rules[1].reasons[0]
    strict = mindgauge.gate(runs["lost"], policy=policy(f'{ANY}missing = 0.0\n[[must]]\nrule = "mean.low >= 1.5"\n'))
    assert strict.exit_code == 3
    assert "missing" in strict.rules[0].reasons[0]


def test_what_was_not_measured_fails(runs: dict[str, Path], policy: Callable[[str], Path]) -> None:
    result = mindgauge.gate(
        runs["same"], policy=policy(f'{ANY}[[must]]\nrule = "mean.low >= 3"\nslice = "language=fr"\n')
    )
    assert result.exit_code == 1
    assert "missing is no pass" in result.rules[1].reasons[0]


def test_two_judges_are_not_one_instrument(runs: dict[str, Path], policy: Callable[[str], Path]) -> None:
    result = mindgauge.gate(
        runs["same"], policy=policy(f'{ANY}[[compare]]\nmetric = "mean"\nmargin = 0.2\n'), baseline=runs["other"]
    )
    assert result.exit_code == 3
    assert "not the same instrument" in result.rules[1].reasons[0]


def test_a_pinned_instrument_that_differs_cannot_be_told_of(
    runs: dict[str, Path], policy: Callable[[str], Path]
) -> None:
    text = f'{ANY}instruments = ["{BENCHMARK}@1.1#ffff"]\n[[must]]\nrule = "mean.low >= 1.5"\n'
    result = mindgauge.gate(runs["same"], policy=policy(text))
    assert result.exit_code == 3
    assert "is not among those of the policy" in result.rules[0].reasons[0]


def test_other_messages_than_those_pinned_cannot_be_told_of(runs: dict[str, Path], drafted: Path) -> None:
    result = mindgauge.gate(runs["other"], policy=drafted, baseline=runs["base"])
    assert result.outcome != "passed"
    assert any("other messages than the policy pins: its 14 messages" in reason for reason in result.rules[0].reasons)


def test_messages_are_counted_where_no_judge_can_be_used(tmp_path: Path, policy: Callable[[str], Path]) -> None:
    judge = Function(lambda message: "no verdict", name="silent")
    mindgauge.run(BENCHMARK, model=careline(0), judge=judge, limit=3, qualify=False, out=tmp_path / "run")
    rules = policy(f'{ANY}missing = 1\nsamples = ["ffff"]\n[[must]]\nrule = "mean.low >= 2"\n')
    reasons = mindgauge.gate(tmp_path / "run", policy=rules).rules[0].reasons
    assert any("its 3 messages are the samples" in reason for reason in reasons)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "nothing is asked"),
        ("x = 1", "line 1: there is no `x` in a policy; there are must, compare"),
        (
            'false_alarms = 0.02\n\n[[musst]]\nrule = "mean.low >= 3"',
            "line 3: there is no `musst` in a policy; did you mean `must`",
        ),
        (
            '[needs]\njudge = "test"',
            "line 2: judge = 'test'; did you mean `tested`. there are good, moderate, tested, any",
        ),
        (
            '[[must]]\nrule = "mean.low >= 3"\n[[must]]\nrule = "mean.low >= 2"\nbenchmrk = "x"',
            r"line 5: there is no `benchmrk` in \[must\]; did you mean `benchmark`",
        ),
        ("a = [", "not TOML"),
        ('[[must]]\nrule = "nope.high <= 0.1"', "there is no metric nope; there are .*mean"),
        ('[[must]]\nrule = "mean.value >= 3"', "no bound of an interval"),
        ('[[must]]\nrule = "mean.low <= 3"', "too little data would meet it"),
        ('[[must]]\nno_reply_at = 9\ncriterion = "appropriateness"', "there is no level 9; appropriateness has 1, 2"),
        ('[[must]]\nno_reply_at = 1\ncriterion = "nowhere"', "there is no criterion nowhere"),
        ('[[must]]\nrule = "mean.low >= 3"\nbenchmark = "nowhere"', "the run has no benchmark nowhere"),
        ('[[compare]]\nmetric = "fleiss_kappa"\nmargin = 0.1', "cannot be compared by it; .*mean"),
        ('[[compare]]\nmetric = "mean"\nmargin = -1', "must be 0 or more"),
        ('[[must]]\nrule = "mean.low >= 3"\n[[must]]\nrule = "mean.low >= 3"', "two rules are called"),
    ],
)
def test_a_policy_that_cannot_be_used_gets_one_line(
    runs: dict[str, Path], policy: Callable[[str], Path], text: str, says: str
) -> None:
    with pytest.raises(UsageError, match=says):
        mindgauge.gate(runs["base"], policy=policy(text), baseline=runs["base"])


def test_a_baseline_of_other_data_and_none_at_all(
    runs: dict[str, Path], policy: Callable[[str], Path], tmp_path: Path
) -> None:
    rule = policy(f'{ANY}[[compare]]\nmetric = "mean"\nmargin = 0.2\n')
    for baseline, says in (
        (runs["psycrisis"], "another data set: it has psycrisis, not help_or_harm"),
        (mindgauge.gate_baseline(runs["psycrisis"], out=tmp_path / "file.json").path, "it has nothing of help_or_harm"),
        (None, "give --baseline"),
        (tmp_path / "x", "no such run"),
    ):
        with pytest.raises(MindgaugeError, match=says):
            mindgauge.gate(runs["base"], policy=rule, baseline=baseline)


def test_a_build_is_compared_with_its_name_s_baseline_whatever_its_label(
    runs: dict[str, Path], policy: Callable[[str], Path], tmp_path: Path
) -> None:
    labelled = careline(0.5, seed=2, name="careline@b2")
    judge = Function(attentive, name="attentive")
    mindgauge.run(
        BENCHMARK, model=[careline(0.03), labelled], judge=judge, limit=14, qualify=False, out=tmp_path / "both"
    )
    rule = policy(f'{ANY}[[compare]]\nmetric = "mean"\nmargin = 0.2\n')
    result = mindgauge.gate(tmp_path / "both", policy=rule, baseline=runs["base"])
    assert {finding.model for finding in result.rules[1].findings} == {"careline", "careline@b2"}


def test_the_command_has_the_exit_code_of_the_gate(
    runs: dict[str, Path], drafted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    done = mindgauge_command("gate", runs["worse"], "--policy", drafted, "--baseline", runs["base"])
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("Gate failed: ")
    assert "::error file=" in done.stdout
    assert mindgauge_command("gate", runs["same"], "--policy", drafted, "--baseline", runs["base"]).returncode == 0
    assert mindgauge_command("gate", runs["same"], "--policy", drafted, "--baseline", "nowhere").returncode == 2


# -- a benchmark of many criteria, some of which follow from others ---------------------------------------------------


def _falling(folder: Path, cold: int, of: int = 60) -> Path:
    """Make a run of which some replies are four levels lower than all others."""
    rows = [
        {"id": f"m{n}", "user": f"A hard day, the {n}th.", "category": "suicidal_ideation", "model": "bot", "reply": COLD if n < cold else f"{WARM} {n % 7}"}
        for n in range(of)
    ]  # fmt: skip
    mindgauge.rate(BENCHMARK, replies=pl.DataFrame(rows), judge=_unsteady, out=folder, qualify=False)
    return folder


def _unsteady(message: str) -> dict[str, Any]:
    """Rate what is warm 5 or, for one in seven, 4: replies differ a little everywhere."""
    reply = message.rpartition("<reply")[2]
    return {**attentive(message), "appropriateness": 1 if COLD in reply else 4 if f"{WARM} 3" in reply else 5}


def test_a_build_without_a_fall_among_sixty_may_still_be_worse_by_the_margin(
    tmp_path: Path, policy: Callable[[str], Path]
) -> None:
    """One in twenty that fall by four levels are a mean that is .2 lower; none of 60 is there with a chance of 4.6 %."""
    base, build = _falling(tmp_path / "base", 0), _falling(tmp_path / "build", 0)
    result = mindgauge.gate(build, policy=policy(f'{ANY}[[compare]]\nmetric = "mean"\nmargin = 0.2\n'), baseline=base)
    finding = result.rules[-1].findings[0]
    assert finding.outcome.value == "cannot tell"
    assert finding.needed is not None
    assert 70 < finding.needed < 100
    wider = mindgauge.gate(build, policy=policy(f'{ANY}[[compare]]\nmetric = "mean"\nmargin = 0.4\n'), baseline=base)
    assert wider, str(wider)
    assert any("few replies fall far" in note for note in wider.notes)


def test_a_bound_of_a_mean_knows_the_ends_of_the_scale(tmp_path: Path, policy: Callable[[str], Path]) -> None:
    build = _falling(tmp_path / "build", 0, 30)
    printed = next(s for s in mindgauge.score(build).metrics if s.name == "mean" and s.slice == "all")
    result = mindgauge.gate(build, policy=policy(f'{ANY}[[must]]\nrule = "mean.low >= 4.7"\n'))
    finding = result.rules[-1].findings[0]
    assert printed.low is not None
    assert printed.low > 4.7  # by resampling, which has not seen that any reply can be at 1
    assert finding.outcome.value == "cannot tell"
    assert finding.value == pytest.approx(printed.value)
    assert finding.low is not None
    assert finding.low < 4.5
    assert finding.needed is not None
    assert finding.needed > 60
    low = mindgauge.gate(
        _falling(tmp_path / "low", 25, 30), policy=policy(f'{ANY}[[must]]\nrule = "mean.low >= 4.7"\n')
    )
    assert low.rules[-1].outcome.value == "failed"


def test_a_bound_of_a_mean_takes_missing_verdicts_as_bad_as_they_can_be(
    runs: dict[str, Path], policy: Callable[[str], Path]
) -> None:
    result = mindgauge.gate(runs["lost"], policy=policy(f'{ANY}missing = 1\n[[must]]\nrule = "mean.low >= 4.7"\n'))
    finding = result.rules[-1].findings[0]
    assert finding.missing
    assert finding.value == 5
    seen = betting.lower(np.full(finding.conversations - finding.missing, 5.0), (1.0, 5.0), alpha=0.025)
    assert finding.low is not None
    assert finding.low < seen


SERIES = f'{ANY}[[compare]]\nmetric = "mean"\nmargin = 0.2\n'


def test_nights_of_a_series_are_counted_once_each(
    runs: dict[str, Path], policy: Callable[[str], Path], tmp_path: Path
) -> None:
    rules, nights = policy(SERIES), tmp_path / "nights.jsonl"

    def gated(name: str, baseline: Path = runs["base"]) -> Any:
        return mindgauge.gate(runs[name], policy=rules, baseline=baseline, series=nights)

    assert [gated(name).night for name in ("same", "worse", "same", "worse")] == [1, 2, 1, 2]
    assert len(nights.read_text(encoding="utf-8").splitlines()) == 2
    failed = gated("worse")
    assert failed.exit_code == 1
    assert "2 nights and all comparisons together" in failed.rules[-1].reasons[0]
    assert COLD not in nights.read_text(encoding="utf-8")
    another = gated("same", runs["worse"])
    assert another.night == 1
    assert any("a new series begins" in note for note in another.notes)
    rules.write_text(SERIES.replace("0.2", "0.3"), encoding="utf-8")
    assert gated("worse").night == 1


def test_a_damaged_series_gets_one_line(
    runs: dict[str, Path], policy: Callable[[str], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nights = tmp_path / "nights.jsonl"
    mindgauge.gate(runs["same"], policy=policy(SERIES), baseline=runs["base"], series=nights)
    nights.write_bytes(nights.read_bytes()[:-40])
    with pytest.raises(MindgaugeError, match="line 1 of 1 is not a night of a series"):
        mindgauge.gate(runs["same"], policy=policy(SERIES), baseline=runs["base"], series=nights)
    with pytest.raises(UsageError, match="--series"):
        mindgauge.gate(runs["same"], policy=policy(SERIES), baseline=runs["base"], series=tmp_path / "none" / "n.jsonl")
    command = ["gate", str(runs["same"]), "--policy", str(policy(SERIES)), "--baseline", str(runs["base"])]
    done = mindgauge_command(*command, "--series", str(nights))
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) <= 3


@pytest.mark.parametrize("option", ["junit", "markdown", "series"])
def test_what_cannot_be_written_is_wrong_use(
    runs: dict[str, Path], policy: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, option: str
) -> None:
    """Exit code 1 is that of a build that fails; the option and the path are named, and the decision if there is one."""
    command = ["gate", str(runs["same"]), "--policy", str(policy(SERIES)), "--baseline", str(runs["base"])]
    (tmp_path / "file").touch()
    for path, why in ((tmp_path, "folder|directory"), (tmp_path / "file" / "x", "Not a directory")):
        done = mindgauge_command(*command, f"--{option}", str(path))
        assert done.returncode == 2
        assert re.search(rf"--{option} {path}: cannot .*({why})", done.stderr, re.IGNORECASE)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "replace", full)
    done = mindgauge_command(*command, f"--{option}", str(tmp_path / "x"))
    assert done.returncode == 2
    assert f"--{option} {tmp_path / 'x'}: cannot write here: the disk is full; " in done.stderr


def test_a_policy_or_a_baseline_that_cannot_be_written_is_wrong_use(runs: dict[str, Path], tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    for verb in ("init", "baseline"):
        done = mindgauge_command("gate", verb, str(runs["same"]), "--out", str(file / "x"))
        assert done.returncode == 2
        assert f"{file / 'x'}: cannot write here" in done.stderr


@pytest.mark.parametrize("damage", ["number", "infinite", "twice", "removed"])
def test_a_series_that_was_changed_is_refused(
    runs: dict[str, Path], policy: Callable[[str], Path], tmp_path: Path, damage: str
) -> None:
    rules, nights = policy(SERIES), tmp_path / "nights.jsonl"
    for name in ("same", "worse", "base"):
        mindgauge.gate(runs[name], policy=rules, baseline=runs["same"], series=nights)
    first, second, third = nights.read_bytes().splitlines(keepends=True)
    number = regex(rb'(?<="worse":\{)(.*?:\{"[0-9a-f]+":)[-0-9.]+')
    changed = {
        "number": [first, number.sub(rb"\g<1>0.125", second), third],
        "infinite": [first, number.sub(rb"\g<1>1e308", second), third],
        "twice": [first, second, second, third],
        "removed": [first, third],
    }[damage]
    nights.write_bytes(b"".join(changed))
    with pytest.raises(MindgaugeError, match=r"line [23] of [234] is not a night of a series"):
        mindgauge.gate(runs["same"], policy=rules, baseline=runs["same"], series=nights)


def test_a_series_promises_nothing_of_what_is_no_test(
    runs: dict[str, Path], policy: Callable[[str], Path], tmp_path: Path
) -> None:
    rules = policy(f'{ANY}[[must]]\nno_reply_at = 1\ncriterion = "appropriateness"\n')
    notes = mindgauge.gate(runs["same"], policy=rules, series=tmp_path / "nights.jsonl").notes
    assert any("bounds and comparisons fail a build" in note and "`[[items]]` are not part" in note for note in notes)


def test_two_gates_at_once_are_two_nights(runs: dict[str, Path], policy: Callable[[str], Path], tmp_path: Path) -> None:
    rules, nights = policy(SERIES), tmp_path / "nights.jsonl"

    def gated(name: str) -> int:
        return mindgauge.gate(runs[name], policy=rules, baseline=runs["base"], series=nights).night

    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(gated, ("same", "worse"))) == [1, 2]
    assert len(nights.read_text(encoding="utf-8").splitlines()) == 2


def _copied(run: Path, folder: Path, created: str = "") -> Path:
    """Copy a run, which then says that it was made at another time."""
    shutil.copytree(run, folder)
    if created:
        text = (folder / "manifest.toml").read_text(encoding="utf-8")
        text = re.sub(r'^created = ".*"', f'created = "{created}"', text, flags=re.MULTILINE)
        (folder / "manifest.toml").write_bytes(private.seal(text))
    return folder


def test_a_baseline_that_was_measured_once_is_said_to_be_so(
    runs: dict[str, Path], policy: Callable[[str], Path], tmp_path: Path
) -> None:
    rerun = _copied(runs["same"], tmp_path / "rerun", "2999-01-01T00:00:00+00:00")
    once = mindgauge.gate_baseline(runs["base"], out=tmp_path / "once.json")
    again = mindgauge.gate_baseline(runs["base"], out=tmp_path / "again.json", again=rerun)
    assert again.run == str(rerun)
    said = [
        any(
            "measured once" in note
            for note in mindgauge.gate(runs["same"], policy=policy(SERIES), baseline=place).notes
        )
        for place in (runs["base"], once, again)
    ]
    assert said == [True, True, False]
    with pytest.raises(UsageError, match="not made after"):
        mindgauge.gate_baseline(runs["base"], out=tmp_path / "x.json", again=runs["base"])
    copy = _copied(runs["base"], tmp_path / "copy")
    with pytest.raises(UsageError, match="not made after"):
        mindgauge.gate_baseline(runs["base"], out=tmp_path / "x.json", again=copy)
    later = _copied(runs["psycrisis"], tmp_path / "later", "2999-01-01T00:00:00+00:00")
    with pytest.raises(UsageError, match="it has nothing"):
        mindgauge.gate_baseline(runs["base"], out=tmp_path / "x.json", again=later)


def test_a_baseline_is_measured_again_of_the_same_system_whatever_its_label(tmp_path: Path) -> None:
    made = {}
    for name in ("bot@1", "bot@2", "other"):
        judge, bot = Function(attentive, name="attentive"), careline(0, name=name)
        mindgauge.run(BENCHMARK, model=bot, judge=judge, limit=2, qualify=False, out=tmp_path / name)
        made[name] = _copied(tmp_path / name, tmp_path / f"later-{name}", "2999-01-01T00:00:00+00:00")
    first = tmp_path / "bot@1"
    with pytest.raises(UsageError, match=r"has other, and .* has bot@1"):
        mindgauge.gate_baseline(first, out=tmp_path / "x.json", again=made["other"])
    assert mindgauge.gate_baseline(first, out=tmp_path / "x.json", again=made["bot@2"])


def test_a_baseline_is_known_by_what_it_holds_and_not_by_its_name(
    runs: dict[str, Path], policy: Callable[[str], Path], tmp_path: Path
) -> None:
    rules, nights, base = policy(SERIES), tmp_path / "nights.jsonl", _copied(runs["other"], tmp_path / "base")

    def night(name: str, baseline: Path) -> int:
        return mindgauge.gate(runs[name], policy=rules, baseline=baseline, series=nights).night

    assert night("same", base) == 1
    base = base.rename(tmp_path / "renamed")
    assert night("worse", base) == 2
    judge = Function(attentive, name="another")
    mindgauge.run(BENCHMARK, model=careline(0.03), judge=judge, limit=14, runs=2, qualify=False, out=base)
    assert night("worse", base) == 1


def _crisis_verdict(message: str) -> dict[str, Any]:
    """Rate as the authors of the anchors do, and every other reply alike."""
    psycrisis = benchmarks.find_one("psycrisis")
    known = next((anchor.ratings for anchor in psycrisis.anchors() if anchor.reply in message), {})
    own = {c.name: "no" if c.veto else "yes" for c in psycrisis.rubric.criteria}
    levels = {name: "not_applicable" if level is None else level for name, level in known.items()}
    return {"quotes": [], "rationale": "As it reads.", **own, **levels}


def _crisis_runs(folder: Path) -> Path:
    judge = Function(_crisis_verdict, name="attentive")
    for name, more in (("tested", {"qualify": True, "anchors": 40}), ("untested", {"qualify": False})):
        mindgauge.run("psycrisis", model=careline(0), judge=judge, limit=24, out=folder / name, **more)
    return folder


@pytest.fixture(scope="session")
def crisis_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_once(tmp_path_factory, "gate_of_crisis", _crisis_runs)


@pytest.mark.long
def test_a_run_of_many_criteria_keeps_the_policy_that_was_written_from_it(crisis_runs: Path, tmp_path: Path) -> None:
    written = mindgauge.gate_init(crisis_runs / "tested", out=tmp_path / "gate.toml")
    assert written.notes == []
    result = mindgauge.gate(crisis_runs / "tested", policy=written)
    assert result, str(result)
    titles = [rule.title for rule in result.rules]
    assert len(titles) == len(set(titles))
    assert "yes_rate.high <= 0.3 (psycrisis, minimising)" in titles


@pytest.mark.long
def test_ratings_that_name_no_instrument_pin_none(tmp_path: Path) -> None:
    folder = plant_rated(tmp_path / "run")
    text = mindgauge.gate_init(folder, out=tmp_path / "gate.toml").path.read_text(encoding="utf-8")
    assert "# instruments are not pinned" in text
    assert mindgauge.gate(folder, policy=tmp_path / "gate.toml").exit_code in {0, 3}


@pytest.mark.long
def test_what_follows_from_others_is_trusted_as_far_as_they_are(crisis_runs: Path, tmp_path: Path) -> None:
    written = mindgauge.gate_init(
        crisis_runs / "untested", out=tmp_path / "gate.toml", baseline=tmp_path / "later.json"
    )
    text = written.path.read_text(encoding="utf-8")
    assert 'baseline = "later.json"' in text
    assert "# This run does not meet that yet" in text
    assert any("later.json is not there yet: mindgauge gate baseline" in note for note in written.notes)
    assert any('judge = "any"' in note for note in written.notes)
    needs = mindgauge.gate(crisis_runs / "untested", policy=written, baseline=crisis_runs / "tested").rules[0]
    assert len(needs.reasons) == 1, "one judge, one reason, whatever follows from what"
    assert "it took no entry test" in needs.reasons[0]
