"""`inspect eval mindgauge/NAME`: the same samples, prompts, verdicts, statuses and figures as `mindgauge run NAME`."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import mindgauge
from mindgauge import benchmarks
from mindgauge.benchmarks.metrics import STATUS_RATES
from mindgauge.records import Message, Status, inspect_logs
from mindgauge.records.inspect_logs import rows
from mindgauge.records.request import Request
from mindgauge.runs.reply_tables import read_replies
from mindgauge.store import Store
from tests.inspect_tasks import evaluated
from tests.inspect_tasks.evaluated import KIND, STRICT
from tests.on_use import OnUse
from tests.stub import PROBED, Stub, completion

if TYPE_CHECKING:
    import inspect_ai
    from aiohttp import web
    from inspect_ai import log as logs
    from inspect_ai import model as models
    from inspect_ai._util import error as errors

    from mindgauge.analysis.score import Scores
    from mindgauge.commands.inspect import solvers as adapter
    from mindgauge.commands.inspect import tasks
else:
    inspect_ai, logs, models = OnUse("inspect_ai"), OnUse("inspect_ai.log"), OnUse("inspect_ai.model")
    errors = OnUse("inspect_ai._util.error")
    adapter, tasks = OnUse("mindgauge.commands.inspect.solvers"), OnUse("mindgauge.commands.inspect.tasks")

pytestmark = pytest.mark.filterwarnings("ignore")  # what inspect-ai and its libraries warn of is theirs to mend
COMPARED: dict[str, dict[str, Any]] = {
    "psycrisis": {"language": "zh"},
    "help_or_harm/response": {},
    "trustmh/ethics": {},
    "trustmh/emotional_support": {"mode": "split"},
}
"""By the tag of a protocol; with variants, a part that is judged and a rule; with a system message."""
MOST, REPEATS = 4, 2


def run_here(name: str, folder: Path, options: dict[str, Any]) -> Scores:
    given = {key: value for key, value in options.items() if key != "language"}
    where: dict[str, tuple[str, ...]] = {"language": (options["language"],)} if "language" in options else {}
    return mindgauge.run(  # type: ignore[return-value]  # it is no dry run
        name, model=evaluated.tested_here(), judge=evaluated.judge_here(), out=folder, limit=MOST, runs=REPEATS, qualify=False,
        where=where, **given,
    )  # fmt: skip


def asked_here(name: str, folder: Path) -> list[str]:
    with Store(folder) as store:
        return [sample.id for sample in store.samples(name)]


def ratings_here(name: str, folder: Path) -> set[tuple[Any, ...]]:
    """Return what was said of each sample and turn, but for criteria that are not about them."""
    rows = set()
    with Store(folder) as store:
        samples = {sample.id: sample for sample in store.samples(name)}
        replies = {reply.id: reply for reply in store.replies(name)}
        criteria = {criterion.name: criterion for criterion in benchmarks.find_one(name).criteria}
        for rating in store.ratings(name):
            reply = replies[rating.subject]
            sample = samples[reply.sample]
            if not criteria[rating.criterion].about(sample.tags):
                continue
            subject = f"{sample.id} epoch {reply.run + 1}" if reply.run else sample.id
            value = None if rating.value is None else str(rating.value)
            rows.add((subject, rating.criterion, rating.rater, rating.status.value, value))
    return rows


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Scores, Path, Any]]:
    """Run each here and in Inspect, on the same samples."""
    base = tmp_path_factory.mktemp("compared")
    outcomes = {}
    for name, options in COMPARED.items():
        folder = base / name.replace("/", "-")
        computed = run_here(name, folder, options)
        (log,) = inspect_ai.eval(
            tasks.TASKS[name](**options), model=evaluated.tested(), model_roles={"grader": evaluated.grader()}, display="none",
            epochs=REPEATS, sample_id=asked_here(name, folder), log_dir=str(base / "logs"),
        )  # fmt: skip
        assert log.status == "success", log.error
        outcomes[name] = computed, folder, log
    return outcomes


@pytest.mark.parametrize("name", COMPARED)
def test_what_the_log_says_of_each_reply_is_what_a_run_says(name: str, compared: Any) -> None:
    _, folder, log = compared[name]
    read = inspect_logs.opened(Path(log.location))
    assert read is not None
    said = rows.ratings(read).rows
    expected = ratings_here(name, folder)
    assert {(r.subject, r.criterion, r.rater, r.status, r.value) for r in said} == expected


def test_what_is_compared_has_verdicts_that_nobody_can_read(compared: Any) -> None:
    statuses = {row[3] for name, (_, folder, _) in compared.items() for row in ratings_here(name, folder)}
    assert statuses >= {"ok", "unparsable", "not_applicable"}


@pytest.mark.parametrize("name", COMPARED)
def test_figures_of_the_log_are_those_of_the_run(name: str, compared: Any) -> None:
    computed, _, log = compared[name]
    (judged,) = log.results.scores
    metrics = {key: metric.value for key, metric in judged.metrics.items()}
    rates = {metric.name for metric in STATUS_RATES}
    leading = [m for m in computed.leading if m.slice == "all" and m.name not in rates]
    assert leading
    for m in leading:
        title = m.name if m.criterion in m.name else f"{m.criterion} {m.name}"
        assert (metrics[f"{title} n"], metrics[f"{title} missing"]) == (m.n, m.missing)
        shown = None if m.void else m.value
        assert metrics.get(title) == shown
        assert metrics.get(f"{title} low") == (None if shown is None else m.low)
        assert metrics.get(f"{title} high") == (None if shown is None else m.high)


@pytest.mark.parametrize("name", COMPARED)
def test_replies_of_the_log_are_those_of_the_run(name: str, compared: Any) -> None:
    _, folder, log = compared[name]
    _, replies = read_replies(log.location, benchmarks.find_one(name), {})
    with Store(folder) as store:
        expected = {(r.sample, r.model, r.run, r.status, r.text) for r in store.replies(name)}
    assert {(r.sample, r.model, r.run, r.status, r.text) for r in replies} == expected


def test_every_benchmark_with_open_questions_is_a_task() -> None:
    open_ones = [benchmark for benchmark in map(benchmarks.find_one, benchmarks.names()) if not benchmark.closed]
    expected = {benchmark.name for benchmark in open_ones if not benchmark.holds_dialogues}
    assert set(tasks.TASKS) == expected
    for name in expected:
        task = tasks.TASKS[name]()
        material = benchmarks.find_one(name)
        assert len(task.dataset) > 0
        assert task.metadata["instrument"] == material.instrument().name
        some = task.dataset[0]
        assert {"language", "cluster"} <= some.metadata.keys()


def test_inspect_finds_the_tasks_by_the_entry_point() -> None:
    (point,) = [p for p in importlib.metadata.entry_points(group="inspect_ai") if p.name == "mindgauge"]
    assert point.value == "mindgauge.commands.inspect._registry"
    from inspect_ai._util.registry import registry_lookup

    for name in tasks.TASKS:
        assert registry_lookup("task", f"mindgauge/{name}") is not None


def command(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).with_name("inspect")
    shell = {**os.environ, "COLUMNS": "400", "INSPECT_DISPLAY": "plain", **environment}
    return subprocess.run([str(program), *arguments], capture_output=True, text=True, check=False, env=shell)


def answered(body: dict[str, Any], _: int) -> web.StreamResponse:
    from aiohttp import web

    schema = body.get("response_format", {}).get("json_schema", {}).get("schema")
    spoken = [(m["role"], m["content"]) for m in body["messages"]]
    text = evaluated.replied(spoken) if schema is None else evaluated.verdict(spoken[0][1], schema)
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    given = completion(text, usage=usage) | {"id": "x", "object": "chat.completion", "created": 1}
    given["choices"][0]["index"] = 0
    return web.json_response(given)


def compared_calls(body: dict[str, Any]) -> str:
    """Return what a call asks, without the fence's random marks; a model under test is given no seed by Inspect."""
    judged = "response_format" in body
    if judged:
        body["response_format"]["json_schema"].pop("description", None)  # which Inspect sends, and leaves empty
    kept = {
        name: body.get(name)
        for name in ("model", "temperature", "max_tokens", *(["seed", "response_format"] if judged else []))
    }
    return json.dumps(
        [kept, [[m["role"], evaluated.NONCE.sub("", m["content"])] for m in body["messages"]]], sort_keys=True
    )


