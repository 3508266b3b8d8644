"""Logs of 100,000 spans to dialogues: seconds and peak memory of a whole process, beside json.loads on every line.

    python bench/logs.py [--spans 100000]

20,000 dialogues of five turns, each call with the whole dialogue before it, as OTLP/JSON, OpenInference in OTLP, and Langfuse;
the lines in random order.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

TURNS = 5
WORDS = [
    "It",
    "has",
    "been",
    "a",
    "long",
    "week",
    "and",
    "I",
    "do",
    "not",
    "know",
    "whom",
    "to",
    "tell",
    "about",
    "all",
    "of",
    "it",
    "any",
    "more",
]


def text(seed: int) -> str:
    """Write a message of some 40 words."""
    generator = random.Random(seed)
    return " ".join(generator.choice(WORDS) for _ in range(40))


def calls(spans: int) -> list[dict[str, Any]]:
    """Lay out the calls: the dialogue, its turn, and what was said before."""
    rows = []
    for dialogue in range(spans // TURNS):
        told: list[tuple[str, str]] = []
        for turn in range(TURNS):
            told.append(("user", text(2 * turn + dialogue)))
            answer = text(2 * turn + dialogue + 1)
            rows.append({"dialogue": f"d{dialogue}", "turn": turn, "told": tuple(told), "answer": answer})
            told.append(("assistant", answer))
    random.Random(0).shuffle(rows)
    return rows


def span(row: dict[str, Any], attributes: dict[str, Any]) -> str:
    """Write a span as a line of OTLP/JSON."""
    listed = [{"key": key, "value": {"stringValue": value}} for key, value in attributes.items()]
    content = {
        "traceId": f"{abs(hash(row['dialogue'])):032x}", "spanId": f"{row['turn']:016x}", "name": "chat",
        "startTimeUnixNano": str(1_790_000_000_000_000_000 + row["turn"] * 10**9), "attributes": listed,
    }  # fmt: skip
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [content]}]}]})


def otel(row: dict[str, Any]) -> str:
    """Write a call by OpenTelemetry's conventions."""
    sent = [{"role": role, "parts": [{"type": "text", "content": words}]} for role, words in row["told"]]
    answered = [{"role": "assistant", "parts": [{"type": "text", "content": row["answer"]}], "finish_reason": "stop"}]
    facts = {"gen_ai.conversation.id": row["dialogue"], "gen_ai.operation.name": "chat", "gen_ai.response.model": "m"}
    return span(
        row, {**facts, "gen_ai.input.messages": json.dumps(sent), "gen_ai.output.messages": json.dumps(answered)}
    )


def openinference(row: dict[str, Any]) -> str:
    """Write a call by OpenInference's conventions."""
    facts = {"session.id": row["dialogue"], "openinference.span.kind": "LLM", "llm.model_name": "m"}
    for number, (role, words) in enumerate(row["told"]):
        facts |= {
            f"llm.input_messages.{number}.message.role": role,
            f"llm.input_messages.{number}.message.content": words,
        }
    answer = {"llm.output_messages.0.message.role": "assistant", "llm.output_messages.0.message.content": row["answer"]}
    return span(row, {**facts, **answer})


def langfuse(row: dict[str, Any]) -> str:
    """Write an observation of Langfuse."""
    return json.dumps(
        {
            "id": f"{row['dialogue']}-{row['turn']}", "trace_id": row["dialogue"], "session_id": row["dialogue"], "type": "GENERATION",
            "start_time": f"2026-09-21T13:5{row['turn']}:00Z", "model": "m",
            "input": [{"role": role, "content": words} for role, words in row["told"]], "output": {"role": "assistant", "content": row["answer"]},
        }
    )  # fmt: skip


KINDS = {"OpenTelemetry": otel, "OpenInference": openinference, "Langfuse": langfuse}


def measured(how: str, path: Path) -> tuple[float, float, int]:
    """Return seconds, peak MB and dialogues, or lines, of a process of its own."""
    done = subprocess.run(
        [sys.executable, __file__, "--one", how, str(path)], check=True, capture_output=True, text=True
    )
    seconds, peak, number = done.stdout.split()
    return float(seconds), float(peak), int(number)


def one(how: str, path: Path) -> None:
    """Read a log in this process, and print what it took."""
    start = time.perf_counter()
    if how == "json":
        with path.open(encoding="utf-8") as lines:
            number = sum(json.loads(line) is not None for line in lines)
    else:
        from mindgauge.records import transcripts

        number = len(transcripts.read(path).transcripts)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    print(time.perf_counter() - start, peak, number)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--spans", type=int, default=100_000)
    parser.add_argument("--one", nargs=2)
    options = parser.parse_args()
    if options.one:
        one(options.one[0], Path(options.one[1]))
        return
    rows = calls(options.spans)
    print(
        f"| {options.spans:,} spans | MB | dialogues | seconds | peak MB | json.loads, seconds | ratio |\n|---|---|---|---|---|---|---|"
    )
    with tempfile.TemporaryDirectory() as folder:
        for name, write in KINDS.items():
            path = Path(folder) / f"{name}.jsonl"
            with path.open("w", encoding="utf-8") as file:
                file.writelines(f"{write(row)}\n" for row in rows)
            seconds, peak, dialogues = measured("ours", path)
            bare, _, _ = measured("json", path)
            size = path.stat().st_size / 1e6
            print(
                f"| {name} | {size:.0f} | {dialogues:,} | {seconds:.1f} | {peak:.0f} | {bare:.1f} | {seconds / bare:.1f} |",
                flush=True,
            )
            path.unlink()


if __name__ == "__main__":
    main()
