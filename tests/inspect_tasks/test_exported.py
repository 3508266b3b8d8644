"""What `mindgauge export --to inspect` writes is a log to Inspect itself: read, listed, and bundled as a site."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import mindgauge
from mindgauge import benchmarks
from mindgauge.commands.export import export
from mindgauge.records import Status
from mindgauge.records.errors import UsageError
from mindgauge.records.inspect_logs.log import not_a_number
from mindgauge.store import Store
from tests.inspect_tasks import evaluated
from tests.on_use import OnUse
from tests.reports import asked, talked
from tests.reports.export.conftest import NAME, write_run
from tests.thinned import later

if TYPE_CHECKING:
    from collections.abc import Callable

    import inspect_ai
    from inspect_ai import log as logs

    from mindgauge.commands.inspect import tasks as of_tasks
else:
    inspect_ai, logs = OnUse("inspect_ai"), OnUse("inspect_ai.log")
    of_tasks = OnUse("mindgauge.commands.inspect.tasks")

pytestmark = pytest.mark.filterwarnings("ignore")
RUNS: dict[str, Callable[[Path], Path]] = {
    "replies": write_run,
    "dialogues": lambda folder: talked.run(folder, simulated=True, people=2, leaves=4),
    "answers": asked.run,
}
NAMES = {"replies": NAME, "dialogues": talked.NAME, "answers": asked.TASK.name}


@pytest.mark.parametrize("kind", ["replies", later("dialogues"), later("answers")])
def test_inspect_reads_every_sample_and_score(tmp_path: Path, kind: str) -> None:
    folder = RUNS[kind](tmp_path / "run")
    out = tmp_path / "logs"
    written = [file.file for file in export(folder, to="inspect", out=out).files if file.file.endswith(".eval")]
    listed = logs.list_eval_logs(str(out))
    assert sorted(Path(info.name).name for info in listed) == sorted(written)
    assert {info.task for info in listed} == {f"mindgauge-{NAMES[kind]}".replace("_", "-").replace("/", "-")}
    said = 0
    for info in listed:
        log = logs.read_eval_log(info)
        assert (log.version, log.status, log.eval.task) == (2, "success", f"mindgauge/{NAMES[kind]}")
        assert log.results is not None
        assert log.results.total_samples == len(log.samples or ())
        summaries = logs.read_eval_log_sample_summaries(info)
        assert len(summaries) == len(log.samples or ())
        for sample in log.samples or ():
            again = logs.read_eval_log_sample(info, id=sample.id, epoch=sample.epoch)
            assert again.messages == sample.messages
            assert sample.scores
            for given in sample.scores.values():
                statuses = given.metadata["status"]
                assert set(statuses) == set(given.value)
                for name, value in given.value.items():
                    assert (value is None or not_a_number(value)) is (statuses[name] != "ok")
                said += len(statuses)
    with Store(folder) as store:
        samples = {r.id: store.sample(NAMES[kind], r.sample) for r in store.replies(NAMES[kind])}
        criteria = {c.name: c for c in benchmarks.find_one(NAMES[kind]).criteria}
        rated = [
            r
            for r in store.ratings(NAMES[kind])
            if not (r.criterion in criteria and r.subject in samples)
            or criteria[r.criterion].about(samples[r.subject].tags)
        ]
        skipped = {r.id for r in store.replies(NAMES[kind]) if r.status is Status.NOT_APPLICABLE}
    several = len(listed) if kind == "answers" else 1  # what the gold says stands in each model's log
    gold = sum(r.rater == "gold" for r in rated)
    assert said == sum(r.subject not in skipped and r.rater != "gold" for r in rated) + gold * several


def test_a_run_without_replies_has_nothing_to_export(tmp_path: Path) -> None:
    mindgauge.run("mentalbench", model=evaluated.tested_here(), out=tmp_path / "run", limit=1)
    with Store(tmp_path / "run", write=True) as store:
        store.forget_replies("mentalbench", [reply.id for reply in store.replies("mentalbench")])
    with pytest.raises(UsageError, match="no replies and no answers in this run, so there is nothing to export"):
        export(tmp_path / "run", to="inspect")


@pytest.mark.long
def test_inspect_bundles_them_as_a_site(tmp_path: Path) -> None:
    export(write_run(tmp_path / "run"), to="inspect", out=tmp_path / "logs")
    program = Path(sys.executable).with_name("inspect")
    command = [
        str(program),
        "view",
        "bundle",
        "--log-dir",
        str(tmp_path / "logs"),
        "--output-dir",
        str(tmp_path / "site"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "site/index.html").is_file()
    assert sorted(p.name for p in (tmp_path / "site/logs").glob("*.eval")) == sorted(p.name for p in (tmp_path / "logs").glob("*.eval"))  # fmt: skip


@pytest.mark.long
def test_inspect_scores_a_log_of_ours_with_our_scorer(tmp_path: Path) -> None:
    """A run that no judge rated is rated in Inspect."""
    if "model_roles" not in inspect.signature(inspect_ai.score).parameters:
        pytest.skip("this inspect-ai scores logs without roles of models")
    mindgauge.run("mentalbench", model=evaluated.tested_here(), out=tmp_path / "run", limit=3)
    export(tmp_path / "run", to="inspect", out=tmp_path / "logs")
    (info,) = logs.list_eval_logs(str(tmp_path / "logs"))
    scorer = of_tasks.judge(benchmark="mentalbench")
    scored = inspect_ai.score(
        logs.read_eval_log(info), scorer, action="append", model_roles={"grader": evaluated.grader()}
    )
    criteria = {criterion.name for criterion in benchmarks.find_one("mentalbench").rubric.criteria}
    assert [set(sample.scores["judge"].value) for sample in scored.samples or ()] == [criteria] * 3
