"""Runs of planted records: models, a judge with repeats, every status, hostile texts; and judges beside people."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from msgspec import structs

from mindgauge import benchmarks
from mindgauge.analysis.score import Scores
from mindgauge.records import Evidence, Message, RaterKind, Rating, Reply, Sample, Status, Value
from mindgauge.reports.evaluation_card import OwnerFacts
from mindgauge.reports.page import ReportFiles, write
from mindgauge.store import Store, manifest
from tests.benchmarks.help_or_harm.conftest import loaded, real
from tests.made_once import made_once
from tests.reports import asked, crisis, suite_run
from tests.thinned import WHOLE

__all__ = ["loaded", "real"]

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
    samples = benchmarks.find_one(CLOSED).samples(None)
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
    return made_once(tmp_path_factory, "planted", lambda folder: plant(folder / "run"))


@pytest.fixture(scope="session")
def files(run: Path, tmp_path_factory: pytest.TempPathFactory) -> ReportFiles:
    return made_once(tmp_path_factory, "planted-report", lambda _: write([run]))


@pytest.fixture(scope="session")
def page(files: ReportFiles) -> str:
    return files.path.read_text(encoding="utf-8")


KIND, NOISY, GOOD = "acme/kind-judge", '=evil<b>"judge"</b>', "openai/gpt-5-nano"
JUDGES = {GOOD: (0.0, 0.1), KIND: (0.9, 0.3), NOISY: (0.0, 1.7)}
"""Judge → what it adds to a reply's true level, and how far it strays from that by chance."""


def plant_rated(
    folder: Path,
    judges: dict[str, tuple[float, float]] = JUDGES,
    *,
    benchmark_name: str = OPEN,
    models: tuple[str, ...] = ("acme/alpha-2", "beta/b-1", "gamma/c"),
    conversations: int = 40,
    people: tuple[str, ...] = ("Anna", "Bea"),
    by_people: int = 1000,
    selection: str = "",
) -> Path:
    """Write a run of invented replies whose true levels are known, rated by two people and by judges of known faults.

    Args:
        folder: of the run.
        judges: name → bias and noise.
        benchmark_name: an open benchmark.
        models: who wrote the replies.
        conversations: how many.
        people: who rates as a person, without bias.
        by_people: the first so many conversations are rated by people.
        selection: why people rated these, if that depended on a judge.
    """
    generator = np.random.default_rng(0)
    criteria = benchmarks.find_one(benchmark_name).rubric.criteria
    kinds = list(criteria[0].protocols) or ["work"]
    samples = [
        Sample.of(
            (Message("user", f"invented message {i}"),), tags={"category": kinds[i % len(kinds)], "language": "en"}
        )
        for i in range(conversations)
    ]
    raters = [(name, RaterKind.PERSON, 0.0, 0.4) for name in people]
    raters += [(name, RaterKind.MODEL, bias, noise) for name, (bias, noise) in judges.items()]
    with Store(folder, write=True) as store:
        manifest.begin(folder, {"benchmarks": [benchmark_name], "models": list(models)}, "")
        store.put_samples(benchmark_name, samples)
        for m, model in enumerate(models):
            for i, sample in enumerate(samples):
                reply = Reply.of(sample.id, model, 0, Status.OK, f"{EN_QUOTE} this is, number {i}.")
                store.add_reply(benchmark_name, reply)
                for criterion in criteria:
                    level = 3.4 + 0.5 * (m - 1) + generator.normal(0, 0.9)
                    for rater, kind, bias, noise in raters:
                        value = int(np.clip(np.rint(level + bias + generator.normal(0, noise)), 1, 5))
                        if kind is RaterKind.PERSON and i >= by_people:
                            continue
                        origin = {"selection": selection} if selection and kind is RaterKind.PERSON else {}
                        store.add_rating(
                            benchmark_name,
                            Rating(
                                reply.id,
                                criterion.name,
                                rater,
                                kind,
                                0,
                                Status.OK,
                                value,
                                "a reason",
                                provenance=origin,
                            ),
                        )
    return folder


def changed(folder: Path, name: str, value_of: Callable[[Rating], Value | None]) -> None:
    """Give every rating of a benchmark in a run the value that is made of it."""
    with Store(folder, write=True) as store:
        for rating in list(store.ratings(name)):
            store.add_rating(name, structs.replace(rating, value=value_of(rating)))


