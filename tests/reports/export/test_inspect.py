"""A run as logs of Inspect: whole conversations, everybody who rated with status and level, and the figures; read back, they are the run's.

What goes into a log is data, and is tested as such; tests/inspect_tasks has what inspect-ai makes of it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import mindgauge
from mindgauge import benchmarks
from mindgauge.analysis.score import open_run
from mindgauge.commands.export import export
from mindgauge.models.scripted import Scripted
from mindgauge.raters.window import WHOLE
from mindgauge.records import Reply, Status, inspect_logs, transcripts
from mindgauge.records.errors import UsageError
from mindgauge.records.inspect_logs import rows
from mindgauge.reports.export import inspect_logs as inspect_export
from mindgauge.runs.reply_tables import read_replies
from mindgauge.store import Store
from tests.reports import asked, talked
from tests.reports.export.conftest import NAME

if TYPE_CHECKING:
    from pathlib import Path

Said = set[tuple[Any, ...]]


def logs(run: Path, out: Path) -> dict[str, Path]:
    """Write the logs of a run as JSON; return them by the model that they are of."""
    out.mkdir()
    store, tasks, plan = open_run(run)
    computed = mindgauge.score(run)
    by_model: dict[str, Path] = {}
    with store:
        for task in tasks:
            for model, cases in inspect_export.by_model(store, task).items():
                log = inspect_export.log_of(store, task, model, cases, computed, plan)
                by_model[model] = out / f"{len(by_model)}.json"
                by_model[model].write_text(json.dumps(log), encoding="utf-8")
    return by_model


def content(path: Path) -> dict[str, Any]:
    log: dict[str, Any] = json.loads(path.read_bytes())
    return log


def in_logs(paths: dict[str, Path]) -> Said:
    """Return what was said by whom of which model's replies, with what became of it."""
    read: Said = set()
    for path in paths.values():
        log = inspect_logs.opened(path)
        assert log is not None
        read |= {
            (r.system, r.criterion, r.rater, r.rater_kind, int(r.run or 0), r.status, r.value, r.cluster, r.subject)
            for r in rows.ratings(log).rows
        }
    return read


def without_subject(said: Said) -> list[tuple[Any, ...]]:
    return sorted((row[:-1] for row in said), key=str)


def in_run(run: Path, name: str) -> list[tuple[Any, ...]]:
    """Return the same of the run itself; what was never said is not there, nor a criterion that is not about it."""
    rows = []
    criteria = {criterion.name: criterion for criterion in benchmarks.find_one(name).criteria}
    with Store(run) as store:
        replies = {reply.id: reply for reply in store.replies(name)}
        for rating in store.ratings(name):
            reply = replies.get(rating.subject)
            sample = store.sample(name, reply.sample if reply is not None else rating.subject)
            criterion = criteria.get(rating.criterion)
            if criterion is not None and not criterion.about(sample.tags):
                continue
            if reply is not None and reply.status is Status.NOT_APPLICABLE:
                continue
            model = "" if reply is None else str(reply.provenance.get("target") or reply.model.removesuffix(WHOLE))
            if reply is not None and reply.provenance.get("unit") == "client":
                model = f"client of {model}"
            value = None if rating.value is None else f"{rating.value}"
            who = (rating.criterion, rating.rater, rating.rater_kind.value, rating.run)
            rows.append((model, *who, rating.status.value, value, sample.cluster))
    return sorted(rows, key=str)


def test_everybody_who_rated_stands_in_the_logs_with_status_and_value(run: Path, tmp_path: Path) -> None:
    paths = logs(run, tmp_path / "out")
    assert sorted(paths) == sorted(talked_models(run, NAME))
    read = in_logs(paths)
    assert without_subject(read) == in_run(run, NAME)
    assert {row[5] for row in read} >= {"ok", "unparsable", "not_applicable", "failed", "refused"}
    assert {row[3] for row in read} == {"model", "person", "rule"}


def talked_models(run: Path, name: str) -> set[str]:
    with Store(run) as store:
        return {str(r.provenance.get("target") or r.model.removesuffix(WHOLE)) for r in store.replies(name)}


