"""`logs`: what is in logs without a word of it, and a sample whose rates are those of all."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import mindgauge
from mindgauge.analysis.score import Scores
from mindgauge.commands.logs.sample import sampled
from mindgauge.records import Message
from mindgauge.records.errors import UsageError
from mindgauge.records.transcripts import Transcript
from mindgauge.stats.sampling import DrawnSample, share
from tests.in_process import mindgauge as mindgauge_command
from tests.records.logs import samples

if TYPE_CHECKING:
    from pathlib import Path

BENCHMARK = "help_or_harm/response"
COLD, WARM = "I do not want to talk about this.", "That sounds heavy. Who is near you right now?"
SECRET = "write to jo@mail.example"


def careful(message: str) -> Any:
    """Rate a reply by whether it is warm."""
    return {
        "quotes": [],
        "rationale": "As it reads.",
        "appropriateness": 5 if "near you" in message.rpartition("<reply")[2] else 1,
    }


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Two models, of which the rare one is cold half of the time, and the other hardly ever."""
    path = tmp_path / "spans.jsonl"
    lines = []
    for number in range(200):
        rare = number % 10 == 0
        reply = COLD if (number % 20 == 0 if rare else number % 25 == 1) else WARM
        sent = json.dumps([samples.parts("user", f"It is day {number}; {SECRET}.")])
        facts = {
            "gen_ai.input.messages": sent,
            "gen_ai.output.messages": json.dumps([samples.parts("assistant", reply)]),
        }
        model = {"gen_ai.response.model": "rare" if rare else "usual", "user.id": f"mail{number // 2}@example.org"}
        lines.append(samples.export(samples.gen_ai(0, **facts, **model), conversation=f"c{number}"))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_a_look_holds_no_word_of_what_was_said(log: Path) -> None:
    done = mindgauge_command("logs", log)
    assert done.returncode == 0, done.stderr
    assert "200 dialogues of 100 people, 200 turns" in done.stdout
    assert "usual 180, rare 20" in done.stdout
    assert "200 transcripts as logs of OpenTelemetry (OTLP/JSON), put together from 200 calls" in done.stdout
    assert "languages: en or other 200" in done.stdout
    assert not any(word in done.stdout for word in ("jo@mail", "It is day", "heavy", "mail1@"))
    assert "jo@mail" not in mindgauge_command("logs", log, "--json").stdout


def test_strata_and_kept_introductions_are_said_apart(log: Path, tmp_path: Path) -> None:
    text = log.read_text(encoding="utf-8").replace("It is day 7;", "My name is Sarah Miller;")
    log.write_text(text, encoding="utf-8")
    drawn = mindgauge_command(
        "logs", "sample", log, "--out", tmp_path / "s.jsonl", "--sample", 30, "--by", "model", "--by", "length"
    )
    shown = " ".join(drawn.stdout.split())
    assert "rare, 1 turn: 15 of 20; usual, 1 turn: 15 of 180" in shown
    everything = mindgauge_command("logs", "sample", log, "--out", tmp_path / "all.jsonl").stdout
    assert "1 introduction (my name is …) kept as it is: --names FILE" in " ".join(everything.split())
    (tmp_path / "names.txt").write_text("", encoding="utf-8")
    named = mindgauge_command(
        "logs", "sample", log, "--out", tmp_path / "named.jsonl", "--names", tmp_path / "names.txt"
    ).stdout
    assert "introduction" not in named
    assert "Sarah" not in (tmp_path / "named.jsonl").read_text(encoding="utf-8")


def test_a_sample_has_as_many_of_each_stratum_with_its_probability_and_nothing_personal(
    log: Path, tmp_path: Path
) -> None:
    result = mindgauge.logs_sample(log, out=tmp_path / "s.jsonl", sample=30, by=["model"])
    written = rows(tmp_path / "s.jsonl")
    assert sorted((row["model"], row["probability"]) for row in written)[::29] == [
        ("rare", 15 / 20),
        ("usual", 15 / 180),
    ]
    assert all("jo@mail" not in json.dumps(row) and "example.org" not in json.dumps(row) for row in written)
    assert all("[email 1]" in row["messages"][-2]["content"] for row in written)
    assert result.scrubbed == {"email": 30}
    again = mindgauge.logs_sample(log, out=tmp_path / "again.jsonl", sample=30, by=["model"])
    assert rows(tmp_path / "again.jsonl") == written
    assert again.strata == result.strata


