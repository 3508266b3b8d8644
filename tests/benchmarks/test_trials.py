"""Trials of a rubric's words: the file is read strictly, the line is told by the worst reader, a changed rubric says so."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec
import pytest

import mindgauge
from mindgauge import benchmarks
from mindgauge.benchmarks import trials
from mindgauge.benchmarks.trials import NONE, RubricTrial
from mindgauge.records.errors import FaultsError, UsageError
from mindgauge.records.rubric import Method
from mindgauge.reports.language import memory
from mindgauge.reports.language.translator import Translator
from tests.benchmarks.test_own_folder import least
from tests.in_process import mindgauge as typed

if TYPE_CHECKING:
    from pathlib import Path

WARM = """\
[[trial]]
date = 2026-11-28
language = "en"
reader = "a large language model"
rubric = "warmth@1"
hash = "0123456789ab"
method = "rule"
data = "48 replies"
n = 48
criterion = "warm"
people = "clinicians"
people_icc = 0.87
finds = "replies that clinicians rated unsafe"
written_on = "60 other rows"
readings = [
  { icc = 0.77, unsafe_found = [15, 15], false_alarms = [5, 33] },
  { icc = 0.76, unsafe_found = [14, 15], false_alarms = [0, 33] },
]
"""
TOLD = (
    "Trial of this rubric, English, method rule, 2026-11-28: 2 readers (a large language model) of 48 replies. The worse one found 14 of 15 "
    "replies that clinicians rated unsafe (lower 95 % limit 68 %; 0 of 33 false alarms; ICC 0.76 with clinicians, 0.87 among them). "
    "Its wording was written on 60 other rows."
)
USED = "warmth@1#0123456789ab"


def of(text: str) -> tuple[RubricTrial, ...]:
    return msgspec.toml.decode(text, type=dict[str, tuple[RubricTrial, ...]])["trial"]


def test_the_worst_reader_decides_the_line() -> None:
    assert trials.lines(of(WARM), [USED], ["en"]) == [TOLD]


def test_a_language_without_a_trial_is_named() -> None:
    assert trials.lines(of(WARM), [USED], ["en", "zh"]) == [TOLD, "No trial of this rubric in Chinese."]
    assert trials.lines(of(WARM), [USED], ["zh"]) == ["No trial of this rubric in Chinese."]
    assert trials.lines(of(WARM), [USED], []) == [TOLD], "where the language is not known"


@pytest.mark.parametrize("used", ["others@1#0123456789ab", "warmth@1+authors-12#3456789abcde", "warmth+own@1#0123456789ab"])  # fmt: skip
def test_other_words_than_those_of_the_trial_have_none(used: str) -> None:
    assert trials.lines(of(WARM), [used], ["en"]) == [NONE]


def test_no_file_is_no_trial(tmp_path: Path) -> None:
    assert trials.read(tmp_path) == ()
    assert trials.lines((), [USED], ["en"]) == [NONE]


def test_a_rubric_that_changed_since_says_so() -> None:
    changed = "The rubric has changed since this trial (version 1 then, 2 now)."
    assert trials.lines(of(WARM), ["warmth@2#ffffffffffff"], ["en"]) == [f"{TOLD} {changed}"]
    reworded = "Not every word is that of the trial, though the version is the same."
    assert trials.lines(of(WARM), ["warmth@1#ffffffffffff"], ["en"]) == [f"{TOLD} {reworded}"]


def test_of_several_trials_the_newest_of_the_words_in_use_counts() -> None:
    older = WARM.replace("2026-11-28", "2026-11-01").replace("60 other rows", "old rows")
    other = WARM.replace("2026-11-28", "2026-12-24").replace("0123456789ab", "ba9876543210")
    assert trials.lines(of(older + WARM + other), [USED], ["en"]) == [TOLD]
    assert "2026-12-24" in trials.lines(of(older + WARM + other), ["warmth@2#ffffffffffff"], ["en"])[0]
    both = trials.lines(of(WARM + other), [USED, "warmth@1#ba9876543210"], ["en"])
    assert len(both) == 2, "a line for each wording that was used"


def test_criteria_of_one_trial_stand_in_one_line() -> None:
    second = WARM.replace('"warm"', '"not_cold"').replace("[14, 15]", "[3, 15]")
    (line,) = trials.lines(of(WARM + second), [USED], ["en"])
    assert "On warm, the worse one found 14 of 15" in line
    assert "On not cold, the worse one found 3 of 15" in line


def test_labels_have_kappa_and_unread_verdicts_are_told() -> None:
    reading = "{ kappa = 0.7, same = [40, 48], unsafe_found = [31, 40], false_alarms = [0, 8], unread = 2 }"
    entry = re.sub(r"readings = .*", f"readings = [{reading}]", WARM, flags=re.DOTALL)
    (line,) = trials.lines(of(entry), [USED], ["en"])
    assert "It found 31 of 40 replies that clinicians rated unsafe (lower 95 % limit 62 %; 0 of 8 false alarms; kappa (nominal) 0.70 with clinicians; the same level for 40 of 48; 2 verdicts not readable)." in line  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("people_icc = 0.87", "people_icc = nan", "people_icc is nan, not between -1 and 1"),
        ("unsafe_found = [15, 15]", "bias = inf, unsafe_found = [15, 15]", "bias = inf is no number of levels"),
        (
            "unsafe_found = [15, 15], false_alarms = [5, 33]",
            "unsafe_found = [0, 0]",
            "unsafe_found = [0, 0], but n is 48",
        ),
        ('data = "48 replies"', 'data = "48 replies"\nrater = "x"', "unknown field `rater`"),
        ("n = 48\n", "", "missing required field `n`"),
        ("[15, 15]", "[16, 15]", "unsafe_found = [16, 15], but n is 48"),
        ("[5, 33]", "[5, 34]", "unsafe_found is of 15 and false_alarms of 34, but n is 48"),
        ("n = 48", "n = 14", "unsafe_found = [15, 15], but n is 14"),
        ("icc = 0.77", "icc = 1.77", "icc = 1.77 is not between -1 and 1"),
        ('"warmth@1"', '"warmth"', "rubric = 'warmth' is not id@version"),
        ("date = 2026-11-28", 'date = "last year"', "Invalid RFC3339"),
        ("icc = 0.77", "unread = 49, icc = 0.77", "unread = 49, but n is 48"),
        ('finds = "replies that clinicians rated unsafe"\n', "", "unsafe_found needs finds"),
    ],
)
def test_the_file_is_read_strictly_in_one_line(tmp_path: Path, old: str, new: str, fault: str) -> None:
    (tmp_path / "trial.toml").write_text(WARM.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(UsageError) as error:
        trials.read(tmp_path)
    assert fault in str(error.value)
    assert str(error.value).startswith(f"{tmp_path / 'trial.toml'}: ")
    assert "\n" not in str(error.value)


def test_a_folder_of_the_users_own_may_have_one(tmp_path: Path) -> None:
    folder = least(tmp_path / "warm", **{"trial.toml": WARM})
    (entry,) = mindgauge.list(str(folder)).benchmarks
    assert [t.hash for t in entry.trials] == ["0123456789ab"]
    assert "Trial of this rubric, English" in entry.trial[0]
    broken = least(tmp_path / "broken", **{"trial.toml": WARM.replace("n = 48", "n = 4")})
    with pytest.raises(FaultsError, match=re.escape("trial.toml: unsafe_found = [15, 15], but n is 4")):
        benchmarks.asked_one(str(broken))


def test_the_card_and_its_json_have_the_line() -> None:
    printed = " ".join(typed("list", "help_or_harm/crisis_type").stdout.split())
    (entry,) = mindgauge.list("help_or_harm/crisis_type").benchmarks
    assert entry.trial
    assert all(line in printed for line in entry.trial)
    assert NONE in " ".join(typed("list", "mentalbench").stdout.split())
    content = msgspec.json.decode(typed("list", "help_or_harm/crisis_type", "--json").stdout)["benchmarks"][0]
    assert content["trial"] == list(entry.trial)
    assert content["trials"][0]["readings"]


SHIPPED = [name for name in benchmarks.names() if trials.read(benchmarks.find_one(name).folder)]


@pytest.mark.parametrize("name", SHIPPED)
def test_every_shipped_trial_is_of_its_own_rubric(name: str) -> None:
    benchmark = benchmarks.find_one(name)
    instruments = [benchmark.instrument(method=method) for method in Method]
    hashes = {i.name.partition("#")[2] for i in (*instruments, *(i.of_dialogues for i in instruments))}
    for trial in trials.read(benchmark.folder):
        assert trial.rubric.partition("@")[0] == benchmark.rubric.id
        assert trial.criterion in {criterion.name for criterion in benchmark.rubric.criteria}
        assert trial.language in benchmark.card.languages
        assert re.fullmatch("[0-9a-f]{12}", trial.hash)
        if trial.rubric == benchmark.rubric.name:
            assert trial.hash in hashes, "the wording has changed, and the version has not"


def test_what_is_said_of_shipped_trials_is_said_in_chinese_too() -> None:
    assert SHIPPED
    said = Translator(memory.read("zh"), benchmarks.names())
    for name in benchmarks.names():
        benchmark = benchmarks.find_one(name)
        known = trials.read(benchmark.folder)
        used = {f"{trial.rubric}#{trial.hash}" for trial in known} | {benchmark.instrument().name}
        for line in trials.lines(known, used, benchmark.card.languages):
            said.sentences(line)
        for line in trials.lines(known, {f"{benchmark.rubric.id}@9#0"}, ["en", "zh"]):
            said.sentences(line)
            said.sentences(f"{name}: {line}")
    said.sentences(f"vera_mh and mentalbench: {NONE}")
    said.sentences("Not every word is that of the trial, though the version is the same.")
    assert said.english == []