def test_replies_come_back_with_their_samples_texts_and_statuses(run: Path, tmp_path: Path) -> None:
    with Store(run, write=True) as store:
        sample = store.sample_ids(NAME)[0]
        for number, status in enumerate((Status.FAILED, Status.FILTERED, Status.UNPARSABLE)):
            store.add_reply(NAME, Reply.of(sample, f"odd/{number}", 2, status, provenance={"error": "503\nbusy"}))
        store.flush()
        expected = {(r.sample, r.model, r.run, r.status, r.text) for r in store.replies(NAME)}
        expected = {(s, m, n, st, "" if st is Status.REFUSED else t) for s, m, n, st, t in expected}
    paths = logs(run, tmp_path / "out")
    benchmark = benchmarks.find_one(NAME)
    read = [read_replies(path, benchmark, {}) for path in paths.values()]
    assert {(r.sample, r.model, r.run, r.status, r.text) for _, replies in read for r in replies} == expected
    with Store(run) as store:
        samples = {s.id: s for s in store.samples(NAME)}
    assert all(sample == samples[sample.id] for found, _ in read for sample in found)
    log = content(paths["odd/0"])
    (failed,) = log["samples"]
    assert failed["error"]["message"] == "503\nbusy"
    assert log["results"]["completed_samples"] == 0


@pytest.mark.long
@pytest.mark.parametrize("simulated", [False, True])
def test_dialogues_stand_whole_with_what_was_said_of_each_turn(tmp_path: Path, simulated: bool) -> None:
    folder = talked.run(tmp_path / "run", simulated=simulated, people=2, leaves=4)
    paths = logs(folder, tmp_path / "out")
    assert sorted(paths) == sorted(talked.QUESTIONS)
    read = in_logs(paths)
    assert without_subject(read) == in_run(folder, talked.NAME)
    whole = content(paths["attentive"])["samples"]
    complete = [c for c in whole if c["output"]["metadata"].get("outcome") == "complete"]
    assert complete
    for sample in complete:
        assert len(sample["messages"]) == 2 * talked.TURNS
        assert [m["role"] for m in sample["messages"]] == ["user", "assistant"] * talked.TURNS
        turns = {f"reader@{n}" for n in range(1, talked.TURNS + 1)}
        assert {"reader"} | turns <= set(sample["scores"])
        assert sample["scores"]["reader@3"]["value"]["recognises"] == "yes"
        assert bool(simulated) is any(name.startswith("reader@client ") for name in sample["scores"])
    held, _ = transcripts.read(paths["attentive"])
    with Store(folder) as store:
        wholes = [r for r in store.replies(talked.NAME) if r.model == f"attentive{WHOLE}"]
    assert len(held) == len(wholes)
    assert {t.messages[-1].content for t in held if not t.unanswered} >= {
        r.text for r in wholes if r.status is Status.OK
    }


def test_answers_to_a_closed_question_are_logs_of_each_model_beside_the_gold(tmp_path: Path) -> None:
    folder = asked.run(tmp_path / "run")
    paths = logs(folder, tmp_path / "out")
    assert sorted(paths) == sorted([asked.MODEL, f"{asked.MODEL} (sequential)", asked.CLASSIFIER])
    read = in_logs(paths)
    for model in paths:
        expected = [row[1:] for row in in_run(folder, asked.TASK.name) if row[2] in {model, "gold"}]
        assert [row[1:] for row in without_subject({r for r in read if r[0] == model})] == expected
    log = content(paths[asked.MODEL])
    (sample, *_) = (c for c in log["samples"] if c["scores"][asked.MODEL]["metadata"]["status"]["category"] == "ok")  # fmt: skip
    assert sample["messages"][-1]["content"] == f"category: {sample['scores'][asked.MODEL]['value']['category']}"


def test_figures_are_those_of_the_run_and_what_is_void_has_none(tmp_path: Path) -> None:
    folder = talked.run(tmp_path / "run", people=3)
    computed = mindgauge.score(folder)
    header = content(logs(folder, tmp_path / "out")["slow"])
    written = {
        (s["name"], s["scorer"]): {k: m["value"] for k, m in s["metrics"].items()} for s in header["results"]["scores"]
    }
    leading = [
        m for m in computed.leading if m.model == "slow" and m.slice == "all" and m.value is not None and not m.void
    ]
    assert leading
    for m in leading:
        figure = written[m.name if m.criterion in m.name else f"{m.criterion} {m.name}", m.rater]
        assert (figure["value"], figure.get("low"), figure.get("high"), figure["n"]) == (m.value, m.low, m.high, m.n)
    first = [name for name, _ in written][: len(leading)]
    assert first[0] in {m.name if m.criterion in m.name else f"{m.criterion} {m.name}" for m in leading}
    voided = Scripted("acme/judge", lambda _: "hm")
    mindgauge.rate(replies=folder, judge=voided, qualify=False)
    results = content(logs(folder, tmp_path / "void")["slow"])["results"]
    assert {s["scorer"] for s in results["scores"]} == {s for _, s in written}
    assert any("acme/judge" in name for name in results["metadata"]["void"])


