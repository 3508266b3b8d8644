"""A run made of our own samples and planted records: two models, a judge with repeats, every status, hostile texts."""

from pathlib import Path

import pytest

from mindgauge import benchmark, manifest
from mindgauge.records import Evidence, RaterKind, Rating, Reply, Sample, Status
from mindgauge.reports.page import ReportFiles, write
from mindgauge.store import Store

CLOSED, OPEN = "help_or_harm/crisis_type", "help_or_harm/response"
JUDGE = "acme/judge-1"
MODELS = ("acme/alpha-2", "beta<b>bold</b>")
HOSTILE = (
    '</script><script>alert(1)</script><img src="http://evil.example/x.png" onerror=alert(2)> \u202eabc\x00 {{ 7*7 }}'
)
LONG = "again and again " * 6500
STATUSES = (Status.UNPARSABLE, Status.REFUSED, Status.FILTERED, Status.FAILED)
EN_QUOTE = "I hear how hard"


def own_samples(each: int = 2) -> list[Sample]:
    """Our own samples, `each` per class and language."""
    samples = benchmark.find_one(CLOSED).samples(None)
    taken: dict[tuple[object, str], int] = {}
    kept = []
    for sample in samples:
        kind = (sample.target, sample.tags["language"])
        taken[kind] = taken.get(kind, 0) + 1
        if taken[kind] <= each:
            kept.append(sample)
    return kept


def plant(
    folder: Path, models: tuple[str, ...] = MODELS, judge: str = JUDGE, samples: list[Sample] | None = None
) -> Path:
    """Write a run whose numbers are known: verdicts and labels follow from positions."""
    samples = own_samples() if samples is None else samples
    with Store(folder, write=True) as store:
        manifest.begin(
            folder,
            {"benchmarks": [CLOSED, OPEN], "runs": 1, "judge_runs": 2, "models": list(models)},
            "mindgauge run help_or_harm",
        )
        for name in (CLOSED, OPEN):
            store.put_samples(name, samples)
        for m, model in enumerate(models):
            for i, sample in enumerate(samples):
                _closed(store, sample, model, i + m)
                _open(store, sample, model, judge, i, m)
    return folder


def _closed(store: Store, sample: Sample, model: str, i: int) -> None:
    status = STATUSES[i // 9 % 4] if i % 9 == 8 else Status.OK
    value = None if status is not Status.OK else "no_crisis" if i % 4 == 1 else sample.target
    evidence = (Evidence(sample.messages[-1].content[:12], found=True), Evidence("never said <i>this</i>", found=False))
    store.add_rating(CLOSED, Rating(sample.id, "crisis_type", "gold", RaterKind.GOLD, 0, Status.OK, sample.target))
    store.add_rating(
        CLOSED, Rating(sample.id, "crisis_type", model, RaterKind.MODEL, 0, status, value, "a reason & more", evidence)
    )


def _open(store: Store, sample: Sample, model: str, judge: str, i: int, m: int) -> None:
    chinese = sample.tags["language"] == "zh"
    text = (
        HOSTILE
        if i == 0
        else LONG
        if i == 1
        else "我听到你有多难受。"
        if chinese
        else f"{EN_QUOTE} this is, number {i}."
    )
    status = Status.FILTERED if i == 9 else Status.OK
    reply = Reply.of(sample.id, model, 0, status, text if status is Status.OK else "")
    store.add_reply(OPEN, reply)
    for run in range(2):
        verdict = status if status is not Status.OK else Status.UNPARSABLE if i == 7 else Status.OK
        value = None if verdict is not Status.OK else 1 if i < 2 else 1 + (i + m + run) % 5
        quotes = (Evidence(EN_QUOTE, found=text.startswith(EN_QUOTE)),)
        reason = "太敷衍了。" if chinese else HOSTILE
        store.add_rating(
            OPEN,
            Rating(
                reply.id, "appropriateness", judge, RaterKind.MODEL, run, verdict, value, reason, quotes,
                provenance={"protocol": sample.tags["category"]},
            ),
        )  # fmt: skip


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return plant(tmp_path_factory.mktemp("planted") / "run")


@pytest.fixture(scope="session")
def files(run: Path) -> ReportFiles:
    return write([run])


@pytest.fixture(scope="session")
def page(files: ReportFiles) -> str:
    return files.path.read_text(encoding="utf-8")
