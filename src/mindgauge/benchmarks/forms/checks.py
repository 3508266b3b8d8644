"""By which instruments models check what a model wrote, and people a part of it: each a rubric that stands alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from mindgauge.benchmarks import standalone_rubric
from mindgauge.benchmarks.forms import written
from mindgauge.records.prompt import Prompt

if TYPE_CHECKING:
    from mindgauge.benchmarks import Benchmark
    from mindgauge.records import Rating, Value

_HERE = Path(__file__).parent
IDENTITY = "identity"


def rewriting() -> Benchmark:
    """Return the check of a text that was written anew: does it keep the meaning, is it natural, does it add a risk?"""
    benchmark = standalone_rubric.alone(_HERE / "rewriting.toml")
    judge = Prompt.load(_HERE / "judge.en.md", ("dialogue", "reply", "rubric", "form", "nonce"))
    forms = {f"write.{form}": {"en": written.prompt(form)} for form in written.WrittenForm}
    return msgspec.structs.replace(benchmark, prompts={"judge": {"en": judge}, **forms})


def identity() -> Benchmark:
    """Return the question whether a person says of themselves what personas say in their place."""
    return standalone_rubric.alone(_HERE / "identity.toml", messages=True)


def faults(benchmark: Benchmark, ratings: list[Rating]) -> list[str]:
    """Return why somebody's ratings of a subject do not pass: each criterion has a value, and it is the best one.

    What cannot be read, was refused or never came does not pass.
    """
    by_criterion: dict[str, Rating] = {rating.criterion: rating for rating in ratings}
    reasons = []
    for criterion in benchmark.rubric.criteria:
        rating = by_criterion.get(criterion.name)
        best: Value = criterion.worst_first[-1]
        if rating is None or rating.value is None:
            reasons.append(f"{criterion.name}: {'not checked' if rating is None else rating.status}")
        elif rating.value != best:
            reasons.append(f"{criterion.name}: {rating.value}")
    return reasons
