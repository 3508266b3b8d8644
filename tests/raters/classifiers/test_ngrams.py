"""Hashed n-grams beside scikit-learn's vectorizer, which names every one of them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array, hstack
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer

from mindgauge.raters.classifiers import tfidf

TEXTS = [
    "I cannot sleep. Nothing helps, nothing at all!",
    "Nothing helps me sleep",
    "",
    "我今天很累，睡不着觉。",
    "今天很累 again, again and again: I cannot",
    "a",
    "Ünïcödé 𝄞 outside the plane, twice: 𝄞𝄞",
]


def oracle(**more: int) -> csr_array:
    """Character 1- to 3-grams and word 1- and 2-grams, counted by name."""
    characters = CountVectorizer(analyzer="char", ngram_range=(1, 3), **more)
    words = CountVectorizer(token_pattern=r"[^\W_]+", ngram_range=(1, 2), **more)
    return csr_array(hstack([kind.fit_transform(TEXTS) for kind in (characters, words)]))


def test_every_ngram_is_counted() -> None:
    found, named = tfidf.count_ngrams(TEXTS), oracle()
    for text in range(len(TEXTS)):
        ours = np.sort(found.times[found.text == text])
        assert ours.tolist() == np.sort(named[[text]].data).tolist()
    assert np.all(np.diff(found.text * (1 << tfidf.BITS) + found.feature) > 0)


def test_equal_ngrams_meet_and_others_do_not() -> None:
    found, named = tfidf.count_ngrams(TEXTS), oracle().astype(float)
    ours = csr_array((found.times.astype(float), (found.text, found.feature)), shape=(len(TEXTS), 1 << tfidf.BITS))
    assert np.array_equal((ours @ ours.T).toarray(), (named @ named.T).toarray())


def test_fields_share_no_features() -> None:
    here, there = (tfidf.count_ngrams(["the same words"], salt=salt) for salt in (0, 1))
    assert sorted(here.times) == sorted(there.times)
    assert not set(here.feature) & set(there.feature)


def test_a_null_byte_does_not_divide_a_text() -> None:
    assert tfidf.count_ngrams(["one\0two", "three"]).text.max() == 1


def test_tf_idf_is_scikit_learns() -> None:
    counts = tfidf.count_ngrams(TEXTS)
    ours = tfidf._learn(counts, len(TEXTS)).matrix(counts, len(TEXTS))
    theirs = TfidfTransformer(sublinear_tf=True).fit_transform(oracle(min_df=2))
    assert ours.shape == theirs.shape
    assert (ours @ ours.T).toarray() == pytest.approx((theirs @ theirs.T).toarray(), abs=1e-6)
