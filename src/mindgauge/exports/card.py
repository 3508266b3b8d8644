"""The card of an export: what the folder holds, in words for people and in YAML for the Hub."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import jinja2

from mindgauge import markdown
from mindgauge.exports.evaluations import OUT_OF_RANGE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.benchmark import Benchmark
    from mindgauge.exports.metadata import Part

_KNOWN = frozenset({
    "apache-2.0", "mit", "bsd-3-clause", "cc", "cc0-1.0", "cc-by-3.0", "cc-by-4.0", "cc-by-sa-3.0", "cc-by-sa-4.0",
    "cc-by-nc-2.0", "cc-by-nc-3.0", "cc-by-nc-4.0", "cc-by-nd-4.0", "cc-by-nc-nd-3.0", "cc-by-nc-nd-4.0",
    "cc-by-nc-sa-2.0", "cc-by-nc-sa-3.0", "cc-by-nc-sa-4.0", "cdla-permissive-2.0", "odc-by", "odbl", "pddl", "openrail",
})  # fmt: skip
"""Licences by the names the Hub knows; any other is `other`, with the user's words as its name."""
_ORDER = ("responses", "human_raw_scores", "sampled_review_sets")


def render(benchmark: Benchmark, parts: Sequence[Part], licence: str, *, loaded: bool, hidden: int = 0) -> str:
    """Write the card.

    Args:
        benchmark: whose replies.
        parts: the tables.
        licence: what the user publishes under; this program does not know it.
        loaded: whether the run was read from the authors' files.
        hidden: how many messages are restricted, so that nothing stands here that may quote them.
    """
    words = " ".join(licence.split())
    ident = words.lower().replace(" ", "-")
    template = jinja2.Environment(
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 - Markdown, not HTML; the filters escape
    )  # fmt: skip
    template.filters |= {"text": markdown.text, "code": markdown.code, "link": markdown.link}
    template.filters["yaml"] = lambda text: json.dumps(text, ensure_ascii=False)  # JSON strings are YAML strings
    source = (Path(__file__).parent / "card.md.j2").read_text(encoding="utf-8")
    return template.from_string(source).render(
        benchmark=benchmark.card,
        name=benchmark.name,
        licence=words,
        licence_id=ident if ident in _KNOWN else "other",
        configs=_configs(parts),
        loaded=loaded,
        hidden=hidden,
        out_of_range=OUT_OF_RANGE,
    )


def _configs(parts: Sequence[Part]) -> list[tuple[str, dict[str, str], int]]:
    """Return the configs that exist, in the layout's order: name, glob by split, rows."""
    names = {part.config for part in parts}
    others = sorted(names - set(_ORDER), key=lambda name: (not name.startswith("llm_raw"), name))
    ordered = [name for name in _ORDER if name in names] + others
    return [
        (
            name,
            {p.split: f"{p.file.rpartition('/')[0]}/*.parquet" for p in parts if p.config == name},
            sum(p.rows for p in parts if p.config == name),
        )
        for name in ordered
    ]
