"""A classifier as a rater: values, probabilities, abstentions, and replies that never came."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import msgspec
import pytest

from mindgauge import benchmarks
from mindgauge.commands.train import train
from mindgauge.raters import classifier
from mindgauge.raters.classifier import open_classifier
from mindgauge.records import Message, RaterKind, Reply, Sample, Status
from mindgauge.records.errors import UsageError
from tests.raters.classifiers import encoders

if TYPE_CHECKING:
    from pathlib import Path

KIND, UNKIND = "I am here and I listen to you", "you are always so dramatic"


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A classifier of replies: kind ones and unkind ones to the same messages."""
    import polars as pl

    rows = [
        {"user": row["text"], "reply": f"{reply} {i}", "label": label, "cluster": row["cluster"]}
        for i, row in enumerate(encoders.rows(20))
        for reply, label in ((KIND, "kind"), (UNKIND, "unkind"))
    ]
    folder = tmp_path_factory.mktemp("trained")
    train(pl.DataFrame(rows), out=folder / "kindness", baseline=True, dev=0.4, risk=0.45)
    return folder / "kindness"


def sample() -> Sample:
    return Sample.of((Message("user", "I slept badly again"),))


def reply(text: str, status: Status = Status.OK) -> Reply:
    return Reply.of(sample().id, "model", 0, status, text)


def test_a_reply_gets_a_value_and_its_probabilities(trained: Path) -> None:
    rater = open_classifier(f"classifier/{trained}")
    kind, unkind = rater.rate([(sample(), reply(KIND)), (sample(), reply(UNKIND))])
    assert (kind.value, unkind.value) == ("kind", "unkind")
    assert kind.subject == reply(KIND).id
    assert (kind.criterion, kind.rater, kind.rater_kind, kind.run) == (
        "label",
        f"classifier/{trained}",
        RaterKind.CLASSIFIER,
        0,
    )
    assert kind.status is Status.OK and kind.instrument == rater.instrument
    found = kind.provenance["probabilities"]
    assert (
        set(found) == {"kind", "unkind"} and found["kind"] > 0.5 and sum(found.values()) == pytest.approx(1, abs=1e-3)
    )
    assert kind.provenance["seconds"] > 0


def test_it_says_whether_it_learned_from_a_dialogue(trained: Path, tmp_path: Path) -> None:
    learned = encoders.rows(20)[0]["text"]
    subjects = [
        (Sample.of((Message("user", learned),)), reply(f"{KIND} 0!")),
        (Sample.of((Message("user", learned),)), reply("something else")),
        (sample(), reply(KIND)),
    ]
    rater = open_classifier(f"classifier/{trained}")
    assert [r.provenance["seen"] for r in rater.rate(subjects)] == ["text", "dialogue", "no"]
    shutil.copytree(trained, tmp_path / "older")
    (tmp_path / "older" / "seen.json").unlink()
    older = open_classifier(f"classifier/{tmp_path / 'older'}")
    assert all("seen" not in r.provenance for r in older.rate(subjects)), "not known is not no"


def test_it_abstains_where_it_is_not_sure(trained: Path) -> None:
    rater = open_classifier(f"classifier/{trained}")
    [rating] = rater.rate([(sample(), reply("今天"))])
    assert rater.decision.threshold is not None
    assert max(rating.provenance["probabilities"].values()) < rater.decision.threshold
    assert (rating.status, rating.value, rating.provenance["abstained"]) == (Status.REFUSED, None, True)


def test_a_reply_that_never_came_keeps_its_status(trained: Path) -> None:
    rater = open_classifier(f"classifier/{trained}")
    subjects = [(sample(), reply("", Status.FAILED)), (sample(), reply(KIND)), (sample(), reply("", Status.FILTERED))]
    assert [r.status for r in rater.rate(subjects)] == [Status.FAILED, Status.OK, Status.FILTERED]
    assert next(rater.rate(subjects[:1])).provenance == {}


def test_blocks_change_nothing(trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rater = open_classifier(f"classifier/{trained}")
    subjects = [(sample(), reply(f"{KIND if i % 2 else UNKIND} {i}")) for i in range(7)]
    whole = [(r.subject, r.value, r.provenance["probabilities"]) for r in rater.rate(subjects)]
    monkeypatch.setattr(classifier, "BLOCK", 3)
    told: list[int] = []
    assert [(r.subject, r.value, r.provenance["probabilities"]) for r in rater.rate(subjects, told.append)] == whole
    assert told == [3, 6, 7]


def test_a_sample_is_rated_itself_where_there_is_no_reply(trained: Path) -> None:
    rater = open_classifier(f"classifier/{trained}")
    own = Sample.of((*sample().messages, Message("assistant", UNKIND)))
    [rating] = rater.rate([(own, None)])
    assert (rating.subject, rating.value) == (own.id, "unkind")


def test_another_rubric_is_refused(trained: Path) -> None:
    rubric = benchmarks.find_one("help_or_harm/crisis_type").rubric
    with pytest.raises(UsageError, match="trained on table@1, criterion 'label', but this is rated by help_or_harm"):
        open_classifier(f"classifier/{trained}").answering(rubric, about_reply=True)


def test_a_criterion_that_the_rubric_does_not_have_is_its_own(trained: Path) -> None:
    rubric = benchmarks.find_one("help_or_harm/response").rubric
    rater = open_classifier(f"classifier/{trained}").judging(rubric)
    assert rater.criterion.name == "table/label"
    assert [r.criterion for r in rater.rate([(sample(), reply(KIND))])] == ["table/label"]


def test_a_criterion_of_that_name_in_other_words_is_refused(trained: Path) -> None:
    rubric = benchmarks.find_one("help_or_harm/response").rubric
    other = msgspec.structs.replace(rubric, criteria=(msgspec.structs.replace(rubric.criteria[0], name="label"),))
    with pytest.raises(UsageError, match="trained on table@1, criterion 'label', but this is rated by"):
        open_classifier(f"classifier/{trained}").judging(other)


def test_who_reads_replies_cannot_answer_about_messages(trained: Path) -> None:
    rater = open_classifier(f"classifier/{trained}/")
    assert rater.name == f"classifier/{trained}", "a slash more is the same classifier"
    with pytest.raises(UsageError, match="trained on end with the reply, and here they end with the message"):
        rater.answering(rater.rubric, about_reply=False)
