"""Options stand at other letters, and the right one stays the right one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mindgauge.benchmarks.variants.options import MultipleChoice

questions = st.lists(st.text(min_size=1, max_size=9), min_size=2, max_size=10, unique=True).flatmap(
    lambda options: st.builds(
        MultipleChoice, st.just("Which?"), st.just(tuple(options)), st.none() | st.integers(0, len(options) - 1)
    )
)


@given(questions, st.integers(0, 9))
def test_a_drawn_order_is_drawn_again_alike(question: MultipleChoice, seed: int) -> None:
    found = question.shuffled(seed, "i")
    assert found == question.shuffled(seed, "i")
    assert sorted(found.options) == sorted(question.options)


def test_a_question_is_written_with_letters() -> None:
    sample = MultipleChoice("Which?", ("this", "that", "neither"), 1).sample({"language": "en"}, "c")
    assert sample.messages[0].content == "Which?\n\nA. this\nB. that\nC. neither"
    assert (sample.target, sample.tags, sample.cluster) == ("B", {"language": "en", "options": "3"}, "c")
    assert MultipleChoice("Which?", ("this", "that")).sample().target is None
