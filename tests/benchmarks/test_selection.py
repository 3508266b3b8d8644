from __future__ import annotations

from mindgauge.benchmarks import benchmark
from mindgauge.records import Message, Sample


def samples() -> list[Sample]:
    """Four samples, each with two variants behind it."""
    found = []
    for number, kind in enumerate("aabb"):
        messages = (Message("user", f"sample {number}"),)
        base = Sample.of(messages, target=kind, tags={"noise": "none"}, cluster=f"c{number}")
        found += [
            base.variant(messages),
            base.variant(messages, noise="word"),
            base.variant((Message("user", "x"),), noise="line"),
        ]
    return found


def test_a_variant_keeps_its_cluster_and_names_its_base() -> None:
    base, word, line, *_ = samples()
    assert base.id == Sample.of(base.messages).id
    assert base.tags == {"noise": "none", "base": base.id}
    assert (word.tags["base"], word.tags["noise"], word.cluster, word.target) == (base.id, "word", "c0", "a")
    assert word.messages == base.messages
    assert len({base.id, word.id, line.id}) == 3, "equal texts of two variants are two samples"


def test_equal_variants_of_two_samples_are_two_samples() -> None:
    assert len({s.id for s in samples()}) == 12


def test_what_a_variant_is_compared_with_stays() -> None:
    found = benchmark.matching(samples(), {"noise": ("word",)})
    assert [s.tags["noise"] for s in found] == ["none", "word"] * 4


def test_variants_stay_together_and_classes_take_turns() -> None:
    found = benchmark.spread(samples(), 2, lambda sample: sample.target)
    assert [s.cluster for s in found] == ["c0"] * 3 + ["c2"] * 3


def test_a_limit_above_all_changes_nothing() -> None:
    assert benchmark.spread(samples(), 100, lambda sample: sample.target) == samples()
