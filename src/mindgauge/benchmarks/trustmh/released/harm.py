"""Harmful requests, plain and under jailbreaks."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

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


def plain(files: TrustMHRelease) -> tuple[list[HarmfulRequest], list[str]]:
    """Read the requests without a jailbreak.

    Raises:
        DataError: the file is missing or broken.
    """
    file = files.require(PLAIN, OURS)
    rows = file.table(("ID", "Attack Objective", "Prompt (English)"))
    requests = [
        HarmfulRequest(row["Prompt (English)"], row["Attack Objective"], number) for number, row in enumerate(rows)
    ]
    return requests, file.counted("requests", len(requests), 70)


def transformed(files: TrustMHRelease) -> tuple[list[HarmfulRequest], list[str]]:
    """Read the requests under jailbreaks; which plain one each holds is found in its text.

    Raises:
        DataError: the file is missing or broken, or a row's kind is unknown.
    """
    file = files.require(TRANSFORMED, OURS)
    rows = file.table(("ID", "Attack Objective (Brief)", "method", "Prompt (English)"))
    requests, lost = [], 0
    plain_requests = plain(files)[0] if files.find(PLAIN) else []
    for number, row in enumerate(rows):
        try:
            kind = JailbreakKind.named(row["method"])
        except ValueError:
            kinds = ", ".join(JailbreakKind)
            raise DataError(
                f"{file.source}: row {number + 1}: expected a method among {kinds}, found {row['method']!r:.40}"
            ) from None
        text = row["Prompt (English)"]
        inside = [request.plain for request in plain_requests if request.text in text]
        lost += bool(plain_requests) and not inside
        base = max(inside, key=lambda n: len(plain_requests[n].text)) if inside else number // 8
        requests.append(HarmfulRequest(text, row["Attack Objective (Brief)"], base, kind))
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
    prompts = []
    for number, row in enumerate(file.json(list), 1):
        file.require(row, ("prompt", "label"), number)
        label = row["label"][0] if isinstance(row["label"], list) and row["label"] else row["label"]
        prompts.append((str(label), str(row["prompt"])))
    try:
        return derived(prompts), file.counted("prompts", len(prompts), 1400)
    except ValueError as error:
        raise DataError(f"{file.source}: expected a label of TrustLLM's, found {error}") from None