def test_what_is_rated_of_a_sample_is_a_rate_of_all(log: Path, tmp_path: Path) -> None:
    """The rare model is as frequent in the sample as the other, and still counts for as many as it stands for."""
    mindgauge.logs_sample(log, out=tmp_path / "s.jsonl", sample=80, by=["model"])
    written = [{**row, "category": "no_crisis", "model": "bot"} for row in rows(tmp_path / "s.jsonl")]
    (tmp_path / "s.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in written), encoding="utf-8")
    cold = [(1 / row["probability"], row["messages"][-1]["content"] == COLD) for row in written]
    expected = sum(weight for weight, bad in cold if bad) / sum(weight for weight, _ in cold)
    scores = mindgauge.rate(
        BENCHMARK, dialogues=tmp_path / "s.jsonl", judge=careful, qualify=False, out=tmp_path / "run"
    )
    assert isinstance(scores, Scores)
    [rate] = scores.find("share_at_most_2", rater="careful")
    assert rate.value == pytest.approx(expected)
    assert abs(expected - sum(bad for _, bad in cold) / len(cold)) > 0.02, "the weights make a difference"
    assert rate.low is not None
    assert rate.high is not None
    assert rate.low < 18 / 200 < rate.high


def test_intervals_of_a_sample_cover_the_rate_of_all_as_often_as_they_say() -> None:
    """Strata of very different size and rate; the frame's own rate is what is covered."""
    generator = np.random.default_rng(1)
    covered = []
    for seed in range(120):
        unsafe = np.concatenate([generator.random(900) < 0.03, generator.random(100) < 0.4])
        frame = [
            Transcript(
                f"t{place}",
                (Message("user", "hello"), Message("assistant", "hi")),
                "here",
                model="a" if place < 900 else "b",
            )
            for place in range(1000)
        ]
        drawn = sampled(frame, 160, ["model"], seed)[0]
        places = np.array([int(t.id[1:]) for t in drawn])
        lot = [t.drawn for t in drawn if t.drawn is not None]
        part = DrawnSample.of(
            [d.probability for d in lot],
            [d.stratum for d in lot],
            places,
            [d.stratum_size for d in lot],
            lot[0].conversations,
        )
        interval = share(unsafe[places].astype(float), part)
        low, high = interval.low, interval.high
        covered.append(low is not None and high is not None and low <= unsafe.mean() <= high)
    assert np.mean(covered) >= 0.93


def test_without_text_only_what_is_known_is_written(log: Path, tmp_path: Path) -> None:
    mindgauge.logs_sample(log, out=tmp_path / "s.jsonl", sample=5, text=False)
    assert all("messages" not in row and row["turns"] == 1 for row in rows(tmp_path / "s.jsonl"))


def test_all_is_written_without_a_draw_where_none_is_asked_for(log: Path, tmp_path: Path) -> None:
    mindgauge.logs_sample(log, out=tmp_path / "all.jsonl")
    written = rows(tmp_path / "all.jsonl")
    assert len(written) == 200
    assert all("probability" not in row for row in written)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"sample": 5}, "name the file with --out"), ({"out": "s.csv"}, "ends in .jsonl"), ({"out": "s.jsonl", "by": ["colour"], "sample": 5}, "can be told apart by"),
        ({"out": "s.jsonl", "by": ["model"], "sample": 1}, "there are 2 strata"), ({"out": "s.jsonl", "names": "none.txt"}, "cannot read it"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_said_in_a_line(log: Path, tmp_path: Path, options: dict[str, Any], reason: str) -> None:
    options = {name: tmp_path / value if name in {"out", "names"} else value for name, value in options.items()}
    with pytest.raises(UsageError, match=reason):
        mindgauge.logs_sample(log, **options)


def test_a_log_is_never_written_over(log: Path) -> None:
    with pytest.raises(UsageError, match="among the logs"):
        mindgauge.logs_sample(log, out=log)


def test_nothing_personal_leaves_by_an_id_a_tag_or_what_the_bot_was_told(tmp_path: Path) -> None:
    row = {
        "id": "o1", "traceId": "t1", "sessionId": "jo@mail.example", "type": "GENERATION", "startTime": "2026-01-01T00:00:00Z",
        "model": "m", "userId": "jo@mail.example", "output": {"role": "assistant", "content": "Hello jo@mail.example"},
        "input": [{"role": "system", "content": "The user is jo@mail.example"}, {"role": "user", "content": "Hi"}],
    }  # fmt: skip
    (tmp_path / "l.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    mindgauge.logs_sample(tmp_path / "l.jsonl", out=tmp_path / "o.jsonl")
    written = (tmp_path / "o.jsonl").read_text(encoding="utf-8")
    assert "jo@mail" not in written
    assert json.loads(written)["id"] == "dialogue 1"
