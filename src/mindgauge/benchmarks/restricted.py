"""Whose texts may be passed on: all, or, where a run holds what a benchmark's authors released under restrictions, ours.

Replies to a restricted message and reasons about it quote it, in words that nobody can list: shortened, in other case, in
another language. So what is made to be passed on holds none of the three, and no part of them is looked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mindgauge.benchmarks.benchmark import Benchmark
    from mindgauge.store import Store


def open_samples(benchmark: Benchmark, manifest: dict[str, Any]) -> frozenset[str] | None:
    """Return the ids of those samples that may be shown with what was said of them; None for all.

    A file of replies or texts that somebody hands in is theirs; whether it repeats the authors' texts is not known here.
    """
    plan = manifest.get("plan", {})
    if benchmark.name in plan.get("own_texts", ()):
        return None
    if not benchmark.card.restricted or not (plan.get("data") or plan.get("loaded")):
        return None
    return frozenset(sample.id for sample in benchmark.samples(None))


def notes(store: Store, benchmarks: Iterable[Benchmark], manifest: dict[str, Any]) -> list[str]:
    """Say which restricted texts stand in files that are made to go on working with, and so hold every text."""
    if not manifest.get("plan", {}).get("text", True):
        return []
    lines = []
    for benchmark in benchmarks:
        open_idents = open_samples(benchmark, manifest)
        n = 0 if open_idents is None else sum(ident not in open_idents for ident in store.sample_ids(benchmark.name))
        if n:
            lines.append(
                f"{benchmark.name}: do not pass these files on: they may hold {n} restricted messages, or quotes from them"
            )
    return lines
