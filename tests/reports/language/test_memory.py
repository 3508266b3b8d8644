"""The translation memory: no slot and no number is lost or doubled, and each text stands in it once."""

import re
from collections import Counter

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mindgauge.records.errors import UsageError
from mindgauge.reports.language import memory
from mindgauge.reports.language.memory import Pattern, parsed
from mindgauge.reports.language.translator import Translator

LANGUAGES = [name for name in memory.languages() if name != memory.ENGLISH]
NAME = "acme/alpha-2"
_SLOT = re.compile(r"\{(\w+)(?::(\w+))?\}")
_KINDS = {"label", "metric", "amounts", "number", "percent", "word", "keep", "english", ""}
_NUMBER = re.compile(r"(?<![A-Za-z\d])\.?\d[\d,]*(?:\.\d+)?")


def numbers(text: str) -> Counter[float]:
    """Count the numbers of a text, however they are written."""
    return Counter(float(match.replace(",", "")) for match in _NUMBER.findall(text))


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_pair_loses_or_doubles_a_slot_or_a_number(language: str) -> None:
    for english, said in memory.read(language).pairs.items():
        names = [name for name, _ in _SLOT.findall(said)]
        assert sorted(names) == sorted({name for name, _ in _SLOT.findall(english)}), (
            f"{english!r} and {said!r} have other slots"
        )
        assert {kind for _, kind in _SLOT.findall(english)} <= _KINDS, english
        assert not any(kind for _, kind in _SLOT.findall(said)), f"a kind stands in the English text alone: {said!r}"
        assert numbers(_SLOT.sub("", english)) == numbers(_SLOT.sub("", said)), f"{english!r} and {said!r}"


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_text_stands_in_one_file_alone(language: str) -> None:
    places: dict[str, list[str]] = {}
    for file in (memory._folder() / language).iterdir():
        for part in ("labels", "metrics", "sentences"):
            for text in msgspec.toml.decode(file.read_bytes()).get(part, {}):
                places.setdefault(text, []).append(file.name)
    assert {text: files for text, files in places.items() if len(files) > 1} == {}


@pytest.mark.parametrize("language", LANGUAGES)
def test_labels_and_measures_have_no_slots_and_every_term_of_the_glossary_is_there(language: str) -> None:
    known = memory.read(language)
    assert not [text for text in (*known.labels, *known.metrics) if _SLOT.search(text)]
    assert set(known.glossary) == {term.term for term in memory.terms()}


PATTERNS = [parsed(*pair) for pair in memory.read("zh").pairs.items() if "{" in pair[0]]
WRITTEN = st.one_of(
    st.integers(0, 10**6).map("{:,}".format),
    st.decimals(-100, 100, places=2).map(lambda x: str(x).replace("-", "−")),
    st.integers(0, 100).map("{} %".format),
    st.integers(1, 99).map("<{} %".format),
)


def filled(pattern: Pattern, values: dict[str, str]) -> str:
    """Put values into an English sentence, and of words to choose from the first."""
    text = re.sub(r"<([^<>|]*)\|[^<>]*>", r"\1", pattern.source)
    return _SLOT.sub(lambda match: values[match[1]], text)


@given(st.sampled_from(PATTERNS), st.data())
def test_slots_carry_numbers_over_unchanged(pattern: Pattern, data: st.DataObject) -> None:
    percents = st.integers(0, 100).map("{} %".format)
    kinds = {"number": WRITTEN, "percent": percents, "amounts": WRITTEN, "metric": st.just("accuracy")}
    values = {slot: data.draw(kinds.get(kind or "", st.just(NAME))) for slot, kind in pattern.kinds.items()}
    english = filled(pattern, values)
    translator = Translator(memory.read("zh"), [NAME])
    said = "".join(sentence.text for sentence in translator.sentences(english))
    if not translator.english:  # else a value that no slot of the kind holds
        assert numbers(said) == numbers(english), said
        assert said.count(NAME) == english.count(NAME), said


def test_a_number_is_written_with_the_signs_of_the_language() -> None:
    say = Translator(memory.read("zh"), [NAME])
    assert say.clause("−0.18 [−0.49, 0.02]") == "−0.18 [−0.49, 0.02]"
    assert say.clause("12 % to 34 %") == "12% 至 34%"
    assert say.clause("3 points") == "3 个百分点"


def test_a_language_without_a_memory_is_refused_in_one_line() -> None:
    assert memory.known("zh") == "zh"
    with pytest.raises(UsageError, match=r"^no report in the language “xx”; there is: en, zh$"):
        memory.known("xx")
