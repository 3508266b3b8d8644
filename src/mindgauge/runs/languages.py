"""In which language raters are asked: that of the sample, as far as there are prompts and a wording in it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import msgspec

from mindgauge.records import languages
from mindgauge.records.english import named
from mindgauge.records.languages import LANGUAGE
from mindgauge.records.rounding import plural

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mindgauge.benchmarks import Benchmark
    from mindgauge.records import Sample
    from mindgauge.runs.options import Notice


def told(samples: Iterable[Sample], usual: str = "") -> list[Sample]:
    """Return a user's samples each with its language: that of its tag, without the region, else the usual, or by its letters."""
    return [msgspec.structs.replace(sample, tags={**sample.tags, LANGUAGE: _of(sample, usual)}) for sample in samples]


def _of(sample: Sample, usual: str) -> str:
    texts = (message.content for message in sample.messages)
    return languages.named(sample.tags.get(LANGUAGE, "")) or usual or languages.written(texts)


def announce(benchmark: Benchmark, samples: Sequence[Sample], notice: Notice) -> None:
    """Tell what `notes` says."""
    for line in notes(benchmark, samples):
        notice(line)


def notes(benchmark: Benchmark, samples: Sequence[Sample]) -> Iterator[str]:
    """Say in which languages there is no prompt or no wording of the rubric, so that English, or the first there is, is used."""
    worded = {language for criterion in benchmark.rubric.criteria for language in criterion.text}
    prompted = {language for prompts in benchmark.prompts.values() for language in prompts}
    counts = Counter(sample.tags[LANGUAGE] for sample in samples if sample.tags.get(LANGUAGE))
    for language, count in sorted(counts.items()):
        missing = [
            *(["a prompt"] if prompted and language not in prompted else []),
            *(["a wording of the rubric"] if worded and language not in worded else []),
        ]
        if missing:
            yield (
                f"{benchmark.name}: {plural(count, 'sample is', 'samples are')} in {language!r}, in which there is not "
                f"{named(missing, joined='or')}; raters are asked in English, as far as there is one"
            )