@pytest.mark.long
@pytest.mark.skipif(importlib.util.find_spec("openai") is None, reason="Inspect calls servers with the package openai")
def test_the_command_line_and_a_server(tmp_path: Path) -> None:
    """As a user types it, against a server: the same calls as a run's, and the same verdicts."""
    with Stub(answered) as server:
        address = {"STUB_BASE_URL": server.url, "STUB_API_KEY": "none"}
        done = command(
            "eval", "mindgauge/psycrisis", "-T", "language=zh", "--model", "openai-api/stub/kind", "--model-role",
            "grader=openai-api/stub/strict", "--limit", "3", "--log-dir", str(tmp_path / "logs"), **address,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        (path,) = (tmp_path / "logs").glob("*.eval")
        there = [*server.bodies]
        server.bodies.clear()
        mindgauge.run(
            "psycrisis", model=f"{server.url}#kind", judge=f"{server.url}#strict", limit=3, out=tmp_path / "run",
            where={"language": ("zh",)}, qualify=False,
        )  # fmt: skip
        here = [body for body in server.bodies if body.get("max_tokens") != PROBED]
    assert len(there) == len(here) > 3
    assert sorted(map(compared_calls, there)) == sorted(map(compared_calls, here))
    assert len(logs.read_eval_log(str(path)).samples or ()) == 3


@pytest.mark.parametrize(
    ("name", "options", "grader", "message"),
    [
        ("psycrisis", {"mode": "x"}, STRICT, "--mode is joint or split, not 'x'"),
        ("psycrisis", {"data": "nowhere"}, STRICT, "nowhere: no such file or folder"),
        ("mentalbench", {"language": "fr"}, STRICT, "no sample is left (language=fr)"),
        ("psycrisis", {}, "", "no judge is named: give the role of the grader to a model, --model-role grader="),
        ("psycrisis", {}, KIND, "mockllm/kind would judge replies of its own family"),
    ],
)
def test_wrong_use_ends_in_one_line_before_anything_is_asked(
    name: str, options: dict[str, Any], grader: str, message: str, tmp_path: Path
) -> None:
    def nobody(*_: object) -> str:
        raise AssertionError("asked")

    roles = {"grader": evaluated.in_inspect(nobody, grader)} if grader else {}
    tested = evaluated.in_inspect(nobody, KIND)
    try:
        (log,) = inspect_ai.eval(
            f"mindgauge/{name}", model=tested, model_roles=roles, task_args=options, limit=1, display="none", log_dir=str(tmp_path)
        )  # fmt: skip
    except errors.PrerequisiteError as error:
        said = str(error.message)
    else:
        assert log.status == "error"
        said = log.error.message
    assert message in said
    assert "\n" not in said.strip().removeprefix("PrerequisiteError")
    assert "asked" not in said


@pytest.mark.long
def test_a_call_that_fails_for_good_is_a_reply_that_never_came(tmp_path: Path) -> None:
    def broken(messages: list[Any], config: Any) -> str:
        if len(messages[-1].text) % 2:
            raise RuntimeError("503\nbusy")
        return evaluated.replied([(m.role, m.text) for m in messages])

    (log,) = inspect_ai.eval(
        tasks.TASKS["mentalbench"](), model=evaluated.in_inspect(broken, KIND), limit=8, display="none",
        model_roles={"grader": evaluated.grader()}, log_dir=str(tmp_path),
    )  # fmt: skip
    assert log.status == "success"
    _, replies = read_replies(log.location, benchmarks.find_one("mentalbench"), {})
    failed = [reply for reply in replies if reply.status is Status.FAILED]
    assert 0 < len(failed) < len(replies)
    read = inspect_logs.opened(Path(log.location))
    assert read is not None
    never = [row for row in rows.ratings(read).rows if row.status == "failed"]
    criteria = benchmarks.find_one("mentalbench").rubric.criteria
    assert len(never) == len(failed) * len(criteria)
    assert all(row.value is None for row in never)


def test_people_change_a_score_and_both_stand_in_the_ratings(tmp_path: Path, compared: Any) -> None:
    """Edited with Inspect's own function, written with its own writer, read with ours."""
    from inspect_ai.log import edit_score, recompute_metrics, write_eval_log
    from inspect_ai.scorer import ScoreEdit

    try:
        from inspect_ai.log import ProvenanceData
    except ImportError:
        from inspect_ai.scorer import ProvenanceData
    log = logs.read_eval_log(compared["help_or_harm/response"][2].location)
    sample = next(s for s in log.samples if s.scores["judge"].metadata["status"]["appropriateness"] == "ok")
    before = int(sample.scores["judge"].value["appropriateness"])
    after = 1 if before != 1 else 5
    edit = ScoreEdit(value={"appropriateness": after}, provenance=ProvenanceData(author="Dr. Okafor", reason="re-read"))
    edit_score(log, sample.id, "judge", edit, recompute_metrics=False, epoch=sample.epoch)
    for ending in (".eval", ".json"):
        path = tmp_path / f"edited{ending}"
        write_eval_log(log, str(path))
        read = inspect_logs.opened(path)
        assert read is not None
        subject = sample.id if sample.epoch == 1 else f"{sample.id} epoch {sample.epoch}"
        values = {row.rater: row.value for row in rows.ratings(read).rows if row.subject == subject}
        assert values == {STRICT: str(before), "Dr. Okafor": str(after)}
    figures = {key: metric.value for key, metric in log.results.scores[0].metrics.items()}
    try:
        recompute_metrics(log)
    except LookupError:
        return  # 0.3.140 looks for scorers of packages without the package's name
    computed = {key: metric.value for key, metric in log.results.scores[0].metrics.items()}
    valued = figures["appropriateness mean n"] - figures["appropriateness mean missing"]
    expected = figures["appropriateness mean"] + (after - before) / valued
    assert computed["appropriateness mean"] == pytest.approx(expected)


class _Named:
    """A model with a configuration of its own."""

    def __init__(self, **config: Any) -> None:
        self.config = models.GenerateConfig(**config)
        self.asked: list[Any] = []

    def __str__(self) -> str:
        return "acme/judge"

    async def generate(self, messages: list[Any], config: Any) -> Any:
        self.asked.append(config)
        return models.ModelOutput.from_content("acme", "{}", stop_reason="max_tokens")


def test_what_the_user_sets_for_a_model_holds_and_all_else_is_as_in_a_run() -> None:
    import asyncio

    schema = {
        "type": "object",
        "properties": {"a": {"type": ["integer", "string"], "enum": [1, "n/a"], "maxLength": 3}},
    }
    request = Request((Message("user", "x"),), 0, {"temperature": 0.0, "seed": 4}, schema)
    for config, expected in (({}, (0.0, 4, 4096)), ({"temperature": 0.7, "max_tokens": 9}, (None, 4, None))):
        model = _Named(**config)
        exchange = asyncio.run(adapter.InspectModel(model).ask(request))
        (asked,) = model.asked
        assert (asked.temperature, asked.seed, asked.max_tokens) == expected
        part = asked.response_schema.json_schema.model_dump(exclude_none=True)["properties"]["a"]
        assert part in (
            {"type": ["integer", "string"], "enum": [1, "n/a"]},
            {"anyOf": [{"type": "integer", "enum": [1]}, {"type": "string", "enum": ["n/a"]}]},
        )
        assert (exchange.status, exchange.finish_reason, exchange.text) == (Status.OK, "length", "{}")
