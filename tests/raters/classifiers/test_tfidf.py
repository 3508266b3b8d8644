"""The baseline learns, is saved as numbers only, and gives the same logits when opened again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy.sparse import hstack
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer

from mindgauge.raters.classifiers import dialogues, tfidf
from mindgauge.records import Message, Sample
from tests.raters.classifiers import encoders

if TYPE_CHECKING:
    from pathlib import Path

    from mindgauge.raters.classifiers.dialogues import DataSplit

LABELS = tuple(encoders.SAID)


def part(each: int, seed: int, labels: tuple[str, ...] = LABELS) -> DataSplit:
    rows = encoders.rows(each, seed=seed, labels=labels)
    return dialogues.part([Sample.of((Message("user", r["text"]),), target=r["label"]) for r in rows], LABELS)


def test_it_learns_and_is_the_same_when_opened_again(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    model, history = tfidf.fit(part(30, 0), part(10, 1), 3, lambda *steps: told.append(steps))
    dialogues, codes = part(20, 2).dialogues, part(20, 2).codes
    logits = model.logits(dialogues)
    assert (logits.argmax(axis=1) == codes).mean() > 0.95
    assert [h["C"] for h in history] == list(tfidf.STRENGTHS)
    assert told == [(1, 3), (2, 3), (3, 3)]
    model.save(tmp_path)
    again = tfidf.Tfidf.load(tmp_path)
    assert np.array_equal(again.logits(dialogues), logits)
    assert again.logits([]).shape == (0, 3)


def test_it_is_the_same_again() -> None:
    (model, _), (again, _) = (tfidf.fit(part(30, 0), part(10, 1), 3) for _ in range(2))
    assert all(np.array_equal(tensor, model.tensors[name]) for name, tensor in again.tensors.items())


def test_a_reply_and_what_it_answers_are_told_apart() -> None:
    """The same words as reply and as the person's turn are different evidence."""
    kind, unkind = "I am here and I listen to you", "you are always so dramatic about it"
    turned = [(kind, unkind), (unkind, kind)] * 10
    samples = [Sample.of((Message("user", said), Message("assistant", reply)), target=reply) for reply, said in turned]
    whole = dialogues.part(samples, (kind, unkind))
    model, _ = tfidf.fit(whole, whole, 2)
    assert (model.logits(whole.dialogues).argmax(axis=1) == whole.codes).all()


def test_a_label_without_an_example_is_never_given() -> None:
    model, _ = tfidf.fit(part(20, 0, ("calm", "sad")), part(5, 1, ("calm", "sad")), 3)
    logits = model.logits(part(20, 2).dialogues)
    assert logits[:, 1] == pytest.approx(tfidf.NEVER)
    assert set(logits.argmax(axis=1)) == {0, 2}


def test_tf_idf_is_scikit_learns() -> None:
    """Hashed features of one field beside the vectorizers that name every one of them."""
    texts = [
        "I cannot sleep. Nothing helps, nothing!",
        "Nothing helps me sleep",
        "我今天很累，睡不着觉。",
        "今天很累 again",
        "𝄞𝄞",
    ]
    kinds = ({"analyzer": "char", "ngram_range": (1, 3)}, {"token_pattern": r"[^\W_]+", "ngram_range": (1, 2)})
    counts = hstack([CountVectorizer(min_df=2, **kind).fit_transform(texts) for kind in kinds])
    theirs = TfidfTransformer(sublinear_tf=True).fit_transform(counts)
    hashed = tfidf.count_ngrams([(Message("user", text),) for text in texts])
    frequency = np.bincount(hashed.indices, minlength=hashed.shape[1])
    bucket = np.flatnonzero(frequency >= 2)
    ours = tfidf.weighed(hashed, bucket, np.log((1 + len(texts)) / (1 + frequency[bucket])) + 1)
    assert ours.shape == theirs.shape
    assert (ours @ ours.T).toarray() == pytest.approx((theirs @ theirs.T).toarray(), abs=1e-6)


def test_what_no_protocol_can_carry_is_read() -> None:
    assert tfidf.count_ngrams([(Message("user", "a\ud800b\0c"),), (Message("user", ""),)]).shape[0] == 2