def plant_anchors(folder: Path, judges: dict[str, tuple[float, float]], benchmark_name: str = OPEN) -> None:
    """Let judges of known faults take their entry test in a run."""
    generator = np.random.default_rng(1)
    task = benchmarks.find_one(benchmark_name)
    anchors = task.anchors()
    with Store(folder, write=True) as store:
        store.put_samples(task.anchored.name, {a.sample.id: a.sample for a in anchors}.values())
        for anchor in anchors:
            reply, written = anchor.records(task.rubric.name)
            store.add_reply(task.anchored.name, reply)
            for gold in written:
                store.add_rating(task.anchored.name, gold)
                for judge, (bias, noise) in judges.items():
                    value = int(np.clip(np.rint(float(gold.value or 3) + bias + generator.normal(0, noise)), 1, 5))
                    store.add_rating(
                        task.anchored.name,
                        Rating(reply.id, gold.criterion, judge, RaterKind.MODEL, 0, Status.OK, value),
                    )


def _rated(folder: Path) -> Path:
    plant_anchors(plant_rated(folder), JUDGES)
    return folder


@pytest.fixture(scope="session")
def rated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_once(tmp_path_factory, "rated", lambda folder: _rated(folder / "run"))


@pytest.fixture(scope="session")
def rated_files(rated: Path, tmp_path_factory: pytest.TempPathFactory) -> ReportFiles:
    return made_once(tmp_path_factory, "rated-report", lambda _: write([rated], card=OwnerFacts()))


@pytest.fixture(scope="session")
def shown(rated: Path, tmp_path_factory: pytest.TempPathFactory) -> ReportFiles:
    """Of the same run, with what judges say that agree too little with people."""
    return made_once(tmp_path_factory, "rated-shown", lambda folder: write([rated], folder, show_unreliable=True))


@pytest.fixture(scope="session")
def unread_files(tmp_path_factory: pytest.TempPathFactory) -> ReportFiles:
    """Of a run that judges rated and no person."""
    return made_once(tmp_path_factory, "unread", lambda folder: write([plant_rated(folder / "run", people=())]))


@pytest.fixture(scope="session")
def selected_files(tmp_path_factory: pytest.TempPathFactory) -> ReportFiles:
    """Of a run of two models of which people read a part, chosen for what a judge thought of it."""

    def make(folder: Path) -> ReportFiles:
        models = ("acme/alpha-2", "beta/b-1")
        return write([plant_rated(folder / "run", models=models, by_people=30, selection="lowest by a judge")])

    return made_once(tmp_path_factory, "selected", make)


@pytest.fixture(scope="session")
def both_files(rated: Path, tmp_path_factory: pytest.TempPathFactory) -> ReportFiles:
    """Of two runs, in the second of which a judge is good that is none in the first."""

    def make(folder: Path) -> ReportFiles:
        judges = {KIND: (0.0, 0.3), GOOD: JUDGES[GOOD]}
        other = plant_rated(folder / "other", judges, models=("delta/d",), conversations=60)
        return write([rated, other], folder / "both.html")

    return made_once(tmp_path_factory, "both", make)


@pytest.fixture(scope="session")
def asked_files(tmp_path_factory: pytest.TempPathFactory) -> ReportFiles:
    """Of a run of a question that is decided in order."""
    return made_once(tmp_path_factory, "asked", lambda folder: write([asked.run(folder / "run")]))


@pytest.fixture(scope="session")
def crisis_files(tmp_path_factory: pytest.TempPathFactory) -> ReportFiles:
    """Of a run whose criteria are yes or no, with people and judges."""
    return made_once(tmp_path_factory, "crisis", lambda folder: write([crisis.run(folder / "run")], card=OwnerFacts()))


@pytest.fixture(scope="session")
def suite_scored(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Scores]:
    """A run of tasks of every dimension of a suite, of few samples each, or of more in the long form; and its scores."""
    limit = suite_run.LIMIT if settings().max_examples < WHOLE else 30

    def make(folder: Path) -> tuple[Path, Scores]:
        return folder / "run", suite_run.scored(folder / "run", suite_run.NAMES, limit)

    return made_once(tmp_path_factory, f"suite-{limit}", make)


@pytest.fixture(scope="session")
def suite(suite_scored: tuple[Path, Scores]) -> Path:
    return suite_scored[0]


@pytest.fixture(scope="session")
def suite_files(suite: Path, tmp_path_factory: pytest.TempPathFactory) -> ReportFiles:
    return made_once(tmp_path_factory, f"{suite.parent.name}-report", lambda _: write([suite], card=OwnerFacts()))


@pytest.fixture(scope="session")
def help_or_harm_files(loaded: Path, tmp_path_factory: pytest.TempPathFactory) -> ReportFiles:
    """Of the replies and ratings that the authors of help_or_harm released."""
    return made_once(tmp_path_factory, "help_or_harm-report", lambda _: write([loaded]))
