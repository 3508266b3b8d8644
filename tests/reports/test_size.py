"""Ten thousand rated replies, or thirty-six cards, are still one small file."""

import re
from pathlib import Path

import msgspec
import pytest

from mindgauge import benchmarks
from mindgauge.records import Message, RaterKind, Rating, Reply, Sample, Status
from mindgauge.reports.page import write
from mindgauge.store import Store, manifest
from tests.reports.conftest import JUDGE, OPEN, plant_rated


@pytest.mark.long
def test_nine_models_four_judges_and_nine_criteria_stay_below_three_megabytes(tmp_path: Path) -> None:
    judges = {f"lab-{i}/judge": (0.2 * i, 0.4 * i) for i in range(4)}
    models = tuple(f"lab-{i}/model" for i in range(9))
    files = write(
        [plant_rated(tmp_path / "run", judges, benchmark_name="mentalbench", models=models, conversations=20)]
    )
    assert files.path.stat().st_size < 3_000_000
    page = files.path.read_text()
    assert re.search(r"The first 250 of \d,\d\d\d rows; the file has all\.", page)


@pytest.mark.long
def test_ten_thousand_replies_stay_below_three_megabytes(tmp_path: Path) -> None:
    kinds = list(benchmarks.find_one(OPEN).rubric.criteria[0].protocols)
    with Store(tmp_path, write=True) as store:
        manifest.begin(tmp_path, {"benchmarks": [OPEN]}, "")
        samples = [
            Sample.of(
                (Message("user", f"invented message {i}"),), tags={"category": kinds[i % len(kinds)], "language": "en"}
            )
            for i in range(2500)
        ]
        store.put_samples(OPEN, samples)
        for i in range(10_000):
            reply = Reply.of(samples[i % 2500].id, f"acme/model-{i // 2500}", 0, Status.OK, "an answer " * 60)
            store.add_reply(OPEN, reply)
            value = 1 + i * 7 % 5
            store.add_rating(OPEN, Rating(reply.id, "appropriateness", JUDGE, RaterKind.MODEL, 0, Status.OK, value))
    files = write([tmp_path])
    assert files.path.stat().st_size < 3_000_000


@pytest.mark.long  # ten thousand replies are by default
def test_ten_thousand_answers_and_their_confusions_stay_below_three_megabytes(tmp_path: Path) -> None:
    task = benchmarks.find_one("dialogue_safety")
    labels = [str(value) for value in task.rubric.criteria[0].values]
    with Store(tmp_path, write=True) as store:
        manifest.begin(tmp_path, {"benchmarks": [task.name]}, "")
        samples = [
            Sample.of(
                (Message("user", f"invented message {i} " * 40), Message("assistant", f"a reply {i} " * 20)),
                target=labels[i % 8],
                tags={"language": "en"},
            )
            for i in range(1250)
        ]
        store.put_samples(task.name, samples)
        for i in range(10_000):
            label = labels[(i * 7 + i // 1250 + i // 11) % 8]
            model = f"acme/model-{i // 1250}"
            store.add_rating(
                task.name,
                Rating(samples[i % 1250].id, "category", model, RaterKind.MODEL, 0, Status.OK, label, "a reason " * 30),
            )
    files = write([tmp_path])
    found = msgspec.json.decode(files.json.read_bytes())["weak"]
    assert sum(len(c["cells"]) for c in found["confusions"]) == 8 * 56
    assert "to keep this page small" in found["cited_note"]
    assert files.path.stat().st_size < 3_000_000
