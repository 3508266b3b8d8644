"""The baseline learns, is saved as numbers only, and gives the same logits when opened again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from safetensors import safe_open
from scipy.sparse import hstack
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer

from mindgauge.raters.classifiers import form, tfidf
from mindgauge.records import Message
from tests.raters.classifiers import encoders

if TYPE_CHECKING:
    from pathlib import Path

LABELS = tuple(encoders.SAID)


def part(each: int, seed: int, labels: tuple[str, ...] = LABELS) -> tuple[list[form.Dialogue], np.ndarray]:
    rows = encoders.rows(each, seed=seed, labels=labels)
    return [(Message("user", row["text"]),) for row in rows], np.array([LABELS.index(row["label"]) for row in rows])


def test_it_learns_and_is_the_same_when_opened_again(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    model, history = tfidf.fit(*part(30, 0), np.ones(3), part(10, 1), lambda *steps: told.append(steps))
    dialogues, codes = part(20, 2)
    logits = model.logits(dialogues)
    assert (logits.argmax(axis=1) == codes).mean() > 0.95
    assert [h["C"] for h in history] == list(tfidf.STRENGTHS)
    assert told == [(1, 3), (2, 3), (3, 3)]
    model.save(tmp_path)
    again = tfidf.Tfidf.load(tmp_path)
    assert np.array_equal(again.logits(dialogues), logits)
    assert again.logits([]).shape == (0, 3)
    with safe_open(tmp_path / "model.safetensors", "np") as file:
        assert "features" in file.metadata()


def test_logits_do_not_depend_on_the_company(monkeypatch: pytest.MonkeyPatch) -> None:
    model, _ = tfidf.fit(*part(30, 0), np.ones(3), part(10, 1))
    dialogues = part(20, 2)[0]
    whole = model.logits(dialogues)
    monkeypatch.setattr(tfidf, "BLOCK", 7)
    told: list[int] = []
    assert model.logits(dialogues, told.append) == pytest.approx(whole, abs=1e-6)
    assert len(told) > 5 and told[-1] == len(dialogues)
    again, _ = tfidf.fit(*part(30, 0), np.ones(3), part(10, 1))
    assert all(np.array_equal(tensor, model.tensors[name]) for name, tensor in again.tensors.items())


def test_a_reply_and_what_it_answers_are_told_apart() -> None:
    """The same words as reply and as the person's turn are different evidence."""
    kind, unkind = "I am here and I listen to you", "you are always so dramatic about it"
    dialogues = [
        (Message("user", kind if flip else unkind), Message("assistant", unkind if flip else kind))
        for flip in (0, 1) * 10
    ]
    codes = np.array([0, 1] * 10)
    model, _ = tfidf.fit(dialogues, codes, np.ones(2), (dialogues, codes))
    assert (model.logits(dialogues).argmax(axis=1) == codes).all()


def test_a_label_without_an_example_is_never_given() -> None:
    model, _ = tfidf.fit(*part(20, 0, ("calm", "sad")), np.ones(3), part(5, 1, ("calm", "sad")))
    logits = model.logits(part(20, 2)[0])
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
    bucket = np.flatnonzero(frequency >= tfidf.MIN_DIALOGUES)
    ours = tfidf.weighed(hashed, bucket, np.log((1 + len(texts)) / (1 + frequency[bucket])) + 1)
    assert ours.shape == theirs.shape
    assert (ours @ ours.T).toarray() == pytest.approx((theirs @ theirs.T).toarray(), abs=1e-6)


def test_what_no_protocol_can_carry_is_read() -> None:
    assert tfidf.count_ngrams([(Message("user", "a\ud800b\0c"),), (Message("user", ""),)]).shape[0] == 2
