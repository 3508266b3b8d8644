"""Harmful requests, plain and under jailbreaks."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec import field

from mindgauge.benchmarks.variants.jailbreak import JailbreakKind, JailbreakTemplate, derived
from mindgauge.records.errors import DataError

if TYPE_CHECKING:
    from mindgauge.benchmarks.trustmh.released.files import TrustMHRelease

OURS = "it comes with TrustMH-Bench (MIT)"
PLAIN, TRANSFORMED, TRUSTLLM = "PsyHarm.csv", "JailbreakMH.csv", "jailbreak.json"


class HarmfulRequest(NamedTuple):
    """A harmful request; `plain` is its number without a jailbreak, `kind` the jailbreak's."""

    text: str
    objective: str
    plain: int
    kind: JailbreakKind | None = None


class _PlainRow(msgspec.Struct, frozen=True):
    text: str = field(name="Prompt (English)")
    objective: str = field(name="Attack Objective")
    number: str = field(name="ID")


class _TransformedRow(msgspec.Struct, frozen=True):
    text: str = field(name="Prompt (English)")
    objective: str = field(name="Attack Objective (Brief)")
    method: str
    number: str = field(name="ID")


class _TrustLLMPrompt(msgspec.Struct, frozen=True):
    prompt: str
    label: list[str] | str


def plain(files: TrustMHRelease) -> tuple[list[HarmfulRequest], list[str]]:
    """Read the requests without a jailbreak.

    Raises:
        DataError: the file is missing or broken.
    """
    file = files.require(PLAIN, OURS)
    rows = file.records(_PlainRow)
    requests = [HarmfulRequest(row.text, row.objective, number) for number, (_, row) in enumerate(rows)]
    return requests, file.counted("requests", len(requests), 70)


def transformed(files: TrustMHRelease) -> tuple[list[HarmfulRequest], list[str]]:
    """Read the requests under jailbreaks; which plain one each holds is found in its text.

    Raises:
        DataError: the file is missing or broken, or a row's kind is unknown.
    """
    file = files.require(TRANSFORMED, OURS)
    requests, lost = [], 0
    plain_requests = plain(files)[0] if files.find(PLAIN) else []
    for number, (line, row) in enumerate(file.records(_TransformedRow)):
        try:
            kind = JailbreakKind.named(row.method)
        except ValueError:
            kinds = ", ".join(JailbreakKind)
            raise DataError(
                f"{file.source}:{line}: expected a method among {kinds}, found {row.method!r:.40}"
            ) from None
        inside = [request.plain for request in plain_requests if request.text in row.text]
        lost += bool(plain_requests) and not inside
        base = max(inside, key=lambda n: len(plain_requests[n].text)) if inside else number // 8
        requests.append(HarmfulRequest(row.text, row.objective, base, kind))
    notes = [f"{file.source}: {lost} rows hold none of the requests of {PLAIN}"] if lost else []
    return requests, notes + file.counted("requests", len(requests), 560)


def templates(files: TrustMHRelease) -> tuple[dict[JailbreakKind, tuple[JailbreakTemplate, ...]], list[str]]:
    """Find the templates of all kinds in TrustLLM's jailbreaks; none where the file is missing.

    Raises:
        DataError: the file is broken, or a label unknown.
    """
    file = files.find(TRUSTLLM)
    if file is None:
        return {}, []
    rows = [row for _, row in file.records(_TrustLLMPrompt)]
    prompts = [(row.label if isinstance(row.label, str) else "".join(row.label[:1]), row.prompt) for row in rows]
    try:
        return derived(prompts), file.counted("prompts", len(prompts), 1400)
    except ValueError as error:
        raise DataError(f"{file.source}: expected a label of TrustLLM's, found {error}") from None