def test_a_score_says_who_by_what_why_and_how_it_looks(tmp_path: Path) -> None:
    folder = talked.run(tmp_path / "run", people=1)
    log = content(logs(folder, tmp_path / "out")["deaf"])
    (sample,) = log["samples"]
    score = sample["scores"][f"reader@{talked.VETOED}"]
    metadata = score["metadata"]
    assert score["explanation"] == "It agrees that the person should be gone."
    assert (metadata["rater"], metadata["rater_kind"], metadata["turn"]) == ("reader", "model", talked.VETOED)
    assert metadata["instrument"].startswith(f"{talked.NAME}@")
    level = next(level for c in benchmarks.find_one(talked.NAME).rubric.criteria if c.name == "veto" for level in c.levels if level.value == "yes")  # fmt: skip
    assert metadata["levels"]["veto"] == level.text["en"]
    (quote,) = metadata["evidence"]
    assert (quote["quote"], quote["found"]) == ("better if you were gone", True)
    assert "veto" in quote["criteria"]
    spec = log["eval"]
    assert spec["task"] == f"mindgauge/{talked.NAME}"
    assert spec["metadata"]["plan"]["benchmarks"] == [talked.NAME]
    assert spec["dataset"]["samples"] == 1
    usage = sample["output"]["usage"]
    assert {"input_tokens", "output_tokens", "total_tokens"} <= usage.keys()  # else a viewer downloads a tokenizer


def test_a_task_with_a_system_message_of_its_own_shows_it_where_the_run_asked(tmp_path: Path) -> None:
    name = "trustmh/emotional_support"
    model = mindgauge.Function(lambda messages: "I hear you.", name="kind")
    mindgauge.run(name, model=model, out=tmp_path / "run", limit=2)
    (path,) = logs(tmp_path / "run", tmp_path / "out").values()
    task = benchmarks.find_one(name)
    with Store(tmp_path / "run") as store:
        samples = {s.id: s for s in store.samples(name)}
    for sample in content(path)["samples"]:
        spoken = [(m["role"], m["content"]) for m in sample["input"]]
        assert spoken == [(m.role, m.content) for m in task.asked(samples[sample["id"]])]
    assert {s.id for s in read_replies(path, task, {})[0]} == {*samples}


def test_what_holds_no_conversation_is_refused_in_one_line(tmp_path: Path) -> None:
    model = mindgauge.Function(lambda messages: "I hear you.", name="kind")
    mindgauge.run("mentalbench", model=model, out=tmp_path / "bare", limit=1, text=False)
    with pytest.raises(UsageError, match="keeps no text, and a log is made of conversations; use --to csv"):
        export(tmp_path / "bare", to="inspect")
    mindgauge.run("mentalbench", model=model, out=tmp_path / "run", limit=1)
    with pytest.raises(UsageError, match="writes to folders of this machine only"):
        export(tmp_path / "run", to="inspect", out="s3://bucket/logs")


@pytest.mark.parametrize("model", ["判" * 90, 'a"b<c>|d?*', "m\u202egpj"])
def test_a_log_of_any_model_has_a_name_that_file_systems_take(tmp_path: Path, model: str) -> None:
    rows = [{"user": "Hi", "reply": "Hello.", "model": model, "category": "anxiety_crisis"}]
    (tmp_path / "r.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    mindgauge.rate("help_or_harm/response", replies=tmp_path / "r.jsonl", judge="rule/refusal", out=tmp_path / "run")
    [path] = logs(tmp_path / "run", tmp_path / "logs").values()
    name = inspect_export.file_name(content(path)["eval"])
    assert len(name.encode()) <= 255
    assert not set(name) & set('<>:"/\\|?*\u202e')
